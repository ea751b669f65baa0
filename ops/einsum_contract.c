#include "ops/einsum_contract.h"

#include <string.h>

#include "base/size_math.h"
#include "ops/gemm_core.h"
#include "ops/real.h"
#include "ops/types.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* The type that elements are calculated in. */
static onnxd_dtype working_type(onnxd_dtype dtype)
{
    if (onnxd_real_is_half(dtype))
        return ONNXD_FLOAT;
    if (dtype == ONNXD_FLOAT || dtype == ONNXD_DOUBLE)
        return dtype;
    return onnxd_dtype_size(dtype) == 8 ? ONNXD_UINT64 : ONNXD_UINT32;
}

static bool needs_conversion(onnxd_dtype dtype)
{
    return onnxd_dtype_size(dtype) != onnxd_dtype_size(working_type(dtype));
}

/* The types of 8 and 16 bits; a widened signed one has its sign in every bit. */
static void widen(onnxd_dtype dtype, const void *data, size_t count, void *out_data)
{
#define WIDEN(id, T)                                                                               \
    case ONNXD_##id:                                                                               \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (uint32_t)((const T *)data)[i];                                               \
        break;
    uint32_t *out = out_data;
    switch (dtype) {
        WIDEN(INT8, int8_t)
        WIDEN(UINT8, uint8_t)
        WIDEN(INT16, int16_t)
        WIDEN(UINT16, uint16_t)
    default:
        onnxd_real_widen(dtype, data, count, out_data);
        break;
    }
#undef WIDEN
}

static void narrow(onnxd_dtype dtype, const void *data, size_t count, void *out)
{
    const uint32_t *in = data;
    if (onnxd_real_is_half(dtype)) {
        onnxd_real_narrow(dtype, data, count, out);
    } else if (onnxd_dtype_size(dtype) == 1) {
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)out)[i] = (uint8_t)in[i];
    } else {
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] = (uint16_t)in[i];
    }
}

/* ---- walks over labels ----------------------------------------------------------------------- */

typedef struct einsum_axis {
    size_t dim;
    int64_t stride;
} einsum_axis;

typedef struct einsum_walk {
    int32_t count;
    einsum_axis axes[ONNXD_EINSUM_LABELS];
} einsum_walk;

/* The last axis is left to the caller. */
static int64_t walk_offset(const einsum_walk *walk, const size_t *index)
{
    int64_t offset = 0;
    for (int32_t i = 0; i + 1 < walk->count; i++)
        offset += (int64_t)index[i] * walk->axes[i].stride;
    return offset;
}

/* False after the last row. */
static bool walk_next(const einsum_walk *walk, size_t *index)
{
    for (int32_t i = walk->count - 2; i >= 0; i--) {
        if (++index[i] < walk->axes[i].dim)
            return true;
        index[i] = 0;
    }
    return false;
}

/* Sizes that overflow are found out by their products, not by what strides they make. */
static int64_t times(int64_t stride, size_t dim)
{
    return (int64_t)((uint64_t)stride * dim);
}

/* Appends an axis; one that continues its neighbour becomes one with it. */
static void walk_add(einsum_walk *walk, size_t dim, int64_t stride)
{
    einsum_axis *last = walk->count > 0 ? &walk->axes[walk->count - 1] : NULL;
    if (dim == 1)
        return;
    if (last != NULL && last->stride == times(stride, dim))
        *last = (einsum_axis){last->dim * dim, stride};
    else
        walk->axes[walk->count++] = (einsum_axis){dim, stride};
}

/* Accumulators of neighbouring outputs. */
#define EINSUM_LANES 64

#define T float
#define ACC double
#define NAME(f) f##_float
#include "ops/einsum_kernel.inc"
#undef T
#undef NAME
#define T double
#define NAME(f) f##_double
#include "ops/einsum_kernel.inc"
#undef T
#undef ACC
#undef NAME
#define T uint32_t
#define ACC uint32_t
#define NAME(f) f##_uint32
#include "ops/einsum_kernel.inc"
#undef T
#undef ACC
#undef NAME
#define T uint64_t
#define ACC uint64_t
#define NAME(f) f##_uint64
#include "ops/einsum_kernel.inc"
#undef T
#undef ACC
#undef NAME

#define FOR_TYPE(dtype, function)                                                                  \
    ((dtype) == ONNXD_FLOAT    ? function##_float                                                  \
     : (dtype) == ONNXD_DOUBLE ? function##_double                                                 \
     : (dtype) == ONNXD_UINT32 ? function##_uint32                                                 \
                               : function##_uint64)

/* ---- memory and lists of labels -------------------------------------------------------------- */

typedef struct label_list {
    int32_t count;
    uint8_t labels[ONNXD_EINSUM_LABELS];
} label_list;

static bool is_in(uint64_t set, uint8_t label)
{
    return (set >> label & 1) != 0;
}

/* Elements over the labels of a set, 0 when that fits no size. */
static size_t count_of(onnxd_einsum_run *run, uint64_t set)
{
    size_t count = 1;
    for (uint8_t label = 0; label < ONNXD_EINSUM_LABELS; label++)
        if (is_in(set, label) && run->dims[label] == 0)
            return 0;
    for (uint8_t label = 0; label < ONNXD_EINSUM_LABELS; label++) {
        if (is_in(set, label) && !onnxd_size_mul(count, run->dims[label], &count)) {
            run->overflows = true;
            return 0;
        }
    }
    return count;
}

/* `count` elements of the type calculated in, or NULL while measuring. */
static void *take(onnxd_einsum_run *run, size_t count)
{
    size_t bytes, used;
    if (!onnxd_size_mul(count, onnxd_dtype_size(working_type(run->dtype)), &bytes) ||
        !onnxd_size_align(bytes, 64, &bytes) || !onnxd_size_add(run->used_bytes, bytes, &used)) {
        run->overflows = true;
        return NULL;
    }
    void *memory = run->is_measuring ? NULL : run->memory + run->used_bytes;
    run->used_bytes = used;
    if (used > run->peak_bytes)
        run->peak_bytes = used;
    return memory;
}

/* Appends the labels of a set, those with the longest strides in `part` first. */
static void append_sorted(label_list *list, uint64_t set, const onnxd_einsum_part *part)
{
    int32_t first = list->count;
    for (uint8_t label = 0; label < ONNXD_EINSUM_LABELS; label++) {
        if (!is_in(set, label))
            continue;
        int32_t at = list->count++;
        for (; at > first && part->strides[list->labels[at - 1]] < part->strides[label]; at--)
            list->labels[at] = list->labels[at - 1];
        list->labels[at] = label;
    }
}

static void append(label_list *list, const label_list *other)
{
    for (int32_t i = 0; i < other->count; i++)
        list->labels[list->count++] = other->labels[i];
}

/* Row-major strides over a list. */
static onnxd_einsum_part dense_part(const onnxd_einsum_run *run, const label_list *list,
                                    const void *data)
{
    onnxd_einsum_part part = {.data = data};
    int64_t stride = 1;
    for (int32_t i = list->count - 1; i >= 0; i--) {
        uint8_t label = list->labels[i];
        part.labels |= (uint64_t)1 << label;
        part.strides[label] = stride;
        stride = times(stride, run->dims[label]);
    }
    return part;
}

/* Whether the labels of a list are one axis in memory, and its stride. */
static bool joins(const onnxd_einsum_run *run, const onnxd_einsum_part *part,
                  const label_list *list, size_t *out_stride)
{
    einsum_walk walk = {.count = 0};
    for (int32_t i = 0; i < list->count; i++)
        walk_add(&walk, run->dims[list->labels[i]], part->strides[list->labels[i]]);
    if (walk.count > 1)
        return false;
    *out_stride = walk.count == 0 ? 1 : (size_t)walk.axes[0].stride;
    return true;
}

/* `part` as a dense array over `order` at `out`; its other labels are summed. */
static void arrange(const onnxd_einsum_run *run, const onnxd_einsum_part *part,
                    const label_list *order, void *out)
{
    einsum_walk kept = {.count = 0}, summed = {.count = 0};
    label_list rest = {.count = 0};
    uint64_t others = part->labels;
    size_t count = 1;
    bool is_empty = false;
    if (run->is_measuring)
        return;
    for (int32_t i = 0; i < order->count; i++) {
        uint8_t label = order->labels[i];
        others &= ~((uint64_t)1 << label);
        count *= run->dims[label];
        walk_add(&kept, run->dims[label], part->strides[label]);
    }
    append_sorted(&rest, others, part);
    for (int32_t i = 0; i < rest.count; i++) {
        uint8_t label = rest.labels[i];
        is_empty = is_empty || run->dims[label] == 0;
        walk_add(&summed, run->dims[label], part->strides[label]);
    }
    if (kept.count == 0)
        kept.axes[kept.count++] = (einsum_axis){1, 1};
    onnxd_dtype dtype = working_type(run->dtype);
    if (is_empty)
        memset(out, 0, count * onnxd_dtype_size(dtype));
    else if (count != 0)
        FOR_TYPE(dtype, arrange)(&kept, &summed, part->data, out);
}

/* ---- one contraction ------------------------------------------------------------------------- */

/* An operand as a batch of matrices. */
typedef struct matrices {
    const void *data;
    size_t batch, row, column; /* strides */
} matrices;

/* The part as it lies, or, where the strides of a group are not those of one axis or the product
 * would be slow on them, a copy in the order batch, rows, columns. */
static matrices matrices_of(onnxd_einsum_run *run, const onnxd_einsum_part *part,
                            const label_list *batch, const label_list *rows,
                            const label_list *columns, size_t count)
{
    matrices m = {.data = part->data};
    label_list order = {.count = 0};
    append(&order, batch);
    append(&order, rows);
    append(&order, columns);
    if (order.count == __builtin_popcountll(part->labels) && joins(run, part, batch, &m.batch) &&
        joins(run, part, rows, &m.row) && joins(run, part, columns, &m.column) &&
        (m.row == 1 || m.column == 1))
        return m;
    void *copy = take(run, count);
    arrange(run, part, &order, copy);
    onnxd_einsum_part dense = dense_part(run, &order, copy);
    m.data = copy;
    (void)joins(run, &dense, batch, &m.batch);
    (void)joins(run, &dense, rows, &m.row);
    (void)joins(run, &dense, columns, &m.column);
    return m;
}

static void multiply(const onnxd_einsum_run *run, const matrices *a, const matrices *b,
                     size_t batches, const onnxd_product *product, void *out)
{
    onnxd_dtype dtype = working_type(run->dtype);
    size_t width = onnxd_dtype_size(dtype), size = product->rows * product->columns;
    if (batches == 0 || size == 0)
        return;
    if (size == 1 && product->depth == 1 && (batches == 1 || (a->batch == 1 && b->batch == 1))) {
        FOR_TYPE(dtype, multiply)(a->data, b->data, batches, out);
        return;
    }
    for (size_t i = 0; i < batches; i++)
        onnxd_product_run(product, dtype, (const char *)a->data + i * a->batch * width,
                          (const char *)b->data + i * b->batch * width,
                          (char *)out + i * size * width);
}

/* a and b in one, over the labels that are in `keep`. */
static onnxd_einsum_part contract(onnxd_einsum_run *run, const onnxd_einsum_part *a,
                                  const onnxd_einsum_part *b, uint64_t keep)
{
    uint64_t both = a->labels & b->labels;
    uint64_t batch_set = both & keep, sum_set = both & ~keep;
    uint64_t left_set = a->labels & ~both & keep, right_set = b->labels & ~both & keep;
    label_list batch = {.count = 0}, sum = {.count = 0}, left = {.count = 0}, right = {.count = 0};
    append_sorted(&batch, batch_set, a);
    append_sorted(&sum, sum_set, a);
    append_sorted(&left, left_set, a);
    append_sorted(&right, right_set, b);
    label_list order = {.count = 0};
    append(&order, &batch);
    append(&order, &left);
    append(&order, &right);

    void *out = take(run, count_of(run, batch_set | left_set | right_set));
    size_t used = run->used_bytes;
    matrices m =
        matrices_of(run, a, &batch, &left, &sum, count_of(run, batch_set | left_set | sum_set));
    matrices n =
        matrices_of(run, b, &batch, &sum, &right, count_of(run, batch_set | sum_set | right_set));
    if (!run->is_measuring) {
        onnxd_product product = {.rows = count_of(run, left_set),
                                 .depth = count_of(run, sum_set),
                                 .columns = count_of(run, right_set),
                                 .a_row = m.row,
                                 .a_column = m.column,
                                 .b_row = n.row,
                                 .b_column = n.column};
        multiply(run, &m, &n, count_of(run, batch_set), &product, out);
    }
    run->used_bytes = used; /* the copies are done with */
    return dense_part(run, &order, out);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void onnxd_einsum_load(onnxd_einsum_run *run, uint32_t index, const void *data, size_t count)
{
    run->parts[index].data = data;
    if (!needs_conversion(run->dtype))
        return;
    void *wide = take(run, count);
    if (!run->is_measuring)
        widen(run->dtype, data, count, wide);
    run->parts[index].data = wide;
}

/* Labels that the output or a part other than a and b needs. */
static uint64_t needed(const onnxd_einsum_run *run, uint32_t a, uint32_t b)
{
    uint64_t set = 0;
    for (int32_t i = 0; i < run->output_count; i++)
        set |= (uint64_t)1 << run->output_labels[i];
    for (uint32_t i = 0; i < run->part_count; i++)
        if (i != a && i != b)
            set |= run->parts[i].labels;
    return set;
}

/* The pair whose contraction is smallest, the first of several. */
static void choose(const onnxd_einsum_run *run, uint32_t *out_a, uint32_t *out_b)
{
    double best = -1;
    for (uint32_t a = 0; a < run->part_count; a++) {
        for (uint32_t b = a + 1; b < run->part_count; b++) {
            uint64_t set = (run->parts[a].labels | run->parts[b].labels) & needed(run, a, b);
            double size = 1;
            for (uint8_t label = 0; label < ONNXD_EINSUM_LABELS; label++)
                size *= is_in(set, label) ? (double)run->dims[label] : 1;
            if (best >= 0 && size >= best)
                continue;
            best = size;
            *out_a = a;
            *out_b = b;
        }
    }
}

void onnxd_einsum_contract(onnxd_einsum_run *run, void *output)
{
    while (run->part_count > 1) {
        uint32_t a = 0, b = 1;
        choose(run, &a, &b);
        onnxd_einsum_part part = contract(run, &run->parts[a], &run->parts[b], needed(run, a, b));
        run->parts[a] = part;
        run->parts[b] = run->parts[--run->part_count];
    }
    label_list order = {.count = run->output_count};
    memcpy(order.labels, run->output_labels, (size_t)run->output_count);
    uint64_t set = 0;
    for (int32_t i = 0; i < order.count; i++)
        set |= (uint64_t)1 << order.labels[i];
    size_t count = count_of(run, set);
    if (!needs_conversion(run->dtype)) {
        arrange(run, &run->parts[0], &order, output);
        return;
    }
    void *wide = take(run, count);
    arrange(run, &run->parts[0], &order, wide);
    if (!run->is_measuring)
        narrow(run->dtype, wide, count, output);
}

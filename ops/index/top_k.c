/* TopK: the k largest or smallest elements along an axis and their positions, in order; of equal
 * ones those with the lower position come first. NaN counts as larger than every number. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/index/order.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct top_k_params {
    int64_t axis, k; /* k: of opset 1 */
    bool takes_smallest;
} top_k_params;

enum { VALUES, INDICES, OUTPUT_COUNT };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {"axis", "k", NULL};
    static const char *const names_10[] = {"axis", NULL};
    static const char *const names_11[] = {"axis", "largest", "sorted", NULL};
    top_k_params *p = params;
    int64_t largest = 1, sorted = 1;
    p->axis = -1;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 10   ? names_1
                                           : opset < 11 ? names_10
                                                        : names_11));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    ONNXD_TRY(onnxd_attribute_int(node, "largest", 0, 1, &largest));
    /* Without `sorted` any order will do. */
    ONNXD_TRY(onnxd_attribute_int(node, "sorted", 0, 1, &sorted));
    if (opset < 10)
        ONNXD_TRY(onnxd_attribute_require(node, "k"));
    p->takes_smallest = largest == 0;
    return onnxd_attribute_int(node, "k", 0, INT64_MAX, &p->k);
}

/* `view` is input 1, NULL in opset 1. */
static onnxd_status *read_k(const onnxd_node *node, const top_k_params *p,
                            const onnxd_tensor_view *view, int64_t *out_k)
{
    *out_k = p->k;
    if (view == NULL)
        return NULL;
    size_t count;
    ONNXD_TRY(onnxd_op_read_ints(node, 1, view, 1, out_k, &count));
    if (count != 1)
        return onnxd_op_error(node, "input 1, k, has no element, must have one");
    return NULL;
}

static onnxd_status *check_k(const onnxd_node *node, int64_t k, int64_t dim)
{
    if (k < 0)
        return onnxd_op_error(node, "k is %" PRId64 ", must be 0 or more", k);
    if (onnxd_dim_is_static(dim) && k > dim)
        return onnxd_op_error(
            node, "k is %" PRId64 ", more than the %" PRId64 " elements of the axis", k, dim);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const top_k_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape shape = *input;
    onnxd_tensor_view view;
    bool has_input = infer->opset >= 10, is_known = !has_input;
    int64_t length = 1;
    if (has_input) {
        is_known = onnxd_infer_known(infer, 1, &view);
        ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
        if (length >= 0 && length != 1)
            return onnxd_op_error(infer->node,
                                  "input 1, k, has %" PRId64 " elements, must have one", length);
    }
    int64_t k = ONNXD_DIM_UNKNOWN;
    if (is_known) {
        ONNXD_TRY(read_k(infer->node, p, has_input ? &view : NULL, &k));
        ONNXD_TRY(check_k(infer->node, k, ONNXD_DIM_UNKNOWN));
    }
    if (input->rank >= 0) {
        int32_t axis;
        ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
        if (is_known)
            ONNXD_TRY(check_k(infer->node, k, input->dims[axis]));
        shape.dims[axis] = k;
    }
    for (uint32_t i = 0; i < OUTPUT_COUNT; i++) {
        if (!onnxd_op_has_output(infer->node, i))
            continue;
        infer->outputs[i].dtype = i == VALUES ? infer->inputs[0].dtype : ONNXD_INT64;
        infer->outputs[i].shape = shape;
    }
    return NULL;
}

/* An element being chosen: its key, lower ones first, and its position. Both in one number where
 * they fit. */
typedef uint64_t narrow;
typedef struct wide {
    uint64_t key, position;
} wide;

#define NARROW_OF(key, position) ((key) << 32 | (position))
#define NARROW_POSITION(x) ((int64_t)((x)&UINT32_MAX))
#define NARROW_COMES_BEFORE(a, b) ((a) < (b))
#define WIDE_OF(key, position) ((wide){key, position})
#define WIDE_POSITION(x) ((int64_t)(x).position)
#define WIDE_COMES_BEFORE(a, b)                                                                    \
    ((a).key < (b).key || ((a).key == (b).key && (a).position < (b).position))

/* Elements along the axis. */
typedef struct line {
    onnxd_dtype dtype;
    const void *data;
    int64_t step;
    size_t count, k; /* 1 <= k <= count */
    uint64_t flips;  /* of the keys' bits: all for the largest */
} line;

#define CHUNK 256

/* The first k elements in a heap with the last of them on top, which each better one replaces; the
 * heap is then sorted in place. */
#define DEFINE_CHOOSE(E, UPPER)                                                                    \
    static void E##_sift(E *heap, size_t count, size_t at)                                         \
    {                                                                                              \
        E moved = heap[at];                                                                        \
        for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {                       \
            if (child + 1 < count && UPPER##_COMES_BEFORE(heap[child], heap[child + 1]))           \
                child++;                                                                           \
            if (!UPPER##_COMES_BEFORE(moved, heap[child]))                                         \
                break;                                                                             \
            heap[at] = heap[child];                                                                \
            at = child;                                                                            \
        }                                                                                          \
        heap[at] = moved;                                                                          \
    }                                                                                              \
    static void E##_sort(E *heap, size_t count)                                                    \
    {                                                                                              \
        for (size_t end = count; end > 1;) {                                                       \
            E last = heap[--end];                                                                  \
            heap[end] = heap[0];                                                                   \
            heap[0] = last;                                                                        \
            E##_sift(heap, end, 0);                                                                \
        }                                                                                          \
    }                                                                                              \
    static void E##_choose(const line *l, void *workspace, int64_t *out, int64_t out_step)         \
    {                                                                                              \
        E *heap = workspace;                                                                       \
        uint64_t keys[CHUNK];                                                                      \
        size_t held = 0, width = onnxd_dtype_size(l->dtype);                                       \
        for (size_t first = 0; first < l->count; first += CHUNK) {                                 \
            size_t count = l->count - first < CHUNK ? l->count - first : CHUNK;                    \
            onnxd_keys_load(l->dtype, (const char *)l->data + first * (size_t)l->step * width,     \
                            l->step, count, keys);                                                 \
            for (size_t i = 0; i < count; i++) {                                                   \
                E element = UPPER##_OF(keys[i] ^ l->flips, first + i);                             \
                if (held == l->k) {                                                                \
                    if (!UPPER##_COMES_BEFORE(element, heap[0]))                                   \
                        continue;                                                                  \
                    heap[0] = element;                                                             \
                    E##_sift(heap, held, 0);                                                       \
                } else {                                                                           \
                    heap[held++] = element;                                                        \
                    for (size_t at = held / 2; held == l->k && at-- > 0;)                          \
                        E##_sift(heap, held, at);                                                  \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        E##_sort(heap, held);                                                                      \
        for (int64_t i = 0; i < (int64_t)l->k; i++)                                                \
            out[i * out_step] = UPPER##_POSITION(heap[i]);                                         \
    }
DEFINE_CHOOSE(narrow, NARROW)
DEFINE_CHOOSE(wide, WIDE)

static bool is_narrow(const onnxd_tensor_view *input, int32_t axis)
{
    return onnxd_keys_are_narrow(input->dtype) && input->shape.dims[axis] <= UINT32_MAX;
}

#define DEFINE_TAKE(bytes, T)                                                                      \
    static void take_##bytes(void *out_data, const line *l, const int64_t *positions,              \
                             int64_t positions_step)                                               \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *from = l->data;                                                                   \
        for (int64_t i = 0; i < (int64_t)l->k; i++)                                                \
            out[i * l->step] = from[positions[i * positions_step] * l->step];                      \
    }
ONNXD_EACH_SIZE(DEFINE_TAKE)

/* The elements at the positions chosen, as far apart as those of the line. */
static void take(void *out, const line *l, const int64_t *positions, int64_t positions_step)
{
#define TAKE(bytes, T)                                                                             \
    case bytes:                                                                                    \
        take_##bytes(out, l, positions, positions_step);                                           \
        break;
    switch (onnxd_dtype_size(l->dtype)) {
        ONNXD_EACH_SIZE(TAKE)
    default:
        break;
    }
}

/* The heap, and a line of positions where the node has no output for them. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const top_k_params *p = compute->params;
    size_t bytes = 0;
    int32_t axis;
    for (uint32_t i = 0; i < compute->output_count && i < OUTPUT_COUNT; i++)
        if (onnxd_tensor_view_is_present(&compute->outputs[i]) &&
            onnxd_shape_axis(compute->outputs[i].shape.rank, p->axis, &axis) &&
            !onnxd_size_mul((size_t)compute->outputs[i].shape.dims[axis],
                            sizeof(wide) + sizeof(int64_t), &bytes))
            bytes = SIZE_MAX;
    return bytes;
}

/* The extents around the axis, and where the results go. */
typedef struct top_k_call {
    line line;
    size_t outer, inner;
    void (*choose)(const line *l, void *workspace, int64_t *out, int64_t out_step);
    void *heap;
    char *values;       /* NULL: not wanted */
    int64_t *positions; /* of one line only, unless there is an output for them */
    bool keeps_positions;
} top_k_call;

static void choose_all(const top_k_call *c, const char *data)
{
    size_t width = onnxd_dtype_size(c->line.dtype);
    int64_t positions_step = c->keeps_positions ? (int64_t)c->inner : 1;
    for (size_t o = 0; o < c->outer; o++) {
        for (size_t i = 0; i < c->inner; i++) {
            line l = c->line;
            size_t at = o * l.k * c->inner + i;
            int64_t *positions = c->keeps_positions ? c->positions + at : c->positions;
            l.data = data + (o * l.count * c->inner + i) * width;
            c->choose(&l, c->heap, positions, positions_step);
            if (c->values != NULL)
                take(c->values + at * width, &l, positions, positions_step);
        }
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const top_k_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    onnxd_shape shape = input->shape;
    int32_t axis;
    int64_t k;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'axis'", p->axis, shape.rank, &axis));
    ONNXD_TRY(read_k(compute->node, p, compute->opset < 10 ? NULL : &compute->inputs[1], &k));
    ONNXD_TRY(check_k(compute->node, k, shape.dims[axis]));
    top_k_call c = {.line = {.dtype = input->dtype,
                             .count = (size_t)shape.dims[axis],
                             .k = (size_t)k,
                             .flips = p->takes_smallest ? 0 : UINT64_MAX},
                    .heap = compute->workspace};
    shape.dims[axis] = k;
    for (uint32_t i = 0; i < OUTPUT_COUNT; i++)
        if (onnxd_tensor_view_is_present(&compute->outputs[i]))
            ONNXD_TRY(onnxd_op_check_output(compute, i, &shape));
    size_t count;
    if (onnxd_shape_count(&shape, &count) && count == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, &shape, axis, &c.outer, &c.inner));
    c.line.step = (int64_t)c.inner;
    c.choose = is_narrow(input, axis) ? narrow_choose : wide_choose;
    if (onnxd_keys_are_narrow(input->dtype))
        c.line.flips &= UINT32_MAX;
    if (onnxd_tensor_view_is_present(&compute->outputs[VALUES]))
        c.values = onnxd_tensor_view_data(&compute->outputs[VALUES]);
    c.keeps_positions = onnxd_tensor_view_is_present(&compute->outputs[INDICES]);
    if (c.keeps_positions)
        c.positions = onnxd_tensor_view_data(&compute->outputs[INDICES]);
    else
        c.positions = (int64_t *)(void *)((char *)c.heap + (size_t)k * sizeof(wide));
    choose_all(&c, onnxd_tensor_view_data(input));
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "TopK", .domain = "", .since = first, .until = last, .min_outputs = 2,              \
    .max_outputs = 2,                                                                              \
    .outputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},                  \
    .params_bytes = sizeof(top_k_params), .parse = parse, .infer = infer,                          \
    .workspace_bytes = workspace_bytes, .compute = compute
#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .min_inputs = 2, .max_inputs = 2,                                                      \
            .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},           \
            .shape_inputs = 1u << 1                                                                \
    }

const onnxd_op_def onnxd_op_top_k[] = {
    {COMMON(1, 9, ONNXD_SET_FLOATS_1), .min_inputs = 1, .max_inputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1}}},
    ROW(10, 10, ONNXD_SET_FLOATS_1),
    ROW(11, 23, ONNXD_SET_NUMBERS_1),
    ROW(24, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS),
    {.op_type = NULL},
};

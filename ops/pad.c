/* Pad: elements added to (or, with negative counts, taken from) both ends of each axis. Attributes
 * before opset 11, inputs since; axes since 18, mode "wrap" since 19. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/convert.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

typedef struct pad_params {
    pad_mode mode;
    bool is_attribute;
    float value;
    size_t count;
    int64_t pads[2 * ONNXD_MAX_RANK];
} pad_params;

enum { PADS = 1, VALUE, AXES };

/* Pads per axis of one input. */
typedef struct pad_plan {
    int64_t before[ONNXD_MAX_RANK], after[ONNXD_MAX_RANK];
} pad_plan;

static onnxd_status *parse_mode(const onnxd_node *node, int64_t opset, pad_mode *out_mode)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    onnxd_text text = {"constant", 8};
    ONNXD_TRY(onnxd_attribute_string(node, "mode", &text));
    for (size_t i = 0; i < (opset >= 19 ? ONNXD_COUNT(modes) : 3); i++) {
        if (strcmp(modes[i], text.data) == 0) {
            *out_mode = (pad_mode)i;
            return NULL;
        }
    }
    return onnxd_op_error(node, "attribute 'mode' must be 'constant', 'edge'%s",
                          opset >= 19 ? ", 'reflect' or 'wrap'" : " or 'reflect'");
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    const char *pads_name = opset < 2 ? "paddings" : "pads";
    const char *const names_1[] = {"mode", "value", pads_name, NULL};
    static const char *const names_11[] = {"mode", NULL};
    pad_params *p = params;
    p->is_attribute = opset < 11;
    ONNXD_TRY(onnxd_attributes_allow(node, p->is_attribute ? names_1 : names_11));
    ONNXD_TRY(parse_mode(node, opset, &p->mode));
    if (!p->is_attribute)
        return NULL;
    ONNXD_TRY(onnxd_attribute_float(node, "value", &p->value));
    ONNXD_TRY(onnxd_attribute_require(node, pads_name));
    return onnxd_attribute_ints(node, pads_name, 0, ONNXD_COUNT(p->pads), INT64_MIN, INT64_MAX,
                                p->pads, &p->count);
}

static onnxd_status *make_plan(const onnxd_node *node, const int64_t *pads, size_t count,
                               const onnxd_axes *axes, int32_t rank, pad_plan *plan)
{
    size_t axis_count = axes->is_given ? axes->count : (size_t)rank;
    if (count != 2 * axis_count)
        return onnxd_op_error(node, "%zu pads for %zu axes, two for each are needed", count,
                              axis_count);
    bool unused[ONNXD_MAX_RANK];
    if (axes->is_given)
        ONNXD_TRY(onnxd_op_axes(node, axes->values, axes->count, rank, unused));
    memset(plan, 0, sizeof(*plan));
    for (size_t i = 0; i < axis_count; i++) {
        int64_t axis = axes->is_given ? axes->values[i] : (int64_t)i;
        if (axis < 0)
            axis += rank;
        plan->before[axis] = pads[i];
        plan->after[axis] = pads[axis_count + i];
    }
    return NULL;
}

/* Extent of the input that is left after negative pads; modes other than constant read from it. */
static int64_t kept_extent(const pad_plan *plan, int32_t axis, int64_t dim)
{
    int64_t before = plan->before[axis] < 0 ? plan->before[axis] : 0;
    int64_t after = plan->after[axis] < 0 ? plan->after[axis] : 0;
    int64_t kept;
    if (!onnxd_i64_add(before, after, &kept) || !onnxd_i64_add(kept, dim, &kept))
        return -1;
    return kept;
}

static onnxd_status *out_shape(const onnxd_node *node, const pad_params *p, const pad_plan *plan,
                               const onnxd_shape *input, onnxd_shape *out)
{
    *out = *input;
    for (int32_t i = 0; i < input->rank; i++) {
        int64_t dim = input->dims[i];
        if (plan->before[i] == 0 && plan->after[i] == 0)
            continue;
        if (!onnxd_dim_is_static(dim)) {
            out->dims[i] = ONNXD_DIM_UNKNOWN;
            continue;
        }
        int64_t sum;
        if (!onnxd_i64_add(plan->before[i], plan->after[i], &sum) ||
            !onnxd_i64_add(sum, dim, &sum) || sum < 0)
            return onnxd_op_error(node,
                                  "axis %" PRId32 " of extent %" PRId64 " cannot take pads %" PRId64
                                  " and %" PRId64,
                                  i, dim, plan->before[i], plan->after[i]);
        if (p->mode != PAD_CONSTANT && sum > 0 && kept_extent(plan, i, dim) <= 0)
            return onnxd_op_error(
                node, "axis %" PRId32 " has no elements from which to fill its pads", i);
        out->dims[i] = sum;
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const pad_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    int64_t read[2 * ONNXD_MAX_RANK];
    const int64_t *pads = p->pads;
    size_t count = p->count;
    onnxd_axes axes = {.is_given = false};
    bool is_known = true;
    if (!p->is_attribute) {
        onnxd_tensor_view view;
        is_known = onnxd_infer_known(infer, PADS, &view);
        if (is_known)
            ONNXD_TRY(
                onnxd_op_read_ints(infer->node, PADS, &view, ONNXD_COUNT(read), read, &count));
        pads = read;
        bool are_axes_known;
        ONNXD_TRY(onnxd_infer_axes(infer, AXES, NULL, &axes, &are_axes_known));
        is_known = is_known && are_axes_known;
    }
    if (input->rank < 0)
        return NULL;
    if (!is_known) {
        infer->outputs[0].shape = onnxd_shape_of_rank(input->rank);
        return NULL;
    }
    pad_plan plan;
    ONNXD_TRY(make_plan(infer->node, pads, count, &axes, input->rank, &plan));
    return out_shape(infer->node, p, &plan, input, &infer->outputs[0].shape);
}

/* For each axis a table from output index to input index, -1 for the constant. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    size_t entries = 0;
    if (onnxd_tensor_view_count(output) == 0)
        return 0;
    for (int32_t i = 0; i < output->shape.rank; i++)
        entries += (size_t)output->shape.dims[i];
    return entries * sizeof(int64_t);
}

/* `at` in [-inf, inf) of an axis of `extent` > 0 elements, by the mode. */
static int64_t source_index(pad_mode mode, int64_t at, int64_t extent)
{
    if (at >= 0 && at < extent)
        return at;
    int64_t period;
    switch (mode) {
    case PAD_EDGE:
        return at < 0 ? 0 : extent - 1;
    case PAD_WRAP:
        at %= extent;
        return at < 0 ? at + extent : at;
    case PAD_REFLECT:
        if (extent == 1)
            return 0;
        period = 2 * (extent - 1);
        at %= period;
        at = at < 0 ? at + period : at;
        return at < extent ? at : period - at;
    default:
        return -1;
    }
}

static void fill_tables(const pad_params *p, const pad_plan *plan, const onnxd_shape *input,
                        const onnxd_shape *output, int64_t *table, int64_t **tables)
{
    for (int32_t i = 0; i < output->rank; i++) {
        int64_t dim = input->dims[i];
        int64_t skipped = plan->before[i] < 0 ? -plan->before[i] : 0;
        int64_t added = plan->before[i] > 0 ? plan->before[i] : 0;
        int64_t extent = kept_extent(plan, i, dim);
        tables[i] = table;
        for (int64_t at = 0; at < output->dims[i]; at++) {
            int64_t source = extent <= 0 ? -1 : source_index(p->mode, at - added, extent);
            *table++ = source < 0 ? -1 : source + skipped;
        }
    }
}

/* One row along `axis`: runs of neighbours, each of `block` elements, are copied at once. */
static void pad_row(const int64_t *table, int64_t extent, const char *from, char *to,
                    size_t block_bytes, size_t width, const void *value)
{
    for (int64_t at = 0; at < extent;) {
        int64_t run = 1;
        bool is_constant = from == NULL || table[at] < 0;
        while (at + run < extent && (is_constant ? from == NULL || table[at + run] < 0
                                                 : table[at + run] == table[at] + run))
            run++;
        size_t bytes = (size_t)run * block_bytes;
        if (is_constant)
            onnxd_fill(to, bytes / width, width, value);
        else
            memcpy(to, from + (size_t)table[at] * block_bytes, bytes);
        to += bytes;
        at += run;
    }
}

static void pad_rows(const onnxd_tensor_view *input, const onnxd_tensor_view *output,
                     int64_t *const *tables, const void *value)
{
    int32_t rank = output->shape.rank, axis = rank - 1;
    size_t width = onnxd_dtype_size(input->dtype), block_bytes = width;
    int64_t strides[ONNXD_MAX_RANK];
    onnxd_strides_of(&input->shape, strides);
    /* Axes at the end that keep their extent need no table. Equal extents with pads of opposite
     * sign are told by the first entry. */
    while (axis > 0 && output->shape.dims[axis] == input->shape.dims[axis] && tables[axis][0] == 0)
        block_bytes *= (size_t)output->shape.dims[axis--];
    const char *from = onnxd_tensor_view_data(input);
    char *to = onnxd_tensor_view_data(output);
    int64_t index[ONNXD_MAX_RANK] = {0};
    size_t row_bytes = (size_t)output->shape.dims[axis] * block_bytes;
    for (;; to += row_bytes) {
        int64_t offset = 0;
        bool is_constant = false;
        for (int32_t i = 0; i < axis; i++) {
            is_constant = is_constant || tables[i][index[i]] < 0;
            offset += is_constant ? 0 : tables[i][index[i]] * strides[i];
        }
        pad_row(tables[axis], output->shape.dims[axis],
                is_constant ? NULL : from + (size_t)offset * width, to, block_bytes, width, value);
        int32_t i = axis - 1;
        while (i >= 0 && ++index[i] == output->shape.dims[i])
            index[i--] = 0;
        if (i < 0)
            return;
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const onnxd_rounding unused = {.saturates = true};
    const pad_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int64_t pads[2 * ONNXD_MAX_RANK];
    size_t count = p->count;
    onnxd_axes axes = {.is_given = false};
    onnxd_words2 value = {{0}};
    if (p->is_attribute) {
        memcpy(pads, p->pads, sizeof(pads));
        onnxd_wide wide = {.f = (double)p->value};
        onnxd_wide_store(input->dtype, ONNXD_WIDE_FLOAT, &wide, 1, &unused, &value, 0);
    } else {
        ONNXD_TRY(onnxd_op_read_ints(compute->node, PADS, &compute->inputs[PADS], ONNXD_COUNT(pads),
                                     pads, &count));
        ONNXD_TRY(onnxd_compute_axes(compute, AXES, NULL, &axes));
        if (compute->input_count > VALUE && onnxd_tensor_view_is_present(&compute->inputs[VALUE])) {
            if (onnxd_tensor_view_count(&compute->inputs[VALUE]) != 1)
                return onnxd_op_error(compute->node, "input 2 must have one element");
            memcpy(&value, onnxd_tensor_view_data(&compute->inputs[VALUE]),
                   onnxd_dtype_size(input->dtype));
        }
    }
    pad_plan plan;
    onnxd_shape shape;
    ONNXD_TRY(make_plan(compute->node, pads, count, &axes, input->shape.rank, &plan));
    ONNXD_TRY(out_shape(compute->node, p, &plan, &input->shape, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    if (shape.rank == 0)
        return onnxd_op_compute_copy(compute);
    int64_t *tables[ONNXD_MAX_RANK];
    fill_tables(p, &plan, &input->shape, &shape, compute->workspace, tables);
    pad_rows(input, output, tables, &value);
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "Pad", .domain = "", .since = first, .until = last, .min_outputs = 1,               \
    .max_outputs = 1, .outputs = {{.types = (set) & ~ONNXD_SET_PACKED, .type_variable = 1}},       \
    .params_bytes = sizeof(pad_params), .parse = parse, .infer = infer,                            \
    .workspace_bytes = workspace_bytes, .compute = compute
#define DATA(set)                                                                                  \
    {                                                                                              \
        .types = (set) & ~ONNXD_SET_PACKED, .type_variable = 1                                     \
    }
#define VALUE_INPUT(set)                                                                           \
    {                                                                                              \
        .types = (set) & ~ONNXD_SET_PACKED, .type_variable = 1, .is_optional = true                \
    }
#define ATTRIBUTE_ROW(first, last)                                                                 \
    {                                                                                              \
        COMMON(first, last, ONNXD_SET_FLOATS_1), .min_inputs = 1, .max_inputs = 1, .inputs = {     \
            DATA(ONNXD_SET_FLOATS_1)                                                               \
        }                                                                                          \
    }
#define INPUT_ROW(first, last, set)                                                                \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .min_inputs = 2, .max_inputs = 3,                                                      \
            .inputs = {DATA(set), {.types = ONNXD_SET(INT64)}, VALUE_INPUT(set)},                  \
            .shape_inputs = 1u << PADS                                                             \
    }
#define AXES_ROW(first, last, set)                                                                 \
    {                                                                                              \
        COMMON(first, last, set), .min_inputs = 2, .max_inputs = 4,                                \
                                  .inputs = {DATA(set),                                            \
                                             {.types = ONNXD_SET(INT64)},                          \
                                             VALUE_INPUT(set),                                     \
                                             {.types = ONNXD_SET_INDEX, .is_optional = true}},     \
                                  .shape_inputs = 1u << PADS | 1u << AXES                          \
    }

const onnxd_op_def onnxd_op_pad[] = {
    ATTRIBUTE_ROW(1, 1),
    ATTRIBUTE_ROW(2, 10),
    INPUT_ROW(11, 12, ONNXD_SET_NUMBERS_1),
    INPUT_ROW(13, 17, ONNXD_SET_ANY_13),
    AXES_ROW(18, 18, ONNXD_SET_ANY_13),
    AXES_ROW(19, 20, ONNXD_SET_ANY_13),
    ONNXD_ROWS_ANY_21(AXES_ROW),
    {.op_type = NULL},
};

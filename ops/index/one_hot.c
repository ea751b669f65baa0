/* OneHot: a new axis on which the position that an index names is `on` and all others are `off`.
 * Indices outside of the axis leave it all off; since opset 11 negative ones count from its end. */
#include <inttypes.h>
#include <string.h>

#include "ops/convert.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct one_hot_params {
    int64_t axis;
} one_hot_params;

enum { INDICES, DEPTH, VALUES };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", NULL};
    one_hot_params *p = params;
    p->axis = -1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

/* Numbers as int64, cut towards zero; INT64_MIN stands for those that are out of range. */
static void load_ints(onnxd_dtype dtype, const void *data, size_t first, size_t count, int64_t *out)
{
    static const onnxd_rounding unused = {.saturates = true};
    onnxd_wide wide[ONNXD_WIDE_CHUNK];
    onnxd_wide_kind kind = onnxd_wide_kind_of(dtype);
    onnxd_wide_load(dtype, data, first, count, wide);
    if (kind == ONNXD_WIDE_UNSIGNED)
        for (size_t i = 0; i < count; i++)
            out[i] = wide[i].u > INT64_MAX ? INT64_MIN : (int64_t)wide[i].u;
    else
        onnxd_wide_store(ONNXD_INT64, kind, wide, count, &unused, out, 0);
}

static onnxd_status *read_depth(const onnxd_node *node, const onnxd_tensor_view *view,
                                int64_t *out_depth)
{
    int64_t depth;
    char text[ONNXD_SHAPE_TEXT], number[ONNXD_WIDE_TEXT + 1];
    if (view->shape.rank > 1 || onnxd_tensor_view_count(view) != 1)
        return onnxd_op_error(node, "input 1, the depth, has shape %s, must have one element",
                              onnxd_shape_format(&view->shape, text, sizeof(text)));
    load_ints(view->dtype, onnxd_tensor_view_data(view), 0, 1, &depth);
    if (depth < 0) {
        onnxd_wide wide;
        onnxd_wide_load(view->dtype, onnxd_tensor_view_data(view), 0, 1, &wide);
        number[onnxd_wide_format(onnxd_wide_kind_of(view->dtype), wide, number)] = '\0';
        return onnxd_op_error(node, "input 1, the depth, is %s, must be from 0 to %" PRId64, number,
                              INT64_MAX);
    }
    *out_depth = depth;
    return NULL;
}

/* The indices' shape with an axis of `depth` in it. */
static onnxd_status *hot_shape(const onnxd_node *node, const one_hot_params *p,
                               const onnxd_shape *indices, int64_t depth, int32_t *out_axis,
                               onnxd_shape *out_shape)
{
    if (indices->rank >= ONNXD_MAX_RANK)
        return onnxd_op_error(node, "input 0 has rank %" PRId32 ", at most %d is supported",
                              indices->rank, ONNXD_MAX_RANK - 1);
    onnxd_shape shape = {.rank = indices->rank + 1};
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(node, "attribute 'axis'", p->axis, shape.rank, &axis));
    for (int32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = i == axis ? depth : indices->dims[i < axis ? i : i - 1];
    *out_axis = axis;
    *out_shape = shape;
    return NULL;
}

static onnxd_status *check_values(const onnxd_node *node, const onnxd_shape *values)
{
    char text[ONNXD_SHAPE_TEXT];
    if (values->rank < 0 ||
        (values->rank == 1 && (!onnxd_dim_is_static(values->dims[0]) || values->dims[0] == 2)))
        return NULL;
    return onnxd_op_error(node, "input 2, off and on, has shape %s, must have [2]",
                          onnxd_shape_format(values, text, sizeof(text)));
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_tensor_type *inputs = infer->inputs;
    const onnxd_shape *values = &inputs[VALUES].shape;
    infer->outputs[0].dtype = inputs[VALUES].dtype;
    ONNXD_TRY(check_values(infer->node, values));
    int64_t depth = ONNXD_DIM_UNKNOWN, length;
    onnxd_tensor_view view;
    ONNXD_TRY(onnxd_op_list_length(infer, DEPTH, &length));
    if (onnxd_infer_known(infer, DEPTH, &view))
        ONNXD_TRY(read_depth(infer->node, &view, &depth));
    if (inputs[INDICES].shape.rank < 0)
        return NULL;
    int32_t axis;
    return hot_shape(infer->node, infer->params, &inputs[INDICES].shape, depth, &axis,
                     &infer->outputs[0].shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *indices = &compute->inputs[INDICES], *output = &compute->outputs[0];
    int64_t depth = 0;
    int32_t axis;
    onnxd_shape shape;
    ONNXD_TRY(read_depth(compute->node, &compute->inputs[DEPTH], &depth));
    ONNXD_TRY(hot_shape(compute->node, compute->params, &indices->shape, depth, &axis, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    ONNXD_TRY(check_values(compute->node, &compute->inputs[VALUES].shape));
    size_t count = onnxd_tensor_view_count(indices), unused, inner;
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, &shape, axis, &unused, &inner));
    size_t width = onnxd_dtype_size(output->dtype);
    const char *off = onnxd_tensor_view_data(&compute->inputs[VALUES]), *on = off + width;
    char *out = onnxd_tensor_view_data(output);
    int64_t lowest = compute->opset < 11 ? 0 : -depth;
    int64_t chunk[ONNXD_WIDE_CHUNK];
    onnxd_fill(out, onnxd_tensor_view_count(output), width, off);
    for (size_t i = 0; i < count; i++) {
        size_t at = i % ONNXD_WIDE_CHUNK;
        if (at == 0)
            load_ints(indices->dtype, onnxd_tensor_view_data(indices), i,
                      count - i < ONNXD_WIDE_CHUNK ? count - i : ONNXD_WIDE_CHUNK, chunk);
        if (chunk[at] < lowest || chunk[at] >= depth)
            continue;
        size_t hot = (size_t)(chunk[at] < 0 ? chunk[at] + depth : chunk[at]);
        memcpy(out + ((i / inner * (size_t)depth + hot) * inner + i % inner) * width, on, width);
    }
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "OneHot", .domain = "", .since = first, .until = last, .min_inputs = 3,         \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = ONNXD_SET_NUMBERS_1, .type_variable = 1},                             \
                   {.types = ONNXD_SET_NUMBERS_1, .type_variable = 2},                             \
                   {.types = set, .type_variable = 3}},                                            \
        .outputs = {{.types = set, .type_variable = 3}}, .params_bytes = sizeof(one_hot_params),   \
        .parse = parse, .infer = infer, .compute = compute, .shape_inputs = 1u << DEPTH            \
    }

const onnxd_op_def onnxd_op_one_hot[] = {
    ROW(9, 10, ONNXD_SET_ANY_1),
    ROW(11, 27, ONNXD_SET_ANY_1),
    ROW(28, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

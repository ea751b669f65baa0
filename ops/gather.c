/* Gather: entries of one axis picked by index; indices count from the end when negative. */
#include <inttypes.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct gather_params {
    int64_t axis;
} gather_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", NULL};
    gather_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *check_indices(const onnxd_node *node, const onnxd_tensor_view *indices,
                                   int64_t dim)
{
    size_t count = onnxd_tensor_view_count(indices);
    for (size_t i = 0; i < count; i++) {
        int64_t index = onnxd_op_int_at(indices, i);
        if (index < -dim || index >= dim)
            return onnxd_op_error(node,
                                  "index %" PRId64 " (element %zu of input 1) is outside "
                                  "[%" PRId64 ", %" PRId64 "]",
                                  index, i, -dim, dim - 1);
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const gather_params *p = infer->params;
    const onnxd_shape *data = &infer->inputs[0].shape, *indices = &infer->inputs[1].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    if (data->rank < 0)
        return NULL;
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, data->rank, &axis));
    onnxd_tensor_view view;
    if (onnxd_dim_is_static(data->dims[axis]) && onnxd_infer_known(infer, 1, &view))
        ONNXD_TRY(check_indices(infer->node, &view, data->dims[axis]));
    if (indices->rank < 0)
        return NULL;
    int32_t rank = data->rank - 1 + indices->rank;
    if (rank > ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node,
                              "the output would have rank %" PRId32 ", at most %d is supported",
                              rank, ONNXD_MAX_RANK);
    onnxd_shape *output = &infer->outputs[0].shape;
    output->rank = rank;
    for (int32_t i = 0; i < axis; i++)
        output->dims[i] = data->dims[i];
    for (int32_t i = 0; i < indices->rank; i++)
        output->dims[axis + i] = indices->dims[i];
    for (int32_t i = axis + 1; i < data->rank; i++)
        output->dims[i - 1 + indices->rank] = data->dims[i];
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const gather_params *p = compute->params;
    const onnxd_tensor_view *data = &compute->inputs[0], *indices = &compute->inputs[1];
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'axis'", p->axis, data->shape.rank, &axis));
    int64_t dim = data->shape.dims[axis];
    ONNXD_TRY(check_indices(compute->node, indices, dim));
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    size_t outer, inner, count = onnxd_tensor_view_count(indices);
    ONNXD_TRY(onnxd_op_around_axis(compute->node, &data->shape, axis, &outer, &inner));
    size_t block = inner * onnxd_dtype_size(data->dtype);
    const char *from = onnxd_tensor_view_data(data);
    char *to = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t o = 0; o < outer; o++, from += (size_t)dim * block) {
        for (size_t i = 0; i < count; i++, to += block) {
            int64_t index = onnxd_op_int_at(indices, i);
            memcpy(to, from + (size_t)(index < 0 ? index + dim : index) * block, block);
        }
    }
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Gather", .domain = "", .since = first, .until = last, .min_inputs = 2,         \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET_INDEX, .type_variable = 2}},                                \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(gather_params),    \
        .parse = parse, .infer = infer, .compute = compute                                         \
    }

const onnxd_op_def onnxd_op_gather[] = {
    ROW(1, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

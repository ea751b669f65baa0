/* Expand: repeats the input to the shape that it and input 1 broadcast to. */
#include <inttypes.h>

#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* Input 1 as a shape. */
static onnxd_status *read_target(const onnxd_node *node, const onnxd_tensor_view *view,
                                 onnxd_shape *out_target)
{
    onnxd_shape target;
    size_t count;
    ONNXD_TRY(onnxd_op_read_ints(node, 1, view, ONNXD_MAX_RANK, target.dims, &count));
    target.rank = (int32_t)count;
    for (size_t i = 0; i < count; i++)
        if (target.dims[i] < 0)
            return onnxd_op_error(node, "element %zu of the shape is %" PRId64 ", less than 0", i,
                                  target.dims[i]);
    *out_target = target;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape target;
    onnxd_tensor_view view;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    if (onnxd_infer_known(infer, 1, &view)) {
        ONNXD_TRY(read_target(infer->node, &view, &target));
        return onnxd_broadcast_shapes(infer->node, input, &target, &infer->outputs[0].shape);
    }
    int64_t length;
    ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
    if (length > ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node,
                              "the shape has %" PRId64 " elements, at most %d are supported",
                              length, ONNXD_MAX_RANK);
    if (length >= 0 && input->rank >= 0)
        infer->outputs[0].shape =
            onnxd_shape_of_rank(length > input->rank ? (int32_t)length : input->rank);
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    onnxd_shape shape;
    ONNXD_TRY(read_target(compute->node, &compute->inputs[1], &shape));
    ONNXD_TRY(onnxd_broadcast_shapes(compute->node, &input->shape, &shape, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    const onnxd_shape *inputs[] = {&input->shape};
    onnxd_loop loop;
    onnxd_loop_init_broadcast(&loop, &shape, 1, inputs);
    onnxd_move(&loop, onnxd_dtype_size(input->dtype), onnxd_tensor_view_data(output),
               onnxd_tensor_view_data(input));
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Expand", .domain = "", .since = first, .until = last, .min_inputs = 2,         \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},               \
        .outputs = {{.types = set, .type_variable = 1}}, .shape_inputs = 1u << 1, .infer = infer,  \
        .compute = compute                                                                         \
    }

const onnxd_op_def onnxd_op_expand[] = {
    ROW(8, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

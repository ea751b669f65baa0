/* Expand: repeats the input to the shape that it and input 1 broadcast to. */
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape target;
    bool is_known;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    ONNXD_TRY(onnxd_infer_shape_list(infer, 1, 0, &target, &is_known));
    if (is_known)
        return onnxd_broadcast_shapes(infer->node, input, &target, &infer->outputs[0].shape);
    /* An unknown element may turn out to be 1 or the extent that it meets, or extend it. */
    if (target.rank >= 0 && input->rank >= 0)
        infer->outputs[0].shape =
            onnxd_shape_of_rank(target.rank > input->rank ? target.rank : input->rank);
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    onnxd_shape shape;
    ONNXD_TRY(onnxd_op_read_shape(compute->node, 1, &compute->inputs[1], 0, &shape));
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

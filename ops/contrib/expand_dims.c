/* ExpandDims: a dimension of extent 1 at an axis, which is an input. */
#include <inttypes.h>

#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape *output = &infer->outputs[0].shape;
    onnxd_tensor_view view;
    int64_t length, value = 0;
    size_t count = 0;
    int32_t axis;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
    if (length >= 0 && length != 1)
        return onnxd_op_error(infer->node, "input 1 has %" PRId64 " elements, it must have one",
                              length);
    if (input->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (input->rank == ONNXD_MAX_RANK)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", the highest there is",
                              input->rank);
    *output = onnxd_shape_of_rank(input->rank + 1);
    if (!onnxd_infer_known(infer, 1, &view))
        return NULL;
    ONNXD_TRY(onnxd_op_read_ints(infer->node, 1, &view, 1, &value, &count));
    ONNXD_TRY(onnxd_op_axis(infer->node, "input 1", value, input->rank + 1, &axis));
    for (int32_t i = 0, from = 0; i < output->rank; i++)
        output->dims[i] = i == axis ? 1 : input->dims[from++];
    return NULL;
}

const onnxd_op_def onnxd_op_expand_dims[] = {
    {ONNXD_CONTRIB_NAME("ExpandDims"), .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ANY_1, .type_variable = 1}, {.types = ONNXD_SET(INT32)}},
     .outputs = {{.types = ONNXD_SET_ANY_1, .type_variable = 1}}, .shape_inputs = 1u << 1,
     .infer = infer, .compute = onnxd_op_compute_copy, .is_view = true},
    {.op_type = NULL},
};

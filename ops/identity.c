/* Identity: output = input, any tensor type. */
#include <string.h>

#include "ops/ops.h"

static onnxd_status *infer(onnxd_infer *context)
{
    context->outputs[0] = context->inputs[0];
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    memcpy(onnxd_tensor_view_data(&context->outputs[0]),
           onnxd_tensor_view_data(&context->inputs[0]),
           onnxd_tensor_view_bytes(&context->inputs[0]));
    return NULL;
}

#define ANY_TENSOR UINT32_MAX

const onnxd_op_def onnxd_op_identity[] = {
    {.op_type = "Identity",
     .domain = "",
     .since = 1,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ANY_TENSOR, .type_variable = 1}},
     .outputs = {{.types = ANY_TENSOR, .type_variable = 1}},
     .infer = infer,
     .compute = compute,
     .is_view = true},
    {.op_type = NULL},
};

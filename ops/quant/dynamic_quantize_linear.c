/* DynamicQuantizeLinear: float to uint8 with the scale and zero point that the data ask for. */
#include <string.h>

#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

enum { Y, SCALE, ZERO_POINT };

static onnxd_status *infer(onnxd_infer *infer)
{
    static const onnxd_dtype dtypes[] = {ONNXD_UINT8, ONNXD_FLOAT, ONNXD_UINT8};
    for (uint32_t i = 0; i < infer->output_count && i < ONNXD_COUNT(dtypes); i++) {
        if (!onnxd_op_has_output(infer->node, i))
            continue;
        infer->outputs[i].dtype = dtypes[i];
        infer->outputs[i].shape = i == Y ? infer->inputs[0].shape : onnxd_shape_of_rank(0);
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *outputs = compute->outputs;
    const float *x = onnxd_tensor_view_data(&compute->inputs[0]);
    size_t count = onnxd_tensor_view_count(&compute->inputs[0]);
    float scale;
    uint8_t zero_point;
    onnxd_quant_choose(x, count, &scale, &zero_point);
    if (onnxd_tensor_view_is_present(&outputs[SCALE]))
        memcpy(onnxd_tensor_view_data(&outputs[SCALE]), &scale, sizeof(scale));
    if (onnxd_tensor_view_is_present(&outputs[ZERO_POINT]))
        memcpy(onnxd_tensor_view_data(&outputs[ZERO_POINT]), &zero_point, sizeof(zero_point));
    if (onnxd_tensor_view_is_present(&outputs[Y]))
        onnxd_quant_store_all(ONNXD_UINT8, x, count, scale, zero_point,
                              onnxd_tensor_view_data(&outputs[Y]));
    return NULL;
}

const onnxd_op_def onnxd_op_dynamic_quantize_linear[] = {
    {.op_type = "DynamicQuantizeLinear",
     .domain = "",
     .since = 11,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 3,
     .max_outputs = 3,
     .inputs = {{.types = ONNXD_SET(FLOAT)}},
     .outputs = {{.types = ONNXD_SET(UINT8)},
                 {.types = ONNXD_SET(FLOAT)},
                 {.types = ONNXD_SET(UINT8)}},
     .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};

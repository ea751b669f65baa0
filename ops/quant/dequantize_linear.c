/* DequantizeLinear: y = (x - zero point) * scale, per tensor, axis or block. */
#include <string.h>

#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/quant/scales.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { INPUT, SCALES, ZERO_POINTS };

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_scale_params *p = infer->params;
    ONNXD_TRY(onnxd_scales_check(infer));
    onnxd_dtype dtype =
        p->output_dtype != ONNXD_UNDEFINED ? p->output_dtype : infer->inputs[SCALES].dtype;
    if (dtype == ONNXD_FLOAT8E8M0)
        return onnxd_op_error(infer->node,
                              "attribute 'output_dtype' is required with scales of type %s",
                              onnxd_dtype_name(dtype));
    infer->outputs[0].dtype = dtype;
    infer->outputs[0].shape = infer->inputs[INPUT].shape;
    return NULL;
}

/* x - zero point of a chunk, which of int32 needs more bits than either a float or an int32 has. */
static void subtract(const onnxd_compute *compute, const onnxd_scale_layout *layout, size_t first,
                     size_t count, float *out)
{
    const onnxd_tensor_view *input = &compute->inputs[INPUT];
    const onnxd_tensor_view *zero_view =
        compute->input_count > ZERO_POINTS ? &compute->inputs[ZERO_POINTS] : NULL;
    const void *data = onnxd_tensor_view_data(input);
    if (input->dtype == ONNXD_INT32 || onnxd_quant_is_integer(input->dtype)) {
        int32_t x[ONNXD_QUANT_CHUNK], zeros[ONNXD_QUANT_CHUNK];
        onnxd_quant_read_integers(input->dtype, data, first, count, x);
        onnxd_scales_spread(layout, onnxd_scale_read_integers, zero_view, first, count, zeros);
        if (input->dtype == ONNXD_INT32)
            for (size_t i = 0; i < count; i++)
                out[i] = (float)((int64_t)x[i] - zeros[i]);
        else
            for (size_t i = 0; i < count; i++)
                out[i] = (float)(x[i] - zeros[i]);
        return;
    }
    float zeros[ONNXD_QUANT_CHUNK];
    onnxd_quant_read_floats(input->dtype, data, first, count, out);
    onnxd_scales_spread(layout, onnxd_scale_read_floats, zero_view, first, count, zeros);
    for (size_t i = 0; i < count; i++)
        out[i] -= zeros[i];
}

static void store(const onnxd_tensor_view *output, const float *values, size_t count, size_t first)
{
    void *to = onnxd_tensor_view_data(output);
    if (output->dtype == ONNXD_FLOAT)
        memcpy((float *)to + first, values, count * sizeof(float));
    else
        onnxd_real_narrow(output->dtype, values, count, (uint16_t *)to + first);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *inputs = compute->inputs, *output = &compute->outputs[0];
    size_t count = onnxd_tensor_view_count(output);
    if (count == 0)
        return NULL;
    onnxd_scale_layout layout =
        onnxd_scales_layout(compute->params, &inputs[INPUT].shape, &inputs[SCALES].shape);
    for (size_t first = 0; first < count; first += ONNXD_QUANT_CHUNK) {
        float scales[ONNXD_QUANT_CHUNK], values[ONNXD_QUANT_CHUNK];
        size_t part = count - first < ONNXD_QUANT_CHUNK ? count - first : ONNXD_QUANT_CHUNK;
        onnxd_scales_spread(&layout, onnxd_scale_read_floats, &inputs[SCALES], first, part, scales);
        subtract(compute, &layout, first, part, values);
        for (size_t i = 0; i < part; i++)
            values[i] *= scales[i];
        store(output, values, part, first);
    }
    return NULL;
}

#define X_10 (ONNXD_SET(INT8) | ONNXD_SET(UINT8) | ONNXD_SET(INT32))
#define X_19 (X_10 | ONNXD_SET_FLOAT8)
#define X_21 (X_19 | ONNXD_SET(INT16) | ONNXD_SET(UINT16) | ONNXD_SET(INT4) | ONNXD_SET(UINT4))
#define X_23 (X_21 | ONNXD_SET(FLOAT4E2M1))
#define X_25 (X_23 | ONNXD_SET(INT2) | ONNXD_SET(UINT2))
#define X_28 (X_25 | ONNXD_SET_FLOAT6)
#define Y_19 (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))
#define SCALE_24 (Y_19 | ONNXD_SET(FLOAT8E8M0))

#define X_CONTRIB (X_10 | ONNXD_SET(INT16) | ONNXD_SET(UINT16) | ONNXD_SET(INT4) | ONNXD_SET(UINT4))
#define Y_CONTRIB (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16))

/* y_variable: 2 where the output must have the scale's type. */
#define ROW(first, last, x, scale, y, y_variable)                                                  \
    IN_DOMAIN("", onnxd_scale_params_parse, first, last, x, scale, y, y_variable)
#define IN_DOMAIN(name, parse_function, first, last, x, scale, y, y_variable)                      \
    {                                                                                              \
        .op_type = "DequantizeLinear", .domain = name, .since = first, .until = last,              \
        .min_inputs = 2, .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = x, .type_variable = 1},                                               \
                   {.types = scale, .type_variable = 2},                                           \
                   {.types = x, .type_variable = 1, .is_optional = true}},                         \
        .outputs = {{.types = y, .type_variable = y_variable}},                                    \
        .params_bytes = sizeof(onnxd_scale_params), .parse = parse_function, .infer = infer,       \
        .compute = compute, .batch_inputs = 1u                                                     \
    }

const onnxd_op_def onnxd_op_dequantize_linear[] = {
    ROW(10, 12, X_10, ONNXD_SET(FLOAT), ONNXD_SET(FLOAT), 2),
    ROW(13, 18, X_10, ONNXD_SET(FLOAT), ONNXD_SET(FLOAT), 2),
    ROW(19, 20, X_19, Y_19, Y_19, 2),
    ROW(21, 22, X_21, Y_19, Y_19, 2),
    ROW(23, 23, X_23, Y_19, Y_19, 3),
    ROW(24, 24, X_23, SCALE_24, Y_19, 3),
    ROW(25, 27, X_25, SCALE_24, Y_19, 3),
    ROW(28, ONNXD_OPSET_MAX, X_28, SCALE_24, Y_19, 3),
    IN_DOMAIN("com.microsoft", onnxd_scale_params_parse_contrib, 1, 1, X_CONTRIB, Y_CONTRIB,
              Y_CONTRIB, 2),
    {.op_type = NULL},
};

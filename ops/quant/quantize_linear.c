/* QuantizeLinear: y = saturate(round(x / scale) + zero point), per tensor, axis or block. */
#include <inttypes.h>
#include <math.h>

#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/quant/scales.h"
#include "ops/support.h"
#include "ops/types.h"

enum { INPUT, SCALES, ZERO_POINTS };

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_scale_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    ONNXD_TRY(onnxd_scales_check(infer));
    output->shape = infer->inputs[INPUT].shape;
    bool has_zero_points = onnxd_op_has_input(infer->node, ZERO_POINTS);
    onnxd_dtype dtype = has_zero_points ? infer->inputs[ZERO_POINTS].dtype : p->output_dtype;
    if (has_zero_points && dtype != ONNXD_UNDEFINED && p->output_dtype != ONNXD_UNDEFINED &&
        dtype != p->output_dtype)
        return onnxd_op_error(infer->node,
                              "attribute 'output_dtype' is %s, but the zero points have type %s",
                              onnxd_dtype_name(p->output_dtype), onnxd_dtype_name(dtype));
    if (dtype == ONNXD_UNDEFINED)
        dtype = has_zero_points ? p->output_dtype : ONNXD_UINT8;
    output->dtype = dtype;
    return NULL;
}

/* ---- the quotient of a chunk ---- */

static void round_to(onnxd_dtype precision, float *values, size_t count)
{
    if (precision == ONNXD_FLOAT16)
        for (size_t i = 0; i < count; i++)
            values[i] = onnxd_float16_to_float(onnxd_float_to_float16(values[i]));
    if (precision == ONNXD_BFLOAT16)
        for (size_t i = 0; i < count; i++)
            values[i] = onnxd_bfloat16_to_float(onnxd_float_to_bfloat16(values[i]));
}

/* The division's precision. Before opset 23 ONNX says nothing, and others divide in float. */
static onnxd_dtype precision_of(const onnxd_compute *compute)
{
    const onnxd_scale_params *p = compute->params;
    if (compute->opset < 23)
        return ONNXD_FLOAT;
    return p->precision != ONNXD_UNDEFINED ? p->precision : compute->inputs[SCALES].dtype;
}

/* Quotients of int32 need more bits than a float has; those that are to become integers are rounded
 * here, while they have them. */
static void divide_integers(const int32_t *x, const float *scales, size_t count, bool is_rounded,
                            float *out)
{
    for (size_t i = 0; i < count; i++) {
        double quotient = (double)x[i] / (double)scales[i];
        out[i] = (float)(is_rounded ? rint(quotient) : quotient);
    }
}

static void divide(const onnxd_compute *compute, onnxd_dtype precision, size_t first, size_t count,
                   float *scales, float *out)
{
    const onnxd_tensor_view *input = &compute->inputs[INPUT];
    const void *data = onnxd_tensor_view_data(input);
    if (input->dtype == ONNXD_INT32 &&
        !(precision == ONNXD_FLOAT16 || precision == ONNXD_BFLOAT16)) {
        divide_integers((const int32_t *)data + first, scales, count,
                        onnxd_quant_is_integer(compute->outputs[0].dtype), out);
        return;
    }
    onnxd_quant_read_floats(input->dtype, data, first, count, out);
    round_to(precision, out, count);
    round_to(precision, scales, count);
    for (size_t i = 0; i < count; i++)
        out[i] /= scales[i];
    round_to(precision, out, count);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_scale_params *p = compute->params;
    const onnxd_tensor_view *inputs = compute->inputs, *output = &compute->outputs[0];
    const onnxd_tensor_view *zero_view =
        compute->input_count > ZERO_POINTS ? &inputs[ZERO_POINTS] : NULL;
    size_t count = onnxd_tensor_view_count(output);
    if (count == 0)
        return NULL;
    void *to = onnxd_tensor_view_data(output);
    onnxd_dtype precision = precision_of(compute);
    onnxd_scale_layout layout = onnxd_scales_layout(p, &inputs[INPUT].shape, &inputs[SCALES].shape);
    for (size_t first = 0; first < count; first += ONNXD_QUANT_CHUNK) {
        float scales[ONNXD_QUANT_CHUNK], zeros[ONNXD_QUANT_CHUNK], values[ONNXD_QUANT_CHUNK];
        size_t part = count - first < ONNXD_QUANT_CHUNK ? count - first : ONNXD_QUANT_CHUNK;
        onnxd_scales_spread(&layout, onnxd_scale_read_floats, &inputs[SCALES], first, part, scales);
        onnxd_scales_spread(&layout, onnxd_scale_read_floats, zero_view, first, part, zeros);
        divide(compute, precision, first, part, scales, values);
        onnxd_quant_store(output->dtype, values, zeros, part, p->saturates, to, first);
    }
    return NULL;
}

#define X_10 (ONNXD_SET(FLOAT) | ONNXD_SET(INT32))
#define X_19 (X_10 | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))
#define SCALE_24 (X_19 | ONNXD_SET(FLOAT8E8M0))
#define Y_10 (ONNXD_SET(INT8) | ONNXD_SET(UINT8))
#define Y_19 (Y_10 | ONNXD_SET_FLOAT8)
#define Y_21 (Y_19 | ONNXD_SET(INT16) | ONNXD_SET(UINT16) | ONNXD_SET(INT4) | ONNXD_SET(UINT4))
#define Y_23 (Y_21 | ONNXD_SET(FLOAT4E2M1))
#define Y_25 (Y_23 | ONNXD_SET(INT2) | ONNXD_SET(UINT2))
#define Y_28 (Y_25 | ONNXD_SET_FLOAT6)

#define X_CONTRIB (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16))
#define Y_CONTRIB (Y_10 | ONNXD_SET(INT16) | ONNXD_SET(UINT16) | ONNXD_SET(INT4) | ONNXD_SET(UINT4))

/* scale_variable: 1 where the scale must have the input's type. */
#define ROW(first, last, x, scale, scale_variable, y)                                              \
    IN_DOMAIN("", onnxd_scale_params_parse, first, last, x, scale, scale_variable, y)
#define IN_DOMAIN(name, parse_function, first, last, x, scale, scale_variable, y)                  \
    {                                                                                              \
        .op_type = "QuantizeLinear", .domain = name, .since = first, .until = last,                \
        .min_inputs = 2, .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = x, .type_variable = 1},                                               \
                   {.types = scale, .type_variable = scale_variable},                              \
                   {.types = y, .type_variable = 3, .is_optional = true}},                         \
        .outputs = {{.types = y, .type_variable = 3}}, .params_bytes = sizeof(onnxd_scale_params), \
        .parse = parse_function, .infer = infer, .compute = compute, .batch_inputs = 1u            \
    }

const onnxd_op_def onnxd_op_quantize_linear[] = {
    ROW(10, 12, X_10, ONNXD_SET(FLOAT), 2, Y_10),
    ROW(13, 18, X_10, ONNXD_SET(FLOAT), 2, Y_10),
    ROW(19, 20, X_19, X_19, 1, Y_19),
    ROW(21, 22, X_19, X_19, 1, Y_21),
    ROW(23, 23, X_19, X_19, 2, Y_23),
    ROW(24, 24, X_19, SCALE_24, 2, Y_23),
    ROW(25, 27, X_19, SCALE_24, 2, Y_25),
    ROW(28, ONNXD_OPSET_MAX, X_19, SCALE_24, 2, Y_28),
    IN_DOMAIN("com.microsoft", onnxd_scale_params_parse_contrib, 1, 1, X_CONTRIB, X_CONTRIB, 1,
              Y_CONTRIB),
    {.op_type = NULL},
};

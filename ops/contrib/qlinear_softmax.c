/* QLinearSoftmax: Softmax of a quantised tensor. */
#include <inttypes.h>
#include <math.h>

#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "opset", NULL};
    onnxd_softmax_params *p = params;
    int64_t softmax_opset = 13;
    p->axis = -1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "opset"));
    ONNXD_TRY(onnxd_attribute_int(node, "opset", 1, INT64_MAX, &softmax_opset));
    p->flattens = softmax_opset < 13;
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_softmax_params *p = infer->params;
    int32_t axis;
    ONNXD_TRY(onnxd_affine_check(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    infer->outputs[0] = infer->inputs[X];
    if (infer->inputs[X].shape.rank < 0)
        return NULL;
    return onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, infer->inputs[X].shape.rank,
                         &axis);
}

typedef struct softmax_call {
    onnxd_dtype dtype;
    onnxd_affine to;
    size_t length, stride; /* of a row */
    uint8_t flip;          /* makes bits ascend: 0x80 for int8 */
    bool is_negative;      /* of the input's scale */
    float powers[256];     /* exp(-|scale| * distance from the largest element) */
} softmax_call;

static uint8_t distance(const softmax_call *call, uint8_t largest, uint8_t bits)
{
    int32_t d = (int32_t)largest - (int32_t)(bits ^ call->flip);
    return (uint8_t)(d < 0 ? -d : d);
}

static void soften_row(const softmax_call *call, const uint8_t *in, uint8_t *out)
{
    uint8_t largest = in[0] ^ call->flip, bytes[ONNXD_QUANT_CHUNK];
    float values[ONNXD_QUANT_CHUNK];
    double sum = 0;
    for (size_t i = 1; i < call->length; i++) {
        uint8_t value = in[i * call->stride] ^ call->flip;
        if (call->is_negative ? value < largest : value > largest)
            largest = value;
    }
    for (size_t i = 0; i < call->length; i++)
        sum += (double)call->powers[distance(call, largest, in[i * call->stride])];
    const float factor = (float)(1 / sum);
    for (size_t first = 0; first < call->length; first += ONNXD_QUANT_CHUNK) {
        size_t rest = call->length - first;
        size_t part = rest < ONNXD_QUANT_CHUNK ? rest : ONNXD_QUANT_CHUNK;
        for (size_t i = 0; i < part; i++)
            values[i] =
                call->powers[distance(call, largest, in[(first + i) * call->stride])] * factor;
        onnxd_affine_write(call->dtype, &call->to, values, part, bytes, 0);
        for (size_t i = 0; i < part; i++)
            out[(first + i) * call->stride] = bytes[i];
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[X];
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    onnxd_softmax_extent e = onnxd_softmax_extent_of(compute->params, &input->shape);
    onnxd_affine from = onnxd_affine_of(compute, X_SCALE);
    softmax_call call = {.dtype = input->dtype,
                         .to = onnxd_affine_of(compute, Y_SCALE),
                         .length = e.length,
                         .stride = e.inner,
                         .flip = input->dtype == ONNXD_INT8 ? 0x80 : 0,
                         .is_negative = from.scale < 0};
    for (size_t i = 0; i < 256; i++)
        call.powers[i] = expf(-fabsf(from.scale) * (float)i);
    const uint8_t *in = onnxd_tensor_view_data(input);
    uint8_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t o = 0; o < e.outer; o++)
        for (size_t i = 0; i < e.inner; i++)
            soften_row(&call, in + o * e.length * e.inner + i, out + o * e.length * e.inner + i);
    return NULL;
}

const onnxd_op_def onnxd_op_qlinear_softmax[] = {
    {ONNXD_CONTRIB_NAME("QLinearSoftmax"), .min_inputs = 5, .max_inputs = 5, .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_CONTRIB_BYTES, .type_variable = 1},
                {.types = ONNXD_SET(FLOAT)},
                {.types = ONNXD_CONTRIB_BYTES, .type_variable = 1, .is_optional = true},
                {.types = ONNXD_SET(FLOAT)},
                {.types = ONNXD_CONTRIB_BYTES, .type_variable = 1}},
     .outputs = {{.types = ONNXD_CONTRIB_BYTES, .type_variable = 1}},
     .params_bytes = sizeof(onnxd_softmax_params), .parse = parse, .infer = infer,
     .compute = compute},
    {.op_type = NULL},
};

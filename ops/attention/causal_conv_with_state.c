/* CausalConvWithState: a convolution per channel over what came before, carried on from call to
 * call. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, WEIGHT, BIAS, PAST };

typedef struct causal_params {
    bool is_swish; /* silu and swish are one function */
} causal_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"activation", NULL};
    causal_params *params = out;
    static const char *const activations[] = {"none", "silu", "swish"};
    size_t activation = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(
        onnxd_op_choice(node, "activation", activations, ONNXD_COUNT(activations), &activation));
    params->is_swish = activation != 0;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    static const int64_t unknown = ONNXD_DIM_UNKNOWN;
    const onnxd_shape *x = &context->inputs[X].shape, *weight = &context->inputs[WEIGHT].shape;
    int64_t batch = x->rank == 3 ? x->dims[0] : unknown;
    int64_t channels = x->rank == 3 ? x->dims[1] : unknown;
    int64_t taps = weight->rank == 3 ? weight->dims[2] : unknown;
    int64_t past = onnxd_dim_is_static(taps) ? taps - 1 : unknown;
    if (taps == 0)
        return onnxd_op_error(context->node, "dimension 2 of input 1 is 0, needed is at least 1");
    ONNXD_TRY(onnxd_infer_check_dims(context, X, 3, (int64_t[]){unknown, unknown, unknown}));
    ONNXD_TRY(onnxd_infer_check_dims(context, WEIGHT, 3, (int64_t[]){channels, 1, unknown}));
    ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 1, (int64_t[]){channels}));
    ONNXD_TRY(onnxd_infer_check_dims(context, PAST, 3, (int64_t[]){batch, channels, past}));
    context->outputs[0] = context->inputs[X];
    if (onnxd_op_has_output(context->node, 1)) {
        context->outputs[1].dtype = context->inputs[X].dtype;
        context->outputs[1].shape = onnxd_shape_from(3, (int64_t[]){batch, channels, past});
    }
    return NULL;
}

/* A channel with its past, its result and its weights. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    if (!onnxd_compute_has_work(context))
        return 0;
    size_t length = (size_t)context->inputs[X].shape.dims[2];
    size_t taps = (size_t)context->inputs[WEIGHT].shape.dims[2], count;
    if (onnxd_size_add(length, taps, &count) && onnxd_size_mul(count, 2 * sizeof(float), &count))
        return count;
    return SIZE_MAX;
}

static void convolve(const float *padded, const float *weights, size_t taps, float bias,
                     size_t length, float *out)
{
    for (size_t t = 0; t < length; t++)
        out[t] = bias;
    for (size_t k = 0; k < taps; k++) {
        for (size_t t = 0; t < length; t++)
            out[t] += weights[k] * padded[t + k];
    }
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const causal_params *params = context->params;
    const onnxd_tensor_view *in = context->inputs, *out = context->outputs;
    const int64_t *dims = in[X].shape.dims;
    onnxd_dtype dtype = in[X].dtype;
    size_t channels = (size_t)dims[1], length = (size_t)dims[2];
    size_t taps = (size_t)in[WEIGHT].shape.dims[2], rows = (size_t)dims[0] * channels;
    if (!onnxd_compute_has_work(context))
        return NULL;
    bool has_bias = onnxd_compute_input(context, BIAS) != NULL;
    bool has_past = onnxd_compute_input(context, PAST) != NULL;
    bool has_present = onnxd_compute_output(context, 1) != NULL;
    float *padded = context->workspace, *result = padded + taps - 1 + length;
    float *weights = result + length;
    for (size_t row = 0; row < rows; row++) {
        size_t channel = row % channels;
        float bias = 0;
        if (has_bias)
            onnxd_real_read_float(dtype, onnxd_tensor_view_data(&in[BIAS]), channel, 1, &bias);
        onnxd_real_read_float(dtype, onnxd_tensor_view_data(&in[WEIGHT]), channel * taps, taps,
                              weights);
        memset(padded, 0, (taps - 1) * sizeof(float));
        if (has_past)
            onnxd_real_read_float(dtype, onnxd_tensor_view_data(&in[PAST]), row * (taps - 1),
                                  taps - 1, padded);
        onnxd_real_read_float(dtype, onnxd_tensor_view_data(&in[X]), row * length, length,
                              padded + taps - 1);
        convolve(padded, weights, taps, bias, length, result);
        for (size_t t = 0; params->is_swish && t < length; t++)
            result[t] /= 1 + expf(-result[t]);
        onnxd_real_write_float(dtype, result, length, onnxd_tensor_view_data(&out[0]),
                               row * length);
        if (has_present)
            onnxd_real_write_float(dtype, padded + length, taps - 1,
                                   onnxd_tensor_view_data(&out[1]), row * (taps - 1));
    }
    return NULL;
}

#define FLOATS (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))

const onnxd_op_def onnxd_op_causal_conv_with_state[] = {
    {.op_type = "CausalConvWithState",
     .domain = "",
     .since = 27,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 2,
     .max_outputs = 2,
     .inputs = {{.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 1, .is_optional = true},
                {.types = FLOATS, .type_variable = 1, .is_optional = true}},
     .outputs = {{.types = FLOATS, .type_variable = 1}, {.types = FLOATS, .type_variable = 1}},
     .params_bytes = sizeof(causal_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};

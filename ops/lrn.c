/* LRN: local response normalisation across channels. */
#include <inttypes.h>
#include <math.h>

#include "graph/attributes.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {"alpha", "beta", "bias", "size", NULL};
    onnxd_lrn_params *params = out;
    (void)opset;
    (void)arena;
    params->alpha = 1e-4f;
    params->beta = 0.75f;
    params->bias = 1.0f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "size"));
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &params->alpha));
    ONNXD_TRY(onnxd_attribute_float(node, "beta", &params->beta));
    ONNXD_TRY(onnxd_attribute_float(node, "bias", &params->bias));
    return onnxd_attribute_int(node, "size", 1, INT32_MAX, &params->size);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *input = &context->inputs[0].shape;
    if (input->rank != ONNXD_RANK_UNKNOWN && input->rank < 2)
        return onnxd_op_error(context->node, "the input has rank %" PRId32 ", needed is at least 2",
                              input->rank);
    context->outputs[0] = context->inputs[0];
    return NULL;
}

/* Positions handled at a time. */
#define LRN_RUN 256

/* base ^ -beta; the usual exponent is two square roots instead of a power. */
static double lrn_power(double base, double beta)
{
    if (beta == 0.75 && base > 0) {
        double root = sqrt(base);
        return 1 / (root * sqrt(root));
    }
    return pow(base, -beta);
}

#define KERNEL_FILE "ops/lrn_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

typedef void (*normalize_function)(const onnxd_lrn_params *params, const void *input, size_t offset,
                                   size_t stride, size_t before, size_t after, size_t count,
                                   void *output);

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_lrn_params *params = context->params;
    const onnxd_shape *shape = &context->inputs[0].shape;
    if (onnxd_tensor_view_count(&context->inputs[0]) == 0)
        return NULL;
    size_t batch = (size_t)shape->dims[0], channels = (size_t)shape->dims[1], inner = 1;
    for (int32_t i = 2; i < shape->rank; i++)
        inner *= (size_t)shape->dims[i];
    size_t reach_down = (size_t)(params->size - 1) / 2;
    size_t reach_up = (size_t)(params->size - 1) - reach_down;
    const void *input = onnxd_tensor_view_data(&context->inputs[0]);
    void *output = onnxd_tensor_view_data(&context->outputs[0]);
    normalize_function run = ONNXD_FOR_FLOAT(context->inputs[0].dtype, normalize);
    size_t plane = 0;
    for (size_t n = 0; n < batch; n++)
        for (size_t c = 0; c < channels; c++, plane++) {
            size_t before = c < reach_down ? c : reach_down;
            size_t after = channels - 1 - c < reach_up ? channels - 1 - c : reach_up;
            for (size_t at = 0; at < inner; at += LRN_RUN) {
                size_t count = inner - at < LRN_RUN ? inner - at : LRN_RUN;
                run(params, input, plane * inner + at, inner, before, after, count, output);
            }
        }
    return NULL;
}

#define LRN(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "LRN", .domain = "", .since = first, .until = last, .min_inputs = 1,            \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(onnxd_lrn_params), \
        .parse = parse, .infer = infer, .compute = compute, .batch_inputs = 1u                     \
    }

const onnxd_op_def onnxd_op_lrn[] = {
    LRN(1, 12, ONNXD_SET_FLOATS_1),
    LRN(13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

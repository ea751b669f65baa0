/* QLinearSigmoid and QLinearLeakyRelu: functions of quantised elements, by table. */
#include <math.h>

#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

typedef struct leaky_relu_params {
    float alpha;
} leaky_relu_params;

static onnxd_status *parse_leaky_relu(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                      void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"alpha", NULL};
    leaky_relu_params *p = params;
    p->alpha = 0.01f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_float(node, "alpha", &p->alpha);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    ONNXD_TRY(onnxd_affine_check(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    infer->outputs[0] = infer->inputs[X];
    return NULL;
}

static float sigmoid(float x, const void *context)
{
    (void)context;
    return 1 / (1 + expf(-x));
}

static float leaky_relu(float x, const void *context)
{
    const leaky_relu_params *p = context;
    return x >= 0 ? x : x * p->alpha;
}

static onnxd_status *run(const onnxd_compute *compute,
                         float (*function)(float x, const void *context))
{
    const onnxd_tensor_view *input = &compute->inputs[X];
    onnxd_affine from = onnxd_affine_of(compute, X_SCALE), to = onnxd_affine_of(compute, Y_SCALE);
    uint8_t map[256];
    onnxd_affine_map(input->dtype, &from, input->dtype, &to, function, compute->params, map);
    const uint8_t *in = onnxd_tensor_view_data(input);
    uint8_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t count = onnxd_tensor_view_count(input);
    for (size_t i = 0; i < count; i++)
        out[i] = map[in[i]];
    return NULL;
}

static onnxd_status *compute_sigmoid(const onnxd_compute *compute)
{
    return run(compute, sigmoid);
}

static onnxd_status *compute_leaky_relu(const onnxd_compute *compute)
{
    return run(compute, leaky_relu);
}

#define UNARY(name, compute_function)                                                              \
    ONNXD_CONTRIB_NAME(name),                                                                      \
        .min_inputs = 4, .max_inputs = 5, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = ONNXD_CONTRIB_BYTES, .type_variable = 1},                             \
                   {.types = ONNXD_SET(FLOAT)},                                                    \
                   {.types = ONNXD_CONTRIB_BYTES, .type_variable = 1, .is_optional = true},        \
                   {.types = ONNXD_SET(FLOAT)},                                                    \
                   {.types = ONNXD_CONTRIB_BYTES, .type_variable = 1, .is_optional = true}},       \
        .outputs = {{.types = ONNXD_CONTRIB_BYTES, .type_variable = 1}}, .infer = infer,           \
        .compute = compute_function, .batch_inputs = 1u

const onnxd_op_def onnxd_op_qlinear_unary[] = {
    {UNARY("QLinearSigmoid", compute_sigmoid)},
    {UNARY("QLinearLeakyRelu", compute_leaky_relu), .params_bytes = sizeof(leaky_relu_params),
     .parse = parse_leaky_relu},
    {.op_type = NULL},
};

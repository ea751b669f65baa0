/* Gelu, QuickGelu, and the forms that add a vector to the rows first: FastGelu, BiasGelu. */
#include <inttypes.h>
#include <tgmath.h>

#include "ops/contrib/contrib.h"
#include "ops/gate.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct gelu_params {
    float alpha;
} gelu_params;

#define gelu_EXPRESSION(C, x, alpha) ONNXD_GELU(C, x)
#define fast_gelu_EXPRESSION(C, x, alpha) ONNXD_TANH_GELU(C, x)
#define quick_gelu_EXPRESSION(C, x, alpha) ONNXD_SWISH(C, x, alpha)

/* `bias` has `count` elements or is NULL. */
typedef void (*gelu_kernel)(void *out, const void *in, const void *bias, size_t count, float alpha);

#define GELU_KERNEL(op, id, T, C, LOAD, STORE)                                                     \
    static void op##_##id(void *out_data, const void *in_data, const void *bias_data,              \
                          size_t count, ONNXD_UNUSED float alpha)                                  \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *in = in_data, *bias = bias_data;                                                  \
        if (bias == NULL) {                                                                        \
            for (size_t i = 0; i < count; i++) {                                                   \
                C x = LOAD(C, in[i]);                                                              \
                out[i] = STORE(T, op##_EXPRESSION(C, x, alpha));                                   \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            C x = LOAD(C, in[i]) + LOAD(C, bias[i]);                                               \
            out[i] = STORE(T, op##_EXPRESSION(C, x, alpha));                                       \
        }                                                                                          \
    }
ONNXD_EACH_FLOAT(GELU_KERNEL, gelu)
ONNXD_EACH_FLOAT(GELU_KERNEL, fast_gelu)
ONNXD_EACH_FLOAT(GELU_KERNEL, quick_gelu)

static onnxd_status *parse_quick(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"alpha", NULL};
    gelu_params *p = params;
    p->alpha = 1.702f;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_float(node, "alpha", &p->alpha);
}

static onnxd_status *infer(onnxd_infer *context)
{
    context->outputs[0] = context->inputs[0];
    if (!onnxd_op_has_input(context->node, 1))
        return NULL;
    int64_t width;
    ONNXD_TRY(onnxd_contrib_last_dim(context, 0, &width));
    return onnxd_infer_check_dims(context, 1, 1, &width);
}

static onnxd_status *run(const onnxd_compute *context, const gelu_kernel *kernels)
{
    const gelu_params *params = context->params;
    const onnxd_tensor_view *in = &context->inputs[0], *bias = onnxd_compute_input(context, 1);
    float alpha = params == NULL ? 0 : params->alpha;
    size_t count = onnxd_tensor_view_count(in);
    if (count == 0)
        return NULL;
    size_t width = bias == NULL ? count : onnxd_tensor_view_count(bias);
    size_t bytes = width * onnxd_dtype_size(in->dtype);
    const char *from = onnxd_tensor_view_data(in);
    char *to = onnxd_tensor_view_data(&context->outputs[0]);
    const void *terms = bias == NULL ? NULL : onnxd_tensor_view_data(bias);
    for (size_t row = 0; row < count / width; row++)
        kernels[in->dtype](to + row * bytes, from + row * bytes, terms, width, alpha);
    return NULL;
}

#define COMPUTE(op)                                                                                \
    static onnxd_status *compute_##op(const onnxd_compute *context)                                \
    {                                                                                              \
        static const gelu_kernel kernels[ONNXD_DTYPE_COUNT] = {                                    \
            ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, op)};                                             \
        return run(context, kernels);                                                              \
    }
COMPUTE(gelu)
COMPUTE(fast_gelu)
COMPUTE(quick_gelu)

#define FLOATS(optional)                                                                           \
    {                                                                                              \
        .types = ONNXD_SET_FLOATS, .type_variable = 1, .is_optional = optional                     \
    }
#define ROW(name, op, least, most)                                                                 \
    ONNXD_CONTRIB_NAME(name),                                                                      \
        .min_inputs = least, .max_inputs = most, .min_outputs = 1, .max_outputs = 1,               \
        .inputs = {FLOATS(false), FLOATS((least) < (most))}, .outputs = {FLOATS(false)},           \
        .infer = infer, .compute = compute_##op, .batch_inputs = 3u

const onnxd_op_def onnxd_op_contrib_gelu[] = {
    {ROW("Gelu", gelu, 1, 1)},
    {ROW("QuickGelu", quick_gelu, 1, 1), .params_bytes = sizeof(gelu_params), .parse = parse_quick},
    {ROW("FastGelu", fast_gelu, 1, 2)},
    {ROW("BiasGelu", gelu, 2, 2)},
    {.op_type = NULL},
};

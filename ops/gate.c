/* Activations that weigh their input with a gate between 0 and 1: Gelu, HardSwish, Mish, Swish and
 * SwiGLU. NaN stays NaN. */
#include <tgmath.h>

#include "ops/choice.h"
#include "ops/gate.h"
#include "ops/ops.h"
#include "ops/unary.h"

#define gelu_EXPRESSION(C, x, p) ONNXD_GELU(C, x)
#define tanh_gelu_EXPRESSION(C, x, p) ONNXD_TANH_GELU(C, x)
#define hard_swish_EXPRESSION(C, x, p) ((x)*clip_unit((x) / 6 + (C)0.5))
#define clip_unit(value) ((value) < 0 ? 0 : (value) > 1 ? 1 : (value))
#define mish_EXPRESSION(C, x, p) ((x) > 20 ? (x) : (x) * (C)mish_gate((double)exp(x)))
#define swish_EXPRESSION(C, x, p) ONNXD_SWISH(C, x, (p)->alpha)

/* tanh(log(1 + e)), which rounds to 1 for e beyond exp(20). */
static inline double mish_gate(double e)
{
    double n = e * (e + 2);
    return n / (n + 2);
}

#define FLOATS(op)                                                                                 \
    ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, op)                                                       \
    ONNXD_UNARY_COMPUTE(op, ONNXD_EACH_FLOAT)
ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, gelu)
ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, tanh_gelu)
FLOATS(hard_swish)
FLOATS(mish)
FLOATS(swish)

/* ---- Gelu ---- */

typedef struct gelu_params {
    bool is_approximate;
} gelu_params;

static onnxd_status *parse_gelu(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"approximate", NULL};
    static const char *const choices[] = {"none", "tanh"};
    size_t choice = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_choice(node, "approximate", choices, ONNXD_COUNT(choices), &choice));
    ((gelu_params *)params)->is_approximate = choice == 1;
    return NULL;
}

static onnxd_status *compute_gelu(const onnxd_compute *compute)
{
    static const onnxd_unary_kernel exact[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, gelu)};
    static const onnxd_unary_kernel approximate[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, tanh_gelu)};
    const gelu_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    (p->is_approximate ? approximate : exact)[input->dtype](
        onnxd_tensor_view_data(&compute->outputs[0]), onnxd_tensor_view_data(input),
        onnxd_tensor_view_count(input), NULL);
    return NULL;
}

/* ---- Swish and SwiGLU ---- */

static onnxd_status *parse_swish(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"alpha", NULL};
    onnxd_unary_params *p = params;
    p->alpha = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_float(node, "alpha", &p->alpha);
}

static onnxd_status *infer_swiglu(onnxd_infer *infer)
{
    const onnxd_shape *a = &infer->inputs[0].shape, *b = &infer->inputs[1].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[infer->inputs[0].dtype == ONNXD_UNDEFINED ? 1 : 0].dtype;
    output->shape = a->rank < 0 ? *b : *a;
    bool fits = a->rank < 0 || b->rank < 0 || a->rank == b->rank;
    for (int32_t i = 0; fits && a->rank == b->rank && i < a->rank; i++) {
        if (!onnxd_dim_is_static(a->dims[i]))
            output->shape.dims[i] = b->dims[i];
        else
            fits = !onnxd_dim_is_static(b->dims[i]) || a->dims[i] == b->dims[i];
    }
    if (fits)
        return NULL;
    char text_a[ONNXD_SHAPE_TEXT], text_b[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node, "input 1 of shape %s must have the shape of input 0, %s",
                          onnxd_shape_format(b, text_b, sizeof(text_b)),
                          onnxd_shape_format(a, text_a, sizeof(text_a)));
}

typedef void (*swiglu_kernel)(void *out, const void *a, const void *b, size_t count, float alpha);

#define SWIGLU_KERNEL(op, id, T, C, LOAD, STORE)                                                   \
    static void op##_##id(void *out_data, const void *a_data, const void *b_data, size_t count,    \
                          float alpha)                                                             \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *a = a_data, *b = b_data;                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            C x = LOAD(C, a[i]);                                                                   \
            out[i] = STORE(T, ONNXD_SWISH(C, x, alpha) * LOAD(C, b[i]));                           \
        }                                                                                          \
    }
ONNXD_EACH_FLOAT(SWIGLU_KERNEL, swiglu)

static onnxd_status *compute_swiglu(const onnxd_compute *compute)
{
    static const swiglu_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, swiglu)};
    const onnxd_unary_params *p = compute->params;
    const onnxd_tensor_view *a = &compute->inputs[0];
    kernels[a->dtype](onnxd_tensor_view_data(&compute->outputs[0]), onnxd_tensor_view_data(a),
                      onnxd_tensor_view_data(&compute->inputs[1]), onnxd_tensor_view_count(a),
                      p->alpha);
    return NULL;
}

#define ROWS_22(name, op, first)                                                                   \
    ONNXD_UNARY_ROW(name, op, first, 21, ONNXD_SET_FLOATS_1, NULL, 0),                             \
        ONNXD_UNARY_ROW(name, op, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0)

const onnxd_op_def onnxd_op_gate[] = {
    ONNXD_UNARY_ROW("Gelu", gelu, 20, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, parse_gelu,
                    sizeof(gelu_params)),
    ROWS_22("HardSwish", hard_swish, 14),
    ROWS_22("Mish", mish, 18),
    ONNXD_UNARY_ROW("Swish", swish, 24, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, parse_swish,
                    sizeof(onnxd_unary_params)),
    {.op_type = "SwiGLU",
     .domain = "",
     .since = 28,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1}},
     .params_bytes = sizeof(onnxd_unary_params),
     .parse = parse_swish,
     .infer = infer_swiglu,
     .compute = compute_swiglu},
    {.op_type = NULL},
};

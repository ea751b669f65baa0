/* Relu, LeakyRelu, ThresholdedRelu, Sigmoid, Tanh, Softplus, Softsign, HardSigmoid, Elu, Selu and
 * Celu. NaN stays NaN, but for ThresholdedRelu, which keeps only what is greater than alpha. */
#include <tgmath.h>

#include "ops/ops.h"
#include "ops/unary.h"

#define relu_EXPRESSION(C, x, p) ((x) < 0 ? (C)0 : (x))
#define leaky_relu_EXPRESSION(C, x, p) ((x) < 0 ? (x) * (C)(p)->alpha : (x))
#define tanh_EXPRESSION(C, x, p) tanh(x)
#define elu_EXPRESSION(C, x, p) ((x) < 0 ? (C)(p)->alpha * (C)expm1(x) : (x))
/* alpha and beta (ONNX: gamma). */
#define selu_EXPRESSION(C, x, p) ((C)(p)->beta * ((x) > 0 ? (x) : (C)(p)->alpha * (C)expm1(x)))
#define hard_sigmoid_EXPRESSION(C, x, p) clip_unit((C)(p)->alpha *(x) + (C)(p)->beta)
#define clip_unit(value) ((value) < 0 ? 0 : (value) > 1 ? 1 : (value))
/* Both forms avoid the overflow of exp() of a large argument. */
#define sigmoid_EXPRESSION(C, x, p) ((x) >= 0 ? 1 / (1 + exp(-(x))) : exp(x) / (1 + exp(x)))
#define softplus_EXPRESSION(C, x, p) ((x) > 0 ? (x) + log1p(exp(-(x))) : log1p(exp(x)))

#define softsign_EXPRESSION(C, x, p) ((x) / (1 + fabs(x)))
#define thresholded_relu_EXPRESSION(C, x, p) ((x) > (C)(p)->alpha ? (x) : 0)
/* max(0, x) + min(0, alpha (exp(x / alpha) - 1)): with a negative alpha both may count. */
#define celu_EXPRESSION(C, x, p)                                                                   \
    (((x) > 0 ? (x) : 0) + below_zero((C)(p)->alpha * (C)expm1((x) / (C)(p)->alpha)))
#define below_zero(value) ((value) > 0 ? 0 : (value))

#define FLOATS(op)                                                                                 \
    ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, op)                                                       \
    ONNXD_UNARY_COMPUTE(op, ONNXD_EACH_FLOAT)
FLOATS(leaky_relu)
FLOATS(sigmoid)
FLOATS(tanh)
FLOATS(softplus)
FLOATS(hard_sigmoid)
FLOATS(elu)
FLOATS(selu)
FLOATS(softsign)
FLOATS(thresholded_relu)
FLOATS(celu)

ONNXD_EACH_FLOAT(ONNXD_UNARY_KERNEL, relu)
ONNXD_EACH_SIGNED(ONNXD_UNARY_KERNEL, relu)
#define RELU_TABLE(X, op) ONNXD_EACH_FLOAT(X, op) ONNXD_EACH_SIGNED(X, op)
ONNXD_UNARY_COMPUTE(relu, RELU_TABLE)

/* Both names are optional attributes; `beta_name` NULL means there is no second. Opsets before 6
 * also have consumed_inputs. */
static onnxd_status *parse_numbers(const onnxd_node *node, int64_t opset, const char *beta_name,
                                   onnxd_unary_params *p)
{
    const char *names[4] = {"alpha"};
    size_t count = 1;
    if (beta_name != NULL)
        names[count++] = beta_name;
    if (opset < 6)
        names[count] = "consumed_inputs";
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_float(node, "alpha", &p->alpha));
    return beta_name == NULL ? NULL : onnxd_attribute_float(node, beta_name, &p->beta);
}

#define DEFINE_PARSE(op, alpha_default, beta_name, beta_default)                                   \
    static onnxd_status *parse_##op(const onnxd_node *node, int64_t opset, onnxd_arena *arena,     \
                                    void *params)                                                  \
    {                                                                                              \
        (void)arena;                                                                               \
        *(onnxd_unary_params *)params = (onnxd_unary_params){alpha_default, beta_default};         \
        return parse_numbers(node, opset, beta_name, params);                                      \
    }
DEFINE_PARSE(leaky_relu, 0.01f, NULL, 0)
DEFINE_PARSE(hard_sigmoid, 0.2f, "beta", 0.5f)
DEFINE_PARSE(elu, 1.0f, NULL, 0)
DEFINE_PARSE(celu, 1.0f, NULL, 0)
DEFINE_PARSE(thresholded_relu, 1.0f, NULL, 0)
DEFINE_PARSE(selu, opset < 6 ? 1.6732f : 1.67326319217681884765625f, "gamma",
             opset < 6 ? 1.0507f : 1.05070102214813232421875f)

#define ROW(name, op, first, last, set)                                                            \
    ONNXD_UNARY_ROW(name, op, first, last, set, parse_##op, sizeof(onnxd_unary_params))
#define ROWS_22(name, op)                                                                          \
    ROW(name, op, 1, 21, ONNXD_SET_FLOATS_1), ROW(name, op, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS)

const onnxd_op_def onnxd_op_activation[] = {
    ONNXD_UNARY_ROW("Relu", relu, 1, 5, ONNXD_SET_FLOATS_1, onnxd_op_parse_consumed, 0),
    ONNXD_UNARY_ROW("Relu", relu, 6, 12, ONNXD_SET_FLOATS_1, NULL, 0),
    ONNXD_UNARY_ROW("Relu", relu, 13, 13, ONNXD_SET_FLOATS, NULL, 0),
    ONNXD_UNARY_ROW("Relu", relu, 14, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS | ONNXD_SET_SIGNED, NULL,
                    0),
    ROW("LeakyRelu", leaky_relu, 1, 15, ONNXD_SET_FLOATS_1),
    ROW("LeakyRelu", leaky_relu, 16, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    ONNXD_UNARY_FLOAT_ROWS("Sigmoid", sigmoid),
    ONNXD_UNARY_FLOAT_ROWS("Tanh", tanh),
    ONNXD_UNARY_ROW("Softplus", softplus, 1, 21, ONNXD_SET_FLOATS_1, NULL, 0),
    ONNXD_UNARY_ROW("Softplus", softplus, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0),
    ONNXD_UNARY_ROW("Softsign", softsign, 1, 21, ONNXD_SET_FLOATS_1, NULL, 0),
    ONNXD_UNARY_ROW("Softsign", softsign, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, NULL, 0),
    ROW("ThresholdedRelu", thresholded_relu, 10, 21, ONNXD_SET_FLOATS_1),
    ROW("ThresholdedRelu", thresholded_relu, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    ROW("Celu", celu, 12, 27, ONNXD_SET(FLOAT)),
    ROW("Celu", celu, 28, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    ROWS_22("HardSigmoid", hard_sigmoid),
    ROWS_22("Elu", elu),
    ROWS_22("Selu", selu),
    {.op_type = NULL},
};

#include "ops/contrib/fused_activation.h"

#include <string.h>
#include <tgmath.h>

#include "ops/choice.h"
#include "ops/gate.h"
#include "ops/support.h"

/* What a name stands for, and which parameters it needs. */
typedef struct activation_row {
    onnxd_activation_kind kind;
    bool has_alpha, has_beta, has_gamma;
} activation_row;

enum { CELU = 1, PARAMETRIC_SOFTPLUS = 7, SELU = 10 };

static const char *const gemm_names[] = {
    "Relu",
    "Celu",
    "Elu",
    "HardSigmoid",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "ParametricSoftplus",
    "ScaledTanh",
    "Softplus",
    "Selu",
    "Softsign",
    "ThresholdedRelu",
};
static const activation_row gemm_rows[] = {
    {ONNXD_ACTIVATION_RELU, false, false, false},
    {ONNXD_ACTIVATION_ELU, true, false, false},
    {ONNXD_ACTIVATION_ELU, true, false, false},
    {ONNXD_ACTIVATION_HARD_SIGMOID, true, true, false},
    {ONNXD_ACTIVATION_LEAKY_RELU, true, false, false},
    {ONNXD_ACTIVATION_SIGMOID, false, false, false},
    {ONNXD_ACTIVATION_TANH, false, false, false},
    {ONNXD_ACTIVATION_SOFTPLUS, true, true, false},
    {ONNXD_ACTIVATION_SCALED_TANH, true, true, false},
    {ONNXD_ACTIVATION_SOFTPLUS, false, false, false},
    {ONNXD_ACTIVATION_ELU, true, false, true},
    {ONNXD_ACTIVATION_SOFTSIGN, false, false, false},
    {ONNXD_ACTIVATION_THRESHOLDED_RELU, true, false, false},
};
_Static_assert(ONNXD_COUNT(gemm_names) == ONNXD_COUNT(gemm_rows), "a row for each name");

static onnxd_status *read_parameter(const onnxd_node *node, const char *name, bool is_needed,
                                    float *out)
{
    if (is_needed)
        ONNXD_TRY(onnxd_attribute_require(node, name));
    return onnxd_attribute_float(node, name, out);
}

onnxd_status *onnxd_fused_parse_gemm(const onnxd_node *node, onnxd_fused_activation *out_activation)
{
    onnxd_fused_activation a = {.kind = ONNXD_FUSED_SCALED, .before = 1, .after = 1};
    size_t choice = 0;
    float alpha = 0, beta = 0, gamma = 1;
    if (onnxd_node_attribute(node, "activation") == NULL)
        a.kind = ONNXD_FUSED_NONE;
    ONNXD_TRY(onnxd_op_choice(node, "activation", gemm_names, ONNXD_COUNT(gemm_names), &choice));
    const activation_row *row = &gemm_rows[choice];
    bool has_name = a.kind != ONNXD_FUSED_NONE;
    ONNXD_TRY(read_parameter(node, "activation_alpha", has_name && row->has_alpha, &alpha));
    ONNXD_TRY(read_parameter(node, "activation_beta", has_name && row->has_beta, &beta));
    ONNXD_TRY(read_parameter(node, "activation_gamma", has_name && row->has_gamma, &gamma));
    a.function = (onnxd_activation){row->kind, alpha, beta};
    if (choice == SELU) {
        a.after = gamma;
    } else if (choice == PARAMETRIC_SOFTPLUS) {
        a.before = beta;
        a.after = alpha;
    } else if (choice == CELU) {
        a.function.alpha = 1;
        a.before = 1 / alpha;
        a.after = alpha;
    }
    *out_activation = a;
    return NULL;
}

onnxd_status *onnxd_fused_parse_conv(const onnxd_node *node, onnxd_fused_activation *out_activation)
{
    static const char *const names[] = {"Relu",  "Tanh",        "Sigmoid",   "LeakyRelu",
                                        "Clip",  "HardSigmoid", "HardSwish", "ScaledHardSwish",
                                        "Swish", "Gelu"};
    static const onnxd_activation_kind kinds[] = {
        ONNXD_ACTIVATION_RELU,       ONNXD_ACTIVATION_TANH,   ONNXD_ACTIVATION_SIGMOID,
        ONNXD_ACTIVATION_LEAKY_RELU, ONNXD_ACTIVATION_AFFINE, ONNXD_ACTIVATION_HARD_SIGMOID,
        ONNXD_ACTIVATION_AFFINE,     ONNXD_ACTIVATION_AFFINE, ONNXD_ACTIVATION_AFFINE,
        ONNXD_ACTIVATION_AFFINE};
    static const onnxd_fused_kind fused_kinds[] = {
        ONNXD_FUSED_SCALED,     ONNXD_FUSED_SCALED,
        ONNXD_FUSED_SCALED,     ONNXD_FUSED_SCALED,
        ONNXD_FUSED_CLIP,       ONNXD_FUSED_SCALED,
        ONNXD_FUSED_HARD_SWISH, ONNXD_FUSED_SCALED_HARD_SWISH,
        ONNXD_FUSED_SWISH,      ONNXD_FUSED_GELU};
    static const size_t parameter_counts[] = {0, 0, 0, 1, 2, 2, 0, 2, 1, 0};
    onnxd_fused_activation a = {.kind = ONNXD_FUSED_SCALED, .before = 1, .after = 1};
    const float *values = NULL;
    size_t choice = 0, count = 0;
    ONNXD_TRY(onnxd_op_choice(node, "activation", names, ONNXD_COUNT(names), &choice));
    ONNXD_TRY(onnxd_attribute_float_list(node, "activation_params", &values, &count));
    if (onnxd_node_attribute(node, "activation") == NULL) {
        *out_activation = (onnxd_fused_activation){.kind = ONNXD_FUSED_NONE};
        return NULL;
    }
    size_t needed = parameter_counts[choice];
    if (needed != 0 && count != needed)
        return onnxd_op_error(node,
                              "attribute 'activation_params' has %zu values, but %s needs %zu",
                              count, names[choice], needed);
    a.kind = fused_kinds[choice];
    a.function.kind = kinds[choice];
    if (a.kind == ONNXD_FUSED_CLIP) {
        a.low = values[0];
        a.high = values[1];
    } else if (needed != 0) {
        a.function.alpha = values[0];
        a.function.beta = needed > 1 ? values[1] : 0;
    }
    *out_activation = a;
    return NULL;
}

#define KERNEL_FILE "ops/contrib/fused_activation_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

void onnxd_fused_activate(const onnxd_fused_activation *activation, const onnxd_tensor_view *view)
{
    size_t count = onnxd_tensor_view_count(view);
    if (activation->kind == ONNXD_FUSED_NONE || count == 0)
        return;
    if (view->dtype == ONNXD_DOUBLE)
        activate_double(activation, onnxd_tensor_view_data(view), count);
    else
        activate_float(activation, onnxd_tensor_view_data(view), count);
}

void onnxd_fused_add(const onnxd_tensor_view *from, const onnxd_tensor_view *to)
{
    size_t count = onnxd_tensor_view_count(to);
    if (to->dtype == ONNXD_DOUBLE)
        add_double(onnxd_tensor_view_data(from), onnxd_tensor_view_data(to), count);
    else
        add_float(onnxd_tensor_view_data(from), onnxd_tensor_view_data(to), count);
}

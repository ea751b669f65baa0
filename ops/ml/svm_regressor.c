/* SVMRegressor: the weighted kernels between a row and the support vectors, plus rho. With
 * `one_class` the result is the side of the boundary, 1 or -1. */
#include "base/size_math.h"
#include "ops/ml/svm_kernel.h"
#include "ops/ops.h"

typedef struct regressor_params {
    onnxd_svm svm;
    int64_t is_one_class;
    onnxd_ml_transform transform;
} regressor_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"coefficients", "kernel_params",   "kernel_type",
                                        "n_supports",   "one_class",       "post_transform",
                                        "rho",          "support_vectors", NULL};
    regressor_params *p = params;
    int64_t supports = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "n_supports", 0, INT32_MAX, &supports));
    ONNXD_TRY(onnxd_attribute_int(node, "one_class", 0, 1, &p->is_one_class));
    ONNXD_TRY(onnxd_ml_parse_transform(node, &p->transform));
    ONNXD_TRY(onnxd_svm_parse(node, (size_t)supports, 1, &p->svm));
    if (supports > 0 && p->svm.coefficient_count < (size_t)supports)
        return onnxd_op_error(node, "attribute 'coefficients' has %zu elements for %zu vectors",
                              p->svm.coefficient_count, (size_t)supports);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const regressor_params *p = infer->params;
    return onnxd_ml_infer_rows(infer, (int64_t)p->svm.features, 0, ONNXD_FLOAT, 1);
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    size_t bytes;
    const regressor_params *p = compute->params;
    return onnxd_size_mul(p->svm.features + 1, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

static double evaluate(const onnxd_svm *svm, const float *row)
{
    double sum = (double)svm->rho[0];
    if (svm->vector_count == 0)
        return sum + onnxd_svm_kernel(svm, row, svm->coefficients);
    for (size_t v = 0; v < svm->vector_count; v++)
        sum += (double)svm->coefficients[v] *
               onnxd_svm_kernel(svm, row, svm->vectors + v * svm->features);
    return sum;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const regressor_params *p = compute->params;
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&compute->inputs[0].shape);
    float *row = compute->workspace, *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t r = 0; r < rows.count; r++) {
        onnxd_ml_load_floats(&compute->inputs[0], r * rows.width, rows.width, row);
        const double value = evaluate(&p->svm, row);
        out[r] = p->is_one_class != 0 ? (value > 0.0 ? 1.0f : -1.0f) : (float)value;
        /* One score by itself has no other transform. */
        if (p->transform == ONNXD_ML_PROBIT)
            onnxd_ml_transform_row(p->transform, &out[r], 1);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_svm_regressor[] = {
    {.op_type = "SVMRegressor",
     .domain = ONNXD_ML_DOMAIN,
     .since = 1,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ML_NUMBERS}},
     .outputs = {{.types = ONNXD_SET(FLOAT)}},
     .params_bytes = sizeof(regressor_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};

#include "ops/ml/svm_kernel.h"

#include <math.h>

#include "ops/choice.h"

static onnxd_status *parse_kind(const onnxd_node *node, onnxd_svm_kind *out_kind)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    size_t kind = 0;
    ONNXD_TRY(onnxd_op_choice(node, "kernel_type", names, ONNXD_COUNT(names), &kind));
    *out_kind = (onnxd_svm_kind)kind;
    return NULL;
}

static onnxd_status *parse_kernel(const onnxd_node *node, onnxd_svm *svm)
{
    const float *values = NULL;
    size_t count = 0;
    ONNXD_TRY(parse_kind(node, &svm->kind));
    ONNXD_TRY(onnxd_attribute_float_list(node, "kernel_params", &values, &count));
    if (count != 0 && count != 3)
        return onnxd_op_error(node,
                              "attribute 'kernel_params' has %zu elements, allowed are none and "
                              "3: gamma, coef0 and degree",
                              count);
    if (count == 3) {
        svm->gamma = (double)values[0];
        svm->coef0 = (double)values[1];
        svm->degree = (double)values[2];
    }
    return NULL;
}

onnxd_status *onnxd_svm_parse(const onnxd_node *node, size_t vector_count, size_t rows,
                              onnxd_svm *svm)
{
    size_t values = 0;
    ONNXD_TRY(parse_kernel(node, svm));
    ONNXD_TRY(onnxd_attribute_float_list(node, "support_vectors", &svm->vectors, &values));
    ONNXD_TRY(onnxd_attribute_float_list(node, "coefficients", &svm->coefficients,
                                         &svm->coefficient_count));
    ONNXD_TRY(onnxd_attribute_float_list(node, "rho", &svm->rho, &svm->rho_count));
    if (svm->rho_count == 0)
        return onnxd_op_error(node, "attribute 'rho' must have an element at least");
    svm->vector_count = vector_count;
    if (vector_count > 0) {
        if (values == 0 || values % vector_count != 0)
            return onnxd_op_error(node,
                                  "attribute 'support_vectors' has %zu elements, no multiple of "
                                  "%zu vectors",
                                  values, vector_count);
        svm->features = values / vector_count;
        return NULL;
    }
    if (svm->coefficient_count == 0 || svm->coefficient_count % rows != 0)
        return onnxd_op_error(node, "attribute 'coefficients' has %zu elements, no multiple of %zu",
                              svm->coefficient_count, rows);
    svm->features = svm->coefficient_count / rows;
    svm->kind = ONNXD_SVM_LINEAR;
    return NULL;
}

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double distance_squared(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double difference = (double)a[i] - (double)b[i];
        sum += difference * difference;
    }
    return sum;
}

double onnxd_svm_kernel(const onnxd_svm *svm, const float *row, const float *other)
{
    switch (svm->kind) {
    case ONNXD_SVM_POLY:
        return pow(svm->gamma * dot(row, other, svm->features) + svm->coef0, svm->degree);
    case ONNXD_SVM_RBF:
        return exp(-svm->gamma * distance_squared(row, other, svm->features));
    case ONNXD_SVM_SIGMOID:
        return tanh(svm->gamma * dot(row, other, svm->features) + svm->coef0);
    case ONNXD_SVM_LINEAR:
        break;
    }
    return dot(row, other, svm->features);
}

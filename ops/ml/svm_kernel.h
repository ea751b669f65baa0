/* Support vectors and their kernels, shared by SVMRegressor and SVMClassifier. */
#ifndef ONNXD_OPS_ML_SVM_KERNEL_H
#define ONNXD_OPS_ML_SVM_KERNEL_H

#include "ops/ml/ml.h"

typedef enum onnxd_svm_kind {
    ONNXD_SVM_LINEAR,
    ONNXD_SVM_POLY,
    ONNXD_SVM_RBF,
    ONNXD_SVM_SIGMOID
} onnxd_svm_kind;

typedef struct onnxd_svm {
    onnxd_svm_kind kind;
    double gamma, coef0, degree;
    const float *vectors; /* [vector_count, features] */
    const float *coefficients;
    const float *rho;
    size_t vector_count, features, coefficient_count, rho_count;
} onnxd_svm;

/* The attributes kernel_type, kernel_params, support_vectors, coefficients and rho. With vectors,
 * `features` follows from their number; without, the coefficients are `rows` rows of features and
 * the kernel is linear. */
ONNXD_NODISCARD onnxd_status *onnxd_svm_parse(const onnxd_node *node, size_t vector_count,
                                              size_t rows, onnxd_svm *svm);
/* The kernel between a row of features and another. */
double onnxd_svm_kernel(const onnxd_svm *svm, const float *row, const float *other);

#endif

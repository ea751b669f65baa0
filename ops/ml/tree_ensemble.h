/* Rows through an ensemble: what the operators over trees share. */
#ifndef ONNXD_OPS_ML_TREE_ENSEMBLE_H
#define ONNXD_OPS_ML_TREE_ENSEMBLE_H

#include "ops/ml/trees.h"

/* Scratch for one row at a time. */
typedef struct onnxd_tree_scratch {
    double *row, *scores;
    float *results; /* at least two */
    bool *has_score;
} onnxd_tree_scratch;

/* Bytes of the scratch, SIZE_MAX when they overflow. */
size_t onnxd_tree_scratch_bytes(const onnxd_trees *trees, const onnxd_shape *input);
onnxd_tree_scratch onnxd_tree_scratch_of(const onnxd_trees *trees, const onnxd_shape *input,
                                         void *workspace);
/* Input 0 has as many features as the trees ask for. */
ONNXD_NODISCARD onnxd_status *onnxd_tree_check_features(const onnxd_infer *infer,
                                                        const onnxd_trees *trees);

#endif

/*
 * What the operators of ai.onnx.ml share: rows of features, class labels, and what becomes of
 * scores.
 */
#ifndef ONNXD_OPS_ML_ML_H
#define ONNXD_OPS_ML_ML_H

#include "ops/support.h"

#define ONNXD_ML_DOMAIN "ai.onnx.ml"
/* The newest version of the domain. */
#define ONNXD_ML_OPSET_MAX 5
/* "tensor(float), tensor(double), tensor(int64), tensor(int32)" */
#define ONNXD_SET_ML_NUMBERS                                                                       \
    (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE) | ONNXD_SET(INT64) | ONNXD_SET(INT32))

/* ---- rows ---------------------------------------------------------------------------------- */

/* A static shape as rows of features: [] is one of one, [C] one row, [N,C] N rows. */
typedef struct onnxd_ml_rows {
    size_t count, width;
} onnxd_ml_rows;
onnxd_ml_rows onnxd_ml_rows_of(const onnxd_shape *shape);
/* Input 0 has rank 2 at most and, where `width` is not negative, that many features. Output
 * `output` becomes [N, out_width]. */
ONNXD_NODISCARD onnxd_status *onnxd_ml_infer_rows(onnxd_infer *infer, int64_t width,
                                                  uint32_t output, onnxd_dtype dtype,
                                                  int64_t out_width);
/* Elements [first, first + count) of a type in ONNXD_SET_ML_NUMBERS. */
void onnxd_ml_load_floats(const onnxd_tensor_view *view, size_t first, size_t count, float *out);
void onnxd_ml_load_doubles(const onnxd_tensor_view *view, size_t first, size_t count, double *out);

/* ---- labels -------------------------------------------------------------------------------- */

/* Class labels, one kind of two. */
typedef struct onnxd_ml_labels {
    const int64_t *integers;
    const onnxd_text *texts; /* NULL: integers */
    size_t count;
} onnxd_ml_labels;

/* From whichever of the two attributes the node has. Errors: INVALID_ARGUMENT when it has both, or
 * none where one `is_required`. */
ONNXD_NODISCARD onnxd_status *onnxd_ml_parse_labels(const onnxd_node *node, const char *integers,
                                                    const char *texts, bool is_required,
                                                    onnxd_ml_labels *out_labels);
onnxd_dtype onnxd_ml_label_dtype(const onnxd_ml_labels *labels);
/* Writes label `label` (its place, when there are no labels) as element `index` of an output of
 * onnxd_ml_label_dtype(). */
void onnxd_ml_write_label(const onnxd_ml_labels *labels, size_t label, void *out, size_t index);

/* ---- scores -------------------------------------------------------------------------------- */

typedef enum onnxd_ml_transform {
    ONNXD_ML_NONE,
    ONNXD_ML_SOFTMAX,
    ONNXD_ML_LOGISTIC,
    ONNXD_ML_SOFTMAX_ZERO,
    ONNXD_ML_PROBIT
} onnxd_ml_transform;

/* The attribute post_transform. Errors: INVALID_ARGUMENT naming the value. */
ONNXD_NODISCARD onnxd_status *onnxd_ml_parse_transform(const onnxd_node *node,
                                                       onnxd_ml_transform *out_transform);
float onnxd_ml_logistic(float value);
/* In place, over one row of scores. */
void onnxd_ml_transform_row(onnxd_ml_transform transform, float *scores, size_t count);

/* How the one score of two classes becomes two. */
typedef enum onnxd_ml_pair {
    ONNXD_ML_COMPLEMENT, /* 1 - s and s */
    ONNXD_ML_OPPOSITE    /* -s and s */
} onnxd_ml_pair;
/* scores[0] becomes two scores; LOGISTIC makes both of them probabilities. PROBIT changes the first
 * alone. */
void onnxd_ml_transform_pair(onnxd_ml_transform transform, onnxd_ml_pair pair, float *scores);

#endif

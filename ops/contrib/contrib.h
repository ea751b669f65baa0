/*
 * What the operators of the domain com.microsoft share.
 */
#ifndef ONNXD_OPS_CONTRIB_CONTRIB_H
#define ONNXD_OPS_CONTRIB_CONTRIB_H

#include "graph/op.h"

/* The domain has one version. */
#define ONNXD_CONTRIB_NAME(name) .domain = "com.microsoft", .op_type = name, .since = 1, .until = 1

/* The last dimension of a shape, unknown where it is not known. Errors: INVALID_ARGUMENT for rank
 * 0, naming input `index`. */
ONNXD_NODISCARD onnxd_status *onnxd_contrib_last_dim(const onnxd_infer *infer, uint32_t index,
                                                     int64_t *out_dim);

/* An input that shares its formal with the others of a repeated group: its own types are checked
 * here. */
ONNXD_NODISCARD onnxd_status *onnxd_contrib_check_type(const onnxd_infer *infer, uint32_t index,
                                                       onnxd_dtype_set types);

/* values[i] += terms[i] for i < count. */
void onnxd_contrib_add(const float *terms, size_t count, float *values);

#endif

/*
 * What the pools share: attributes, shape rules and sums of windows.
 */
#ifndef ONNXD_OPS_POOL_H
#define ONNXD_OPS_POOL_H

#include "graph/op.h"
#include "ops/nn.h"

/* The attributes of a pool with windows, of which `names` (NULL-terminated) are allowed. */
ONNXD_NODISCARD onnxd_status *onnxd_pool_parse(const onnxd_node *node, const char *const *names,
                                               onnxd_pool_params *params);
/* `infer` of pools whose params begin with onnxd_pool_params, and of pools over everything. */
ONNXD_NODISCARD onnxd_status *onnxd_pool_infer(onnxd_infer *context);
ONNXD_NODISCARD onnxd_status *onnxd_global_pool_infer(onnxd_infer *context);

/* The product of the dimensions behind batch and channels, modulo SIZE_MAX + 1: the elements of one
 * plane. */
size_t onnxd_pool_plane(const onnxd_shape *shape);

/* The sum of each window of one plane; padding adds nothing. */
void onnxd_pool_sum(const onnxd_window_geometry *geometry, const double *in, double *out);

/* The average and the largest element of each window of one plane: the kernels of AveragePool on
 * floats, and of MaxPool on any type that it takes. */
void onnxd_pool_average(const onnxd_window_geometry *geometry, bool counts_pads, const float *in,
                        float *out);
void onnxd_pool_maximum(onnxd_dtype dtype, const onnxd_window_geometry *geometry, const void *in,
                        void *out);

#endif

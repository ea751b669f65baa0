/*
 * The parsed attributes of the neural-network operators, as providers read them through
 * node->params.
 */
#ifndef ONNXD_OPS_NN_H
#define ONNXD_OPS_NN_H

#include "ops/window.h"

typedef struct onnxd_conv_params {
    onnxd_window window;
    int64_t group; /* >= 1 */
} onnxd_conv_params;

/* MaxPool and AveragePool. */
typedef struct onnxd_pool_params {
    onnxd_window window;
    bool counts_pads;     /* AveragePool: padding counts as elements of value 0 */
    bool is_column_major; /* MaxPool: how indices count the spatial dimensions */
} onnxd_pool_params;

typedef struct onnxd_batch_normalization_params {
    float epsilon, momentum;
    bool is_training; /* statistics come from the batch */
    bool is_spatial;  /* one statistic per channel; else (opset < 9) one per channel and position */
} onnxd_batch_normalization_params;

typedef struct onnxd_lrn_params {
    float alpha, beta, bias;
    int64_t size; /* channels in the sum, >= 1 */
} onnxd_lrn_params;

typedef struct onnxd_gemm_params {
    float alpha, beta;
    bool transposes_a, transposes_b;
    bool needs_equal_c; /* opset < 7 without `broadcast`: C has the shape of the result */
} onnxd_gemm_params;

/* Softmax and LogSoftmax. */
typedef struct onnxd_softmax_params {
    int64_t axis; /* as given, in [-ONNXD_MAX_RANK, ONNXD_MAX_RANK] */
    /* Opset < 13: the input is taken as a matrix whose rows are everything from `axis` on. */
    bool flattens;
    bool is_log;
} onnxd_softmax_params;

/* How a softmax runs over a static shape: out[o][i] over `length` elements `inner` apart. */
typedef struct onnxd_softmax_extent {
    size_t outer, length, inner;
} onnxd_softmax_extent;
onnxd_softmax_extent onnxd_softmax_extent_of(const onnxd_softmax_params *params,
                                             const onnxd_shape *shape);

/* A matrix product of static shapes with numpy's rules: for each batch b of the output, A's matrix
 * a_index(b) [rows x depth] times B's matrix b_index(b) [depth x columns]. Strides are in matrices,
 * 0 where a batch dimension is broadcast. */
typedef struct onnxd_matmul_extent {
    size_t rows, depth, columns;
    int32_t batch_rank;
    int64_t batch_dims[ONNXD_MAX_RANK];
    int64_t a_strides[ONNXD_MAX_RANK], b_strides[ONNXD_MAX_RANK];
} onnxd_matmul_extent;
onnxd_matmul_extent onnxd_matmul_extent_of(const onnxd_shape *a, const onnxd_shape *b);

#endif

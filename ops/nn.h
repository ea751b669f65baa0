/*
 * The parsed attributes of the neural-network operators, as providers read them through
 * node->params.
 */
#ifndef ONNXD_OPS_NN_H
#define ONNXD_OPS_NN_H

#include "graph/op.h"
#include "ops/window.h"

typedef struct onnxd_conv_params {
    onnxd_window window;
    int64_t group; /* >= 1 */
} onnxd_conv_params;

/* `parse` of a convolution into onnxd_conv_params. */
ONNXD_NODISCARD onnxd_status *onnxd_conv_parse(const onnxd_node *node, int64_t opset,
                                               onnxd_arena *arena, void *params);
/* The same without refusing attributes of other names. */
ONNXD_NODISCARD onnxd_status *onnxd_conv_parse_params(const onnxd_node *node,
                                                      onnxd_conv_params *params);
/* `infer` and `compute` of a convolution whose params begin with onnxd_conv_params. Its inputs are
 * the first three; computing needs scratch memory only for half types. */
ONNXD_NODISCARD onnxd_status *onnxd_conv_infer(onnxd_infer *infer);
ONNXD_NODISCARD onnxd_status *onnxd_conv_compute(const onnxd_compute *compute);
/* The output's shape; the shapes may be symbolic. Errors: INVALID_ARGUMENT for ranks, channels or
 * windows that do not fit. */
ONNXD_NODISCARD onnxd_status *onnxd_conv_infer_shape(const onnxd_node *node,
                                                     const onnxd_conv_params *params,
                                                     const onnxd_shape *input,
                                                     const onnxd_shape *weights,
                                                     onnxd_shape *out_shape);

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

/* alpha, beta, transA and transB into zeroed params, other attributes not looked at. */
ONNXD_NODISCARD onnxd_status *onnxd_gemm_parse_params(const onnxd_node *node,
                                                      onnxd_gemm_params *params);
/* `infer` and `compute` of a Gemm whose params begin with onnxd_gemm_params. Computing needs
 * scratch memory only for half types. */
ONNXD_NODISCARD onnxd_status *onnxd_gemm_infer(onnxd_infer *infer);
ONNXD_NODISCARD onnxd_status *onnxd_gemm_compute(const onnxd_compute *compute);

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

/* The softmax of each of `rows` rows of `length` >= 1 elements of a type in ONNXD_SET_FLOATS, one
 * after the other. `out` may be `in`. */
void onnxd_softmax_rows(onnxd_dtype dtype, size_t rows, size_t length, const void *in, void *out);

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
/* Matrices in the output of a product that is not empty, and which of A's and of B's make number
 * `batch` of them. */
size_t onnxd_matmul_batches(const onnxd_matmul_extent *extent);
void onnxd_matmul_locate(const onnxd_matmul_extent *extent, size_t batch, size_t *out_a,
                         size_t *out_b);
/* The shape of the product; the shapes may be symbolic. */
ONNXD_NODISCARD onnxd_status *onnxd_matmul_infer_shape(const onnxd_node *node, const onnxd_shape *a,
                                                       const onnxd_shape *b,
                                                       onnxd_shape *out_shape);

#endif

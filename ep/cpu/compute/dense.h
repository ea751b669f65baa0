/*
 * The product of a matrix with constant weights, C = activation(A B + bias + residual), FLOAT, and
 * products of matrices that are both known only when they are run.
 *
 * Threads: preparing from any; run by one thread and its team.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_DENSE_H
#define ONNXD_EP_CPU_COMPUTE_DENSE_H

#include "ep/cpu/compute/product.h"
#include "ep/cpu/compute/team.h"

/* Rows of A and of C are `a_stride` and `c_stride` elements apart. */
typedef struct onnxd_dense {
    const onnxd_simd *simd;
    size_t rows, depth, columns;
    size_t a_stride, c_stride;
    const float *packed;         /* onnxd_product_pack(), of one tap */
    const uint16_t *packed_bf16; /* onnxd_bf16_pack(), in place of `packed`; or NULL */
    onnxd_simd_post post;        /* bias padded to whole panels; residual of row 0, or NULL */
} onnxd_dense;

/* Neither allocates nor fails. */
void onnxd_dense_run(const onnxd_dense *dense, onnxd_team *team, const float *a, float *c);

/* Many products of one shape. */
typedef struct onnxd_batched_product {
    const onnxd_simd *simd;
    size_t batches, rows, depth, columns;
    /* Which matrix of A and of B makes matrix `batch` of C. */
    void (*locate)(const void *context, size_t batch, size_t *out_a, size_t *out_b);
    const void *context;
} onnxd_batched_product;

/* Scratch in elements, for packing a B for each thread. False when it does not fit. */
bool onnxd_batched_product_workspace(const onnxd_batched_product *product, uint32_t threads,
                                     size_t *out_elements);
/* All matrices are row-major, one after the other. `workspace` is aligned to
 * ONNXD_PACKED_ALIGNMENT. Neither allocates nor fails. */
void onnxd_batched_product_run(const onnxd_batched_product *product, onnxd_team *team,
                               const float *a, const float *b, float *c, float *workspace);

#endif

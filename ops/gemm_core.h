/*
 * The portable matrix product behind Gemm and MatMul.
 */
#ifndef ONNXD_OPS_GEMM_CORE_H
#define ONNXD_OPS_GEMM_CORE_H

#include "base/dtype.h"

/* Element types of the products: the floats, and 32- and 64-bit integers, which wrap around. */
#define ONNXD_PRODUCT_TYPES                                                                        \
    (ONNXD_SET_FLOATS | ONNXD_SET(INT32) | ONNXD_SET(INT64) | ONNXD_SET(UINT32) | ONNXD_SET(UINT64))

/* out[rows x columns] = A[rows x depth] * B[depth x columns]. A's element (i, k) is at
 * i * a_row + k * a_column, B's (k, j) at k * b_row + j * b_column; out is row-major. */
typedef struct onnxd_product {
    size_t rows, depth, columns;
    size_t a_row, a_column, b_row, b_column;
} onnxd_product;

/* Operands without elements may be NULL. `dtype` is in ONNXD_PRODUCT_TYPES but no half type: those
 * are widened before. */
void onnxd_product_run(const onnxd_product *product, onnxd_dtype dtype, const void *a,
                       const void *b, void *out);

#endif

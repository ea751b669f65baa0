/*
 * A scale or zero point of a matrix, or of a stack of them: one for all, or one for each row or
 * column.
 */
#ifndef ONNXD_OPS_QUANT_MATRIX_PARAMETER_H
#define ONNXD_OPS_QUANT_MATRIX_PARAMETER_H

#include "graph/op.h"
#include "ops/nn.h"
#include "ops/quant/integer_gemm.h"

/* The value for row i and column j of matrix m is number
 * m * matrix_stride + i * row_step + j * column_step. */
typedef struct onnxd_matrix_parameter {
    size_t matrix_stride, row_step, column_step;
} onnxd_matrix_parameter;

/* What a parameter may follow besides being one for all. */
#define ONNXD_PER_ROW 1u
#define ONNXD_PER_COLUMN 2u

/* `parameter` and `matrix` are shapes; the matrix is [..., rows, columns]. A parameter of one
 * element serves all; a vector has a value for each row or column, where only one of both is
 * `allowed`; a stack has the matrix's rank and extents, but for the other dimension, which is 1.
 * Checks as far as the shapes are known; `index` is the parameter's input.
 * Errors: INVALID_ARGUMENT with both shapes. */
ONNXD_NODISCARD onnxd_status *onnxd_matrix_parameter_check(const onnxd_node *node, uint32_t index,
                                                           const onnxd_shape *parameter,
                                                           const onnxd_shape *matrix,
                                                           unsigned allowed);
/* For static shapes that were accepted. */
onnxd_matrix_parameter onnxd_matrix_parameter_of(const onnxd_shape *parameter,
                                                 const onnxd_shape *matrix, unsigned allowed);

/* Matrix `at` of a factor of a product of int8 or uint8: the rows of the left one, the columns of
 * the right one. `zeros` are the factor's zero points, accepted as one for all or per row or column
 * respectively; NULL or absent: all are 0. */
onnxd_integer_vectors onnxd_integer_factor(const onnxd_tensor_view *factor,
                                           const onnxd_tensor_view *zeros,
                                           const onnxd_matmul_extent *extent, size_t at,
                                           bool is_left);

#endif

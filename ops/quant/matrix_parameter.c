#include "ops/quant/matrix_parameter.h"

#include <inttypes.h>

#include "ops/support.h"

/* Every dimension before the last two is the matrix's. */
static bool is_stack_of(const onnxd_shape *parameter, const onnxd_shape *matrix)
{
    for (int32_t i = 0; i < matrix->rank - 2; i++)
        if (parameter->dims[i] != matrix->dims[i])
            return false;
    return true;
}

/* Both shapes are static. */
static bool fit(const onnxd_shape *parameter, const onnxd_shape *matrix, unsigned allowed,
                onnxd_matrix_parameter *out)
{
    size_t count;
    *out = (onnxd_matrix_parameter){0, 0, 0};
    if (onnxd_shape_count(parameter, &count) && count == 1 && parameter->rank <= matrix->rank)
        return true;
    if (matrix->rank < 2)
        return false;
    int64_t rows = matrix->dims[matrix->rank - 2], columns = matrix->dims[matrix->rank - 1];
    if (parameter->rank == 1) {
        out->row_step = allowed == ONNXD_PER_ROW;
        out->column_step = allowed == ONNXD_PER_COLUMN;
        return (out->row_step != 0 && parameter->dims[0] == rows) ||
               (out->column_step != 0 && parameter->dims[0] == columns);
    }
    if (parameter->rank != matrix->rank || !is_stack_of(parameter, matrix))
        return false;
    int64_t own_rows = parameter->dims[matrix->rank - 2];
    int64_t own_columns = parameter->dims[matrix->rank - 1];
    bool is_per_row = (allowed & ONNXD_PER_ROW) != 0 && own_rows == rows && own_columns == 1;
    bool is_per_column =
        (allowed & ONNXD_PER_COLUMN) != 0 && own_rows == 1 && own_columns == columns;
    out->row_step = is_per_row;
    out->column_step = !is_per_row && is_per_column;
    out->matrix_stride = (size_t)own_rows * (size_t)own_columns;
    return is_per_row || is_per_column;
}

onnxd_status *onnxd_matrix_parameter_check(const onnxd_node *node, uint32_t index,
                                           const onnxd_shape *parameter, const onnxd_shape *matrix,
                                           unsigned allowed)
{
    onnxd_matrix_parameter unused;
    if (parameter->rank < 0 || matrix->rank < 0)
        return NULL;
    bool is_known = onnxd_shape_is_static(parameter) && onnxd_shape_is_static(matrix);
    if (is_known ? fit(parameter, matrix, allowed, &unused)
                 : parameter->rank <= 1 || parameter->rank == matrix->rank)
        return NULL;
    char own[ONNXD_SHAPE_TEXT], other[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(node,
                          "input %" PRIu32 " has shape %s, which fits neither a matrix of shape %s "
                          "as a whole nor its %s",
                          index, onnxd_shape_format(parameter, own, sizeof(own)),
                          onnxd_shape_format(matrix, other, sizeof(other)),
                          allowed == ONNXD_PER_ROW      ? "rows"
                          : allowed == ONNXD_PER_COLUMN ? "columns"
                                                        : "rows or columns");
}

onnxd_matrix_parameter onnxd_matrix_parameter_of(const onnxd_shape *parameter,
                                                 const onnxd_shape *matrix, unsigned allowed)
{
    onnxd_matrix_parameter found;
    (void)fit(parameter, matrix, allowed, &found);
    return found;
}

onnxd_integer_vectors onnxd_integer_factor(const onnxd_tensor_view *factor,
                                           const onnxd_tensor_view *zeros,
                                           const onnxd_matmul_extent *e, size_t at, bool is_left)
{
    size_t size = is_left ? e->rows * e->depth : e->depth * e->columns;
    onnxd_integer_vectors vectors = {.data = (const uint8_t *)onnxd_tensor_view_data(factor) +
                                             at * size,
                                     .is_signed = factor->dtype == ONNXD_INT8,
                                     .vector_stride = is_left ? e->depth : 1,
                                     .element_stride = is_left ? 1 : e->columns};
    onnxd_integer_vectors_init(&vectors);
    if (zeros == NULL || !onnxd_tensor_view_is_present(zeros))
        return vectors;
    onnxd_matrix_parameter p = onnxd_matrix_parameter_of(
        &zeros->shape, &factor->shape, is_left ? ONNXD_PER_ROW : ONNXD_PER_COLUMN);
    vectors.zero_points = (const uint8_t *)onnxd_tensor_view_data(zeros) + at * p.matrix_stride;
    vectors.zero_step = is_left ? p.row_step : p.column_step;
    return vectors;
}

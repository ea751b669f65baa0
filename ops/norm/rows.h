/*
 * Normalising the rows of a matrix: each is reduced to mean and variance (or to its mean square),
 * brought to unit variance, and scaled and shifted.
 */
#ifndef ONNXD_OPS_NORM_ROWS_H
#define ONNXD_OPS_NORM_ROWS_H

#include "graph/op.h"

/* Factors or terms for the elements of the matrix, dtype UNDEFINED for none. Each row is cut into
 * `runs` equal parts; part k of row r has the number at (r * runs + k) % period. With `runs` equal
 * to the columns every element has its own; period == columns: the same ones in each row. */
typedef struct onnxd_norm_affine {
    const void *data;
    onnxd_dtype dtype; /* in ONNXD_SET_FLOATS */
    size_t runs, period;
} onnxd_norm_affine;

typedef struct onnxd_norm_rows {
    size_t rows, columns;
    const void *input;
    void *output;
    onnxd_dtype input_dtype, output_dtype; /* in ONNXD_SET_FLOATS */
    bool is_root_mean_square;              /* the mean is not subtracted */
    double epsilon;                        /* added to the variance or mean square */
    onnxd_norm_affine scale, bias;         /* their `runs` are equal where both are there */
    /* One number per row, NULL: not wanted. */
    void *means, *inverses;
    onnxd_dtype statistics_dtype;
} onnxd_norm_rows;

/* Bytes of scratch memory for onnxd_norm_rows_run(); SIZE_MAX beyond size_t. */
size_t onnxd_norm_rows_workspace_bytes(const onnxd_norm_rows *norm);
/* Sums are double; the rest is calculated in double if a type is double, else in float. */
void onnxd_norm_rows_run(const onnxd_norm_rows *norm, void *workspace);

/* Mean of `count` numbers, and mean of the squares of their distances from `center`. */
double onnxd_norm_mean_float(const float *values, size_t count);
double onnxd_norm_mean_double(const double *values, size_t count);
double onnxd_norm_square_float(const float *values, size_t count, double center);
double onnxd_norm_square_double(const double *values, size_t count, double center);

#endif

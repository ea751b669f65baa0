/*
 * Shapes. A dimension is a static extent (>= 0), unknown (-1), or a named symbol (<= -2, an index
 * into the graph's symbol table). Unknown rank is distinct from a scalar.
 */
#ifndef ONNXD_BASE_SHAPE_H
#define ONNXD_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The highest rank any tensor in the daemon may have; ONNX itself sets none. */
#define ONNXD_MAX_RANK 16
#define ONNXD_RANK_UNKNOWN (-1)
#define ONNXD_DIM_UNKNOWN ((int64_t)-1)
/* Symbol number s (0, 1, ...) as a dimension, and back. */
#define ONNXD_DIM_FROM_SYMBOL(s) (-(int64_t)(s)-2)
#define ONNXD_DIM_SYMBOL(dim) ((uint32_t)(-((dim) + 2)))

typedef struct onnxd_shape {
    int32_t rank; /* 0..ONNXD_MAX_RANK, or ONNXD_RANK_UNKNOWN */
    int64_t dims[ONNXD_MAX_RANK];
} onnxd_shape;

static inline bool onnxd_dim_is_static(int64_t dim)
{
    return dim >= 0;
}
static inline bool onnxd_dim_is_symbol(int64_t dim)
{
    return dim <= -2;
}

static inline onnxd_shape onnxd_shape_unknown(void)
{
    onnxd_shape shape = {.rank = ONNXD_RANK_UNKNOWN};
    return shape;
}
/* `rank` <= ONNXD_MAX_RANK; every dimension unknown. */
onnxd_shape onnxd_shape_of_rank(int32_t rank);
onnxd_shape onnxd_shape_from(int32_t rank, const int64_t *dims);

/* Rank known and every dimension static. */
bool onnxd_shape_is_static(const onnxd_shape *shape);
/* Same rank and same dimension codes (a symbol equals only itself, unknown equals unknown). */
bool onnxd_shape_equal(const onnxd_shape *a, const onnxd_shape *b);
/* A static shape fits a declared one: same rank, every static dimension of `declared` equal.
 * Unknown rank admits everything. */
bool onnxd_shape_admits(const onnxd_shape *declared, const onnxd_shape *actual);

/* Number of elements of a static shape: all dimensions are validated before the product is made, so
 * a zero does not hide a negative one. False when not static or the product does not fit. */
ONNXD_NODISCARD bool onnxd_shape_count(const onnxd_shape *shape, size_t *out_count);
/* Product of dims[first..last). Empty range is 1. Same rules. */
ONNXD_NODISCARD bool onnxd_shape_span(const onnxd_shape *shape, int32_t first, int32_t last,
                                      size_t *out_count);

/* Maps an ONNX axis in [-rank, rank) to [0, rank); false when out of range. */
ONNXD_NODISCARD bool onnxd_shape_axis(int32_t rank, int64_t axis, int32_t *out_axis);

/* "[2,3,?,s1]" into `buffer`, cut to `capacity` and always NUL-terminated; returns `buffer`. "[?]*"
 * stands for unknown rank. Symbols print as s<number>. */
const char *onnxd_shape_format(const onnxd_shape *shape, char *buffer, size_t capacity);
#define ONNXD_SHAPE_TEXT 352 /* a buffer of this size is never cut */

#endif

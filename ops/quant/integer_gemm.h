/*
 * Products of 8-bit integers with 32-bit sums, which matrix products and convolutions of quantised
 * tensors share:
 *
 *   out[i][j] = sum over k of (a_i[k] - zero point of a_i) * (b_j[k] - zero point of b_j)
 *
 * modulo 2^32. Each side is a list of vectors of equal length. The product asks for them in blocks,
 * widened and less their zero points, and multiplies blocks that fit into the caches.
 */
#ifndef ONNXD_OPS_QUANT_INTEGER_GEMM_H
#define ONNXD_OPS_QUANT_INTEGER_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the vectors of one side come from. */
typedef struct onnxd_integer_side onnxd_integer_side;
struct onnxd_integer_side {
    /* Writes elements [first_k, first_k + depth) of vectors [first, first + count), each less its
     * zero point and so in [-255, 255]. Vector `first + v` begins at to[v * pitch]. */
    void (*pack)(const onnxd_integer_side *side, size_t first, size_t count, size_t first_k,
                 size_t depth, int16_t *to, size_t pitch);
};

/* An element less its zero point. `flip` is 0x80 for int8, 0 for uint8: with the sign bits flipped
 * both are greater by 128, and the difference is that of two bytes without sign. */
static inline int16_t onnxd_integer_less_zero(uint8_t value, uint8_t zero, uint8_t flip)
{
    return (int16_t)((value ^ flip) - (zero ^ flip));
}

/* Vectors of int8 or uint8 in memory: element k of vector v is
 * data[v * vector_stride + k * element_stride]. A row-major matrix [rows, depth] as left factor has
 * strides (depth, 1), a row-major matrix [depth, columns] as right factor (1, columns). */
typedef struct onnxd_integer_vectors {
    onnxd_integer_side side; /* set by onnxd_integer_vectors_init() */
    const uint8_t *data;     /* the bits of either type */
    bool is_signed;
    size_t vector_stride, element_stride;
    const uint8_t *zero_points; /* of the same type; NULL: all are 0 */
    size_t zero_step;           /* 1: each vector has its own; 0: one for all */
} onnxd_integer_vectors;

/* Sets `side`; the caller has set the rest. */
void onnxd_integer_vectors_init(onnxd_integer_vectors *vectors);

/* Bytes of workspace of a product of any size, 2-byte aligned. */
#define ONNXD_INTEGER_PRODUCT_WORKSPACE ((size_t)128 * 544 * sizeof(int16_t))

/* out[i * out_pitch + j] for i < rows, j < columns; out_pitch >= columns. A depth of 0 gives
 * zeros. `workspace` holds ONNXD_INTEGER_PRODUCT_WORKSPACE bytes. */
void onnxd_integer_product(size_t rows, size_t columns, size_t depth, const onnxd_integer_side *a,
                           const onnxd_integer_side *b, void *workspace, int32_t *out,
                           size_t out_pitch);

#endif

/*
 * Products of 8-bit integers over the tiles of a level (ep/cpu/simd/simd.h), with sums that are
 * exact modulo 2^32:
 *
 *   C[rows x columns] = post((A - zero point of A) (B - zero points of B))
 *
 * There are two ways:
 *
 *   pairs  A is widened to 16 bits less its zero point before the product. B stays at 8 bits: what
 *          is worked on is widened, less its zero points, for all rows of a block. Products of
 *          16-bit pairs need neither terms for zero points nor room for saturation.
 *   fours  A is UINT8, read where it lies, B INT8 without zero points. A's zero point times the
 *          sums of B's columns is taken off the sums. Without VNNI the processor adds two products
 *          in 16 bits: only for a B that keeps those sums exact for every A.
 *
 * Packed B is cut into panels of tile_columns columns. A panel holds, for each step of the depth,
 * its columns one after the other, of each the two or four elements. Where a depth does not end
 * with a whole step, at the end of each tap or of those that are joined, B has zeros, and A
 * anything.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_INTEGER_PRODUCT_H
#define ONNXD_EP_CPU_COMPUTE_INTEGER_PRODUCT_H

#include "ep/cpu/compute/product.h"
#include "ep/cpu/compute/team.h"

/* The zero point of a tensor of INT8 or UINT8 as the kernels take it. */
static inline onnxd_simd_zero onnxd_integer_zero(bool is_signed, uint8_t zero)
{
    const uint8_t flip = is_signed ? 0 : 0x80;
    return (onnxd_simd_zero){flip, (int8_t)(zero ^ flip)};
}

/* The range of the type less a zero point. */
static inline onnxd_simd_range onnxd_integer_range(bool is_signed, uint8_t zero)
{
    const float value = is_signed ? (float)(int8_t)zero : (float)zero;
    return is_signed ? (onnxd_simd_range){-128 - value, 127 - value, value}
                     : (onnxd_simd_range){-value, 255 - value, value};
}

/* Steps of the depth consist of as many elements: of 16 bits, or bytes. */
#define ONNXD_PAIR 2
#define ONNXD_FOUR 4

/* B for packing, in memory of its elements alone: element of tap t, step k and column j is
 * data[t * tap_stride + k * step_stride + j * column_stride]. */
typedef struct onnxd_integer_matrix {
    const uint8_t *data;
    uint8_t flip; /* as in onnxd_simd_zero */
    uint8_t step; /* ONNXD_PAIR or ONNXD_FOUR */
    size_t taps, depth, columns;
    size_t joined; /* so many consecutive taps are one depth; divides taps, 0 for 1 */
    size_t tap_stride, step_stride, column_stride;
} onnxd_integer_matrix;

/* Steps of a tap, or of those that are joined. */
size_t onnxd_integer_steps(const onnxd_integer_matrix *b);
/* Whether fours give exact sums on the level. */
bool onnxd_integer_fits_fours(const onnxd_simd *simd, const onnxd_integer_matrix *b);
/* `columns` up to whole panels. False when it does not fit. */
bool onnxd_integer_padded_columns(const onnxd_simd *simd, size_t columns, size_t *out_columns);
/* False when they do not fit. */
bool onnxd_integer_packed_bytes(const onnxd_simd *simd, const onnxd_integer_matrix *b,
                                size_t *out_bytes);
/* `packed` is aligned to ONNXD_PACKED_ALIGNMENT. */
void onnxd_integer_pack(const onnxd_simd *simd, const onnxd_integer_matrix *b, int8_t *packed);
/* The sum of each column, [columns]. */
void onnxd_integer_sum_columns(const onnxd_integer_matrix *b, int32_t *sums);

/* A block of rows of one product. */
typedef struct onnxd_integer_block {
    /* Of tap t and row i: a[t * ONNXD_BLOCK_ROWS + i]. One of them is NULL. */
    const int16_t *const *pairs;
    const uint8_t *const *fours;
    size_t taps, steps;
    const int8_t *packed;         /* of all columns */
    const int16_t *zeros;         /* of B, each twice, of whole panels; NULL: all are 0 */
    size_t first_column;          /* a multiple of tile_columns */
    size_t columns;               /* from the first one on */
    void *out;                    /* of the block's first row and column 0 of the product */
    size_t out_stride;            /* elements */
    uint32_t rows;                /* at most ONNXD_BLOCK_ROWS */
    onnxd_simd_integer_post post; /* from column 0 on, whole panels */
} onnxd_integer_block;

void onnxd_integer_block_run(const onnxd_simd *simd, const onnxd_integer_block *block);

/* A whole product of widened rows. */
typedef struct onnxd_integer_dense {
    const onnxd_simd *simd;
    size_t rows, steps, columns;
    const int16_t *pairs; /* [rows][steps], or NULL */
    const uint8_t *fours; /* [rows][steps], or NULL */
    const int8_t *packed;
    const int16_t *zeros;
    onnxd_simd_integer_post post;
    void *out; /* [rows][columns] */
} onnxd_integer_dense;

/* Neither allocates nor fails. */
void onnxd_integer_dense_run(const onnxd_integer_dense *dense, onnxd_team *team);

/* Rows of `depth` bytes less their zero point, `out_stride` elements apart, zeros behind each. */
typedef struct onnxd_integer_widening {
    const onnxd_simd *simd;
    size_t rows, depth, out_stride;
    const uint8_t *in;
    onnxd_simd_zero zero;
    int16_t *out;
} onnxd_integer_widening;

void onnxd_integer_widen(const onnxd_integer_widening *widening, onnxd_team *team);

#endif

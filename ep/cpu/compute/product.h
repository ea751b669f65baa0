/*
 * Matrix products over the tiles of a level (ep/cpu/simd/simd.h): packing of B, and the loops that
 * keep what is used again in the caches.
 *
 *   C[rows x columns] = post(A B), A given row by row, its depth in `taps` pieces of `depth`
 * elements
 *
 * Packed B is cut into panels of tile_columns columns. A panel holds, for each step of the depth,
 * its columns one after the other, zeros behind the last column.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_PRODUCT_H
#define ONNXD_EP_CPU_COMPUTE_PRODUCT_H

#include "ep/cpu/simd/simd.h"

#define ONNXD_PACKED_ALIGNMENT 64

/* Elements that packed B takes. False when they do not fit size_t. */
bool onnxd_product_packed_count(const onnxd_simd *simd, size_t depth, size_t columns,
                                size_t *out_count);

/* Where B's element for tap t, step k and column j lies: t * tap + k * step + j * column. */
typedef struct onnxd_product_strides {
    size_t tap, step, column;
} onnxd_product_strides;
/* `packed` is aligned to ONNXD_PACKED_ALIGNMENT. */
void onnxd_product_pack(const onnxd_simd *simd, size_t taps, size_t depth, size_t columns,
                        const float *b, const onnxd_product_strides *strides, float *packed);

/* Rows of A that are worked on together: as many as pointers to them fit the stack and their
 * elements the second-level cache. A multiple of every level's tile_rows. */
#define ONNXD_BLOCK_ROWS 96
/* Most taps whose pointers fit the stack. */
#define ONNXD_BLOCK_TAPS ((size_t)81)

/* Whether so many columns of B, packed, each step 4 bytes of a column, are more than the
 * second-level cache likely keeps from one block to the next: panels are then to be fetched ahead.
 */
bool onnxd_product_is_far(size_t steps, size_t columns);

/* A block of rows of one product. */
typedef struct onnxd_product_block {
    const float *const *a; /* of tap t and row i: a[t * ONNXD_BLOCK_ROWS + i] */
    size_t taps, depth;
    bool packs_rows;     /* A is packed, however few columns there are: its taps are short */
    const float *packed; /* of all columns */
    const uint16_t *packed_bf16; /* onnxd_bf16_pack(), in place of `packed`; or NULL */
    size_t first_column;         /* a multiple of tile_columns */
    size_t columns;              /* from the first one on */
    float *c;                    /* of the block's first row and column 0 of the product */
    size_t c_stride;
    uint32_t rows;        /* at most ONNXD_BLOCK_ROWS */
    onnxd_simd_post post; /* bias and residual from column 0 on; bias padded to whole panels */
} onnxd_product_block;

void onnxd_product_block_run(const onnxd_simd *simd, const onnxd_product_block *block);

#endif

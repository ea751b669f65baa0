/*
 * How a product is cut into pieces for a team: blocks of rows, the groups of a convolution, and
 * where those are few, parts of the columns, which are of whole panels.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_PIECES_H
#define ONNXD_EP_CPU_COMPUTE_PIECES_H

#include "ep/cpu/compute/product.h"

/* Pieces for each thread that a loop is cut into at least, where it can be. */
#define ONNXD_PIECES_PER_THREAD ((size_t)3)

/* How many pieces a loop of so many threads wants: one for a single thread. */
static inline size_t onnxd_pieces_wanted(uint32_t threads)
{
    return threads <= 1 ? 1 : threads * ONNXD_PIECES_PER_THREAD;
}

typedef struct onnxd_product_extent {
    size_t rows, columns; /* at least 1; columns of a group */
    size_t groups;
    double weight_bytes, row_bytes; /* of a group, of all rows */
} onnxd_product_extent;

typedef struct onnxd_product_pieces {
    size_t count;
    onnxd_product_extent extent;
    size_t width, panels;    /* columns of a panel; panels of a group */
    size_t tile_rows, tiles; /* rows of a tile; tiles of all rows, the last may be short */
    size_t blocks;
    size_t parts;     /* of the columns of each block */
    bool is_by_parts; /* pieces with the same columns follow each other, else those of a block */
} onnxd_product_pieces;

/* Each of the threads takes about as many pieces that follow each other. */
onnxd_product_pieces onnxd_product_cut(const onnxd_simd *simd, const onnxd_product_extent *extent,
                                       uint32_t threads);

typedef struct onnxd_product_piece {
    size_t first_row, group;
    uint32_t rows;          /* at most ONNXD_BLOCK_ROWS */
    size_t column, columns; /* of the group; the first one begins a panel */
} onnxd_product_piece;

/* `index` is below the count. */
onnxd_product_piece onnxd_product_piece_at(const onnxd_product_pieces *pieces, size_t index);

#endif

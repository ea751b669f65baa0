#include "ep/cpu/compute/product.h"

#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/compute/bf16_product.h"

/* Steps of the depth that are worked on together: a panel's part of that many steps stays in the
 * first-level cache while all rows of the block pass by. */
#define BLOCK_DEPTH ((size_t)384)
/* Fewer elements of B than this are likely still in the second-level cache from the block before.
 */
#define NEAR_ELEMENTS ((size_t)32768)
/* A is packed when at least so many rows are, and so many panels read them: fewer do not make up
 * for the packing. */
#define PACKED_ROWS 24
#define PACKED_PANELS ((size_t)8)

bool onnxd_product_packed_count(const onnxd_simd *simd, size_t depth, size_t columns,
                                size_t *out_count)
{
    size_t padded;
    return onnxd_size_add(columns, simd->tile_columns - 1, &padded) &&
           onnxd_size_mul(padded / simd->tile_columns * simd->tile_columns, depth, out_count);
}

/* The columns of one step, by pieces of a length that needs no call. */
static void copy_columns(const float *from, size_t columns, float *to)
{
    enum { PIECE = 8 };
    size_t j = 0;
    for (; j + PIECE <= columns; j += PIECE)
        memcpy(to + j, from + j, PIECE * sizeof(float));
    for (; j < columns; j++)
        to[j] = from[j];
}

/* One tap of a panel. B's rows or its columns are contiguous most often. */
static void pack_steps(const onnxd_simd *simd, size_t depth, size_t columns, const float *b,
                       const onnxd_product_strides *strides, float *packed)
{
    const size_t width = simd->tile_columns;
    if (columns < width)
        memset(packed, 0, depth * width * sizeof(float));
    if (strides->step == 1) {
        simd->transpose(b, columns, depth, strides->column, packed, width);
        return;
    }
    for (size_t k = 0; k < depth; k++, packed += width) {
        const float *from = b + k * strides->step;
        if (strides->column == 1)
            copy_columns(from, columns, packed);
        else
            for (size_t j = 0; j < columns; j++)
                packed[j] = from[j * strides->column];
    }
}

void onnxd_product_pack(const onnxd_simd *simd, size_t taps, size_t depth, size_t columns,
                        const float *b, const onnxd_product_strides *strides, float *packed)
{
    const size_t width = simd->tile_columns;
    for (size_t j = 0; j < columns; j += width) {
        const size_t count = columns - j < width ? columns - j : width;
        for (size_t t = 0; t < taps; t++)
            pack_steps(simd, depth, count, b + t * strides->tap + j * strides->column, strides,
                       packed + (j * taps + t * width) * depth);
    }
}

bool onnxd_product_is_far(size_t steps, size_t columns)
{
    return steps * columns >= NEAR_ELEMENTS;
}

/* A piece of the depth: taps [first_tap, first_tap + taps), of each the steps [first_step,
 * first_step + steps). */
typedef struct depth_piece {
    size_t first_tap, taps, first_step, steps;
    bool is_first, is_last;
} depth_piece;

static void run_panel(const onnxd_simd *simd, const onnxd_product_block *block,
                      const depth_piece *piece, const float *const *rows, const float *packed,
                      size_t column)
{
    const size_t columns = block->first_column + block->columns - column;
    const size_t steps = block->taps * block->depth;
    const float *b = block->packed + column * steps +
                     (piece->first_tap * block->depth + piece->first_step) * simd->tile_columns;
    const bool is_far = onnxd_product_is_far(steps, block->columns);
    onnxd_simd_post post = block->post;
    onnxd_simd_tile tile = {
        .a = rows,
        .a_stride = ONNXD_BLOCK_ROWS,
        .a_packed = packed,
        .taps = piece->taps,
        .depth = piece->steps,
        .b = b,
        .b_next = is_far && columns > simd->tile_columns ? b + steps * simd->tile_columns : NULL,
        .c = block->c + column,
        .c_stride = block->c_stride,
        .rows = block->rows,
        .columns = columns < simd->tile_columns ? (uint32_t)columns : simd->tile_columns,
        .is_continued = !piece->is_first,
    };
    if (piece->is_last) {
        post.bias = post.bias == NULL ? NULL : post.bias + column;
        post.residual = post.residual == NULL ? NULL : post.residual + column;
        tile.post = &post;
    }
    simd->product(&tile);
}

static void run_panels(const onnxd_simd *simd, const onnxd_product_block *block,
                       const depth_piece *piece, const float *const *rows, const float *packed)
{
    const size_t end = block->first_column + block->columns;
    for (size_t j = block->first_column; j < end; j += simd->tile_columns)
        run_panel(simd, block, piece, rows, packed, j);
}

static void run_packed(const onnxd_simd *simd, const onnxd_product_block *block,
                       const depth_piece *piece, const float *const *rows)
{
    _Alignas(ONNXD_PACKED_ALIGNMENT) float packed[ONNXD_BLOCK_ROWS * BLOCK_DEPTH];
    const onnxd_simd_tile tile = {.a = rows,
                                  .a_stride = ONNXD_BLOCK_ROWS,
                                  .taps = piece->taps,
                                  .depth = piece->steps,
                                  .rows = block->rows};
    simd->pack_rows(&tile, packed);
    run_panels(simd, block, piece, rows, packed);
}

static void run_piece(const onnxd_simd *simd, const onnxd_product_block *block,
                      const depth_piece *piece, const float *const *rows)
{
    if (block->packs_rows ||
        (block->rows >= PACKED_ROWS && block->columns >= PACKED_PANELS * simd->tile_columns))
        run_packed(simd, block, piece, rows);
    else
        run_panels(simd, block, piece, rows, NULL);
}

/* Whole taps, as many as fit. */
static void run_by_taps(const onnxd_simd *simd, const onnxd_product_block *block)
{
    const size_t fitting = block->depth == 0 ? block->taps : BLOCK_DEPTH / block->depth;
    for (size_t t = 0; t < block->taps; t += fitting) {
        const size_t taps = block->taps - t < fitting ? block->taps - t : fitting;
        const depth_piece piece = {.first_tap = t,
                                   .taps = taps,
                                   .steps = block->depth,
                                   .is_first = t == 0,
                                   .is_last = t + taps == block->taps};
        run_piece(simd, block, &piece, block->a + t * ONNXD_BLOCK_ROWS);
    }
}

/* Each tap in pieces of about equal length. */
static void run_by_steps(const onnxd_simd *simd, const onnxd_product_block *block)
{
    const float *rows[ONNXD_BLOCK_ROWS];
    const size_t pieces = (block->depth + BLOCK_DEPTH - 1) / BLOCK_DEPTH;
    const size_t steps = (block->depth + pieces - 1) / pieces;
    for (size_t t = 0; t < block->taps; t++) {
        for (size_t k = 0; k < block->depth; k += steps) {
            const size_t count = block->depth - k < steps ? block->depth - k : steps;
            const depth_piece piece = {.first_tap = t,
                                       .taps = 1,
                                       .first_step = k,
                                       .steps = count,
                                       .is_first = t == 0 && k == 0,
                                       .is_last =
                                           t + 1 == block->taps && k + count == block->depth};
            for (uint32_t i = 0; i < block->rows; i++)
                rows[i] = block->a[t * ONNXD_BLOCK_ROWS + i] + k;
            run_piece(simd, block, &piece, rows);
        }
    }
}

void onnxd_product_block_run(const onnxd_simd *simd, const onnxd_product_block *block)
{
    if (block->packed_bf16 != NULL)
        onnxd_bf16_block_run(simd, block);
    else if (block->depth <= BLOCK_DEPTH)
        run_by_taps(simd, block);
    else
        run_by_steps(simd, block);
}

#include "ops/quant/integer_gemm.h"

#include <string.h>

/* Blocks of 64 vectors by 512 elements: a block of each side stays in the second-level cache, a
 * tile's share of both in the first. Products of two elements are at most 255^2, so that the sums
 * of a block are far from the limits of int32. */
#define BLOCK_VECTORS ((size_t)64)
#define BLOCK_DEPTH ((size_t)512)
/* More than the depth, so that equal elements of a block's vectors do not share cache sets. */
#define PITCH (BLOCK_DEPTH + 32)
/* Vectors are filled with zeros to a multiple of this, which spares the kernel its remainder. */
#define DEPTH_STEP ((size_t)16)
#define TILE_ROWS ((size_t)2)
#define TILE_COLUMNS ((size_t)4)

_Static_assert(ONNXD_INTEGER_PRODUCT_WORKSPACE == 2 * BLOCK_VECTORS * PITCH * sizeof(int16_t),
               "the workspace holds a block of each side");

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- vectors in memory ---- */

/* Elements of a transposed block that are read together: a line of the cache for each. */
#define TRANSPOSED_DEPTH ((size_t)16)

static void pack_vectors(const onnxd_integer_side *side, size_t first, size_t count, size_t first_k,
                         size_t depth, int16_t *to, size_t pitch)
{
    static const uint8_t no_zero_point = 0;
    /* `side` is the first member. */
    const onnxd_integer_vectors *v = (const onnxd_integer_vectors *)(const void *)side;
    const uint8_t *zeros = v->zero_points == NULL ? &no_zero_point : v->zero_points;
    size_t zero_step = v->zero_points == NULL ? 0 : v->zero_step;
    const uint8_t flip = v->is_signed ? 0x80 : 0;
    const uint8_t *from = v->data + first * v->vector_stride + first_k * v->element_stride;
    if (v->element_stride == 1) {
        for (size_t i = 0; i < count; i++) {
            const uint8_t *vector = from + i * v->vector_stride;
            const uint8_t zero = zeros[(first + i) * zero_step];
            int16_t *out = to + i * pitch;
            for (size_t k = 0; k < depth; k++)
                out[k] = onnxd_integer_less_zero(vector[k], zero, flip);
        }
        return;
    }
    for (size_t k = 0; k < depth; k += TRANSPOSED_DEPTH) {
        size_t part = least(depth - k, TRANSPOSED_DEPTH);
        for (size_t i = 0; i < count; i++) {
            const uint8_t *vector = from + i * v->vector_stride + k * v->element_stride;
            const uint8_t zero = zeros[(first + i) * zero_step];
            int16_t *out = to + i * pitch + k;
            for (size_t d = 0; d < part; d++)
                out[d] = onnxd_integer_less_zero(vector[d * v->element_stride], zero, flip);
        }
    }
}

void onnxd_integer_vectors_init(onnxd_integer_vectors *vectors)
{
    vectors->side.pack = pack_vectors;
}

/* ---- product of blocks ---- */

/* The dot products of two vectors of one side and four of the other. `depth` is a multiple of
 * DEPTH_STEP. Named sums, because compilers make registers of them. */
static void multiply_tile(const int16_t *a, const int16_t *b, size_t depth, int32_t *sums)
{
    const int16_t *a0 = a, *a1 = a + PITCH;
    const int16_t *b0 = b, *b1 = b + PITCH, *b2 = b + 2 * PITCH, *b3 = b + 3 * PITCH;
    int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    for (size_t k = 0; k < depth; k++) {
        s00 += a0[k] * b0[k];
        s01 += a0[k] * b1[k];
        s02 += a0[k] * b2[k];
        s03 += a0[k] * b3[k];
        s10 += a1[k] * b0[k];
        s11 += a1[k] * b1[k];
        s12 += a1[k] * b2[k];
        s13 += a1[k] * b3[k];
    }
    const int32_t all[TILE_ROWS * TILE_COLUMNS] = {s00, s01, s02, s03, s10, s11, s12, s13};
    memcpy(sums, all, sizeof(all));
}

/* Packs a block, with zeros behind each vector up to the step and in the vectors up to a multiple
 * of `tile`. */
static void pack_block(const onnxd_integer_side *side, size_t first, size_t count, size_t tile,
                       size_t first_k, size_t depth, int16_t *to)
{
    size_t padded_depth = (depth + DEPTH_STEP - 1) / DEPTH_STEP * DEPTH_STEP;
    size_t padded_count = (count + tile - 1) / tile * tile;
    side->pack(side, first, count, first_k, depth, to, PITCH);
    for (size_t i = 0; i < padded_count; i++) {
        size_t kept = i < count ? depth : 0;
        memset(to + i * PITCH + kept, 0, (padded_depth - kept) * sizeof(*to));
    }
}

/* Adds the product of two blocks to `out`. */
static void multiply_blocks(const int16_t *a, size_t rows, const int16_t *b, size_t columns,
                            size_t depth, int32_t *out, size_t out_pitch)
{
    size_t padded_depth = (depth + DEPTH_STEP - 1) / DEPTH_STEP * DEPTH_STEP;
    for (size_t i = 0; i < rows; i += TILE_ROWS) {
        for (size_t j = 0; j < columns; j += TILE_COLUMNS) {
            int32_t sums[TILE_ROWS * TILE_COLUMNS];
            multiply_tile(a + i * PITCH, b + j * PITCH, padded_depth, sums);
            for (size_t y = 0; y < least(TILE_ROWS, rows - i); y++) {
                int32_t *row = out + (i + y) * out_pitch + j;
                /* Sums over blocks wrap around. */
                for (size_t x = 0; x < least(TILE_COLUMNS, columns - j); x++)
                    row[x] = (int32_t)((uint32_t)row[x] + (uint32_t)sums[y * TILE_COLUMNS + x]);
            }
        }
    }
}

void onnxd_integer_product(size_t rows, size_t columns, size_t depth, const onnxd_integer_side *a,
                           const onnxd_integer_side *b, void *workspace, int32_t *out,
                           size_t out_pitch)
{
    int16_t *a_block = workspace, *b_block = a_block + BLOCK_VECTORS * PITCH;
    if (columns == 0)
        return;
    for (size_t i = 0; i < rows; i++)
        memset(out + i * out_pitch, 0, columns * sizeof(*out));
    for (size_t j = 0; j < columns; j += BLOCK_VECTORS) {
        size_t j_count = least(BLOCK_VECTORS, columns - j);
        for (size_t k = 0; k < depth; k += BLOCK_DEPTH) {
            size_t k_count = least(BLOCK_DEPTH, depth - k);
            pack_block(b, j, j_count, TILE_COLUMNS, k, k_count, b_block);
            for (size_t i = 0; i < rows; i += BLOCK_VECTORS) {
                size_t i_count = least(BLOCK_VECTORS, rows - i);
                pack_block(a, i, i_count, TILE_ROWS, k, k_count, a_block);
                multiply_blocks(a_block, i_count, b_block, j_count, k_count,
                                out + i * out_pitch + j, out_pitch);
            }
        }
    }
}

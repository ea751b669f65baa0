/* Rows of A side by side, so that a tile of the product reads one stream in place of one for each
 * row. Four rows at a time: every level's tile is of fours and twos. */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector.h"

/* Of a tile: the elements of a step. */
#define ROWS ((size_t)TILE_ROWS)

typedef float v4 __attribute__((vector_size(16)));
typedef float v4_anywhere __attribute__((vector_size(16), aligned(4)));
typedef float v2_anywhere __attribute__((vector_size(8), aligned(4)));

INLINED v4 load4(const float *from)
{
    return *(const v4_anywhere *)from;
}

INLINED void store4(float *to, v4 v)
{
    *(v4_anywhere *)to = v;
}

INLINED void store_halves(float *to, size_t stride, v4 v)
{
    *(v2_anywhere *)to = __builtin_shufflevector(v, v, 0, 1);
    *(v2_anywhere *)(to + stride) = __builtin_shufflevector(v, v, 2, 3);
}

/* Four steps of four rows. */
INLINED void pack_4x4(const float *const *rows, size_t k, float *out)
{
    const v4 a = load4(rows[0] + k), b = load4(rows[1] + k);
    const v4 c = load4(rows[2] + k), d = load4(rows[3] + k);
    const v4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const v4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const v4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const v4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store4(out, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store4(out + ROWS, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store4(out + 2 * ROWS, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store4(out + 3 * ROWS, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/* Four steps of two rows. */
INLINED void pack_2x4(const float *const *rows, size_t k, float *out)
{
    const v4 a = load4(rows[0] + k), b = load4(rows[1] + k);
    store_halves(out, ROWS, __builtin_shufflevector(a, b, 0, 4, 1, 5));
    store_halves(out + 2 * ROWS, ROWS, __builtin_shufflevector(a, b, 2, 6, 3, 7));
}

INLINED void pack_tile(const float *const *rows, size_t depth, float *out)
{
    size_t k = 0;
    for (; k + 4 <= depth; k += 4, out += 4 * ROWS) {
        UNROLLED
        for (size_t i = 0; i + 4 <= ROWS; i += 4)
            pack_4x4(rows + i, k, out + i);
        if (ROWS % 4 != 0)
            pack_2x4(rows + ROWS - 2, k, out + ROWS - 2);
    }
    for (; k < depth; k++, out += ROWS) {
        UNROLLED
        for (size_t i = 0; i < ROWS; i++)
            out[i] = rows[i][k];
    }
}

void LEVEL_NAME(onnxd_simd_pack_rows)(const onnxd_simd_tile *tile, float *out)
{
    for (size_t first = 0; first < tile->rows; first += ROWS) {
        for (size_t t = 0; t < tile->taps; t++, out += tile->depth * ROWS) {
            const float *const *a = tile->a + t * tile->a_stride + first;
            const size_t left = tile->rows - first;
            const float *rows[ROWS];
            for (size_t i = 0; i < ROWS; i++)
                rows[i] = a[i < left ? i : 0];
            pack_tile(rows, tile->depth, out);
        }
    }
}

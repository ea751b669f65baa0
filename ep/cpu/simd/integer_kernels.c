/*
 * Tiles of the product of 16-bit integers, and what becomes of their sums. As in product_kernels.c
 * the sums of a tile stay in registers over the whole depth, and everything is inlined into one
 * function per count of rows.
 */
#include "ep/cpu/simd/integer_vector.h"
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/row_lists.h"

/* ---- the product ----------------------------------------------------------------------------- */

INLINED void add_step(const int16_t *const *a, size_t k, const int16_t *b, const size_t rows,
                      vi sums[TILE_ROWS][TILE_VECTORS])
{
    vi column[TILE_VECTORS];
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        column[j] = vi_load_pairs(b + 2 * j * LANES);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        const vi pair = vi_all_pairs(a[i] + 2 * k);
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            sums[i][j] = vi_add(sums[i][j], vi_dot(pair, column[j]));
    }
}

INLINED void run(const onnxd_simd_integer_tile *tile, size_t first, const size_t rows)
{
    vi sums[TILE_ROWS][TILE_VECTORS];
    int32_t *c = tile->c + first * TILE_COLUMNS;
    const int16_t *b = tile->b;
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            sums[i][j] = tile->is_continued ? vi_load(c + i * TILE_COLUMNS + j * LANES) : vi_all(0);
    }
    for (size_t t = 0; t < tile->taps; t++) {
        const int16_t *a[TILE_ROWS];
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            a[i] = tile->a[t * tile->a_stride + first + i];
        for (size_t k = 0; k < tile->pairs; k++, b += 2 * TILE_COLUMNS)
            add_step(a, k, b, rows, sums);
    }
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            vi_store(c + i * TILE_COLUMNS + j * LANES, sums[i][j]);
    }
}

#define BY_ROWS(rows)                                                                              \
    static void run_##rows(const onnxd_simd_integer_tile *tile, size_t first)                      \
    {                                                                                              \
        run(tile, first, rows);                                                                    \
    }
EACH_ROWS(TILE_ROWS, BY_ROWS)
#undef BY_ROWS

void LEVEL_NAME(onnxd_simd_integer_product)(const onnxd_simd_integer_tile *tile)
{
    static void (*const by_rows[TILE_ROWS])(const onnxd_simd_integer_tile *,
                                            size_t) = {ROWS_LIST(TILE_ROWS, run_)};
    size_t first = 0;
    for (size_t left = row_passes_of(tile->rows, TILE_ROWS); left > 0; left--) {
        const size_t rows = rows_of_pass(tile->rows - first, left);
        by_rows[rows - 1](tile, first);
        first += rows;
    }
}

/* ---- elements as 16-bit integers ------------------------------------------------------------- */

static vs widen(const uint8_t *in, uint8_t flip)
{
    const vb_pairs bytes = *(const vb_pairs_anywhere *)in ^ flip;
    return __builtin_convertvector((vc_pairs)bytes, vs);
}

void LEVEL_NAME(onnxd_simd_integer_unpack)(const int8_t *in, size_t steps, const int16_t *zeros,
                                           int16_t *out)
{
    const uint8_t *from = (const uint8_t *)in;
    for (size_t k = 0; k < steps; k++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++, from += 2 * LANES, out += 2 * LANES) {
            vs wide = widen(from, 0);
            if (zeros != NULL)
                wide -= *(const vs_anywhere *)(zeros + j * 2 * LANES);
            *(vs_anywhere *)out = wide;
        }
    }
}

void LEVEL_NAME(onnxd_simd_integer_widen)(const uint8_t *in, size_t count, onnxd_simd_zero zero,
                                          int16_t *out)
{
    size_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        *(vs_anywhere *)(out + i) = widen(in + i, zero.flip) - zero.value;
    for (; i < count; i++)
        out[i] = (int16_t)((int8_t)(in[i] ^ zero.flip) - zero.value);
}

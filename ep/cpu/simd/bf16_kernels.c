/*
 * Tiles of the product of bfloat16. As in product_kernels.c the sums of a tile stay in registers
 * over the whole depth, and everything is inlined into one function per count of rows; they are
 * stored by whole tiles, whatever becomes of them then.
 */
#include "ep/cpu/simd/integer_vector.h"
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/panel_fetch.h"
#include "ep/cpu/simd/row_lists.h"
#include "ep/cpu/simd/stored_rows.h"
#include "ep/cpu/simd/vector_math.h"

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Of pairs: the sum with both products added, those of the odd elements first. Products of bfloat16
 * are exact in float, so that the instruction differs from what stands in for it below the least
 * normal number only. */
INLINED vf vf_dot_pairs(vf sum, vi a, vi b)
{
#if defined(__AVX512BF16__)
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    const vu upper = (vu)vi_all((int32_t)0xffff0000);
    sum += (vf)((vu)a & upper) * (vf)((vu)b & upper);
    return sum + (vf)((vu)a << 16) * (vf)((vu)b << 16);
#endif
}

/* ---- the product ----------------------------------------------------------------------------- */

INLINED void add_step(const uint16_t *const *a, size_t k, const uint16_t *b, const size_t rows,
                      vf sums[TILE_ROWS][TILE_VECTORS])
{
    vi column[TILE_VECTORS];
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        column[j] = vi_load_pairs((const int16_t *)b + 2 * j * LANES);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        const vi pair = vi_all_pairs((const int16_t *)a[i] + 2 * k);
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            sums[i][j] = vf_dot_pairs(sums[i][j], pair, column[j]);
    }
}

/* Additions to one sum wait for each other. Few rows have too few sums to fill that time, so the
 * depth is dealt out to `parts` sums of each. */
INLINED void multiply(const onnxd_simd_bf16_tile *tile, size_t first, const size_t rows,
                      const size_t parts, const bool is_fetching, panel_fetch next, float *out)
{
    vf sums[4][TILE_ROWS][TILE_VECTORS];
    const uint16_t *a[TILE_ROWS], *b = tile->b;
    size_t k = 0;
    UNROLLED
    for (size_t i = 0; i < rows; i++)
        a[i] = tile->a + (first + i) * tile->a_stride;
    UNROLLED
    for (size_t p = 0; p < parts; p++) {
        UNROLLED
        for (size_t i = 0; i < rows; i++) {
            UNROLLED
            for (size_t j = 0; j < TILE_VECTORS; j++)
                sums[p][i][j] = vf_all(0);
        }
    }
    for (; k + parts <= tile->pairs; k += parts) {
        UNROLLED
        for (size_t p = 0; p < parts; p++, b += 2 * TILE_COLUMNS) {
            panel_fetch_step(is_fetching, &next);
            panel_expect(parts == 1, b);
            add_step(a, k + p, b, rows, sums[p]);
        }
    }
    for (; parts > 1 && k < tile->pairs; k++, b += 2 * TILE_COLUMNS)
        add_step(a, k, b, rows, sums[0]);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++) {
            vf sum = sums[0][i][j];
            UNROLLED
            for (size_t p = 1; p < parts; p++)
                sum += sums[p][i][j];
            vf_store(out + i * TILE_COLUMNS + j * LANES, sum);
        }
    }
}

typedef void (*tile_function)(const onnxd_simd_bf16_tile *tile, size_t first, panel_fetch next,
                              float *out);

#define BY_ROWS(rows)                                                                              \
    static void multiply_##rows(const onnxd_simd_bf16_tile *tile, size_t first, panel_fetch next,  \
                                float *out)                                                        \
    {                                                                                              \
        multiply(tile, first, rows, rows < 3 ? 4 / rows : 1, false, next, out);                    \
    }                                                                                              \
    static void fetching_##rows(const onnxd_simd_bf16_tile *tile, size_t first, panel_fetch next,  \
                                float *out)                                                        \
    {                                                                                              \
        multiply(tile, first, rows, rows < 3 ? 4 / rows : 1, true, next, out);                     \
    }
EACH_ROWS(TILE_ROWS, BY_ROWS)
#undef BY_ROWS

/* [is_fetching][rows - 1] */
static const tile_function by_rows[2][TILE_ROWS] = {{ROWS_LIST(TILE_ROWS, multiply_)},
                                                    {ROWS_LIST(TILE_ROWS, fetching_)}};

/* ---- after it -------------------------------------------------------------------------------- */

/* One vector's columns of some rows. */
INLINED void store_columns(const onnxd_simd_bf16_tile *tile, size_t first, size_t rows,
                           size_t column, const size_t count, const float *from)
{
    const onnxd_simd_post *post = tile->post;
    const vf bias = post == NULL || post->bias == NULL ? vf_all(0) : vf_load(post->bias + column);
    const float *residual = post == NULL ? NULL : post->residual;
    for (size_t i = 0; i < rows; i++) {
        float *c = tile->c + (first + i) * tile->c_stride + column;
        vf v = vf_load(from + i * TILE_COLUMNS + column);
        if (tile->is_continued)
            v += vf_load_some(c, count);
        v += bias;
        if (residual != NULL)
            v += vf_load_some(residual + (first + i) * post->residual_stride + column, count);
        if (post != NULL)
            v = vf_light(&post->activation, v);
        vf_store_some(c, v, count);
    }
}

static void store(const onnxd_simd_bf16_tile *tile, size_t first, size_t rows, const float *from)
{
    const size_t whole = tile->columns / LANES * LANES;
    for (size_t j = 0; j < whole; j += LANES)
        store_columns(tile, first, rows, j, LANES, from);
    if (whole < tile->columns)
        store_columns(tile, first, rows, whole, tile->columns - whole, from);
    activate_stored(tile->post, rows, tile->columns, tile->c + first * tile->c_stride,
                    tile->c_stride);
}

void OWN_NAME(onnxd_simd_bf16_product)(const onnxd_simd_bf16_tile *tile)
{
    float results[TILE_ROWS * TILE_COLUMNS];
    const tile_function *of_rows = by_rows[panel_fetch_pays(tile->b_next, tile->rows)];
    const size_t passes = row_passes_of(tile->rows, TILE_ROWS);
    panel_fetch next = panel_fetch_of(tile->b_next, passes);
    size_t first = 0;
    for (size_t left = passes; left > 0; left--) {
        const size_t rows = rows_of_pass(tile->rows - first, left);
        of_rows[rows - 1](tile, first, next, results);
        panel_fetch_pass(&next, tile->pairs);
        store(tile, first, rows, results);
        first += rows;
    }
}

/* ---- rounding -------------------------------------------------------------------------------- */

#if !defined(__AVX512BF16__)

typedef uint16_t vh __attribute__((vector_size(2 * LANES)));
typedef uint16_t vh_anywhere __attribute__((vector_size(2 * LANES), aligned(2)));
typedef uint32_t vu_anywhere __attribute__((vector_size(4 * LANES), aligned(2), may_alias));

/* The bits of bfloat16 in the upper half, those of what was rounded off in the lower one. */
static vu round_to_bf16(vf x)
{
    const vu bits = (vu)x;
    /* Rounding could make an infinity of NaN. */
    const vu quiet = bits | 0x00400000, rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const vi is_nan = vf_is_nan(x);
    return (vu)vf_select(is_nan, (vf)quiet, (vf)rounded);
}

static void round_part(vf x, uint16_t *out)
{
    *(vh_anywhere *)out = __builtin_convertvector(round_to_bf16(x) >> 16, vh);
}

void LEVEL_NAME(onnxd_simd_bf16_round)(const float *in, size_t count, uint16_t *out)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        round_part(vf_load(in + i), out + i);
    if (i < count)
        round_part(vf_load_part(in + i, count - i), out + i);
}

void LEVEL_NAME(onnxd_simd_bf16_pair)(const float *first, const float *second, uint16_t *out)
{
    for (size_t j = 0; j < TILE_COLUMNS; j += LANES) {
        const vu low = round_to_bf16(vf_load(first + j)) >> 16;
        const vu high = round_to_bf16(vf_load(second + j)) & 0xffff0000;
        *(vu_anywhere *)(out + 2 * j) = low | high;
    }
}

#endif

/* Tiles of the product of bytes, as integer_kernels.c has those of 16-bit integers. */
#include "ep/cpu/simd/integer_vector.h"
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/panel_fetch.h"
#include "ep/cpu/simd/row_lists.h"

#if defined(__AVX2__)

/* Without VNNI fewer rows than TILE_ROWS: a step has intermediate results that want registers too.
 */
#if defined(__AVX512VNNI__)
#define BYTE_ROWS TILE_ROWS
#elif defined(__AVX512F__)
#define BYTE_ROWS 8
#else
#define BYTE_ROWS 4
#endif

INLINED vi all_fours(const uint8_t *from)
{
    int32_t four;
    memcpy(&four, from, sizeof(four));
    return vi_all(four);
}

INLINED void add_step(const uint8_t *const *a, size_t k, const int8_t *b, const size_t rows,
                      vi sums[BYTE_ROWS][TILE_VECTORS])
{
    vi column[TILE_VECTORS];
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        column[j] = *(const vi_bytes *)(b + 4 * j * LANES);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        const vi four = all_fours(a[i] + 4 * k);
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            sums[i][j] = vi_add_dot_bytes(sums[i][j], four, column[j]);
    }
}

#if !defined(__AVX512VNNI__)
/* Two steps whose sums stay within 16 bits: they are widened once. */
INLINED void add_marked(const uint8_t *const *a, size_t k, const int8_t *b, const size_t rows,
                        vi sums[BYTE_ROWS][TILE_VECTORS])
{
    vi first[TILE_VECTORS], second[TILE_VECTORS];
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++) {
        first[j] = *(const vi_bytes *)(b + 4 * j * LANES);
        second[j] = *(const vi_bytes *)(b + 4 * (TILE_COLUMNS + j * LANES));
    }
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        const vi four = all_fours(a[i] + 4 * k), next = all_fours(a[i] + 4 * k + 4);
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++) {
            const vs pairs = (vs)vi_dot_bytes(four, first[j]) + (vs)vi_dot_bytes(next, second[j]);
            sums[i][j] = vi_add(sums[i][j], vi_add_pairs((vi)pairs));
        }
    }
}
#endif

#if !defined(__AVX512VNNI__)
INLINED void expect_two(const size_t rows, const bool is_fetching, panel_fetch *next,
                        const int8_t *b)
{
    panel_fetch_step(is_fetching, next);
    panel_fetch_step(is_fetching, next);
    panel_expect(rows > 2, b);
    panel_expect(rows > 2, b + PANEL_STEP_BYTES);
}
#endif

INLINED void run(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next,
                 const size_t rows, const bool is_fetching)
{
    vi sums[BYTE_ROWS][TILE_VECTORS];
    int32_t *c = tile->c + first * TILE_COLUMNS;
    const int8_t *b = tile->b;
#if !defined(__AVX512VNNI__)
    const bool *marks = tile->marks;
#endif
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            sums[i][j] = tile->is_continued ? vi_load(c + i * TILE_COLUMNS + j * LANES) : vi_all(0);
    }
    for (size_t t = 0; t < tile->taps; t++) {
        const uint8_t *a[BYTE_ROWS];
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            a[i] = tile->a[t * tile->a_stride + first + i];
        size_t k = 0;
#if !defined(__AVX512VNNI__)
        /* Loops of their own: in one the compiler would share what both begin with, and keep the
         * sums in memory. */
        while (k + 2 <= tile->steps) {
            for (; k + 2 <= tile->steps && *marks; k += 2, b += 8 * TILE_COLUMNS, marks++) {
                expect_two(rows, is_fetching, &next, b);
                add_marked(a, k, b, rows, sums);
            }
            for (; k + 2 <= tile->steps && !*marks; k += 2, b += 8 * TILE_COLUMNS, marks++) {
                expect_two(rows, is_fetching, &next, b);
                add_step(a, k, b, rows, sums);
                add_step(a, k + 1, b + 4 * TILE_COLUMNS, rows, sums);
            }
        }
#endif
        for (; k < tile->steps; k++, b += 4 * TILE_COLUMNS) {
            panel_fetch_step(is_fetching, &next);
            panel_expect(rows > 2, b);
            add_step(a, k, b, rows, sums);
        }
    }
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            vi_store(c + i * TILE_COLUMNS + j * LANES, sums[i][j]);
    }
}

typedef void (*tile_function)(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next);

#define BY_ROWS(rows)                                                                              \
    static void run_##rows(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next)       \
    {                                                                                              \
        run(tile, first, next, rows, false);                                                       \
    }                                                                                              \
    static void fetching_##rows(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next)  \
    {                                                                                              \
        run(tile, first, next, rows, true);                                                        \
    }
EACH_ROWS(BYTE_ROWS, BY_ROWS)
#undef BY_ROWS

/* [is_fetching][rows - 1] */
static const tile_function by_rows[2][BYTE_ROWS] = {{ROWS_LIST(BYTE_ROWS, run_)},
                                                    {ROWS_LIST(BYTE_ROWS, fetching_)}};

void OWN_NAME(onnxd_simd_byte_product)(const onnxd_simd_byte_tile *tile)
{
    const tile_function *of_rows = by_rows[panel_fetch_pays(tile->b_next, tile->rows)];
    const size_t passes = row_passes_of(tile->rows, BYTE_ROWS);
    panel_fetch next = panel_fetch_of(tile->b_next, passes);
    size_t first = 0;
    for (size_t left = passes; left > 0; left--) {
        const size_t rows = rows_of_pass(tile->rows - first, left);
        of_rows[rows - 1](tile, first, next);
        panel_fetch_pass(&next, tile->taps * tile->steps);
        first += rows;
    }
}

#endif

/* Tiles of the product of bytes, as integer_kernels.c has those of 16-bit integers. */
#include "ep/cpu/simd/integer_vector.h"
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/panel_fetch.h"

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
                panel_fetch_step(is_fetching, &next);
                panel_fetch_step(is_fetching, &next);
                add_marked(a, k, b, rows, sums);
            }
            for (; k + 2 <= tile->steps && !*marks; k += 2, b += 8 * TILE_COLUMNS, marks++) {
                panel_fetch_step(is_fetching, &next);
                panel_fetch_step(is_fetching, &next);
                add_step(a, k, b, rows, sums);
                add_step(a, k + 1, b + 4 * TILE_COLUMNS, rows, sums);
            }
        }
#endif
        for (; k < tile->steps; k++, b += 4 * TILE_COLUMNS) {
            panel_fetch_step(is_fetching, &next);
            panel_expect(b);
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

#define BY_ROWS(rows)                                                                              \
    static void run_##rows(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next)       \
    {                                                                                              \
        run(tile, first, next, rows, false);                                                       \
    }                                                                                              \
    static void fetching_##rows(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next)  \
    {                                                                                              \
        run(tile, first, next, rows, true);                                                        \
    }
BY_ROWS(1)
BY_ROWS(2)
BY_ROWS(3)
BY_ROWS(4)
#if BYTE_ROWS > 4
BY_ROWS(5)
BY_ROWS(6)
BY_ROWS(7)
BY_ROWS(8)
#endif
#if BYTE_ROWS > 8
BY_ROWS(9)
BY_ROWS(10)
BY_ROWS(11)
BY_ROWS(12)
#endif
#undef BY_ROWS

typedef void (*tile_function)(const onnxd_simd_byte_tile *tile, size_t first, panel_fetch next);

#define FIRST_ROWS(prefix) prefix##1, prefix##2, prefix##3, prefix##4
#if BYTE_ROWS > 8
#define ALL_ROWS(prefix)                                                                           \
    FIRST_ROWS(prefix), prefix##5, prefix##6, prefix##7, prefix##8, prefix##9, prefix##10,         \
        prefix##11, prefix##12
#elif BYTE_ROWS > 4
#define ALL_ROWS(prefix) FIRST_ROWS(prefix), prefix##5, prefix##6, prefix##7, prefix##8
#else
#define ALL_ROWS(prefix) FIRST_ROWS(prefix)
#endif
/* [is_fetching][rows - 1] */
static const tile_function by_rows[2][BYTE_ROWS] = {{ALL_ROWS(run_)}, {ALL_ROWS(fetching_)}};

void OWN_NAME(onnxd_simd_byte_product)(const onnxd_simd_byte_tile *tile)
{
    const tile_function *of_rows = by_rows[panel_fetch_pays(tile->b_next, tile->rows)];
    const size_t passes = (tile->rows + BYTE_ROWS - 1) / BYTE_ROWS;
    panel_fetch next = panel_fetch_of(tile->b_next, passes);
    size_t first = 0;
    /* Passes of about equally many rows: those of few read B faster than they multiply. */
    for (size_t left = passes; left > 0; left--) {
        const size_t rows = (tile->rows - first + left - 1) / left;
        of_rows[rows - 1](tile, first, next);
        panel_fetch_pass(&next, tile->taps * tile->steps);
        first += rows;
    }
}

#endif

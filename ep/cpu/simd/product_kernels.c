/*
 * Tiles of the matrix product, one below the other. The sums of a tile stay in registers over the
 * whole depth: each step loads the tile's columns of B once and one element of A for each row.
 *
 * Everything is inlined into one function per count of rows, where loops over rows, vectors and
 * parts are straight code.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

typedef struct sums {
    vf of[TILE_ROWS][TILE_VECTORS];
} sums;

/* ---- the depth ------------------------------------------------------------------------------- */

INLINED void add_step(const float *const *a, size_t k, const float *b, const size_t rows, sums *s)
{
    vf column[TILE_VECTORS];
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++)
        column[j] = vf_load(b + j * LANES);
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        const vf element = vf_all(a[i][k]);
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] += element * column[j];
    }
}

INLINED void add_sums(const sums *from, const size_t rows, sums *to)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            to->of[i][j] += from->of[i][j];
    }
}

/* Additions to one sum wait for each other. Few rows have too few sums to fill that time, so the
 * depth is dealt out to `parts` sums of each. */
INLINED void multiply(const onnxd_simd_tile *tile, size_t first, const size_t rows,
                      const size_t parts, sums *s)
{
    sums part[3];
    const float *b = tile->b;
    memset(part, 0, (parts - 1) * sizeof(part[0]));
    for (size_t t = 0; t < tile->taps; t++) {
        const float *a[TILE_ROWS];
        size_t k = 0;
        UNROLLED
        for (size_t i = 0; i < rows; i++)
            a[i] = tile->a[t * tile->a_stride + first + i];
        for (; k + parts <= tile->depth; k += parts) {
            UNROLLED
            for (size_t p = 0; p < parts; p++, b += TILE_COLUMNS)
                add_step(a, k + p, b, rows, p == 0 ? s : &part[p - 1]);
        }
        for (; parts > 1 && k < tile->depth; k++, b += TILE_COLUMNS)
            add_step(a, k, b, rows, s);
    }
    UNROLLED
    for (size_t p = 1; p < parts; p++)
        add_sums(&part[p - 1], rows, s);
}

/* ---- before and after ------------------------------------------------------------------------ */

/* The part of a row that vector `j` covers, zeros beyond `columns`. */
INLINED vf load_part(const float *row, size_t j, size_t columns)
{
    if (ONNXD_LIKELY(columns >= (j + 1) * LANES))
        return vf_load(row + j * LANES);
    return columns <= j * LANES ? vf_all(0) : vf_load_part(row + j * LANES, columns - j * LANES);
}

INLINED void store_part(float *row, size_t j, size_t columns, vf v)
{
    if (ONNXD_LIKELY(columns >= (j + 1) * LANES))
        vf_store(row + j * LANES, v);
    else if (columns > j * LANES)
        vf_store_part(row + j * LANES, v, columns - j * LANES);
}

INLINED void begin(const onnxd_simd_tile *tile, const float *c, const size_t rows, sums *s)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] = tile->is_continued ? load_part(c + i * tile->c_stride, j, tile->columns)
                                             : vf_all(0);
    }
}

INLINED void add_to_rows(const onnxd_simd_post *post, const float *residual, size_t columns,
                         const size_t rows, sums *s)
{
    UNROLLED
    for (size_t j = 0; j < TILE_VECTORS; j++) {
        const vf bias = post->bias == NULL ? vf_all(0) : vf_load(post->bias + j * LANES);
        UNROLLED
        for (size_t i = 0; i < rows; i++) {
            s->of[i][j] += bias;
            if (residual != NULL)
                s->of[i][j] += load_part(residual + i * post->residual_stride, j, columns);
        }
    }
}

/* The usual activation is worth a loop of its own. */
INLINED void activate_rows(const onnxd_simd_activation *activation, const size_t rows, sums *s)
{
    if (activation->function == ONNXD_SIMD_IDENTITY)
        return;
    if (activation->function == ONNXD_SIMD_RELU) {
        UNROLLED
        for (size_t i = 0; i < rows; i++) {
            UNROLLED
            for (size_t j = 0; j < TILE_VECTORS; j++)
                s->of[i][j] = vf_max(vf_all(0), s->of[i][j]);
        }
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < TILE_VECTORS; j++)
            s->of[i][j] = vf_activate(activation, s->of[i][j]);
}

INLINED void finish(const onnxd_simd_tile *tile, float *c, const size_t rows, const sums *s)
{
    UNROLLED
    for (size_t i = 0; i < rows; i++) {
        UNROLLED
        for (size_t j = 0; j < TILE_VECTORS; j++)
            store_part(c + i * tile->c_stride, j, tile->columns, s->of[i][j]);
    }
}

INLINED void run(const onnxd_simd_tile *tile, size_t first, const size_t rows, const size_t parts)
{
    const onnxd_simd_post *post = tile->post;
    float *c = tile->c + first * tile->c_stride;
    sums s;
    begin(tile, c, rows, &s);
    multiply(tile, first, rows, parts, &s);
    if (post != NULL) {
        const float *residual = post->residual;
        if (residual != NULL)
            residual += first * post->residual_stride;
        add_to_rows(post, residual, tile->columns, rows, &s);
        activate_rows(&post->activation, rows, &s);
    }
    finish(tile, c, rows, &s);
}

/* ---- by rows --------------------------------------------------------------------------------- */

#define BY_ROWS(rows, parts)                                                                       \
    static void run_##rows(const onnxd_simd_tile *tile, size_t first)                              \
    {                                                                                              \
        run(tile, first, rows, parts);                                                             \
    }
BY_ROWS(1, 4)
BY_ROWS(2, 2)
BY_ROWS(3, 1)
BY_ROWS(4, 1)
#if TILE_ROWS > 4
BY_ROWS(5, 1)
BY_ROWS(6, 1)
#endif
#if TILE_ROWS > 6
BY_ROWS(7, 1)
BY_ROWS(8, 1)
BY_ROWS(9, 1)
BY_ROWS(10, 1)
BY_ROWS(11, 1)
BY_ROWS(12, 1)
#endif
#undef BY_ROWS

void LEVEL_NAME(onnxd_simd_product)(const onnxd_simd_tile *tile)
{
    static void (*const run_rows[TILE_ROWS])(const onnxd_simd_tile *, size_t) = {
        run_1,
        run_2,
        run_3,
        run_4,
#if TILE_ROWS > 4
        run_5,
        run_6,
#endif
#if TILE_ROWS > 6
        run_7,
        run_8,
        run_9,
        run_10,
        run_11,
        run_12,
#endif
    };
    size_t first = 0;
    for (; first + TILE_ROWS <= tile->rows; first += TILE_ROWS)
        run_rows[TILE_ROWS - 1](tile, first);
    if (first < tile->rows)
        run_rows[tile->rows - first - 1](tile, first);
}

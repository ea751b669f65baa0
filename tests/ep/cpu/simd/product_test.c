/* The tile of the matrix product. */
#include <math.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

/* Stands for a row that must not be read. */
#define NO_ROW ((const float *)8)

typedef struct tile_case {
    uint32_t rows, columns;
    size_t taps, depth;
    bool is_continued, has_bias, has_residual, has_post;
    onnxd_simd_activation activation;
} tile_case;

/* A tile with all that it reads and writes, in memory of exactly that size. */
typedef struct tile_run {
    const tile_case *of;
    const onnxd_simd *simd;
    const float **rows;
    float *a, *b, *c, *bias, *residual;
    float *before; /* what C held */
    size_t a_stride, c_stride, c_count;
    onnxd_simd_post post;
} tile_run;

static void tile_run_init(const onnxd_simd *simd, const tile_case *of, uint64_t *seed,
                          tile_run *run)
{
    const size_t elements = of->taps * of->depth;
    *run = (tile_run){.of = of, .simd = simd};
    run->a_stride = of->rows + 3;
    run->c_stride = of->columns + 5;
    run->c_count = (of->rows - 1) * run->c_stride + of->columns;
    run->a = random_floats(seed, elements * of->rows);
    run->b = random_floats(seed, elements * simd->tile_columns);
    run->c = guard_floats(run->c_count);
    run->bias = random_floats(seed, simd->tile_columns);
    run->residual = random_floats(seed, run->c_count);
    run->before = random_floats(seed, run->c_count);
    for (size_t step = 0; step < elements; step++)
        for (size_t j = of->columns; j < simd->tile_columns; j++)
            run->b[step * simd->tile_columns + j] = 0;
    const size_t pointers = (of->taps - 1) * run->a_stride + of->rows;
    run->rows = onnxd_alloc(pointers * sizeof(run->rows[0]));
    cr_assert_not_null(run->rows);
    for (size_t p = 0; p < pointers; p++) {
        const size_t tap = p / run->a_stride, row = p % run->a_stride;
        run->rows[p] = row < of->rows ? run->a + (row * of->taps + tap) * of->depth : NO_ROW;
    }
    for (size_t i = 0; of->is_continued && i < of->rows; i++)
        for (size_t j = 0; j < of->columns; j++)
            run->c[i * run->c_stride + j] = run->before[i * run->c_stride + j];
    run->post = (onnxd_simd_post){.activation = of->activation,
                                  .bias = of->has_bias ? run->bias : NULL,
                                  .residual = of->has_residual ? run->residual : NULL,
                                  .residual_stride = run->c_stride};
}

static void tile_run_deinit(tile_run *run)
{
    onnxd_free(run->rows);
    onnxd_free(run->a);
    onnxd_free(run->b);
    onnxd_free(run->c);
    onnxd_free(run->bias);
    onnxd_free(run->residual);
    onnxd_free(run->before);
}

/* The element of row i and column j, and how exact it can be. */
static double expected(const tile_run *run, size_t i, size_t j, double *out_tolerance)
{
    const tile_case *of = run->of;
    double sum = 0, magnitude = 1;
    for (size_t step = 0; step < of->taps * of->depth; step++) {
        const double product = (double)run->a[i * of->taps * of->depth + step] *
                               (double)run->b[step * run->simd->tile_columns + j];
        sum += product;
        magnitude += fabs(product);
    }
    if (of->is_continued)
        sum += (double)run->before[i * run->c_stride + j];
    if (of->has_post && of->has_bias)
        sum += (double)run->bias[j];
    if (of->has_post && of->has_residual)
        sum += (double)run->residual[i * run->c_stride + j];
    *out_tolerance = 2e-6 * magnitude;
    return of->has_post ? (double)activation_reference(&of->activation, sum) : sum;
}

static void check_tile_of(const onnxd_simd *simd, const tile_case *of, bool is_packed,
                          bool is_fetching)
{
    uint64_t seed = of->rows * 1000 + of->columns * 10 + of->depth;
    tile_run run;
    tile_run_init(simd, of, &seed, &run);
    const size_t whole = (of->rows + simd->tile_rows - 1) / simd->tile_rows * simd->tile_rows;
    float *packed = guard_floats(whole * of->taps * of->depth);
    onnxd_simd_tile tile = {.a = run.rows,
                            .a_stride = run.a_stride,
                            .taps = of->taps,
                            .depth = of->depth,
                            .b = run.b,
                            .b_next = is_fetching ? run.b : NULL,
                            .c = run.c,
                            .c_stride = run.c_stride,
                            .rows = of->rows,
                            .columns = of->columns,
                            .is_continued = of->is_continued,
                            .post = of->has_post ? &run.post : NULL};
    if (is_packed) {
        simd->pack_rows(&tile, packed);
        tile.a_packed = packed;
    }
    simd->product(&tile);
    onnxd_free(packed);
    for (size_t p = 0; p < run.c_count; p++) {
        const size_t i = p / run.c_stride, j = p % run.c_stride;
        if (j >= of->columns) {
            cr_assert_eq(run.c[p], GUARD, "%s, %u x %u: wrote row %zu column %zu",
                         onnxd_simd_level_name(simd->level), of->rows, of->columns, i, j);
            continue;
        }
        double tolerance;
        const double want = expected(&run, i, j, &tolerance);
        expect_near((double)run.c[p], want, tolerance * fmax(1, fabs(want)),
                    "%s, %u x %u, %zu taps of %zu, function %d: row %zu column %zu is %g, not %g",
                    onnxd_simd_level_name(simd->level), of->rows, of->columns, of->taps, of->depth,
                    (int)of->activation.function, i, j, (double)run.c[p], want);
    }
    tile_run_deinit(&run);
}

static void check_tile(const onnxd_simd *simd, const tile_case *of)
{
    check_tile_of(simd, of, false, false);
    check_tile_of(simd, of, false, true);
    check_tile_of(simd, of, true, false);
    check_tile_of(simd, of, true, true);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void check_sizes(const onnxd_simd *simd)
{
    static const size_t depths[][2] = {{1, 0}, {1, 1}, {1, 6}, {3, 3}, {9, 5}, {2, 0}};
    for (uint32_t rows = 1; rows <= simd->tile_rows; rows++)
        for (uint32_t columns = 1; columns <= simd->tile_columns; columns++)
            for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
                for (int continued = 0; continued < 2; continued++)
                    check_tile(simd, &(tile_case){.rows = rows,
                                                  .columns = columns,
                                                  .taps = depths[d][0],
                                                  .depth = depths[d][1],
                                                  .is_continued = continued != 0});
}

/* More rows than a tile has, some of the columns or all. */
static void check_many_rows(const onnxd_simd *simd)
{
    for (uint32_t rows = simd->tile_rows; rows <= 5 * simd->tile_rows; rows++)
        for (uint32_t columns = simd->tile_columns - 1; columns <= simd->tile_columns; columns++)
            for (int post = 0; post < 2; post++)
                check_tile(simd, &(tile_case){.rows = rows,
                                              .columns = columns,
                                              .taps = 2,
                                              .depth = 9,
                                              .is_continued = rows % 2 == 0,
                                              .has_post = post != 0,
                                              .has_residual = true,
                                              .activation = each_activation[ONNXD_SIMD_TANH]});
}

Test(simd_product, many_rows)
{
    each_level(check_many_rows);
}

Test(simd_product, all_sizes)
{
    each_level(check_sizes);
}

static void check_depths(const onnxd_simd *simd)
{
    static const size_t depths[] = {0, 1, 2, 3, 4, 5, 7, 8, 31, 64, 384, 1001};
    for (uint32_t rows = 1; rows <= simd->tile_rows; rows++)
        for (size_t taps = 1; taps <= 9; taps++)
            for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
                check_tile(simd, &(tile_case){.rows = rows,
                                              .columns = simd->tile_columns - (uint32_t)taps % 3,
                                              .taps = taps,
                                              .depth = depths[d]});
}

Test(simd_product, all_depths)
{
    each_level(check_depths);
}

/* What follows the product, in all combinations. */
static void check_posts(const onnxd_simd *simd)
{
    const uint32_t lanes = simd->lanes;
    const uint32_t columns[] = {1, lanes - 1, lanes, lanes + 1, 2 * lanes - 1, simd->tile_columns};
    for (uint32_t rows = 1; rows <= simd->tile_rows; rows++)
        for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
            for (int function = 0; function < ONNXD_SIMD_FUSED_COUNT; function++)
                for (unsigned bits = 0; bits < 8; bits++)
                    check_tile(simd, &(tile_case){.rows = rows,
                                                  .columns = columns[c],
                                                  .taps = 2,
                                                  .depth = 7,
                                                  .is_continued = (bits & 1) != 0,
                                                  .has_bias = (bits & 2) != 0,
                                                  .has_residual = (bits & 4) != 0,
                                                  .has_post = true,
                                                  .activation = each_activation[function]});
}

Test(simd_product, all_that_follows)
{
    each_level(check_posts);
}

/* Every column of B is the same: so is every column of C, to the last bit, in a tile of all columns
 * and in one of a few. Classifiers of equal classes have to give them equal scores. */
static void check_equal_columns(const onnxd_simd *simd)
{
    enum { DEPTH = 301, MOST_ROWS = 3 * ONNXD_SIMD_MAX_ROWS };
    uint64_t seed = 9;
    const size_t width = simd->tile_columns;
    float *a = random_floats(&seed, (size_t)MOST_ROWS * DEPTH),
          *b = random_floats(&seed, DEPTH * width);
    float *whole = guard_floats(MOST_ROWS * width), *few = guard_floats(MOST_ROWS * width);
    const float *rows[MOST_ROWS];
    for (size_t i = 0; i < MOST_ROWS; i++)
        rows[i] = a + i * DEPTH;
    for (size_t k = 0; k < DEPTH; k++)
        for (size_t j = 1; j < width; j++)
            b[k * width + j] = b[k * width];
    onnxd_simd_tile tile = {
        .a = rows, .a_stride = MOST_ROWS, .taps = 1, .depth = DEPTH, .b = b, .c_stride = width};
    for (tile.rows = 1; tile.rows <= 3 * simd->tile_rows; tile.rows++) {
        tile.c = whole;
        tile.columns = simd->tile_columns;
        simd->product(&tile);
        for (tile.columns = 1; tile.columns < simd->tile_columns; tile.columns++) {
            tile.c = few;
            simd->product(&tile);
            for (size_t i = 0; i < tile.rows; i++)
                for (size_t j = 0; j < tile.columns; j++)
                    cr_assert_eq(few[i * width + j], whole[i * width],
                                 "%s: %u rows, %u columns: row %zu",
                                 onnxd_simd_level_name(simd->level), tile.rows, tile.columns, i);
        }
    }
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(whole);
    onnxd_free(few);
}

Test(simd_product, equal_columns_have_equal_results)
{
    each_level(check_equal_columns);
}

/* Residual and result may be one image: an addition in place. */
static void check_in_place(const onnxd_simd *simd)
{
    const float a = 2;
    const float *rows[] = {&a};
    float b[ONNXD_SIMD_MAX_COLUMNS], c[ONNXD_SIMD_MAX_COLUMNS];
    for (uint32_t j = 0; j < simd->tile_columns; j++) {
        b[j] = (float)j;
        c[j] = 100;
    }
    const onnxd_simd_post post = {.residual = c, .residual_stride = simd->tile_columns};
    const onnxd_simd_tile tile = {.a = rows,
                                  .a_stride = 1,
                                  .taps = 1,
                                  .depth = 1,
                                  .b = b,
                                  .c = c,
                                  .c_stride = simd->tile_columns,
                                  .rows = 1,
                                  .columns = simd->tile_columns,
                                  .post = &post};
    simd->product(&tile);
    for (uint32_t j = 0; j < simd->tile_columns; j++)
        cr_assert_eq(c[j], 100 + 2 * (float)j, "%s: column %u is %g",
                     onnxd_simd_level_name(simd->level), j, (double)c[j]);
}

Test(simd_product, adds_to_its_residual_in_place)
{
    each_level(check_in_place);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void check_table(const onnxd_simd *simd)
{
    cr_expect_eq(onnxd_simd_table(simd->level), simd);
    cr_expect_leq(simd->lanes, ONNXD_SIMD_MAX_LANES);
    cr_expect_leq(simd->tile_rows, ONNXD_SIMD_MAX_ROWS);
    cr_expect_leq(simd->tile_columns, ONNXD_SIMD_MAX_COLUMNS);
    cr_expect_eq(simd->tile_columns % simd->lanes, 0);
    cr_expect_leq(simd->level, onnxd_simd_best());
}

Test(simd_levels, tables_fit_what_the_header_allows)
{
    each_level(check_table);
    cr_expect(onnxd_simd_is_available(ONNXD_SIMD_PORTABLE));
    cr_expect(onnxd_simd_is_available(onnxd_simd_best()));
    cr_expect_not(onnxd_simd_is_available(ONNXD_SIMD_LEVEL_COUNT));
    cr_expect_str_eq(onnxd_simd_level_name(ONNXD_SIMD_PORTABLE), "portable");
    cr_expect_str_eq(onnxd_simd_level_name(ONNXD_SIMD_AVX2), "avx2");
    cr_expect_str_eq(onnxd_simd_level_name(ONNXD_SIMD_AVX512), "avx512");
    cr_expect_str_eq(onnxd_simd_level_name(ONNXD_SIMD_AVX512_VNNI), "avx512_vnni");
    cr_expect_str_eq(onnxd_simd_level_name(ONNXD_SIMD_AVX512_BF16), "avx512_bf16");
}

/* The tile of the product of bfloat16, and rounding. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "tests/ep/cpu/engine.h"

#define GUARD_ELEMENT ((uint16_t)0xa5a5)

static uint16_t *elements_of(size_t count)
{
    uint16_t *elements = onnxd_alloc_aligned(count * sizeof(uint16_t), 64);
    cr_assert_not_null(elements);
    for (size_t i = 0; i < count; i++)
        elements[i] = GUARD_ELEMENT;
    return elements;
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* Ties to both sides, what rounds up to an infinity, numbers below the least normal one, and NaN
 * whose upper half alone would be an infinity. */
static const uint32_t special_bits[] = {
    0x00000000, 0x80000000, 0x3f800000, 0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001,
    0xbf808000, 0xbf818000, 0x7f7fffff, 0xff7fffff, 0x7f7f7fff, 0x7f7f8000, 0x7f800000,
    0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x00000001,
    0x00007fff, 0x00008000, 0x00008001, 0x00018000, 0x007fffff, 0x80008001, 0x007f8000};
enum { SPECIALS = sizeof(special_bits) / sizeof(special_bits[0]) };

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Special values, then floats of any bits. */
static float *any_floats(uint64_t *seed, size_t count)
{
    float *floats = guard_floats(count);
    for (size_t i = 0; i < count; i++)
        floats[i] = float_of(i < SPECIALS ? special_bits[i] : (uint32_t)engine_random(seed));
    return floats;
}

static void expect_rounded(const onnxd_simd *simd, float from, uint16_t got)
{
    const uint16_t want = onnxd_float_to_bfloat16(from);
    cr_assert(got == want || (isnan(from) && isnan(onnxd_bfloat16_to_float(got))),
              "%s: %a becomes %04x, not %04x", onnxd_simd_level_name(simd->level), (double)from,
              got, want);
}

static void check_rounding(const onnxd_simd *simd)
{
    uint64_t seed = 1;
    for (size_t count = 0; count < 200; count++) {
        const size_t room = count + simd->lanes - 1;
        float *in = any_floats(&seed, count);
        uint16_t *out = elements_of(room + 1);
        /* At an address that is aligned for elements alone. */
        simd->bf16_round(in, count, out + 1);
        cr_assert_eq(out[0], GUARD_ELEMENT);
        for (size_t i = 0; i < count; i++)
            expect_rounded(simd, in[i], out[i + 1]);
        onnxd_free(in);
        onnxd_free(out);
    }
}

Test(simd_bf16, rounding)
{
    each_level(check_rounding);
}

static void check_pairs(const onnxd_simd *simd)
{
    uint64_t seed = 2;
    const size_t width = simd->tile_columns;
    for (size_t round = 0; round < 100; round++) {
        float *first = any_floats(&seed, width), *second = any_floats(&seed, width + round);
        uint16_t *out = elements_of(2 * width);
        simd->bf16_pair(first, second + round, out);
        for (size_t j = 0; j < width; j++) {
            expect_rounded(simd, first[j], out[2 * j]);
            expect_rounded(simd, second[round + j], out[2 * j + 1]);
        }
        onnxd_free(first);
        onnxd_free(second);
        onnxd_free(out);
    }
}

Test(simd_bf16, pairs)
{
    each_level(check_pairs);
}

/* ---- the product ----------------------------------------------------------------------------- */

typedef struct tile_case {
    uint32_t rows, columns;
    size_t pairs;
    bool is_continued, has_bias, has_residual, has_post;
    onnxd_simd_activation activation;
} tile_case;

/* A tile with all that it reads and writes, in memory of exactly that size. */
typedef struct tile_run {
    const tile_case *of;
    const onnxd_simd *simd;
    uint16_t *a, *b;
    float *c, *bias, *residual;
    float *before; /* what C held */
    size_t a_stride, c_stride, c_count;
    onnxd_simd_post post;
} tile_run;

static uint16_t random_element(uint64_t *seed)
{
    const int32_t value = (int32_t)(engine_random(seed) >> 40);
    return onnxd_float_to_bfloat16((float)value * 0x1p-23f - 1.0f);
}

static void tile_run_init(const onnxd_simd *simd, const tile_case *of, tile_run *run)
{
    uint64_t seed = of->rows * 1000 + of->columns * 10 + of->pairs;
    *run = (tile_run){.of = of, .simd = simd};
    run->a_stride = 2 * of->pairs + 4;
    run->c_stride = of->columns + 5;
    run->c_count = (of->rows - 1) * run->c_stride + of->columns;
    const size_t a_count = (of->rows - 1) * run->a_stride + 2 * of->pairs;
    const size_t b_count = 2 * of->pairs * simd->tile_columns;
    run->a = elements_of(a_count);
    run->b = elements_of(b_count);
    for (size_t i = 0; i < a_count; i++)
        run->a[i] = random_element(&seed);
    for (size_t i = 0; i < b_count; i++)
        run->b[i] = i / 2 % simd->tile_columns < of->columns ? random_element(&seed) : 0;
    run->c = guard_floats(run->c_count);
    run->bias = random_floats(&seed, simd->tile_columns);
    run->residual = random_floats(&seed, run->c_count);
    run->before = random_floats(&seed, run->c_count);
    for (size_t p = 0; of->is_continued && p < run->c_count; p++)
        if (p % run->c_stride < of->columns)
            run->c[p] = run->before[p];
    run->post = (onnxd_simd_post){.activation = of->activation,
                                  .bias = of->has_bias ? run->bias : NULL,
                                  .residual = of->has_residual ? run->residual : NULL,
                                  .residual_stride = run->c_stride};
}

static void tile_run_deinit(tile_run *run)
{
    onnxd_free(run->a);
    onnxd_free(run->b);
    onnxd_free(run->c);
    onnxd_free(run->bias);
    onnxd_free(run->residual);
    onnxd_free(run->before);
}

static onnxd_simd_bf16_tile tile_of(const tile_run *run, float *c)
{
    return (onnxd_simd_bf16_tile){.a = run->a,
                                  .a_stride = run->a_stride,
                                  .pairs = run->of->pairs,
                                  .b = run->b,
                                  .b_next = run->of->is_continued ? run->b : NULL,
                                  .c = c,
                                  .c_stride = run->c_stride,
                                  .rows = run->of->rows,
                                  .columns = run->of->columns,
                                  .is_continued = run->of->is_continued,
                                  .post = run->of->has_post ? &run->post : NULL};
}

/* A factor as a level takes it: the instruction has no numbers below the least normal one. */
static double factor_of(const onnxd_simd *simd, uint16_t element)
{
    const float value = onnxd_bfloat16_to_float(element);
    const bool is_zero = simd->level == ONNXD_SIMD_AVX512_BF16 && fpclassify(value) == FP_SUBNORMAL;
    return is_zero ? 0 : (double)value;
}

/* The element of row i and column j, and how exact it can be. */
static double expected(const tile_run *run, size_t i, size_t j, double *out_tolerance)
{
    const tile_case *of = run->of;
    const size_t at = i * run->c_stride + j;
    double sum = 0, magnitude = 1;
    for (size_t k = 0; k < 2 * of->pairs; k++) {
        const size_t in_b = 2 * (k / 2 * run->simd->tile_columns + j) + k % 2;
        const double product = factor_of(run->simd, run->a[i * run->a_stride + k]) *
                               factor_of(run->simd, run->b[in_b]);
        sum += product;
        magnitude += fabs(product);
    }
    sum += of->is_continued ? (double)run->before[at] : 0;
    sum += of->has_post && of->has_bias ? (double)run->bias[j] : 0;
    sum += of->has_post && of->has_residual ? (double)run->residual[at] : 0;
    *out_tolerance = 2e-6 * magnitude;
    return of->has_post ? (double)activation_reference(&of->activation, sum) : sum;
}

static void expect_tile(const tile_run *run)
{
    const tile_case *of = run->of;
    const char *level = onnxd_simd_level_name(run->simd->level);
    for (size_t p = 0; p < run->c_count; p++) {
        const size_t i = p / run->c_stride, j = p % run->c_stride;
        if (j >= of->columns) {
            cr_assert_eq(run->c[p], GUARD, "%s, %u x %u: wrote row %zu column %zu", level, of->rows,
                         of->columns, i, j);
            continue;
        }
        double tolerance;
        const double want = expected(run, i, j, &tolerance);
        expect_near((double)run->c[p], want, tolerance * fmax(1, fabs(want)),
                    "%s, %u x %u, %zu pairs, function %d: row %zu column %zu is %g, not %g", level,
                    of->rows, of->columns, of->pairs, (int)of->activation.function, i, j,
                    (double)run->c[p], want);
    }
}

static void check_tile(const onnxd_simd *simd, const tile_case *of)
{
    tile_run run;
    tile_run_init(simd, of, &run);
    const onnxd_simd_bf16_tile tile = tile_of(&run, run.c);
    simd->bf16_product(&tile);
    expect_tile(&run);
    tile_run_deinit(&run);
}

static const uint32_t row_counts[] = {1, 2, 3, 5, 6, 7, 11, 12, 13, 14, 25, 100};
enum { ROW_COUNTS = sizeof(row_counts) / sizeof(row_counts[0]) };

static void check_sizes(const onnxd_simd *simd)
{
    static const size_t depths[] = {0, 1, 2, 3, 4, 5, 7, 64, 385};
    for (size_t r = 0; r < ROW_COUNTS; r++)
        for (uint32_t columns = 1; columns <= simd->tile_columns; columns++)
            for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
                check_tile(simd, &(tile_case){.rows = row_counts[r],
                                              .columns = columns,
                                              .pairs = depths[d],
                                              .is_continued = d % 2 == 0});
}

Test(simd_bf16, all_sizes)
{
    each_level(check_sizes);
}

/* What follows the product, in all combinations. */
static void check_posts(const onnxd_simd *simd)
{
    const uint32_t lanes = simd->lanes;
    const uint32_t columns[] = {1, lanes - 1, lanes, lanes + 1, simd->tile_columns};
    for (size_t r = 0; r < ROW_COUNTS; r++)
        for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
            for (int function = 0; function < ONNXD_SIMD_FUSED_COUNT; function++)
                for (unsigned bits = 0; bits < 8; bits++)
                    check_tile(simd, &(tile_case){.rows = row_counts[r],
                                                  .columns = columns[c],
                                                  .pairs = 7,
                                                  .is_continued = (bits & 1) != 0,
                                                  .has_bias = (bits & 2) != 0,
                                                  .has_residual = (bits & 4) != 0,
                                                  .has_post = true,
                                                  .activation = each_activation[function]});
}

Test(simd_bf16, all_that_follows)
{
    each_level(check_posts);
}

/* Infinities and NaN of either factor come through, and so do numbers below the least normal one
 * where the level has them. */
static void check_special(const onnxd_simd *simd)
{
    static const uint16_t values[] = {0x7f80, 0xff80, 0x7fc0, 0xffff,
                                      0x0001, 0x8040, 0x5f7f, 0x0000};
    enum { VALUES = sizeof(values) / sizeof(values[0]) };
    for (size_t r = 0; r < ROW_COUNTS; r++)
        for (size_t v = 0; v < VALUES; v++)
            for (size_t w = 0; w < VALUES; w++) {
                const tile_case of = {
                    .rows = row_counts[r], .columns = simd->tile_columns - 1, .pairs = 5};
                tile_run run;
                tile_run_init(simd, &of, &run);
                run.a[(of.rows - 1) * run.a_stride + v] = values[v];
                run.b[2 * (v / 2 * simd->tile_columns + 1) + v % 2] = values[w];
                const onnxd_simd_bf16_tile tile = tile_of(&run, run.c);
                simd->bf16_product(&tile);
                expect_tile(&run);
                tile_run_deinit(&run);
            }
}

Test(simd_bf16, special_values)
{
    each_level(check_special);
}

/* What a row becomes does not depend on how many columns there are. */
static void check_parts(const onnxd_simd *simd)
{
    for (size_t r = 0; r < ROW_COUNTS; r++) {
        const tile_case of = {.rows = row_counts[r], .columns = simd->tile_columns, .pairs = 77};
        tile_run run;
        tile_run_init(simd, &of, &run);
        float *part = guard_floats(run.c_count);
        onnxd_simd_bf16_tile whole = tile_of(&run, run.c), tile = tile_of(&run, part);
        simd->bf16_product(&whole);
        while (--tile.columns > 0) {
            simd->bf16_product(&tile);
            for (size_t at = 0; at < run.c_count; at += run.c_stride)
                cr_assert_arr_eq(part + at, run.c + at, tile.columns * sizeof(float),
                                 "%s: %u rows, %u columns: element %zu",
                                 onnxd_simd_level_name(simd->level), of.rows, tile.columns, at);
        }
        onnxd_free(part);
        tile_run_deinit(&run);
    }
}

Test(simd_bf16, parts_of_a_tile)
{
    each_level(check_parts);
}

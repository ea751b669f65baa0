/* Reductions of rows and columns, positions, and lines. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

static double expected(onnxd_simd_reduction how, const float *in, size_t count, size_t step)
{
    const bool is_extreme = how == ONNXD_SIMD_REDUCE_MAX || how == ONNXD_SIMD_REDUCE_MIN;
    double result = is_extreme ? (double)in[0] : 0;
    for (size_t i = 0; i < count; i++) {
        const double x = (double)in[i * step];
        switch (how) {
        case ONNXD_SIMD_REDUCE_SUM:
            result += x;
            break;
        case ONNXD_SIMD_REDUCE_SQUARES:
            result += x * x;
            break;
        case ONNXD_SIMD_REDUCE_MAGNITUDES:
            result += fabs(x);
            break;
        case ONNXD_SIMD_REDUCE_MAX:
            result = isnan(result) || isnan(x) ? (double)NAN : fmax(result, x);
            break;
        case ONNXD_SIMD_REDUCE_MIN:
            result = isnan(result) || isnan(x) ? (double)NAN : fmin(result, x);
            break;
        case ONNXD_SIMD_REDUCTION_COUNT:
            break;
        }
    }
    return result;
}

/* Extremes are exact; a sum is off by some roundings of what its terms amount to, however many they
 * are. */
static double tolerance_of(onnxd_simd_reduction how, const float *in, size_t count, size_t step)
{
    const bool is_extreme = how == ONNXD_SIMD_REDUCE_MAX || how == ONNXD_SIMD_REDUCE_MIN;
    return is_extreme ? 0 : 1e-6 * expected(ONNXD_SIMD_REDUCE_MAGNITUDES, in, count, step);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void check_rows(const onnxd_simd *simd)
{
    static const size_t long_ones[] = {255, 4095, 4096, 4097, 8193, 100003};
    enum { SHORT = 5 * ONNXD_SIMD_MAX_LANES, LONG = sizeof(long_ones) / sizeof(long_ones[0]) };
    uint64_t seed = 1;
    for (size_t i = 1; i <= SHORT + LONG; i++) {
        const size_t count = i <= SHORT ? i : long_ones[i - SHORT - 1];
        float *in = random_floats(&seed, count);
        for (int how = 0; how < ONNXD_SIMD_REDUCTION_COUNT; how++) {
            const onnxd_simd_reduction reduction = (onnxd_simd_reduction)how;
            const double want = expected(reduction, in, count, 1);
            expect_near((double)simd->reduce(reduction, in, count), want,
                        tolerance_of(reduction, in, count, 1), "%s, reduction %d of %zu",
                        onnxd_simd_level_name(simd->level), how, count);
        }
        onnxd_free(in);
    }
}

Test(simd_reduce, rows_of_all_lengths)
{
    each_level(check_rows);
}

/* A NaN anywhere is the result, infinities are what they add up to. */
static void check_specials(const onnxd_simd *simd)
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    enum { COUNT = 4 * ONNXD_SIMD_MAX_LANES + 3 };
    float in[COUNT], out[COUNT];
    for (size_t at = 0; at < COUNT; at++) {
        for (size_t v = 0; v < 3; v++) {
            for (size_t i = 0; i < COUNT; i++)
                in[i] = i == at ? values[v] : (float)i - 20;
            for (int how = 0; how < ONNXD_SIMD_REDUCTION_COUNT; how++) {
                const onnxd_simd_reduction reduction = (onnxd_simd_reduction)how;
                const double want = expected(reduction, in, COUNT, 1);
                expect_near((double)simd->reduce(reduction, in, COUNT), want, 0,
                            "%s, reduction %d with %g at %zu", onnxd_simd_level_name(simd->level),
                            how, (double)values[v], at);
                simd->reduce_columns(reduction, in, COUNT, 1, 1, out);
                expect_near((double)out[0], want, 0, "%s, columns, reduction %d with %g at %zu",
                            onnxd_simd_level_name(simd->level), how, (double)values[v], at);
            }
        }
    }
}

Test(simd_reduce, specials)
{
    each_level(check_specials);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void check_matrix(const onnxd_simd *simd, size_t rows, size_t columns, size_t stride)
{
    uint64_t seed = rows * columns;
    float *in = random_floats(&seed, rows * stride);
    for (int how = 0; how < ONNXD_SIMD_REDUCTION_COUNT; how++) {
        const onnxd_simd_reduction reduction = (onnxd_simd_reduction)how;
        float *out = guard_floats(columns + ONNXD_SIMD_MAX_LANES);
        simd->reduce_columns(reduction, in, rows, columns, stride, out);
        for (size_t c = 0; c < columns; c++)
            expect_near((double)out[c], expected(reduction, in + c, rows, stride),
                        tolerance_of(reduction, in + c, rows, stride),
                        "%s, reduction %d: column %zu of %zu x %zu",
                        onnxd_simd_level_name(simd->level), how, c, rows, columns);
        cr_assert(is_guarded(out + columns, ONNXD_SIMD_MAX_LANES), "%s: wrote beyond %zu",
                  onnxd_simd_level_name(simd->level), columns);
        onnxd_free(out);
    }
    onnxd_free(in);
}

static void check_columns(const onnxd_simd *simd)
{
    static const size_t rows[] = {1, 2, 63, 64, 65, 200};
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (size_t columns = 1; columns <= 4 * ONNXD_SIMD_MAX_LANES + 1; columns++)
            check_matrix(simd, rows[r], columns, columns + columns % 2 * 3);
    check_matrix(simd, 20000, 3, 3);
}

Test(simd_reduce, columns_of_all_widths)
{
    each_level(check_columns);
}

/* ---- positions and lines --------------------------------------------------------------------- */

static void check_find(const onnxd_simd *simd)
{
    enum { COUNT = 3 * ONNXD_SIMD_MAX_LANES + 1 };
    float in[COUNT];
    for (size_t at = 0; at <= COUNT; at++) {
        for (size_t i = 0; i < COUNT; i++)
            in[i] = i < at ? (i % 2 == 0 ? NAN : 1) : 2;
        cr_assert_eq(simd->find(in, COUNT, 2), at, "%s: %zu", onnxd_simd_level_name(simd->level),
                     at);
    }
    in[0] = -0.0f;
    cr_assert_eq(simd->find(in, 1, 0), 0);
    cr_assert_eq(simd->find(in, 0, 0), 0);
}

Test(simd_reduce, finds_the_first)
{
    each_level(check_find);
}

static void check_lines(const onnxd_simd *simd)
{
    const onnxd_simd_line line = {0.25f, -3, 0.5f};
    uint64_t seed = 4;
    for (size_t count = 1; count <= 3 * ONNXD_SIMD_MAX_LANES + 1; count++) {
        float *in = random_floats(&seed, count);
        float *out = guard_floats(count + ONNXD_SIMD_MAX_LANES);
        double spread = 0;
        for (size_t i = 0; i < count; i++)
            spread += ((double)in[i] - 0.25) * ((double)in[i] - 0.25);
        expect_near((double)simd->spread(in, count, 0.25f), spread, 1e-6 * spread + 1e-7, "%s: %zu",
                    onnxd_simd_level_name(simd->level), count);
        simd->affine(in, count, &line, out);
        for (size_t i = 0; i < count; i++)
            expect_near((double)out[i], ((double)in[i] - 0.25) * -3 + 0.5, 1e-6, "%s: %zu of %zu",
                        onnxd_simd_level_name(simd->level), i, count);
        cr_assert(is_guarded(out + count, ONNXD_SIMD_MAX_LANES));
        simd->affine(in, count, &line, in);
        cr_assert_eq(memcmp(in, out, count * sizeof(float)), 0, "%s: differs in place",
                     onnxd_simd_level_name(simd->level));
        onnxd_free(in);
        onnxd_free(out);
    }
}

Test(simd_reduce, spreads_and_lines)
{
    each_level(check_lines);
}

/* Operators of two rows of elements. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

#define MOST_COUNT (3 * ONNXD_SIMD_MAX_LANES + 1)

static float expected(onnxd_simd_binary op, float a, float b)
{
    switch (op) {
    case ONNXD_SIMD_ADD:
        return a + b;
    case ONNXD_SIMD_SUBTRACT:
        return a - b;
    case ONNXD_SIMD_MULTIPLY:
        return a * b;
    case ONNXD_SIMD_DIVIDE:
        return a / b;
    case ONNXD_SIMD_GREATEST:
        return isnan(a) || isnan(b) ? NAN : fmaxf(a, b);
    case ONNXD_SIMD_LEAST:
        return isnan(a) || isnan(b) ? NAN : fminf(a, b);
    case ONNXD_SIMD_POWER:
        return powf(a, b);
    case ONNXD_SIMD_PRELU:
        return a < 0 ? a * b : a;
    case ONNXD_SIMD_BINARY_COUNT:
        break;
    }
    return NAN;
}

/* One operator rounds once, so that results are equal; a power is within 2 units in the last place.
 */
static bool is_right(onnxd_simd_binary op, float got, float want)
{
    if (op == ONNXD_SIMD_POWER && isfinite(want))
        return fabsf(got - want) <= 2 * 0x1p-23f * fabsf(want) + 0x1p-148f;
    return isnan(want) ? isnan(got) : got == want;
}

typedef enum target { APART, OVER_A, OVER_B, TARGETS } target;

static void check_row(const onnxd_simd *simd, onnxd_simd_binary op, size_t count, bool a_step,
                      bool b_step, target to)
{
    uint64_t seed = count;
    float *a = random_floats(&seed, a_step ? count : 1),
          *b = random_floats(&seed, b_step ? count : 1);
    float *out = guard_floats(count + ONNXD_SIMD_MAX_LANES), want[MOST_COUNT];
    for (size_t i = 0; i < count; i++)
        want[i] = expected(op, a[a_step ? i : 0], b[b_step ? i : 0]);
    const onnxd_simd_row row = {.a = a,
                                .b = b,
                                .out = to == OVER_A   ? a
                                       : to == OVER_B ? b
                                                      : out,
                                .count = count,
                                .a_step = a_step,
                                .b_step = b_step};
    simd->binary(op, &row);
    for (size_t i = 0; i < count; i++)
        cr_assert(is_right(op, row.out[i], want[i]),
                  "%s, operator %d, steps %d %d: element %zu of %zu",
                  onnxd_simd_level_name(simd->level), (int)op, a_step, b_step, i, count);
    cr_assert(is_guarded(out + count, ONNXD_SIMD_MAX_LANES), "%s, operator %d: wrote beyond %zu",
              onnxd_simd_level_name(simd->level), (int)op, count);
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(out);
}

static void check_rows(const onnxd_simd *simd)
{
    for (int op = 0; op < ONNXD_SIMD_BINARY_COUNT; op++) {
        for (size_t count = 0; count <= MOST_COUNT; count++) {
            for (unsigned steps = 0; steps < 4; steps++) {
                const bool a_step = (steps & 1) != 0, b_step = (steps & 2) != 0;
                for (int to = 0; to < TARGETS; to++)
                    if (to == APART || (to == OVER_A ? a_step : b_step))
                        check_row(simd, (onnxd_simd_binary)op, count, a_step, b_step, (target)to);
            }
        }
    }
}

Test(simd_row, all_lengths_and_in_place)
{
    each_level(check_rows);
}

/* A division by zero, and NaN from either side; what is behind the last element does not matter. */
static void check_ends(const onnxd_simd *simd)
{
    const float a[] = {1, -1, 0, NAN, 1, INFINITY}, b[] = {0, 0, 0, 1, NAN, INFINITY};
    float out[6];
    simd->binary(ONNXD_SIMD_DIVIDE, &(onnxd_simd_row){a, b, out, 6, true, true});
    cr_expect(out[0] == INFINITY && out[1] == -INFINITY && isnan(out[2]) && isnan(out[3]) &&
                  isnan(out[4]) && isnan(out[5]),
              "%s", onnxd_simd_level_name(simd->level));
}

Test(simd_row, ends_of_the_range)
{
    each_level(check_ends);
}

/* The greater of a number and NaN, from either side, is NaN. */
static void check_extremes(const onnxd_simd *simd)
{
    const float a[] = {NAN, 1, NAN, INFINITY, -INFINITY}, b[] = {1, NAN, NAN, -1, 1};
    for (int op = ONNXD_SIMD_GREATEST; op <= ONNXD_SIMD_LEAST; op++) {
        float out[5];
        simd->binary((onnxd_simd_binary)op, &(onnxd_simd_row){a, b, out, 5, true, true});
        for (size_t i = 0; i < 5; i++)
            cr_expect(is_right((onnxd_simd_binary)op, out[i],
                               expected((onnxd_simd_binary)op, a[i], b[i])),
                      "%s, operator %d: element %zu is %g", onnxd_simd_level_name(simd->level), op,
                      i, (double)out[i]);
    }
}

Test(simd_row, extremes_of_nan)
{
    each_level(check_extremes);
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* `exponents` at `step` 0 are one for the whole row. */
static void check_powers(const onnxd_simd *simd, const float *bases, const float *exponents,
                         size_t count, bool step)
{
    float *out = guard_floats(count);
    simd->binary(ONNXD_SIMD_POWER, &(onnxd_simd_row){bases, exponents, out, count, true, step});
    for (size_t i = 0; i < count; i++) {
        const float exponent = exponents[step ? i : 0];
        const float plain = powf(bases[i], exponent);
        const long double want = isfinite(plain)
                                     ? powl((long double)bases[i], (long double)exponent)
                                     : (long double)plain;
        cr_assert(units_off(out[i], want) <= 2 &&
                      (isnan(plain) || signbit(out[i]) == signbit(plain)),
                  "%s: %a to the power of %a is %a, not %a", onnxd_simd_level_name(simd->level),
                  (double)bases[i], (double)exponent, (double)out[i], (double)plain);
    }
    onnxd_free(out);
}

static void check_power_accuracy(const onnxd_simd *simd)
{
    enum { COUNT = 1000 };
    uint64_t seed = 11;
    for (int round = 0; round < 60; round++) {
        float *bases = random_floats(&seed, COUNT), *exponents = random_floats(&seed, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            bases[i] = ldexpf(fabsf(bases[i]) + 0x1p-20f, (int)(i % 200) - 100);
            exponents[i] *= ldexpf(1, round % 12 - 4);
        }
        check_powers(simd, bases, exponents, COUNT, true);
        check_powers(simd, bases, exponents, COUNT, false);
        onnxd_free(bases);
        onnxd_free(exponents);
    }
}

Test(simd_row, powers_are_within_two_units)
{
    each_level(check_power_accuracy);
}

static void check_power_ends(const onnxd_simd *simd)
{
    static const float values[] = {0,      -0.0f,   1,         -1,      2,        -2,        0.5f,
                                   -0.5f,  3,       -3,        4,       INFINITY, -INFINITY, NAN,
                                   1e-40f, -1e-40f, 0x1p-149f, FLT_MIN, FLT_MAX,  -FLT_MAX,  2.5f};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    for (size_t e = 0; e < COUNT; e++) {
        float exponents[COUNT];
        for (size_t i = 0; i < COUNT; i++)
            exponents[i] = values[e];
        check_powers(simd, values, exponents, COUNT, true);
        check_powers(simd, values, exponents, COUNT, false);
    }
}

Test(simd_row, powers_at_the_ends_of_the_range)
{
    each_level(check_power_ends);
}

/* Activations over rows of elements: their accuracy, the ends of their range, and rows that are no
 * multiple of a vector. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

/* Elements of one call. */
#define CHUNK ((size_t)4096)

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Where the true value is further than `most` units off at any of x[]. */
static void check_points(const onnxd_simd *simd, const onnxd_simd_activation *activation,
                         double most, size_t count, const float *x, double *worst)
{
    float out[CHUNK];
    simd->activate(activation, count, x, out);
    for (size_t i = 0; i < count; i++) {
        const long double want = activation_reference(activation, (long double)x[i]);
        const double off = units_off(out[i], want);
        *worst = fmax(*worst, off);
        cr_assert_leq(off, most, "%s, function %d of %a is %a, not %La: %.2f units off",
                      onnxd_simd_level_name(simd->level), (int)activation->function, (double)x[i],
                      (double)out[i], want, off);
    }
}

/* Every float whose bits are a multiple of an odd step, then evenly over where the functions
 * bend. */
static double check_all(const onnxd_simd *simd, const onnxd_simd_activation *activation,
                        double most)
{
    const uint32_t step = 3989;
    float x[CHUNK];
    size_t count = 0;
    double worst = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step) {
        const float at = of_bits((uint32_t)bits);
        if (isfinite(at))
            x[count++] = at;
        if (count == CHUNK) {
            check_points(simd, activation, most, count, x, &worst);
            count = 0;
        }
    }
    check_points(simd, activation, most, count, x, &worst);
    for (float from = -112; from < 112; from += 1) {
        for (size_t i = 0; i < CHUNK; i++)
            x[i] = from + (float)i / (float)CHUNK;
        check_points(simd, activation, most, CHUNK, x, &worst);
    }
    return worst;
}

/* Units in the last place that a function's results may be off, and silu's where x itself rounds
 * once more. */
static const struct {
    onnxd_simd_function function;
    double most;
} bounds[] = {{ONNXD_SIMD_IDENTITY, 0},     {ONNXD_SIMD_RELU, 0},
              {ONNXD_SIMD_LEAKY_RELU, 0.5}, {ONNXD_SIMD_CLIP, 0},
              {ONNXD_SIMD_SIGMOID, 2},      {ONNXD_SIMD_SILU, 3},
              {ONNXD_SIMD_TANH, 2},         {ONNXD_SIMD_ERF, 2},
              {ONNXD_SIMD_EXP, 2},          {ONNXD_SIMD_ABS, 0},
              {ONNXD_SIMD_NEGATIVE, 0},     {ONNXD_SIMD_FLOOR, 0},
              {ONNXD_SIMD_CEIL, 0},         {ONNXD_SIMD_ROUND, 0},
              {ONNXD_SIMD_SQRT, 0.5},       {ONNXD_SIMD_RECIPROCAL, 0.5},
              {ONNXD_SIMD_SQUARE, 0.5},     {ONNXD_SIMD_CUBE, 1.5},
              {ONNXD_SIMD_ROOT, 0.5},       {ONNXD_SIMD_INVERSE_ROOT, 1.5},
              {ONNXD_SIMD_LOG, 2},          {ONNXD_SIMD_SOFTPLUS, 3},
              {ONNXD_SIMD_SOFTSIGN, 1.5},   {ONNXD_SIMD_MISH, 4},
              {ONNXD_SIMD_ELU, 3},          {ONNXD_SIMD_SELU, 3},
              {ONNXD_SIMD_CELU, 3},         {ONNXD_SIMD_THRESHOLDED_RELU, 0}};

static void check_accuracy(const onnxd_simd *simd)
{
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        const double worst = check_all(simd, &each_activation[bounds[i].function], bounds[i].most);
        fprintf(stderr, "%s, function %d: at most %.2f units off\n",
                onnxd_simd_level_name(simd->level), (int)bounds[i].function, worst);
    }
}

Test(simd_activation, are_within_two_units)
{
    each_level(check_accuracy);
}

/* Functions that cancel, so that the error is relative to their terms: a line, and x. */
static void check_cancelling(const onnxd_simd *simd)
{
    static const onnxd_simd_function functions[] = {ONNXD_SIMD_HARD_SIGMOID, ONNXD_SIMD_HARD_SWISH,
                                                    ONNXD_SIMD_SCALED_HARD_SWISH, ONNXD_SIMD_GELU,
                                                    ONNXD_SIMD_GELU_TANH};
    float x[CHUNK], out[CHUNK];
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
        const onnxd_simd_activation *a = &each_activation[functions[f]];
        for (float from = -16; from < 16; from += 1) {
            for (size_t i = 0; i < CHUNK; i++)
                x[i] = from + (float)i / (float)CHUNK;
            simd->activate(a, CHUNK, x, out);
            for (size_t i = 0; i < CHUNK; i++) {
                const double at = (double)x[i], line = fabs(at * (double)a->alpha) + 0.5;
                const double terms = f == 0   ? line
                                     : f <= 2 ? line * fabs(at) + (double)a->beta
                                              : 2 * fabs(at);
                expect_near((double)out[i], (double)activation_reference(a, (long double)at),
                            0x1p-23 * terms, "%s, function %d of %a: %a",
                            onnxd_simd_level_name(simd->level), (int)a->function, at,
                            (double)out[i]);
            }
        }
    }
}

Test(simd_activation, functions_that_cancel)
{
    each_level(check_cancelling);
}

/* ---- the ends -------------------------------------------------------------------------------- */

/* What cannot be off by anything. A function's value at -infinity is the one of the operators that
 * it stands for: x times what sigmoid gives there, 0, is NaN. */
static const struct {
    onnxd_simd_function function;
    float x, value;
} ends[] = {
    {ONNXD_SIMD_RELU, -INFINITY, 0},
    {ONNXD_SIMD_RELU, INFINITY, INFINITY},
    {ONNXD_SIMD_RELU, 0x1p-149f, 0x1p-149f},
    {ONNXD_SIMD_LEAKY_RELU, -INFINITY, -INFINITY},
    {ONNXD_SIMD_LEAKY_RELU, INFINITY, INFINITY},
    {ONNXD_SIMD_LEAKY_RELU, -0.0f, -0.0f},
    {ONNXD_SIMD_CLIP, -INFINITY, -0.5f},
    {ONNXD_SIMD_CLIP, INFINITY, 0.75f},
    {ONNXD_SIMD_HARD_SIGMOID, -INFINITY, 0},
    {ONNXD_SIMD_HARD_SIGMOID, INFINITY, 1},
    {ONNXD_SIMD_HARD_SIGMOID, 3e38f, 1},
    {ONNXD_SIMD_HARD_SWISH, INFINITY, INFINITY},
    {ONNXD_SIMD_HARD_SWISH, -INFINITY, NAN},
    {ONNXD_SIMD_HARD_SWISH, -4, -0.0f},
    {ONNXD_SIMD_SCALED_HARD_SWISH, -4, 0.25f},
    {ONNXD_SIMD_SCALED_HARD_SWISH, 4, -2.75f},
    {ONNXD_SIMD_SCALED_HARD_SWISH, INFINITY, -INFINITY},
    {ONNXD_SIMD_SIGMOID, -INFINITY, 0},
    {ONNXD_SIMD_SIGMOID, -FLT_MAX, 0},
    {ONNXD_SIMD_SIGMOID, -104, 0},
    {ONNXD_SIMD_SIGMOID, -103, 0x1p-149f}, /* e^-103 is 1.3 times the least denormal */
    {ONNXD_SIMD_SIGMOID, 0, 0.5f},
    {ONNXD_SIMD_SIGMOID, -0.0f, 0.5f},
    {ONNXD_SIMD_SIGMOID, 0x1p-149f, 0.5f},
    {ONNXD_SIMD_SIGMOID, 20, 1},
    {ONNXD_SIMD_SIGMOID, FLT_MAX, 1},
    {ONNXD_SIMD_SIGMOID, INFINITY, 1},
    {ONNXD_SIMD_SILU, -INFINITY, NAN},
    {ONNXD_SIMD_SILU, -FLT_MAX, -0.0f},
    {ONNXD_SIMD_SILU, 0, 0},
    {ONNXD_SIMD_SILU, -0.0f, -0.0f},
    {ONNXD_SIMD_SILU, 0x1p-140f, 0x1p-141f},
    {ONNXD_SIMD_SILU, FLT_MAX, FLT_MAX},
    {ONNXD_SIMD_SILU, INFINITY, INFINITY},
    {ONNXD_SIMD_TANH, -INFINITY, -1},
    {ONNXD_SIMD_TANH, -FLT_MAX, -1},
    {ONNXD_SIMD_TANH, 0, 0},
    {ONNXD_SIMD_TANH, -0.0f, -0.0f},
    {ONNXD_SIMD_TANH, 0x1p-149f, 0x1p-149f},
    {ONNXD_SIMD_TANH, -0x1p-127f, -0x1p-127f},
    {ONNXD_SIMD_TANH, 10, 1},
    {ONNXD_SIMD_TANH, INFINITY, 1},
    {ONNXD_SIMD_ERF, -INFINITY, -1},
    {ONNXD_SIMD_ERF, -0.0f, -0.0f},
    {ONNXD_SIMD_ERF, 4, 1},
    {ONNXD_SIMD_ERF, INFINITY, 1},
    {ONNXD_SIMD_EXP, -INFINITY, 0},
    {ONNXD_SIMD_EXP, -104, 0},
    {ONNXD_SIMD_EXP, -103, 0x1p-149f},
    {ONNXD_SIMD_EXP, -0.0f, 1},
    {ONNXD_SIMD_EXP, 0x1p-149f, 1},
    {ONNXD_SIMD_EXP, 88.75f, INFINITY},
    {ONNXD_SIMD_EXP, INFINITY, INFINITY},
    {ONNXD_SIMD_GELU, INFINITY, INFINITY},
    {ONNXD_SIMD_GELU_TANH, INFINITY, INFINITY},
    {ONNXD_SIMD_GELU, 0, 0},
    {ONNXD_SIMD_ABS, -0.0f, 0},
    {ONNXD_SIMD_ABS, -INFINITY, INFINITY},
    {ONNXD_SIMD_NEGATIVE, 0, -0.0f},
    {ONNXD_SIMD_FLOOR, -0.0f, -0.0f},
    {ONNXD_SIMD_CEIL, -0.5f, -0.0f},
    {ONNXD_SIMD_ROUND, 2.5f, 2},
    {ONNXD_SIMD_ROUND, -0.5f, -0.0f},
    {ONNXD_SIMD_ROUND, INFINITY, INFINITY},
    {ONNXD_SIMD_SQRT, -0.0f, -0.0f},
    {ONNXD_SIMD_SQRT, -1, NAN},
    {ONNXD_SIMD_RECIPROCAL, -0.0f, -INFINITY},
    {ONNXD_SIMD_ROOT, -0.0f, 0},
    {ONNXD_SIMD_ROOT, -INFINITY, INFINITY},
    {ONNXD_SIMD_ROOT, -1, NAN},
    {ONNXD_SIMD_INVERSE_ROOT, -0.0f, INFINITY},
    {ONNXD_SIMD_INVERSE_ROOT, -INFINITY, 0},
    {ONNXD_SIMD_LOG, 0, -INFINITY},
    {ONNXD_SIMD_LOG, -0.0f, -INFINITY},
    {ONNXD_SIMD_LOG, 1, 0},
    {ONNXD_SIMD_LOG, -0x1p-149f, NAN},
    {ONNXD_SIMD_LOG, -INFINITY, NAN},
    {ONNXD_SIMD_LOG, INFINITY, INFINITY},
    {ONNXD_SIMD_SOFTPLUS, -INFINITY, 0},
    {ONNXD_SIMD_SOFTPLUS, INFINITY, INFINITY},
    {ONNXD_SIMD_SOFTSIGN, INFINITY, NAN},
    {ONNXD_SIMD_MISH, INFINITY, INFINITY},
    {ONNXD_SIMD_MISH, -0.0f, -0.0f},
    {ONNXD_SIMD_ELU, -INFINITY, -0.75f},
    {ONNXD_SIMD_ELU, -0.0f, -0.0f},
    {ONNXD_SIMD_ELU, -0x1p-149f, -0x1p-149f},
    {ONNXD_SIMD_SELU, -0.0f, -0.0f},
    {ONNXD_SIMD_SELU, INFINITY, INFINITY},
    {ONNXD_SIMD_CELU, -INFINITY, -1.25f},
    {ONNXD_SIMD_THRESHOLDED_RELU, NAN, 0},
    {ONNXD_SIMD_THRESHOLDED_RELU, 0.375f, 0},
};

static void check_ends(const onnxd_simd *simd)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        float out;
        simd->activate(&each_activation[ends[i].function], 1, &ends[i].x, &out);
        cr_expect(isnan(ends[i].value) ? isnan(out) : bits_of(out) == bits_of(ends[i].value),
                  "%s, function %d of %a is %a, not %a", onnxd_simd_level_name(simd->level),
                  (int)ends[i].function, (double)ends[i].x, (double)out, (double)ends[i].value);
    }
}

Test(simd_activation, ends_of_the_range)
{
    each_level(check_ends);
}

/* NaN stays NaN, in every lane; only a threshold is not exceeded by it. */
static void check_nan(const onnxd_simd *simd)
{
    enum { COUNT = 2 * ONNXD_SIMD_MAX_LANES + 1 };
    for (int function = 0; function < ONNXD_SIMD_FUNCTION_COUNT; function++) {
        for (size_t at = 0; at < COUNT; at++) {
            float x[COUNT] = {0}, out[COUNT];
            x[at] = NAN;
            simd->activate(&each_activation[function], COUNT, x, out);
            for (size_t i = 0; i < COUNT; i++)
                cr_assert_eq(isnan(out[i]) != 0, i == at && function != ONNXD_SIMD_THRESHOLDED_RELU,
                             "%s, function %d: element %zu is %g",
                             onnxd_simd_level_name(simd->level), function, i, (double)out[i]);
        }
    }
}

Test(simd_activation, nan_stays_nan)
{
    each_level(check_nan);
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void check_lengths(const onnxd_simd *simd)
{
    uint64_t seed = 3;
    for (int function = 0; function < ONNXD_SIMD_FUNCTION_COUNT; function++) {
        for (size_t count = 0; count <= 3 * ONNXD_SIMD_MAX_LANES + 1; count++) {
            const onnxd_simd_activation *a = &each_activation[function];
            float *in = random_floats(&seed, count);
            float *out = guard_floats(count + ONNXD_SIMD_MAX_LANES);
            simd->activate(a, count, in, out);
            for (size_t i = 0; i < count; i++) {
                const double want = (double)activation_reference(a, (long double)in[i]);
                expect_near((double)out[i], want, 1e-6 * fmax(1, fabs(want)),
                            "%s, function %d: element %zu of %zu",
                            onnxd_simd_level_name(simd->level), function, i, count);
            }
            cr_assert(is_guarded(out + count, ONNXD_SIMD_MAX_LANES),
                      "%s, function %d: wrote beyond %zu", onnxd_simd_level_name(simd->level),
                      function, count);
            simd->activate(a, count, in, in);
            cr_assert_eq(memcmp(in, out, count * sizeof(float)), 0,
                         "%s, function %d: differs in place", onnxd_simd_level_name(simd->level),
                         function);
            onnxd_free(in);
            onnxd_free(out);
        }
    }
}

Test(simd_activation, all_lengths_and_in_place)
{
    each_level(check_lengths);
}

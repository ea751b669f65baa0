#include "tests/ep/cpu/engine.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"

void each_level(void (*check)(const onnxd_simd *simd))
{
    const char *only = getenv("ONNXD_TEST_LEVEL");
    bool is_checked = false;
    for (int i = 0; i < ONNXD_SIMD_LEVEL_COUNT; i++) {
        const onnxd_simd_level level = (onnxd_simd_level)i;
        if (only != NULL && strcmp(only, onnxd_simd_level_name(level)) != 0)
            continue;
        if (onnxd_simd_is_available(level)) {
            check(onnxd_simd_table(level));
            is_checked = true;
        } else {
            fprintf(stderr, "skipped: %s: this processor or build has not got it\n",
                    onnxd_simd_level_name(level));
        }
    }
    cr_assert(is_checked, "no level has been checked");
}

uint64_t engine_random(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static float *make(size_t count)
{
    float *floats = onnxd_alloc_aligned(count * sizeof(float), 64);
    cr_assert_not_null(floats);
    return floats;
}

float *random_floats(uint64_t *seed, size_t count)
{
    float *floats = make(count);
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)(int32_t)(engine_random(seed) >> 40) * 0x1p-23f - 1.0f;
    return floats;
}

float *guard_floats(size_t count)
{
    float *floats = make(count);
    for (size_t i = 0; i < count; i++)
        floats[i] = GUARD;
    return floats;
}

bool is_guarded(const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (from[i] != GUARD)
            return false;
    return true;
}

const onnxd_simd_activation each_activation[ONNXD_SIMD_FUNCTION_COUNT] = {
    {ONNXD_SIMD_IDENTITY, 0, 0},
    {ONNXD_SIMD_RELU, 0, 0},
    {ONNXD_SIMD_LEAKY_RELU, 0.125f, 0},
    {ONNXD_SIMD_CLIP, -0.5f, 0.75f},
    {ONNXD_SIMD_HARD_SIGMOID, 0.2f, 0.5f},
    {ONNXD_SIMD_HARD_SWISH, 1.0f / 6, 0.5f},
    {ONNXD_SIMD_SCALED_HARD_SWISH, -0.75f, 0.25f},
    {ONNXD_SIMD_SIGMOID, 0, 0},
    {ONNXD_SIMD_SILU, 1, 0},
    {ONNXD_SIMD_TANH, 0, 0},
    {ONNXD_SIMD_ERF, 0, 0},
    {ONNXD_SIMD_EXP, 0, 0},
    {ONNXD_SIMD_GELU, 0, 0},
    {ONNXD_SIMD_GELU_TANH, 0, 0},
    {ONNXD_SIMD_ABS, 0, 0},
    {ONNXD_SIMD_NEGATIVE, 0, 0},
    {ONNXD_SIMD_FLOOR, 0, 0},
    {ONNXD_SIMD_CEIL, 0, 0},
    {ONNXD_SIMD_ROUND, 0, 0},
    {ONNXD_SIMD_SQRT, 0, 0},
    {ONNXD_SIMD_RECIPROCAL, 0, 0},
    {ONNXD_SIMD_SQUARE, 0, 0},
    {ONNXD_SIMD_CUBE, 0, 0},
    {ONNXD_SIMD_ROOT, 0, 0},
    {ONNXD_SIMD_INVERSE_ROOT, 0, 0},
    {ONNXD_SIMD_LOG, 0, 0},
    {ONNXD_SIMD_SOFTPLUS, 0, 0},
    {ONNXD_SIMD_SOFTSIGN, 0, 0},
    {ONNXD_SIMD_MISH, 0, 0},
    {ONNXD_SIMD_ELU, 0.75f, 0},
    {ONNXD_SIMD_SELU, 1.6732632f, 1.050701f},
    {ONNXD_SIMD_CELU, 1.25f, 0},
    {ONNXD_SIMD_THRESHOLDED_RELU, 0.375f, 0},
};

/* Written so that NaN stays NaN. */
static long double clip(long double x, long double low, long double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The functions that do not follow products. */
static long double row_reference(const onnxd_simd_activation *a, long double x)
{
    const long double alpha = (long double)a->alpha;
    switch (a->function) {
    case ONNXD_SIMD_ABS:
        return fabsl(x);
    case ONNXD_SIMD_NEGATIVE:
        return -x;
    case ONNXD_SIMD_FLOOR:
        return floorl(x);
    case ONNXD_SIMD_CEIL:
        return ceill(x);
    case ONNXD_SIMD_ROUND:
        return rintl(x);
    case ONNXD_SIMD_SQRT:
        return sqrtl(x);
    case ONNXD_SIMD_RECIPROCAL:
        return 1 / x;
    case ONNXD_SIMD_SQUARE:
        return x * x;
    case ONNXD_SIMD_CUBE:
        return x * x * x;
    case ONNXD_SIMD_ROOT:
        return powl(x, 0.5L);
    case ONNXD_SIMD_INVERSE_ROOT:
        return powl(x, -0.5L);
    case ONNXD_SIMD_LOG:
        return logl(x);
    case ONNXD_SIMD_SOFTPLUS:
        return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
    case ONNXD_SIMD_SOFTSIGN:
        return x / (1 + fabsl(x));
    case ONNXD_SIMD_MISH:
        return x > 50 ? x : x * tanhl(log1pl(expl(x)));
    case ONNXD_SIMD_ELU:
        return x < 0 ? alpha * expm1l(x) : x;
    case ONNXD_SIMD_SELU:
        return (long double)a->beta * (x > 0 ? x : alpha * expm1l(x));
    case ONNXD_SIMD_CELU:
        return x > 0 ? x : alpha * expm1l(x / alpha);
    case ONNXD_SIMD_THRESHOLDED_RELU:
        return x > alpha ? x : 0;
    default:
        return x;
    }
}

long double activation_reference(const onnxd_simd_activation *a, long double x)
{
    switch (a->function) {
    case ONNXD_SIMD_RELU:
        return x < 0 ? 0 : x;
    case ONNXD_SIMD_LEAKY_RELU:
        return x < 0 ? (long double)a->alpha * x : x;
    case ONNXD_SIMD_CLIP:
        return clip(x, (long double)a->alpha, (long double)a->beta);
    case ONNXD_SIMD_HARD_SIGMOID:
        return clip((long double)a->alpha * x + (long double)a->beta, 0, 1);
    case ONNXD_SIMD_HARD_SWISH:
        return x * clip((long double)a->alpha * x + (long double)a->beta, 0, 1);
    case ONNXD_SIMD_SCALED_HARD_SWISH:
        return (long double)a->alpha * (x * clip(x / 6 + 0.5L, 0, 1)) + (long double)a->beta;
    case ONNXD_SIMD_SIGMOID:
        return 1 / (1 + expl(-x));
    case ONNXD_SIMD_SILU:
        return x * (1 / (1 + expl(-(long double)a->alpha * x)));
    case ONNXD_SIMD_TANH:
        return tanhl(x);
    case ONNXD_SIMD_ERF:
        return erfl(x);
    case ONNXD_SIMD_EXP:
        return expl(x);
    case ONNXD_SIMD_GELU:
        return x * (1 + erfl(x / sqrtl(2))) / 2;
    case ONNXD_SIMD_GELU_TANH:
        return x * (1 + tanhl(sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x))) / 2;
    default:
        return row_reference(a, x);
    }
}

double units_off(float got, long double want)
{
    int exponent;
    if (isnan(want) || isinf(want) || fabsl(want) > (long double)FLT_MAX)
        return (isnan(want) ? isnan(got) : got == (float)want) ? 0 : INFINITY;
    if (isnan(got) || isinf(got))
        return INFINITY;
    (void)frexpl(want, &exponent);
    if (want == 0 || exponent < FLT_MIN_EXP)
        exponent = FLT_MIN_EXP;
    return (double)ldexpl(fabsl((long double)got - want), FLT_MANT_DIG - exponent);
}

bool is_near(double got, double expected, double tolerance)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(got) : got == expected;
    return fabs(got - expected) <= tolerance;
}

int64_t extent_out(const onnxd_image_window *w, int d)
{
    const int64_t reach = (w->kernel[d] - 1) * w->dilation[d] + 1;
    return (w->in[d] + w->pad_begin[d] + w->pad_end[d] - reach) / w->stride[d] + 1;
}

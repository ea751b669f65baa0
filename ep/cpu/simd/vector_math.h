/*
 * Elementary functions on vectors over all finite inputs, within 2 units in the last place of the
 * true value; silu within 3, and gelu, which cancels, within 2 of x itself
 * (tests/ep/cpu/simd/activation_test.c goes through them). NaN gives NaN. For files of this folder
 * that are built per level.
 */
#ifndef ONNXD_EP_CPU_SIMD_VECTOR_MATH_H
#define ONNXD_EP_CPU_SIMD_VECTOR_MATH_H

#include "ep/cpu/simd/vector.h"

/* Adding and subtracting this rounds a float below 2^22 to an integer, which stands in the low bits
 * of the sum. */
#define ROUNDING_SHIFT 0x1.8p23f

/* 2^n for integers n in [-126, 127]. */
static inline vf vf_power_of_two(vi n)
{
    return (vf)((n + 127) << 23);
}

/* e^(r + tail) for |r| <= ln(2) / 2: the Taylor series, its last coefficients fitted to the
 * interval. The tail is what r was rounded by. */
static inline vf vf_exp_reduced(vf r, vf tail)
{
    vf p = vf_all(0x1.6850e4p-10f);
    p = p * r + 0x1.123bccp-7f;
    p = p * r + 0x1.555b98p-5f;
    p = p * r + 0x1.55548ep-3f;
    p = p * r + 0x1.fffff8p-2f;
    return p * (r * r) + tail + r + 1.0f;
}

/* e^x = fraction * first * second for x in [-174, 89]. The exponent is dealt out to two powers of
 * two, so that results below the least normal number come out right when they are applied one after
 * the other. */
typedef struct vf_exp_parts {
    vf fraction, first, second;
} vf_exp_parts;

static inline vf_exp_parts vf_exp_split(vf x)
{
    const vf shifted = x * 0x1.715476p0f + ROUNDING_SHIFT;
    const vf n = shifted - ROUNDING_SHIFT;
    const vi exponent = (vi)shifted - 0x4b400000;
    /* ln(2) in two parts: n times the first is exact. */
    const vf high = x - n * 0x1.62e4p-1f;
    const vf r = high - n * 0x1.7f7d1cp-20f;
    const vf tail = (high - r) - n * 0x1.7f7d1cp-20f;
    const vi half = exponent >> 1;
    return (vf_exp_parts){vf_exp_reduced(r, tail), vf_power_of_two(half),
                          vf_power_of_two(exponent - half)};
}

/* e^x; 0 below -104, infinity above 88.73. */
static inline vf vf_exp(vf x)
{
    const vf_exp_parts e = vf_exp_split(vf_min(vf_all(89.0f), vf_max(vf_all(-104.0f), x)));
    return e.fraction * e.first * e.second;
}

/* The logarithm of e to the base 2. */
#define LOG2_E 0x1.715476p0f

/* 2^x for x below 1, within 2e-7 of itself; 0 from -127 down. NaN gives NaN. Half the work of
 * vf_exp(): no denormal results, and no remainder that a change of base leaves. The biased exponent
 * stands in the low bits of `shifted`. */
static inline vf vf_exp2_below_one(vf x)
{
    const float shift = ROUNDING_SHIFT + 127;
    const vf bounded = vf_max(vf_all(-127.0f), x);
    const vf shifted = bounded + shift;
    const vf r = bounded - (shifted - shift);
    vf p = vf_all(0x1.5bba14p-10f);
    p = p * r + 0x1.3cea88p-7f;
    p = p * r + 0x1.c6b752p-5f;
    p = p * r + 0x1.ebf9bcp-3f;
    p = p * r + 0x1.62e42ap-1f;
    p = p * r + 1.0f;
    return p * (vf)((vi)shifted << 23);
}

/* `times` / (1 + e^-x); for negative x as `times` e^x / (1 + e^x), where e^-x would overflow long
 * before the result is 0. The second power of two comes last: until then all is normal. */
static inline vf vf_sigmoid_times(vf x, vf times)
{
    const vi is_negative = x < 0.0f;
    const vf_exp_parts e = vf_exp_split(vf_max(vf_all(-110.0f), -vf_abs(x)));
    const vf part = e.fraction * e.first, power = part * e.second;
    const vf divisor = power + 1.0f;
    const vf quotient = vf_select(is_negative, times * part, times) / divisor;
    /* What rounding the divisor took away; added, so that -0 stays. */
    const vf mended = quotient + quotient * ((divisor - 1.0f) - power);
    return vf_select(is_negative, mended * e.second, mended);
}

static inline vf vf_sigmoid(vf x)
{
    return vf_sigmoid_times(x, vf_all(1.0f));
}

/* x sigmoid(alpha x). Where alpha x is beyond 110 it is x or 0; of -infinity NaN, as that product
 * is. */
static inline vf vf_silu(vf x, float alpha)
{
    const vf scaled = x * alpha;
    const vf far = x * vf_select(scaled > 0.0f, vf_all(1.0f), vf_all(0.0f));
    return vf_select(vf_abs(scaled) > 110.0f, far, vf_sigmoid_times(scaled, x));
}

/* Beyond 0.625: 1 - 2 / (e^2x + 1). Within it that would cancel, and an odd polynomial serves. */
static inline vf vf_tanh(vf x)
{
    const vf a = vf_abs(x);
    const vf far = 1.0f - 2.0f / (vf_exp(a + a) + 1.0f);
    const vf s = x * x;
    vf p = vf_all(-5.70498872745e-3f);
    p = p * s + 2.06390887954e-2f;
    p = p * s + -5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s + -3.33332819422e-1f;
    /* The sign last: of -0 the sum is +0. */
    return vf_copysign(vf_select(a > 0.625f, far, p * s * x + x), x);
}

/* ---- for states that are fed back ------------------------------------------------------------ */

/* e^x = scale p + scale for x in [-87, 88]: the power of two is one number, and so all is normal,
 * and ln(2) is one number too. It is 2e-9 off, and so is x for each power. */
typedef struct vf_exp_near_parts {
    vf scale, p;
} vf_exp_near_parts;

static inline vf_exp_near_parts vf_exp_near(vf x)
{
    const vf shifted = x * 0x1.715476p0f + ROUNDING_SHIFT;
    const vf r = x - (shifted - ROUNDING_SHIFT) * 0x1.62e43p-1f;
    vf p = vf_all(0x1.6850e4p-10f);
    p = p * r + 0x1.123bccp-7f;
    p = p * r + 0x1.555b98p-5f;
    p = p * r + 0x1.55548ep-3f;
    p = p * r + 0x1.fffff8p-2f;
    p = p * (r * r) + r;
    /* The shift moves all of the sum out but the integer. */
    return (vf_exp_near_parts){(vf)(((vi)shifted << 23) + 0x3f800000), p};
}

/* A function as a fraction, so that products and sums of several take one division. */
typedef struct vf_fraction {
    vf numerator, divisor;
} vf_fraction;

/* 1 + e^-x, of which the sigmoid is the reciprocal. Up to 2e12, and so three of them can be
 * multiplied; below -28 it stays as it is there, where the sigmoid is 7e-13. */
static inline vf vf_sigmoid_divisor(vf x)
{
    const vf_exp_near_parts e = vf_exp_near(-vf_max(vf_all(-28.0f), vf_min(vf_all(28.0f), x)));
    return 1.0f + (e.scale * e.p + e.scale);
}

/* With m = e^2x - 1, which keeps its digits around 0: m / (m + 2). The divisor is up to 5e8. */
static inline vf_fraction vf_tanh_fraction(vf x)
{
    const vf_exp_near_parts e =
        vf_exp_near(2.0f * vf_max(vf_all(-10.0f), vf_min(vf_all(10.0f), x)));
    const vf m = e.scale * e.p + (e.scale - 1.0f);
    return (vf_fraction){m, m + 2.0f};
}

/* ---- the error function ---------------------------------------------------------------------- */

/* Within 1: x and an odd polynomial of it. Beyond: 1 - e^(-a q), -a q the logarithm of 1 - erf(a),
 * q a polynomial around 2.4 without large terms that cancel near 1; at 4 the result is 1. Both
 * fitted for the least greatest error. */
static inline vf vf_erf(vf x)
{
    const vf a = vf_min(vf_all(4.0f), vf_abs(x)), s = x * x, u = a - 2.4f;
    vf p = vf_all(0x1.4ae4c8p-14f);
    p = p * s + -0x1.a485eap-11f;
    p = p * s + 0x1.5419f4p-8f;
    p = p * s + -0x1.b7fbb4p-6f;
    p = p * s + 0x1.ce2d2p-4f;
    p = p * s + -0x1.81273ep-2f;
    p = p * s + 0x1.06eba8p-3f;
    vf q = vf_all(0x1.da3f8p-17f);
    q = q * u + -0x1.38115ep-13f;
    q = q * u + 0x1.8d531ep-11f;
    q = q * u + -0x1.17edep-8f;
    q = q * u + 0x1.6871p-6f;
    q = q * u + 0x1.c681c2p-1f;
    q = q * u + 0x1.845196p+1f;
    const vf far = vf_copysign(1.0f - vf_exp(-q * a), x);
    return vf_select(a > 1.0f, far, p * x + x);
}

/* x (1 + erf(x / sqrt(2))) / 2, which is max(x, 0) - a h where a is the magnitude of x and h half
 * of 1 - erf(a / sqrt(2)). The logarithm of 2 h is a q, q a polynomial fitted for the least error
 * of a h; at 8 that is 0. */
static inline vf vf_gelu(vf x)
{
    const vf a = vf_min(vf_all(8.0f), vf_abs(x));
    vf q = vf_all(-0x1.7c7d22p-19f);
    q = q * a + 0x1.4a51aap-15f;
    q = q * a + -0x1.867140p-13f;
    q = q * a + -0x1.1f30c2p-13f;
    q = q * a + 0x1.cee8acp-8f;
    q = q * a + -0x1.ae0c7ap-5f;
    q = q * a + -0x1.d63aacp-2f;
    q = q * a + -0x1.26aed4p+0f;
    return vf_max(vf_all(0.0f), x) - a * vf_exp2_below_one(q * a - 1.0f);
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
static inline vf vf_gelu_tanh(vf x)
{
    return 0.5f * x * (1.0f + vf_tanh(0x1.988454p-1f * (x + 0x1.6e4e26p-5f * x * x * x)));
}

static inline vf vf_hard_sigmoid(vf x, float alpha, float beta)
{
    return vf_min(vf_all(1.0f), vf_max(vf_all(0.0f), x * alpha + beta));
}

static inline vf vf_scaled_hard_swish(vf x, float factor, float addend)
{
    return x * vf_hard_sigmoid(x, 1.0f / 6, 0.5f) * factor + addend;
}

/* Functions that convolutions have behind them most often. They take few instructions and
 * registers, so that kernels apply them to sums before they store those. */
static inline bool vf_is_light(onnxd_simd_function function)
{
    return function == ONNXD_SIMD_IDENTITY || function == ONNXD_SIMD_RELU ||
           function == ONNXD_SIMD_CLIP || function == ONNXD_SIMD_HARD_SWISH ||
           function == ONNXD_SIMD_SCALED_HARD_SWISH;
}

/* Other functions are left. */
static inline vf vf_light(const onnxd_simd_activation *activation, vf x)
{
    if (activation->function == ONNXD_SIMD_RELU)
        return vf_max(vf_all(0.0f), x);
    if (activation->function == ONNXD_SIMD_CLIP)
        return vf_min(vf_all(activation->beta), vf_max(vf_all(activation->alpha), x));
    if (activation->function == ONNXD_SIMD_HARD_SWISH)
        return x * vf_hard_sigmoid(x, activation->alpha, activation->beta);
    if (activation->function == ONNXD_SIMD_SCALED_HARD_SWISH)
        return vf_scaled_hard_swish(x, activation->alpha, activation->beta);
    return x;
}

static inline vf vf_activate(const onnxd_simd_activation *activation, vf x)
{
    switch (activation->function) {
    case ONNXD_SIMD_RELU:
        return vf_max(vf_all(0.0f), x);
    case ONNXD_SIMD_LEAKY_RELU:
        return vf_select(x < 0.0f, x * activation->alpha, x);
    case ONNXD_SIMD_CLIP:
        return vf_min(vf_all(activation->beta), vf_max(vf_all(activation->alpha), x));
    case ONNXD_SIMD_HARD_SIGMOID:
        return vf_hard_sigmoid(x, activation->alpha, activation->beta);
    case ONNXD_SIMD_HARD_SWISH:
        return x * vf_hard_sigmoid(x, activation->alpha, activation->beta);
    case ONNXD_SIMD_SCALED_HARD_SWISH:
        return vf_scaled_hard_swish(x, activation->alpha, activation->beta);
    case ONNXD_SIMD_SIGMOID:
        return vf_sigmoid(x);
    case ONNXD_SIMD_SILU:
        return vf_silu(x, activation->alpha);
    case ONNXD_SIMD_TANH:
        return vf_tanh(x);
    case ONNXD_SIMD_ERF:
        return vf_erf(x);
    case ONNXD_SIMD_EXP:
        return vf_exp(x);
    case ONNXD_SIMD_GELU:
        return vf_gelu(x);
    case ONNXD_SIMD_GELU_TANH:
        return vf_gelu_tanh(x);
    case ONNXD_SIMD_IDENTITY:
    default:
        break;
    }
    return x;
}

#endif

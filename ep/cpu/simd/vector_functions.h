/*
 * The functions of rows that do not follow products: roots, logarithm, powers and the activations
 * made of them. Within 2 units in the last place of the true value, softplus, elu and its relatives
 * within 3 and mish within 4 (tests/ep/cpu/simd/activation_test.c). For files of this folder that
 * are built per level.
 */
#ifndef ONNXD_EP_CPU_SIMD_VECTOR_FUNCTIONS_H
#define ONNXD_EP_CPU_SIMD_VECTOR_FUNCTIONS_H

#include <float.h>

#include "ep/cpu/simd/vector_math.h"

/* ln(x) for x from the least normal number up: e ln(2) + ln(m), m between the roots of 1/2 and 2.
 * ln(1 + r) = r - r^2 / 2 + r^3 p(r), p as in Cephes' logf(); ln(2) in two parts. */
static inline vf vf_log_normal(vf x)
{
    const vi bits = (vi)x, exponent = (bits - 0x3f3504f3) >> 23;
    const vf r = (vf)(bits - (exponent << 23)) - 1.0f;
    const vf e = __builtin_convertvector(exponent, vf);
    vf p = vf_all(7.0376836292e-2f);
    p = p * r + -1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r + -1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r + -1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r + -2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    const vf square = r * r;
    const vf low = p * (square * r) + e * -2.12194440e-4f - 0.5f * square;
    return e * 0.693359375f + (r + low);
}

static inline vf vf_log(vf x)
{
    const vf a = vf_abs(x);
    const vi is_small = a < FLT_MIN, is_regular = (x > 0.0f) & (x <= FLT_MAX);
    const vf scaled = vf_log_normal(vf_select(is_small, a * 0x1p24f, a));
    const vf log = scaled - vf_select(is_small, vf_all(0x1.0a2b24p4f), vf_all(0)); /* 24 ln(2) */
    const vf special = vf_select(x == 0.0f, vf_all(-INFINITY), vf_select(x < 0.0f, vf_all(NAN), x));
    return vf_select(is_regular, log, special);
}

/* ln(1 + x) for x in [0, 1]; the quotient is what the sum lost. */
static inline vf vf_log1p_unit(vf x)
{
    const vf sum = 1.0f + x;
    return vf_log_normal(sum) + (x - (sum - 1.0f)) / sum;
}

/* e^x - 1 for x <= 0, of greater ones that of 0. Near 0 the Taylor series, where the difference
 * would cancel; the sign is that of x, also of zeros. */
static inline vf vf_expm1_below(vf x)
{
    const vf below = vf_min(vf_all(0.0f), x);
    vf p = vf_all(1.0f / 40320);
    p = p * below + 1.0f / 5040;
    p = p * below + 1.0f / 720;
    p = p * below + 1.0f / 120;
    p = p * below + 1.0f / 24;
    p = p * below + 1.0f / 6;
    p = p * below + 0.5f;
    const vf near = p * (below * below) + below;
    return vf_copysign(vf_select(below > -0.5f, near, vf_exp(below) - 1.0f), below);
}

/* max(x, 0) + ln(1 + e^-|x|) */
static inline vf vf_softplus(vf x)
{
    return vf_max(vf_all(0.0f), x) + vf_log1p_unit(vf_exp(-vf_abs(x)));
}

/* x n / (n + 2) with n = e^x (e^x + 2): x from 20 on, and 0 below -110. A power of two comes last,
 * as in vf_sigmoid_times(). */
static inline vf vf_mish(vf x)
{
    const vf_exp_parts p = vf_exp_split(vf_min(vf_all(20.0f), vf_max(vf_all(-110.0f), x)));
    const vf part = p.fraction * p.first, e = part * p.second;
    const vf within = x * part * ((e + 2.0f) / (e * (e + 2.0f) + 2.0f)) * p.second;
    return vf_select(x > 20.0f, x, vf_select(x < -110.0f, x * 0.0f, within));
}

static inline vf vf_root(vf x)
{
    return vf_select(x == -INFINITY, vf_all(INFINITY), vf_sqrt(x) + 0.0f);
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* Half of a vector, as floats and as doubles. */
typedef float vf_half __attribute__((vector_size(2 * LANES)));
typedef double vd __attribute__((vector_size(4 * LANES)));
typedef int64_t vl __attribute__((vector_size(4 * LANES)));

INLINED vd vd_of_half(vf v, size_t half)
{
    vf_half part;
    memcpy(&part, (const char *)&v + half * sizeof(part), sizeof(part));
    return __builtin_convertvector(part, vd);
}

/* (m 2^e)^y in double, m between the roots of 1/2 and 2: 2^(y log2(m 2^e)). log2(m) is
 * 2 / ln(2) atanh(s) with s = (m - 1) / (m + 1), of which 7 terms are within 2^-39. Powers beyond
 * 2^200 are infinite as floats, below 2^-200 0. */
INLINED vf_half vf_power_of_half(vd m, vd e, vd y)
{
    const vd s = (m - 1.0) / (m + 1.0), s2 = s * s;
    vd p = s2 * 0x1.c68f568d31761p-3 + 0x1.0c9a84994022dp-2; /* 2 / (13 ln(2)), 2 / (11 ln(2)) */
    p = p * s2 + 0x1.484b13d7c02a9p-2;
    p = p * s2 + 0x1.a61762a7adedap-2;
    p = p * s2 + 0x1.2776c50ef9bfep-1;
    p = p * s2 + 0x1.ec709dc3a03fep-1;
    p = p * s2 + 0x1.71547652b82fep+1;
    const double most = 200, shift = 0x1.8p52, ln2 = 0x1.62e42fefa39efp-1;
    vd t = (e + s * p) * y;
    t = (vd)(((vl)t & (vl)(t < most)) | ((vl)(most - (vd){0}) & ~(vl)(t < most)));
    t = (vd)(((vl)t & (vl)(t > -most)) | ((vl)(-most - (vd){0}) & ~(vl)(t > -most)));
    const vd shifted = t + shift, f = (t - (shifted - shift)) * ln2;
    vd q = f * (1.0 / 40320) + 1.0 / 5040;
    q = q * f + 1.0 / 720;
    q = q * f + 1.0 / 120;
    q = q * f + 1.0 / 24;
    q = q * f + 1.0 / 6;
    q = q * f + 0.5;
    q = q * f + 1.0;
    q = q * f + 1.0;
    /* The integer stands in the low bits of the sum. */
    const vd scale = (vd)(((vl)shifted << 52) + ((int64_t)1023 << 52));
    return __builtin_convertvector(q * scale, vf_half);
}

/* Lane by lane where the base is not a positive normal number or the exponent not finite. */
static inline vf vf_power(vf x, vf y)
{
    const vi is_plain = (x >= FLT_MIN) & (x <= FLT_MAX) & (vf_abs(y) <= FLT_MAX);
    const vi bits = (vi)vf_abs(x), exponent = (bits - 0x3f3504f3) >> 23;
    const vf m = (vf)(bits - (exponent << 23)), e = __builtin_convertvector(exponent, vf);
    vf result;
    int32_t plain[LANES], all = -1;
    for (size_t half = 0; half < 2; half++) {
        const vf_half part =
            vf_power_of_half(vd_of_half(m, half), vd_of_half(e, half), vd_of_half(y, half));
        memcpy((char *)&result + half * sizeof(part), &part, sizeof(part));
    }
    memcpy(plain, &is_plain, sizeof(plain));
    for (size_t i = 0; i < LANES; i++)
        all &= plain[i];
    if (ONNXD_LIKELY(all != 0))
        return result;
    for (size_t i = 0; i < LANES; i++)
        if (plain[i] == 0)
            result[i] = powf(x[i], y[i]);
    return result;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* `activation->function` is a constant wherever this is inlined. */
INLINED vf vf_function(const onnxd_simd_activation *activation, vf x)
{
    const float alpha = activation->alpha;
    switch (activation->function) {
    case ONNXD_SIMD_ABS:
        return vf_abs(x);
    case ONNXD_SIMD_NEGATIVE:
        return -x;
    case ONNXD_SIMD_FLOOR:
        return vf_round(x, VF_DOWN);
    case ONNXD_SIMD_CEIL:
        return vf_round(x, VF_UP);
    case ONNXD_SIMD_ROUND:
        return vf_round(x, VF_NEAREST);
    case ONNXD_SIMD_SQRT:
        return vf_sqrt(x);
    case ONNXD_SIMD_RECIPROCAL:
        return 1.0f / x;
    case ONNXD_SIMD_SQUARE:
        return x * x;
    case ONNXD_SIMD_CUBE:
        return x * x * x;
    case ONNXD_SIMD_ROOT:
        return vf_root(x);
    case ONNXD_SIMD_INVERSE_ROOT:
        return 1.0f / vf_root(x);
    case ONNXD_SIMD_LOG:
        return vf_log(x);
    case ONNXD_SIMD_SOFTPLUS:
        return vf_softplus(x);
    case ONNXD_SIMD_SOFTSIGN:
        return x / (1.0f + vf_abs(x));
    case ONNXD_SIMD_MISH:
        return vf_mish(x);
    case ONNXD_SIMD_ELU:
        return vf_select(x < 0.0f, alpha * vf_expm1_below(x), x);
    case ONNXD_SIMD_SELU:
        return activation->beta * vf_select(x > 0.0f, x, alpha * vf_expm1_below(x));
    case ONNXD_SIMD_CELU:
        return vf_select(x > 0.0f, x, alpha * vf_expm1_below(x / alpha));
    case ONNXD_SIMD_THRESHOLDED_RELU:
        return vf_select(x > alpha, x, vf_all(0.0f));
    default:
        return vf_activate(activation, x);
    }
}

#endif

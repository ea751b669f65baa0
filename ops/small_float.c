#include <math.h>
#include <string.h>

#include "ops/convert.h"

/* A format of one sign bit, `exponent` and `fraction` bits. */
typedef struct format {
    int exponent_bits, fraction_bits, bias;
    double largest;        /* finite */
    uint8_t nan;           /* bits without sign; in the unsigned-zero formats the only one */
    uint8_t infinity;      /* 0: there is none */
    bool is_unsigned_zero; /* "fnuz": no negative zero, whose bits are the NaN */
    bool has_nan;
} format;

static const format *format_of(onnxd_dtype dtype)
{
    static const format e4m3fn = {4, 3, 7, 448, 0x7f, 0, false, true};
    static const format e4m3fnuz = {4, 3, 8, 240, 0x80, 0, true, true};
    static const format e5m2 = {5, 2, 15, 57344, 0x7f, 0x7c, false, true};
    static const format e5m2fnuz = {5, 2, 16, 57344, 0x80, 0, true, true};
    static const format e2m3 = {2, 3, 1, 7.5, 0, 0, false, false};
    static const format e3m2 = {3, 2, 3, 28, 0, 0, false, false};
    static const format e2m1 = {2, 1, 1, 6, 0, 0, false, false};
    switch (dtype) {
    case ONNXD_FLOAT8E4M3FN:
        return &e4m3fn;
    case ONNXD_FLOAT8E4M3FNUZ:
        return &e4m3fnuz;
    case ONNXD_FLOAT8E5M2:
        return &e5m2;
    case ONNXD_FLOAT8E5M2FNUZ:
        return &e5m2fnuz;
    case ONNXD_FLOAT6E2M3:
        return &e2m3;
    case ONNXD_FLOAT6E3M2:
        return &e3m2;
    default:
        return &e2m1;
    }
}

/* float8e8m0 is a power of two, 2^(bits - 127), or NaN. */
static double scale_load(uint8_t bits)
{
    return bits == 0xff ? (double)NAN : ldexp(1, (int)bits - 127);
}

/* Numbers below the smallest become it, or NaN without saturation, as the table of ONNX's Cast has
 * it for zero too. The sign is dropped: ONNX leaves negative numbers undefined. */
static uint8_t scale_store(double value, const onnxd_rounding *rounding)
{
    if (isnan(value))
        return 0xff;
    value = fabs(value);
    if (isinf(value))
        return rounding->saturates ? 0xfe : 0xff;
    if (value < 0x1p-127)
        return rounding->saturates ? 0 : 0xff;
    int exponent;
    double fraction = frexp(value, &exponent); /* in [0.5, 1) */
    exponent--;
    bool rounds_up = rounding->scale_mode == ONNXD_ROUND_UP        ? fraction > 0.5
                     : rounding->scale_mode == ONNXD_ROUND_NEAREST ? fraction >= 0.75
                                                                   : false;
    exponent += rounds_up;
    if (exponent > 127)
        return rounding->saturates ? 0xfe : 0xff;
    return (uint8_t)(exponent + 127);
}

double onnxd_small_float_load(onnxd_dtype dtype, uint8_t bits)
{
    if (dtype == ONNXD_FLOAT8E8M0)
        return scale_load(bits);
    const format *f = format_of(dtype);
    int width = f->exponent_bits + f->fraction_bits;
    uint8_t magnitude = (uint8_t)(bits & ((1u << width) - 1));
    bool is_negative = (bits >> width) != 0;
    if (f->has_nan && (f->is_unsigned_zero ? bits == f->nan : magnitude == f->nan))
        return is_negative ? -(double)NAN : (double)NAN;
    if (f->infinity != 0 && magnitude >= f->infinity) {
        double special = magnitude == f->infinity ? (double)INFINITY : (double)NAN;
        return is_negative ? -special : special;
    }
    int exponent = magnitude >> f->fraction_bits;
    int fraction = magnitude & ((1 << f->fraction_bits) - 1);
    double value = exponent == 0 ? ldexp(fraction, 1 - f->bias - f->fraction_bits)
                                 : ldexp(fraction + (1 << f->fraction_bits),
                                         exponent - f->bias - f->fraction_bits);
    return is_negative ? -value : value;
}

#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS 1023

/* The bits of a finite magnitude, rounded to nearest, ties to even; may pass the largest. */
static unsigned round_magnitude(const format *f, double value)
{
    uint64_t raw;
    memcpy(&raw, &value, sizeof(raw));
    int exponent = (int)(raw >> DOUBLE_FRACTION_BITS) - DOUBLE_BIAS;
    uint64_t hidden = (uint64_t)1 << DOUBLE_FRACTION_BITS;
    uint64_t significand = (raw & (hidden - 1)) | hidden;
    int lowest = 1 - f->bias;
    int below = exponent < lowest ? lowest - exponent : 0;
    /* Less than half of the smallest denormal, denormal doubles among them. */
    if (below > f->fraction_bits + 1)
        return 0;
    int shift = DOUBLE_FRACTION_BITS - f->fraction_bits + below;
    uint64_t units = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    if (rest > half || (rest == half && (units & 1) != 0))
        units++;
    /* A normal number's units have their hidden bit, which counts as one exponent; a carry runs
     * into the exponent as it should. */
    unsigned field = below != 0 ? 0 : (unsigned)(exponent - lowest);
    return (field << f->fraction_bits) + (unsigned)units;
}

static uint8_t nan_bits(const format *f, uint8_t sign)
{
    return f->is_unsigned_zero ? f->nan : (uint8_t)(sign | f->nan);
}

uint8_t onnxd_small_float_store(onnxd_dtype dtype, double value, const onnxd_rounding *rounding)
{
    if (dtype == ONNXD_FLOAT8E8M0)
        return scale_store(value, rounding);
    const format *f = format_of(dtype);
    int width = f->exponent_bits + f->fraction_bits;
    uint8_t sign = (uint8_t)((signbit(value) ? 1u : 0u) << width);
    double magnitude = fabs(value);
    if (isnan(value) && f->has_nan)
        return nan_bits(f, sign);
    if (isnan(value)) /* a format without NaN takes a zero of the other sign, as ONNX's data do */
        return (uint8_t)(sign ^ (1u << width));
    bool saturates = rounding->saturates || !f->has_nan;
    unsigned largest = round_magnitude(f, f->largest);
    unsigned bits = magnitude < 0x1p100 ? round_magnitude(f, magnitude) : UINT32_MAX;
    if (bits > largest) {
        if (saturates)
            bits = largest;
        else if (f->infinity != 0)
            bits = f->infinity;
        else
            return nan_bits(f, sign);
    }
    if (bits == 0 && f->is_unsigned_zero)
        return 0;
    return (uint8_t)(sign | bits);
}

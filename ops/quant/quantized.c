#include "ops/quant/quantized.h"

#include <string.h>

#include "ops/move.h"
#include "ops/types.h"

/* The range of a quantised integer. */
typedef struct range {
    float lowest, highest;
} range;

static const range ranges[ONNXD_DTYPE_COUNT] = {
    [ONNXD_INT8] = {INT8_MIN, INT8_MAX},
    [ONNXD_UINT8] = {0, UINT8_MAX},
    [ONNXD_INT16] = {INT16_MIN, INT16_MAX},
    [ONNXD_UINT16] = {0, UINT16_MAX},
    [ONNXD_INT4] = {-8, 7},
    [ONNXD_UINT4] = {0, 15},
    [ONNXD_INT2] = {-2, 1},
    [ONNXD_UINT2] = {0, 3},
};

bool onnxd_quant_is_integer(onnxd_dtype dtype)
{
    return ranges[dtype].highest > 0;
}

/* ---- reading ---- */

/* One loop per type, into a float or an int32. */
#define READ_CASE(id, T, LOAD)                                                                     \
    case ONNXD_##id: {                                                                             \
        const T *in = (const T *)data + first;                                                     \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = LOAD(in[i]);                                                                  \
        return;                                                                                    \
    }

void onnxd_quant_read_floats(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                             float *out)
{
    switch (dtype) {
        READ_CASE(FLOAT, float, )
        READ_CASE(FLOAT16, uint16_t, onnxd_float16_to_float)
        READ_CASE(BFLOAT16, uint16_t, onnxd_bfloat16_to_float)
        READ_CASE(INT8, int8_t, (float))
        READ_CASE(UINT8, uint8_t, (float))
        READ_CASE(INT32, int32_t, (float))
    default:
        break;
    }
    onnxd_wide wide[ONNXD_QUANT_CHUNK];
    onnxd_wide_load(dtype, data, first, count, wide);
    onnxd_wide_store(ONNXD_FLOAT, onnxd_wide_kind_of(dtype), wide, count, NULL, out, 0);
}

void onnxd_quant_read_integers(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                               int32_t *out)
{
    switch (dtype) {
        READ_CASE(INT8, int8_t, (int32_t))
        READ_CASE(UINT8, uint8_t, (int32_t))
        READ_CASE(INT16, int16_t, (int32_t))
        READ_CASE(UINT16, uint16_t, (int32_t))
        READ_CASE(INT32, int32_t, )
    default:
        break;
    }
    onnxd_wide wide[ONNXD_QUANT_CHUNK];
    onnxd_wide_load(dtype, data, first, count, wide);
    onnxd_wide_store(ONNXD_INT32, onnxd_wide_kind_of(dtype), wide, count, NULL, out, 0);
}

/* ---- rounding ---- */

/* A float of this size has no fraction bits left: adding it rounds a number below 2^22 to an
 * integer, ties to even, in a loop that needs no rounding instruction. */
#define ROUNDER 0x1.8p23f

/* Numbers of the range as int32. The bounds are integers, so limiting before rounding is the same
 * as after. NaN is not above the lower bound and becomes it. */
static void round_to_range(const range *r, const float *values, const float *zero_points,
                           size_t count, int32_t *out)
{
    const float lowest = r->lowest, highest = r->highest;
    for (size_t i = 0; i < count; i++) {
        float zero = zero_points[i];
        float low = lowest - zero, high = highest - zero;
        float value = values[i] > low ? values[i] : low;
        value = value < high ? value : high;
        value = (value + ROUNDER) - ROUNDER;
        out[i] = (int32_t)(value + zero);
    }
}

static void store_integers(onnxd_dtype dtype, const float *values, const float *zero_points,
                           size_t count, void *data, size_t first)
{
    int32_t rounded[ONNXD_QUANT_CHUNK];
    round_to_range(&ranges[dtype], values, zero_points, count, rounded);
    size_t width = onnxd_dtype_size(dtype);
    if (width == sizeof(uint16_t)) {
        uint16_t *to = (uint16_t *)data + first;
        for (size_t i = 0; i < count; i++)
            to[i] = (uint16_t)rounded[i];
        return;
    }
    uint8_t packed[ONNXD_QUANT_CHUNK];
    uint8_t *to = width == 0 ? packed : (uint8_t *)data + first;
    for (size_t i = 0; i < count; i++)
        to[i] = (uint8_t)rounded[i];
    if (width == 0)
        onnxd_pack(dtype, count, packed, (uint8_t *)data + first / 8 * onnxd_dtype_bits(dtype));
}

void onnxd_quant_store(onnxd_dtype dtype, const float *values, const float *zero_points,
                       size_t count, bool saturates, void *data, size_t first)
{
    if (onnxd_quant_is_integer(dtype)) {
        store_integers(dtype, values, zero_points, count, data, first);
        return;
    }
    const onnxd_rounding rounding = {.saturates = saturates};
    onnxd_wide wide[ONNXD_QUANT_CHUNK];
    for (size_t i = 0; i < count; i++)
        wide[i].f = (double)(values[i] + zero_points[i]);
    onnxd_wide_store(dtype, ONNXD_WIDE_FLOAT, wide, count, &rounding, data, first);
}

void onnxd_quant_store_sums(onnxd_dtype dtype, const int32_t *sums, const float *scales,
                            const float *zero_points, size_t count, bool saturates, void *data,
                            size_t first)
{
    float values[ONNXD_QUANT_CHUNK];
    for (size_t i = 0; i < count; i++)
        values[i] = (float)sums[i] * scales[i];
    onnxd_quant_store(dtype, values, zero_points, count, saturates, data, first);
}

void onnxd_quant_store_all(onnxd_dtype dtype, const float *values, size_t count, float scale,
                           float zero_point, void *data)
{
    float zeros[ONNXD_QUANT_CHUNK], quotients[ONNXD_QUANT_CHUNK];
    for (size_t i = 0; i < ONNXD_QUANT_CHUNK; i++)
        zeros[i] = zero_point;
    for (size_t first = 0; first < count; first += ONNXD_QUANT_CHUNK) {
        size_t part = count - first < ONNXD_QUANT_CHUNK ? count - first : ONNXD_QUANT_CHUNK;
        for (size_t i = 0; i < part; i++)
            quotients[i] = values[first + i] / scale;
        onnxd_quant_store(dtype, quotients, zeros, part, true, data, first);
    }
}

void onnxd_quant_choose(const float *values, size_t count, float *out_scale,
                        uint8_t *out_zero_point)
{
    /* NaN is left out, being less than nothing. */
    float lowest = 0, highest = 0;
    for (size_t i = 0; i < count; i++) {
        lowest = values[i] < lowest ? values[i] : lowest;
        highest = values[i] > highest ? values[i] : highest;
    }
    float scale = highest == lowest ? 1 : (highest - lowest) / (float)UINT8_MAX;
    /* The number that becomes 0, rounded to the range. */
    const float zero = -lowest;
    onnxd_quant_store_all(ONNXD_UINT8, &zero, 1, scale, 0, out_zero_point);
    *out_scale = scale;
}

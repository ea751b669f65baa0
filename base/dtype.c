#include "base/dtype.h"

#include <stdio.h>
#include <string.h>

#include "base/size_math.h"

typedef struct dtype_info {
    const char *name;
    const char *protocol_name;
    unsigned bits;
} dtype_info;

static const dtype_info infos[ONNXD_DTYPE_COUNT] = {
#define DTYPE_INFO(id, number, bit_count, onnx, protocol) [number] = {onnx, protocol, bit_count},
    ONNXD_DTYPE_TABLE(DTYPE_INFO)
#undef DTYPE_INFO
};

_Static_assert(sizeof(onnxd_string) == 16, "a STRING element has 128 bits in the type table");

static const dtype_info *find_info(onnxd_dtype dtype)
{
    static const dtype_info invalid = {"invalid", NULL, 0};
    return (unsigned)dtype < ONNXD_DTYPE_COUNT ? &infos[dtype] : &invalid;
}

unsigned onnxd_dtype_bits(onnxd_dtype dtype)
{
    return find_info(dtype)->bits;
}

size_t onnxd_dtype_size(onnxd_dtype dtype)
{
    return find_info(dtype)->bits / 8;
}

bool onnxd_dtype_bytes(onnxd_dtype dtype, size_t count, size_t *out_bytes)
{
    unsigned bits = find_info(dtype)->bits;
    if (bits == 0)
        return false;
    if (bits >= 8)
        return onnxd_size_mul(count, bits / 8, out_bytes);
    /* Eight elements take `bits` bytes. */
    *out_bytes = count / 8 * bits + (count % 8 * bits + 7) / 8;
    return true;
}

const char *onnxd_dtype_name(onnxd_dtype dtype)
{
    return find_info(dtype)->name;
}

const char *onnxd_dtype_set_format(onnxd_dtype_set set, char *buffer, size_t capacity)
{
    size_t length = 0;
    buffer[0] = '\0';
    for (int number = 1; number < (int)ONNXD_DTYPE_COUNT; number++) {
        if ((set & ((onnxd_dtype_set)1u << number)) == 0)
            continue;
        int added = snprintf(buffer + length, capacity - length, "%s%s", length == 0 ? "" : ", ",
                             onnxd_dtype_name((onnxd_dtype)number));
        if (added < 0 || length + (size_t)added >= capacity) {
            buffer[length] = '\0';
            break;
        }
        length += (size_t)added;
    }
    return buffer;
}

const char *onnxd_dtype_protocol_name(onnxd_dtype dtype)
{
    return find_info(dtype)->protocol_name;
}

onnxd_dtype onnxd_dtype_from_protocol_name(const char *name, size_t length)
{
    for (unsigned number = 0; number < ONNXD_DTYPE_COUNT; number++) {
        const char *candidate = infos[number].protocol_name;
        if (candidate != NULL && strlen(candidate) == length &&
            memcmp(candidate, name, length) == 0)
            return (onnxd_dtype)number;
    }
    return ONNXD_UNDEFINED;
}

onnxd_dtype onnxd_dtype_from_onnx(int64_t number)
{
    if (number < 0 || number >= ONNXD_DTYPE_COUNT)
        return ONNXD_UNDEFINED;
    return (onnxd_dtype)number;
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

float onnxd_float16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0x1f)
        return float_from_bits(sign | 0x7f800000u | (fraction << 13));
    if (exponent != 0)
        return float_from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
    /* A denormal is fraction * 2^-24, which is exact in float; so is the signed zero. */
    float magnitude = (float)fraction * 0x1p-24f;
    return float_from_bits(sign | float_bits(magnitude));
}

/* Rounds `value` >> `shift` to nearest, ties to even. 1 <= shift <= 63. */
static uint64_t shift_right_even(uint64_t value, unsigned shift)
{
    uint64_t quotient = value >> shift;
    uint64_t rest = value & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    if (rest > half || (rest == half && (quotient & 1) != 0))
        quotient++;
    return quotient;
}

uint16_t onnxd_double_to_float16(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t sign = (bits >> 48) & 0x8000u;
    int exponent = (int)((bits >> 52) & 0x7ffu) - 1023;
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (exponent == 1024 && fraction != 0)
        return (uint16_t)(sign | 0x7e00u | (fraction >> 42));
    if (exponent > 15)
        return (uint16_t)(sign | 0x7c00u);
    /* Half of the smallest denormal is 2^-25; below it everything is zero. */
    if (exponent < -25)
        return (uint16_t)sign;
    uint64_t significand = fraction | ((uint64_t)1 << 52);
    if (exponent < -14)
        return (uint16_t)(sign | shift_right_even(significand, (unsigned)(28 - exponent)));
    /* The carry of the rounding runs into the exponent, up to infinity, as it should. */
    uint64_t rounded = shift_right_even(significand, 42);
    return (uint16_t)(sign | (((uint64_t)(exponent + 14) << 10) + rounded));
}

uint16_t onnxd_float_to_float16(float value)
{
    /* Every float is a double, so the only rounding is the one below. A NaN keeps the top bits of
     * its payload on the way. */
    return onnxd_double_to_float16((double)value);
}

uint16_t onnxd_float_to_bfloat16(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    uint64_t sign = (bits >> 16) & 0x8000u;
    return (uint16_t)(sign | shift_right_even(bits & 0x7fffffffu, 16));
}

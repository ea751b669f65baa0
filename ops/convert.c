#include "ops/convert.h"

#include "ops/move.h"
#include "ops/types.h"

#define SMALL_FLOATS                                                                               \
    (ONNXD_SET_FLOAT8 | ONNXD_SET(FLOAT8E8M0) | ONNXD_SET_FLOAT6 | ONNXD_SET(FLOAT4E2M1))

static bool is_in(onnxd_dtype_set set, onnxd_dtype dtype)
{
    return (set & ((onnxd_dtype_set)1u << dtype)) != 0;
}

bool onnxd_wide_has(onnxd_dtype dtype)
{
    return is_in(ONNXD_SET_NUMBERS | ONNXD_SET(BOOL), dtype) || is_in(SMALL_FLOATS, dtype) ||
           is_in(ONNXD_SET_PACKED, dtype);
}

onnxd_wide_kind onnxd_wide_kind_of(onnxd_dtype dtype)
{
    if (is_in(ONNXD_SET_FLOATS | SMALL_FLOATS, dtype))
        return ONNXD_WIDE_FLOAT;
    if (is_in(ONNXD_SET_SIGNED | ONNXD_SET(INT4) | ONNXD_SET(INT2), dtype))
        return ONNXD_WIDE_SIGNED;
    return ONNXD_WIDE_UNSIGNED;
}

/* ---- out-of-range rules ---- */

static int64_t float_to_int64(double value)
{
    /* -2^63 and 2^63 are doubles; the comparison is false for NaN. */
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

static int32_t float_to_int32(double value)
{
    return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}

static uint64_t float_to_uint64(double value)
{
    if (value >= 0x1p63)
        return value < 0x1p64 ? (uint64_t)value : 0;
    return (uint64_t)float_to_int64(value);
}

/* ---- types of a byte or less ---- */

static int64_t sign_extend(uint8_t value, unsigned bits)
{
    unsigned sign = 1u << (bits - 1);
    return (int64_t)(value ^ sign) - (int64_t)sign;
}

/* Elements are packed and unpacked from a group of 8 on, which begins at a byte in every type. */
#define GROUP 8

static size_t byte_of_group(onnxd_dtype dtype, size_t first)
{
    return first / GROUP * onnxd_dtype_bits(dtype);
}

static void load_bytes(onnxd_dtype dtype, const uint8_t *data, size_t first, size_t count,
                       onnxd_wide *out)
{
    uint8_t group[GROUP + ONNXD_WIDE_CHUNK];
    const uint8_t *raw = group + first % GROUP;
    onnxd_unpack(dtype, first % GROUP + count, data + byte_of_group(dtype, first), group);
    if (is_in(SMALL_FLOATS, dtype))
        for (size_t i = 0; i < count; i++)
            out[i].f = onnxd_small_float_load(dtype, raw[i]);
    else if (dtype == ONNXD_BOOL)
        for (size_t i = 0; i < count; i++)
            out[i].u = raw[i] != 0;
    else if (onnxd_wide_kind_of(dtype) == ONNXD_WIDE_SIGNED)
        for (size_t i = 0; i < count; i++)
            out[i].i = sign_extend(raw[i], onnxd_dtype_bits(dtype));
    else
        for (size_t i = 0; i < count; i++)
            out[i].u = raw[i];
}

void onnxd_wide_load(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                     onnxd_wide *out)
{
#define LOAD_INTO(member, id, T, LOAD)                                                             \
    case ONNXD_##id: {                                                                             \
        const T *in = (const T *)data + first;                                                     \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i].member = LOAD(in[i]);                                                           \
        break;                                                                                     \
    }
#define LOAD_SIGNED(op, id, T, C, LOAD, STORE) LOAD_INTO(i, id, T, (int64_t))
#define LOAD_UNSIGNED(op, id, T, C, LOAD, STORE) LOAD_INTO(u, id, T, (uint64_t))
    switch (dtype) {
        LOAD_INTO(f, FLOAT, float, (double))
        LOAD_INTO(f, DOUBLE, double, )
        LOAD_INTO(f, FLOAT16, uint16_t, (double)onnxd_float16_to_float)
        LOAD_INTO(f, BFLOAT16, uint16_t, (double)onnxd_bfloat16_to_float)
        ONNXD_EACH_SIGNED(LOAD_SIGNED, )
        ONNXD_EACH_UNSIGNED(LOAD_UNSIGNED, )
    default:
        load_bytes(dtype, data, first, count, out);
        break;
    }
}

/* ---- stores: one function per type, from any kind ---- */

/* FROM_FLOAT, FROM_INT and FROM_UINT turn a member of the wide form into the type in memory. */
#define DEFINE_STORE(id, T, FROM_FLOAT, FROM_INT, FROM_UINT)                                       \
    static void store_##id(onnxd_wide_kind kind, const onnxd_wide *in, size_t count, T *out)       \
    {                                                                                              \
        switch (kind) {                                                                            \
        case ONNXD_WIDE_FLOAT:                                                                     \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = FROM_FLOAT(in[i].f);                                                      \
            break;                                                                                 \
        case ONNXD_WIDE_SIGNED:                                                                    \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = FROM_INT(in[i].i);                                                        \
            break;                                                                                 \
        case ONNXD_WIDE_UNSIGNED:                                                                  \
            for (size_t i = 0; i < count; i++)                                                     \
                out[i] = FROM_UINT(in[i].u);                                                       \
            break;                                                                                 \
        }                                                                                          \
    }
#define IS_TRUE(x) ((x) != 0)
#define TO_FLOAT16(x) onnxd_double_to_float16((double)(x))
#define TO_BFLOAT16(x) onnxd_float_to_bfloat16((float)(x))
#define NARROW(T) (T) float_to_int32
DEFINE_STORE(FLOAT, float, (float), (float), (float))
DEFINE_STORE(DOUBLE, double, , (double), (double))
DEFINE_STORE(FLOAT16, uint16_t, TO_FLOAT16, TO_FLOAT16, TO_FLOAT16)
DEFINE_STORE(BFLOAT16, uint16_t, TO_BFLOAT16, TO_BFLOAT16, TO_BFLOAT16)
DEFINE_STORE(INT8, int8_t, NARROW(int8_t), (int8_t), (int8_t))
DEFINE_STORE(INT16, int16_t, NARROW(int16_t), (int16_t), (int16_t))
DEFINE_STORE(INT32, int32_t, float_to_int32, (int32_t), (int32_t))
DEFINE_STORE(INT64, int64_t, float_to_int64, , (int64_t))
DEFINE_STORE(UINT8, uint8_t, NARROW(uint8_t), (uint8_t), (uint8_t))
DEFINE_STORE(UINT16, uint16_t, NARROW(uint16_t), (uint16_t), (uint16_t))
DEFINE_STORE(UINT32, uint32_t, (uint32_t)float_to_int64, (uint32_t), (uint32_t))
DEFINE_STORE(UINT64, uint64_t, float_to_uint64, (uint64_t), )
DEFINE_STORE(BOOL, uint8_t, IS_TRUE, IS_TRUE, IS_TRUE)

static double as_double(onnxd_wide_kind kind, onnxd_wide value)
{
    return kind == ONNXD_WIDE_FLOAT    ? value.f
           : kind == ONNXD_WIDE_SIGNED ? (double)value.i
                                       : (double)value.u;
}

static void store_bytes(onnxd_dtype dtype, onnxd_wide_kind kind, const onnxd_wide *in, size_t count,
                        const onnxd_rounding *rounding, uint8_t *data, size_t first)
{
    uint8_t group[GROUP + ONNXD_WIDE_CHUNK];
    uint8_t *raw = group + first % GROUP;
    onnxd_unpack(dtype, first % GROUP, data + byte_of_group(dtype, first), group);
    if (is_in(SMALL_FLOATS, dtype))
        for (size_t i = 0; i < count; i++)
            raw[i] = onnxd_small_float_store(dtype, as_double(kind, in[i]), rounding);
    else if (kind == ONNXD_WIDE_FLOAT)
        for (size_t i = 0; i < count; i++)
            raw[i] = (uint8_t)float_to_int32(in[i].f);
    else
        for (size_t i = 0; i < count; i++)
            raw[i] = (uint8_t)in[i].u;
    onnxd_pack(dtype, first % GROUP + count, group, data + byte_of_group(dtype, first));
}

void onnxd_wide_store(onnxd_dtype dtype, onnxd_wide_kind kind, const onnxd_wide *in, size_t count,
                      const onnxd_rounding *rounding, void *data, size_t first)
{
#define STORE_CASE(op, id, T, C, LOAD, STORE)                                                      \
    case ONNXD_##id:                                                                               \
        store_##id(kind, in, count, (T *)data + first);                                            \
        break;
    switch (dtype) {
        ONNXD_EACH_NUMBER(STORE_CASE, )
        STORE_CASE(, BOOL, uint8_t, , , )
    default:
        store_bytes(dtype, kind, in, count, rounding, data, first);
        break;
    }
}

#include "base/dtype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/base/random.h"

Test(dtype, table)
{
    cr_assert_eq(onnxd_dtype_bits(ONNXD_FLOAT), 32);
    cr_assert_eq(onnxd_dtype_size(ONNXD_FLOAT), 4);
    cr_assert_eq(onnxd_dtype_size(ONNXD_STRING), sizeof(onnxd_string));
    cr_assert_eq(onnxd_dtype_size(ONNXD_INT4), 0);
    cr_assert_eq(onnxd_dtype_bits(ONNXD_INT4), 4);
    cr_assert_eq(onnxd_dtype_size(ONNXD_UNDEFINED), 0);
    cr_assert_eq(onnxd_dtype_bits((onnxd_dtype)1000), 0);
    cr_assert_eq(onnxd_dtype_bits((onnxd_dtype)-1), 0);
    cr_assert_str_eq(onnxd_dtype_name(ONNXD_BFLOAT16), "bfloat16");
    cr_assert_str_eq(onnxd_dtype_name((onnxd_dtype)99), "invalid");
    cr_assert_str_eq(onnxd_dtype_protocol_name(ONNXD_STRING), "BYTES");
    cr_assert_null(onnxd_dtype_protocol_name(ONNXD_COMPLEX64));
    cr_assert_null(onnxd_dtype_protocol_name((onnxd_dtype)99));
}

Test(dtype, sets)
{
    char text[ONNXD_DTYPE_SET_TEXT], narrow[10];
    cr_assert_str_eq(onnxd_dtype_set_format(0, text, sizeof(text)), "");
    cr_assert_str_eq(
        onnxd_dtype_set_format(ONNXD_SET(INT8) | ONNXD_SET(DOUBLE), text, sizeof(text)),
        "int8, double");
    /* What does not fit whole is left out. */
    cr_assert_str_eq(
        onnxd_dtype_set_format(ONNXD_SET(INT8) | ONNXD_SET(DOUBLE), narrow, sizeof(narrow)),
        "int8");
    onnxd_dtype_set_format(UINT32_MAX, text, sizeof(text));
    cr_assert_not_null(strstr(text, onnxd_dtype_name((onnxd_dtype)(ONNXD_DTYPE_COUNT - 1))));
}

Test(dtype, names_go_there_and_back)
{
    for (int number = 0; number < ONNXD_DTYPE_COUNT; number++) {
        const char *name = onnxd_dtype_protocol_name((onnxd_dtype)number);
        if (name != NULL)
            cr_assert_eq(onnxd_dtype_from_protocol_name(name, strlen(name)), (onnxd_dtype)number);
        cr_assert_eq(name != NULL, (ONNXD_SET_PROTOCOL >> number & 1) != 0);
        cr_assert_eq(onnxd_dtype_from_onnx(number), (onnxd_dtype)number);
        cr_assert_eq(onnxd_dtype_size((onnxd_dtype)number) != 0,
                     (ONNXD_SET_WHOLE_BYTES >> number & 1) != 0);
    }
    cr_assert_eq(onnxd_dtype_from_protocol_name("fp32", 4), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_protocol_name("FP32 ", 5), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_protocol_name("FP3", 3), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_protocol_name("", 0), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_onnx(-1), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_onnx(ONNXD_DTYPE_COUNT), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_onnx(INT64_MAX), ONNXD_UNDEFINED);
    cr_assert_eq(onnxd_dtype_from_onnx((int64_t)1 << 32 | 1), ONNXD_UNDEFINED);
}

Test(dtype, bytes)
{
    size_t bytes = 77;
    cr_assert(onnxd_dtype_bytes(ONNXD_DOUBLE, 3, &bytes));
    cr_assert_eq(bytes, 24);
    cr_assert(onnxd_dtype_bytes(ONNXD_UINT4, 5, &bytes));
    cr_assert_eq(bytes, 3);
    cr_assert(onnxd_dtype_bytes(ONNXD_INT2, 5, &bytes));
    cr_assert_eq(bytes, 2);
    cr_assert(onnxd_dtype_bytes(ONNXD_UINT4, SIZE_MAX, &bytes));
    cr_assert_eq(bytes, SIZE_MAX / 2 + 1);
    static const size_t of_six_bits[] = {0, 1, 2, 3, 3, 4, 5, 6, 6, 7};
    for (size_t count = 0; count < ONNXD_COUNT(of_six_bits); count++) {
        cr_assert(onnxd_dtype_bytes(ONNXD_FLOAT6E2M3, count, &bytes));
        cr_assert_eq(bytes, of_six_bits[count]);
        cr_assert(onnxd_dtype_bytes(ONNXD_FLOAT6E3M2, count, &bytes));
        cr_assert_eq(bytes, of_six_bits[count]);
    }
    cr_assert(onnxd_dtype_bytes(ONNXD_FLOAT6E2M3, SIZE_MAX, &bytes));
    cr_assert_eq(bytes, SIZE_MAX / 8 * 6 + 6);
    bytes = 77;
    cr_assert_not(onnxd_dtype_bytes(ONNXD_DOUBLE, SIZE_MAX / 8 + 1, &bytes));
    cr_assert_not(onnxd_dtype_bytes(ONNXD_UNDEFINED, 1, &bytes));
    cr_assert_not(onnxd_dtype_bytes((onnxd_dtype)200, 1, &bytes));
    cr_assert_eq(bytes, 77);
}

static double float16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static bool float16_is_nan(uint16_t bits)
{
    return (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
}

Test(dtype, float16_every_pattern_reads_exactly)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        float value = onnxd_float16_to_float((uint16_t)bits);
        if (float16_is_nan((uint16_t)bits)) {
            cr_assert(isnan(value));
            cr_assert(float16_is_nan(onnxd_float_to_float16(value)));
            continue;
        }
        if ((bits & 0x7fff) == 0x7c00)
            cr_assert(isinf(value) && (value < 0) == (bits >> 15 != 0));
        else
            cr_assert_eq((double)value, float16_value((uint16_t)bits), "pattern 0x%04x", bits);
        cr_assert_eq(onnxd_float_to_float16(value), bits);
        cr_assert_eq(onnxd_double_to_float16((double)value), bits);
    }
}

/* At, just below and just above the middle between each two neighbours. */
Test(dtype, float16_rounds_to_even)
{
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        double low = float16_value((uint16_t)bits);
        double high = bits == 0x7bff ? 65536.0 : float16_value((uint16_t)(bits + 1));
        double middle = (low + high) / 2;
        unsigned even = bits % 2 == 0 ? bits : bits + 1;
        for (int sign = 0; sign < 2; sign++) {
            double factor = sign == 0 ? 1 : -1;
            unsigned flag = sign == 0 ? 0 : 0x8000;
            cr_assert_eq(onnxd_double_to_float16(factor * middle), even | flag);
            cr_assert_eq(onnxd_double_to_float16(factor * nextafter(middle, 0)), bits | flag);
            cr_assert_eq(onnxd_double_to_float16(factor * nextafter(middle, 1e9)),
                         (bits + 1) | flag);
            cr_assert_eq(onnxd_float_to_float16((float)(factor * middle)), even | flag);
            cr_assert_eq(onnxd_float_to_float16(nextafterf((float)middle, 1e9f) * (float)factor),
                         (bits + 1) | flag);
        }
    }
}

Test(dtype, float16_extremes)
{
    cr_assert_eq(onnxd_float_to_float16(65519.996f), 0x7bff);
    cr_assert_eq(onnxd_float_to_float16(65520.0f), 0x7c00);
    cr_assert_eq(onnxd_float_to_float16(-1e30f), 0xfc00);
    cr_assert_eq(onnxd_double_to_float16(1e300), 0x7c00);
    cr_assert_eq(onnxd_double_to_float16(-1e-300), 0x8000);
    cr_assert_eq(onnxd_double_to_float16(5e-324), 0);
    cr_assert_eq(onnxd_float_to_float16(-0.0f), 0x8000);
    /* Through float, both would be ties and lose the last bit. */
    cr_assert_eq(onnxd_double_to_float16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
    cr_assert_eq(onnxd_double_to_float16(1.0 + 0x1p-10 + 0x1p-11 - 0x1p-40), 0x3c01);
}

Test(dtype, bfloat16_every_pattern_goes_there_and_back)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        float value = onnxd_bfloat16_to_float((uint16_t)bits);
        uint16_t back = onnxd_float_to_bfloat16(value);
        if (isnan(value))
            cr_assert(isnan(onnxd_bfloat16_to_float(back)));
        else
            cr_assert_eq(back, bits);
    }
}

Test(dtype, bfloat16_rounds_to_even)
{
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        for (uint32_t rest = 0x7fff; rest <= 0x8001; rest++) {
            uint32_t word = bits << 16 | rest;
            float value;
            memcpy(&value, &word, sizeof(value));
            uint32_t expected =
                rest < 0x8000 || (rest == 0x8000 && bits % 2 == 0) ? bits : bits + 1;
            cr_assert_eq(onnxd_float_to_bfloat16(value), expected);
            cr_assert_eq(onnxd_float_to_bfloat16(-value), expected | 0x8000);
        }
    }
    /* A NaN whose payload lies in the lower half alone must not become infinity. */
    uint32_t word = 0x7f800001u;
    float value;
    memcpy(&value, &word, sizeof(value));
    cr_assert(isnan(onnxd_bfloat16_to_float(onnxd_float_to_bfloat16(value))));
}

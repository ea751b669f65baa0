#include "base/number.h"

#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/base/random.h"

static float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static double double_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static bool same_f32(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool same_f64(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* The C library's strtod() and strtof() are correctly rounded too and serve as the reference. */
static void check_text(const char *text)
{
    size_t length = strlen(text);
    double wide = 77;
    float narrow = 77;
    double expected_wide = strtod(text, NULL);
    float expected_narrow = strtof(text, NULL);
    if (onnxd_parse_f64(text, length, &wide) != (bool)isfinite(expected_wide) ||
        !same_f64(wide, isfinite(expected_wide) ? expected_wide : 77))
        cr_assert_fail("f64 '%.60s': %a, expected %a", text, wide, expected_wide);
    if (onnxd_parse_f32(text, length, &narrow) != (bool)isfinite(expected_narrow) ||
        !same_f32(narrow, isfinite(expected_narrow) ? expected_narrow : 77))
        cr_assert_fail("f32 '%.60s': %a, expected %a", text, (double)narrow,
                       (double)expected_narrow);
}

Test(number, integers)
{
    static const struct {
        const char *text;
        bool is_signed, is_unsigned;
        int64_t signed_value;
        uint64_t unsigned_value;
    } cases[] = {
        {"0", true, true, 0, 0},
        {"7", true, true, 7, 7},
        {"-0", true, false, 0, 0},
        {"-1", true, false, -1, 0},
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"9223372036854775808", false, true, 0, (uint64_t)INT64_MAX + 1},
        {"-9223372036854775808", true, false, INT64_MIN, 0},
        {"-9223372036854775809", false, false, 0, 0},
        {"18446744073709551615", false, true, 0, UINT64_MAX},
        {"18446744073709551616", false, false, 0, 0},
        {"18446744073709551625", false, false, 0, 0},
        {"20000000000000000000", false, false, 0, 0},
        {"100000000000000000000", false, false, 0, 0},
        {"", false, false, 0, 0},
        {"-", false, false, 0, 0},
        {"+1", false, false, 0, 0},
        {"01", false, false, 0, 0},
        {"-01", false, false, 0, 0},
        {"00", false, false, 0, 0},
        {" 1", false, false, 0, 0},
        {"1 ", false, false, 0, 0},
        {"1.0", false, false, 0, 0},
        {"1e2", false, false, 0, 0},
        {"0x10", false, false, 0, 0},
        {"--1", false, false, 0, 0},
        {"NaN", false, false, 0, 0},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        int64_t signed_value = 77;
        uint64_t unsigned_value = 77;
        size_t length = strlen(cases[i].text);
        cr_assert_eq(onnxd_parse_i64(cases[i].text, length, &signed_value), cases[i].is_signed,
                     "'%s'", cases[i].text);
        cr_assert_eq(signed_value, cases[i].is_signed ? cases[i].signed_value : 77);
        cr_assert_eq(onnxd_parse_u64(cases[i].text, length, &unsigned_value), cases[i].is_unsigned,
                     "'%s'", cases[i].text);
        cr_assert_eq(unsigned_value, cases[i].is_unsigned ? cases[i].unsigned_value : 77);
    }
    int64_t value = 0;
    cr_assert(onnxd_parse_i64("12345", 3, &value));
    cr_assert_eq(value, 123);
    cr_assert_not(onnxd_parse_i64(NULL, 0, &value));
}

Test(number, integers_go_there_and_back)
{
    uint64_t random = 5;
    for (int i = 0; i < 20000; i++) {
        uint64_t value = random_next(&random) >> random_below(&random, 64);
        char text[ONNXD_NUMBER_TEXT];
        char expected[ONNXD_NUMBER_TEXT];
        uint64_t back = 0;
        int64_t signed_back = 0;
        size_t length = onnxd_format_u64(text, value);
        cr_assert_eq((size_t)snprintf(expected, sizeof(expected), "%" PRIu64, value), length);
        cr_assert_eq(memcmp(text, expected, length), 0);
        cr_assert(onnxd_parse_u64(text, length, &back) && back == value);
        length = onnxd_format_i64(text, (int64_t)value);
        cr_assert_eq((size_t)snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)value),
                     length);
        cr_assert_eq(memcmp(text, expected, length), 0);
        cr_assert(onnxd_parse_i64(text, length, &signed_back) && signed_back == (int64_t)value);
    }
    char text[ONNXD_NUMBER_TEXT];
    cr_assert_eq(onnxd_format_i64(text, INT64_MIN), 20);
    cr_assert_eq(memcmp(text, "-9223372036854775808", 20), 0);
}

Test(number, floats_after_the_grammar_alone)
{
    static const char *const refused[] = {
        "",      "-",     "+1",    "+",    ".5",    "-.5",    "1.",         "1.e5",    "01",
        "-01",   "00.5",  "1e",    "1e+",  "1e-",   "1E",     "e5",         ".",       "-e1",
        "0x1p3", "0x10",  "1_000", "1,5",  " 1",    "1 ",     "1.5f",       "inf",     "nan",
        "INF",   "NAN",   "-NaN",  "+NaN", "NaN ",  "nan(1)", "infinity",   "Infinit", "+Infinity",
        "1..2",  "1e5.5", "--1",   "1-",   "1e5e5", "1.2.3",  "-Infinityx", "1\t",     "\n1",
    };
    for (size_t i = 0; i < ONNXD_COUNT(refused); i++) {
        double wide = 77;
        float narrow = 77;
        size_t length = strlen(refused[i]);
        cr_assert_not(onnxd_parse_f64(refused[i], length, &wide), "'%s'", refused[i]);
        cr_assert_not(onnxd_parse_f32(refused[i], length, &narrow), "'%s'", refused[i]);
        cr_assert(same_f64(wide, 77) && same_f32(narrow, 77));
    }
    double value = 77;
    cr_assert_not(onnxd_parse_f64("1\0", 2, &value));
    cr_assert_not(onnxd_parse_f64(NULL, 0, &value));
    cr_assert(onnxd_parse_f64("1234567890", 3, &value));
    cr_assert_eq(value, 123);
}

Test(number, special_tokens)
{
    double wide = 0;
    float narrow = 0;
    cr_assert(onnxd_parse_f64("NaN", 3, &wide) && isnan(wide));
    cr_assert(onnxd_parse_f32("NaN", 3, &narrow) && isnan(narrow));
    cr_assert(onnxd_parse_f64("Infinity", 8, &wide) && isinf(wide) && wide > 0);
    cr_assert(onnxd_parse_f32("Infinity", 8, &narrow) && isinf(narrow) && narrow > 0);
    cr_assert(onnxd_parse_f64("-Infinity", 9, &wide) && isinf(wide) && wide < 0);
    cr_assert(onnxd_parse_f32("-Infinity", 9, &narrow) && isinf(narrow) && narrow < 0);
    char text[ONNXD_NUMBER_TEXT];
    cr_assert(onnxd_format_f64(text, (double)NAN) == 3 && memcmp(text, "NaN", 3) == 0);
    cr_assert(onnxd_format_f32(text, -NAN) == 3 && memcmp(text, "NaN", 3) == 0);
    cr_assert(onnxd_format_f64(text, HUGE_VAL) == 8 && memcmp(text, "Infinity", 8) == 0);
    cr_assert(onnxd_format_f32(text, -HUGE_VALF) == 9 && memcmp(text, "-Infinity", 9) == 0);
}

Test(number, known_texts)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0",
        "0e0",
        "-0e-99999",
        "0e99999999999999999999",
        "0.000e400",
        "1",
        "-1.5",
        "1e0",
        "1E+2",
        "1e-2",
        "1e22",
        "1e23",
        "-1e-22",
        "1e-23",
        "9007199254740993",
        "9007199254740992",
        "9007199254740991e22",
        "123456789012345678",
        "1234567890123456789",
        "12345678901234567890",
        "99999999999999999999999",
        "0.1",
        "0.2",
        "0.3",
        "1.1",
        "3.14159",
        "16777217",
        "16777219",
        "16777217.0000001",
        "3.4028234e38",
        "3.4028235e38",
        "3.40282356779733e38",
        "3.4028235677973366e38",
        "3.4028236e38",
        "1.17549435e-38",
        "1.17549421e-38",
        "1.4e-45",
        "1e-45",
        "7.0064923e-46",
        "7.006492321624085e-46",
        "7.006492321624086e-46",
        "1e-46",
        "-1e-46",
        "1e400",
        "-1e400",
        "1e-400",
        "-1e-400",
        "1e39",
        "1e308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "5e-324",
        "1e-323",
        "1e-330",
        "1e999999999999999999999",
        "1e-999999999999999999999",
        "1e18446744073709551617",
        "1e-18446744073709551617",
        "0.00000000000000000000000000000000000000000000001e47",
        "100000000000000000000000000000000000000000000000e-47",
        "8.5070592e37",
        "1.7014118e38",
        "1e19",
        "18446744073709551616",
        "0.30000001192092896",
        "5.960464477539063e-8",
    };
    for (size_t i = 0; i < ONNXD_COUNT(texts); i++)
        check_text(texts[i]);
}

Test(number, very_long_texts)
{
    enum { LENGTH = 3000 };
    char text[LENGTH + 40];
    /* 0.000...01e3000 and 1000...0e-3000, whose digits and exponent make up for each other. */
    memset(text, '0', LENGTH);
    memcpy(text, "0.", 2);
    snprintf(text + LENGTH, 40, "1e%d", LENGTH - 1);
    check_text(text);
    memset(text, '0', LENGTH);
    text[0] = '1';
    snprintf(text + LENGTH, 40, "e-%d", LENGTH - 1);
    check_text(text);
    memset(text, '9', LENGTH);
    text[LENGTH] = '\0';
    check_text(text);
    text[1] = '.';
    check_text(text);
    memset(text, '0', LENGTH);
    text[1] = '.';
    check_text(text);
    snprintf(text + LENGTH, 40, "e2990");
    check_text(text);
    /* Out of range although the exponent says the opposite, or says nothing. */
    memset(text, '0', LENGTH);
    text[1] = '.';
    snprintf(text + LENGTH, 40, "1e100");
    check_text(text);
    text[LENGTH + 1] = '\0';
    check_text(text);
    memset(text, '0', LENGTH);
    text[0] = '1';
    snprintf(text + LENGTH, 40, "e-100");
    check_text(text);
    text[LENGTH] = '\0';
    check_text(text);
    /* Just above the middle between two floats, by the last of many digits. */
    memset(text, '0', LENGTH);
    memcpy(text, "16777217.", 9);
    memcpy(text + LENGTH, "1", 2);
    check_text(text);
}

/* Parses the float back from its shortest text, and checks that no shorter one would do. */
static void check_f32(float value)
{
    char text[ONNXD_NUMBER_TEXT + 1];
    float back = 77;
    size_t length = onnxd_format_f32(text, value);
    text[length < sizeof(text) ? length : sizeof(text) - 1] = '\0';
    if (length > ONNXD_NUMBER_TEXT || !onnxd_parse_f32(text, length, &back) ||
        !same_f32(back, value))
        cr_assert_fail("%a gives '%s', which gives %a", (double)value, text, (double)back);
    if (!same_f32(strtof(text, NULL), value) || strpbrk(text, ".e") == NULL)
        cr_assert_fail("%a gives '%s'", (double)value, text);
}

static void check_f64(double value)
{
    char text[ONNXD_NUMBER_TEXT + 1];
    double back = 77;
    size_t length = onnxd_format_f64(text, value);
    text[length < sizeof(text) ? length : sizeof(text) - 1] = '\0';
    if (length > ONNXD_NUMBER_TEXT || !onnxd_parse_f64(text, length, &back) ||
        !same_f64(back, value))
        cr_assert_fail("%a gives '%s', which gives %a", value, text, back);
    if (!same_f64(strtod(text, NULL), value) || strpbrk(text, ".e") == NULL)
        cr_assert_fail("%a gives '%s'", value, text);
}

Test(number, every_f32_exponent_goes_there_and_back)
{
    static const uint32_t fractions[] = {0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
    uint64_t random = 11;
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (size_t i = 0; i < ONNXD_COUNT(fractions); i++) {
            check_f32(float_from_bits(exponent << 23 | fractions[i]));
            check_f32(float_from_bits(1u << 31 | exponent << 23 | fractions[i]));
        }
        for (int i = 0; i < 200; i++)
            check_f32(float_from_bits(exponent << 23 | (uint32_t)random_below(&random, 1 << 23)));
    }
}

Test(number, random_f32_go_there_and_back)
{
    uint64_t random = 12;
    for (int i = 0; i < 100000; i++) {
        float value = float_from_bits((uint32_t)random_next(&random));
        if (isfinite(value))
            check_f32(value);
    }
}

Test(number, random_f64_go_there_and_back)
{
    uint64_t random = 13;
    for (int i = 0; i < 100000; i++) {
        double value = double_from_bits(random_next(&random));
        if (isfinite(value))
            check_f64(value);
    }
    for (uint64_t exponent = 0; exponent < 2047; exponent++) {
        check_f64(double_from_bits(exponent << 52));
        check_f64(double_from_bits(exponent << 52 | 1));
        check_f64(double_from_bits(exponent << 52 | (((uint64_t)1 << 52) - 1)));
    }
}

/* Significant digits of a text. */
static int count_digits(const char *text, size_t length)
{
    int digits = 0, zeros = 0;
    for (size_t i = 0; i < length && text[i] != 'e'; i++) {
        if (text[i] == '0')
            zeros += digits > 0 ? 1 : 0;
        else if (text[i] > '0' && text[i] <= '9') {
            digits += zeros + 1;
            zeros = 0;
        }
    }
    return digits;
}

Test(number, texts_are_the_shortest)
{
    uint64_t random = 14;
    for (int i = 0; i < 20000; i++) {
        float value = float_from_bits((uint32_t)random_next(&random) >> 1);
        /* Large integers stand in full, which takes fewer characters than an exponent. */
        if (!isfinite(value) || fabsf(value) >= 0x1p24f)
            continue;
        char text[ONNXD_NUMBER_TEXT];
        char probe[64];
        int digits = count_digits(text, onnxd_format_f32(text, value));
        for (int precision = 1; precision < digits; precision++) {
            snprintf(probe, sizeof(probe), "%.*e", precision - 1, (double)value);
            if (strtof(probe, NULL) == value)
                cr_assert_fail("'%s' would do for %a", probe, (double)value);
        }
    }
}

Test(number, known_formats)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {1.1f, "1.1"},     {-0.0f, "-0.0"},   {0.0f, "0.0"},
        {1.0f, "1.0"},     {1e-45f, "1e-45"}, {16777216.0f, "16777216.0"},
        {0.1f, "0.1"},     {-2.5f, "-2.5"},   {3.4028235e38f, "3.4028235e+38"},
        {100.0f, "100.0"},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        char text[ONNXD_NUMBER_TEXT];
        size_t length = onnxd_format_f32(text, cases[i].value);
        cr_assert_eq(length, strlen(cases[i].text), "%.*s", (int)length, text);
        cr_assert_eq(memcmp(text, cases[i].text, length), 0, "%.*s", (int)length, text);
    }
}

/* The exact middle between two neighbours, and a hair to either side of it. */
Test(number, halfway_cases)
{
    uint64_t random = 15;
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)random_below(&random, 0x7f000000u);
        if (i % 4 == 0)
            bits %= 0x01000000u; /* denormals and their neighbours */
        double low = (double)float_from_bits(bits);
        double high = (double)float_from_bits(bits + 1);
        char text[1200];
        int length = snprintf(text, sizeof(text) - 8, "%.*f", 180, low + (high - low) / 2);
        check_text(text);
        memcpy(text + length, "1", 2);
        check_text(text);
        snprintf(text, sizeof(text), "%.17g", nextafter(low + (high - low) / 2, 0));
        check_text(text);
    }
}

/* Texts that round to the middle between two floats as a double, without being it: a second
 * rounding of the double goes wrong for half of them. */
Test(number, no_double_rounding)
{
    uint64_t random = 18;
    for (int i = 0; i < 20000; i++) {
        float low = 8.0f + (float)random_below(&random, 1 << 20) * 0x1p-20f;
        double middle = (double)low + 0x1p-21;
        char text[64];
        snprintf(text, sizeof(text), "%.15f", middle);
        cr_assert_eq(strtod(text, NULL), middle);
        check_text(text);
    }
}

Test(number, random_texts)
{
    uint64_t random = 16;
    for (int i = 0; i < 100000; i++) {
        char text[128];
        size_t length = 0;
        if (random_below(&random, 2) == 0)
            text[length++] = '-';
        size_t digits = 1 + random_below(&random, random_below(&random, 10) == 0 ? 30 : 12);
        for (size_t k = 0; k < digits; k++)
            text[length++] = (char)('0' + (k == 0 && digits > 1 ? 1 + random_below(&random, 9)
                                                                : random_below(&random, 10)));
        if (random_below(&random, 3) != 0) {
            text[length++] = '.';
            digits = 1 + random_below(&random, 20);
            for (size_t k = 0; k < digits; k++)
                text[length++] = (char)('0' + random_below(&random, 10));
        }
        if (random_below(&random, 2) == 0) {
            int exponent = (int)random_below(&random, random_below(&random, 4) == 0 ? 800 : 60);
            length += (size_t)snprintf(text + length, 16, "%c%s%d", "eE"[i % 2],
                                       i % 3 == 0   ? "-"
                                       : i % 3 == 1 ? "+"
                                                    : "",
                                       exponent);
        }
        text[length] = '\0';
        check_text(text);
    }
}

/* What clients send: "%.9g" and "%.6f" of ordinary floats. */
Test(number, printed_floats)
{
    uint64_t random = 17;
    for (int i = 0; i < 100000; i++) {
        float value = (float)((double)(int64_t)random_next(&random) / (double)INT64_MAX * 4);
        char text[64];
        snprintf(text, sizeof(text), i % 2 == 0 ? "%.9g" : "%.6f", (double)value);
        check_text(text);
        float back = 77;
        if (i % 2 == 0)
            cr_assert(onnxd_parse_f32(text, strlen(text), &back) && same_f32(back, value));
    }
}

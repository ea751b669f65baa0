#include "base/number.h"

#include <math.h>
#include <string.h>

#include "base/number_convert.h"
#include "base/number_scan.h"

/* Integers up to 2^53 and powers of ten up to 10^22 are doubles, so one multiplication or division
 * of the two is rounded once, which makes it correct. */
#define EXACT_DIGITS_LIMIT ((uint64_t)1 << 53)
#define EXACT_POWER_LIMIT 22

static const double powers_of_ten[EXACT_POWER_LIMIT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* Digits without sign, grammar and range checked. */
static bool parse_magnitude(const char *text, size_t length, uint64_t *out)
{
    if (length == 0 || length > 20 || (text[0] == '0' && length != 1))
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9)
            return false;
        /* Only the twentieth digit can pass the range. */
        if (i == 19 && (value > UINT64_MAX / 10 ||
                        (value == UINT64_MAX / 10 && digit > (unsigned)(UINT64_MAX % 10))))
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool onnxd_parse_u64(const char *text, size_t length, uint64_t *out)
{
    return parse_magnitude(text, length, out);
}

bool onnxd_parse_i64(const char *text, size_t length, int64_t *out)
{
    if (length == 0)
        return false;
    bool negative = text[0] == '-';
    size_t sign_length = negative ? 1 : 0;
    uint64_t magnitude;
    if (!parse_magnitude(text + sign_length, length - sign_length, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    /* Through unsigned arithmetic, where the lowest value has a negation. */
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static bool text_is(const char *text, size_t length, const char *expected)
{
    return length == strlen(expected) && memcmp(text, expected, length) == 0;
}

static bool parse_special(const char *text, size_t length, double *out)
{
    if (text_is(text, length, "NaN"))
        *out = (double)NAN;
    else if (text_is(text, length, "Infinity"))
        *out = HUGE_VAL;
    else if (text_is(text, length, "-Infinity"))
        *out = -HUGE_VAL;
    else
        return false;
    return true;
}

/* The value when it takes a single rounding to make; most numbers that people and printf() write.
 */
static bool convert_exactly(const onnxd_number_scan *scan, double *out)
{
    int64_t power = scan->exponent - (int64_t)scan->fraction_digits;
    if (scan->digit_count > ONNXD_SCAN_EXACT_DIGITS || scan->digits > EXACT_DIGITS_LIMIT ||
        power < -EXACT_POWER_LIMIT || power > EXACT_POWER_LIMIT)
        return false;
    double magnitude = (double)scan->digits;
    if (power < 0)
        magnitude /= powers_of_ten[-power];
    else
        magnitude *= powers_of_ten[power];
    /* The sign by its bit: as a branch it would be mispredicted every other time. */
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof(bits));
    bits |= (uint64_t)scan->negative << 63;
    memcpy(out, &bits, sizeof(bits));
    return true;
}

/* For a number outside a type's range: whether it is too small rather than too large. Its first
 * digit that is not zero decides, far from 1 as such numbers are. */
static bool is_tiny(const char *text, size_t length, const onnxd_number_scan *scan)
{
    int64_t magnitude = 0;
    bool in_fraction = false;
    size_t i = scan->negative ? 1 : 0;
    for (; i < length && (text[i] == '0' || text[i] == '.'); i++) {
        if (text[i] == '.')
            in_fraction = true;
        else if (in_fraction)
            magnitude--;
    }
    if (!in_fraction)
        for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            magnitude++;
    return magnitude + scan->exponent < 0;
}

bool onnxd_parse_f64(const char *text, size_t length, double *out)
{
    if (length == 0)
        return false;
    onnxd_number_scan scan;
    const char *end = text + length;
    if (onnxd_scan_number(text, end, &scan) != end)
        return parse_special(text, length, out);
    if (convert_exactly(&scan, out))
        return true;
    double value = scan.negative ? -0.0 : 0.0;
    if (!onnxd_convert_to_f64(text, length, &value) && !is_tiny(text, length, &scan))
        return false;
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

/* Narrows what convert_exactly() made, which is zero or between 1e-22 and 1e38, where floats have
 * all their digits. This is a second rounding; it is wrong only if the first one ended in the
 * middle between two floats, and false then. */
static bool narrow(double value, float *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if ((bits & (((uint64_t)1 << 29) - 1)) == (uint64_t)1 << 28)
        return false;
    *out = (float)value;
    return true;
}

bool onnxd_parse_f32(const char *text, size_t length, float *out)
{
    if (length == 0)
        return false;
    onnxd_number_scan scan;
    const char *end = text + length;
    double wide;
    if (onnxd_scan_number(text, end, &scan) != end) {
        if (!parse_special(text, length, &wide))
            return false;
        *out = (float)wide;
        return true;
    }
    if (convert_exactly(&scan, &wide) && narrow(wide, out))
        return true;
    float value = scan.negative ? -0.0f : 0.0f;
    if (!onnxd_convert_to_f32(text, length, &value) && !is_tiny(text, length, &scan))
        return false;
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

static size_t copy_text(char *buffer, const char *text)
{
    size_t length = strlen(text);
    memcpy(buffer, text, length);
    return length;
}

static size_t format_special(char *buffer, double value)
{
    if (isnan(value))
        return copy_text(buffer, "NaN");
    return copy_text(buffer, value > 0 ? "Infinity" : "-Infinity");
}

/* Floats look like floats: a text of digits alone gets a fraction. */
static size_t finish_float(char *buffer, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (buffer[i] == '.' || buffer[i] == 'e')
            return length;
    memcpy(buffer + length, ".0", 2);
    return length + 2;
}

size_t onnxd_format_f64(char *buffer, double value)
{
    if (!isfinite(value))
        return format_special(buffer, value);
    return finish_float(buffer, onnxd_convert_from_f64(buffer, ONNXD_NUMBER_TEXT - 2, value));
}

size_t onnxd_format_f32(char *buffer, float value)
{
    if (!isfinite(value))
        return format_special(buffer, (double)value);
    return finish_float(buffer, onnxd_convert_from_f32(buffer, ONNXD_NUMBER_TEXT - 2, value));
}

size_t onnxd_format_u64(char *buffer, uint64_t value)
{
    char reversed[20];
    size_t length = 0;
    do {
        reversed[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < length; i++)
        buffer[i] = reversed[length - 1 - i];
    return length;
}

size_t onnxd_format_i64(char *buffer, int64_t value)
{
    if (value >= 0)
        return onnxd_format_u64(buffer, (uint64_t)value);
    buffer[0] = '-';
    return 1 + onnxd_format_u64(buffer + 1, 0 - (uint64_t)value);
}

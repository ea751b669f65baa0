#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "ops/convert.h"

/* Digits beyond this cannot change a double, and a text that has them is refused. */
#define MAX_TEXT 800

size_t onnxd_wide_format(onnxd_wide_kind kind, onnxd_wide value, char *buffer)
{
    if (kind == ONNXD_WIDE_SIGNED)
        return onnxd_format_i64(buffer, value.i);
    if (kind == ONNXD_WIDE_UNSIGNED)
        return onnxd_format_u64(buffer, value.u);
    int length;
    if (isnan(value.f))
        length = snprintf(buffer, ONNXD_WIDE_TEXT, "NaN");
    else if (isinf(value.f))
        length = snprintf(buffer, ONNXD_WIDE_TEXT, value.f > 0 ? "INF" : "-INF");
    else
        length = snprintf(buffer, ONNXD_WIDE_TEXT, "%.8g", value.f);
    return length < 0 ? 0 : (size_t)length;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* digits [. digits] [e [sign] digits], with a digit before or after the point. */
static bool is_decimal(const char *text)
{
    size_t whole = strspn(text, "0123456789");
    text += whole;
    size_t fraction = 0;
    if (*text == '.') {
        fraction = strspn(text + 1, "0123456789");
        text += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-')
            text++;
        size_t digits = strspn(text, "0123456789");
        if (digits == 0)
            return false;
        text += digits;
    }
    return *text == '\0';
}

static bool is_special(const char *text)
{
    return strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0 ||
           strcasecmp(text, "nan") == 0;
}

/* `text` is digits with an optional sign; false when it does not fit. */
static bool parse_integer(const char *text, onnxd_wide_kind *inout_kind, onnxd_wide *out_value)
{
    errno = 0;
    if (*inout_kind == ONNXD_WIDE_UNSIGNED && *text != '-') {
        unsigned long long value = strtoull(text, NULL, 10);
        if (errno != 0)
            return false;
        out_value->u = value;
        return true;
    }
    long long value = strtoll(text, NULL, 10);
    if (errno != 0)
        return false;
    *inout_kind = ONNXD_WIDE_SIGNED;
    out_value->i = value;
    return true;
}

bool onnxd_wide_parse(const onnxd_string *text, onnxd_wide_kind *inout_kind, onnxd_wide *out_value)
{
    const char *first = text->data;
    size_t length = text->size;
    while (length > 0 && is_blank(*first)) {
        first++;
        length--;
    }
    while (length > 0 && is_blank(first[length - 1]))
        length--;
    char copy[MAX_TEXT + 1];
    if (length == 0 || length > MAX_TEXT)
        return false;
    memcpy(copy, first, length);
    copy[length] = '\0';
    const char *number = copy + (copy[0] == '+' || copy[0] == '-');
    if (strlen(copy) != length)
        return false;
    if (*inout_kind != ONNXD_WIDE_FLOAT && *number != '\0' &&
        number[strspn(number, "0123456789")] == '\0')
        return parse_integer(copy, inout_kind, out_value);
    if (!is_special(number) && !is_decimal(number))
        return false;
    double value = strtod(copy, NULL);
    if (isinf(value) && !is_special(number))
        return false;
    *inout_kind = ONNXD_WIDE_FLOAT;
    out_value->f = value;
    return true;
}

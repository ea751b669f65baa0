/*
 * The grammar of a number after RFC 8259, shared by the JSON reader, which needs its end, and by
 * the parsers, which need its digits. Inline, because it runs once per tensor element: what a
 * caller does not read costs nothing.
 */
#ifndef ONNXD_BASE_NUMBER_SCAN_H
#define ONNXD_BASE_NUMBER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Up to this many digits always fit `digits` below. */
#define ONNXD_SCAN_EXACT_DIGITS 19
/* Exponents are cut here: further out than any text is long, so its digits cannot make up for it.
 */
#define ONNXD_SCAN_MAX_EXPONENT ((int64_t)1 << 56)

typedef struct onnxd_number_scan {
    bool negative;
    uint64_t digits;        /* all digits as one integer; modulo 2^64 beyond EXACT_DIGITS */
    size_t digit_count;     /* leading zeros included */
    size_t fraction_digits; /* of those, behind the point */
    int64_t exponent;       /* as written */
} onnxd_number_scan;

static inline const char *onnxd_scan_digits(const char *cursor, const char *end, uint64_t *digits)
{
    uint64_t value = *digits;
    while (cursor != end) {
        unsigned digit = (unsigned)(unsigned char)*cursor - '0';
        if (digit > 9)
            break;
        value = value * 10 + digit;
        cursor++;
    }
    *digits = value;
    return cursor;
}

/* The digits of an exponent, its letter already read; NULL when there are none. */
static inline const char *onnxd_scan_exponent(const char *cursor, const char *end, int64_t *out)
{
    bool negative = false;
    if (cursor != end && (*cursor == '+' || *cursor == '-')) {
        negative = *cursor == '-';
        cursor++;
    }
    const char *start = cursor;
    int64_t value = 0;
    for (; cursor != end && (unsigned)(unsigned char)*cursor - '0' <= 9; cursor++)
        if (value < ONNXD_SCAN_MAX_EXPONENT / 16)
            value = value * 10 + (*cursor - '0');
    *out = negative ? -value : value;
    return cursor != start ? cursor : NULL;
}

/* The end of the number that starts at `cursor`, NULL when there is no well-formed one. The first
 * byte that does not continue the number ends it, whatever it is. */
static inline const char *onnxd_scan_number(const char *cursor, const char *end,
                                            onnxd_number_scan *out)
{
    onnxd_number_scan scan = {0};
    if (cursor != end && *cursor == '-') {
        scan.negative = true;
        cursor++;
    }
    const char *start = cursor;
    if (cursor != end && *cursor == '0')
        cursor++;
    else
        cursor = onnxd_scan_digits(cursor, end, &scan.digits);
    if (cursor == start)
        return NULL;
    scan.digit_count = (size_t)(cursor - start);
    if (cursor != end && *cursor == '.') {
        start = ++cursor;
        cursor = onnxd_scan_digits(cursor, end, &scan.digits);
        if (cursor == start)
            return NULL;
        scan.fraction_digits = (size_t)(cursor - start);
        scan.digit_count += scan.fraction_digits;
    }
    if (cursor != end && (*cursor == 'e' || *cursor == 'E')) {
        cursor = onnxd_scan_exponent(cursor + 1, end, &scan.exponent);
        if (cursor == NULL)
            return NULL;
    }
    *out = scan;
    return cursor;
}

#endif

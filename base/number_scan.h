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
#include <string.h>

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

/* Eight characters at a time, the first in the lowest byte. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as little-endian");

/* How many of the word's first bytes are digits' values, '0' taken off them before. A carry can
 * spoil only what lies behind the first byte that is none. */
static inline unsigned onnxd_scan_count_digits(uint64_t values)
{
    uint64_t others = ((values + 0x7676767676767676u) | values) & 0x8080808080808080u;
    return others == 0 ? 8 : (unsigned)__builtin_ctzll(others) / 8;
}

/* Eight digits' values as one integer: pairs, then fours, then all, each step in one
 * multiplication. */
static inline uint64_t onnxd_scan_join_digits(uint64_t values)
{
    values = (values * 10 + (values >> 8)) & 0x00ff00ff00ff00ffu;
    values = (values * 100 + (values >> 16)) & 0x0000ffff0000ffffu;
    return (values * 10000 + (values >> 32)) & 0xffffffffu;
}

/* Reads digits at `cursor` onto *digits and returns their end. text <= cursor <= end bound what may
 * be read; where there is a whole word on either side it is taken without a branch for each digit,
 * since their number is what a branch predictor cannot know. */
static inline const char *onnxd_scan_digits(const char *text, const char *cursor, const char *end,
                                            uint64_t *digits)
{
    static const uint64_t powers[9] = {1,      10,      100,      1000,     10000,
                                       100000, 1000000, 10000000, 100000000};
    uint64_t value = *digits;
    while (end - cursor >= 8 || (cursor != end && end - text >= 8)) {
        uint64_t word;
        if (end - cursor >= 8) {
            memcpy(&word, cursor, sizeof(word));
        } else {
            /* The last word of the text, moved so that it starts at the cursor. */
            memcpy(&word, end - 8, sizeof(word));
            word >>= 8 * (8 - (end - cursor));
        }
        word ^= 0x3030303030303030u;
        unsigned count = onnxd_scan_count_digits(word);
        if (count != 0)
            value = value * powers[count] + onnxd_scan_join_digits(word << (64 - 8 * count));
        cursor += count;
        if (count != 8) {
            *digits = value;
            return cursor;
        }
    }
    for (; cursor != end && (unsigned)(unsigned char)*cursor - '0' <= 9; cursor++)
        value = value * 10 + (unsigned)(*cursor - '0');
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
    const char *text = cursor;
    scan.negative = cursor != end && *cursor == '-';
    cursor += scan.negative ? 1 : 0;
    const char *start = cursor;
    cursor = onnxd_scan_digits(text, cursor, end, &scan.digits);
    if (cursor == start || (cursor - start > 1 && *start == '0'))
        return NULL;
    scan.digit_count = (size_t)(cursor - start);
    if (cursor != end && *cursor == '.') {
        start = ++cursor;
        cursor = onnxd_scan_digits(text, cursor, end, &scan.digits);
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

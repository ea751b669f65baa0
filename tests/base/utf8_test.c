#include "base/utf8.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

/* The encoding of a code point, valid or not, in the shortest form. */
static size_t encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint32_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 63));
        point >>= 6;
    }
    out[0] = (char)(leads[length] | point);
    return length;
}

Test(utf8, every_code_point)
{
    for (uint32_t point = 0; point < 0x1fffff; point++) {
        char text[4];
        size_t length = encode(point, text);
        bool valid = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        size_t found = onnxd_utf8_sequence(text, length);
        if (found != (valid ? length : 0))
            cr_assert_fail("code point U+%X gives %zu", point, found);
        for (size_t cut = 1; cut < length; cut++)
            if (onnxd_utf8_sequence(text, cut) != 0)
                cr_assert_fail("code point U+%X cut to %zu is accepted", point, cut);
    }
    cr_assert_eq(onnxd_utf8_sequence("", 0), 0);
}

Test(utf8, malformed)
{
    static const char *const texts[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xc3(",
        "\xe2\x82(",
        "\xf0\x9f\x98",
        "\xe2(\xac",
        "\xf8\x88\x80\x80\x80",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_assert_eq(onnxd_utf8_sequence(texts[i], strlen(texts[i])), 0, "text %zu", i);
        cr_assert_not(onnxd_utf8_is_valid(texts[i], strlen(texts[i])));
    }
}

Test(utf8, validity_at_every_position)
{
    char text[40];
    for (size_t position = 0; position < sizeof(text) - 1; position++) {
        memset(text, 'a', sizeof(text));
        cr_assert(onnxd_utf8_is_valid(text, sizeof(text)));
        text[position] = (char)0xff;
        cr_assert_not(onnxd_utf8_is_valid(text, sizeof(text)));
        memcpy(text + position, "\xc3\xa9", 2);
        cr_assert(onnxd_utf8_is_valid(text, sizeof(text)));
    }
    cr_assert(onnxd_utf8_is_valid(NULL, 0));
}

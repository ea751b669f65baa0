#include "base/json_escape.h"

#include <string.h>

#include "base/json_reader.h"
#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* The letter of the two-character escape, 0 where there is none. */
static char short_escape(unsigned char byte)
{
    switch (byte) {
    case '"':
        return '"';
    case '\\':
        return '\\';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

static size_t escape_byte(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    char letter = short_escape(byte);
    out[0] = '\\';
    if (letter != 0) {
        out[1] = letter;
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = digits[byte >> 4];
    out[5] = digits[byte & 15];
    return 6;
}

size_t onnxd_json_escape(char *buffer, const char *text, size_t length)
{
    char *out = buffer;
    size_t position = 0;
    while (position < length) {
        unsigned char byte = (unsigned char)text[position];
        if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f) {
            out += escape_byte(out, byte);
            position++;
            continue;
        }
        size_t step = onnxd_utf8_sequence(text + position, length - position);
        if (step == 0) {
            memcpy(out, replacement, 3);
            out += 3;
            position++;
            continue;
        }
        memcpy(out, text + position, step);
        out += step;
        position += step;
    }
    return (size_t)(out - buffer);
}

/* The value of four hexadecimal digits, -1 when they are not. */
static int32_t read_hex4(const char *text, size_t length)
{
    int32_t value = 0;
    if (length < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        char c = text[i];
        int digit;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        else
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The character that a backslash and `letter` stand for, 0 for none (and for 'u'). */
static char simple_escape(char letter)
{
    switch (letter) {
    case '"':
    case '\\':
    case '/':
        return letter;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

size_t onnxd_json_read_escape(const char *text, size_t length, uint32_t *out_character)
{
    if (length < 2)
        return 0;
    if (text[1] != 'u') {
        char simple = simple_escape(text[1]);
        *out_character = (unsigned char)simple;
        return simple != 0 ? 2 : 0;
    }
    int32_t high = read_hex4(text + 2, length - 2);
    if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    if (high < 0xd800 || high > 0xdbff) {
        *out_character = (uint32_t)high;
        return 6;
    }
    if (length < 12 || text[6] != '\\' || text[7] != 'u')
        return 0;
    int32_t low = read_hex4(text + 8, length - 8);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *out_character = 0x10000u + (((uint32_t)high - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u);
    return 12;
}

static size_t write_utf8(uint32_t character, char out[4])
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char leads[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (character & 0x3fu));
        character >>= 6;
    }
    out[0] = (char)(leads[length] | character);
    return length;
}

bool onnxd_json_text_is(const onnxd_json_token *token, const char *expected)
{
    size_t expected_length = strlen(expected);
    if (!token->has_escapes)
        return token->length == expected_length &&
               memcmp(token->text, expected, expected_length) == 0;
    size_t matched = 0;
    size_t position = 0;
    while (position < token->length) {
        char bytes[4];
        size_t count = 1;
        size_t step = 1;
        bytes[0] = token->text[position];
        if (bytes[0] == '\\') {
            uint32_t character;
            step = onnxd_json_read_escape(token->text + position, token->length - position,
                                          &character);
            count = write_utf8(character, bytes);
        }
        if (count > expected_length - matched || memcmp(bytes, expected + matched, count) != 0)
            return false;
        matched += count;
        position += step;
    }
    return matched == expected_length;
}

/* Decodes into `out`, or only counts when it is NULL. Writes never pass what was read, which is why
 * `out` may be the text itself. */
static size_t decode(const onnxd_json_token *token, char *out)
{
    size_t written = 0;
    size_t position = 0;
    while (position < token->length) {
        const char *from = token->text + position;
        size_t left = token->length - position;
        const char *escape = token->has_escapes ? memchr(from, '\\', left) : NULL;
        size_t plain = escape != NULL ? (size_t)(escape - from) : left;
        if (out != NULL && plain != 0)
            memmove(out + written, from, plain);
        written += plain;
        position += plain;
        if (escape == NULL)
            break;
        char bytes[4];
        uint32_t character = 0;
        position += onnxd_json_read_escape(escape, left - plain, &character);
        size_t count = write_utf8(character, bytes);
        if (out != NULL)
            memcpy(out + written, bytes, count);
        written += count;
    }
    return written;
}

size_t onnxd_json_decoded_length(const onnxd_json_token *token)
{
    return token->has_escapes ? decode(token, NULL) : token->length;
}

void onnxd_json_decode(const onnxd_json_token *token, char *out)
{
    decode(token, out);
}

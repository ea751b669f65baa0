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

#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t onnxd_utf8_sequence(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 0)
        return 0;
    unsigned char lead = bytes[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    size_t need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length < need)
        return 0;
    /* The second byte's range shuts out overlong forms, surrogates and what is past U+10FFFF. */
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if (!is_continuation(bytes[i]))
            return 0;
    return need;
}

bool onnxd_utf8_is_valid(const char *text, size_t length)
{
    size_t position = 0;
    while (position < length) {
        uint64_t word;
        if (length - position >= sizeof(word)) {
            memcpy(&word, text + position, sizeof(word));
            if ((word & 0x8080808080808080u) == 0) {
                position += sizeof(word);
                continue;
            }
        }
        size_t step = onnxd_utf8_sequence(text + position, length - position);
        if (step == 0)
            return false;
        position += step;
    }
    return true;
}

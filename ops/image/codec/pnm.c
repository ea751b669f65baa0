/* Portable bitmaps, graymaps and pixmaps, as text (P1 to P3) and as bytes (P4 to P6). */
#include <string.h>

#include "ops/image/codec/codec.h"

typedef struct reader {
    const uint8_t *data;
    size_t bytes, at;
} reader;

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_blanks(reader *r)
{
    while (r->at < r->bytes) {
        if (r->data[r->at] == '#')
            while (r->at < r->bytes && r->data[r->at] != '\n')
                r->at++;
        else if (is_blank(r->data[r->at]))
            r->at++;
        else
            return;
    }
}

/* A number of at most `most`. */
static bool read_number(reader *r, uint32_t most, uint32_t *out)
{
    uint32_t value = 0;
    skip_blanks(r);
    const size_t first = r->at;
    while (r->at < r->bytes && r->data[r->at] >= '0' && r->data[r->at] <= '9') {
        value = value * 10 + (uint32_t)(r->data[r->at++] - '0');
        if (value > most)
            return false;
    }
    *out = value;
    return r->at > first;
}

typedef struct picture {
    char kind; /* '1' to '6' */
    uint32_t width, height, greatest;
    unsigned channels;
    size_t row_bytes; /* of the kinds in bytes */
} picture;

static bool read_header(reader *r, picture *p)
{
    if (r->bytes < 3 || r->data[0] != 'P' || r->data[1] < '1' || r->data[1] > '6')
        return false;
    p->kind = (char)r->data[1];
    r->at = 2;
    p->greatest = 1;
    if (!read_number(r, ONNXD_IMAGE_MAX_SIDE, &p->width) ||
        !read_number(r, ONNXD_IMAGE_MAX_SIDE, &p->height))
        return false;
    const bool is_bitmap = p->kind == '1' || p->kind == '4';
    if (!is_bitmap && (!read_number(r, 65535, &p->greatest) || p->greatest == 0))
        return false;
    p->channels = p->kind == '3' || p->kind == '6' ? 3 : 1;
    const size_t sample_bytes = p->greatest > 255 ? 2 : 1;
    p->row_bytes =
        p->kind == '4' ? ((size_t)p->width + 7) / 8 : (size_t)p->width * p->channels * sample_bytes;
    return true;
}

static bool next_sample(reader *r, const picture *p, size_t x, uint32_t *out)
{
    switch (p->kind) {
    case '1':
        skip_blanks(r);
        if (r->at == r->bytes || (r->data[r->at] != '0' && r->data[r->at] != '1'))
            return false;
        *out = r->data[r->at++] == '0';
        return true;
    case '2':
    case '3':
        return read_number(r, p->greatest, out);
    case '4':
        *out = (r->data[r->at + x / 8] >> (7 - x % 8) & 1) == 0;
        return true;
    default:
        *out = r->data[r->at++];
        if (p->greatest > 255)
            *out = *out << 8 | r->data[r->at++];
        return true;
    }
}

static bool read_row(reader *r, const picture *p, uint8_t *out)
{
    for (size_t x = 0; x < p->width; x++, out += 3)
        for (unsigned c = 0; c < p->channels; c++) {
            uint32_t value;
            if (!next_sample(r, p, x, &value))
                return false;
            value = value > p->greatest ? p->greatest : value;
            const uint8_t byte = (uint8_t)((value * 255u + p->greatest / 2) / p->greatest);
            if (p->channels == 1)
                memset(out, byte, 3);
            else
                out[c] = byte;
        }
    if (p->kind == '4')
        r->at += p->row_bytes;
    return true;
}

bool onnxd_decode_pnm(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    reader r = {data, bytes, 0};
    picture p = {.kind = '0'};
    if (!read_header(&r, &p))
        return false;
    if (p.kind >= '4') {
        r.at++; /* one blank ends the header */
        if (r.at > bytes || (bytes - r.at) / (p.row_bytes == 0 ? 1 : p.row_bytes) < p.height)
            return false;
    } else if (bytes - r.at < (size_t)p.width * p.height) {
        return false; /* not even a digit for each */
    }
    uint8_t *pixels = onnxd_image_room_make(room, p.width, p.height);
    for (size_t y = 0; y < p.height && pixels != NULL; y++)
        if (!read_row(&r, &p, pixels + y * p.width * 3))
            return false;
    return pixels != NULL;
}

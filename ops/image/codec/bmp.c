/* BMP: uncompressed pictures of 1, 4, 8, 24 and 32 bits per pixel, as Windows and OS/2 write them.
 */
#include <string.h>

#include "ops/image/codec/codec.h"

#define FILE_HEADER 14u

typedef struct header {
    uint32_t offset, size; /* of the pixels; of the second header */
    int64_t width, height; /* a negative height: rows from the top */
    uint32_t bits, compression, colors, color_bytes;
} header;

static uint32_t u16(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

static uint32_t u32(const uint8_t *data)
{
    return u16(data) | u16(data + 2) << 16;
}

static bool read_header(const uint8_t *data, size_t bytes, header *out)
{
    if (bytes < FILE_HEADER + 12 || memcmp(data, "BM", 2) != 0)
        return false;
    const uint8_t *info = data + FILE_HEADER;
    header h = {.offset = u32(data + 10), .size = u32(info), .color_bytes = 4};
    if (h.size == 12) {
        h.width = u16(info + 4);
        h.height = u16(info + 6);
        h.bits = u16(info + 10);
        h.color_bytes = 3;
    } else if (h.size >= 40 && h.size <= 1024 && bytes >= FILE_HEADER + h.size) {
        h.width = (int32_t)u32(info + 4);
        h.height = (int32_t)u32(info + 8);
        h.bits = u16(info + 14);
        h.compression = u32(info + 16);
        h.colors = u32(info + 32);
    } else {
        return false;
    }
    if (h.bits <= 8 && (h.colors == 0 || h.colors > 1u << h.bits))
        h.colors = h.bits == 0 ? 0 : 1u << h.bits;
    *out = h;
    return true;
}

/* Bit fields are read only where they are what uncompressed pictures have. */
static bool has_plain_fields(const header *h, const uint8_t *data, size_t bytes)
{
    if (h->compression == 0)
        return true;
    const uint8_t *masks = data + FILE_HEADER + 40;
    return h->compression == 3 && h->bits == 32 && bytes >= FILE_HEADER + 52 &&
           u32(masks) == 0xff0000 && u32(masks + 4) == 0xff00 && u32(masks + 8) == 0xff;
}

static bool is_readable(const header *h, const uint8_t *data, size_t bytes, uint64_t *out_stride)
{
    const int64_t height = h->height < 0 ? -h->height : h->height;
    const bool is_known =
        h->bits == 1 || h->bits == 4 || h->bits == 8 || h->bits == 24 || h->bits == 32;
    if (!is_known || h->width <= 0 || h->width > ONNXD_IMAGE_MAX_SIDE || height == 0 ||
        height > ONNXD_IMAGE_MAX_SIDE || !has_plain_fields(h, data, bytes))
        return false;
    const uint64_t stride = ((uint64_t)h->width * h->bits + 31) / 32 * 4;
    const uint64_t colors = h->bits > 8 ? 0 : (uint64_t)h->colors * h->color_bytes;
    *out_stride = stride;
    return FILE_HEADER + (uint64_t)h->size + colors <= bytes &&
           h->offset + stride * (uint64_t)height <= bytes;
}

static void write_row(const header *h, const uint8_t *colors, const uint8_t *row, uint8_t *out)
{
    static const uint8_t black[4] = {0};
    for (size_t x = 0; x < (size_t)h->width; x++, out += 3) {
        const uint8_t *pixel = row + x * (h->bits / 8);
        if (h->bits <= 8) {
            const size_t bit = x * h->bits;
            const unsigned shift = 8 - h->bits - (unsigned)(bit % 8);
            const uint32_t index = (uint32_t)row[bit / 8] >> shift & ((1u << h->bits) - 1);
            pixel = index < h->colors ? colors + (size_t)index * h->color_bytes : black;
        }
        out[0] = pixel[2];
        out[1] = pixel[1];
        out[2] = pixel[0];
    }
}

bool onnxd_decode_bmp(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    header h;
    uint64_t stride;
    if (!read_header(data, bytes, &h) || !is_readable(&h, data, bytes, &stride))
        return false;
    const size_t height = (size_t)(h.height < 0 ? -h.height : h.height);
    uint8_t *pixels = onnxd_image_room_make(room, (uint64_t)h.width, height);
    if (pixels == NULL)
        return false;
    for (size_t y = 0; y < height; y++) {
        const size_t from = h.height < 0 ? y : height - 1 - y;
        write_row(&h, data + FILE_HEADER + h.size, data + h.offset + from * stride,
                  pixels + y * (size_t)h.width * 3);
    }
    return true;
}

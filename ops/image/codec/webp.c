/* WebP by libwebp. */
#include <webp/decode.h>

#include "ops/image/codec/codec.h"

bool onnxd_decode_webp(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    int width, height;
    if (WebPGetInfo(data, bytes, &width, &height) == 0 || width <= 0 || height <= 0)
        return false;
    /* The lossless kind is decoded to words first. */
    if (!onnxd_image_room_allows(room, (uint64_t)width, (uint64_t)height, sizeof(uint32_t)))
        return false;
    uint8_t *pixels = onnxd_image_room_make(room, (uint64_t)width, (uint64_t)height);
    return pixels != NULL &&
           WebPDecodeRGBInto(data, bytes, pixels, (size_t)width * (size_t)height * 3, width * 3) !=
               NULL;
}

#include "ops/image/codec/codec.h"

#include <inttypes.h>

uint8_t *onnxd_image_room_make(onnxd_image_room *room, uint64_t width, uint64_t height)
{
    uint8_t *pixels = NULL;
    if (width == 0 || height == 0 || width > ONNXD_IMAGE_MAX_SIDE || height > ONNXD_IMAGE_MAX_SIDE)
        return NULL;
    room->status = room->make(room, (size_t)width, (size_t)height, &pixels);
    return room->status == NULL ? pixels : NULL;
}

bool onnxd_image_room_allows(onnxd_image_room *room, uint64_t width, uint64_t height,
                             uint64_t pixel_bytes)
{
    /* Sides and bytes are small enough for the product. */
    if (width > ONNXD_IMAGE_MAX_SIDE || height > ONNXD_IMAGE_MAX_SIDE || pixel_bytes > UINT16_MAX)
        return false;
    const uint64_t bytes = width * height * pixel_bytes;
    if (bytes <= ONNXD_IMAGE_MAX_SCRATCH)
        return true;
    room->status = onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                               "decoding a picture of %" PRIu64 " x %" PRIu64 " takes %" PRIu64
                               " bytes, %zu are allowed",
                               width, height, bytes, ONNXD_IMAGE_MAX_SCRATCH);
    return false;
}

#include "ops/image/codec/codec.h"

uint8_t *onnxd_image_room_make(onnxd_image_room *room, uint64_t width, uint64_t height)
{
    uint8_t *pixels = NULL;
    if (width == 0 || height == 0 || width > ONNXD_IMAGE_MAX_SIDE || height > ONNXD_IMAGE_MAX_SIDE)
        return NULL;
    room->status = room->make(room, (size_t)width, (size_t)height, &pixels);
    return room->status == NULL ? pixels : NULL;
}

/* JPEG by libjpeg-turbo, with the upsampling that ONNX asks for, its default. */
#include <turbojpeg.h>

#include "ops/image/codec/codec.h"

static bool decode(tjhandle decoder, const uint8_t *data, unsigned long bytes,
                   onnxd_image_room *room)
{
    int width, height, subsampling, colors;
    if (tjDecompressHeader3(decoder, data, bytes, &width, &height, &subsampling, &colors) != 0 ||
        width <= 0 || height <= 0)
        return false;
    uint8_t *pixels = onnxd_image_room_make(room, (uint64_t)width, (uint64_t)height);
    return pixels != NULL && tjDecompress2(decoder, data, bytes, pixels, width, width * 3, height,
                                           TJPF_RGB, TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING) == 0;
}

bool onnxd_decode_jpeg(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    if (bytes < 3 || data[0] != 0xff || data[1] != 0xd8 || data[2] != 0xff)
        return false;
    tjhandle decoder = tjInitDecompress();
    if (decoder == NULL)
        return false;
    const bool is_good = decode(decoder, data, (unsigned long)bytes, room);
    (void)tjDestroy(decoder);
    return is_good;
}

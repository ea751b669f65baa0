/* PNG by libpng's simplified interface. Transparency is dropped, not blended. */
#include <string.h>

#include <png.h>

#include "base/alloc.h"
#include "ops/image/codec/codec.h"

bool onnxd_decode_png(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    png_image image;
    bool is_good = false;
    if (bytes < 8 || png_sig_cmp(data, 0, 8) != 0)
        return false;
    memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image, data, bytes) == 0)
        return false;
    const bool has_alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    uint8_t *pixels = NULL;
    if (!has_alpha || onnxd_image_room_allows(room, image.width, image.height, 4))
        pixels = onnxd_image_room_make(room, image.width, image.height);
    if (pixels == NULL) {
        png_image_free(&image);
        return false;
    }
    if (!has_alpha)
        return png_image_finish_read(&image, NULL, pixels, 0, NULL) != 0;
    const size_t count = (size_t)image.width * image.height;
    uint8_t *rgba = onnxd_alloc_zero(count, 4);
    if (rgba != NULL)
        is_good = png_image_finish_read(&image, NULL, rgba, 0, NULL) != 0;
    for (size_t i = 0; i < count && is_good; i++)
        memcpy(pixels + 3 * i, rgba + 4 * i, 3);
    png_image_free(&image);
    onnxd_free(rgba);
    return is_good;
}

/* TIFF by libtiff, from memory. */
#include <string.h>

#include <tiffio.h>

#include "base/alloc.h"
#include "ops/image/codec/codec.h"

typedef struct source {
    const uint8_t *data;
    size_t bytes, at;
} source;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t count)
{
    source *s = (source *)handle;
    const size_t left = s->bytes - s->at;
    const size_t taken = count < 0 ? 0 : (size_t)count < left ? (size_t)count : left;
    memcpy(to, s->data + s->at, taken);
    s->at += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_nothing(thandle_t handle, void *from, tmsize_t count)
{
    (void)handle, (void)from, (void)count;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    source *s = (source *)handle;
    const toff_t base = whence == SEEK_CUR ? s->at : whence == SEEK_END ? s->bytes : 0;
    const toff_t to = base + offset;
    s->at = to > s->bytes ? s->bytes : (size_t)to;
    return s->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    return ((const source *)handle)->bytes;
}

static int say_nothing(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    (void)tiff, (void)user, (void)module, (void)format, (void)args;
    return 1;
}

static TIFF *open_source(source *s)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL)
        return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)ONNXD_IMAGE_MAX_SCRATCH);
    TIFFOpenOptionsSetErrorHandlerExtR(options, say_nothing, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, say_nothing, NULL);
    TIFF *tiff = TIFFClientOpenExt("memory", "rm", (thandle_t)s, read_bytes, write_nothing, seek,
                                   close_nothing, size_of, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

/* The library's words hold red in the lowest byte. */
static bool read_pixels(TIFF *tiff, uint32_t width, uint32_t height, uint8_t *pixels)
{
    const size_t count = (size_t)width * height;
    uint32_t *words = onnxd_alloc_zero(count, sizeof(uint32_t));
    if (words == NULL)
        return false;
    const bool is_good =
        TIFFReadRGBAImageOriented(tiff, width, height, words, ORIENTATION_TOPLEFT, 1) != 0;
    for (size_t i = 0; i < count && is_good; i++) {
        pixels[3 * i] = (uint8_t)TIFFGetR(words[i]);
        pixels[3 * i + 1] = (uint8_t)TIFFGetG(words[i]);
        pixels[3 * i + 2] = (uint8_t)TIFFGetB(words[i]);
    }
    onnxd_free(words);
    return is_good;
}

bool onnxd_decode_tiff(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    source s = {data, bytes, 0};
    uint32_t width = 0, height = 0;
    bool is_good = false;
    if (bytes < 4 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0))
        return false;
    TIFF *tiff = open_source(&s);
    if (tiff == NULL)
        return false;
    if (TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) == 1 &&
        TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) == 1 &&
        onnxd_image_room_allows(room, width, height, sizeof(uint32_t))) {
        uint8_t *pixels = onnxd_image_room_make(room, width, height);
        is_good = pixels != NULL && read_pixels(tiff, width, height, pixels);
    }
    TIFFClose(tiff);
    return is_good;
}

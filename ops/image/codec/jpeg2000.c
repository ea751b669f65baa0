/* JPEG 2000 by OpenJPEG: gray, RGB and YCC without subsampling. */
#include <string.h>

#include <openjpeg.h>

#include "ops/image/codec/codec.h"

/* Gray or colors, each with or without transparency. */
#define MAX_CHANNELS 4

typedef struct source {
    const uint8_t *data;
    size_t bytes, at;
} source;

static OPJ_SIZE_T read_bytes(void *to, OPJ_SIZE_T count, void *user)
{
    source *s = user;
    const size_t left = s->bytes - s->at;
    if (left == 0)
        return (OPJ_SIZE_T)-1;
    const size_t taken = count < left ? count : left;
    memcpy(to, s->data + s->at, taken);
    s->at += taken;
    return taken;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *user)
{
    source *s = user;
    if (count < 0)
        return -1;
    const size_t left = s->bytes - s->at;
    s->at += (uint64_t)count < left ? (size_t)count : left;
    return count;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *user)
{
    source *s = user;
    if (to < 0 || (uint64_t)to > s->bytes)
        return OPJ_FALSE;
    s->at = (size_t)to;
    return OPJ_TRUE;
}

static opj_stream_t *open_source(source *s)
{
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    if (stream == NULL)
        return NULL;
    opj_stream_set_user_data(stream, s, NULL);
    opj_stream_set_user_data_length(stream, s->bytes);
    opj_stream_set_read_function(stream, read_bytes);
    opj_stream_set_skip_function(stream, skip_bytes);
    opj_stream_set_seek_function(stream, seek);
    return stream;
}

/* A sample of any depth and sign as a byte. */
static int32_t sample(const opj_image_comp_t *component, size_t index)
{
    int32_t value = component->data[index];
    if (component->sgnd != 0)
        value += 1 << (component->prec - 1);
    if (component->prec > 8)
        value = value >> (int)(component->prec - 8);
    else if (component->prec < 8)
        value = (int32_t)((int64_t)value * 255 / ((1 << component->prec) - 1));
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

static uint8_t clamp(double value)
{
    return (uint8_t)(value < 0.0 ? 0.0 : value > 255.0 ? 255.0 : value + 0.5);
}

/* BT.601, full range. */
static void convert_ycc(uint8_t *pixel)
{
    const double y = pixel[0], cb = pixel[1] - 128.0, cr = pixel[2] - 128.0;
    pixel[0] = clamp(y + 1.402 * cr);
    pixel[1] = clamp(y - 0.344136 * cb - 0.714136 * cr);
    pixel[2] = clamp(y + 1.772 * cb);
}

static bool is_plain(const opj_image_t *image)
{
    if (image->numcomps < 1 || image->numcomps > MAX_CHANNELS)
        return false;
    for (uint32_t c = 0; c < image->numcomps; c++) {
        const opj_image_comp_t *component = &image->comps[c], *first = &image->comps[0];
        if (component->prec == 0 || component->prec > 31 || component->w != first->w ||
            component->h != first->h || component->dx != first->dx || component->dy != first->dy)
            return false;
    }
    return true;
}

static bool has_samples(const opj_image_t *image, uint32_t width, uint32_t height)
{
    for (uint32_t c = 0; c < image->numcomps; c++)
        if (image->comps[c].data == NULL)
            return false;
    return is_plain(image) && image->comps[0].w == width && image->comps[0].h == height;
}

/* The channels that a palette makes of each sample, which the library does not tell before it has
 * made them. The name of a palette's box is followed by two bytes of entries and one of channels;
 * the same bytes elsewhere in a file can only make a picture look larger. */
static uint64_t palette_channels(const source *s)
{
    static const char name[] = {'p', 'c', 'l', 'r'};
    const uint8_t *at = s->data, *const end = s->data + s->bytes;
    uint64_t most = 0;
    while ((at = memmem(at, (size_t)(end - at), name, sizeof(name))) != NULL) {
        at += sizeof(name);
        if (end - at > 2 && at[2] > most)
            most = at[2];
    }
    return most;
}

static void write_pixels(const opj_image_t *image, uint8_t *pixels)
{
    const opj_image_comp_t *comps = image->comps;
    const bool is_gray = image->numcomps < 3;
    const size_t count = (size_t)comps[0].w * comps[0].h;
    for (size_t i = 0; i < count; i++, pixels += 3) {
        for (uint32_t c = 0; c < 3; c++)
            pixels[c] = (uint8_t)sample(&comps[is_gray ? 0 : c], i);
        if (!is_gray && image->color_space == OPJ_CLRSPC_SYCC)
            convert_ycc(pixels);
    }
}

/* The library keeps all samples of all channels, as int32, from the first on: what the header
 * claims is checked before. */
static bool decode_samples(opj_codec_t *codec, opj_stream_t *stream, const source *s,
                           opj_image_t *image, onnxd_image_room *room)
{
    if (!is_plain(image) || image->x1 <= image->x0 || image->y1 <= image->y0)
        return false;
    const uint32_t width = image->comps[0].w, height = image->comps[0].h;
    const uint64_t channels = image->numcomps + palette_channels(s);
    if (!onnxd_image_room_allows(room, width, height, channels * sizeof(int32_t)))
        return false;
    uint8_t *pixels = onnxd_image_room_make(room, width, height);
    if (pixels == NULL || opj_decode(codec, stream, image) != OPJ_TRUE ||
        opj_end_decompress(codec, stream) != OPJ_TRUE || !has_samples(image, width, height))
        return false;
    write_pixels(image, pixels);
    return true;
}

static bool decode(opj_codec_t *codec, opj_stream_t *stream, const source *s,
                   onnxd_image_room *room)
{
    opj_dparameters_t parameters;
    opj_image_t *image = NULL;
    opj_set_default_decoder_parameters(&parameters);
    const bool is_good = opj_setup_decoder(codec, &parameters) == OPJ_TRUE &&
                         opj_read_header(stream, codec, &image) == OPJ_TRUE &&
                         decode_samples(codec, stream, s, image, room);
    opj_image_destroy(image);
    return is_good;
}

bool onnxd_decode_jpeg2000(const uint8_t *data, size_t bytes, onnxd_image_room *room)
{
    static const uint8_t box[] = {0, 0, 0, 12, 'j', 'P', ' ', ' ', 0x0d, 0x0a, 0x87, 0x0a};
    static const uint8_t raw[] = {0xff, 0x4f, 0xff, 0x51};
    source s = {data, bytes, 0};
    bool is_good = false;
    const bool is_box = bytes > sizeof(box) && memcmp(data, box, sizeof(box)) == 0;
    if (!is_box && (bytes <= sizeof(raw) || memcmp(data, raw, sizeof(raw)) != 0))
        return false;
    opj_codec_t *codec = opj_create_decompress(is_box ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    opj_stream_t *stream = open_source(&s);
    if (codec != NULL && stream != NULL)
        is_good = decode(codec, stream, &s, room);
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    return is_good;
}

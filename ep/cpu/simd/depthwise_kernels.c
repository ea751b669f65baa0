/*
 * Convolution channel by channel: several pixels of one row of the output at a time, whose sums
 * stay in registers while the taps go by. Vectors run along the channels.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

/* Pixels worked on together: their sums, a row of weights and an input fill the registers. With
 * stride 2 they share less of what they read. */
#define NEAR_PIXELS ((size_t)8)
#define FAR_PIXELS ((size_t)6)
#define ANY_PIXELS ((size_t)4)
#define ANY_VECTORS ((size_t)4)

typedef struct sums {
    vf of[NEAR_PIXELS];
} sums;

/* ---- taps ------------------------------------------------------------------------------------ */

/* One row of a window whose taps lie side by side. All but the addresses and `channels` is constant
 * wherever this is inlined. */
INLINED void add_row(const float *in, const float *weights, size_t channels, const size_t columns,
                     const size_t stride, const size_t pixels, sums *s)
{
    vf w[5];
    UNROLLED
    for (size_t k = 0; k < columns; k++)
        w[k] = vf_load(weights + k * channels);
    UNROLLED
    for (size_t j = 0; j < (pixels - 1) * stride + columns; j++, in += channels) {
        const vf x = vf_load(in);
        UNROLLED
        for (size_t p = 0; p < pixels; p++)
            if (j >= p * stride && j - p * stride < columns)
                s->of[p] += x * w[j - p * stride];
    }
}

/* One row of any window: the sums of `vectors` vectors for each of some pixels. */
INLINED void add_any_row(const onnxd_simd_depthwise *d, const float *in, const float *weights,
                         const size_t pixels, const size_t vectors, const size_t lanes, sums *s)
{
    for (size_t k = 0; k < d->columns; k++) {
        vf w[ANY_VECTORS];
        UNROLLED
        for (size_t v = 0; v < vectors; v++)
            w[v] = vf_load_some(weights + k * d->channels + v * LANES, lanes);
        UNROLLED
        for (size_t i = 0; i < pixels * vectors; i++) {
            const float *x = in + i / vectors * d->pixel_step + k * d->column_step;
            s->of[i] += vf_load_some(x + i % vectors * LANES, lanes) * w[i % vectors];
        }
    }
}

/* ---- before and after ------------------------------------------------------------------------ */

/* The first channel of a sum in an image of the output's shape. */
INLINED size_t place_of(const onnxd_simd_depthwise *d, size_t pixel, size_t at,
                        const size_t vectors, const size_t i)
{
    return (pixel + i / vectors) * d->channels + at + i % vectors * LANES;
}

INLINED void begin(const onnxd_simd_depthwise *d, size_t pixel, size_t at, const size_t pixels,
                   const size_t vectors, const size_t lanes, sums *s)
{
    const onnxd_simd_post *post = d->post;
    UNROLLED
    for (size_t i = 0; i < pixels * vectors; i++) {
        const size_t place = place_of(d, pixel, at, vectors, i);
        s->of[i] = d->is_continued ? vf_load_some(d->out + place, lanes) : vf_all(0);
        if (post != NULL && post->bias != NULL)
            s->of[i] += vf_load_some(post->bias + at + i % vectors * LANES, lanes);
        if (post != NULL && post->residual != NULL)
            s->of[i] += vf_load_some(post->residual + place, lanes);
    }
}

#define EACH_SUM(value)                                                                            \
    do {                                                                                           \
        UNROLLED                                                                                   \
        for (size_t i = 0; i < pixels * vectors; i++) {                                            \
            const vf x = s->of[i];                                                                 \
            vf_store_some(d->out + place_of(d, pixel, at, vectors, i), (value), lanes);            \
        }                                                                                          \
    } while (0)

/* Applies the functions that networks have behind such convolutions; for others see below. */
INLINED void finish(const onnxd_simd_depthwise *d, size_t pixel, size_t at, const size_t pixels,
                    const size_t vectors, const size_t lanes, const sums *s)
{
    const onnxd_simd_activation none = {.function = ONNXD_SIMD_IDENTITY};
    const onnxd_simd_activation *a = d->post == NULL ? &none : &d->post->activation;
    if (a->function == ONNXD_SIMD_RELU)
        EACH_SUM(vf_max(vf_all(0), x));
    else if (a->function == ONNXD_SIMD_CLIP)
        EACH_SUM(vf_min(vf_all(a->beta), vf_max(vf_all(a->alpha), x)));
    else if (a->function == ONNXD_SIMD_HARD_SWISH)
        EACH_SUM(x * vf_hard_sigmoid(x, a->alpha, a->beta));
    else if (a->function == ONNXD_SIMD_SCALED_HARD_SWISH)
        EACH_SUM(vf_scaled_hard_swish(x, a->alpha, a->beta));
    else
        EACH_SUM(x);
}

/* ---- blocks of pixels ------------------------------------------------------------------------ */

/* Some pixels under windows of any kind. */
INLINED void any_block(const onnxd_simd_depthwise *d, size_t pixel, size_t at, const size_t pixels,
                       const size_t vectors, const size_t lanes)
{
    const size_t in = d->in_offset + pixel * d->pixel_step + at;
    sums s;
    begin(d, pixel, at, pixels, vectors, lanes, &s);
    for (size_t r = 0; r < d->rows; r++)
        add_any_row(d, d->in[r] + in, d->weights[r] + d->weight_offset + at, pixels, vectors, lanes,
                    &s);
    finish(d, pixel, at, pixels, vectors, lanes, &s);
}

/* The channels from `at` on of one pixel. */
static void any_pixel(const onnxd_simd_depthwise *d, size_t pixel, size_t at)
{
    for (; at + ANY_VECTORS * LANES <= d->channels; at += ANY_VECTORS * LANES)
        any_block(d, pixel, at, 1, ANY_VECTORS, LANES);
    for (; at + LANES <= d->channels; at += LANES)
        any_block(d, pixel, at, 1, 1, LANES);
    if (at < d->channels)
        any_block(d, pixel, at, 1, 1, d->channels - at);
}

static void any_pixels(const onnxd_simd_depthwise *d, size_t pixel)
{
    for (; pixel + ANY_PIXELS <= d->pixels; pixel += ANY_PIXELS) {
        size_t at = 0;
        for (; at + LANES <= d->channels; at += LANES)
            any_block(d, pixel, at, ANY_PIXELS, 1, LANES);
        for (size_t p = 0; p < ANY_PIXELS && at < d->channels; p++)
            any_pixel(d, pixel + p, at);
    }
    for (; pixel < d->pixels; pixel++)
        any_pixel(d, pixel, 0);
}

/* Whole blocks of pixels under windows of a constant width and stride; gives how many pixels are
 * done. */
INLINED size_t fixed_pixels(const onnxd_simd_depthwise *d, const size_t columns,
                            const size_t stride, const size_t pixels)
{
    size_t pixel = 0;
    for (; pixel + pixels <= d->pixels; pixel += pixels) {
        const size_t in = d->in_offset + pixel * d->pixel_step;
        size_t at = 0;
        for (; at + LANES <= d->channels; at += LANES) {
            sums s;
            begin(d, pixel, at, pixels, 1, LANES, &s);
            for (size_t r = 0; r < d->rows; r++)
                add_row(d->in[r] + in + at, d->weights[r] + d->weight_offset + at, d->channels,
                        columns, stride, pixels, &s);
            finish(d, pixel, at, pixels, 1, LANES, &s);
        }
        for (size_t p = 0; p < pixels && at < d->channels; p++)
            any_pixel(d, pixel + p, at);
    }
    return pixel;
}

void LEVEL_NAME(onnxd_simd_depthwise)(const onnxd_simd_depthwise *d)
{
    const bool is_dense = d->column_step == d->channels;
    const bool is_near = is_dense && d->pixel_step == d->channels;
    const bool is_far = is_dense && d->pixel_step == 2 * d->channels;
    size_t done = 0;
    if (is_near && d->columns == 3)
        done = fixed_pixels(d, 3, 1, NEAR_PIXELS);
    else if (is_near && d->columns == 5)
        done = fixed_pixels(d, 5, 1, NEAR_PIXELS);
    else if (is_far && d->columns == 3)
        done = fixed_pixels(d, 3, 2, FAR_PIXELS);
    else if (is_far && d->columns == 5)
        done = fixed_pixels(d, 5, 2, FAR_PIXELS);
    any_pixels(d, done);
    if (d->post != NULL && !vf_is_light(d->post->activation.function))
        LEVEL_NAME(onnxd_simd_activate)
    (&d->post->activation, d->pixels * d->channels, d->out, d->out);
}

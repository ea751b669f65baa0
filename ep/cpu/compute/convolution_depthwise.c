/* Convolutions of one channel and one map per group. */
#include "ep/cpu/compute/convolution_internal.h"

/* Output pixels of one piece of work. */
#define PIECE_PIXELS ((size_t)32)
/* Taps whose addresses are handed to the kernel at once. */
#define TAPS 64

void onnxd_convolution_depthwise_pack(const onnxd_convolution_shape *shape, const float *weights,
                                      float *packed)
{
    const size_t taps = onnxd_image_window_taps(&shape->window);
    const size_t channels = shape->window.channels;
    for (size_t t = 0; t < taps; t++)
        for (size_t c = 0; c < channels; c++)
            packed[t * channels + c] = weights[c * taps + t];
}

/* The taps before `part` have been added to `out`. */
static void flush(const onnxd_convolution *c, onnxd_simd_window *part, const float *weights,
                  const onnxd_simd_post *post)
{
    c->simd->depthwise(part, c->shape.window.channels, weights, post);
    part->is_continued = true;
    part->count = 0;
}

static void run_pixel(const onnxd_convolution_call *call, const onnxd_window_place *place,
                      size_t pixel)
{
    const onnxd_convolution *c = call->c;
    const onnxd_image_window *w = &c->shape.window;
    const float *pixels[TAPS], *weights = c->packed;
    const onnxd_simd_post post = {
        .activation = c->activation,
        .bias = c->bias,
        .residual = call->residual == NULL ? NULL : call->residual + pixel * w->channels};
    onnxd_simd_window part = {.pixels = pixels, .out = call->out + pixel * w->channels};
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            for (int64_t x = 0; x < w->kernel[2]; x++) {
                const int64_t at = onnxd_window_tap(w, place, z, y, x);
                if (part.count == TAPS) {
                    flush(c, &part, weights, NULL);
                    weights += TAPS * w->channels;
                }
                pixels[part.count++] = at < 0 ? c->zeros : call->in + at;
            }
        }
    }
    flush(c, &part, weights, &post);
}

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const onnxd_convolution_call *call = context;
    const size_t first = index * PIECE_PIXELS, pixels = call->c->pixels;
    const size_t last = first + PIECE_PIXELS < pixels ? first + PIECE_PIXELS : pixels;
    onnxd_window_place place;
    (void)worker;
    onnxd_window_place_init(&call->c->shape.window, first, &place);
    for (size_t pixel = first; pixel < last; pixel++) {
        run_pixel(call, &place, pixel);
        onnxd_window_place_next(&call->c->shape.window, &place);
    }
}

void onnxd_convolution_depthwise_run(const onnxd_convolution_call *call)
{
    onnxd_convolution_call copy = *call;
    onnxd_team_run(call->team, (call->c->pixels + PIECE_PIXELS - 1) / PIECE_PIXELS, run_piece,
                   &copy);
}

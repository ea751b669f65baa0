#include "ep/cpu/compute/window.h"

#include <string.h>

size_t onnxd_image_window_pixels(const onnxd_image_window *window)
{
    return window->batch * (size_t)(window->out[0] * window->out[1] * window->out[2]);
}

size_t onnxd_image_window_taps(const onnxd_image_window *window)
{
    return (size_t)(window->kernel[0] * window->kernel[1] * window->kernel[2]);
}

static void start_window(const onnxd_image_window *window, onnxd_window_place *place)
{
    for (int d = 0; d < 3; d++)
        place->start[d] = place->at[d] * window->stride[d] - window->pad_begin[d];
    const int64_t plane = (int64_t)place->batch * window->in[0] + place->start[0];
    place->origin = ((plane * window->in[1] + place->start[1]) * window->in[2] + place->start[2]) *
                    (int64_t)window->channels;
}

void onnxd_window_place_init(const onnxd_image_window *window, size_t pixel,
                             onnxd_window_place *out_place)
{
    const size_t per_image = (size_t)(window->out[0] * window->out[1] * window->out[2]);
    int64_t rest = (int64_t)(pixel % per_image);
    out_place->batch = pixel / per_image;
    for (int d = 2; d >= 0; d--) {
        out_place->at[d] = rest % window->out[d];
        rest /= window->out[d];
    }
    start_window(window, out_place);
}

void onnxd_window_place_next(const onnxd_image_window *window, onnxd_window_place *place)
{
    int d = 2;
    if (place->at[2] + 1 < window->out[2]) {
        place->at[2]++;
        place->start[2] += window->stride[2];
        place->origin += window->stride[2] * (int64_t)window->channels;
        return;
    }
    while (d >= 0 && ++place->at[d] == window->out[d])
        place->at[d--] = 0;
    if (d < 0)
        place->batch++;
    start_window(window, place);
}

/* ---- strips ---------------------------------------------------------------------------------- */

size_t onnxd_window_strips(const onnxd_image_window *window, size_t pixel, uint32_t count,
                           onnxd_window_strip *out_strips)
{
    size_t strips = 0;
    while (count > 0) {
        onnxd_window_strip *strip = &out_strips[strips++];
        onnxd_window_place_init(window, pixel, &strip->first);
        const int64_t left = window->out[2] - strip->first.at[2];
        strip->count = left < (int64_t)count ? (uint32_t)left : count;
        pixel += strip->count;
        count -= strip->count;
    }
    return strips;
}

onnxd_window_place onnxd_window_strip_place(const onnxd_image_window *window,
                                            const onnxd_window_strip *strip, uint32_t pixel)
{
    onnxd_window_place place = strip->first;
    place.at[2] += pixel;
    place.start[2] += window->stride[2] * pixel;
    place.origin += window->stride[2] * pixel * (int64_t)window->channels;
    return place;
}

/* Steps of `stride` from `start` until at least `end`. */
static int64_t steps_to(int64_t start, int64_t end, int64_t stride)
{
    return start >= end ? 0 : (end - start + stride - 1) / stride;
}

onnxd_strip_tap onnxd_window_strip_tap(const onnxd_image_window *window,
                                       const onnxd_window_strip *strip, int64_t z, int64_t y,
                                       int64_t x)
{
    const onnxd_window_place *place = &strip->first;
    const int64_t at_z = place->start[0] + z * window->dilation[0];
    const int64_t at_y = place->start[1] + y * window->dilation[1];
    const int64_t at_x = place->start[2] + x * window->dilation[2];
    const int64_t stride = window->stride[2], count = strip->count;
    onnxd_strip_tap tap = {.at = place->origin + onnxd_window_tap_offset(window, z, y, x),
                           .step = stride * (int64_t)window->channels};
    if ((uint64_t)at_z >= (uint64_t)window->in[0] || (uint64_t)at_y >= (uint64_t)window->in[1])
        return tap;
    const int64_t first = steps_to(at_x, 0, stride), last = steps_to(at_x, window->in[2], stride);
    tap.first = (uint32_t)(first < count ? first : count);
    tap.last = (uint32_t)(last < count ? last : count);
    return tap;
}

onnxd_strip_tap onnxd_window_strip_row(const onnxd_image_window *window,
                                       const onnxd_window_strip *strip, int64_t z, int64_t y)
{
    onnxd_strip_tap row = onnxd_window_strip_tap(window, strip, z, y, 0);
    const onnxd_strip_tap last = onnxd_window_strip_tap(window, strip, z, y, window->kernel[2] - 1);
    if (row.first < last.first)
        row.first = last.first;
    if (row.last > last.last)
        row.last = last.last;
    return row;
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Pixels of a window whose addresses are handed to a kernel at once. */
#define PIXELS 64
/* Output pixels of one piece of work. */
#define PIECE_PIXELS ((size_t)64)

typedef struct pool_run {
    const onnxd_simd *simd;
    const onnxd_image_window *window;
    onnxd_image_window places; /* the window, its channels the input's pitch */
    onnxd_pool_kind kind;
    const float *in;
    float *out;
    size_t out_pitch;
    /* Of bytes, whose maximum it is; NULL: of floats. */
    const uint8_t *in_bytes;
    uint8_t *out_bytes;
    uint8_t flip;
    size_t pixels;
} pool_run;

/* Pixels of a window, those of earlier parts done. */
typedef struct window_part {
    union {
        const float *floats[PIXELS];
        const uint8_t *bytes[PIXELS];
    } pixels;
    size_t count;
    bool is_continued;
} window_part;

/* The taps of the window along one dimension that lie in [0, extent). */
static void clip(int64_t start, int64_t kernel, int64_t dilation, int64_t extent,
                 int64_t *out_first, int64_t *out_last)
{
    const int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int64_t end = extent - start;
    int64_t last = end <= 0 ? 0 : (end + dilation - 1) / dilation;
    if (last > kernel)
        last = kernel;
    *out_first = first;
    *out_last = last > first ? last : first;
}

/* How many elements the average of a window is of. */
static float divisor(const pool_run *run, const onnxd_window_place *place)
{
    const onnxd_image_window *w = run->window;
    const bool is_padded = run->kind == ONNXD_POOL_AVERAGE_PADDED;
    double count = 1;
    for (int d = 0; d < 3; d++) {
        int64_t first, last;
        if (is_padded)
            clip(place->start[d] + w->pad_begin[d], w->kernel[d], w->dilation[d],
                 w->in[d] + w->pad_begin[d] + w->pad_end[d], &first, &last);
        else
            clip(place->start[d], w->kernel[d], w->dilation[d], w->in[d], &first, &last);
        count *= (double)(last - first);
    }
    return count > 0 ? (float)(1 / count) : 0.0f;
}

static void flush(const pool_run *run, size_t out, window_part *part, float scale)
{
    const size_t channels = run->window->channels;
    if (run->in_bytes != NULL) {
        run->simd->quantized_maximum(part->pixels.bytes, part->count, channels, run->flip,
                                     run->out_bytes + out);
        /* The result so far is one of the next pixels. */
        part->pixels.bytes[0] = run->out_bytes + out;
        part->count = 1;
        return;
    }
    const onnxd_simd_window window = {.pixels = part->pixels.floats,
                                      .count = part->count,
                                      .out = run->out + out,
                                      .is_continued = part->is_continued};
    if (run->kind == ONNXD_POOL_MAXIMUM)
        run->simd->maximum(&window, channels);
    else
        run->simd->sum(&window, channels, scale);
    part->is_continued = true;
    part->count = 0;
}

static void add_pixel(const pool_run *run, size_t at, window_part *part)
{
    if (run->in_bytes != NULL)
        part->pixels.bytes[part->count++] = run->in_bytes + at;
    else
        part->pixels.floats[part->count++] = run->in + at;
}

/* `out`: the element of the pixel's first channel. */
static void pool_pixel(const pool_run *run, const onnxd_window_place *place, size_t out)
{
    const onnxd_image_window *w = &run->places;
    window_part part;
    int64_t first[3], last[3];
    part.count = 0;
    part.is_continued = false;
    for (int d = 0; d < 3; d++)
        clip(place->start[d], w->kernel[d], w->dilation[d], w->in[d], &first[d], &last[d]);
    for (int64_t z = first[0]; z < last[0]; z++) {
        for (int64_t y = first[1]; y < last[1]; y++) {
            for (int64_t x = first[2]; x < last[2]; x++) {
                if (part.count == PIXELS)
                    flush(run, out, &part, 1);
                add_pixel(run, (size_t)onnxd_window_tap(w, place, z, y, x), &part);
            }
        }
    }
    /* A window of nothing has no byte that is its largest: the lowest stands for it. */
    if (run->in_bytes != NULL && part.count == 0)
        memset(run->out_bytes + out, run->flip ^ 0x80, run->window->channels);
    else
        flush(run, out, &part, run->kind == ONNXD_POOL_MAXIMUM ? 1 : divisor(run, place));
}

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const pool_run *run = context;
    const size_t first = index * PIECE_PIXELS;
    const size_t last = first + PIECE_PIXELS < run->pixels ? first + PIECE_PIXELS : run->pixels;
    onnxd_window_place place;
    (void)worker;
    onnxd_window_place_init(&run->places, first, &place);
    for (size_t pixel = first; pixel < last; pixel++) {
        pool_pixel(run, &place, pixel * run->out_pitch);
        onnxd_window_place_next(&run->places, &place);
    }
}

void onnxd_pool_run(const onnxd_simd *simd, onnxd_team *team, const onnxd_image_window *window,
                    onnxd_pool_kind kind, onnxd_pixels_in in, onnxd_pixels_out out)
{
    pool_run run = {.simd = simd,
                    .window = window,
                    .places = *window,
                    .kind = kind,
                    .in = in.at,
                    .out = out.at,
                    .out_pitch = out.pitch,
                    .pixels = onnxd_image_window_pixels(window)};
    run.places.channels = in.pitch;
    onnxd_team_run(team, (run.pixels + PIECE_PIXELS - 1) / PIECE_PIXELS, run_piece, &run);
}

void onnxd_quantized_maximum_run(const onnxd_simd *simd, onnxd_team *team,
                                 const onnxd_image_window *window, uint8_t flip, const uint8_t *in,
                                 uint8_t *out)
{
    pool_run run = {.simd = simd,
                    .window = window,
                    .places = *window,
                    .out_pitch = window->channels,
                    .kind = ONNXD_POOL_MAXIMUM,
                    .in_bytes = in,
                    .out_bytes = out,
                    .flip = flip,
                    .pixels = onnxd_image_window_pixels(window)};
    onnxd_team_run(team, (run.pixels + PIECE_PIXELS - 1) / PIECE_PIXELS, run_piece, &run);
}

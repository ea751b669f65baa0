/*
 * Windows over channels-last images: their geometry, and the pools.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_WINDOW_H
#define ONNXD_EP_CPU_COMPUTE_WINDOW_H

#include "ep/cpu/compute/team.h"
#include "ep/cpu/simd/simd.h"

/* Extents of a window over images, all within what onnxd_window_infer() accepts. One or two spatial
 * dimensions are three with leading extents of 1. */
typedef struct onnxd_image_window {
    size_t batch, channels;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
} onnxd_image_window;

/* Pixels of channels-last images, one `pitch` elements behind the other: at least their channels.
 */
typedef struct onnxd_pixels_in {
    const float *at;
    size_t pitch;
} onnxd_pixels_in;
typedef struct onnxd_pixels_out {
    float *at;
    size_t pitch;
} onnxd_pixels_out;

/* Pixels of all images of the output. */
size_t onnxd_image_window_pixels(const onnxd_image_window *window);
size_t onnxd_image_window_taps(const onnxd_image_window *window);

/* The window of one output pixel. */
typedef struct onnxd_window_place {
    size_t batch;
    int64_t at[3];    /* output pixel */
    int64_t start[3]; /* of the window in the input; may lie outside */
    int64_t origin;   /* element index of its first tap, as if the image went on outside */
} onnxd_window_place;

void onnxd_window_place_init(const onnxd_image_window *window, size_t pixel,
                             onnxd_window_place *out_place);
/* To the next pixel of the output, from the last one of an image to the next image. */
void onnxd_window_place_next(const onnxd_image_window *window, onnxd_window_place *place);

/* How many elements a tap lies behind the first one. */
static inline int64_t onnxd_window_tap_offset(const onnxd_image_window *w, int64_t z, int64_t y,
                                              int64_t x)
{
    const int64_t rows = z * w->dilation[0] * w->in[1] + y * w->dilation[1];
    return (rows * w->in[2] + x * w->dilation[2]) * (int64_t)w->channels;
}

/* The input pixel under a tap, as an element index into `in` of channel 0; -1 outside the image. */
static inline int64_t onnxd_window_tap(const onnxd_image_window *w, const onnxd_window_place *place,
                                       int64_t z, int64_t y, int64_t x)
{
    const int64_t at_z = place->start[0] + z * w->dilation[0];
    const int64_t at_y = place->start[1] + y * w->dilation[1];
    const int64_t at_x = place->start[2] + x * w->dilation[2];
    if ((uint64_t)at_z >= (uint64_t)w->in[0] || (uint64_t)at_y >= (uint64_t)w->in[1] ||
        (uint64_t)at_x >= (uint64_t)w->in[2])
        return -1;
    return place->origin + onnxd_window_tap_offset(w, z, y, x);
}

/* ---- strips of windows ------------------------------------------------------------------------
 */

/* Pixels of the output that lie side by side. */
typedef struct onnxd_window_strip {
    onnxd_window_place first;
    uint32_t count;
} onnxd_window_strip;

/* The strips that `count` pixels from `pixel` on are; returns how many, at most `count`. */
size_t onnxd_window_strips(const onnxd_image_window *window, size_t pixel, uint32_t count,
                           onnxd_window_strip *out_strips);
/* The window of a strip's pixel. */
onnxd_window_place onnxd_window_strip_place(const onnxd_image_window *window,
                                            const onnxd_window_strip *strip, uint32_t pixel);

/* What lies under one tap of a strip's windows: of its pixels [first, last) the input pixel at
 * at + pixel * step, an element index of channel 0; of the others nothing of the image. */
typedef struct onnxd_strip_tap {
    uint32_t first, last;
    int64_t at, step;
} onnxd_strip_tap;

onnxd_strip_tap onnxd_window_strip_tap(const onnxd_image_window *window,
                                       const onnxd_window_strip *strip, int64_t z, int64_t y,
                                       int64_t x);
/* The same of a whole row of the window: its first tap, and the pixels whose rows are within the
 * image from end to end. */
onnxd_strip_tap onnxd_window_strip_row(const onnxd_image_window *window,
                                       const onnxd_window_strip *strip, int64_t z, int64_t y);

/* ---- pools ----------------------------------------------------------------------------------- */

typedef enum onnxd_pool_kind {
    ONNXD_POOL_MAXIMUM,
    ONNXD_POOL_AVERAGE,        /* of the elements within the image */
    ONNXD_POOL_AVERAGE_PADDED, /* padding counts as zeros */
} onnxd_pool_kind;

/* Neither allocates nor fails; bytes have no gaps between pixels. */
void onnxd_pool_run(const onnxd_simd *simd, onnxd_team *team, const onnxd_image_window *window,
                    onnxd_pool_kind kind, onnxd_pixels_in in, onnxd_pixels_out out);
/* The maximum of INT8 or UINT8; flip as in onnxd_simd_zero. */
void onnxd_quantized_maximum_run(const onnxd_simd *simd, onnxd_team *team,
                                 const onnxd_image_window *window, uint8_t flip, const uint8_t *in,
                                 uint8_t *out);

#endif

/* How much Winograd's method errs with given weights: it adds and subtracts what the direct sum
 * keeps apart, so that weights of very different sizes, infinities and NaN can do harm. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/compute/convolution_internal.h"

#define WINDOW ((size_t)3)
#define MOST_MATRICES ((size_t)ONNXD_SIMD_MOST_MATRICES)
#define MOST_PIXELS ((size_t)16)
/* Maps that are tried, spread over all of them. */
#define MOST_MAPS ((size_t)16)

typedef struct trial {
    const onnxd_simd *simd;
    size_t tile, extent, matrices; /* pixels of a tile along each axis, those that it reads */
    const float *weights, *packed;
    size_t channels, maps, step; /* each step-th of the shape's maps */
    size_t matrix;               /* elements of a packed matrix */
    float *image;                /* [matrices][channels] */
    float *v;                    /* [matrices][channels] */
    float m[MOST_MATRICES * MOST_MAPS], out[MOST_PIXELS * MOST_MAPS];
} trial;

/* Values in [-1, 1), the same each time. */
static void fill(float *image, size_t count)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        image[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
}

static void multiply(trial *t)
{
    const size_t width = t->simd->tile_columns;
    for (size_t i = 0; i < t->matrices; i++) {
        for (size_t m = 0; m < t->maps; m++) {
            const size_t map = m * t->step;
            const float *column =
                t->packed + i * t->matrix + map / width * width * t->channels + map % width;
            float sum = 0;
            for (size_t c = 0; c < t->channels; c++)
                sum += t->v[i * t->channels + c] * column[c * width];
            t->m[i * MOST_MAPS + m] = sum;
        }
    }
}

static void run_winograd(trial *t)
{
    const float *pixels[MOST_MATRICES];
    for (size_t i = 0; i < t->matrices; i++)
        pixels[i] = t->image + i * t->channels;
    t->simd->winograd_in(t->tile, pixels, t->channels, t->v, t->channels);
    multiply(t);
    const onnxd_simd_winograd_out out = {.tile = t->tile,
                                         .in = t->m,
                                         .matrix = MOST_MAPS,
                                         .out = t->out,
                                         .row_stride = t->tile * MOST_MAPS,
                                         .pixel_stride = MOST_MAPS,
                                         .rows = (uint32_t)t->tile,
                                         .columns = (uint32_t)t->tile};
    t->simd->winograd_out(&out, t->maps);
}

static double direct(const trial *t, size_t y, size_t x, size_t m)
{
    const float *kernel = t->weights + m * t->step * t->channels * WINDOW * WINDOW;
    double sum = 0;
    for (size_t c = 0; c < t->channels; c++)
        for (size_t i = 0; i < WINDOW * WINDOW; i++) {
            const size_t pixel = (y + i / WINDOW) * t->extent + x + i % WINDOW;
            sum +=
                (double)t->image[pixel * t->channels + c] * (double)kernel[c * WINDOW * WINDOW + i];
        }
    return sum;
}

static double compare(const trial *t)
{
    double largest = 0, error = 0;
    for (size_t p = 0; p < t->tile * t->tile; p++) {
        for (size_t m = 0; m < t->maps; m++) {
            const double want = direct(t, p / t->tile, p % t->tile, m);
            const double off = fabs((double)t->out[p * MOST_MAPS + m] - want);
            if (!isfinite(want) || !isfinite(off))
                return INFINITY;
            largest = fmax(largest, fabs(want));
            error = fmax(error, off);
        }
    }
    return error == 0 ? 0 : error / largest;
}

double onnxd_convolution_winograd_error(const onnxd_simd *simd,
                                        const onnxd_convolution_shape *shape,
                                        onnxd_convolution_method method, const float *weights,
                                        const float *packed)
{
    const size_t tile = onnxd_convolution_winograd_tile(method);
    const size_t matrices = ONNXD_SIMD_WINOGRAD_MATRICES(tile);
    const size_t channels = shape->window.channels;
    double error = INFINITY;
    trial *t = onnxd_alloc_zero(1, sizeof(*t));
    float *memory = onnxd_alloc_zero(channels, 2 * matrices * sizeof(float));
    if (t != NULL && memory != NULL) {
        const size_t step = (shape->maps + MOST_MAPS - 1) / MOST_MAPS;
        *t = (trial){.simd = simd,
                     .tile = tile,
                     .extent = tile + WINDOW - 1,
                     .matrices = matrices,
                     .weights = weights,
                     .packed = packed,
                     .channels = channels,
                     .maps = (shape->maps + step - 1) / step,
                     .step = step,
                     .image = memory,
                     .v = memory + matrices * channels};
        if (onnxd_product_packed_count(simd, channels, shape->maps, &t->matrix)) {
            fill(t->image, matrices * channels);
            run_winograd(t);
            error = compare(t);
        }
    }
    onnxd_free(memory);
    onnxd_free(t);
    return error;
}

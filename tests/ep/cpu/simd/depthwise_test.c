/* Convolution channel by channel along one row of the output. */
#include <math.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

#define MOST_ROWS 5

typedef struct row_case {
    size_t channels, rows, columns, stride, dilation, pixels;
    bool is_continued;
    const onnxd_simd_post *post;
} row_case;

/* Elements that stand before those that are read, in inputs and weights. */
#define IN_OFFSET ((size_t)3)
#define WEIGHT_OFFSET ((size_t)7)

typedef struct row_data {
    float *in[MOST_ROWS], *weights[MOST_ROWS];
    float *before, *out;
} row_data;

static void fill(const row_case *c, row_data *d)
{
    uint64_t seed = c->channels * 1000 + c->columns * 100 + c->pixels;
    const size_t reach = (c->pixels - 1) * c->stride + c->columns * c->dilation + 1;
    for (size_t r = 0; r < c->rows; r++) {
        d->in[r] = random_floats(&seed, IN_OFFSET + reach * c->channels);
        d->weights[r] = random_floats(&seed, WEIGHT_OFFSET + (c->columns + 1) * c->channels);
    }
    d->before = random_floats(&seed, c->pixels * c->channels);
    /* Behind what is written, guards for the longest vector. */
    d->out = guard_floats(c->pixels * c->channels + ONNXD_SIMD_MAX_LANES);
    for (size_t i = 0; c->is_continued && i < c->pixels * c->channels; i++)
        d->out[i] = d->before[i];
}

static double expected(const row_case *c, const row_data *d, size_t pixel, size_t channel)
{
    const size_t place = pixel * c->channels + channel;
    double sum = c->is_continued ? (double)d->before[place] : 0;
    for (size_t r = 0; r < c->rows; r++)
        for (size_t k = 0; k < c->columns; k++)
            sum += (double)d->in[r][IN_OFFSET +
                                    (pixel * c->stride + k * c->dilation) * c->channels + channel] *
                   (double)d->weights[r][WEIGHT_OFFSET + k * c->channels + channel];
    if (c->post == NULL)
        return sum;
    if (c->post->bias != NULL)
        sum += (double)c->post->bias[channel];
    if (c->post->residual != NULL)
        sum += (double)c->post->residual[place];
    return (double)activation_reference(&c->post->activation, (long double)sum);
}

static void check_row(const onnxd_simd *simd, row_case c)
{
    row_data d;
    const float *in[MOST_ROWS], *weights[MOST_ROWS];
    fill(&c, &d);
    for (size_t r = 0; r < c.rows; r++) {
        in[r] = d.in[r];
        weights[r] = d.weights[r];
    }
    const onnxd_simd_depthwise row = {.in = in,
                                      .weights = weights,
                                      .in_offset = IN_OFFSET,
                                      .weight_offset = WEIGHT_OFFSET,
                                      .rows = c.rows,
                                      .columns = c.columns,
                                      .column_step = c.dilation * c.channels,
                                      .pixel_step = c.stride * c.channels,
                                      .pixels = c.pixels,
                                      .channels = c.channels,
                                      .out = d.out,
                                      .is_continued = c.is_continued,
                                      .post = c.post};
    simd->depthwise(&row);
    for (size_t i = 0; i < c.pixels * c.channels; i++) {
        const double want = expected(&c, &d, i / c.channels, i % c.channels);
        expect_near((double)d.out[i], want, 1e-5 * fmax(1, fabs(want)),
                    "%s, %zu x %zu taps, stride %zu, dilation %zu: pixel %zu of %zu, channel %zu "
                    "of %zu is %g, not %g",
                    onnxd_simd_level_name(simd->level), c.rows, c.columns, c.stride, c.dilation,
                    i / c.channels, c.pixels, i % c.channels, c.channels, (double)d.out[i], want);
    }
    cr_assert(is_guarded(d.out + c.pixels * c.channels, ONNXD_SIMD_MAX_LANES),
              "%s: wrote beyond %zu pixels of %zu channels", onnxd_simd_level_name(simd->level),
              c.pixels, c.channels);
    for (size_t r = 0; r < c.rows; r++) {
        onnxd_free(d.in[r]);
        onnxd_free(d.weights[r]);
    }
    onnxd_free(d.before);
    onnxd_free(d.out);
}

static void check_windows(const onnxd_simd *simd)
{
    static const size_t channels[] = {1, 4, 7, 8, 16, 21, 64, 70, 3 * 4 * ONNXD_SIMD_MAX_LANES + 5};
    static const size_t pixels[] = {1, 3, 4, 6, 8, 9, 17, 29};
    static const size_t columns[] = {0, 1, 2, 3, 5, 7};
    for (size_t n = 0; n < sizeof(channels) / sizeof(channels[0]); n++)
        for (size_t p = 0; p < sizeof(pixels) / sizeof(pixels[0]); p++)
            for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
                for (size_t variant = 0; variant < 6; variant++)
                    check_row(simd, (row_case){.channels = channels[n],
                                               .rows = (p + k + variant) % (MOST_ROWS + 1),
                                               .columns = columns[k],
                                               .stride = 1 + variant % 3,
                                               .dilation = 1 + variant / 3,
                                               .pixels = pixels[p],
                                               .is_continued = (n + k) % 2 == 1});
}

Test(simd_depthwise, all_windows)
{
    each_level(check_windows);
}

static void check_posts(const onnxd_simd *simd)
{
    static const size_t channels[] = {1, 8, 21, 64};
    enum { PIXELS = 13 };
    uint64_t seed = 5;
    for (size_t c = 0; c < sizeof(channels) / sizeof(channels[0]); c++) {
        float *bias = random_floats(&seed, channels[c]);
        float *residual = random_floats(&seed, channels[c] * PIXELS);
        for (int function = 0; function < ONNXD_SIMD_FUSED_COUNT; function++) {
            for (unsigned bits = 0; bits < 16; bits++) {
                const onnxd_simd_post post = {.activation = each_activation[function],
                                              .bias = (bits & 1) != 0 ? bias : NULL,
                                              .residual = (bits & 2) != 0 ? residual : NULL};
                check_row(simd, (row_case){.channels = channels[c],
                                           .rows = 3,
                                           .columns = (bits & 8) != 0 ? 3 : 4,
                                           .stride = 1,
                                           .dilation = 1,
                                           .pixels = PIXELS,
                                           .is_continued = (bits & 4) != 0,
                                           .post = &post});
            }
        }
        onnxd_free(bias);
        onnxd_free(residual);
    }
}

Test(simd_depthwise, what_follows)
{
    each_level(check_posts);
}

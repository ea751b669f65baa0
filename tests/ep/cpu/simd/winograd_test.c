/* Winograd's transformations against the matrices of Lavin and Gray (2015), in double. */
#include <math.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

enum { MOST_IN = 6, MOST_OUT = 4, MOST_MATRICES = MOST_IN * MOST_IN, MOST_CHANNELS = 40 };
enum { KERNEL = 3 };

/* Of one size of tiles. */
typedef struct matrices {
    size_t tile;
    int in; /* pixels of a tile along each axis that are read */
    double b_transposed[MOST_IN][MOST_IN], a_transposed[MOST_OUT][MOST_IN], g[MOST_IN][KERNEL];
} matrices;

static const matrices sizes[] = {
    {4,
     6,
     {{4, 0, -5, 0, 1, 0},
      {0, -4, -4, 1, 1, 0},
      {0, 4, -4, -1, 1, 0},
      {0, -2, -1, 2, 1, 0},
      {0, 2, -1, -2, 1, 0},
      {0, 4, 0, -5, 0, 1}},
     {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
     {{1.0 / 4, 0, 0},
      {-1.0 / 6, -1.0 / 6, -1.0 / 6},
      {-1.0 / 6, 1.0 / 6, -1.0 / 6},
      {1.0 / 24, 1.0 / 12, 1.0 / 6},
      {1.0 / 24, -1.0 / 12, 1.0 / 6},
      {0, 0, 1}}},
    {2,
     4,
     {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
     {{1, 1, 1, 0}, {0, 1, -1, -1}},
     {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}},
};
#define EACH_SIZE(size)                                                                            \
    for (const matrices *(size) = sizes; (size) < sizes + sizeof(sizes) / sizeof(sizes[0]);        \
         (size)++)

/* Row y, column x of T d T^t, T of `length` columns. */
static double transformed(const double *t, size_t stride, int length, int y, int x, const double *d)
{
    double sum = 0;
    for (int i = 0; i < length; i++)
        for (int j = 0; j < length; j++)
            sum += t[(size_t)y * stride + (size_t)i] * d[i * length + j] *
                   t[(size_t)x * stride + (size_t)j];
    return sum;
}

static void check_in_channels(const onnxd_simd *simd, const matrices *of, size_t channels)
{
    uint64_t seed = 11 + channels;
    const size_t matrix = channels + 3;
    const int count = of->in * of->in;
    float *pixels[MOST_MATRICES], *out = guard_floats((size_t)count * matrix);
    const float *addresses[MOST_MATRICES];
    for (int i = 0; i < count; i++)
        addresses[i] = pixels[i] = random_floats(&seed, channels);
    simd->winograd_in(of->tile, addresses, channels, out, matrix);
    for (size_t c = 0; c < channels; c++) {
        double d[MOST_MATRICES];
        for (int i = 0; i < count; i++)
            d[i] = (double)pixels[i][c];
        for (int i = 0; i < count; i++)
            expect_near(
                (double)out[(size_t)i * matrix + c],
                transformed(of->b_transposed[0], MOST_IN, of->in, i / of->in, i % of->in, d), 5e-5,
                "%s, tiles of %zu: matrix %d, channel %zu of %zu",
                onnxd_simd_level_name(simd->level), of->tile, i, c, channels);
    }
    for (size_t i = 0; i < (size_t)count; i++)
        cr_assert(is_guarded(out + i * matrix + channels, 3), "%s: wrote beyond %zu channels",
                  onnxd_simd_level_name(simd->level), channels);
    for (int i = 0; i < count; i++)
        onnxd_free(pixels[i]);
    onnxd_free(out);
}

static void check_in(const onnxd_simd *simd)
{
    EACH_SIZE(of)
    for (size_t channels = 1; channels <= MOST_CHANNELS; channels++)
        check_in_channels(simd, of, channels);
}

Test(simd_winograd, input_all_channel_counts)
{
    each_level(check_in);
}

/* ---- the weights ----------------------------------------------------------------------------- */

static void check_weights_columns(const onnxd_simd *simd, const matrices *of, size_t columns)
{
    enum { STRIDE = 2 * KERNEL * KERNEL };
    uint64_t seed = columns;
    const size_t width = simd->tile_columns, matrix = width + 5;
    const int count = of->in * of->in;
    float *kernels = random_floats(&seed, columns * STRIDE);
    float *out = guard_floats((size_t)count * matrix);
    simd->winograd_weights(of->tile, kernels, STRIDE, columns, out, matrix);
    for (size_t j = 0; j < width; j++) {
        double kernel[KERNEL * KERNEL] = {0};
        for (size_t i = 0; i < KERNEL * KERNEL && j < columns; i++)
            kernel[i] = (double)kernels[j * STRIDE + i];
        for (int i = 0; i < count; i++)
            expect_near((double)out[(size_t)i * matrix + j],
                        transformed(of->g[0], KERNEL, KERNEL, i / of->in, i % of->in, kernel), 1e-6,
                        "%s, tiles of %zu: matrix %d, column %zu of %zu",
                        onnxd_simd_level_name(simd->level), of->tile, i, j, columns);
    }
    for (size_t i = 0; i < (size_t)count; i++)
        cr_assert(is_guarded(out + i * matrix + width, 5));
    onnxd_free(kernels);
    onnxd_free(out);
}

static void check_weights(const onnxd_simd *simd)
{
    EACH_SIZE(of)
    for (size_t columns = 1; columns <= simd->tile_columns; columns++)
        check_weights_columns(simd, of, columns);
}

Test(simd_winograd, weights_all_column_counts)
{
    each_level(check_weights);
}

/* ---- the output ------------------------------------------------------------------------------ */

typedef struct out_case {
    const matrices *size;
    size_t maps;
    uint32_t rows, columns;
    bool has_bias, has_residual;
    onnxd_simd_activation activation;
} out_case;

typedef struct out_run {
    const out_case *of;
    size_t matrix, pixel_stride, row_stride, count;
    float *in, *bias, *residual, *out;
} out_run;

static void expect_tile(const onnxd_simd *simd, const out_run *run)
{
    const out_case *of = run->of;
    for (size_t p = 0; p < run->count; p++) {
        const size_t y = p / run->row_stride, x = p % run->row_stride / run->pixel_stride;
        const size_t map = p % run->row_stride % run->pixel_stride;
        if (x >= of->columns || map >= of->maps) {
            cr_assert_eq(run->out[p], GUARD, "%s, %u x %u of %zu maps: wrote %zu, %zu, %zu",
                         onnxd_simd_level_name(simd->level), of->rows, of->columns, of->maps, y, x,
                         map);
            continue;
        }
        double m[MOST_MATRICES];
        const int in = of->size->in;
        for (size_t i = 0; i < (size_t)(in * in); i++)
            m[i] = (double)run->in[i * run->matrix + map];
        double want = transformed(of->size->a_transposed[0], MOST_IN, in, (int)y, (int)x, m);
        want += of->has_bias ? (double)run->bias[map] : 0;
        want += of->has_residual ? (double)run->residual[p] : 0;
        want = (double)activation_reference(&of->activation, want);
        expect_near((double)run->out[p], want, 1e-4 * fmax(1, fabs(want)),
                    "%s, %u x %u, function %d: pixel %zu, %zu, map %zu of %zu is %g, not %g",
                    onnxd_simd_level_name(simd->level), of->rows, of->columns,
                    (int)of->activation.function, y, x, map, of->maps, (double)run->out[p], want);
    }
}

static void check_out_case(const onnxd_simd *simd, const out_case *of)
{
    uint64_t seed = of->maps;
    out_run run = {.of = of,
                   .matrix = of->maps + 1,
                   .pixel_stride = of->maps + 2,
                   .row_stride = (of->maps + 2) * (MOST_OUT + 1)};
    run.count = (of->rows - 1) * run.row_stride + (of->columns - 1) * run.pixel_stride + of->maps;
    run.in = random_floats(&seed, MOST_MATRICES * run.matrix);
    run.bias = random_floats(&seed, of->maps);
    run.residual = random_floats(&seed, run.count);
    run.out = guard_floats(run.count);
    const onnxd_simd_winograd_out tile = {
        .tile = of->size->tile,
        .in = run.in,
        .matrix = run.matrix,
        .out = run.out,
        .row_stride = run.row_stride,
        .pixel_stride = run.pixel_stride,
        .rows = of->rows,
        .columns = of->columns,
        .post = {.activation = of->activation,
                 .bias = of->has_bias ? run.bias : NULL,
                 .residual = of->has_residual ? run.residual : NULL},
    };
    simd->winograd_out(&tile, of->maps);
    expect_tile(simd, &run);
    onnxd_free(run.in);
    onnxd_free(run.bias);
    onnxd_free(run.residual);
    onnxd_free(run.out);
}

static void check_out(const onnxd_simd *simd)
{
    EACH_SIZE(of)
    for (size_t maps = 1; maps <= MOST_CHANNELS; maps++)
        for (uint32_t rows = 1; rows <= of->tile; rows++)
            for (uint32_t columns = 1; columns <= of->tile; columns++)
                check_out_case(
                    simd, &(out_case){.size = of, .maps = maps, .rows = rows, .columns = columns});
}

Test(simd_winograd, output_all_sizes)
{
    each_level(check_out);
}

/* Not exp, whose error here is that of its argument. */
static void check_out_posts(const onnxd_simd *simd)
{
    static const size_t maps[] = {1, 4, 19, 32};
    EACH_SIZE(of)
    for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++)
        for (int function = 0; function < ONNXD_SIMD_FUSED_COUNT; function++)
            for (unsigned bits = 0; bits < 4 && function != ONNXD_SIMD_EXP; bits++)
                check_out_case(simd, &(out_case){.size = of,
                                                 .maps = maps[m],
                                                 .rows = (uint32_t)of->tile,
                                                 .columns = (uint32_t)of->tile - 1,
                                                 .has_bias = (bits & 1) != 0,
                                                 .has_residual = (bits & 2) != 0,
                                                 .activation = each_activation[function]});
}

Test(simd_winograd, what_follows_the_output)
{
    each_level(check_out_posts);
}

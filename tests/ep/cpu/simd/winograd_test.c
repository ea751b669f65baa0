/* Winograd's transformations against the matrices of Lavin and Gray (2015), in double. */
#include <math.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

enum { IN = 6, OUT = 4, MATRICES = IN * IN, MOST_CHANNELS = 40 };

static const double b_transposed[IN][IN] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                            {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                            {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
static const double a_transposed[OUT][IN] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};

/* Row y, column x of T d T^t. */
static double transformed(const double (*t)[IN], int y, int x, const double d[IN][IN])
{
    double sum = 0;
    for (int i = 0; i < IN; i++)
        for (int j = 0; j < IN; j++)
            sum += t[y][i] * d[i][j] * t[x][j];
    return sum;
}

static void check_in(const onnxd_simd *simd)
{
    uint64_t seed = 11;
    for (size_t channels = 1; channels <= MOST_CHANNELS; channels++) {
        const size_t matrix = channels + 3;
        float *pixels[MATRICES], *out = guard_floats(MATRICES * matrix);
        const float *addresses[MATRICES];
        for (int i = 0; i < MATRICES; i++)
            addresses[i] = pixels[i] = random_floats(&seed, channels);
        simd->winograd_in(addresses, channels, out, matrix);
        for (size_t c = 0; c < channels; c++) {
            double d[IN][IN];
            for (int i = 0; i < MATRICES; i++)
                d[i / IN][i % IN] = (double)pixels[i][c];
            for (int i = 0; i < MATRICES; i++)
                expect_near((double)out[(size_t)i * matrix + c],
                            transformed(b_transposed, i / IN, i % IN, d), 5e-5,
                            "%s: matrix %d, channel %zu of %zu", onnxd_simd_level_name(simd->level),
                            i, c, channels);
        }
        for (size_t i = 0; i < MATRICES; i++)
            cr_assert(is_guarded(out + i * matrix + channels, 3), "%s: wrote beyond %zu channels",
                      onnxd_simd_level_name(simd->level), channels);
        for (int i = 0; i < MATRICES; i++)
            onnxd_free(pixels[i]);
        onnxd_free(out);
    }
}

Test(simd_winograd, input_all_channel_counts)
{
    each_level(check_in);
}

/* ---- the output ------------------------------------------------------------------------------ */

typedef struct out_case {
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
        double m[IN][IN];
        for (size_t i = 0; i < MATRICES; i++)
            m[i / IN][i % IN] = (double)run->in[i * run->matrix + map];
        double want = transformed(a_transposed, (int)y, (int)x, m);
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
                   .row_stride = (of->maps + 2) * (OUT + 1)};
    run.count = (of->rows - 1) * run.row_stride + (of->columns - 1) * run.pixel_stride + of->maps;
    run.in = random_floats(&seed, MATRICES * run.matrix);
    run.bias = random_floats(&seed, of->maps);
    run.residual = random_floats(&seed, run.count);
    run.out = guard_floats(run.count);
    const onnxd_simd_winograd_out tile = {
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
    for (size_t maps = 1; maps <= MOST_CHANNELS; maps++)
        for (uint32_t rows = 1; rows <= OUT; rows++)
            for (uint32_t columns = 1; columns <= OUT; columns++)
                check_out_case(simd, &(out_case){.maps = maps, .rows = rows, .columns = columns});
}

Test(simd_winograd, output_all_sizes)
{
    each_level(check_out);
}

/* Not exp, whose error here is that of its argument. */
static void check_out_posts(const onnxd_simd *simd)
{
    static const size_t maps[] = {1, 4, 19, 32};
    for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++)
        for (int function = 0; function < ONNXD_SIMD_FUSED_COUNT; function++)
            for (unsigned bits = 0; bits < 4 && function != ONNXD_SIMD_EXP; bits++)
                check_out_case(simd, &(out_case){.maps = maps[m],
                                                 .rows = 4,
                                                 .columns = 3,
                                                 .has_bias = (bits & 1) != 0,
                                                 .has_residual = (bits & 2) != 0,
                                                 .activation = each_activation[function]});
}

Test(simd_winograd, what_follows_the_output)
{
    each_level(check_out_posts);
}

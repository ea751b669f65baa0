/* Windows over channels-last pixels: the largest and the sum, channel by channel. */
#include <math.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

#define MOST_CHANNELS 70
/* As many as whole groups of vectors take at the widest level, and what is left. */
#define WIDE_CHANNELS (3 * 4 * ONNXD_SIMD_MAX_LANES + 5)
#define MOST_PIXELS 64

typedef enum kind { MAXIMUM, SUM, KINDS } kind;

typedef struct window_run {
    kind kind;
    size_t channels, count;
    bool is_continued;
    float *pixels[MOST_PIXELS];
    float *before, *out;
    float scale;
} window_run;

static void window_run_init(window_run *run, uint64_t *seed)
{
    for (size_t p = 0; p < run->count; p++)
        run->pixels[p] = random_floats(seed, run->channels);
    run->before = random_floats(seed, run->channels);
    /* Behind what is written, guards for the longest vector. */
    run->out = guard_floats(run->channels + ONNXD_SIMD_MAX_LANES);
    for (size_t c = 0; run->is_continued && c < run->channels; c++)
        run->out[c] = run->before[c];
}

static void window_run_deinit(window_run *run)
{
    for (size_t p = 0; p < run->count; p++)
        onnxd_free(run->pixels[p]);
    onnxd_free(run->before);
    onnxd_free(run->out);
}

static double expected(const window_run *run, size_t c)
{
    double most = run->is_continued ? (double)run->before[c] : (double)-INFINITY;
    double sum = run->is_continued ? (double)run->before[c] : 0;
    for (size_t p = 0; p < run->count; p++) {
        const double x = (double)run->pixels[p][c];
        most = fmax(most, x);
        sum += x;
    }
    if (run->kind == MAXIMUM)
        return most;
    return sum * (double)run->scale;
}

static void run_window(const onnxd_simd *simd, const window_run *run)
{
    const float *pixels[MOST_PIXELS];
    for (size_t p = 0; p < run->count; p++)
        pixels[p] = run->pixels[p];
    const onnxd_simd_window window = {
        .pixels = pixels, .count = run->count, .out = run->out, .is_continued = run->is_continued};
    if (run->kind == MAXIMUM)
        simd->maximum(&window, run->channels);
    else
        simd->sum(&window, run->channels, run->scale);
}

static void check_window(const onnxd_simd *simd, window_run run)
{
    uint64_t seed = run.channels * 100 + run.count;
    window_run_init(&run, &seed);
    run_window(simd, &run);
    for (size_t c = 0; c < run.channels; c++) {
        const double want = expected(&run, c);
        expect_near((double)run.out[c], want, run.kind == MAXIMUM ? 0 : 1e-5 * fmax(1, fabs(want)),
                    "%s, kind %d, %zu pixels: channel %zu of %zu is %g, not %g",
                    onnxd_simd_level_name(simd->level), (int)run.kind, run.count, c, run.channels,
                    (double)run.out[c], want);
    }
    cr_assert(is_guarded(run.out + run.channels, ONNXD_SIMD_MAX_LANES),
              "%s, kind %d: wrote beyond %zu channels", onnxd_simd_level_name(simd->level),
              (int)run.kind, run.channels);
    window_run_deinit(&run);
}

static void check_channels(const onnxd_simd *simd)
{
    static const size_t counts[] = {0, 1, 2, 9, MOST_PIXELS};
    for (size_t channels = 1; channels <= WIDE_CHANNELS; channels++) {
        if (channels > MOST_CHANNELS && channels < WIDE_CHANNELS - 2 * ONNXD_SIMD_MAX_LANES)
            continue;
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (int k = 0; k < KINDS; k++)
                for (int continued = 0; continued < 2; continued++)
                    check_window(simd, (window_run){.kind = (kind)k,
                                                    .channels = channels,
                                                    .count = counts[n],
                                                    .is_continued = continued != 0,
                                                    .scale = 0.25f});
    }
}

Test(simd_window, all_channel_counts)
{
    each_level(check_channels);
}

/* NaN is never the largest, whatever stands before and after it; infinities count. */
static void check_nan(const onnxd_simd *simd)
{
    static const float windows[][3] = {
        {NAN, 1, 2},       {1, NAN, 2},         {2, 1, NAN},     {NAN, NAN, -3},
        {NAN, -3, NAN},    {-INFINITY, NAN, 4}, {NAN, NAN, NAN}, {NAN, -INFINITY, -INFINITY},
        {INFINITY, NAN, 1}};
    static const float largest[] = {2, 2, 2, -3, -3, 4, -INFINITY, -INFINITY, INFINITY};
    enum { WINDOWS = sizeof(largest) / sizeof(largest[0]) };
    float pixels[3][MOST_CHANNELS], out[MOST_CHANNELS];
    for (size_t c = 0; c < MOST_CHANNELS; c++)
        for (size_t p = 0; p < 3; p++)
            pixels[p][c] = windows[c % WINDOWS][p];
    const float *addresses[] = {pixels[0], pixels[1], pixels[2]};
    const onnxd_simd_window window = {.pixels = addresses, .count = 3, .out = out};
    simd->maximum(&window, MOST_CHANNELS);
    for (size_t c = 0; c < MOST_CHANNELS; c++)
        cr_assert_eq(out[c], largest[c % WINDOWS], "%s: channel %zu is %g, not %g",
                     onnxd_simd_level_name(simd->level), c, (double)out[c],
                     (double)largest[c % WINDOWS]);
}

Test(simd_window, nan_is_never_the_largest)
{
    each_level(check_nan);
}

/* A sum of a NaN is one. */
static void check_nan_sum(const onnxd_simd *simd)
{
    float first[5] = {1, NAN, 3, 4, 5}, second[5] = {1, 2, NAN, 4, 5}, out[5];
    const float *pixels[] = {first, second};
    const onnxd_simd_window window = {.pixels = pixels, .count = 2, .out = out};
    simd->sum(&window, 5, 1);
    cr_expect(out[0] == 2 && isnan(out[1]) && isnan(out[2]) && out[3] == 8 && out[4] == 10, "%s",
              onnxd_simd_level_name(simd->level));
}

Test(simd_window, a_sum_of_nan_is_nan)
{
    each_level(check_nan_sum);
}

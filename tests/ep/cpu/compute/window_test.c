/* Geometry of windows, and the pools. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

typedef struct pool_case {
    const char *name;
    size_t batch, channels;
    int64_t in[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
    int64_t more[3]; /* windows beyond those that lie within the padded image (ceil mode) */
} pool_case;

static const pool_case pools[] = {
    {"line", 1, 3, {1, 1, 9}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0}, {0}, {0}},
    {"image", 2, 17, {1, 7, 6}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0}, {0}, {0}},
    {"padded", 1, 70, {1, 6, 6}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0}},
    {"asymmetric", 2, 5, {1, 5, 8}, {1, 3, 4}, {1, 1, 3}, {1, 1, 1}, {0, 2, 0}, {0, 0, 3}, {0}},
    {"volume", 2, 4, {3, 4, 5}, {2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}, {0}},
    {"dilated", 1, 8, {1, 9, 9}, {1, 3, 2}, {1, 1, 2}, {1, 2, 3}, {0, 2, 1}, {0, 1, 2}, {0}},
    {"dilated beyond", 1, 3, {1, 2, 2}, {1, 3, 3}, {1, 1, 1}, {1, 3, 3}, {0, 3, 3}, {0, 3, 3}, {0}},
    {"ceil", 1, 6, {1, 6, 7}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {0, 1, 0}},
    {"ceil, padded",
     2,
     9,
     {1, 6, 5},
     {1, 3, 2},
     {1, 3, 3},
     {1, 1, 1},
     {0, 1, 1},
     {0, 1, 0},
     {0, 1, 1}},
    {"ceil, nothing left", 1, 2, {1, 4, 4}, {1, 2, 2}, {1, 2, 3}, {1, 1, 1}, {0}, {0}, {0, 1, 1}},
    {"small image", 1, 12, {1, 2, 1}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 3}, {0, 3, 2}, {0}},
    {"global", 2, 33, {1, 13, 11}, {1, 13, 11}, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {0}},
    {"global volume", 1, 1, {5, 5, 7}, {5, 5, 7}, {1, 1, 1}, {1, 1, 1}, {0}, {0}, {0}},
    {"many pixels", 1, 1, {1, 30, 31}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0}},
    {"no images", 0, 5, {1, 4, 4}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0}, {0}, {0}},
    {"no channels", 2, 0, {1, 4, 4}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0}, {0}, {0}},
};
enum { POOLS = sizeof(pools) / sizeof(pools[0]) };

static onnxd_image_window window_of(const pool_case *p)
{
    onnxd_image_window w = {.batch = p->batch, .channels = p->channels};
    memcpy(w.in, p->in, sizeof(w.in));
    memcpy(w.kernel, p->kernel, sizeof(w.kernel));
    memcpy(w.stride, p->stride, sizeof(w.stride));
    memcpy(w.dilation, p->dilation, sizeof(w.dilation));
    memcpy(w.pad_begin, p->pad_begin, sizeof(w.pad_begin));
    memcpy(w.pad_end, p->pad_end, sizeof(w.pad_end));
    for (int d = 0; d < 3; d++)
        w.out[d] = extent_out(&w, d) + p->more[d];
    return w;
}

/* ---- geometry -------------------------------------------------------------------------------- */

Test(window, places_follow_each_other)
{
    for (size_t n = 0; n < POOLS; n++) {
        const onnxd_image_window w = window_of(&pools[n]);
        const size_t pixels = onnxd_image_window_pixels(&w);
        cr_assert_eq(pixels, w.batch * (size_t)(w.out[0] * w.out[1] * w.out[2]));
        cr_assert_eq(onnxd_image_window_taps(&w),
                     (size_t)(w.kernel[0] * w.kernel[1] * w.kernel[2]));
        onnxd_window_place next;
        for (size_t pixel = 0; pixel < pixels; pixel++) {
            onnxd_window_place place;
            onnxd_window_place_init(&w, pixel, &place);
            if (pixel == 0)
                next = place;
            cr_assert_eq(place.batch, next.batch, "%s: pixel %zu", pools[n].name, pixel);
            size_t back = place.batch;
            for (int d = 0; d < 3; d++) {
                cr_assert_eq(place.at[d], next.at[d], "%s: pixel %zu", pools[n].name, pixel);
                cr_assert_eq(place.start[d], next.start[d], "%s: pixel %zu", pools[n].name, pixel);
                cr_assert_eq(place.start[d], place.at[d] * w.stride[d] - w.pad_begin[d]);
                back = back * (size_t)w.out[d] + (size_t)place.at[d];
            }
            cr_assert_eq(back, pixel, "%s", pools[n].name);
            onnxd_window_place_next(&w, &next);
        }
    }
}

/* Every tap of a strip's pixel is where the pixel's own window has it. */
static void check_strip(const onnxd_image_window *w, const onnxd_window_strip *strip, size_t pixel,
                        const char *name)
{
    for (int64_t tap = 0; tap < (int64_t)onnxd_image_window_taps(w); tap++) {
        const int64_t x = tap % w->kernel[2], y = tap / w->kernel[2] % w->kernel[1];
        const int64_t z = tap / w->kernel[2] / w->kernel[1];
        const onnxd_strip_tap of = onnxd_window_strip_tap(w, strip, z, y, x);
        cr_assert_leq(of.last, strip->count);
        for (uint32_t i = 0; i < strip->count; i++) {
            onnxd_window_place place;
            onnxd_window_place_init(w, pixel + i, &place);
            const onnxd_window_place same = onnxd_window_strip_place(w, strip, i);
            const bool is_inside = i >= of.first && i < of.last;
            cr_assert_eq(onnxd_window_tap(w, &place, z, y, x), is_inside ? of.at + i * of.step : -1,
                         "%s: pixel %zu, tap %ld", name, pixel + i, (long)tap);
            cr_assert(same.batch == place.batch && same.origin == place.origin &&
                      memcmp(same.at, place.at, sizeof(same.at)) == 0 &&
                      memcmp(same.start, place.start, sizeof(same.start)) == 0);
        }
    }
}

Test(window, strips_are_windows_side_by_side)
{
    enum { MOST = 50 };
    for (size_t n = 0; n < POOLS; n++) {
        const onnxd_image_window w = window_of(&pools[n]);
        const size_t pixels = onnxd_image_window_pixels(&w);
        for (size_t first = 0; first < pixels; first += 37) {
            onnxd_window_strip strips[MOST];
            const size_t left = pixels - first;
            const uint32_t count = left < MOST ? (uint32_t)left : MOST;
            const size_t strip_count = onnxd_window_strips(&w, first, count, strips);
            size_t pixel = first;
            for (size_t s = 0; s < strip_count; s++) {
                check_strip(&w, &strips[s], pixel, pools[n].name);
                pixel += strips[s].count;
            }
            cr_assert_eq(pixel, first + count);
        }
    }
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* The result for one output pixel and channel, by going through every tap. */
static double expected(const onnxd_image_window *w, onnxd_pool_kind kind,
                       const onnxd_window_place *place, const float *in, size_t channel)
{
    double most = (double)-INFINITY, sum = 0, within = 0, padded = 0;
    for (int64_t tap = 0; tap < w->kernel[0] * w->kernel[1] * w->kernel[2]; tap++) {
        const int64_t along[3] = {tap / w->kernel[2] / w->kernel[1],
                                  tap / w->kernel[2] % w->kernel[1], tap % w->kernel[2]};
        bool is_within = true, is_padded = true;
        size_t at = place->batch;
        for (int d = 0; d < 3; d++) {
            const int64_t x =
                place->at[d] * w->stride[d] - w->pad_begin[d] + along[d] * w->dilation[d];
            is_within = is_within && x >= 0 && x < w->in[d];
            is_padded = is_padded && x >= -w->pad_begin[d] && x < w->in[d] + w->pad_end[d];
            at = at * (size_t)w->in[d] + (size_t)x;
        }
        within += is_within ? 1 : 0;
        padded += is_padded ? 1 : 0;
        if (!is_within)
            continue;
        const double x = (double)in[at * w->channels + channel];
        sum += x;
        most = fmax(most, x);
    }
    const double count = kind == ONNXD_POOL_AVERAGE ? within : padded;
    if (kind == ONNXD_POOL_MAXIMUM)
        return most;
    return count == 0 ? 0 : sum / count;
}

/* `gap`: elements between the pixels of the input, twice as many for the output. */
static void check_pool(const onnxd_simd *simd, onnxd_team *team, const pool_case *p,
                       onnxd_pool_kind kind, size_t gap)
{
    uint64_t seed = 9;
    const onnxd_image_window w = window_of(p);
    const size_t pixels = onnxd_image_window_pixels(&w), count = pixels * w.channels;
    const size_t in_pixels = w.batch * (size_t)(w.in[0] * w.in[1] * w.in[2]);
    const size_t in_pitch = w.channels + gap, out_pitch = w.channels + 2 * gap;
    float *in = random_floats(&seed, in_pixels * w.channels);
    float *spread = guard_floats(in_pixels * in_pitch);
    float *out = guard_floats(pixels * out_pitch + ONNXD_SIMD_MAX_LANES);
    for (size_t i = 0; i < in_pixels; i++)
        memcpy(spread + i * in_pitch, in + i * w.channels, w.channels * sizeof(float));
    onnxd_pool_run(simd, team, &w, kind, (onnxd_pixels_in){spread, in_pitch},
                   (onnxd_pixels_out){out, out_pitch});
    cr_assert(is_guarded(out + pixels * out_pitch, ONNXD_SIMD_MAX_LANES),
              "%s, %s: wrote beyond its end", onnxd_simd_level_name(simd->level), p->name);
    for (size_t i = 0; i < pixels; i++) {
        cr_assert(is_guarded(out + i * out_pitch + w.channels, 2 * gap),
                  "%s, %s: wrote behind pixel %zu", onnxd_simd_level_name(simd->level), p->name, i);
        memmove(out + i * w.channels, out + i * out_pitch, w.channels * sizeof(float));
    }
    for (size_t i = 0; i < count; i++) {
        onnxd_window_place place;
        onnxd_window_place_init(&w, i / w.channels, &place);
        const double want = expected(&w, kind, &place, in, i % w.channels);
        expect_near((double)out[i], want, kind == ONNXD_POOL_MAXIMUM ? 0 : 2e-6,
                    "%s, %s, kind %d: pixel %zu channel %zu is %g, not %g",
                    onnxd_simd_level_name(simd->level), p->name, (int)kind, i / w.channels,
                    i % w.channels, (double)out[i], want);
    }
    onnxd_free(in);
    onnxd_free(spread);
    onnxd_free(out);
}

static void check_pools(const onnxd_simd *simd)
{
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        onnxd_team *team = NULL;
        cr_assert_null(onnxd_team_create(threads, &team));
        for (size_t n = 0; n < POOLS; n++)
            for (int kind = 0; kind <= ONNXD_POOL_AVERAGE_PADDED; kind++)
                for (size_t gap = 0; gap <= 3; gap += 3)
                    check_pool(simd, team, &pools[n], (onnxd_pool_kind)kind, gap);
        onnxd_team_destroy(team);
    }
}

Test(window, pools)
{
    each_level(check_pools);
}

/* A window of more pixels than are handed to a kernel at a time: the largest may be in any part. */
static void check_parts(const onnxd_simd *simd)
{
    enum { PIXELS = 200 };
    const onnxd_image_window w = {.batch = 1,
                                  .channels = 1,
                                  .in = {1, 1, PIXELS},
                                  .out = {1, 1, 1},
                                  .kernel = {1, 1, PIXELS},
                                  .stride = {1, 1, 1},
                                  .dilation = {1, 1, 1}};
    onnxd_team *team = NULL;
    cr_assert_null(onnxd_team_create(1, &team));
    for (size_t at = 0; at < PIXELS; at++) {
        float in[PIXELS], out = GUARD;
        for (size_t i = 0; i < PIXELS; i++)
            in[i] = i % 3 == 0 && i != at ? NAN : -2;
        in[at] = -1;
        onnxd_pool_run(simd, team, &w, ONNXD_POOL_MAXIMUM, (onnxd_pixels_in){in, 1},
                       (onnxd_pixels_out){&out, 1});
        cr_assert_eq(out, -1, "%s: pixel %zu", onnxd_simd_level_name(simd->level), at);
    }
    onnxd_team_destroy(team);
}

Test(window, the_largest_is_found_in_any_part)
{
    each_level(check_parts);
}

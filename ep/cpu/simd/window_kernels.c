/*
 * Windows over channels-last images: what becomes of the pixels of one window, channel by channel.
 * Vectors run along the channels; a few of them at a time share the reading of the pixels'
 * addresses.
 */
#include <math.h>

#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector.h"

/* Vectors that are worked on together. */
#define GROUP 4

typedef struct group {
    vf of[GROUP];
} group;

/* For whole groups, then whole vectors, then what is left: BODY(vectors, lanes, channel). */
#define EACH_CHANNEL(channels, BODY)                                                               \
    do {                                                                                           \
        size_t at = 0;                                                                             \
        for (; at + GROUP * LANES <= (channels); at += GROUP * LANES)                              \
            BODY(GROUP, LANES, at);                                                                \
        for (; at + LANES <= (channels); at += LANES)                                              \
            BODY(1, LANES, at);                                                                    \
        if (at < (channels))                                                                       \
            BODY(1, (channels)-at, at);                                                            \
    } while (0)

/* ---- pools ----------------------------------------------------------------------------------- */

/* NaN is never the largest. */
INLINED void maximum_of(const onnxd_simd_window *w, const size_t vectors, const size_t lanes,
                        size_t channel)
{
    group most;
    UNROLLED
    for (size_t j = 0; j < vectors; j++)
        most.of[j] =
            w->is_continued ? vf_load_some(w->out + channel + j * LANES, lanes) : vf_all(-INFINITY);
    for (size_t p = 0; p < w->count; p++) {
        UNROLLED
        for (size_t j = 0; j < vectors; j++)
            most.of[j] =
                vf_max(vf_load_some(w->pixels[p] + channel + j * LANES, lanes), most.of[j]);
    }
    UNROLLED
    for (size_t j = 0; j < vectors; j++)
        vf_store_some(w->out + channel + j * LANES, most.of[j], lanes);
}

void LEVEL_NAME(onnxd_simd_maximum)(const onnxd_simd_window *window, size_t channels)
{
#define BODY(vectors, lanes, channel) maximum_of(window, vectors, lanes, channel)
    EACH_CHANNEL(channels, BODY);
#undef BODY
}

INLINED void sum_of(const onnxd_simd_window *w, const size_t vectors, const size_t lanes,
                    size_t channel, float scale)
{
    group sum;
    UNROLLED
    for (size_t j = 0; j < vectors; j++)
        sum.of[j] = w->is_continued ? vf_load_some(w->out + channel + j * LANES, lanes) : vf_all(0);
    for (size_t p = 0; p < w->count; p++) {
        UNROLLED
        for (size_t j = 0; j < vectors; j++)
            sum.of[j] += vf_load_some(w->pixels[p] + channel + j * LANES, lanes);
    }
    UNROLLED
    for (size_t j = 0; j < vectors; j++)
        vf_store_some(w->out + channel + j * LANES, sum.of[j] * scale, lanes);
}

void LEVEL_NAME(onnxd_simd_sum)(const onnxd_simd_window *window, size_t channels, float scale)
{
#define BODY(vectors, lanes, channel) sum_of(window, vectors, lanes, channel, scale)
    EACH_CHANNEL(channels, BODY);
#undef BODY
}

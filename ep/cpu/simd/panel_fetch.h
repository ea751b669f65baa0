/*
 * Bringing panels of B nearer before a product reads them. A step of a panel is as long for floats
 * as for pairs of 16 bits and fours of bytes. For files of this folder that are built per level.
 */
#ifndef ONNXD_EP_CPU_SIMD_PANEL_FETCH_H
#define ONNXD_EP_CPU_SIMD_PANEL_FETCH_H

#include "ep/cpu/simd/vector.h"

#define PANEL_STEP_BYTES (4 * TILE_COLUMNS)
#define CACHE_LINE ((size_t)64)

/* What the next tile needs of B comes from far. Every pass of rows over this tile's B brings its
 * share of it nearer, so much at each step: all at once would have to be waited for. */
typedef struct panel_fetch {
    uintptr_t at; /* an address that is never read from, and may be beyond what is there */
    size_t step_bytes;
} panel_fetch;

/* One or two rows read B once, in the order of memory, which the processor foresees. */
static inline bool panel_fetch_pays(const void *next, size_t rows)
{
    return next != NULL && rows > 2;
}

/* `next`: the panel, of which each of `passes` passes fetches its share; may be NULL where no step
 * fetches. */
static inline panel_fetch panel_fetch_of(const void *next, size_t passes)
{
    const size_t shares = passes == 0 ? 1 : passes;
    return (panel_fetch){(uintptr_t)next, (PANEL_STEP_BYTES + shares - 1) / shares};
}

#define PANEL_PREFETCH(address, locality) __builtin_prefetch((const void *)(address), 0, locality)

INLINED void panel_fetch_step(const bool is_fetching, panel_fetch *fetch)
{
    if (!is_fetching)
        return;
    UNROLLED
    for (size_t i = 0; i < PANEL_STEP_BYTES; i += CACHE_LINE)
        PANEL_PREFETCH(fetch->at + i, 2);
    fetch->at += fetch->step_bytes;
}

/* After a pass over `steps` steps, which worked on a copy. */
static inline void panel_fetch_pass(panel_fetch *fetch, size_t steps)
{
    fetch->at += steps * fetch->step_bytes;
}

/* The step of this tile's panel that comes some steps after `b`, from the second-level cache, where
 * the panels of wide vectors mostly are. Not for one or two rows, as above. */
INLINED void panel_expect(const bool is_expecting, const void *b)
{
    if (STEPS_AHEAD == 0 || !is_expecting)
        return;
    UNROLLED
    for (size_t i = 0; i < PANEL_STEP_BYTES; i += CACHE_LINE)
        PANEL_PREFETCH((uintptr_t)b + STEPS_AHEAD * PANEL_STEP_BYTES + i, 3);
}

#endif

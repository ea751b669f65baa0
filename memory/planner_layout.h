/* The planner's placement strategies over plain blocks; planner.c chooses between them. */
#ifndef ONNXD_MEMORY_PLANNER_LAYOUT_H
#define ONNXD_MEMORY_PLANNER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Memory that is live in every step of [first_step, last_step]. bytes > 0. */
typedef struct onnxd_plan_block {
    size_t record; /* index of the record it was made for; makes every order total */
    uint32_t first_step, last_step;
    size_t bytes;
    size_t alignment;
    size_t offset; /* out */
} onnxd_plan_block;

typedef struct onnxd_plan_layout {
    bool gave_up; /* there are too many pairs of blocks that live at the same time */
    /* Where it did not give up: */
    size_t arena_bytes;
    uint64_t neighbour_count; /* the number of such pairs */
} onnxd_plan_layout;

/* Sorts by first step, which the strategies below expect. */
void onnxd_plan_sort(onnxd_plan_block *blocks, size_t count);

/* The largest sum of blocks that live at the same time. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_peak(const onnxd_plan_block *blocks, size_t count,
                                              size_t *out_peak_bytes);
/* Walks through time and puts each block where the ones then live leave the tightest gap. All
 * functions: OUT_OF_MEMORY when scratch memory is short or a sum of bytes does not fit size_t. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_by_time(onnxd_plan_block *blocks, size_t count,
                                                 onnxd_plan_layout *out);
/* Places the largest first, which packs better; takes memory for every neighbouring pair, whose
 * number onnxd_plan_by_time() found. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_by_size(onnxd_plan_block *blocks, size_t count,
                                                 uint64_t neighbour_count, size_t *out_arena_bytes);
/* Shares nothing: one after the other, the coarsest alignment first, so that the arena is never
 * larger than the sum of all sizes, each rounded up to its alignment. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_stacked(onnxd_plan_block *blocks, size_t count,
                                                 size_t *out_arena_bytes);

#endif

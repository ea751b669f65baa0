/*
 * The activation planner: lifetimes in, offsets out. A pure function over numbers; it never touches
 * memory and knows no device.
 *
 * Two records whose [first_step, last_step] ranges intersect never share a byte, unless one names
 * the other as its alias. A record and its aliases, of which the chain may have several, are one
 * block that lives from the first step of any to the last step of any. The plan is deterministic,
 * never larger than the sum of all blocks, each rounded up to its alignment, and never smaller than
 * the peak: the largest sum of simultaneously live blocks.
 */
#ifndef ONNXD_MEMORY_PLANNER_H
#define ONNXD_MEMORY_PLANNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ONNXD_PLAN_NO_ALIAS SIZE_MAX

typedef struct onnxd_plan_record {
    uint32_t first_step, last_step; /* inclusive; first <= last */
    size_t bytes;                   /* 0 is legal: offset 0, shares freely */
    size_t alignment;               /* power of two */
    size_t alias;                   /* index of the earlier record whose memory this one reuses (a
                                       view or an update in place, not larger than that record), or
                                       ONNXD_PLAN_NO_ALIAS */
    size_t offset;                  /* out */
} onnxd_plan_record;

/* Fills in every offset and the size of the arena in bytes; untouched on failure. Takes time in the
 * order of n log n for n records, and for each the order of m log m, m being how many live with it.
 * Errors: INVALID_ARGUMENT (bad record, with its index), OUT_OF_MEMORY (also when the arena does
 * not fit size_t). */
ONNXD_NODISCARD onnxd_status *onnxd_plan_memory(onnxd_plan_record *records, size_t count,
                                                size_t *out_arena_bytes, size_t *out_peak_bytes);

#endif

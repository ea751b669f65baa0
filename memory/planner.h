/*
 * The activation planner: lifetimes in, offsets out. A pure function over numbers; it never touches
 * memory and knows no device.
 *
 * Two records whose [first_step, last_step] ranges intersect never share a byte, unless one names
 * the other as its alias. The plan is deterministic, never larger than the sum of all sizes and
 * never smaller than the largest set of simultaneously live bytes.
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
    size_t alias;                   /* index of the earlier record whose memory this one reuses whole
                                       (a view), or ONNXD_PLAN_NO_ALIAS */
    size_t offset;                  /* out */
} onnxd_plan_record;

/* Fills in every offset and the size of the arena in bytes. O(n log n + n * live).
 * Errors: INVALID_ARGUMENT (bad record, with its index), OUT_OF_MEMORY (also when the total does not
 * fit size_t). */
ONNXD_NODISCARD onnxd_status *onnxd_plan_memory(onnxd_plan_record *records, size_t count,
                                                size_t *out_arena_bytes, size_t *out_peak_bytes);

#endif

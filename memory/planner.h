/*
 * The activation planner: lifetimes in, offsets out. A pure function over numbers; it never touches
 * memory and knows no device.
 *
 * Two records whose [first_step, last_step] ranges intersect never share a byte. The plan is
 * deterministic, never larger than the sum of all records, each rounded up to its alignment, and
 * never smaller than the peak: the largest sum of simultaneously live records.
 */
#ifndef ONNXD_MEMORY_PLANNER_H
#define ONNXD_MEMORY_PLANNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct onnxd_plan_record {
    uint32_t first_step, last_step; /* inclusive; first <= last */
    size_t bytes;                   /* 0 is legal: offset 0, shares freely */
    size_t alignment;               /* power of two */
    size_t offset;                  /* out */
} onnxd_plan_record;

/* Fills in every offset and the size of the arena in bytes; untouched on failure. Takes time in the
 * order of n log n for n records, and for each the order of m log m, m being how many live with it;
 * where that is too much in all, nothing shares memory.
 * Errors: INVALID_ARGUMENT (bad record, with its index), OUT_OF_MEMORY (also when the arena does
 * not fit size_t). */
ONNXD_NODISCARD onnxd_status *onnxd_plan_memory(onnxd_plan_record *records, size_t count,
                                                size_t *out_arena_bytes, size_t *out_peak_bytes);

#endif

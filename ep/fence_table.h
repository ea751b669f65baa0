/*
 * The fences of one instance: pooled, generation-checked, host side.
 *
 *   acquire ─► pending ─► signal(status) ─► signalled ─┐
 *                 └────────── release ─────────────────┴─► free, once signalled, released and
 *                                                          nobody waits
 *
 * A fence id is a slot, the slot's generation and the instance's tag: an id that was released, made
 * up or made by another instance is STALE_FENCE. Nobody needs to wait on a fence for its slot to
 * come back. A failure is kept with the fence; every waiter gets a copy.
 *
 * All memory is taken when the table is made.
 *
 * Threads: any; one mutex, and a condition variable per fence.
 */
#ifndef ONNXD_EP_FENCE_TABLE_H
#define ONNXD_EP_FENCE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ep/ep.h"

#define ONNXD_FENCE_TABLE_MAX ((uint32_t)1 << 16)

typedef struct onnxd_fence_table onnxd_fence_table;

/* `capacity` fences (1 .. ONNXD_FENCE_TABLE_MAX) may be held at once; `tag` comes from
 * onnxd_instance_tag(). Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_create(uint32_t capacity, uint16_t tag,
                                                       onnxd_fence_table **out_table);
/* NULL is fine. Nobody may be waiting. */
void onnxd_fence_table_destroy(onnxd_fence_table *table);

/* A pending fence: to be signalled once by the work and released once by the caller.
 * Errors: RESOURCE_EXHAUSTED when all fences are held. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_acquire(onnxd_fence_table *table,
                                                        onnxd_fence *out_fence);
/* The work behind the fence is done, or failed with `status`, which the table takes over. Ids that
 * are not pending are ignored. */
void onnxd_fence_table_signal(onnxd_fence_table *table, onnxd_fence fence, onnxd_status *status);

/* Waits up to timeout_ns, negative: for ever. Errors: DEADLINE_EXCEEDED, STALE_FENCE, or a copy of
 * the failure. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_wait(onnxd_fence_table *table, onnxd_fence fence,
                                                     int64_t timeout_ns);
/* Errors: STALE_FENCE. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_query(onnxd_fence_table *table, onnxd_fence fence,
                                                      bool *out_done);
/* Errors: STALE_FENCE, a second release included. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_release(onnxd_fence_table *table,
                                                        onnxd_fence fence);

/* Keeps the fence's outcome for one later wait_held(), whatever is released meanwhile: for work
 * that is queued to wait. Errors: STALE_FENCE. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_hold(onnxd_fence_table *table, onnxd_fence fence);
/* Waits for ever on a fence that is held, and ends the hold. out_waited (may be NULL): whether it
 * was still pending. Errors: a copy of the failure. */
ONNXD_NODISCARD onnxd_status *onnxd_fence_table_wait_held(onnxd_fence_table *table,
                                                          onnxd_fence fence, bool *out_waited);

/* Fences not yet free. */
uint32_t onnxd_fence_table_live(onnxd_fence_table *table);

#endif

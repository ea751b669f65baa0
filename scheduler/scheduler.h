/*
 * The scheduler: one queue per device (instance), its device threads and a completion thread, and
 * one thread that prepares plans.
 *
 *   submit ─► plan known? ──yes──► queue of the first stage's device
 *                 └─no──► prepare thread ─────┘
 *   device threads:    take ─► issue the stage ─► in-flight list (bounded)
 *   completion thread: wait for the oldest fence ─► retire ─► next stage's queue, or done
 *
 * The device thread never waits for a device but for a fence, when all are in use, and where an
 * allocation waits for memory that is being given back: with three runs in flight one uploads, one
 * computes and one downloads. On a host-addressable instance the kernels run on the device thread
 * itself and there is no completion thread; where the instance allows several issuers, there are
 * that many device threads, at most max_in_flight, and requests run side by side. They begin in the
 * order in which they were admitted.
 *
 * Bounds. Requests wait in bounded queues. A request leaves its queue only while fewer than
 * max_in_flight runs per device of its plan have begun in that queue and not ended, so runs do not
 * pile up before a slow later stage: the queue fills, and submit refuses.
 *
 * Memory. A run takes all its memory when it begins. A request that finds too little goes back to
 * the head of its queue and is tried again when a run has given memory back; later stages are
 * served meanwhile. It fails with OUT_OF_MEMORY when no run holds memory of the device that is
 * short.
 *
 * Every submitted request ends exactly once through its `done`: with a result, an error, CANCELLED
 * or DEADLINE_EXCEEDED. A request that waits for a device ends when its deadline passes or it is
 * cancelled, whatever the device is busy with; on a host-addressable instance, and while its plan
 * waits to be prepared, when a thread there has done what it is at. One that has begun is checked
 * between stages and on completion, and for cancellation between kernels.
 *
 * Threads: submit, cancel and stats from any thread, never blocking for longer than a look-up.
 */
#ifndef ONNXD_SCHEDULER_SCHEDULER_H
#define ONNXD_SCHEDULER_SCHEDULER_H

#include "model/request.h"

/* 0 takes the default. */
typedef struct onnxd_scheduler_options {
    uint32_t max_queue_size; /* requests waiting, per device, admitted from outside; default 128 */
    uint32_t max_in_flight;  /* stages issued and not retired, per device; default 4 */
} onnxd_scheduler_options;

typedef struct onnxd_scheduler onnxd_scheduler;

ONNXD_NODISCARD onnxd_status *onnxd_scheduler_create(onnxd_runtime *runtime,
                                                     const onnxd_scheduler_options *options,
                                                     onnxd_scheduler **out_scheduler);
/* Ownership of the request moves on success only.
 * Errors: RESOURCE_EXHAUSTED "Exceeds maximum queue size" (retry later), UNAVAILABLE when stopping,
 * INVALID_ARGUMENT when an input is missing. */
ONNXD_NODISCARD onnxd_status *onnxd_scheduler_submit(onnxd_scheduler *scheduler,
                                                     onnxd_request *request);
/* Asks a submitted request to end early; it still ends through `done`. */
void onnxd_scheduler_cancel(onnxd_scheduler *scheduler, onnxd_request *request);

typedef struct onnxd_scheduler_stats {
    uint64_t submitted, completed, failed, cancelled, expired, refused;
    uint32_t waiting, in_flight;
} onnxd_scheduler_stats;
onnxd_scheduler_stats onnxd_scheduler_query(onnxd_scheduler *scheduler);

/* Refuses new requests, then waits until all admitted ones are done or deadline_ns has come; what
 * is left is cancelled and still ends through `done`. Blocks: not on the loop. */
void onnxd_scheduler_stop(onnxd_scheduler *scheduler, int64_t deadline_ns);
void onnxd_scheduler_destroy(onnxd_scheduler *scheduler);

#endif

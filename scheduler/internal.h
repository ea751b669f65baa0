/* What the files of scheduler/ share. Included by scheduler/ alone. */
#ifndef ONNXD_SCHEDULER_INTERNAL_H
#define ONNXD_SCHEDULER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "model/worker.h"
#include "scheduler/scheduler.h"

/* One device: its queues, its thread, and the thread that waits for its fences. */
typedef struct onnxd_lane {
    onnxd_scheduler *scheduler;
    onnxd_ep *ep;
    bool is_host; /* kernels run on the device thread; nothing is ever in flight */
    onnxd_worker device, completion;
    pthread_mutex_t mutex;
    pthread_cond_t work;   /* for the device thread: a request, or a stage retired */
    pthread_cond_t issued; /* for the completion thread */
    /* under the mutex */
    onnxd_fifo fresh;         /* admitted from outside; bounded */
    onnxd_fifo continued;     /* later stages: they hold memory, so they go first */
    onnxd_fifo in_flight;     /* issued, oldest first */
    uint32_t in_flight_count; /* with the one being issued and the one waited for */
    onnxd_request *issuing, *completing;
    uint64_t retired_count;
    bool is_ending;
} onnxd_lane;

/* The queue before the thread that prepares plans. */
typedef struct onnxd_preparer {
    onnxd_scheduler *scheduler;
    onnxd_worker worker;
    pthread_mutex_t mutex;
    pthread_cond_t work;
    /* under the mutex */
    onnxd_fifo queue;
    onnxd_request *preparing;
    bool is_ending;
} onnxd_preparer;

struct onnxd_scheduler {
    onnxd_scheduler_options options;
    onnxd_lane *lanes; /* [lane_count], as the runtime's instances */
    uint32_t lane_count;
    onnxd_preparer preparer;
    atomic_uint live; /* admitted and not done */
    atomic_bool is_stopping, is_abandoned;
    pthread_mutex_t idle_mutex; /* for stop() to wait on `idle` */
    pthread_cond_t idle;
    _Atomic uint64_t submitted, completed, failed, cancelled, expired, refused;
};

/* ---- scheduler.c --------------------------------------------------------------------------- */

/* Why the request must not go on: CANCELLED, DEADLINE_EXCEEDED, or NULL. */
ONNXD_NODISCARD onnxd_status *onnxd_scheduler_check(const onnxd_scheduler *scheduler,
                                                    const onnxd_request *request);
/* Ends the request through `done`; takes over `status`. Nobody touches the request afterwards. */
void onnxd_scheduler_finish(onnxd_scheduler *scheduler, onnxd_request *request,
                            onnxd_status *status);
/* Sends a request with a plan, whose stage is set, to the lane of that stage. */
void onnxd_scheduler_continue(onnxd_scheduler *scheduler, onnxd_request *request);
/* The lane that takes a request with a fresh plan. */
onnxd_lane *onnxd_scheduler_first_lane(onnxd_scheduler *scheduler, const onnxd_plan *plan);

/* ---- lane.c -------------------------------------------------------------------------------- */

/* Sets up a zeroed lane; deinit is due even after a failure. */
void onnxd_lane_init(onnxd_lane *lane, onnxd_scheduler *scheduler, onnxd_ep *ep);
ONNXD_NODISCARD onnxd_status *onnxd_lane_start(onnxd_lane *lane);
/* Ends the threads; the lane is empty. */
void onnxd_lane_stop(onnxd_lane *lane);
void onnxd_lane_deinit(onnxd_lane *lane);
/* False when the queue is full. */
ONNXD_NODISCARD bool onnxd_lane_admit(onnxd_lane *lane, onnxd_request *request);
void onnxd_lane_push_continued(onnxd_lane *lane, onnxd_request *request);
/* Marks all that the lane holds as cancelled. */
void onnxd_lane_cancel_all(onnxd_lane *lane);
void onnxd_lane_count(onnxd_lane *lane, uint32_t *waiting, uint32_t *in_flight);

/* ---- preparer.c ---------------------------------------------------------------------------- */

void onnxd_preparer_init(onnxd_preparer *preparer, onnxd_scheduler *scheduler);
ONNXD_NODISCARD onnxd_status *onnxd_preparer_start(onnxd_preparer *preparer);
void onnxd_preparer_stop(onnxd_preparer *preparer);
void onnxd_preparer_deinit(onnxd_preparer *preparer);
ONNXD_NODISCARD bool onnxd_preparer_admit(onnxd_preparer *preparer, onnxd_request *request);
void onnxd_preparer_cancel_all(onnxd_preparer *preparer);
void onnxd_preparer_count(onnxd_preparer *preparer, uint32_t *waiting);

/* Marks the requests of a list and, unless it is NULL, one more. The holder's mutex is held. */
void onnxd_cancel_list(const onnxd_fifo *fifo, onnxd_request *more);

#endif

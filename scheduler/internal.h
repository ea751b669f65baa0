/* What the files of scheduler/ share. Included by scheduler/ alone. */
#ifndef ONNXD_SCHEDULER_INTERNAL_H
#define ONNXD_SCHEDULER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "model/worker.h"
#include "scheduler/scheduler.h"

typedef struct onnxd_lane onnxd_lane;

/* A thread that takes requests from a lane and issues them. */
typedef struct onnxd_device_thread {
    onnxd_lane *lane;
    onnxd_worker worker;
    pthread_cond_t work; /* something that may let it take a request */
    /* under the lane's mutex */
    bool is_waiting;        /* and not woken yet */
    bool is_spinning;       /* looks at is_woken instead of sleeping on `work` */
    onnxd_request *issuing; /* NULL: none */
    atomic_bool is_woken;   /* written under the mutex */
    /* its own */
    bool is_issuing;  /* told the provider so */
    bool had_request; /* since it last waited */
} onnxd_device_thread;

/* One device: its queues, its threads, and the thread that waits for its fences. */
struct onnxd_lane {
    onnxd_scheduler *scheduler;
    onnxd_ep *ep;
    bool is_host; /* kernels run on the device threads; nothing is ever in flight */
    onnxd_device_thread
        *devices; /* [device_count]; one that spins is woken, else the first that waits */
    uint32_t device_count;
    onnxd_worker completion;
    pthread_mutex_t mutex;
    pthread_cond_t issued; /* for the completion thread */
    /* under the mutex */
    onnxd_fifo fresh;         /* admitted from outside; bounded, but for one that is put back */
    onnxd_fifo continued;     /* later stages: they hold memory, so they go first */
    onnxd_fifo in_flight;     /* issued, oldest first */
    uint32_t in_flight_count; /* with those being issued and the one waited for */
    uint32_t running;         /* runs that began here and have not ended, wherever they are */
    int64_t next_deadline_ns; /* no request in `fresh` ends before */
    bool must_sweep;          /* one in `fresh` may have been cancelled */
    /* Taken from `fresh` and neither begun nor put back. One at a time, so that requests begin in
     * their order. NULL: none. */
    const onnxd_request *beginning;
    onnxd_request *completing;
    bool is_ending;
    /* of the device thread that has `beginning`: the head of `fresh`, when it waits for memory */
    const onnxd_request *parked;
    /* of room.c: the space whose memory `parked` lacks, 0 for none; some was given back since */
    _Atomic uint64_t short_of;
    atomic_bool may_retry;
};

/* Who holds memory of which space, so that a request which finds none knows whether to wait. */
typedef struct onnxd_room {
    pthread_mutex_t mutex;
    /* under the mutex */
    uint32_t holders[64];
    uint64_t given_count; /* of times that memory was given back */
} onnxd_room;

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
    onnxd_room room;
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
/* The run of a request has given back what it held on devices, or all when it failed. Nothing when
 * it has not begun or has ended. */
void onnxd_scheduler_end_run(onnxd_scheduler *scheduler, onnxd_request *request);
/* Queues a request that has its plan at the lane of its first stage. False when that is full. */
ONNXD_NODISCARD bool onnxd_scheduler_admit(onnxd_scheduler *scheduler, onnxd_request *request);
/* A condition that is waited for against onnxd_now_ns(). */
void onnxd_scheduler_cond_init(pthread_cond_t *cond);
/* Waits until a signal or deadline_ns, which may be ONNXD_NO_DEADLINE. False at the deadline. */
bool onnxd_scheduler_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns);

/* ---- lane.c -------------------------------------------------------------------------------- */

/* Sets up a zeroed lane; deinit is due even after a failure. */
void onnxd_lane_init(onnxd_lane *lane, onnxd_scheduler *scheduler, onnxd_ep *ep);
ONNXD_NODISCARD onnxd_status *onnxd_lane_start(onnxd_lane *lane);
/* Ends the threads; the lane is empty. */
void onnxd_lane_stop(onnxd_lane *lane);
void onnxd_lane_deinit(onnxd_lane *lane);

/* ---- lane_queue.c -------------------------------------------------------------------------- */

onnxd_request *onnxd_request_of_link(onnxd_link *link);
/* The next request for the thread, or NULL at the end. Counted as in flight from here on. One that
 * has not begun keeps others from beginning until onnxd_lane_begun() or _put_back(). */
onnxd_request *onnxd_lane_take(onnxd_device_thread *device);
/* The request that was taken to begin has begun, or will not: has_run tells. */
void onnxd_lane_begun(onnxd_lane *lane, bool has_run);
/* The request that was taken to begin goes back to the head of the queue. */
void onnxd_lane_put_back(onnxd_device_thread *device, onnxd_request *request);
/* False when the queue is full. */
ONNXD_NODISCARD bool onnxd_lane_admit(onnxd_lane *lane, onnxd_request *request);
void onnxd_lane_push_continued(onnxd_lane *lane, onnxd_request *request);
/* Makes a device thread look again whether it may take a request. One that takes one wakes the next
 * while there are more. */
void onnxd_lane_wake(onnxd_lane *lane);
void onnxd_lane_wake_locked(onnxd_lane *lane);
/* Ends the wait of this one, whether it spins or sleeps. */
void onnxd_device_wake_locked(onnxd_device_thread *device);
/* The same, and whether a waiting request was cancelled. */
void onnxd_lane_sweep(onnxd_lane *lane);
/* Marks all that the lane holds as cancelled. */
void onnxd_lane_cancel_all(onnxd_lane *lane);
void onnxd_lane_count(onnxd_lane *lane, uint32_t *waiting, uint32_t *in_flight);
/* Marks the requests of a list and, unless it is NULL, one more. The holder's mutex is held. */
void onnxd_cancel_list(const onnxd_fifo *fifo, onnxd_request *more);

/* ---- room.c --------------------------------------------------------------------------------
 *
 * A run takes all its memory before its first stage. A request that finds too little of one space
 * waits at the head of its lane's queue, holding none, for as long as a run holds memory of that
 * space; meanwhile no lane begins a run that needs that space, so the holders become fewer and the
 * request is served, or fails when nobody holds any. Memory that requests hold beyond their run
 * (inputs, outputs that are being written) is not waited for.
 */

void onnxd_room_init(onnxd_room *room);
void onnxd_room_deinit(onnxd_room *room);
/* Finds the spaces and lanes that the request's plan uses. */
void onnxd_room_survey(const onnxd_scheduler *scheduler, onnxd_request *request);
/* Counts a holder, before it tries to take the memory. Returns what wait() wants to know. */
uint64_t onnxd_room_enter(onnxd_room *room, uint64_t spaces);
/* The holder has given everything back. */
void onnxd_room_leave(onnxd_scheduler *scheduler, uint64_t spaces);
/* The holder has given something back. */
void onnxd_room_note(onnxd_scheduler *scheduler, uint64_t spaces);
/* Instead of leave(), after an attempt that found the memory of `short_ep` short. Whether the
 * request is to wait at the head of the lane's queue. */
ONNXD_NODISCARD bool onnxd_room_wait(onnxd_lane *lane, uint64_t spaces, uint32_t short_ep,
                                     uint64_t given_count);
/* The request that waited at the head of the lane's queue does not wait any more. */
void onnxd_room_settle(onnxd_lane *lane);
/* Whether a request of another lane waits for memory of one of these spaces. */
bool onnxd_room_is_awaited(const onnxd_lane *lane, uint64_t spaces);

/* ---- preparer.c ---------------------------------------------------------------------------- */

void onnxd_preparer_init(onnxd_preparer *preparer, onnxd_scheduler *scheduler);
ONNXD_NODISCARD onnxd_status *onnxd_preparer_start(onnxd_preparer *preparer);
void onnxd_preparer_stop(onnxd_preparer *preparer);
void onnxd_preparer_deinit(onnxd_preparer *preparer);
ONNXD_NODISCARD bool onnxd_preparer_admit(onnxd_preparer *preparer, onnxd_request *request);
void onnxd_preparer_cancel_all(onnxd_preparer *preparer);
void onnxd_preparer_count(onnxd_preparer *preparer, uint32_t *waiting);

#endif

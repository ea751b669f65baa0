#include "scheduler/scheduler.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "scheduler/internal.h"

#define DEFAULT_QUEUE_SIZE 128
#define DEFAULT_IN_FLIGHT 4

/* ---- one request --------------------------------------------------------------------------- */

onnxd_status *onnxd_scheduler_check(const onnxd_scheduler *scheduler, const onnxd_request *request)
{
    if (atomic_load_explicit(&request->cancelled, memory_order_relaxed))
        return onnxd_error(ONNXD_CANCELLED, "the request was cancelled");
    if (atomic_load_explicit(&scheduler->is_abandoned, memory_order_relaxed))
        return onnxd_error(ONNXD_CANCELLED, "the server is shutting down");
    if (request->deadline_ns != ONNXD_NO_DEADLINE && onnxd_now_ns() >= request->deadline_ns)
        return onnxd_error(ONNXD_DEADLINE_EXCEEDED, "Request timeout expired");
    return NULL;
}

static void count_end(onnxd_scheduler *scheduler, const onnxd_status *status)
{
    _Atomic uint64_t *counter = &scheduler->failed;
    switch (onnxd_status_code(status)) {
    case ONNXD_OK:
        counter = &scheduler->completed;
        break;
    case ONNXD_CANCELLED:
        counter = &scheduler->cancelled;
        break;
    case ONNXD_DEADLINE_EXCEEDED:
        counter = &scheduler->expired;
        break;
    default:
        break;
    }
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* One admitted request less. Sequentially consistent with stop(): either it sees the last one go,
 * or the last one sees it wait. */
static void drop_live(onnxd_scheduler *scheduler)
{
    if (atomic_fetch_sub(&scheduler->live, 1) != 1 || !atomic_load(&scheduler->is_stopping))
        return;
    pthread_mutex_lock(&scheduler->idle_mutex);
    pthread_cond_broadcast(&scheduler->idle);
    pthread_mutex_unlock(&scheduler->idle_mutex);
}

/* The lane that takes a request with this plan first. */
static onnxd_lane *first_lane(onnxd_scheduler *scheduler, const onnxd_plan *plan)
{
    /* A plan without stages hands out what it was given; any device's thread can end it. */
    const uint32_t ep = onnxd_plan_stage_count(plan) == 0 ? 0 : onnxd_plan_stage_ep(plan, 0);
    return &scheduler->lanes[ep];
}

void onnxd_scheduler_end_run(onnxd_scheduler *scheduler, onnxd_request *request)
{
    if (!request->is_running)
        return;
    request->is_running = false;
    onnxd_room_leave(scheduler, request->spaces);
    onnxd_lane *lane = first_lane(scheduler, request->plan);
    pthread_mutex_lock(&lane->mutex);
    lane->running--;
    onnxd_lane_wake_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_scheduler_finish(onnxd_scheduler *scheduler, onnxd_request *request,
                            onnxd_status *status)
{
    request->finished_ns = onnxd_now_ns();
    request->status = status;
    if (status == NULL) {
        request->outputs = onnxd_run_outputs(request->run);
    } else {
        onnxd_run_release(request->run);
        request->run = NULL;
    }
    onnxd_scheduler_end_run(scheduler, request);
    count_end(scheduler, status);
    request->done(request);
    drop_live(scheduler);
}

void onnxd_scheduler_continue(onnxd_scheduler *scheduler, onnxd_request *request)
{
    onnxd_status *status = onnxd_scheduler_check(scheduler, request);
    if (status != NULL || request->stage == onnxd_plan_stage_count(request->plan)) {
        onnxd_scheduler_finish(scheduler, request, status);
        return;
    }
    const uint32_t ep = onnxd_plan_stage_ep(request->plan, request->stage);
    onnxd_lane_push_continued(&scheduler->lanes[ep], request);
}

/* ---- admission ----------------------------------------------------------------------------- */

bool onnxd_scheduler_admit(onnxd_scheduler *scheduler, onnxd_request *request)
{
    onnxd_room_survey(scheduler, request);
    return onnxd_lane_admit(first_lane(scheduler, request->plan), request);
}

static bool admit(onnxd_scheduler *scheduler, onnxd_request *request)
{
    request->plan = onnxd_model_find_plan(request->model, request->inputs);
    if (request->plan == NULL)
        return onnxd_preparer_admit(&scheduler->preparer, request);
    if (onnxd_scheduler_admit(scheduler, request))
        return true;
    onnxd_plan_release(request->plan);
    request->plan = NULL;
    return false;
}

onnxd_status *onnxd_scheduler_submit(onnxd_scheduler *scheduler, onnxd_request *request)
{
    ONNXD_TRY(onnxd_request_check(request));
    atomic_fetch_add(&scheduler->live, 1);
    if (atomic_load(&scheduler->is_stopping)) {
        drop_live(scheduler);
        return onnxd_error(ONNXD_UNAVAILABLE, "the server is shutting down");
    }
    request->submitted_ns = onnxd_now_ns();
    request->stage = 0;
    if (!admit(scheduler, request)) {
        atomic_fetch_add_explicit(&scheduler->refused, 1, memory_order_relaxed);
        drop_live(scheduler);
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "Exceeds maximum queue size");
    }
    /* The request is not the caller's any more and may be done already. */
    atomic_fetch_add_explicit(&scheduler->submitted, 1, memory_order_relaxed);
    return NULL;
}

void onnxd_scheduler_cancel(onnxd_scheduler *scheduler, onnxd_request *request)
{
    atomic_store_explicit(&request->cancelled, true, memory_order_relaxed);
    for (uint32_t i = 0; i < scheduler->lane_count; i++)
        onnxd_lane_sweep(&scheduler->lanes[i]);
}

onnxd_scheduler_stats onnxd_scheduler_query(onnxd_scheduler *scheduler)
{
    onnxd_scheduler_stats stats = {
        .submitted = atomic_load_explicit(&scheduler->submitted, memory_order_relaxed),
        .completed = atomic_load_explicit(&scheduler->completed, memory_order_relaxed),
        .failed = atomic_load_explicit(&scheduler->failed, memory_order_relaxed),
        .cancelled = atomic_load_explicit(&scheduler->cancelled, memory_order_relaxed),
        .expired = atomic_load_explicit(&scheduler->expired, memory_order_relaxed),
        .refused = atomic_load_explicit(&scheduler->refused, memory_order_relaxed),
    };
    for (uint32_t i = 0; i < scheduler->lane_count; i++)
        onnxd_lane_count(&scheduler->lanes[i], &stats.waiting, &stats.in_flight);
    onnxd_preparer_count(&scheduler->preparer, &stats.waiting);
    return stats;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void scheduler_free(onnxd_scheduler *scheduler)
{
    onnxd_preparer_deinit(&scheduler->preparer);
    for (uint32_t i = 0; scheduler->lanes != NULL && i < scheduler->lane_count; i++)
        onnxd_lane_deinit(&scheduler->lanes[i]);
    onnxd_free(scheduler->lanes);
    onnxd_room_deinit(&scheduler->room);
    pthread_cond_destroy(&scheduler->idle);
    pthread_mutex_destroy(&scheduler->idle_mutex);
    onnxd_free(scheduler);
}

static void end_threads(onnxd_scheduler *scheduler)
{
    onnxd_preparer_stop(&scheduler->preparer);
    for (uint32_t i = 0; scheduler->lanes != NULL && i < scheduler->lane_count; i++)
        if (scheduler->lanes[i].scheduler != NULL)
            onnxd_lane_stop(&scheduler->lanes[i]);
}

void onnxd_scheduler_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool onnxd_scheduler_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns)
{
    if (deadline_ns == ONNXD_NO_DEADLINE) {
        pthread_cond_wait(cond, mutex);
        return true;
    }
    const int64_t until_ns = deadline_ns < 0 ? 0 : deadline_ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}

static onnxd_status *start_lanes(onnxd_scheduler *scheduler, const onnxd_runtime *runtime)
{
    scheduler->lanes = onnxd_alloc_zero(runtime->ep_count, sizeof(scheduler->lanes[0]));
    if (scheduler->lanes == NULL)
        return onnxd_error_out_of_memory(
            "the scheduler", runtime->ep_count * sizeof(scheduler->lanes[0]), UINT64_MAX);
    scheduler->lane_count = (uint32_t)runtime->ep_count;
    for (uint32_t i = 0; i < scheduler->lane_count; i++) {
        onnxd_lane_init(&scheduler->lanes[i], scheduler, runtime->eps[i]);
        ONNXD_TRY(onnxd_lane_start(&scheduler->lanes[i]));
    }
    return NULL;
}

onnxd_status *onnxd_scheduler_create(onnxd_runtime *runtime, const onnxd_scheduler_options *options,
                                     onnxd_scheduler **out_scheduler)
{
    onnxd_scheduler *scheduler = onnxd_alloc_zero(1, sizeof(*scheduler));
    if (scheduler == NULL)
        return onnxd_error_out_of_memory("the scheduler", sizeof(*scheduler), UINT64_MAX);
    scheduler->options = *options;
    if (scheduler->options.max_queue_size == 0)
        scheduler->options.max_queue_size = DEFAULT_QUEUE_SIZE;
    if (scheduler->options.max_in_flight == 0)
        scheduler->options.max_in_flight = DEFAULT_IN_FLIGHT;
    onnxd_scheduler_cond_init(&scheduler->idle);
    pthread_mutex_init(&scheduler->idle_mutex, NULL);
    onnxd_room_init(&scheduler->room);
    onnxd_preparer_init(&scheduler->preparer, scheduler);
    onnxd_status *status = start_lanes(scheduler, runtime);
    if (status == NULL)
        status = onnxd_preparer_start(&scheduler->preparer);
    if (status != NULL) {
        end_threads(scheduler);
        scheduler_free(scheduler);
        return status;
    }
    *out_scheduler = scheduler;
    return NULL;
}

/* Waits until nothing is admitted any more. False when deadline_ns has come first. */
static bool wait_idle(onnxd_scheduler *scheduler, int64_t deadline_ns)
{
    bool is_late = false;
    pthread_mutex_lock(&scheduler->idle_mutex);
    while (atomic_load(&scheduler->live) > 0 && !is_late)
        is_late = !onnxd_scheduler_cond_wait(&scheduler->idle, &scheduler->idle_mutex, deadline_ns);
    pthread_mutex_unlock(&scheduler->idle_mutex);
    return !is_late;
}

void onnxd_scheduler_stop(onnxd_scheduler *scheduler, int64_t deadline_ns)
{
    atomic_store(&scheduler->is_stopping, true);
    if (!wait_idle(scheduler, deadline_ns)) {
        atomic_store(&scheduler->is_abandoned, true);
        onnxd_preparer_cancel_all(&scheduler->preparer);
        for (uint32_t i = 0; i < scheduler->lane_count; i++)
            onnxd_lane_cancel_all(&scheduler->lanes[i]);
        wait_idle(scheduler, ONNXD_NO_DEADLINE);
    }
    end_threads(scheduler);
}

void onnxd_scheduler_destroy(onnxd_scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    onnxd_scheduler_stop(scheduler, 0);
    scheduler_free(scheduler);
}

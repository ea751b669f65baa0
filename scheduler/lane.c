#include "base/clock.h"
#include "scheduler/internal.h"

static onnxd_request *request_of(onnxd_link *link)
{
    return link == NULL ? NULL : ONNXD_CONTAINER_OF(link, onnxd_request, link);
}

/* ---- the device thread --------------------------------------------------------------------- */

static bool may_take(const onnxd_lane *lane)
{
    if (lane->fresh.head == NULL && lane->continued.head == NULL)
        return false;
    return lane->is_host || lane->in_flight_count < lane->scheduler->options.max_in_flight;
}

/* The next request, or NULL at the end. Counted as in flight from here on. */
static onnxd_request *take(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    while (!may_take(lane) && !lane->is_ending)
        pthread_cond_wait(&lane->work, &lane->mutex);
    onnxd_link *link = onnxd_fifo_pop(&lane->continued);
    if (link == NULL)
        link = onnxd_fifo_pop(&lane->fresh);
    lane->issuing = request_of(link);
    lane->in_flight_count += link != NULL;
    pthread_mutex_unlock(&lane->mutex);
    return request_of(link);
}

/* The request leaves the device thread's hands, and the lane with them. */
static void leave(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->issuing = NULL;
    lane->in_flight_count--;
    pthread_mutex_unlock(&lane->mutex);
}

static void hand_to_completion(onnxd_lane *lane, onnxd_request *request)
{
    pthread_mutex_lock(&lane->mutex);
    lane->issuing = NULL;
    onnxd_fifo_push(&lane->in_flight, &request->link);
    pthread_cond_signal(&lane->issued);
    pthread_mutex_unlock(&lane->mutex);
}

static onnxd_status *issue(onnxd_lane *lane, onnxd_request *request)
{
    ONNXD_TRY(onnxd_scheduler_check(lane->scheduler, request));
    if (request->run == NULL) {
        request->started_ns = onnxd_now_ns();
        ONNXD_TRY(onnxd_run_acquire(request->plan, request->inputs, &request->run));
    }
    if (request->stage == onnxd_plan_stage_count(request->plan))
        return NULL;
    return onnxd_run_issue(request->run, request->stage, &request->cancelled, &request->fence);
}

static uint64_t retired_so_far(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    const uint64_t count = lane->retired_count;
    pthread_mutex_unlock(&lane->mutex);
    return count;
}

/* Waits for the next stage to be retired after `seen`. False when none is in flight. */
static bool wait_retired(onnxd_lane *lane, uint64_t seen)
{
    pthread_mutex_lock(&lane->mutex);
    while (lane->retired_count == seen && lane->in_flight_count > 1)
        pthread_cond_wait(&lane->work, &lane->mutex);
    const bool has_retired = lane->retired_count != seen;
    pthread_mutex_unlock(&lane->mutex);
    return has_retired;
}

/* A stage that finds no memory is issued again when another one has given its memory back, and
 * fails when there is no other. */
static onnxd_status *issue_when_room(onnxd_lane *lane, onnxd_request *request)
{
    for (;;) {
        const uint64_t seen = retired_so_far(lane);
        onnxd_status *status = issue(lane, request);
        if (onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY || !wait_retired(lane, seen))
            return status;
        onnxd_status_free(status);
    }
}

static void run_stage(onnxd_lane *lane, onnxd_request *request)
{
    onnxd_status *status = issue_when_room(lane, request);
    const bool is_empty = request->stage == onnxd_plan_stage_count(request->plan);
    if (status == NULL && !is_empty && !lane->is_host) {
        hand_to_completion(lane, request);
        return;
    }
    leave(lane);
    if (status != NULL || is_empty) {
        onnxd_scheduler_finish(lane->scheduler, request, status);
        return;
    }
    onnxd_run_retire(request->run, request->stage, request->fence);
    request->stage++;
    onnxd_scheduler_continue(lane->scheduler, request);
}

static void *device_main(void *argument)
{
    onnxd_lane *lane = argument;
    onnxd_request *request;
    while ((request = take(lane)) != NULL)
        run_stage(lane, request);
    return NULL;
}

/* ---- the completion thread ----------------------------------------------------------------- */

static onnxd_request *take_oldest(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    while (lane->in_flight.head == NULL && !lane->is_ending)
        pthread_cond_wait(&lane->issued, &lane->mutex);
    onnxd_request *request = request_of(onnxd_fifo_pop(&lane->in_flight));
    lane->completing = request;
    pthread_mutex_unlock(&lane->mutex);
    return request;
}

static void make_room(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->completing = NULL;
    lane->in_flight_count--;
    lane->retired_count++;
    pthread_cond_signal(&lane->work);
    pthread_mutex_unlock(&lane->mutex);
}

static void *completion_main(void *argument)
{
    onnxd_lane *lane = argument;
    onnxd_request *request;
    while ((request = take_oldest(lane)) != NULL) {
        onnxd_status *status = onnxd_ep_fence_wait(lane->ep, request->fence, -1);
        onnxd_run_retire(request->run, request->stage, request->fence);
        make_room(lane);
        if (status != NULL) {
            onnxd_scheduler_finish(lane->scheduler, request, status);
            continue;
        }
        request->stage++;
        onnxd_scheduler_continue(lane->scheduler, request);
    }
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

void onnxd_lane_init(onnxd_lane *lane, onnxd_scheduler *scheduler, onnxd_ep *ep)
{
    lane->scheduler = scheduler;
    lane->ep = ep;
    lane->is_host = onnxd_ep_get_info(ep).is_host_addressable;
    pthread_mutex_init(&lane->mutex, NULL);
    pthread_cond_init(&lane->work, NULL);
    pthread_cond_init(&lane->issued, NULL);
}

onnxd_status *onnxd_lane_start(onnxd_lane *lane)
{
    ONNXD_TRY(onnxd_worker_start(&lane->device, "onnxd-device", device_main, lane));
    if (lane->is_host)
        return NULL;
    return onnxd_worker_start(&lane->completion, "onnxd-complete", completion_main, lane);
}

void onnxd_lane_stop(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->is_ending = true;
    pthread_cond_broadcast(&lane->work);
    pthread_cond_broadcast(&lane->issued);
    pthread_mutex_unlock(&lane->mutex);
    onnxd_worker_join(&lane->device);
    onnxd_worker_join(&lane->completion);
}

void onnxd_lane_deinit(onnxd_lane *lane)
{
    if (lane->scheduler == NULL)
        return;
    pthread_cond_destroy(&lane->issued);
    pthread_cond_destroy(&lane->work);
    pthread_mutex_destroy(&lane->mutex);
}

/* ---- queues -------------------------------------------------------------------------------- */

bool onnxd_lane_admit(onnxd_lane *lane, onnxd_request *request)
{
    bool is_admitted = false;
    pthread_mutex_lock(&lane->mutex);
    if (lane->fresh.count < lane->scheduler->options.max_queue_size) {
        onnxd_fifo_push(&lane->fresh, &request->link);
        pthread_cond_signal(&lane->work);
        is_admitted = true;
    }
    pthread_mutex_unlock(&lane->mutex);
    return is_admitted;
}

void onnxd_lane_push_continued(onnxd_lane *lane, onnxd_request *request)
{
    pthread_mutex_lock(&lane->mutex);
    onnxd_fifo_push(&lane->continued, &request->link);
    pthread_cond_signal(&lane->work);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_cancel_list(const onnxd_fifo *fifo, onnxd_request *more)
{
    for (onnxd_link *link = fifo->head; link != NULL; link = link->next)
        atomic_store_explicit(&request_of(link)->cancelled, true, memory_order_relaxed);
    if (more != NULL)
        atomic_store_explicit(&more->cancelled, true, memory_order_relaxed);
}

void onnxd_lane_cancel_all(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    onnxd_cancel_list(&lane->fresh, lane->issuing);
    onnxd_cancel_list(&lane->continued, lane->completing);
    onnxd_cancel_list(&lane->in_flight, NULL);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_lane_count(onnxd_lane *lane, uint32_t *waiting, uint32_t *in_flight)
{
    pthread_mutex_lock(&lane->mutex);
    *waiting += (uint32_t)(lane->fresh.count + lane->continued.count);
    *in_flight += lane->in_flight_count;
    pthread_mutex_unlock(&lane->mutex);
}

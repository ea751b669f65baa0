#include "base/alloc.h"
#include "base/clock.h"
#include "scheduler/internal.h"

/* ---- the device threads -------------------------------------------------------------------- */

/* The request leaves the device thread's hands, and the lane with them. */
static void leave(onnxd_device_thread *device)
{
    onnxd_lane *lane = device->lane;
    pthread_mutex_lock(&lane->mutex);
    device->issuing = NULL;
    lane->in_flight_count--;
    pthread_mutex_unlock(&lane->mutex);
}

static void hand_to_completion(onnxd_device_thread *device, onnxd_request *request)
{
    onnxd_lane *lane = device->lane;
    pthread_mutex_lock(&lane->mutex);
    device->issuing = NULL;
    onnxd_fifo_push(&lane->in_flight, &request->link);
    pthread_cond_signal(&lane->issued);
    pthread_mutex_unlock(&lane->mutex);
}

/* Takes the memory for the run. With *out_waits there is none for the time being, which is no
 * error. */
static onnxd_status *begin(onnxd_lane *lane, onnxd_request *request, bool *out_waits)
{
    uint32_t short_ep = 0;
    request->started_ns = onnxd_now_ns();
    if (request->run == NULL)
        ONNXD_TRY(onnxd_run_acquire(request->plan, request->inputs, &request->run));
    const uint64_t given_count = onnxd_room_enter(&lane->scheduler->room, request->spaces);
    onnxd_status *status = onnxd_run_take_memory(request->run, &short_ep);
    if (status == NULL) {
        request->is_running = true;
        return NULL;
    }
    if (onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY) {
        onnxd_room_leave(lane->scheduler, request->spaces);
        return status;
    }
    if (!onnxd_room_wait(lane, request->spaces, short_ep, given_count))
        return status;
    onnxd_status_free(status);
    *out_waits = true;
    return NULL;
}

/* False when the request was put back to wait for memory. */
static bool try_begin(onnxd_device_thread *device, onnxd_request *request,
                      onnxd_status **out_status)
{
    onnxd_lane *lane = device->lane;
    bool waits = false;
    onnxd_status *status = onnxd_scheduler_check(lane->scheduler, request);
    if (status == NULL)
        status = begin(lane, request, &waits);
    if (waits) {
        lane->parked = request;
        onnxd_lane_put_back(device, request);
        return false;
    }
    if (lane->parked == request) {
        lane->parked = NULL;
        onnxd_room_settle(lane);
    }
    onnxd_lane_begun(lane, request->is_running);
    *out_status = status;
    return true;
}

static onnxd_status *issue(const onnxd_lane *lane, onnxd_request *request)
{
    const onnxd_run_control control = {.cancelled = &request->cancelled,
                                       .deadline_ns = request->deadline_ns};
    ONNXD_TRY(onnxd_scheduler_check(lane->scheduler, request));
    if (request->stage == onnxd_plan_stage_count(request->plan))
        return NULL;
    return onnxd_run_issue(request->run, request->stage, &control, &request->fence);
}

/* The stage's work has ended. Whoever waits for the memory hears of it before anybody can see the
 * request done. */
static void retire(onnxd_lane *lane, onnxd_request *request, bool is_good)
{
    const bool has_given = onnxd_run_retire(request->run, request->stage, request->fence);
    request->stage += is_good;
    if (is_good && request->stage == onnxd_plan_stage_count(request->plan))
        onnxd_scheduler_end_run(lane->scheduler, request);
    else if (has_given)
        onnxd_room_note(lane->scheduler, request->spaces);
}

static void run_stage(onnxd_device_thread *device, onnxd_request *request)
{
    onnxd_lane *lane = device->lane;
    onnxd_status *status = NULL;
    if (!request->is_running && !try_begin(device, request, &status))
        return;
    if (status == NULL)
        status = issue(lane, request);
    const bool is_empty = request->stage == onnxd_plan_stage_count(request->plan);
    if (status == NULL && !is_empty && !lane->is_host) {
        hand_to_completion(device, request);
        return;
    }
    leave(device);
    if (status != NULL || is_empty) {
        onnxd_scheduler_finish(lane->scheduler, request, status);
        return;
    }
    retire(lane, request, true);
    onnxd_scheduler_continue(lane->scheduler, request);
}

static void *device_main(void *argument)
{
    onnxd_device_thread *device = argument;
    onnxd_request *request;
    while ((request = onnxd_lane_take(device)) != NULL)
        run_stage(device, request);
    return NULL;
}

/* ---- the completion thread ----------------------------------------------------------------- */

static onnxd_request *take_oldest(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    while (lane->in_flight.head == NULL && !lane->is_ending)
        pthread_cond_wait(&lane->issued, &lane->mutex);
    onnxd_request *request = onnxd_request_of_link(onnxd_fifo_pop(&lane->in_flight));
    lane->completing = request;
    pthread_mutex_unlock(&lane->mutex);
    return request;
}

static void make_room(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->completing = NULL;
    lane->in_flight_count--;
    onnxd_lane_wake_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

static void *completion_main(void *argument)
{
    onnxd_lane *lane = argument;
    onnxd_request *request;
    while ((request = take_oldest(lane)) != NULL) {
        onnxd_status *status = onnxd_ep_fence_wait(lane->ep, request->fence, -1);
        retire(lane, request, status == NULL);
        make_room(lane);
        if (status != NULL) {
            onnxd_scheduler_finish(lane->scheduler, request, status);
            continue;
        }
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
    lane->next_deadline_ns = ONNXD_NO_DEADLINE;
    pthread_mutex_init(&lane->mutex, NULL);
    pthread_cond_init(&lane->issued, NULL);
}

/* As many as may be at work at a time; a device whose work is queued has no use for more than one.
 */
static uint32_t count_devices(const onnxd_lane *lane)
{
    const uint32_t issuers = onnxd_ep_get_info(lane->ep).issuers;
    const uint32_t most = lane->scheduler->options.max_in_flight;
    if (!lane->is_host || issuers == 0)
        return 1;
    return issuers < most ? issuers : most;
}

static onnxd_status *make_devices(onnxd_lane *lane, uint32_t count)
{
    lane->devices = onnxd_alloc_zero(count, sizeof(lane->devices[0]));
    if (lane->devices == NULL)
        return onnxd_error_out_of_memory("device threads", count * sizeof(lane->devices[0]),
                                         UINT64_MAX);
    for (uint32_t i = 0; i < count; i++) {
        lane->devices[i].lane = lane;
        onnxd_scheduler_cond_init(&lane->devices[i].work);
    }
    lane->device_count = count;
    return NULL;
}

onnxd_status *onnxd_lane_start(onnxd_lane *lane)
{
    ONNXD_TRY(make_devices(lane, count_devices(lane)));
    for (uint32_t i = 0; i < lane->device_count; i++)
        ONNXD_TRY(onnxd_worker_start(&lane->devices[i].worker, "onnxd-device", device_main,
                                     &lane->devices[i]));
    if (lane->is_host)
        return NULL;
    return onnxd_worker_start(&lane->completion, "onnxd-complete", completion_main, lane);
}

void onnxd_lane_stop(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->is_ending = true;
    for (uint32_t i = 0; i < lane->device_count; i++)
        onnxd_device_wake_locked(&lane->devices[i]);
    pthread_cond_broadcast(&lane->issued);
    pthread_mutex_unlock(&lane->mutex);
    for (uint32_t i = 0; i < lane->device_count; i++)
        onnxd_worker_join(&lane->devices[i].worker);
    onnxd_worker_join(&lane->completion);
}

void onnxd_lane_deinit(onnxd_lane *lane)
{
    if (lane->scheduler == NULL)
        return;
    for (uint32_t i = 0; i < lane->device_count; i++)
        pthread_cond_destroy(&lane->devices[i].work);
    onnxd_free(lane->devices);
    pthread_cond_destroy(&lane->issued);
    pthread_mutex_destroy(&lane->mutex);
}

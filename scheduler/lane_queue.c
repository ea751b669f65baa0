#include <sched.h>

#include "base/clock.h"
#include "scheduler/internal.h"

onnxd_request *onnxd_request_of_link(onnxd_link *link)
{
    return link == NULL ? NULL : ONNXD_CONTAINER_OF(link, onnxd_request, link);
}

/* ---- who is next --------------------------------------------------------------------------- */

/* Whether the request that has waited longest may begin. Runs that have begun hold memory, and they
 * pile up where a plan's slowest device is, so their number is bounded as well: enough to keep all
 * the devices of the plan busy. */
static bool may_begin(const onnxd_lane *lane)
{
    const onnxd_request *request = onnxd_request_of_link(lane->fresh.head);
    if (request == NULL ||
        lane->running >= (uint64_t)lane->scheduler->options.max_in_flight * request->lane_count)
        return false;
    if (atomic_load(&lane->short_of) != 0)
        return atomic_load(&lane->may_retry);
    return !onnxd_room_is_awaited(lane, request->spaces);
}

static bool has_place(const onnxd_lane *lane)
{
    return lane->is_host || lane->in_flight_count < lane->scheduler->options.max_in_flight;
}

static bool is_over(const onnxd_request *request, int64_t now_ns)
{
    return request->deadline_ns <= now_ns ||
           atomic_load_explicit(&request->cancelled, memory_order_relaxed);
}

static void unlink_fresh(onnxd_lane *lane, onnxd_link *previous, onnxd_link *link)
{
    if (previous != NULL)
        previous->next = link->next;
    else
        lane->fresh.head = link->next;
    if (lane->fresh.tail == link)
        lane->fresh.tail = previous;
    lane->fresh.count--;
    link->next = NULL;
}

/* A waiting request that has nothing to wait for any more: its deadline has passed or it was
 * cancelled. Whatever the device is busy with, it may be ended. */
static onnxd_link *pop_over(onnxd_lane *lane)
{
    if (lane->next_deadline_ns == ONNXD_NO_DEADLINE && !lane->must_sweep)
        return NULL;
    const int64_t now_ns = onnxd_now_ns();
    if (now_ns < lane->next_deadline_ns && !lane->must_sweep)
        return NULL;
    int64_t next_deadline_ns = ONNXD_NO_DEADLINE;
    onnxd_link *previous = NULL;
    for (onnxd_link *link = lane->fresh.head; link != NULL; previous = link, link = link->next) {
        const onnxd_request *request = onnxd_request_of_link(link);
        if (is_over(request, now_ns)) {
            unlink_fresh(lane, previous, link);
            return link;
        }
        if (request->deadline_ns < next_deadline_ns)
            next_deadline_ns = request->deadline_ns;
    }
    lane->next_deadline_ns = next_deadline_ns;
    lane->must_sweep = false;
    return NULL;
}

/* The next request, or NULL when there is none for the time being. */
static onnxd_request *pop_next(onnxd_lane *lane)
{
    const bool may_pop_fresh = lane->beginning == NULL;
    onnxd_link *fresh = may_pop_fresh ? pop_over(lane) : NULL;
    if (fresh == NULL && has_place(lane)) {
        onnxd_link *continued = onnxd_fifo_pop(&lane->continued);
        if (continued != NULL)
            return onnxd_request_of_link(continued);
        if (may_pop_fresh && may_begin(lane))
            fresh = onnxd_fifo_pop(&lane->fresh);
    }
    if (fresh != NULL)
        lane->beginning = onnxd_request_of_link(fresh);
    return onnxd_request_of_link(fresh);
}

/* ---- waiting and waking -------------------------------------------------------------------- */

/* A thread that has had a request is likely to have the next one soon. Until it has waited for so
 * long, what it may use of the provider's threads is kept for it: others would take them up for a
 * moment, and be in its way then. */
#define SHARE_KEPT_NS ((int64_t)200 * 1000)

static void end_issuing(onnxd_device_thread *device)
{
    if (device->is_issuing)
        onnxd_ep_end_issuing(device->lane->ep);
    device->is_issuing = false;
}

/* So long a thread that had a request looks for the next one before it sleeps: waking it takes as
 * long as a small model does. It lets whoever wants its processor have it. */
#define SPIN_NS ((int64_t)20 * 1000)

static void spin_unlocked(onnxd_device_thread *device, int64_t until_ns)
{
    const int64_t spun_ns = onnxd_now_ns() + SPIN_NS;
    const int64_t end_ns = spun_ns < until_ns ? spun_ns : until_ns;
    pthread_mutex_unlock(&device->lane->mutex);
    while (!atomic_load_explicit(&device->is_woken, memory_order_relaxed) &&
           onnxd_now_ns() < end_ns)
        sched_yield();
    pthread_mutex_lock(&device->lane->mutex);
}

/* Until somebody wakes the thread, or the time has come: false. */
static bool wait_until(onnxd_device_thread *device, int64_t until_ns)
{
    device->is_waiting = true;
    atomic_store_explicit(&device->is_woken, false, memory_order_relaxed);
    device->is_spinning = device->had_request && device->lane->is_host;
    device->had_request = false;
    if (device->is_spinning)
        spin_unlocked(device, until_ns);
    device->is_spinning = false;
    bool is_woken = atomic_load_explicit(&device->is_woken, memory_order_relaxed);
    if (!is_woken)
        is_woken = onnxd_scheduler_cond_wait(&device->work, &device->lane->mutex, until_ns);
    device->is_waiting = false;
    return is_woken;
}

/* While a request begins nobody may end another of `fresh`, late or not, and when it has begun
 * somebody is woken: until then the time is not looked at. */
static void wait_for_work(onnxd_device_thread *device)
{
    onnxd_lane *lane = device->lane;
    int64_t until_ns = lane->beginning != NULL ? ONNXD_NO_DEADLINE : lane->next_deadline_ns;
    bool keeps_share = device->is_issuing && lane->device_count > 1;
    if (keeps_share) {
        const int64_t kept_ns = onnxd_now_ns() + SHARE_KEPT_NS;
        keeps_share = kept_ns < until_ns;
        until_ns = keeps_share ? kept_ns : until_ns;
    } else {
        end_issuing(device);
    }
    if (!wait_until(device, until_ns) && keeps_share)
        end_issuing(device);
}

void onnxd_device_wake_locked(onnxd_device_thread *device)
{
    device->is_waiting = false;
    atomic_store_explicit(&device->is_woken, true, memory_order_relaxed);
    if (!device->is_spinning)
        pthread_cond_signal(&device->work);
}

void onnxd_lane_wake_locked(onnxd_lane *lane)
{
    onnxd_device_thread *found = NULL;
    for (uint32_t i = 0; i < lane->device_count; i++) {
        onnxd_device_thread *device = &lane->devices[i];
        if (device->is_waiting && (found == NULL || (device->is_spinning && !found->is_spinning)))
            found = device;
    }
    if (found != NULL)
        onnxd_device_wake_locked(found);
}

/* A wake-up may have come for more than the one request that its thread takes, and the time that
 * the thread waited for is somebody else's to wait for now. */
static void pass_on_locked(onnxd_lane *lane)
{
    const bool may_begin_another = lane->beginning == NULL && lane->fresh.head != NULL;
    if (lane->continued.head != NULL || may_begin_another)
        onnxd_lane_wake_locked(lane);
}

onnxd_request *onnxd_lane_take(onnxd_device_thread *device)
{
    onnxd_lane *lane = device->lane;
    onnxd_request *request;
    pthread_mutex_lock(&lane->mutex);
    while ((request = pop_next(lane)) == NULL && !lane->is_ending)
        wait_for_work(device);
    if (request == NULL)
        end_issuing(device);
    device->issuing = request;
    device->had_request = request != NULL;
    lane->in_flight_count += request != NULL;
    pass_on_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
    if (request != NULL && !device->is_issuing) {
        onnxd_ep_begin_issuing(lane->ep);
        device->is_issuing = true;
    }
    return request;
}

void onnxd_lane_begun(onnxd_lane *lane, bool has_run)
{
    pthread_mutex_lock(&lane->mutex);
    lane->running += has_run;
    lane->beginning = NULL;
    pass_on_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

/* ---- queues -------------------------------------------------------------------------------- */

static void note_deadline(onnxd_lane *lane, const onnxd_request *request)
{
    if (request->deadline_ns < lane->next_deadline_ns)
        lane->next_deadline_ns = request->deadline_ns;
}

void onnxd_lane_put_back(onnxd_device_thread *device, onnxd_request *request)
{
    onnxd_lane *lane = device->lane;
    pthread_mutex_lock(&lane->mutex);
    device->issuing = NULL;
    lane->in_flight_count--;
    lane->beginning = NULL;
    request->link.next = lane->fresh.head;
    lane->fresh.head = &request->link;
    if (lane->fresh.tail == NULL)
        lane->fresh.tail = &request->link;
    lane->fresh.count++;
    note_deadline(lane, request);
    pthread_mutex_unlock(&lane->mutex);
}

bool onnxd_lane_admit(onnxd_lane *lane, onnxd_request *request)
{
    bool is_admitted = false;
    pthread_mutex_lock(&lane->mutex);
    if (lane->fresh.count < lane->scheduler->options.max_queue_size) {
        onnxd_fifo_push(&lane->fresh, &request->link);
        note_deadline(lane, request);
        onnxd_lane_wake_locked(lane);
        is_admitted = true;
    }
    pthread_mutex_unlock(&lane->mutex);
    return is_admitted;
}

void onnxd_lane_push_continued(onnxd_lane *lane, onnxd_request *request)
{
    pthread_mutex_lock(&lane->mutex);
    onnxd_fifo_push(&lane->continued, &request->link);
    onnxd_lane_wake_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_lane_wake(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    onnxd_lane_wake_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_lane_sweep(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->must_sweep = true;
    onnxd_lane_wake_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

static void cancel(onnxd_request *request)
{
    if (request != NULL)
        atomic_store_explicit(&request->cancelled, true, memory_order_relaxed);
}

void onnxd_cancel_list(const onnxd_fifo *fifo, onnxd_request *more)
{
    for (onnxd_link *link = fifo->head; link != NULL; link = link->next)
        cancel(onnxd_request_of_link(link));
    cancel(more);
}

void onnxd_lane_cancel_all(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    onnxd_cancel_list(&lane->fresh, NULL);
    onnxd_cancel_list(&lane->continued, NULL);
    onnxd_cancel_list(&lane->in_flight, lane->completing);
    for (uint32_t i = 0; i < lane->device_count; i++)
        cancel(lane->devices[i].issuing);
    lane->must_sweep = true;
    onnxd_lane_wake_locked(lane);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_lane_count(onnxd_lane *lane, uint32_t *waiting, uint32_t *in_flight)
{
    pthread_mutex_lock(&lane->mutex);
    *waiting += (uint32_t)(lane->fresh.count + lane->continued.count);
    *in_flight += lane->in_flight_count;
    pthread_mutex_unlock(&lane->mutex);
}

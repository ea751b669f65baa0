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

static onnxd_link *pop_next(onnxd_lane *lane)
{
    if (!lane->is_host && lane->in_flight_count >= lane->scheduler->options.max_in_flight)
        return NULL;
    onnxd_link *link = onnxd_fifo_pop(&lane->continued);
    if (link == NULL && may_begin(lane))
        link = onnxd_fifo_pop(&lane->fresh);
    return link;
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

onnxd_request *onnxd_lane_take(onnxd_lane *lane)
{
    onnxd_link *link;
    pthread_mutex_lock(&lane->mutex);
    for (;;) {
        link = pop_over(lane);
        if (link == NULL)
            link = pop_next(lane);
        if (link != NULL || lane->is_ending)
            break;
        onnxd_scheduler_cond_wait(&lane->work, &lane->mutex, lane->next_deadline_ns);
    }
    lane->issuing = onnxd_request_of_link(link);
    lane->in_flight_count += link != NULL;
    pthread_mutex_unlock(&lane->mutex);
    return onnxd_request_of_link(link);
}

/* ---- queues -------------------------------------------------------------------------------- */

static void note_deadline(onnxd_lane *lane, const onnxd_request *request)
{
    if (request->deadline_ns < lane->next_deadline_ns)
        lane->next_deadline_ns = request->deadline_ns;
}

void onnxd_lane_put_back(onnxd_lane *lane, onnxd_request *request)
{
    pthread_mutex_lock(&lane->mutex);
    lane->issuing = NULL;
    lane->in_flight_count--;
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

void onnxd_lane_wake(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    pthread_cond_signal(&lane->work);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_lane_sweep(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->must_sweep = true;
    pthread_cond_signal(&lane->work);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_cancel_list(const onnxd_fifo *fifo, onnxd_request *more)
{
    for (onnxd_link *link = fifo->head; link != NULL; link = link->next)
        atomic_store_explicit(&onnxd_request_of_link(link)->cancelled, true, memory_order_relaxed);
    if (more != NULL)
        atomic_store_explicit(&more->cancelled, true, memory_order_relaxed);
}

void onnxd_lane_cancel_all(onnxd_lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    onnxd_cancel_list(&lane->fresh, lane->issuing);
    onnxd_cancel_list(&lane->continued, lane->completing);
    onnxd_cancel_list(&lane->in_flight, NULL);
    lane->must_sweep = true;
    pthread_cond_signal(&lane->work);
    pthread_mutex_unlock(&lane->mutex);
}

void onnxd_lane_count(onnxd_lane *lane, uint32_t *waiting, uint32_t *in_flight)
{
    pthread_mutex_lock(&lane->mutex);
    *waiting += (uint32_t)(lane->fresh.count + lane->continued.count);
    *in_flight += lane->in_flight_count;
    pthread_mutex_unlock(&lane->mutex);
}

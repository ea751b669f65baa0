#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "ep/instance_tag.h"
#include "ep/sim/sim.h"

/* What a host copies at least, to have a copy done when its time ends. */
#define HOST_COPY_BYTES_PER_NS 4

/* ---- life ---------------------------------------------------------------------------------- */

onnxd_status *onnxd_sim_streams_open(onnxd_sim *sim)
{
    static const char *const names[ONNXD_STREAM_COUNT] = {"sim-compute", "sim-copy-in",
                                                          "sim-copy-out"};
    ONNXD_TRY(onnxd_fence_table_create((uint32_t)sim->options.max_fences,
                                       onnxd_instance_tag(sim->base.device_id), &sim->fences));
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++) {
        const onnxd_worker_stream_options options = {.name = names[i],
                                                     .ring_bytes = ONNXD_WORKER_RING_BYTES,
                                                     .fences = sim->fences,
                                                     .is_inline = !sim->options.is_async};
        sim->lanes[i] = (onnxd_sim_lane){.sim = sim};
        ONNXD_TRY(onnxd_worker_stream_create(&options, &sim->lanes[i].stream));
    }
    return NULL;
}

void onnxd_sim_streams_close(onnxd_sim *sim)
{
    if (sim->lanes[ONNXD_STREAM_COUNT - 1].stream != NULL)
        onnxd_sim_streams_drain(sim);
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++) {
        onnxd_worker_stream_destroy(sim->lanes[i].stream);
        sim->lanes[i].stream = NULL;
    }
    onnxd_fence_table_destroy(sim->fences);
    sim->fences = NULL;
}

void onnxd_sim_streams_drain(onnxd_sim *sim)
{
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        onnxd_worker_stream_drain(sim->lanes[i].stream);
}

/* ---- simulated time ------------------------------------------------------------------------ */

static void sleep_until(int64_t deadline_ns)
{
    const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                      .tv_nsec = (long)(deadline_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
        ;
}

void onnxd_sim_lane_begin(onnxd_sim_lane *lane, int64_t ready_ns, int64_t cost_ns, int64_t work_ns)
{
    int64_t start_ns = ready_ns > lane->busy_until_ns ? ready_ns : lane->busy_until_ns;
    lane->busy_until_ns = start_ns + cost_ns;
    if (cost_ns <= work_ns)
        return;
    if (!lane->has_fine_timer && lane->sim->options.is_async) {
        prctl(PR_SET_TIMERSLACK, 1UL);
        lane->has_fine_timer = true;
    }
    sleep_until(lane->busy_until_ns - work_ns);
}

void onnxd_sim_lane_end(onnxd_sim_lane *lane)
{
    if (onnxd_now_ns() < lane->busy_until_ns)
        sleep_until(lane->busy_until_ns);
}

/* ---- copies -------------------------------------------------------------------------------- */

typedef struct copy_payload {
    void *destination;
    const void *source;
    size_t bytes;
    uint64_t fault_number; /* 0: works */
} copy_payload;

static int64_t copy_cost_ns(const onnxd_sim_options *options, size_t bytes)
{
    double cost_ns = (double)options->copy_latency_us * 1e3;
    if (options->copy_bandwidth_bytes_per_s > 0)
        cost_ns += (double)bytes * 1e9 / (double)options->copy_bandwidth_bytes_per_s;
    /* A day, so that no combination of options makes the time wrap. */
    return cost_ns > 86400e9 ? (int64_t)86400e9 : (int64_t)cost_ns;
}

static onnxd_status *run_copy(void *self, void *payload, int64_t ready_ns)
{
    onnxd_sim_lane *lane = self;
    const copy_payload *copy = payload;
    onnxd_sim_lane_begin(lane, ready_ns, copy_cost_ns(&lane->sim->options, copy->bytes),
                         (int64_t)(copy->bytes / HOST_COPY_BYTES_PER_NS));
    if (copy->fault_number == 0 && copy->bytes > 0)
        memmove(copy->destination, copy->source, copy->bytes);
    onnxd_sim_lane_end(lane);
    if (copy->fault_number != 0)
        return onnxd_error(ONNXD_INTERNAL, "%s: simulated fault in copy %llu of %zu bytes",
                           lane->sim->base.label, (unsigned long long)copy->fault_number,
                           copy->bytes);
    return NULL;
}

/* The address at which the sim's threads reach `offset` of a copy's end. */
static onnxd_status *resolve_end(onnxd_sim *sim, const onnxd_buffer *buffer, size_t offset,
                                 void **out_address)
{
    if (buffer->device.type == ONNXD_DEVICE_CPU) {
        *out_address = buffer->data == NULL ? NULL : (char *)buffer->data + offset;
        return NULL;
    }
    if (!onnxd_device_id_equal(buffer->device, sim->base.device_id))
        return onnxd_error(ONNXD_FOREIGN_BUFFER,
                           "%s cannot reach memory of device %u:%u, copy through the host",
                           sim->base.label, buffer->device.type, buffer->device.index);
    ONNXD_TRY(onnxd_handle_table_find(sim->handles, buffer, NULL));
    *out_address = (char *)onnxd_sim_host_address(sim, buffer->data) + offset;
    return NULL;
}

onnxd_status *onnxd_sim_copy_async(onnxd_ep *ep, const onnxd_copy *copy, onnxd_fence *out_fence)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    copy_payload payload = {.bytes = copy->bytes};
    void *source;
    ONNXD_TRY(resolve_end(sim, &copy->source, copy->source_offset, &source));
    ONNXD_TRY(resolve_end(sim, &copy->destination, copy->destination_offset, &payload.destination));
    payload.source = source;
    onnxd_fence fence;
    ONNXD_TRY(onnxd_fence_table_acquire(sim->fences, &fence));

    uint64_t number = atomic_fetch_add_explicit(&sim->copies_issued, 1, memory_order_relaxed) + 1;
    if (number == (uint64_t)sim->options.fault_copy_at)
        payload.fault_number = number;
    bool is_out = !onnxd_device_id_equal(copy->destination.device, ep->device_id);
    onnxd_sim_lane *lane = &sim->lanes[is_out ? ONNXD_STREAM_COPY_OUT : ONNXD_STREAM_COPY_IN];
    const onnxd_worker_call call = {.run = run_copy, .self = lane};
    const onnxd_worker_piece piece = {&payload, sizeof(payload)};
    onnxd_status *status = onnxd_worker_stream_call(lane->stream, &call, &piece, 1, fence);
    if (status != NULL)
        goto fail;
    *out_fence = fence;
    return NULL;

fail:
    onnxd_fence_table_signal(sim->fences, fence, NULL);
    return onnxd_status_join(status, onnxd_fence_table_release(sim->fences, fence));
}

onnxd_status *onnxd_sim_copy(onnxd_ep *ep, const onnxd_copy *copy)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    onnxd_fence fence = ONNXD_FENCE_SIGNALLED;
    ONNXD_TRY(onnxd_sim_copy_async(ep, copy, &fence));
    onnxd_status *status = onnxd_fence_table_wait(sim->fences, fence, -1);
    return onnxd_status_join(status, onnxd_fence_table_release(sim->fences, fence));
}

/* ---- fences -------------------------------------------------------------------------------- */

onnxd_status *onnxd_sim_fence_wait(onnxd_ep *ep, onnxd_fence fence, int64_t timeout_ns)
{
    return onnxd_fence_table_wait(onnxd_sim_of(ep)->fences, fence, timeout_ns);
}

onnxd_status *onnxd_sim_fence_query(onnxd_ep *ep, onnxd_fence fence, bool *out_done)
{
    return onnxd_fence_table_query(onnxd_sim_of(ep)->fences, fence, out_done);
}

onnxd_status *onnxd_sim_fence_release(onnxd_ep *ep, onnxd_fence fence)
{
    return onnxd_fence_table_release(onnxd_sim_of(ep)->fences, fence);
}

onnxd_status *onnxd_sim_fence_record(onnxd_ep *ep, onnxd_stream stream, onnxd_fence *out_fence)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    onnxd_fence fence;
    ONNXD_TRY(onnxd_fence_table_acquire(sim->fences, &fence));
    onnxd_worker_stream_signal(sim->lanes[stream].stream, fence);
    *out_fence = fence;
    return NULL;
}

onnxd_status *onnxd_sim_stream_wait(onnxd_ep *ep, onnxd_stream stream, onnxd_fence fence)
{
    return onnxd_worker_stream_wait(onnxd_sim_of(ep)->lanes[stream].stream, fence);
}

onnxd_status *onnxd_sim_sync(onnxd_ep *ep)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    atomic_fetch_add_explicit(&sim->sync_calls, 1, memory_order_relaxed);
    onnxd_sim_streams_drain(sim);
    return NULL;
}

/*
 * Streams and fences. The compute stream is the threads that enqueue: kernels are done when enqueue
 * returns, so what is recorded behind them is signalled at once, and a wait holds the caller up.
 */
#include "ep/cpu/internal.h"

#define FENCE_CAPACITY 4096

onnxd_status *onnxd_cpu_streams_init(onnxd_cpu_ep *cpu)
{
    static const char *const names[] = {
        [ONNXD_STREAM_COMPUTE] = "cpu-compute",
        [ONNXD_STREAM_COPY_IN] = "cpu-copy-in",
        [ONNXD_STREAM_COPY_OUT] = "cpu-copy-out",
    };
    ONNXD_TRY(onnxd_fence_table_create(FENCE_CAPACITY, cpu->tag, &cpu->fences));
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++) {
        onnxd_worker_stream_options options = {.name = names[i],
                                               .ring_bytes = ONNXD_WORKER_RING_BYTES / 8,
                                               .fences = cpu->fences,
                                               .is_inline = i == ONNXD_STREAM_COMPUTE};
        ONNXD_TRY(onnxd_worker_stream_create(&options, &cpu->streams[i]));
    }
    return NULL;
}

void onnxd_cpu_streams_deinit(onnxd_cpu_ep *cpu)
{
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++) {
        onnxd_worker_stream_destroy(cpu->streams[i]);
        cpu->streams[i] = NULL;
    }
    onnxd_fence_table_destroy(cpu->fences);
    cpu->fences = NULL;
}

/* What else is issued on the compute stream, waits and signals, touches no buffer. */
uint64_t onnxd_cpu_stream_issued(const onnxd_cpu_ep *cpu, onnxd_stream stream)
{
    return stream == ONNXD_STREAM_COMPUTE ? onnxd_cpu_progress_point(&cpu->runtime->progress)
                                          : onnxd_worker_stream_issued(cpu->streams[stream]);
}

uint64_t onnxd_cpu_stream_completed(const onnxd_cpu_ep *cpu, onnxd_stream stream)
{
    return stream == ONNXD_STREAM_COMPUTE ? onnxd_cpu_progress_passed(&cpu->runtime->progress)
                                          : onnxd_worker_stream_completed(cpu->streams[stream]);
}

onnxd_status *onnxd_cpu_fence_wait(onnxd_ep *ep, onnxd_fence fence, int64_t timeout_ns)
{
    return onnxd_fence_table_wait(onnxd_cpu_ep_of(ep)->fences, fence, timeout_ns);
}

onnxd_status *onnxd_cpu_fence_query(onnxd_ep *ep, onnxd_fence fence, bool *out_done)
{
    return onnxd_fence_table_query(onnxd_cpu_ep_of(ep)->fences, fence, out_done);
}

onnxd_status *onnxd_cpu_stream_wait(onnxd_ep *ep, onnxd_stream stream, onnxd_fence fence)
{
    return onnxd_worker_stream_wait(onnxd_cpu_ep_of(ep)->streams[stream], fence);
}

onnxd_status *onnxd_cpu_fence_record(onnxd_ep *ep, onnxd_stream stream, onnxd_fence *out_fence)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    onnxd_fence fence;
    ONNXD_TRY(onnxd_fence_table_acquire(cpu->fences, &fence));
    onnxd_worker_stream_signal(cpu->streams[stream], fence);
    *out_fence = fence;
    return NULL;
}

onnxd_status *onnxd_cpu_fence_release(onnxd_ep *ep, onnxd_fence fence)
{
    return onnxd_fence_table_release(onnxd_cpu_ep_of(ep)->fences, fence);
}

onnxd_status *onnxd_cpu_sync(onnxd_ep *ep)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    __atomic_add_fetch(&cpu->sync_calls, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        onnxd_worker_stream_drain(cpu->streams[i]);
    onnxd_cpu_runtime_drain(cpu->runtime);
    return NULL;
}

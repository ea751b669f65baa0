/*
 * sim_ep: an accelerator that lives in host memory but behaves like a device.
 *
 *   host code ─► address space that may not be touched (PROT_NONE)
 *                     │ same offsets
 *   sim's threads ─► mapping with the bytes
 *
 *   COPY_IN, COPY_OUT, COMPUTE: a worker stream each, with a simulated time of its own: a command
 *   occupies its stream for the configured time from when both the stream and the command were
 *   ready, so timing errors of the host do not add up.
 *
 * Kernels are borrowed from cpu_ep, which runs them on the thread that enqueues them: here the
 * compute stream's. The private parts of the provider; nothing outside ep/sim includes this.
 */
#ifndef ONNXD_EP_SIM_SIM_H
#define ONNXD_EP_SIM_SIM_H

#include <pthread.h>
#include <stdatomic.h>

#include "ep/ep.h"
#include "ep/fence_table.h"
#include "ep/handle_table.h"
#include "ep/options.h"
#include "ep/worker_stream.h"
#include "memory/offset_allocator.h"
#include "memory/pool.h"

#define ONNXD_SIM_DEVICE_TYPE ((uint32_t)ONNXD_DEVICE_CUSTOM)
#define ONNXD_SIM_ALIGNMENT ((size_t)256)
/* Kernels of such devices like to move 16 bytes at once. */
#define ONNXD_SIM_PIECE_ALIGNMENT ((size_t)16)

/* ---- options.c ----------------------------------------------------------------------------- */

typedef struct onnxd_sim_options {
    int64_t memory_bytes;
    int64_t copy_bandwidth_bytes_per_s; /* 0: as fast as the host copies */
    int64_t copy_latency_us, launch_latency_us, kernel_latency_us;
    bool is_async;
    double compute_scale;
    int64_t max_fences, max_buffers;
    int64_t fault_copy_at, fault_kernel_at, fault_alloc_at; /* 0: never */
    const char *unsupported_ops, *claim_ops;                /* comma-separated */
    bool has_private_pass;
    const char *context_source; /* "": none */
} onnxd_sim_options;
extern const onnxd_ep_option_def onnxd_sim_option_defs[]; /* ends with a NULL key */

/* The defaults, overwritten by `config`. The strings are copies: end them with deinit. */
ONNXD_NODISCARD onnxd_status *onnxd_sim_options_init(const onnxd_ep_config *config,
                                                     onnxd_sim_options *out_options);
void onnxd_sim_options_deinit(onnxd_sim_options *options);
/* Whether `name` is an item of the comma-separated list. */
bool onnxd_sim_list_has(const char *list, const char *name);

/* ---- the instance -------------------------------------------------------------------------- */

typedef struct onnxd_sim onnxd_sim;
typedef struct onnxd_sim_kernel onnxd_sim_kernel;

/* A stream and the time until which it is occupied. */
typedef struct onnxd_sim_lane {
    onnxd_sim *sim;
    onnxd_worker_stream *stream;
    int64_t busy_until_ns; /* the stream's own */
    bool has_fine_timer;
} onnxd_sim_lane;

#define ONNXD_SIM_KERNEL_BUCKETS 64

struct onnxd_sim {
    onnxd_ep base;
    onnxd_sim_options options;
    onnxd_ep *cpu;                  /* whose kernels are borrowed */
    const char *context_sources[2]; /* ends with NULL */
    atomic_bool is_open;
    _Atomic uint32_t references; /* by the instance's owner and by every kernel */

    /* memory.c */
    char *device_base; /* what buffers' addresses lie in; never mapped for access */
    char *host_base;   /* the same bytes for the sim's own threads */
    size_t memory_bytes;
    pthread_mutex_t space_mutex; /* of `space` */
    onnxd_offset_allocator *space;
    onnxd_pool *pool;
    onnxd_handle_table *handles;

    /* stream.c */
    onnxd_fence_table *fences;
    onnxd_sim_lane lanes[ONNXD_STREAM_COUNT];

    /* kernel.c */
    pthread_mutex_t kernel_mutex;
    onnxd_sim_kernel *kernels[ONNXD_SIM_KERNEL_BUCKETS]; /* live, by borrowed kernel */

    _Atomic uint64_t allocate_calls, kernels_enqueued, copies_issued, sync_calls;
    uint64_t device_allocations; /* when the pool is gone */
};

static inline onnxd_sim *onnxd_sim_of(onnxd_ep *ep)
{
    return (onnxd_sim *)(void *)ep;
}

/* ---- module.c ------------------------------------------------------------------------------ */

/* Kernels may be released after the instance is destroyed. */
void onnxd_sim_retain(onnxd_sim *sim);
void onnxd_sim_release(onnxd_sim *sim);

/* ---- memory.c ------------------------------------------------------------------------------ */

ONNXD_NODISCARD onnxd_status *onnxd_sim_memory_open(onnxd_sim *sim);
/* Frees every buffer, live ones too. The streams are gone by now. Half-open is fine. */
void onnxd_sim_memory_close(onnxd_sim *sim);
ONNXD_NODISCARD onnxd_status *onnxd_sim_allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                                                 onnxd_buffer *out_buffer);
ONNXD_NODISCARD onnxd_status *onnxd_sim_deallocate(onnxd_ep *ep, onnxd_buffer buffer);
/* The bytes behind a device address; NULL for an address outside the device. */
void *onnxd_sim_host_address(const onnxd_sim *sim, const void *device_address);
/* Bytes from a device address to the end of the device's memory. */
size_t onnxd_sim_bytes_from(const onnxd_sim *sim, const void *device_address);

/* ---- stream.c ------------------------------------------------------------------------------ */

ONNXD_NODISCARD onnxd_status *onnxd_sim_streams_open(onnxd_sim *sim);
/* Finishes what was issued. Half-open is fine. */
void onnxd_sim_streams_close(onnxd_sim *sim);
void onnxd_sim_streams_drain(onnxd_sim *sim);
/* A command that was ready at ready_ns takes cost_ns of the lane's time. Its effects come at the
 * end of that time, as a device's do, so that a missing wait shows: begin sleeps until work_ns
 * (what the host will need for the work) before the end, end sleeps out the rest. On the lane's
 * thread. */
void onnxd_sim_lane_begin(onnxd_sim_lane *lane, int64_t ready_ns, int64_t cost_ns, int64_t work_ns);
void onnxd_sim_lane_end(onnxd_sim_lane *lane);
ONNXD_NODISCARD onnxd_status *onnxd_sim_copy(onnxd_ep *ep, const onnxd_copy *copy);
ONNXD_NODISCARD onnxd_status *onnxd_sim_copy_async(onnxd_ep *ep, const onnxd_copy *copy,
                                                   onnxd_fence *out_fence);
ONNXD_NODISCARD onnxd_status *onnxd_sim_fence_wait(onnxd_ep *ep, onnxd_fence fence,
                                                   int64_t timeout_ns);
ONNXD_NODISCARD onnxd_status *onnxd_sim_fence_query(onnxd_ep *ep, onnxd_fence fence,
                                                    bool *out_done);
ONNXD_NODISCARD onnxd_status *onnxd_sim_fence_release(onnxd_ep *ep, onnxd_fence fence);
ONNXD_NODISCARD onnxd_status *onnxd_sim_fence_record(onnxd_ep *ep, onnxd_stream stream,
                                                     onnxd_fence *out_fence);
ONNXD_NODISCARD onnxd_status *onnxd_sim_stream_wait(onnxd_ep *ep, onnxd_stream stream,
                                                    onnxd_fence fence);
ONNXD_NODISCARD onnxd_status *onnxd_sim_sync(onnxd_ep *ep);

/* ---- kernel.c ------------------------------------------------------------------------------ */

void onnxd_sim_supports_op(onnxd_ep *ep, const onnxd_op_query *query,
                           onnxd_kernel_match *out_match);
ONNXD_NODISCARD onnxd_status *onnxd_sim_get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                                   onnxd_kernel **out_kernel);
void onnxd_sim_claim_nodes(onnxd_ep *ep, const onnxd_graph *graph, bool *claimed);

/* ---- passes.c ------------------------------------------------------------------------------ */

const onnxd_pass *const *onnxd_sim_custom_passes(const onnxd_ep *ep);
const char *const *onnxd_sim_context_source_keys(const onnxd_ep *ep);

#endif

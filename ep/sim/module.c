#include "base/alloc.h"
#include "ep/sim/sim.h"

/* Where the host's own copies end, for the cost model of a device without a bandwidth limit. */
#define HOST_COPY_BYTES_PER_US 8000.0

static onnxd_status *sim_create(const onnxd_ep_host *host, uint32_t device_index, onnxd_ep **out_ep)
{
    (void)host;
    (void)device_index;
    onnxd_sim *sim = onnxd_alloc_zero(1, sizeof(*sim));
    if (sim == NULL)
        return onnxd_error_out_of_memory("sim_ep instance", sizeof(*sim), UINT64_MAX);
    atomic_init(&sim->references, 1);
    pthread_mutex_init(&sim->space_mutex, NULL);
    pthread_mutex_init(&sim->kernel_mutex, NULL);
    *out_ep = &sim->base;
    return NULL;
}

static onnxd_status *sim_shutdown(onnxd_ep *ep)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    atomic_store_explicit(&sim->is_open, false, memory_order_release);
    onnxd_sim_streams_close(sim);
    onnxd_sim_memory_close(sim);
    sim->context_sources[0] = NULL;
    onnxd_sim_options_deinit(&sim->options);
    return sim->cpu != NULL ? onnxd_ep_shutdown(sim->cpu) : NULL;
}

static void sim_destroy(onnxd_ep *ep)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    onnxd_ep_destroy(sim->cpu);
    sim->cpu = NULL;
    onnxd_sim_release(sim);
}

void onnxd_sim_retain(onnxd_sim *sim)
{
    atomic_fetch_add_explicit(&sim->references, 1, memory_order_relaxed);
}

void onnxd_sim_release(onnxd_sim *sim)
{
    if (atomic_fetch_sub_explicit(&sim->references, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&sim->kernel_mutex);
    pthread_mutex_destroy(&sim->space_mutex);
    onnxd_free(sim);
}

static onnxd_status *open_cpu(onnxd_sim *sim)
{
    const onnxd_ep_host *host = sim->base.host;
    static const onnxd_ep_option options[] = {{"cpu.threads", "1"}};
    static const onnxd_ep_config config = {options, ONNXD_COUNT(options)};
    ONNXD_TRY(onnxd_status_context(host->open_provider(host, "cpu_ep", 0, &sim->cpu),
                                   "sim_ep borrows the kernels of cpu_ep"));
    return onnxd_ep_initialize(sim->cpu, &config);
}

static onnxd_status *sim_initialize(onnxd_ep *ep, const onnxd_ep_config *config)
{
    onnxd_sim *sim = onnxd_sim_of(ep);
    ONNXD_TRY(onnxd_sim_options_init(config, &sim->options));
    if (sim->options.context_source[0] != '\0')
        sim->context_sources[0] = sim->options.context_source;
    ONNXD_TRY(open_cpu(sim));
    ONNXD_TRY(onnxd_sim_memory_open(sim));
    ONNXD_TRY(onnxd_sim_streams_open(sim));
    atomic_store_explicit(&sim->is_open, true, memory_order_release);
    return NULL;
}

static void sim_get_info(const onnxd_ep *ep, onnxd_ep_info *out_info)
{
    const onnxd_sim *sim = (const onnxd_sim *)(const void *)ep;
    double rate = (double)sim->options.copy_bandwidth_bytes_per_s / 1e6;
    *out_info = (onnxd_ep_info){.alignment_bytes = ONNXD_SIM_ALIGNMENT,
                                .piece_alignment_bytes = ONNXD_SIM_PIECE_ALIGNMENT,
                                .memory_bytes = sim->memory_bytes,
                                .copy_latency_us = (double)sim->options.copy_latency_us,
                                .copy_bytes_per_us = rate > 0 ? rate : HOST_COPY_BYTES_PER_US};
}

static void sim_get_stats(const onnxd_ep *ep, onnxd_ep_stats *out_stats)
{
    const onnxd_sim *sim = (const onnxd_sim *)(const void *)ep;
    onnxd_ep_stats stats = {
        .allocate_calls = atomic_load_explicit(&sim->allocate_calls, memory_order_relaxed),
        .kernels_enqueued = atomic_load_explicit(&sim->kernels_enqueued, memory_order_relaxed),
        .copies_issued = atomic_load_explicit(&sim->copies_issued, memory_order_relaxed),
        .sync_calls = atomic_load_explicit(&sim->sync_calls, memory_order_relaxed),
        .device_allocations = sim->device_allocations};
    if (sim->pool != NULL)
        stats.device_allocations = onnxd_pool_query(sim->pool).source_allocs;
    if (sim->handles != NULL) {
        onnxd_handle_stats handles = onnxd_handle_table_query(sim->handles);
        stats.allocated_bytes = handles.live_bytes;
        stats.buffers_live = handles.live_count;
    }
    if (sim->fences != NULL)
        stats.fences_live = onnxd_fence_table_live(sim->fences);
    *out_stats = stats;
}

static const onnxd_ep_api sim_api = {
    .abi_version = ONNXD_EP_ABI_VERSION,
    .struct_size = sizeof(onnxd_ep_api),
    .name = "sim_ep",
    .version = "1",
    .device_type = ONNXD_SIM_DEVICE_TYPE,
    .create = sim_create,
    .destroy = sim_destroy,
    .initialize = sim_initialize,
    .shutdown = sim_shutdown,
    .get_info = sim_get_info,
    .get_stats = sim_get_stats,
    .supports_op = onnxd_sim_supports_op,
    .get_kernel = onnxd_sim_get_kernel,
    .allocate = onnxd_sim_allocate,
    .deallocate = onnxd_sim_deallocate,
    .copy = onnxd_sim_copy,
    .copy_async = onnxd_sim_copy_async,
    .fence_wait = onnxd_sim_fence_wait,
    .fence_query = onnxd_sim_fence_query,
    .stream_wait = onnxd_sim_stream_wait,
    .fence_record = onnxd_sim_fence_record,
    .fence_release = onnxd_sim_fence_release,
    .sync = onnxd_sim_sync,
    .custom_passes = onnxd_sim_custom_passes,
    .context_source_keys = onnxd_sim_context_source_keys,
    .claim_nodes = onnxd_sim_claim_nodes,
    .option_defs = onnxd_sim_option_defs,
};

ONNXD_EXPORT const onnxd_ep_api *onnxd_ep_module(void);

const onnxd_ep_api *onnxd_ep_module(void)
{
    return &sim_api;
}

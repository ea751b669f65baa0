#include "ep/cpu/cpu_ep.h"

#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/internal.h"
#include "ep/cpu/passes/passes.h"
#include "ep/instance_tag.h"

static onnxd_status *create(const onnxd_ep_host *host ONNXD_UNUSED, uint32_t device_index,
                            onnxd_ep **out_ep)
{
    onnxd_cpu_ep *cpu = onnxd_alloc_zero(1, sizeof(*cpu));
    if (cpu == NULL)
        return onnxd_error_out_of_memory("the CPU provider", sizeof(*cpu), UINT64_MAX);
    cpu->device = (onnxd_device_id){ONNXD_DEVICE_CPU, device_index};
    *out_ep = &cpu->base;
    return NULL;
}

static void destroy(onnxd_ep *ep)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    onnxd_cpu_runtime_release(cpu->runtime);
    onnxd_free(cpu);
}

static onnxd_status *initialize(onnxd_ep *ep, const onnxd_ep_config *config)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    ONNXD_TRY(onnxd_cpu_options_parse(config, &cpu->options));
    cpu->tag = onnxd_instance_tag(cpu->device);
    /* Half-built parts are shutdown's to end. */
    ONNXD_TRY(onnxd_cpu_runtime_create(ep->host->ops, &cpu->options, &cpu->runtime));
    ONNXD_TRY(onnxd_cpu_memory_init(cpu));
    return onnxd_cpu_streams_init(cpu);
}

static onnxd_status *shutdown(onnxd_ep *ep)
{
    onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    if (cpu->runtime != NULL)
        onnxd_cpu_runtime_close(cpu->runtime);
    onnxd_cpu_streams_deinit(cpu);
    onnxd_cpu_memory_deinit(cpu);
    return NULL;
}

static void get_info(const onnxd_ep *ep, onnxd_ep_info *out_info)
{
    const onnxd_cpu_ep *cpu = onnxd_cpu_ep_of_const(ep);
    uint64_t memory = onnxd_cpu_memory_bytes(), limit = (uint64_t)cpu->options.memory_limit_bytes;
    /* Of an initialised instance, which has a runtime. */
    *out_info = (onnxd_ep_info){.is_host_addressable = true,
                                .issuers = onnxd_team_threads(cpu->runtime->team),
                                .alignment_bytes = ONNXD_CPU_ALIGNMENT,
                                .piece_alignment_bytes = 1,
                                .memory_bytes = limit > 0 && limit < memory ? limit : memory,
                                .batch_cache_bytes = cpu->runtime->batch_cache_bytes};
}

static void get_stats(const onnxd_ep *ep, onnxd_ep_stats *out_stats)
{
    const onnxd_cpu_ep *cpu = onnxd_cpu_ep_of_const(ep);
    onnxd_ep_stats stats = {
        .allocate_calls = __atomic_load_n(&cpu->allocate_calls, __ATOMIC_RELAXED),
        .copies_issued = __atomic_load_n(&cpu->copies_issued, __ATOMIC_RELAXED),
        .sync_calls = __atomic_load_n(&cpu->sync_calls, __ATOMIC_RELAXED),
    };
    if (cpu->runtime != NULL)
        stats.kernels_enqueued = __atomic_load_n(&cpu->runtime->kernels_enqueued, __ATOMIC_RELAXED);
    if (cpu->handles != NULL) {
        onnxd_handle_stats handles = onnxd_handle_table_query(cpu->handles);
        stats.allocated_bytes = handles.live_bytes;
        stats.buffers_live = handles.live_count;
    }
    if (cpu->pool != NULL)
        stats.device_allocations = onnxd_pool_query(cpu->pool).source_allocs;
    if (cpu->fences != NULL)
        stats.fences_live = onnxd_fence_table_live(cpu->fences);
    *out_stats = stats;
}

static void begin_issuing(onnxd_ep *ep)
{
    const onnxd_cpu_runtime *runtime = onnxd_cpu_ep_of(ep)->runtime;
    if (runtime != NULL)
        onnxd_team_join(runtime->team);
}

static void end_issuing(onnxd_ep *ep)
{
    const onnxd_cpu_runtime *runtime = onnxd_cpu_ep_of(ep)->runtime;
    if (runtime != NULL)
        onnxd_team_leave(runtime->team);
}

const onnxd_pass *const *onnxd_cpu_ep_passes(void)
{
    return onnxd_cpu_passes;
}

static const onnxd_pass *const *custom_passes(const onnxd_ep *ep ONNXD_UNUSED)
{
    return onnxd_cpu_passes;
}

static const onnxd_ep_api api = {
    .abi_version = ONNXD_EP_ABI_VERSION,
    .struct_size = sizeof(onnxd_ep_api),
    .name = "cpu_ep",
    .version = "1.0",
    .device_type = ONNXD_DEVICE_CPU,
    .create = create,
    .destroy = destroy,
    .initialize = initialize,
    .shutdown = shutdown,
    .get_info = get_info,
    .get_stats = get_stats,
    .supports_op = onnxd_cpu_supports_op,
    .get_kernel = onnxd_cpu_get_kernel,
    .allocate = onnxd_cpu_allocate,
    .deallocate = onnxd_cpu_deallocate,
    .copy = onnxd_cpu_copy,
    .copy_async = onnxd_cpu_copy_async,
    .fence_wait = onnxd_cpu_fence_wait,
    .fence_query = onnxd_cpu_fence_query,
    .stream_wait = onnxd_cpu_stream_wait,
    .fence_record = onnxd_cpu_fence_record,
    .fence_release = onnxd_cpu_fence_release,
    .sync = onnxd_cpu_sync,
    .begin_issuing = begin_issuing,
    .end_issuing = end_issuing,
    .custom_passes = custom_passes,
    .option_defs = onnxd_cpu_option_defs,
};

const onnxd_ep_api *onnxd_cpu_ep_api(void)
{
    return &api;
}

#include "base/alloc.h"
#include "daemon/service.h"
#include "memory/pool.h"

static void write_head(onnxd_strbuf *out, const char *name, const char *type, const char *help)
{
    onnxd_strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_one(onnxd_strbuf *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    write_head(out, name, type, help);
    onnxd_strbuf_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void write_host_memory(onnxd_strbuf *out, onnxd_pool *pool)
{
    onnxd_pool_stats stats = onnxd_pool_query(pool);
    write_one(out, "onnxd_host_pool_in_use_bytes", "gauge", "Host pool memory in use.",
              stats.in_use_bytes);
    write_one(out, "onnxd_host_pool_cached_bytes", "gauge", "Host pool memory kept for reuse.",
              stats.cached_bytes);
    write_one(out, "onnxd_host_pool_allocations_total", "counter",
              "Host pool blocks that were taken from the heap.", stats.source_allocs);
    write_one(out, "onnxd_host_allocations_total", "counter", "Heap allocations of the process.",
              onnxd_alloc_query().calls);
    write_one(out, "onnxd_host_allocations_live", "gauge", "Heap allocations not freed.",
              onnxd_alloc_query().live_count);
}

/* One metric over all instances. */
typedef struct ep_metric {
    const char *name, *type, *help;
    size_t offset; /* of a uint64_t in onnxd_ep_stats */
} ep_metric;

static const ep_metric ep_metrics[] = {
    {"onnxd_ep_allocated_bytes", "gauge", "Device memory in live buffers.",
     offsetof(onnxd_ep_stats, allocated_bytes)},
    {"onnxd_ep_buffers_live", "gauge", "Live device buffers.",
     offsetof(onnxd_ep_stats, buffers_live)},
    {"onnxd_ep_allocate_calls_total", "counter", "Buffers asked for.",
     offsetof(onnxd_ep_stats, allocate_calls)},
    {"onnxd_ep_device_allocations_total", "counter", "Allocations that reached the device.",
     offsetof(onnxd_ep_stats, device_allocations)},
    {"onnxd_ep_kernels_total", "counter", "Kernels enqueued.",
     offsetof(onnxd_ep_stats, kernels_enqueued)},
    {"onnxd_ep_copies_total", "counter", "Copies issued.", offsetof(onnxd_ep_stats, copies_issued)},
    {"onnxd_ep_sync_total", "counter", "Waits for a whole device.",
     offsetof(onnxd_ep_stats, sync_calls)},
    {"onnxd_ep_fences_live", "gauge", "Fences not released.",
     offsetof(onnxd_ep_stats, fences_live)},
};

static void write_providers(onnxd_strbuf *out, const onnxd_runtime *runtime)
{
    for (size_t m = 0; m < ONNXD_COUNT(ep_metrics); m++) {
        const ep_metric *metric = &ep_metrics[m];
        write_head(out, metric->name, metric->type, metric->help);
        for (size_t i = 0; i < runtime->ep_count; i++) {
            onnxd_ep_stats stats = onnxd_ep_get_stats(runtime->eps[i]);
            uint64_t value =
                *(const uint64_t *)(const void *)((const char *)&stats + metric->offset);
            onnxd_strbuf_printf(out, "%s{ep=\"%s\"} %llu\n", metric->name,
                                onnxd_ep_label(runtime->eps[i]), (unsigned long long)value);
        }
    }
}

void onnxd_service_write_metrics(onnxd_strbuf *out, void *user)
{
    onnxd_service *service = user;
    write_host_memory(out, service->engine.runtime->host_pool);
    write_providers(out, service->engine.runtime);
    write_one(out, "onnxd_log_dropped_total", "counter", "Log lines lost to a full ring.",
              onnxd_log_dropped());
}

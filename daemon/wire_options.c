#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "daemon/wire.h"
#include "ep/cpu/cpu_ep.h"

/* ---- memory -------------------------------------------------------------------------------- */

/* The number in a file of /sys; UINT64_MAX when there is none ("max", no such file). */
static uint64_t read_limit(const char *path)
{
    char text[64];
    uint64_t value;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return UINT64_MAX;
    ssize_t length = read(descriptor, text, sizeof(text));
    close(descriptor);
    if (length <= 0)
        return UINT64_MAX;
    size_t digits = (size_t)length - (text[length - 1] == '\n');
    return onnxd_parse_u64(text, digits, &value) ? value : UINT64_MAX;
}

/* The least memory.max from this process's control group (version 2) up to the root. In a container
 * with a namespace of its own the group is "/". */
static uint64_t control_group_limit(void)
{
    static const char root[] = "/sys/fs/cgroup";
    char line[512] = "";
    char path[1024];
    uint64_t least = UINT64_MAX;

    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof(line), file) != NULL && strncmp(line, "0::", 3) != 0)
        line[0] = '\0';
    fclose(file);
    if (line[0] == '\0')
        return UINT64_MAX;
    line[strcspn(line, "\n")] = '\0';
    char *group = line + 3;
    for (;;) {
        snprintf(path, sizeof(path), "%s%s/memory.max", root, group);
        uint64_t limit = read_limit(path);
        least = limit < least ? limit : least;
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return least;
        *slash = '\0';
    }
}

uint64_t onnxd_usable_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t machine =
        pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
    uint64_t group = control_group_limit();
    return group < machine ? group : machine;
}

static size_t to_size(uint64_t bytes)
{
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

onnxd_runtime_options onnxd_wire_runtime_options(const onnxd_config *config)
{
    uint64_t usable = onnxd_usable_memory_bytes();
    uint64_t limit =
        usable == UINT64_MAX ? UINT64_MAX : usable / 100 * config->memory_host_limit_percent;
    if (config->memory_host_limit_bytes < limit)
        limit = config->memory_host_limit_bytes;
    return (onnxd_runtime_options){
        .host_memory_limit_bytes = to_size(limit),
        .host_memory_cache_bytes = to_size(config->memory_host_cache_bytes),
    };
}

/* ---- the others ---------------------------------------------------------------------------- */

onnxd_model_options onnxd_wire_model_options(const onnxd_config *config)
{
    onnxd_model_options options = onnxd_model_options_default();
    options.limits.max_file_bytes = config->limits_max_model_file_bytes;
    options.limits.max_external_bytes = config->limits_max_external_bytes;
    options.limits.max_depth = config->limits_max_depth;
    options.limits.max_subgraph_depth = config->limits_max_subgraph_depth;
    options.limits.max_nodes = config->limits_max_nodes;
    options.limits.max_initializers = config->limits_max_initializers;
    options.limits.max_attributes_per_node = config->limits_max_attributes_per_node;
    options.limits.max_name_bytes = config->limits_max_name_bytes;
    options.limits.max_graph_bytes = config->limits_max_graph_bytes;
    options.passes.fold_max_node_bytes = config->limits_fold_max_node_bytes;
    options.passes.fold_max_total_bytes = config->limits_fold_max_total_bytes;
    options.passes.disabled = config->models_disabled_passes;
    options.plan_cache_capacity = config->models_plan_cache_capacity;
    options.max_tensor_bytes = config->limits_max_tensor_bytes;
    options.max_shape_input_bytes = config->limits_max_shape_input_bytes;
    options.max_shape_value_bytes = config->limits_max_shape_value_bytes;
    options.only_ep = config->models_ep[0] != '\0' ? config->models_ep : NULL;
    return options;
}

onnxd_scheduler_options onnxd_wire_scheduler_options(const onnxd_config *config)
{
    return (onnxd_scheduler_options){
        .max_queue_size = config->scheduler_max_queue_size,
        .max_in_flight = config->scheduler_max_in_flight,
    };
}

/* The table bounds every one of these sizes by what its field can hold. */
onnxd_http_options onnxd_wire_http_options(const onnxd_config *config)
{
    return (onnxd_http_options){
        .max_connections = config->http_max_connections,
        .max_connections_per_ip = config->http_max_connections_per_ip,
        .accept_backlog = (int)config->http_accept_backlog,
        .client_header_timeout_ms = config->http_client_header_timeout_ms,
        .client_body_timeout_ms = config->http_client_body_timeout_ms,
        .min_body_rate_bytes_per_s = (uint32_t)config->http_min_body_rate_bytes_per_s,
        .send_timeout_ms = config->http_send_timeout_ms,
        .keepalive_timeout_ms = config->http_keepalive_timeout_ms,
        .keepalive_requests = config->http_keepalive_requests,
        .keepalive_max_age_ms = config->http_keepalive_max_age_ms,
        .max_request_line_bytes = (uint32_t)config->http_max_request_line_bytes,
        .max_header_bytes = (uint32_t)config->http_max_header_bytes,
        .max_header_field_bytes = (uint32_t)config->http_max_header_field_bytes,
        .max_header_count = config->http_max_header_count,
        .max_body_bytes = config->http_max_body_bytes,
        .max_json_body_bytes = config->http_max_json_body_bytes,
        .max_control_body_bytes = config->http_max_control_body_bytes,
        .max_chunks = config->http_max_chunks,
        .max_chunk_overhead_bytes = (uint32_t)config->http_max_chunk_overhead_bytes,
        .max_trailer_bytes = (uint32_t)config->http_max_trailer_bytes,
        .max_pipelined = config->http_max_pipelined,
        .lingering_timeout_ms = config->http_lingering_timeout_ms,
        .lingering_bytes = (uint32_t)config->http_lingering_bytes,
        .max_inflight_bytes = config->http_max_inflight_bytes,
        .max_inflight_requests = config->http_max_inflight_requests,
        .inline_codec_bytes = (uint32_t)config->http_inline_codec_bytes,
        .max_tensor_rank = config->http_max_tensor_rank,
        .max_string_bytes = config->http_max_string_bytes,
        .max_output_bytes = config->http_max_output_bytes,
        .max_output_json_bytes = config->http_max_output_json_bytes,
        .max_id_bytes = config->http_max_id_bytes,
        .max_parameters = config->http_max_parameters,
        .default_timeout_us = config->http_default_timeout_us,
        .max_timeout_us = config->http_max_timeout_us,
        .retry_after_s = config->http_retry_after_s,
    };
}

uint32_t onnxd_wire_cpu_threads(const onnxd_config *config, uint32_t cpu_threads)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        const onnxd_config_provider *provider = &config->providers[i];
        uint64_t threads = cpu_threads;
        if (strcmp(provider->name, onnxd_cpu_ep_api()->name) != 0)
            continue;
        for (size_t j = 0; j < provider->option_count && cpu_threads == 0; j++)
            if (strcmp(provider->options[j].key, "cpu.threads") == 0 &&
                !onnxd_parse_u64(provider->options[j].value, strlen(provider->options[j].value),
                                 &threads))
                threads = 0;
        return threads != 0 ? (uint32_t)threads : (uint32_t)onnxd_cpu_count_allowed();
    }
    return 0;
}

/* What the parts are given: defaults of the table are the defaults of the parts. */
#include <criterion/criterion.h>

#include "daemon/wire.h"

static onnxd_config *default_config(void)
{
    onnxd_config_sources sources = {0};
    onnxd_config_report report;
    onnxd_config *config = NULL;
    onnxd_config_report_init(&report);
    cr_assert_null(onnxd_config_load(&sources, &report, &config));
    onnxd_config_report_deinit(&report);
    return config;
}

#define SAME(a, b, field) cr_expect_eq((a).field, (b).field, #field)

Test(wire, http_defaults_agree)
{
    onnxd_config *config = default_config();
    onnxd_http_options ours = onnxd_wire_http_options(config);
    onnxd_http_options theirs = onnxd_http_options_default();
    SAME(ours, theirs, max_connections);
    SAME(ours, theirs, max_connections_per_ip);
    SAME(ours, theirs, accept_backlog);
    SAME(ours, theirs, client_header_timeout_ms);
    SAME(ours, theirs, client_body_timeout_ms);
    SAME(ours, theirs, min_body_rate_bytes_per_s);
    SAME(ours, theirs, send_timeout_ms);
    SAME(ours, theirs, keepalive_timeout_ms);
    SAME(ours, theirs, keepalive_requests);
    SAME(ours, theirs, keepalive_max_age_ms);
    SAME(ours, theirs, max_request_line_bytes);
    SAME(ours, theirs, max_header_bytes);
    SAME(ours, theirs, max_header_field_bytes);
    SAME(ours, theirs, max_header_count);
    SAME(ours, theirs, max_body_bytes);
    SAME(ours, theirs, max_json_body_bytes);
    SAME(ours, theirs, max_control_body_bytes);
    SAME(ours, theirs, max_chunks);
    SAME(ours, theirs, max_chunk_overhead_bytes);
    SAME(ours, theirs, max_trailer_bytes);
    SAME(ours, theirs, max_pipelined);
    SAME(ours, theirs, lingering_timeout_ms);
    SAME(ours, theirs, lingering_bytes);
    SAME(ours, theirs, max_inflight_bytes);
    SAME(ours, theirs, max_inflight_requests);
    SAME(ours, theirs, inline_codec_bytes);
    SAME(ours, theirs, max_tensor_rank);
    SAME(ours, theirs, max_string_bytes);
    SAME(ours, theirs, max_output_bytes);
    SAME(ours, theirs, max_output_json_bytes);
    SAME(ours, theirs, max_id_bytes);
    SAME(ours, theirs, max_parameters);
    SAME(ours, theirs, default_timeout_us);
    SAME(ours, theirs, max_timeout_us);
    SAME(ours, theirs, retry_after_s);
    onnxd_config_destroy(config);
}

Test(wire, model_defaults_agree)
{
    onnxd_config *config = default_config();
    onnxd_model_options ours = onnxd_wire_model_options(config);
    onnxd_model_options theirs = onnxd_model_options_default();
    SAME(ours, theirs, limits.max_file_bytes);
    SAME(ours, theirs, limits.max_external_bytes);
    SAME(ours, theirs, limits.max_depth);
    SAME(ours, theirs, limits.max_subgraph_depth);
    SAME(ours, theirs, limits.max_nodes);
    SAME(ours, theirs, limits.max_initializers);
    SAME(ours, theirs, limits.max_attributes_per_node);
    SAME(ours, theirs, limits.max_name_bytes);
    SAME(ours, theirs, limits.max_graph_bytes);
    SAME(ours, theirs, passes.fold_max_node_bytes);
    SAME(ours, theirs, passes.fold_max_total_bytes);
    SAME(ours, theirs, plan_cache_capacity);
    SAME(ours, theirs, max_tensor_bytes);
    SAME(ours, theirs, max_shape_input_bytes);
    SAME(ours, theirs, max_shape_value_bytes);
    cr_expect_null(ours.only_ep);
    onnxd_config_destroy(config);
}

Test(wire, memory_is_bounded_by_what_there_is)
{
    onnxd_config *config = default_config();
    uint64_t usable = onnxd_usable_memory_bytes();
    cr_assert(usable > (1u << 20));
    size_t limit = onnxd_wire_runtime_options(config).host_memory_limit_bytes;
    cr_assert(limit <= usable / 100 * 80 && limit > usable / 100 * 79);
    config->memory_host_limit_bytes = 1u << 20;
    cr_assert_eq(onnxd_wire_runtime_options(config).host_memory_limit_bytes, 1u << 20);
    onnxd_config_destroy(config);
}

Test(wire, providers_that_are_not_there_are_named)
{
    uint32_t device = 0;
    onnxd_config *config = default_config();
    onnxd_config_provider provider = {
        .name = "nosuch_ep", .device_ids = &device, .device_count = 1, .origin = "f:7"};
    onnxd_engine engine = {0};
    config->providers = &provider;
    onnxd_status *status = onnxd_engine_open(config, 0, &engine);
    cr_assert_str_eq(onnxd_status_message(status),
                     "f:7: providers[0]: no provider 'nosuch_ep' is linked in: give its shared "
                     "object as \"module\"");
    onnxd_status_free(status);
    provider.module = "/nonexistent/module.so";
    status = onnxd_engine_open(config, 0, &engine);
    cr_assert_eq(onnxd_status_code(status), ONNXD_EP_LOAD_FAILED);
    onnxd_status_free(status);
    onnxd_config_destroy(config);
}

Test(wire, one_provider_can_be_chosen)
{
    onnxd_config *config = default_config();
    onnxd_engine engine = {0};
    config->models_ep = "cpu_ep:0";
    onnxd_status *status = onnxd_engine_open(config, 1, &engine);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    cr_assert_eq(engine.runtime->ep_count, 1);
    onnxd_engine_close(&engine);
    onnxd_config_destroy(config);
}

Test(wire, threads_of_a_measurement)
{
    onnxd_config *config = default_config();
    static const onnxd_config_pair threads = {.key = "cpu.threads", .value = "3"};
    onnxd_config_provider provider = {.name = "cpu_ep", .options = &threads, .option_count = 1};
    cr_expect_eq(onnxd_wire_cpu_threads(config, 7), 7);
    cr_expect_geq(onnxd_wire_cpu_threads(config, 0), 1);
    config->providers = &provider;
    cr_expect_eq(onnxd_wire_cpu_threads(config, 0), 3);
    cr_expect_eq(onnxd_wire_cpu_threads(config, 2), 2);
    provider.name = "other";
    cr_expect_eq(onnxd_wire_cpu_threads(config, 0), 0);
    onnxd_config_destroy(config);
}

/* sim_ep, loaded as the daemon loads it. */
#include <string.h>

#include "ep/module.h"
#include "support.h"

static const onnxd_ep_api *load(void)
{
    const onnxd_ep_api *api = NULL;
    expect_ok(onnxd_ep_module_load(SIM_MODULE, &api));
    return api;
}

/* ---- what the options do ------------------------------------------------------------------- */

static double memory_size(onnxd_ep *ep)
{
    return (double)onnxd_ep_get_info(ep).memory_bytes;
}

static double transfer_rate(onnxd_ep *ep)
{
    return onnxd_ep_get_info(ep).copy_bytes_per_us;
}

/* How long it takes until a copy of 1 MB has arrived. */
static double copy_ms(onnxd_ep *ep)
{
    static unsigned char host[1000000];
    onnxd_buffer buffer = allocate(ep, sizeof(host));
    double start = now_ms();
    upload(ep, buffer, host, sizeof(host));
    return now_ms() - start;
}

static double kernel_ms(onnxd_ep *ep)
{
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
    onnxd_buffer buffer = filled(ep, 16, 0);
    double start = now_ms();
    expect_ok(enqueue_unary(kernel, buffer, buffer, 4));
    expect_ok(onnxd_ep_sync(ep));
    double taken = now_ms() - start;
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    return taken;
}

/* 1 when a copy that was just issued is under way. */
static double is_under_way(onnxd_ep *ep)
{
    static unsigned char host[16];
    onnxd_buffer buffer = allocate(ep, sizeof(host));
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(host, 16), buffer, 16);
    onnxd_fence fence = issue(ep, &copy);
    bool done = false;
    expect_ok(onnxd_ep_fence_query(ep, fence, &done));
    finish(ep, fence);
    return done ? 0 : 1;
}

static double relu_cost(onnxd_ep *ep)
{
    one_node relu;
    make_relu(&relu, 100000);
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    cr_assert(match.cost.is_known);
    drop_node(&relu);
    return match.cost.compute_us + match.cost.memory_us;
}

static double relu_is_supported(onnxd_ep *ep)
{
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    drop_node(&relu);
    return match.is_supported;
}

static double relu_is_claimed(onnxd_ep *ep)
{
    one_node relu;
    make_relu(&relu, 4);
    bool claimed = false;
    onnxd_ep_claim_nodes(ep, relu.graph, &claimed);
    drop_node(&relu);
    return claimed;
}

static double fence_limit(onnxd_ep *ep)
{
    onnxd_fence fence;
    onnxd_status *status = NULL;
    int count = -1;
    for (; status == NULL; count++)
        status = onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence);
    expect_code(status, ONNXD_RESOURCE_EXHAUSTED);
    return count;
}

static double buffer_limit(onnxd_ep *ep)
{
    onnxd_buffer buffer;
    onnxd_status *status = NULL;
    int count = -1;
    for (; status == NULL; count++)
        status = onnxd_ep_allocate(ep, 1, 64, &buffer);
    expect_code(status, ONNXD_RESOURCE_EXHAUSTED);
    return count;
}

static double pass_count(onnxd_ep *ep)
{
    const onnxd_pass *const *passes = onnxd_ep_custom_passes(ep);
    int count = 0;
    while (passes[count] != NULL)
        count++;
    return count;
}

static double source_length(onnxd_ep *ep)
{
    const char *const *keys = onnxd_ep_context_source_keys(ep);
    return keys[0] == NULL ? 0 : (double)strlen(keys[0]);
}

/* The number of the operation that fails, of ten; 0 when none does. */
static int first_failure(onnxd_ep *ep, onnxd_status *(*operation)(onnxd_ep *ep))
{
    int failed = 0;
    for (int i = 1; i <= 10; i++) {
        onnxd_status *status = operation(ep);
        if (status != NULL && failed == 0)
            failed = i;
        onnxd_status_free(status);
    }
    return failed;
}

static onnxd_status *one_allocation(onnxd_ep *ep)
{
    onnxd_buffer buffer;
    return onnxd_ep_allocate(ep, 1, 64, &buffer);
}

static onnxd_status *one_copy(onnxd_ep *ep)
{
    unsigned char byte = 0;
    onnxd_buffer buffer = allocate(ep, 1);
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(&byte, 1), buffer, 1);
    onnxd_status *status = onnxd_ep_copy(ep, &copy);
    deallocate(ep, buffer);
    return status;
}

static onnxd_status *one_kernel(onnxd_ep *ep)
{
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
    onnxd_buffer buffer = filled(ep, 16, 0);
    expect_ok(enqueue_unary(kernel, buffer, buffer, 4));
    onnxd_fence fence;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence));
    onnxd_status *status = onnxd_ep_fence_wait(ep, fence, -1);
    expect_ok(onnxd_ep_fence_release(ep, fence));
    onnxd_kernel_release(kernel);
    deallocate(ep, buffer);
    drop_node(&relu);
    return status;
}

static double failing_allocation(onnxd_ep *ep)
{
    return first_failure(ep, one_allocation);
}

static double failing_copy(onnxd_ep *ep)
{
    return first_failure(ep, one_copy);
}

static double failing_kernel(onnxd_ep *ep)
{
    return first_failure(ep, one_kernel);
}

/* Durations are set so far apart that no load of the machine turns them round. */
static const option_effect effects[] = {
    {"sim.memory_bytes", "65536", "131072", memory_size, {NULL, NULL}},
    {"sim.copy_bandwidth_bytes_per_s", "1000000", "2000000", transfer_rate, {NULL, NULL}},
    {"sim.copy_bandwidth_bytes_per_s", "0", "2000000", copy_ms, {NULL, NULL}},
    {"sim.copy_latency_us", "0", "400000", copy_ms, {NULL, NULL}},
    {"sim.launch_latency_us", "0", "400000", kernel_ms, {NULL, NULL}},
    {"sim.kernel_latency_us", "0", "400000", kernel_ms, {NULL, NULL}},
    {"sim.kernel_latency_us", "0", "400000", relu_cost, {NULL, NULL}},
    {"sim.async", "false", "true", is_under_way, {"sim.copy_latency_us", "100000"}},
    {"sim.compute_scale", "0.5", "2", relu_cost, {NULL, NULL}},
    {"sim.max_fences", "10", "20", fence_limit, {NULL, NULL}},
    {"sim.max_buffers", "10", "200", buffer_limit, {NULL, NULL}},
    {"sim.fault_copy_at", "0", "3", failing_copy, {NULL, NULL}},
    {"sim.fault_kernel_at", "0", "3", failing_kernel, {NULL, NULL}},
    {"sim.fault_alloc_at", "0", "3", failing_allocation, {NULL, NULL}},
    {"sim.fault_alloc_at", "3", "5", failing_allocation, {NULL, NULL}},
    {"sim.unsupported_ops", "Add,Relu", "Add,Rel", relu_is_supported, {NULL, NULL}},
    {"sim.claim_ops", "", "Relu", relu_is_claimed, {NULL, NULL}},
    {"sim.private_pass", "false", "true", pass_count, {NULL, NULL}},
    {"sim.context_source", "", "vendor", source_length, {NULL, NULL}},
    {NULL, NULL, NULL, NULL, {NULL, NULL}},
};

static const onnxd_ep_option slow_copies[] = {{"sim.copy_latency_us", "100000"}, {NULL, NULL}};
static const onnxd_ep_option slow_kernels[] = {{"sim.kernel_latency_us", "100000"}, {NULL, NULL}};
static const exemption unmeasurable[] = {{NULL, NULL}};
static const exemption skips[] = {{NULL, NULL}};

const conformance_provider_description conformance_provider = {
    .name = "sim_ep",
    .device_type = ONNXD_DEVICE_CUSTOM,
    .load = load,
    .runs_strings = false,
    .slow_copies = slow_copies,
    .slow_kernels = slow_kernels,
    .fault_copy = "sim.fault_copy_at",
    .fault_kernel = "sim.fault_kernel_at",
    .fault_alloc = "sim.fault_alloc_at",
    .wrong_key = "sim.memory_byte",
    .nearest_key = "sim.memory_bytes",
    .limit_key = "sim.memory_bytes",
    .claim_key = "sim.claim_ops",
    .effects = effects,
    .unmeasurable = unmeasurable,
    .skips = skips,
};

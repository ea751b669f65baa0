/* cpu_ep, linked in. */
#include "ep/cpu/cpu_ep.h"

#include <string.h>

#include "base/alloc.h"
#include "support.h"

/* ---- what the options do ------------------------------------------------------------------- */

static double memory_size(onnxd_ep *ep)
{
    return (double)onnxd_ep_get_info(ep).memory_bytes;
}

/* How often the system is asked for memory that was released before. */
static double repeated_allocations(onnxd_ep *ep)
{
    for (int i = 0; i < 10; i++) {
        deallocate(ep, allocate(ep, 5000));
        expect_ok(onnxd_ep_sync(ep));
    }
    return (double)onnxd_ep_get_stats(ep).device_allocations;
}

static void make_matmul(one_node *node)
{
    static const int64_t dims[] = {512, 512};
    make_node(node, "MatMul", 13, 2, 1);
    node->inputs[0] = node->inputs[1] = type_of(ONNXD_FLOAT, 2, dims);
    cr_assert(resolve_node(node));
    cr_assert(infer_node(node));
}

static double matmul_cost(onnxd_ep *ep)
{
    one_node node;
    onnxd_kernel_match match;
    make_matmul(&node);
    onnxd_ep_supports_op(ep, &node.query, &match);
    cr_assert(match.is_supported && match.cost.is_known, "%s", match.reason);
    drop_node(&node);
    return match.cost.compute_us;
}

/* Whether what runs a product has a name that begins so. */
static double runs_on(onnxd_ep *ep, const char *prefix)
{
    one_node node;
    onnxd_kernel *kernel = NULL;
    make_matmul(&node);
    expect_ok(onnxd_ep_get_kernel(ep, &node.query, &kernel));
    double is_so = strncmp(kernel->implementation, prefix, strlen(prefix)) == 0;
    onnxd_kernel_release(kernel);
    drop_node(&node);
    return is_so;
}

static double uses_onednn(onnxd_ep *ep)
{
    return runs_on(ep, "onednn");
}

static double uses_vector_kernels(onnxd_ep *ep)
{
    return runs_on(ep, "simd");
}

/* Whether a product of one row by many weights is one of bfloat16. */
static double rounds_factors(onnxd_ep *ep)
{
    static const int64_t row[] = {1, 512}, weights[] = {512, 1024};
    one_node node;
    make_node(&node, "MatMul", 13, 2, 1);
    node.inputs[0] = type_of(ONNXD_FLOAT, 2, row);
    node.inputs[1] = type_of(ONNXD_FLOAT, 2, weights);
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &node.inputs[1].shape, &node.constants[1]));
    memset(node.constants[1]->data, 0, node.constants[1]->bytes);
    cr_assert(resolve_node(&node));
    cr_assert(infer_node(&node));
    onnxd_kernel *kernel = kernel_for(ep, &node);
    const bool is_so = strstr(kernel->implementation, "_bf16:") != NULL;
    onnxd_kernel_release(kernel);
    drop_node(&node);
    return is_so;
}

/* Host allocations that stay behind a kernel that nobody holds. */
static double kept_allocations(onnxd_ep *ep)
{
    double before = (double)onnxd_alloc_query().live_count;
    for (int64_t length = 1; length <= 20; length++) {
        one_node relu;
        onnxd_kernel *kernel = NULL;
        make_relu(&relu, length);
        expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
        onnxd_kernel_release(kernel);
        drop_node(&relu);
    }
    return (double)onnxd_alloc_query().live_count - before;
}

static double batch_cache(onnxd_ep *ep)
{
    return (double)onnxd_ep_get_info(ep).batch_cache_bytes;
}

static const option_effect effects[] = {
    {"cpu.threads", "2", "1", matmul_cost, {NULL, NULL}},
    {"cpu.memory_limit_bytes", "1048576", "2097152", memory_size, {NULL, NULL}},
    {"cpu.memory_cache_bytes", "100000", "0", repeated_allocations, {NULL, NULL}},
    {"cpu.batch_cache_bytes", "0", "1000", batch_cache, {NULL, NULL}},
    {"cpu.batch_cache_bytes", "0", "-1", batch_cache, {NULL, NULL}},
    {"cpu.kernel_cache", "0", "5", kept_allocations, {NULL, NULL}},
    {"cpu.kernel_cache", "5", "15", kept_allocations, {NULL, NULL}},
    {"cpu.onednn", "false", "true", uses_onednn, {"cpu.vector_kernels", "false"}},
    {"cpu.vector_kernels", "false", "true", uses_vector_kernels, {NULL, NULL}},
    {"cpu.precision", "fp32", "bf16", rounds_factors, {NULL, NULL}},
    {NULL, NULL, NULL, NULL, {NULL, NULL}},
};

static const exemption unmeasurable[] = {
    {"cpu.winograd",
     "a convolution of ai.onnx takes it only where oneDNN has it; graph passes make "
     "those that always can"},
    {"cpu.winograd_error", "the same"},
    {"cpu.isa", "which levels there are depends on the processor"},
    {NULL, NULL},
};
static const exemption skips[] = {{NULL, NULL}};

const conformance_provider_description conformance_provider = {
    .name = "cpu_ep",
    .device_type = ONNXD_DEVICE_CPU,
    .load = onnxd_cpu_ep_api,
    .runs_strings = true,
    .wrong_key = "cpu.thread",
    .nearest_key = "cpu.threads",
    .limit_key = "cpu.memory_limit_bytes",
    .effects = effects,
    .unmeasurable = unmeasurable,
    .skips = skips,
};

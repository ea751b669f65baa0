#include "tests/model/fake_ep.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"

typedef struct fake_ep {
    onnxd_ep base;
    fake_ep_settings settings;
    atomic_uint issuing;
} fake_ep;

typedef struct fake_kernel {
    onnxd_kernel base;
    const fake_ep *ep;
} fake_kernel;

static fake_ep *fake(const onnxd_ep *ep)
{
    return (fake_ep *)(void *)(uintptr_t)ep;
}

static onnxd_status *refuse(void)
{
    return onnxd_error(ONNXD_UNIMPLEMENTED, "fake_ep runs nothing");
}

static onnxd_status *create(const onnxd_ep_host *host, uint32_t device_index, onnxd_ep **out_ep)
{
    (void)host;
    (void)device_index;
    fake_ep *ep = onnxd_alloc_zero(1, sizeof(*ep));
    cr_assert_not_null(ep);
    *out_ep = &ep->base;
    return NULL;
}

static void destroy(onnxd_ep *ep)
{
    onnxd_free(fake(ep));
}

static onnxd_status *initialize(onnxd_ep *ep, const onnxd_ep_config *config)
{
    (void)ep;
    (void)config;
    return NULL;
}

static onnxd_status *shut_down(onnxd_ep *ep)
{
    (void)ep;
    return NULL;
}

static void get_info(const onnxd_ep *ep, onnxd_ep_info *out_info)
{
    const fake_ep_settings *settings = &fake(ep)->settings;
    *out_info = (onnxd_ep_info){
        .is_host_addressable = !settings->is_device,
        .issuers = settings->issuers,
        .alignment_bytes = 64,
        .memory_bytes = UINT64_MAX,
        .copy_latency_us = settings->copy_latency_us,
        .copy_bytes_per_us = settings->copy_bytes_per_us,
    };
}

static void get_stats(const onnxd_ep *ep, onnxd_ep_stats *out_stats)
{
    (void)ep;
    *out_stats = (onnxd_ep_stats){.allocate_calls = 0};
}

static void supports_op(onnxd_ep *ep, const onnxd_op_query *query, onnxd_kernel_match *out_match)
{
    const fake_ep_settings *settings = &fake(ep)->settings;
    *out_match = (onnxd_kernel_match){.is_supported = true, .reason = "fake"};
    static const onnxd_tensor_layout layouts[] = {{.strides_are_default = true},
                                                  {.blocked = "fake:8c"}};
    if (settings->wants_layout && query->input_count <= ONNXD_COUNT(layouts)) {
        /* The last input's alone is not row-major. */
        out_match->input_layouts = layouts + ONNXD_COUNT(layouts) - query->input_count;
        out_match->input_layout_count = query->input_count;
    }
    out_match->cost.is_known = settings->node_us >= 0;
    out_match->cost.compute_us = settings->node_us >= 0 ? settings->node_us : 0;
    if (settings->unsupported_op != NULL &&
        strcmp(query->node->op_type, settings->unsupported_op) == 0) {
        out_match->is_supported = false;
        strcpy(out_match->reason, "fake cannot");
    }
}

static onnxd_status *enqueue(onnxd_kernel *kernel, const onnxd_kernel_args *args)
{
    return ONNXD_CONTAINER_OF(kernel, fake_kernel, base)->ep->settings.compute(args);
}

static void release(onnxd_kernel *kernel)
{
    onnxd_free(ONNXD_CONTAINER_OF(kernel, fake_kernel, base));
}

static onnxd_status *get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                onnxd_kernel **out_kernel)
{
    static const onnxd_kernel_api kernel_api = {sizeof(kernel_api), enqueue, release};
    (void)query;
    if (fake(ep)->settings.compute == NULL)
        return onnxd_error(ONNXD_NO_EP_FOR_OP, "fake_ep makes no kernels");
    fake_kernel *kernel = onnxd_alloc_zero(1, sizeof(*kernel));
    cr_assert_not_null(kernel);
    kernel->base.api = &kernel_api;
    kernel->base.implementation = "fake";
    kernel->ep = fake(ep);
    *out_kernel = &kernel->base;
    return NULL;
}

static void begin_issuing(onnxd_ep *ep)
{
    atomic_fetch_add(&fake(ep)->issuing, 1);
}

static void end_issuing(onnxd_ep *ep)
{
    atomic_fetch_sub(&fake(ep)->issuing, 1);
}

uint32_t fake_ep_issuing(const onnxd_ep *ep)
{
    return atomic_load(&fake(ep)->issuing);
}

static onnxd_status *allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                              onnxd_buffer *out_buffer)
{
    (void)ep;
    (void)bytes;
    (void)alignment;
    (void)out_buffer;
    return refuse();
}

static onnxd_status *deallocate(onnxd_ep *ep, onnxd_buffer buffer)
{
    (void)ep;
    (void)buffer;
    return refuse();
}

static onnxd_status *copy(onnxd_ep *ep, const onnxd_copy *what)
{
    (void)ep;
    (void)what;
    return refuse();
}

static onnxd_status *copy_async(onnxd_ep *ep, const onnxd_copy *what, onnxd_fence *out_fence)
{
    (void)ep;
    (void)what;
    (void)out_fence;
    return refuse();
}

static onnxd_status *fence_wait(onnxd_ep *ep, onnxd_fence fence, int64_t timeout_ns)
{
    (void)ep;
    (void)fence;
    (void)timeout_ns;
    return refuse();
}

static onnxd_status *fence_query(onnxd_ep *ep, onnxd_fence fence, bool *out_done)
{
    (void)ep;
    (void)fence;
    (void)out_done;
    return refuse();
}

static onnxd_status *stream_wait(onnxd_ep *ep, onnxd_stream stream, onnxd_fence fence)
{
    (void)ep;
    (void)stream;
    (void)fence;
    return refuse();
}

static onnxd_status *fence_record(onnxd_ep *ep, onnxd_stream stream, onnxd_fence *out_fence)
{
    (void)ep;
    (void)stream;
    (void)out_fence;
    return refuse();
}

static onnxd_status *fence_release(onnxd_ep *ep, onnxd_fence fence)
{
    (void)ep;
    (void)fence;
    return refuse();
}

static onnxd_status *sync_all(onnxd_ep *ep)
{
    (void)ep;
    return NULL;
}

static void claim_nodes(onnxd_ep *ep, const onnxd_graph *graph, bool *claimed)
{
    const char *op = fake(ep)->settings.claimed_op;
    for (uint32_t i = 0; i < graph->node_count && op != NULL; i++)
        claimed[i] = strcmp(graph->nodes[i].op_type, op) == 0;
}

static const onnxd_pass *const *custom_passes(const onnxd_ep *ep)
{
    static const onnxd_pass *const none[] = {NULL};
    const fake_ep_settings *settings = &fake(ep)->settings;
    return settings->passes != NULL ? settings->passes : none;
}

static const onnxd_ep_api api = {
    .abi_version = ONNXD_EP_ABI_VERSION,
    .struct_size = sizeof(onnxd_ep_api),
    .name = "fake_ep",
    .version = "1",
    .device_type = ONNXD_DEVICE_CUSTOM + 7,
    .create = create,
    .destroy = destroy,
    .initialize = initialize,
    .shutdown = shut_down,
    .get_info = get_info,
    .get_stats = get_stats,
    .supports_op = supports_op,
    .get_kernel = get_kernel,
    .allocate = allocate,
    .deallocate = deallocate,
    .copy = copy,
    .copy_async = copy_async,
    .fence_wait = fence_wait,
    .fence_query = fence_query,
    .stream_wait = stream_wait,
    .fence_record = fence_record,
    .fence_release = fence_release,
    .sync = sync_all,
    .begin_issuing = begin_issuing,
    .end_issuing = end_issuing,
    .claim_nodes = claim_nodes,
    .custom_passes = custom_passes,
};

onnxd_ep *fake_ep_open(uint32_t index, const fake_ep_settings *settings)
{
    static const onnxd_ep_host host = {.abi_version = ONNXD_EP_ABI_VERSION,
                                       .struct_size = sizeof(onnxd_ep_host)};
    const onnxd_ep_config config = {NULL, 0};
    onnxd_ep *ep;
    onnxd_status *status = onnxd_ep_create(&api, &host, index, &ep);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    fake(ep)->settings = *settings;
    status = onnxd_ep_initialize(ep, &config);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    return ep;
}

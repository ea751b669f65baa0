#include "ep/ep.h"

#include <stdio.h>

#include "ep/module.h"

/* What an instance goes through. Only READY admits work; shutdown leaves it for good. */
enum state { STATE_CREATED, STATE_READY, STATE_FAILED, STATE_SHUT_DOWN };

static uint32_t state_load(const onnxd_ep *ep)
{
    return __atomic_load_n(&ep->state, __ATOMIC_ACQUIRE);
}

static void state_store(onnxd_ep *ep, uint32_t state)
{
    __atomic_store_n(&ep->state, state, __ATOMIC_RELEASE);
}

static onnxd_status *require_ready(const onnxd_ep *ep)
{
    switch (state_load(ep)) {
    case STATE_READY:
        return NULL;
    case STATE_CREATED:
        return onnxd_error(ONNXD_NOT_INITIALIZED, "%s is not initialized", ep->label);
    case STATE_FAILED:
        return onnxd_error(ONNXD_NOT_INITIALIZED, "%s failed to initialize", ep->label);
    default:
        return onnxd_error(ONNXD_NOT_INITIALIZED, "%s is shut down", ep->label);
    }
}

double onnxd_cost_total_us(const onnxd_cost *cost)
{
    return cost->compute_us + cost->memory_us + cost->transfer_us + cost->launch_us;
}

static bool are_row_major(const onnxd_tensor_layout *layouts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (layouts[i].blocked != NULL || !layouts[i].strides_are_default)
            return false;
    return true;
}

bool onnxd_kernel_match_is_row_major(const onnxd_kernel_match *match)
{
    return are_row_major(match->input_layouts, match->input_layout_count) &&
           are_row_major(match->output_layouts, match->output_layout_count);
}

/* ---- identity and life --------------------------------------------------------------------- */

const char *onnxd_ep_name(const onnxd_ep *ep)
{
    return ep->api->name;
}

onnxd_device_id onnxd_ep_device_id(const onnxd_ep *ep)
{
    return ep->device_id;
}

const char *onnxd_ep_label(const onnxd_ep *ep)
{
    return ep->label;
}

onnxd_status *onnxd_ep_create(const onnxd_ep_api *api, const onnxd_ep_host *host,
                              uint32_t device_index, onnxd_ep **out_ep)
{
    ONNXD_TRY(onnxd_ep_api_check(api, "execution provider"));
    if (host == NULL || host->abi_version != ONNXD_EP_ABI_VERSION ||
        host->struct_size != sizeof(onnxd_ep_host))
        return onnxd_error(ONNXD_EP_LOAD_FAILED, "%s: the host's interface has another version",
                           api->name);
    onnxd_ep *ep = NULL;
    ONNXD_TRY(api->create(host, device_index, &ep));
    ep->api = api;
    ep->host = host;
    ep->device_id = (onnxd_device_id){api->device_type, device_index};
    snprintf(ep->label, sizeof(ep->label), "%s:%u", api->name, device_index);
    state_store(ep, STATE_CREATED);
    *out_ep = ep;
    return NULL;
}

void onnxd_ep_destroy(onnxd_ep *ep)
{
    if (ep == NULL)
        return;
    onnxd_status_free(onnxd_ep_shutdown(ep));
    ep->api->destroy(ep);
}

onnxd_status *onnxd_ep_initialize(onnxd_ep *ep, const onnxd_ep_config *config)
{
    static const onnxd_ep_config empty = {NULL, 0};
    if (state_load(ep) != STATE_CREATED)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%s was initialized or shut down before, an instance starts once",
                           ep->label);
    onnxd_status *status = ep->api->initialize(ep, config != NULL ? config : &empty);
    state_store(ep, status == NULL ? STATE_READY : STATE_FAILED);
    return onnxd_status_context(status, "%s", ep->label);
}

onnxd_status *onnxd_ep_shutdown(onnxd_ep *ep)
{
    uint32_t before = state_load(ep);
    state_store(ep, STATE_SHUT_DOWN);
    if (before == STATE_CREATED || before == STATE_SHUT_DOWN)
        return NULL;
    return onnxd_status_context(ep->api->shutdown(ep), "%s", ep->label);
}

onnxd_ep_info onnxd_ep_get_info(const onnxd_ep *ep)
{
    onnxd_ep_info info = {0};
    if (state_load(ep) != STATE_READY)
        return info;
    ep->api->get_info(ep, &info);
    if (info.issuers == 0)
        info.issuers = 1;
    return info;
}

onnxd_ep_stats onnxd_ep_get_stats(const onnxd_ep *ep)
{
    onnxd_ep_stats stats = {0};
    if (state_load(ep) != STATE_CREATED)
        ep->api->get_stats(ep, &stats);
    return stats;
}

/* ---- operators and kernels ----------------------------------------------------------------- */

static onnxd_status *check_query(const onnxd_op_query *query)
{
    if (query->node == NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the operator query names no node");
    if ((query->input_count > 0 && query->inputs == NULL) ||
        (query->output_count > 0 && query->outputs == NULL))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the query for operator '%s' lacks its types",
                           query->node->op_type);
    return NULL;
}

static onnxd_status *check_static(const onnxd_node *node, const char *what,
                                  const onnxd_tensor_type *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char text[ONNXD_SHAPE_TEXT];
        if (types[i].dtype == ONNXD_UNDEFINED || onnxd_shape_is_static(&types[i].shape))
            continue;
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%s %u of operator '%s' has shape %s, a kernel needs static dimensions",
                           what, i, node->op_type,
                           onnxd_shape_format(&types[i].shape, text, sizeof(text)));
    }
    return NULL;
}

static bool is_layout_list(const onnxd_tensor_layout *layouts, uint32_t count, uint32_t wanted)
{
    return count == 0 || (count == wanted && layouts != NULL);
}

void onnxd_ep_supports_op(onnxd_ep *ep, const onnxd_op_query *query, onnxd_kernel_match *out_match)
{
    onnxd_kernel_match match = {0};
    onnxd_status *status = require_ready(ep);
    if (status == NULL)
        status = check_query(query);
    if (status == NULL)
        ep->api->supports_op(ep, query, &match);
    else
        snprintf(match.reason, sizeof(match.reason), "%s", onnxd_status_message(status));
    onnxd_status_free(status);
    /* Readers index the lists by input and output. */
    if (!is_layout_list(match.input_layouts, match.input_layout_count, query->input_count) ||
        !is_layout_list(match.output_layouts, match.output_layout_count, query->output_count)) {
        match = (onnxd_kernel_match){0};
        snprintf(match.reason, sizeof(match.reason),
                 "%s answers with layouts for other inputs and outputs than it was asked about",
                 ep->label);
    }
    *out_match = match;
}

onnxd_status *onnxd_ep_get_kernel(onnxd_ep *ep, const onnxd_op_query *query,
                                  onnxd_kernel **out_kernel)
{
    ONNXD_TRY(require_ready(ep));
    ONNXD_TRY(check_query(query));
    ONNXD_TRY(check_static(query->node, "input", query->inputs, query->input_count));
    ONNXD_TRY(check_static(query->node, "output", query->outputs, query->output_count));
    return ep->api->get_kernel(ep, query, out_kernel);
}

void onnxd_kernel_release(onnxd_kernel *kernel)
{
    if (kernel != NULL)
        kernel->api->release(kernel);
}

onnxd_status *onnxd_kernel_enqueue(onnxd_kernel *kernel, const onnxd_kernel_args *args)
{
    if (ONNXD_UNLIKELY(kernel == NULL || args == NULL))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "no kernel or no arguments to enqueue");
    if (ONNXD_UNLIKELY((args->input_count > 0 && args->inputs == NULL) ||
                       (args->output_count > 0 && args->outputs == NULL)))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "kernel '%s' is given no views",
                           kernel->implementation);
    if (ONNXD_UNLIKELY(kernel->workspace_bytes > 0 && args->workspace == NULL))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "kernel '%s' needs a workspace of %zu bytes",
                           kernel->implementation, kernel->workspace_bytes);
    return kernel->api->enqueue(kernel, args);
}

/* ---- memory -------------------------------------------------------------------------------- */

onnxd_status *onnxd_ep_allocate(onnxd_ep *ep, size_t bytes, size_t alignment,
                                onnxd_buffer *out_buffer)
{
    ONNXD_TRY(require_ready(ep));
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        return onnxd_error(ONNXD_ALIGNMENT_ERROR,
                           "%s: alignment %zu is not allowed, it must be a power of two", ep->label,
                           alignment);
    return ep->api->allocate(ep, bytes, alignment, out_buffer);
}

static bool is_borrowed(const onnxd_buffer *buffer)
{
    return buffer->handle == 0 && buffer->device.type == ONNXD_DEVICE_CPU;
}

onnxd_status *onnxd_ep_deallocate(onnxd_ep *ep, onnxd_buffer buffer)
{
    ONNXD_TRY(require_ready(ep));
    if (is_borrowed(&buffer))
        return NULL;
    if (!onnxd_device_id_equal(buffer.device, ep->device_id))
        return onnxd_error(ONNXD_FOREIGN_BUFFER, "%s: the buffer belongs to device %u:%u",
                           ep->label, buffer.device.type, buffer.device.index);
    return ep->api->deallocate(ep, buffer);
}

static onnxd_status *check_copy_end(const onnxd_ep *ep, const char *what,
                                    const onnxd_buffer *buffer, size_t offset, size_t bytes)
{
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "%s: copy of %zu bytes at offset %zu passes the end of its %s of %zu "
                           "bytes",
                           ep->label, bytes, offset, what, buffer->bytes);
    if (buffer->data == NULL && bytes > 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: the %s of a copy has no address", ep->label,
                           what);
    return NULL;
}

static onnxd_status *check_copy(const onnxd_ep *ep, const onnxd_copy *copy)
{
    ONNXD_TRY(check_copy_end(ep, "source", &copy->source, copy->source_offset, copy->bytes));
    ONNXD_TRY(check_copy_end(ep, "destination", &copy->destination, copy->destination_offset,
                             copy->bytes));
    if (!onnxd_device_id_equal(copy->source.device, ep->device_id) &&
        !onnxd_device_id_equal(copy->destination.device, ep->device_id))
        return onnxd_error(ONNXD_FOREIGN_BUFFER, "%s: neither end of the copy is memory of it",
                           ep->label);
    return NULL;
}

onnxd_status *onnxd_ep_copy(onnxd_ep *ep, const onnxd_copy *copy)
{
    ONNXD_TRY(require_ready(ep));
    ONNXD_TRY(check_copy(ep, copy));
    return ep->api->copy(ep, copy);
}

onnxd_status *onnxd_ep_copy_async(onnxd_ep *ep, const onnxd_copy *copy, onnxd_fence *out_fence)
{
    ONNXD_TRY(require_ready(ep));
    ONNXD_TRY(check_copy(ep, copy));
    return ep->api->copy_async(ep, copy, out_fence);
}

/* ---- fences and streams -------------------------------------------------------------------- */

static onnxd_status *check_stream(const onnxd_ep *ep, onnxd_stream stream)
{
    if ((unsigned)stream >= (unsigned)ONNXD_STREAM_COUNT)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: stream %u does not exist, there are %u",
                           ep->label, (unsigned)stream, (unsigned)ONNXD_STREAM_COUNT);
    return NULL;
}

onnxd_status *onnxd_ep_fence_wait(onnxd_ep *ep, onnxd_fence fence, int64_t timeout_ns)
{
    ONNXD_TRY(require_ready(ep));
    if (fence == ONNXD_FENCE_SIGNALLED)
        return NULL;
    return ep->api->fence_wait(ep, fence, timeout_ns);
}

onnxd_status *onnxd_ep_fence_query(onnxd_ep *ep, onnxd_fence fence, bool *out_done)
{
    ONNXD_TRY(require_ready(ep));
    if (fence != ONNXD_FENCE_SIGNALLED)
        return ep->api->fence_query(ep, fence, out_done);
    *out_done = true;
    return NULL;
}

onnxd_status *onnxd_ep_stream_wait(onnxd_ep *ep, onnxd_stream stream, onnxd_fence fence)
{
    ONNXD_TRY(require_ready(ep));
    ONNXD_TRY(check_stream(ep, stream));
    if (fence == ONNXD_FENCE_SIGNALLED)
        return NULL;
    return ep->api->stream_wait(ep, stream, fence);
}

onnxd_status *onnxd_ep_fence_record(onnxd_ep *ep, onnxd_stream stream, onnxd_fence *out_fence)
{
    ONNXD_TRY(require_ready(ep));
    ONNXD_TRY(check_stream(ep, stream));
    return ep->api->fence_record(ep, stream, out_fence);
}

onnxd_status *onnxd_ep_fence_release(onnxd_ep *ep, onnxd_fence fence)
{
    ONNXD_TRY(require_ready(ep));
    if (fence == ONNXD_FENCE_SIGNALLED)
        return NULL;
    return ep->api->fence_release(ep, fence);
}

onnxd_status *onnxd_ep_sync(onnxd_ep *ep)
{
    ONNXD_TRY(require_ready(ep));
    return ep->api->sync(ep);
}

/* ---- provided methods ---------------------------------------------------------------------- */

/* Each beginning has its end, whatever becomes of the instance in between. */
void onnxd_ep_begin_issuing(onnxd_ep *ep)
{
    if (ep->api->begin_issuing != NULL)
        ep->api->begin_issuing(ep);
}

void onnxd_ep_end_issuing(onnxd_ep *ep)
{
    if (ep->api->end_issuing != NULL)
        ep->api->end_issuing(ep);
}

const onnxd_ort_plugin *onnxd_ep_as_ort_plugin(const onnxd_ep *ep)
{
    return ep->api->as_ort_plugin != NULL ? ep->api->as_ort_plugin(ep) : NULL;
}

const onnxd_pass *const *onnxd_ep_custom_passes(const onnxd_ep *ep)
{
    static const onnxd_pass *const none[] = {NULL};
    if (state_load(ep) != STATE_READY || ep->api->custom_passes == NULL)
        return none;
    return ep->api->custom_passes(ep);
}

void onnxd_ep_claim_nodes(onnxd_ep *ep, const onnxd_graph *graph, bool *claimed)
{
    if (state_load(ep) == STATE_READY && ep->api->claim_nodes != NULL)
        ep->api->claim_nodes(ep, graph, claimed);
}

const char *const *onnxd_ep_context_source_keys(const onnxd_ep *ep)
{
    static const char *const none[] = {NULL};
    if (state_load(ep) != STATE_READY || ep->api->context_source_keys == NULL)
        return none;
    return ep->api->context_source_keys(ep);
}

onnxd_status *onnxd_ep_save_context(onnxd_ep *ep, onnxd_ep_context *out_context)
{
    ONNXD_TRY(require_ready(ep));
    if (ep->api->save_context == NULL)
        return onnxd_error(ONNXD_UNSUPPORTED_CONTEXT, "%s cannot save compiled contexts",
                           ep->label);
    return ep->api->save_context(ep, out_context);
}

onnxd_status *onnxd_ep_load_context(onnxd_ep *ep, const onnxd_ep_context *context)
{
    ONNXD_TRY(require_ready(ep));
    if (ep->api->load_context == NULL)
        return onnxd_error(ONNXD_UNSUPPORTED_CONTEXT, "%s cannot load compiled contexts",
                           ep->label);
    return ep->api->load_context(ep, context);
}

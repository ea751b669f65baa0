#include "model/request.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "model/internal.h"

/* Requests kept by a model for reuse. */
#define MAX_SPARE_REQUESTS 256
#define STRING_BLOCK_BYTES ((size_t)4 << 10)
#define MAX_MESSAGE_BYTES ((size_t)4 << 10)

typedef struct request_owner {
    onnxd_request request;
    onnxd_arena strings;
} request_owner;

static request_owner *owner_of(onnxd_request *request)
{
    return ONNXD_CONTAINER_OF(request, request_owner, request);
}

/* ---- making and recycling ------------------------------------------------------------------ */

static void request_destroy(onnxd_request *request)
{
    request_owner *owner = owner_of(request);
    onnxd_arena_deinit(&owner->strings);
    onnxd_free(request->inputs);
    onnxd_free(request->input_blocks);
    onnxd_free(owner);
}

void onnxd_model_drop_requests(onnxd_model *model)
{
    onnxd_link *link;
    while ((link = onnxd_fifo_pop(&model->requests)) != NULL)
        request_destroy(ONNXD_CONTAINER_OF(link, onnxd_request, link));
}

static onnxd_status *request_make(const onnxd_model *model, onnxd_request **out_request)
{
    const uint32_t count = model->graph->input_count;
    const uint64_t limit = model->options.max_tensor_bytes;
    request_owner *owner = onnxd_alloc_zero(1, sizeof(*owner));
    if (owner == NULL)
        return onnxd_error_out_of_memory("a request", sizeof(*owner), UINT64_MAX);
    onnxd_arena_init(&owner->strings, STRING_BLOCK_BYTES,
                     limit > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)limit);
    onnxd_request *request = &owner->request;
    request->inputs = onnxd_alloc_zero(count, sizeof(request->inputs[0]));
    request->input_blocks = onnxd_alloc_zero(count, sizeof(request->input_blocks[0]));
    if (request->inputs == NULL || request->input_blocks == NULL) {
        request_destroy(request);
        return onnxd_error_out_of_memory("a request", count * sizeof(request->inputs[0]),
                                         UINT64_MAX);
    }
    *out_request = request;
    return NULL;
}

onnxd_status *onnxd_request_create(onnxd_model *model, onnxd_request **out_request)
{
    onnxd_request *request;
    pthread_mutex_lock(&model->requests_mutex);
    onnxd_link *link = onnxd_fifo_pop(&model->requests);
    pthread_mutex_unlock(&model->requests_mutex);
    if (link != NULL)
        request = ONNXD_CONTAINER_OF(link, onnxd_request, link);
    else
        ONNXD_TRY(request_make(model, &request));
    request->model = onnxd_model_retain(model);
    request->deadline_ns = ONNXD_NO_DEADLINE;
    atomic_store_explicit(&request->cancelled, false, memory_order_relaxed);
    request->done = NULL;
    request->user = NULL;
    request->status = NULL;
    request->outputs = NULL;
    request->submitted_ns = request->started_ns = request->finished_ns = 0;
    request->plan = NULL;
    request->run = NULL;
    request->stage = 0;
    request->fence = ONNXD_FENCE_SIGNALLED;
    request->spaces = 0;
    request->lane_count = 0;
    request->is_running = false;
    *out_request = request;
    return NULL;
}

void onnxd_request_release(onnxd_request *request)
{
    if (request == NULL)
        return;
    onnxd_model *model = request->model;
    bool is_kept = false;
    onnxd_run_release(request->run);
    onnxd_plan_release(request->plan);
    onnxd_status_free(request->status);
    for (uint32_t i = 0; i < model->graph->input_count; i++) {
        if (request->input_blocks[i].data != NULL)
            onnxd_pool_release(model->runtime->host_pool, request->input_blocks[i]);
        request->input_blocks[i] = (onnxd_pool_block){NULL, 0};
        request->inputs[i].dtype = ONNXD_UNDEFINED;
    }
    onnxd_arena_reset(&owner_of(request)->strings);
    pthread_mutex_lock(&model->requests_mutex);
    if (model->requests.count < MAX_SPARE_REQUESTS) {
        onnxd_fifo_push(&model->requests, &request->link);
        is_kept = true;
    }
    pthread_mutex_unlock(&model->requests_mutex);
    if (!is_kept)
        request_destroy(request);
    onnxd_model_release(model);
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* A value that decides shapes is hashed and compared wherever a plan is looked up, on the event
 * loop too, so its size has a limit of its own. */
static onnxd_status *check_shape_input(const onnxd_model *model, const onnxd_model_port *port,
                                       size_t bytes)
{
    if (!port->value_decides_shapes || port->type.dtype == ONNXD_STRING ||
        bytes <= model->options.max_shape_input_bytes)
        return NULL;
    return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                       "input '%s' for model '%s' decides shapes by its value and has %zu bytes, "
                       "beyond the limit of %llu bytes for such an input",
                       port->name, model->name, bytes,
                       (unsigned long long)model->options.max_shape_input_bytes);
}

onnxd_status *onnxd_request_add_input(onnxd_request *request, uint32_t index,
                                      const onnxd_shape *shape, void **out_data, size_t *out_bytes)
{
    onnxd_model *model = request->model;
    const onnxd_model_port *port = &model->inputs[index];
    const uint64_t limit = model->options.max_tensor_bytes;
    size_t count, bytes;
    if (onnxd_tensor_view_is_present(&request->inputs[index]))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "input '%s' for model '%s' is given twice",
                           port->name, model->name);
    ONNXD_TRY(onnxd_model_check_input(model, index, port->type.dtype, shape));
    if (!onnxd_shape_count(shape, &count) || !onnxd_dtype_bytes(port->type.dtype, count, &bytes) ||
        bytes > limit)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "input '%s' for model '%s' is larger than the limit of %llu bytes for a "
                           "tensor",
                           port->name, model->name, (unsigned long long)limit);
    ONNXD_TRY(check_shape_input(model, port, bytes));
    onnxd_pool_block block;
    ONNXD_TRY(onnxd_pool_acquire(model->runtime->host_pool, bytes, &block));
    request->input_blocks[index] = block;
    request->inputs[index] = onnxd_tensor_view_of(block.data, port->type.dtype, shape);
    *out_data = block.data;
    *out_bytes = bytes;
    return NULL;
}

onnxd_status *onnxd_request_string_bytes(onnxd_request *request, size_t bytes, char **out_data)
{
    onnxd_arena *arena = &owner_of(request)->strings;
    char *data = onnxd_arena_alloc(arena, bytes);
    if (data == NULL)
        return onnxd_error_out_of_memory("strings of a request", bytes,
                                         arena->max_bytes - arena->used_bytes);
    *out_data = data;
    return NULL;
}

static void list_inputs(const onnxd_request *request, bool present, onnxd_strbuf *out)
{
    bool is_first = true;
    for (uint32_t i = 0; i < request->model->graph->input_count; i++) {
        if (onnxd_tensor_view_is_present(&request->inputs[i]) != present)
            continue;
        onnxd_strbuf_printf(out, "%s'%s'", is_first ? "" : ",", request->model->inputs[i].name);
        is_first = false;
    }
}

static onnxd_status *missing_inputs(const onnxd_request *request, uint32_t got)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, MAX_MESSAGE_BYTES);
    onnxd_strbuf_printf(&text,
                        "expected %u inputs but got %u inputs for model '%s'. Got input(s) [",
                        request->model->graph->input_count, got, request->model->name);
    list_inputs(request, true, &text);
    onnxd_strbuf_puts(&text, "], but missing required input(s) [");
    list_inputs(request, false, &text);
    onnxd_strbuf_puts(&text, "]. Please provide all required input(s).");
    onnxd_status *status =
        text.failed ? onnxd_error(ONNXD_INVALID_ARGUMENT,
                                  "expected %u inputs but got %u inputs for model '%s'",
                                  request->model->graph->input_count, got, request->model->name)
                    : onnxd_error(ONNXD_INVALID_ARGUMENT, "%s", text.data);
    onnxd_strbuf_deinit(&text);
    return status;
}

onnxd_status *onnxd_request_check(const onnxd_request *request)
{
    const uint32_t count = request->model->graph->input_count;
    uint32_t got = 0;
    for (uint32_t i = 0; i < count; i++)
        got += onnxd_tensor_view_is_present(&request->inputs[i]);
    return got == count ? NULL : missing_inputs(request, got);
}

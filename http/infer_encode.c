/* The response to an inference request. */
#include <inttypes.h>
#include <string.h>

#include "http/infer_codec.h"
#include "http/tensor_binary.h"
#include "http/tensor_json.h"

uint64_t onnxd_http_encode_cost(const onnxd_request *request, const onnxd_http_call *call)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < call->output_count; i++) {
        const onnxd_tensor_view *view = &request->outputs[call->outputs[i].index];
        size_t bytes;
        if (call->outputs[i].is_binary && view->dtype != ONNXD_STRING)
            continue;
        cost += onnxd_http_binary_bytes(view, &bytes) ? bytes : UINT32_MAX;
    }
    return cost;
}

/* -- binary outputs ---------------------------------------------------------------------------- */

/* Sets the output's buffer and says how long it is. */
static onnxd_status *add_part(const onnxd_tensor_view *view, const char *name, uint64_t room_bytes,
                              onnxd_strbuf *blobs, uv_buf_t *out_buffer)
{
    size_t bytes;
    if (!onnxd_http_binary_bytes(view, &bytes))
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "output '%s' is larger than the binary form can carry", name);
    if (bytes > room_bytes)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "output '%s' has %zu bytes, at most %" PRIu64
                           " are left of the limit for a response (http.max_output_bytes)",
                           name, bytes, room_bytes);
    if (view->dtype != ONNXD_STRING) {
        *out_buffer = uv_buf_init(onnxd_tensor_view_data(view), 0);
        out_buffer->len = bytes;
        return NULL;
    }
    /* The buffer may move while it grows: the offset stands in for the address until the end. */
    *out_buffer = uv_buf_init(NULL, 0);
    out_buffer->len = bytes;
    onnxd_http_strings_to_binary(view, blobs);
    if (blobs->failed)
        return onnxd_error_out_of_memory("a BYTES output", bytes, UINT64_MAX);
    return NULL;
}

/* BYTES outputs lie in `blobs` one behind the other. */
static void settle_blobs(const onnxd_request *request, const onnxd_http_call *call,
                         const onnxd_strbuf *blobs, uv_buf_t *parts)
{
    char *at = blobs->data;
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i].is_binary)
            continue;
        if (request->outputs[call->outputs[i].index].dtype == ONNXD_STRING) {
            parts->base = at;
            at = at != NULL ? at + parts->len : NULL;
        }
        parts++;
    }
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void write_start(const onnxd_request *request, const onnxd_http_call *call,
                        onnxd_strbuf *text)
{
    const char *name = onnxd_model_name(request->model);
    onnxd_strbuf_puts(text, "{");
    if (call->id_bytes != 0) {
        onnxd_strbuf_puts(text, "\"id\":");
        onnxd_strbuf_json_string(text, call->id, call->id_bytes);
        onnxd_strbuf_puts(text, ",");
    }
    onnxd_strbuf_puts(text, "\"model_name\":");
    onnxd_strbuf_json_string(text, name, strlen(name));
    onnxd_strbuf_printf(text, ",\"model_version\":\"%" PRId64 "\",\"outputs\":[",
                        onnxd_model_version(request->model));
}

static onnxd_status *write_type(const onnxd_tensor_view *view, const char *name, onnxd_strbuf *text)
{
    const char *datatype = onnxd_dtype_protocol_name(view->dtype);
    if (datatype == NULL)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "output '%s' has type %s, which the protocol cannot carry", name,
                           onnxd_dtype_name(view->dtype));
    if (!onnxd_tensor_view_is_contiguous(view))
        return onnxd_error(ONNXD_INTERNAL, "output '%s' is not contiguous", name);
    onnxd_strbuf_puts(text, "{\"name\":");
    onnxd_strbuf_json_string(text, name, strlen(name));
    onnxd_strbuf_printf(text, ",\"datatype\":\"%s\",\"shape\":[", datatype);
    for (int32_t i = 0; i < view->shape.rank; i++)
        onnxd_strbuf_printf(text, "%s%" PRId64, i == 0 ? "" : ",", view->shape.dims[i]);
    onnxd_strbuf_puts(text, "],");
    return NULL;
}

static onnxd_status *write_output(const onnxd_request *request, const onnxd_http_output *output,
                                  uint64_t room_bytes, onnxd_strbuf *text, onnxd_strbuf *blobs,
                                  uv_buf_t *part)
{
    const onnxd_tensor_view *view = &request->outputs[output->index];
    const char *name = onnxd_model_output(request->model, output->index)->name;
    ONNXD_TRY(write_type(view, name, text));
    if (output->is_binary) {
        ONNXD_TRY(add_part(view, name, room_bytes, blobs, part));
        onnxd_strbuf_printf(text, "\"parameters\":{\"binary_data_size\":%zu}}", part->len);
    } else {
        onnxd_strbuf_puts(text, "\"data\":");
        ONNXD_TRY(onnxd_http_tensor_to_json(view, name, text));
        onnxd_strbuf_puts(text, "}");
    }
    return NULL;
}

onnxd_status *onnxd_http_encode_infer(const onnxd_request *request, const onnxd_http_call *call,
                                      uint64_t max_binary_bytes, onnxd_arena *arena,
                                      onnxd_strbuf *blobs, onnxd_http_response *out_response)
{
    onnxd_http_response *response = out_response;
    onnxd_strbuf *text = &response->text;
    uv_buf_t *buffers =
        onnxd_arena_alloc_zero(arena, (size_t)call->output_count + 2, sizeof(*buffers));
    if (buffers == NULL)
        return onnxd_error_out_of_memory("the response", call->output_count, UINT64_MAX);
    uv_buf_t *part = buffers + 2;
    uint64_t part_bytes = 0;
    write_start(request, call, text);
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (i > 0)
            onnxd_strbuf_puts(text, ",");
        ONNXD_TRY(write_output(request, &call->outputs[i], max_binary_bytes - part_bytes, text,
                               blobs, part));
        if (!call->outputs[i].is_binary)
            continue;
        part_bytes += part->len;
        part++;
    }
    onnxd_strbuf_puts(text, "]}");
    ONNXD_TRY(onnxd_http_json_check(text));
    settle_blobs(request, call, blobs, buffers + 2);
    response->status = 200;
    response->buffers = buffers;
    response->buffer_count = (unsigned)(part - buffers);
    response->part_bytes = part_bytes;
    response->has_json_length = response->buffer_count > 2;
    response->content_type =
        response->has_json_length ? "application/octet-stream" : "application/json";
    return NULL;
}

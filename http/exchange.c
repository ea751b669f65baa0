#include "http/exchange.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http/server_internal.h"

#define ARENA_BLOCK_BYTES 2048
#define ARENA_MAX_BYTES ((size_t)16 << 20)
/* Buffers above this are not kept for the next request. */
#define KEPT_BUFFER_BYTES 65536

static void init_buffers(onnxd_http_exchange *exchange)
{
    const onnxd_http_options *options = &exchange->server->options;
    onnxd_strbuf_init(&exchange->head_text,
                      (size_t)options->max_request_line_bytes + options->max_header_bytes + 16);
    onnxd_strbuf_init(&exchange->body, 0);
    onnxd_strbuf_init(&exchange->response.text, options->max_output_json_bytes);
    onnxd_strbuf_init(&exchange->infer.blobs, SIZE_MAX - 1);
    onnxd_arena_init(&exchange->arena, ARENA_BLOCK_BYTES, ARENA_MAX_BYTES);
}

onnxd_http_exchange *onnxd_http_exchange_create(onnxd_http_server *server, onnxd_http_conn *conn)
{
    onnxd_link *spare = onnxd_fifo_pop(&server->spares);
    onnxd_http_exchange *exchange;
    if (spare != NULL) {
        exchange = ONNXD_CONTAINER_OF(spare, onnxd_http_exchange, link);
    } else {
        exchange = onnxd_alloc_zero(1, sizeof(*exchange));
        if (exchange == NULL)
            return NULL;
        exchange->server = server;
        init_buffers(exchange);
    }
    exchange->conn = conn;
    exchange->references = 1;
    exchange->state = ONNXD_HTTP_RECEIVING;
    server->live_exchange_count++;
    return exchange;
}

void onnxd_http_exchange_retain(onnxd_http_exchange *exchange)
{
    exchange->references++;
}

void onnxd_http_exchange_destroy(onnxd_http_exchange *exchange)
{
    if (exchange == NULL)
        return;
    onnxd_strbuf_deinit(&exchange->head_text);
    onnxd_strbuf_deinit(&exchange->body);
    onnxd_strbuf_deinit(&exchange->response.text);
    onnxd_strbuf_deinit(&exchange->infer.blobs);
    onnxd_arena_deinit(&exchange->arena);
    onnxd_free(exchange);
}

static void reset_buffer(onnxd_strbuf *buffer)
{
    if (buffer->capacity > KEPT_BUFFER_BYTES)
        onnxd_strbuf_deinit(buffer);
    else
        onnxd_strbuf_reset(buffer);
}

/* Back to what exchange_create() expects of a spare one. */
static void recycle(onnxd_http_exchange *exchange)
{
    reset_buffer(&exchange->head_text);
    reset_buffer(&exchange->body);
    reset_buffer(&exchange->response.text);
    reset_buffer(&exchange->infer.blobs);
    onnxd_http_response_reset(&exchange->response);
    onnxd_arena_reset(&exchange->arena);
    exchange->head = (onnxd_http_head){0};
    exchange->match = (onnxd_http_match){0};
    exchange->has_head = exchange->is_received = false;
    exchange->is_discarding = exchange->owes_continue = false;
    exchange->body_limit = exchange->body_bytes = 0;
    exchange->deadline_ms = 0;
}

void onnxd_http_exchange_release(onnxd_http_exchange *exchange)
{
    if (--exchange->references > 0)
        return;
    onnxd_http_server *server = exchange->server;
    onnxd_http_infer_reset(exchange);
    server->inflight_bytes -= exchange->charged_bytes;
    exchange->charged_bytes = 0;
    if (exchange->is_counted)
        server->stats.in_flight--;
    exchange->is_counted = false;
    server->live_exchange_count--;
    recycle(exchange);
    if (server->spares.count < ONNXD_HTTP_SPARE_EXCHANGES && !server->is_closing)
        onnxd_fifo_push(&server->spares, &exchange->link);
    else
        onnxd_http_exchange_destroy(exchange);
    onnxd_http_server_check_ended(server);
}

bool onnxd_http_exchange_charge(onnxd_http_exchange *exchange, uint64_t bytes)
{
    onnxd_http_server *server = exchange->server;
    uint64_t limit = server->options.max_inflight_bytes;
    if (server->inflight_bytes > limit || bytes > limit - server->inflight_bytes)
        return false;
    server->inflight_bytes += bytes;
    exchange->charged_bytes += bytes;
    return true;
}

void onnxd_http_exchange_finish(onnxd_http_exchange *exchange)
{
    if (exchange->state == ONNXD_HTTP_ANSWERED)
        return;
    exchange->state = ONNXD_HTTP_ANSWERED;
    exchange->deadline_ms = 0;
    if (exchange->conn != NULL)
        onnxd_http_conn_answered(exchange->conn);
}

void onnxd_http_exchange_refuse(onnxd_http_exchange *exchange, int http_status, const char *message)
{
    if (exchange->state == ONNXD_HTTP_ANSWERED)
        return;
    onnxd_http_response_set_error(&exchange->response, http_status, message);
    if (http_status == 503)
        exchange->response.retry_after_s = exchange->server->options.retry_after_s;
    onnxd_http_exchange_finish(exchange);
}

void onnxd_http_exchange_fail(onnxd_http_exchange *exchange, onnxd_status *status)
{
    int http_status = onnxd_code_http(onnxd_status_code(status));
    /* Only the server cancels a request whose client still waits: when it stops. */
    if (onnxd_status_code(status) == ONNXD_CANCELLED)
        http_status = 503;
    if (http_status == 500)
        onnxd_log(ONNXD_LOG_ERROR, "http", "request failed: code=%s error=%s",
                  onnxd_code_text(onnxd_status_code(status)), onnxd_status_message(status));
    char message[ONNXD_HTTP_MAX_ERROR_BYTES + 1];
    (void)snprintf(message, sizeof(message), "%s", onnxd_status_message(status));
    onnxd_http_hide_paths(message);
    onnxd_http_exchange_refuse(exchange, http_status, message);
    onnxd_status_free(status);
}

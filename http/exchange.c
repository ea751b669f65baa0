#include "http/exchange.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http/server_internal.h"

#define ARENA_BLOCK_BYTES 2048
#define ARENA_MAX_BYTES ((size_t)16 << 20)
/* Buffers up to this stay with a spare exchange. Larger ones do within a budget, so that requests
 * of an image or so do not allocate while what a burst of large ones needed is given back. */
#define SMALL_BUFFER_BYTES 65536
#define MAX_KEPT_BYTES_PER_EXCHANGE ((size_t)1 << 20)
#define MAX_KEPT_BYTES ((size_t)16 << 20)

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

static void destroy(onnxd_http_exchange *exchange)
{
    onnxd_strbuf_deinit(&exchange->head_text);
    onnxd_strbuf_deinit(&exchange->body);
    onnxd_strbuf_deinit(&exchange->response.text);
    onnxd_strbuf_deinit(&exchange->infer.blobs);
    onnxd_arena_deinit(&exchange->arena);
    onnxd_free(exchange);
}

/* The last one that was used: its buffers are the likeliest to be large enough. */
static onnxd_http_exchange *take_spare(onnxd_http_server *server)
{
    onnxd_link *link = server->spares;
    if (link == NULL)
        return NULL;
    onnxd_http_exchange *exchange = ONNXD_CONTAINER_OF(link, onnxd_http_exchange, link);
    server->spares = link->next;
    server->spare_count--;
    server->kept_bytes -= exchange->kept_bytes;
    exchange->kept_bytes = 0;
    link->next = NULL;
    return exchange;
}

static void put_spare(onnxd_http_exchange *exchange)
{
    onnxd_http_server *server = exchange->server;
    exchange->link.next = server->spares;
    server->spares = &exchange->link;
    server->spare_count++;
    server->kept_bytes += exchange->kept_bytes;
}

void onnxd_http_exchange_destroy_spares(onnxd_http_server *server)
{
    onnxd_http_exchange *exchange;
    while ((exchange = take_spare(server)) != NULL)
        destroy(exchange);
}

onnxd_http_exchange *onnxd_http_exchange_create(onnxd_http_server *server, onnxd_http_conn *conn)
{
    onnxd_http_exchange *exchange = take_spare(server);
    if (exchange == NULL) {
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

/* Empties the buffers and frees those that are beyond the budget. */
static void reset_buffers(onnxd_http_exchange *exchange)
{
    onnxd_strbuf *buffers[] = {&exchange->head_text, &exchange->body, &exchange->response.text,
                               &exchange->infer.blobs};
    size_t room = MAX_KEPT_BYTES - exchange->server->kept_bytes;
    if (room > MAX_KEPT_BYTES_PER_EXCHANGE)
        room = MAX_KEPT_BYTES_PER_EXCHANGE;
    for (size_t i = 0; i < ONNXD_COUNT(buffers); i++) {
        size_t bytes = buffers[i]->capacity > SMALL_BUFFER_BYTES ? buffers[i]->capacity : 0;
        if (bytes > room) {
            onnxd_strbuf_deinit(buffers[i]);
            continue;
        }
        onnxd_strbuf_reset(buffers[i]);
        room -= bytes;
        exchange->kept_bytes += bytes;
    }
}

/* Back to what exchange_create() expects of a spare one. */
static void recycle(onnxd_http_exchange *exchange)
{
    reset_buffers(exchange);
    onnxd_http_response_reset(&exchange->response);
    onnxd_arena_reset(&exchange->arena);
    exchange->head = (onnxd_http_head){0};
    exchange->match = (onnxd_http_match){0};
    exchange->has_head = exchange->is_received = false;
    exchange->is_discarding = exchange->owes_continue = false;
    exchange->body_limit = exchange->body_bytes = 0;
    exchange->over_limit = NULL;
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
    if (server->spare_count < ONNXD_HTTP_SPARE_EXCHANGES && !server->is_closing)
        put_spare(exchange);
    else
        destroy(exchange);
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
    onnxd_http_infer_count(exchange);
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

#include "http/server.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "http/server_internal.h"

/* The timer does not run more often than this. */
#define TICK_MS 10
#define NS_PER_MS 1000000

onnxd_http_options onnxd_http_options_default(void)
{
    return (onnxd_http_options){
        .max_connections = 1024,
        .max_connections_per_ip = 256,
        .accept_backlog = 511,
        .client_header_timeout_ms = 10000,
        .client_body_timeout_ms = 30000,
        .min_body_rate_bytes_per_s = 16384,
        .send_timeout_ms = 30000,
        .keepalive_timeout_ms = 75000,
        .keepalive_requests = 10000,
        .keepalive_max_age_ms = 3600000,
        .max_request_line_bytes = 8192,
        .max_header_bytes = 16384,
        .max_header_field_bytes = 8192,
        .max_header_count = 100,
        .max_body_bytes = 64u << 20,
        .max_json_body_bytes = 16u << 20,
        .max_control_body_bytes = 1u << 20,
        .max_chunks = 65536,
        .max_chunk_overhead_bytes = 256u << 10,
        .max_trailer_bytes = 4096,
        .max_pipelined = 16,
        .lingering_timeout_ms = 1000,
        .lingering_bytes = 256u << 10,
        .max_inflight_bytes = 512u << 20,
        .max_inflight_requests = 1024,
        .inline_codec_bytes = 65536,
        .max_tensor_rank = 8,
        .max_string_bytes = 16u << 20,
        .max_output_bytes = 256u << 20,
        .max_output_json_bytes = 64u << 20,
        .max_id_bytes = 256,
        .max_parameters = 32,
        .default_timeout_us = 30000000,
        .max_timeout_us = 120000000,
        .retry_after_s = 1,
    };
}

/* -- time -------------------------------------------------------------------------------------- */

void onnxd_http_server_tick(onnxd_http_server *server, uint64_t now_ms)
{
    uint64_t next_ms = UINT64_MAX;
    onnxd_http_conn *conn = server->conns;
    server->timer_due_ms = UINT64_MAX;
    while (conn != NULL) {
        onnxd_http_conn *next = onnxd_http_conn_next(conn); /* closing is never immediate */
        uint64_t due_ms = onnxd_http_conn_tick(conn, now_ms);
        next_ms = due_ms < next_ms ? due_ms : next_ms;
        conn = next;
    }
    if (onnxd_http_listeners_retry(server) && now_ms + ONNXD_HTTP_ACCEPT_RETRY_MS < next_ms)
        next_ms = now_ms + ONNXD_HTTP_ACCEPT_RETRY_MS;
    if (next_ms != UINT64_MAX)
        onnxd_http_server_arm(server, next_ms);
}

static void on_timer(uv_timer_t *timer)
{
    onnxd_http_server *server = timer->data;
    onnxd_http_server_tick(server, uv_now(server->loop));
}

void onnxd_http_server_arm(onnxd_http_server *server, uint64_t due_ms)
{
    if (due_ms >= server->timer_due_ms || server->is_closing)
        return;
    uint64_t now_ms = uv_now(server->loop);
    uint64_t delay_ms = due_ms > now_ms + TICK_MS ? due_ms - now_ms : TICK_MS;
    server->timer_due_ms = due_ms;
    (void)uv_timer_start(&server->timer, on_timer, delay_ms, 0); /* fails only while closing */
}

uint64_t onnxd_http_server_loop_ms(const onnxd_http_server *server, int64_t time_ns)
{
    return (uint64_t)(time_ns / NS_PER_MS + 1 + server->clock_offset_ms);
}

const char *onnxd_http_server_date(onnxd_http_server *server)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != server->date_epoch_s) {
        server->date_epoch_s = now.tv_sec;
        onnxd_http_format_date(now.tv_sec, server->date);
    }
    return server->date;
}

/* -- what the scheduler gives back ------------------------------------------------------------- */

static void wake(void *user)
{
    onnxd_http_server *server = user;
    (void)uv_async_send(&server->async); /* fails only while closing, when nothing is in flight */
}

static void on_async(uv_async_t *async)
{
    onnxd_http_server *server = async->data;
    onnxd_link *link = onnxd_mailbox_take(&server->mailbox);
    while (link != NULL) {
        onnxd_link *next = link->next;
        onnxd_http_infer_received(ONNXD_CONTAINER_OF(link, onnxd_request, link));
        link = next;
    }
}

/* -- life -------------------------------------------------------------------------------------- */

onnxd_status *onnxd_http_server_create(uv_loop_t *loop, const onnxd_http_options *options,
                                       const onnxd_http_services *services,
                                       onnxd_http_server **out_server)
{
    onnxd_http_server *server = onnxd_alloc_zero(1, sizeof(*server));
    if (server == NULL)
        return onnxd_error_out_of_memory("the HTTP server", sizeof(*server), UINT64_MAX);
    int result = uv_async_init(loop, &server->async, on_async);
    if (result != 0) {
        onnxd_free(server);
        return onnxd_error(ONNXD_INTERNAL, "cannot make the HTTP server's wake-up: %s",
                           uv_strerror(result));
    }
    (void)uv_timer_init(loop, &server->timer); /* these two cannot fail */
    (void)uv_timer_init(loop, &server->drain_timer);
    server->async.data = server->timer.data = server->drain_timer.data = server;
    server->open_handle_count = 3;
    onnxd_mailbox_init(&server->mailbox, wake, server);
    server->loop = loop;
    server->options = *options;
    server->services = *services;
    server->timer_due_ms = UINT64_MAX;
    server->date_epoch_s = -1;
    uv_update_time(loop);
    server->clock_offset_ms = (int64_t)uv_now(loop) - onnxd_now_ns() / NS_PER_MS;
    *out_server = server;
    return NULL;
}

static void on_handle_closed(uv_handle_t *handle)
{
    onnxd_http_server *server = handle->data;
    server->open_handle_count--;
    onnxd_http_server_check_ended(server);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_handle_closed);
}

void onnxd_http_server_check_ended(onnxd_http_server *server)
{
    if (server->stats.connections > 0)
        return;
    if (server->has_closed_listeners && server->drained != NULL) {
        void (*drained)(void *user) = server->drained;
        server->drained = NULL;
        drained(server->drained_user);
    }
    if (!server->is_closing || server->live_exchange_count > 0)
        return;
    close_handle((uv_handle_t *)&server->async);
    close_handle((uv_handle_t *)&server->timer);
    close_handle((uv_handle_t *)&server->drain_timer);
    if (server->open_handle_count == 0 && server->closed != NULL) {
        void (*closed)(void *user) = server->closed;
        server->closed = NULL;
        closed(server->closed_user);
    }
}

static void end_grace(onnxd_http_server *server)
{
    onnxd_http_listeners_accept_rest(server);
    onnxd_http_listeners_close(server);
    server->has_closed_listeners = true;
    onnxd_http_conn *conn = server->conns;
    while (conn != NULL) {
        onnxd_http_conn *next = onnxd_http_conn_next(conn);
        onnxd_http_conn_drain(conn);
        conn = next;
    }
    onnxd_http_server_check_ended(server);
}

static void on_drain_timer(uv_timer_t *timer)
{
    end_grace(timer->data);
}

void onnxd_http_server_drain(onnxd_http_server *server, uint32_t grace_ms,
                             void (*drained)(void *user), void *user)
{
    if (server->is_draining || server->is_closing)
        return;
    server->is_draining = true;
    server->drained = drained;
    server->drained_user = user;
    /* Also without a grace time: `drained` is never called from within this function. */
    (void)uv_timer_start(&server->drain_timer, on_drain_timer, grace_ms, 0);
}

void onnxd_http_server_close(onnxd_http_server *server, void (*closed)(void *user), void *user)
{
    if (server->is_closing)
        return;
    server->is_closing = server->is_draining = true;
    server->drained = NULL;
    server->closed = closed;
    server->closed_user = user;
    (void)uv_timer_stop(&server->timer);
    (void)uv_timer_stop(&server->drain_timer);
    onnxd_http_listeners_close(server);
    onnxd_http_conn *conn = server->conns;
    while (conn != NULL) {
        onnxd_http_conn *next = onnxd_http_conn_next(conn);
        onnxd_http_conn_abort(conn);
        conn = next;
    }
    onnxd_http_server_check_ended(server);
}

void onnxd_http_server_destroy(onnxd_http_server *server)
{
    if (server == NULL)
        return;
    onnxd_http_exchange_destroy_spares(server);
    onnxd_http_listeners_free(server);
    onnxd_mailbox_deinit(&server->mailbox);
    onnxd_free(server);
}

onnxd_http_stats onnxd_http_server_query(const onnxd_http_server *server)
{
    return server->stats;
}

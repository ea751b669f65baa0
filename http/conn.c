#include "http/conn.h"

#include <string.h>

#include "base/alloc.h"
#include "http/conn_internal.h"
#include "http/server_internal.h"

/* How often the rate of a body is looked at. */
#define RATE_CHECK_MS 1000
/* How long a drain waits for the first byte of a connection. */
#define DRAIN_FIRST_MS 1000

uint64_t onnxd_http_conn_now(const onnxd_http_conn *conn)
{
    return uv_now(conn->server->loop);
}

void onnxd_http_conn_enter(onnxd_http_conn *conn, onnxd_http_input_phase phase, uint32_t timeout_ms)
{
    uint64_t now_ms = onnxd_http_conn_now(conn);
    conn->phase = phase;
    conn->input_due_ms = timeout_ms != 0 ? now_ms + timeout_ms : 0;
    if (timeout_ms != 0)
        onnxd_http_server_arm(conn->server, conn->input_due_ms);
}

/* -- the server's lists ------------------------------------------------------------------------ */

static uint32_t peer_bucket(const unsigned char peer[ONNXD_HTTP_PEER_BYTES])
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < ONNXD_HTTP_PEER_BYTES; i++)
        hash = (hash ^ peer[i]) * 16777619u;
    return hash % ONNXD_HTTP_PEER_BUCKETS;
}

static void copy_peer(unsigned char peer[ONNXD_HTTP_PEER_BYTES], onnxd_http_span address)
{
    memset(peer, 0, ONNXD_HTTP_PEER_BYTES);
    memcpy(peer, address.data,
           address.size < ONNXD_HTTP_PEER_BYTES ? address.size : ONNXD_HTTP_PEER_BYTES);
}

uint32_t onnxd_http_conn_count_peer(const onnxd_http_server *server, onnxd_http_span peer,
                                    uint32_t limit)
{
    unsigned char wanted[ONNXD_HTTP_PEER_BYTES];
    copy_peer(wanted, peer);
    uint32_t count = 0;
    const onnxd_http_conn *conn = server->peers[peer_bucket(wanted)];
    for (; conn != NULL && count < limit; conn = conn->peer_next)
        count += memcmp(conn->peer, wanted, sizeof(wanted)) == 0;
    return count;
}

onnxd_http_conn *onnxd_http_conn_next(const onnxd_http_conn *conn)
{
    return conn->next;
}

static void link_conn(onnxd_http_conn *conn)
{
    onnxd_http_server *server = conn->server;
    conn->next = server->conns;
    if (conn->next != NULL)
        conn->next->previous = conn;
    server->conns = conn;
    server->stats.connections++;
    if (!conn->has_peer)
        return;
    onnxd_http_conn **bucket = &server->peers[peer_bucket(conn->peer)];
    conn->peer_next = *bucket;
    if (conn->peer_next != NULL)
        conn->peer_next->peer_previous = conn;
    *bucket = conn;
}

static void unlink_conn(onnxd_http_conn *conn)
{
    onnxd_http_server *server = conn->server;
    if (conn->next != NULL)
        conn->next->previous = conn->previous;
    if (conn->previous != NULL)
        conn->previous->next = conn->next;
    else
        server->conns = conn->next;
    server->stats.connections--;
    server->turned_away_count -= conn->is_turned_away;
    if (!conn->has_peer)
        return;
    if (conn->peer_next != NULL)
        conn->peer_next->peer_previous = conn->peer_previous;
    if (conn->peer_previous != NULL)
        conn->peer_previous->peer_next = conn->peer_next;
    else
        server->peers[peer_bucket(conn->peer)] = conn->peer_next;
}

/* -- life -------------------------------------------------------------------------------------- */

onnxd_status *onnxd_http_conn_open(onnxd_http_server *server, onnxd_http_transport *transport,
                                   const onnxd_http_span *peer, onnxd_http_conn **out_conn)
{
    onnxd_status *status = NULL;
    onnxd_http_conn *conn = onnxd_alloc_zero(1, sizeof(*conn));
    if (conn == NULL) {
        status = onnxd_error_out_of_memory("a connection", sizeof(*conn), UINT64_MAX);
        goto fail;
    }
    status = onnxd_http_parser_create(&server->options, &conn->parser);
    if (status != NULL)
        goto fail;
    conn->server = server;
    conn->transport = transport;
    onnxd_strbuf_init(&conn->held, SIZE_MAX - 1);
    if (peer != NULL) {
        conn->has_peer = true;
        copy_peer(conn->peer, *peer);
    }
    conn->opened_ms = onnxd_http_conn_now(conn);
    link_conn(conn);
    transport->conn = conn;
    onnxd_http_conn_enter(conn, ONNXD_HTTP_INPUT_FIRST, server->options.client_header_timeout_ms);
    onnxd_http_conn_resume_input(conn);
    *out_conn = conn;
    return NULL;

fail:
    onnxd_free(conn);
    return status;
}

/* Ends every exchange: whoever works for one gives its result to nobody. */
static void drop_exchanges(onnxd_http_conn *conn)
{
    conn->receiving = NULL;
    onnxd_link *link;
    while ((link = onnxd_fifo_pop(&conn->queue)) != NULL) {
        onnxd_http_exchange *exchange = ONNXD_CONTAINER_OF(link, onnxd_http_exchange, link);
        exchange->conn = NULL;
        if (exchange->state == ONNXD_HTTP_HANDLING)
            onnxd_http_infer_cancel(exchange);
        onnxd_http_exchange_release(exchange);
    }
}

void onnxd_http_conn_close(onnxd_http_conn *conn, bool resets)
{
    if (conn->is_closing)
        return;
    conn->is_closing = true;
    conn->is_deaf = true;
    conn->input_due_ms = conn->write_due_ms = 0;
    /* A write that is pending still reads the head exchange's buffers: it goes with the transport.
     */
    if (!conn->is_writing)
        drop_exchanges(conn);
    conn->transport->ops->close(conn->transport, resets);
}

void onnxd_http_conn_closed(onnxd_http_conn *conn)
{
    onnxd_http_server *server = conn->server;
    drop_exchanges(conn);
    unlink_conn(conn);
    onnxd_http_parser_destroy(conn->parser);
    onnxd_strbuf_deinit(&conn->held);
    onnxd_free(conn);
    onnxd_http_server_check_ended(server);
}

void onnxd_http_conn_failed(onnxd_http_conn *conn)
{
    onnxd_http_conn_close(conn, true);
}

void onnxd_http_conn_abort(onnxd_http_conn *conn)
{
    onnxd_http_conn_close(conn, true);
}

bool onnxd_http_conn_is_idle(const onnxd_http_conn *conn)
{
    return conn->queue.count == 0 && conn->held.length == 0;
}

void onnxd_http_conn_drain(onnxd_http_conn *conn)
{
    if (conn->is_closing)
        return;
    if (conn->phase == ONNXD_HTTP_INPUT_FIRST) {
        uint64_t due_ms = onnxd_http_conn_now(conn) + DRAIN_FIRST_MS;
        if (due_ms < conn->input_due_ms)
            onnxd_http_conn_enter(conn, ONNXD_HTTP_INPUT_FIRST, DRAIN_FIRST_MS);
    } else if (onnxd_http_conn_is_idle(conn) && conn->phase != ONNXD_HTTP_INPUT_LINGER) {
        onnxd_http_conn_close(conn, false);
    }
}

/* -- time -------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void tick_write(onnxd_http_conn *conn, uint64_t now_ms)
{
    size_t pending = conn->transport->ops->pending_bytes(conn->transport);
    if (pending < conn->write_pending_bytes) {
        conn->write_pending_bytes = pending;
        conn->write_due_ms = now_ms + conn->server->options.send_timeout_ms;
    } else if (now_ms >= conn->write_due_ms) {
        onnxd_http_conn_close(conn, true);
    }
}

static void tick_input(onnxd_http_conn *conn)
{
    switch (conn->phase) {
    case ONNXD_HTTP_INPUT_HEAD:
        onnxd_http_conn_refuse(conn, 408, "the request head did not arrive in time");
        break;
    case ONNXD_HTTP_INPUT_BODY:
        onnxd_http_conn_refuse(conn, 408, "the request body did not arrive in time");
        break;
    default:
        onnxd_http_conn_close(conn, false);
        break;
    }
}

/* Returns when to look again. */
static uint64_t tick_rate(onnxd_http_conn *conn, uint64_t now_ms)
{
    uint64_t elapsed_ms = now_ms - conn->rate_started_ms;
    if (elapsed_ms < ONNXD_HTTP_RATE_GRACE_MS)
        return conn->rate_started_ms + ONNXD_HTTP_RATE_GRACE_MS;
    uint64_t rate = conn->server->options.min_body_rate_bytes_per_s;
    uint64_t received_bytes = conn->receiving->body_bytes - conn->rate_base_bytes;
    if (received_bytes / rate < elapsed_ms / 1000) {
        onnxd_http_conn_refuse(conn, 408, "the request body arrives too slowly");
        return UINT64_MAX;
    }
    return now_ms + RATE_CHECK_MS;
}

static uint64_t tick_deadlines(onnxd_http_conn *conn, uint64_t now_ms)
{
    uint64_t next_ms = UINT64_MAX;
    onnxd_link *link = conn->queue.head;
    while (link != NULL && !conn->is_closing) {
        onnxd_http_exchange *exchange = ONNXD_CONTAINER_OF(link, onnxd_http_exchange, link);
        if (exchange->deadline_ms == 0) {
            link = link->next;
        } else if (exchange->deadline_ms > now_ms) {
            next_ms = earlier(next_ms, exchange->deadline_ms);
            link = link->next;
        } else {
            onnxd_http_infer_cancel(exchange);
            onnxd_http_exchange_refuse(exchange, 504, "the request's deadline has passed");
            link = conn->queue.head; /* the queue has changed */
        }
    }
    return next_ms;
}

uint64_t onnxd_http_conn_tick(onnxd_http_conn *conn, uint64_t now_ms)
{
    uint64_t next_ms = UINT64_MAX;
    if (!conn->is_closing && conn->is_writing)
        tick_write(conn, now_ms);
    if (!conn->is_closing && conn->input_due_ms != 0 && now_ms >= conn->input_due_ms)
        tick_input(conn);
    if (!conn->is_closing && conn->phase == ONNXD_HTTP_INPUT_BODY && !conn->is_deaf &&
        conn->server->options.min_body_rate_bytes_per_s != 0)
        next_ms = tick_rate(conn, now_ms);
    if (!conn->is_closing)
        next_ms = earlier(next_ms, tick_deadlines(conn, now_ms));
    if (conn->is_closing)
        return UINT64_MAX;
    if (conn->is_writing)
        next_ms = earlier(next_ms, conn->write_due_ms);
    if (conn->input_due_ms != 0)
        next_ms = earlier(next_ms, conn->input_due_ms);
    return next_ms;
}

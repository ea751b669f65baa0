/* The output side of a connection: answered exchanges to bytes, in order. */
#include "http/conn_internal.h"
#include "http/server_internal.h"

static char continue_text[] = "HTTP/1.1 100 Continue\r\n\r\n";

static onnxd_http_exchange *first_exchange(const onnxd_http_conn *conn)
{
    onnxd_link *link = conn->queue.head;
    return link != NULL ? ONNXD_CONTAINER_OF(link, onnxd_http_exchange, link) : NULL;
}

/* False when nothing can follow at once. */
static bool write_buffers(onnxd_http_conn *conn, uv_buf_t *buffers, unsigned count)
{
    uint32_t timeout_ms = conn->server->options.send_timeout_ms;
    for (unsigned i = 0; i < count; i++)
        conn->server->stats.sent_bytes += buffers[i].len;
    switch (conn->transport->ops->write(conn->transport, buffers, count)) {
    case ONNXD_HTTP_WRITE_DONE:
        return true;
    case ONNXD_HTTP_WRITE_PENDING:
        conn->is_writing = true;
        conn->write_pending_bytes = conn->transport->ops->pending_bytes(conn->transport);
        conn->write_due_ms = onnxd_http_conn_now(conn) + timeout_ms;
        onnxd_http_server_arm(conn->server, conn->write_due_ms);
        return false;
    case ONNXD_HTTP_WRITE_FAILED:
        onnxd_http_conn_close(conn, true);
        return false;
    }
    return false;
}

static void count_response(onnxd_http_server *server, int status)
{
    if (status < 300)
        server->stats.responses_2xx++;
    else if (status < 500)
        server->stats.responses_4xx++;
    else
        server->stats.responses_5xx++;
}

void onnxd_http_conn_linger(onnxd_http_conn *conn)
{
    conn->is_deaf = true;
    if (conn->has_ended) {
        onnxd_http_conn_close(conn, false);
        return;
    }
    conn->transport->ops->shutdown(conn->transport);
    onnxd_http_conn_enter(conn, ONNXD_HTTP_INPUT_LINGER,
                          conn->server->options.lingering_timeout_ms);
}

/* The first exchange's response has been handed over. */
static void end_first_exchange(onnxd_http_conn *conn)
{
    onnxd_http_exchange *exchange = first_exchange(conn);
    bool closes = exchange->response.closes;
    (void)onnxd_fifo_pop(&conn->queue);
    exchange->conn = NULL;
    onnxd_http_exchange_release(exchange);
    if (closes)
        onnxd_http_conn_linger(conn);
}

static void send_first_exchange(onnxd_http_conn *conn, onnxd_http_exchange *exchange)
{
    onnxd_http_server *server = conn->server;
    onnxd_http_response *response = &exchange->response;
    bool is_drained = server->is_draining && conn->held.length == 0;
    if (conn->queue.count == 1 && (conn->is_deaf || is_drained))
        response->closes = true;
    if (response->closes)
        conn->is_deaf = true;
    onnxd_http_response_context context = {
        .date = onnxd_http_server_date(server),
        .is_head_request = exchange->has_head && exchange->head.method == ONNXD_HTTP_HEAD,
        .asked_http_1_0 = exchange->has_head && exchange->head.minor_version == 0,
    };
    unsigned count;
    uv_buf_t *buffers = onnxd_http_response_seal(response, &context, &count);
    count_response(server, response->status);
    if (write_buffers(conn, buffers, count))
        end_first_exchange(conn);
}

static void send_continue(onnxd_http_conn *conn, onnxd_http_exchange *exchange)
{
    exchange->owes_continue = false;
    conn->continue_buffer = uv_buf_init(continue_text, sizeof(continue_text) - 1);
    conn->is_sending_continue = !write_buffers(conn, &conn->continue_buffer, 1);
}

void onnxd_http_conn_flush(onnxd_http_conn *conn)
{
    while (!conn->is_closing && !conn->is_writing) {
        onnxd_http_exchange *exchange = first_exchange(conn);
        if (exchange == NULL)
            break;
        if (exchange->state == ONNXD_HTTP_ANSWERED &&
            (exchange->is_received || exchange->response.closes))
            send_first_exchange(conn, exchange);
        else if (exchange->owes_continue)
            send_continue(conn, exchange);
        else
            break;
    }
    if (conn->has_ended && !conn->is_writing && !conn->is_parsing && conn->held.length == 0)
        onnxd_http_conn_close(conn, false);
}

void onnxd_http_conn_written(onnxd_http_conn *conn, bool is_ok)
{
    conn->is_writing = false;
    conn->write_due_ms = 0;
    if (conn->is_closing)
        return;
    if (!is_ok) {
        onnxd_http_conn_close(conn, true);
        return;
    }
    if (conn->is_sending_continue)
        conn->is_sending_continue = false;
    else
        end_first_exchange(conn);
    onnxd_http_conn_flush(conn);
    onnxd_http_conn_resume_input(conn);
}

void onnxd_http_conn_answered(onnxd_http_conn *conn)
{
    onnxd_http_conn_flush(conn);
    onnxd_http_conn_resume_input(conn);
}

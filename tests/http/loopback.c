#include "loopback.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "fake_backend.h"
#include "http/conn_internal.h"

#define MAX_RECEIVED ((size_t)256 << 20)

/* -- transport --------------------------------------------------------------------------------- */

static test_client *self(onnxd_http_transport *transport)
{
    return ONNXD_CONTAINER_OF(transport, test_client, transport);
}

static void read_start(onnxd_http_transport *transport)
{
    cr_assert(!self(transport)->is_reading, "read_start while reading");
    self(transport)->is_reading = true;
}

static void read_stop(onnxd_http_transport *transport)
{
    self(transport)->is_reading = false;
}

static void take(test_client *client, const uv_buf_t *buffers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        onnxd_strbuf_append(&client->received, buffers[i].base, buffers[i].len);
}

static onnxd_http_write_result write_all(onnxd_http_transport *transport, uv_buf_t *buffers,
                                         unsigned count)
{
    test_client *client = self(transport);
    cr_assert(client->pending == NULL, "a write while one is pending");
    cr_assert(!client->saw_end, "a write after the end");
    if (client->refuses_writes)
        return ONNXD_HTTP_WRITE_FAILED;
    if (!client->blocks_writes) {
        take(client, buffers, count);
        return ONNXD_HTTP_WRITE_DONE;
    }
    client->pending = buffers;
    client->pending_count = count;
    client->pending_bytes = 0;
    for (unsigned i = 0; i < count; i++)
        client->pending_bytes += buffers[i].len;
    return ONNXD_HTTP_WRITE_PENDING;
}

static size_t pending_bytes(const onnxd_http_transport *transport)
{
    return ONNXD_CONTAINER_OF(transport, test_client, transport)->pending_bytes;
}

static void shutdown_writes(onnxd_http_transport *transport)
{
    cr_assert(!self(transport)->saw_end, "two shutdowns");
    self(transport)->saw_end = true;
}

static void close_transport(onnxd_http_transport *transport, bool resets)
{
    test_client *client = self(transport);
    cr_assert(!client->closes, "two closes");
    client->closes = client->saw_end = true;
    client->was_reset = resets;
    client->is_reading = false;
}

static const onnxd_http_transport_ops loopback_ops = {
    .read_start = read_start,
    .read_stop = read_stop,
    .write = write_all,
    .pending_bytes = pending_bytes,
    .shutdown = shutdown_writes,
    .close = close_transport,
};

/* -- server ------------------------------------------------------------------------------------ */

onnxd_http_server *test_server_start(const onnxd_http_options *options)
{
    fake_reset();
    uv_loop_t *loop = onnxd_alloc(sizeof(*loop));
    cr_assert(loop != NULL && uv_loop_init(loop) == 0);
    onnxd_http_services services = {.server_name = "onnxd", .server_version = "1.2.3"};
    onnxd_http_server *server = NULL;
    onnxd_status *status = onnxd_http_server_create(loop, options, &services, &server);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    return server;
}

static void on_closed(void *user)
{
    *(bool *)user = true;
}

void test_server_stop(onnxd_http_server *server)
{
    bool is_closed = false;
    uv_loop_t *loop = server->loop;
    onnxd_http_server_close(server, on_closed, &is_closed);
    fake_release_held();
    uv_run(loop, UV_RUN_DEFAULT);
    cr_assert(is_closed, "the server did not close");
    cr_assert_eq(server->live_exchange_count, 0u);
    cr_assert_eq(server->inflight_bytes, 0u);
    cr_assert_eq(server->stats.in_flight, 0u);
    cr_assert_eq(fake.live_requests, 0u);
    cr_assert_eq(fake.live_models, 0u);
    onnxd_http_server_destroy(server);
    cr_assert_eq(uv_loop_close(loop), 0, "handles are left");
    onnxd_free(loop);
}

static bool is_busy(const onnxd_http_server *server)
{
    for (const onnxd_http_conn *conn = server->conns; conn != NULL; conn = conn->next) {
        for (onnxd_link *link = conn->queue.head; link != NULL; link = link->next) {
            const onnxd_http_exchange *exchange =
                ONNXD_CONTAINER_OF(link, onnxd_http_exchange, link);
            bool is_submitted = exchange->infer.is_submitted;
            /* One reference is the connection's, one the scheduler's, any further a codec job's. */
            if (exchange->references > 1u + is_submitted || (is_submitted && !fake.holds))
                return true;
        }
    }
    return false;
}

void test_server_settle(onnxd_http_server *server)
{
    do
        uv_run(server->loop, UV_RUN_NOWAIT);
    while (is_busy(server));
}

/* -- client ------------------------------------------------------------------------------------ */

void client_open(test_client *client, onnxd_http_server *server)
{
    *client = (test_client){.server = server, .transport.ops = &loopback_ops};
    onnxd_strbuf_init(&client->unsent, MAX_RECEIVED);
    onnxd_strbuf_init(&client->received, MAX_RECEIVED);
    onnxd_http_span peer = {"\x7f\x00\x00\x01", 4};
    onnxd_status *status = onnxd_http_conn_open(server, &client->transport, &peer, &client->conn);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
}

/* One delivery is at most one read's worth and is copied, so that a sanitizer sees what is kept. */
static void deliver(test_client *client)
{
    while (client->is_reading && client->unsent.length > 0) {
        size_t length = client->unsent.length;
        char *copy = onnxd_alloc(length);
        cr_assert(copy != NULL);
        memcpy(copy, client->unsent.data, length);
        onnxd_strbuf_reset(&client->unsent);
        for (size_t at = 0; at < length;) {
            size_t step = length - at < ONNXD_HTTP_READ_BYTES ? length - at : ONNXD_HTTP_READ_BYTES;
            if (!client->is_reading) {
                onnxd_strbuf_append(&client->unsent, copy + at, length - at);
                break;
            }
            onnxd_http_conn_received(client->conn, copy + at, step);
            at += step;
        }
        onnxd_free(copy);
        test_server_settle(client->server);
    }
    if (client->is_reading && client->sends_end && !client->has_sent_end &&
        client->unsent.length == 0) {
        client->has_sent_end = true;
        client->is_reading = false;
        onnxd_http_conn_ended(client->conn);
    }
}

void client_pump(test_client *client)
{
    if (client->conn == NULL)
        return;
    test_server_settle(client->server);
    deliver(client);
    test_server_settle(client->server);
    if (!client->closes)
        return;
    if (client->pending != NULL) {
        client->pending = NULL;
        onnxd_http_conn_written(client->conn, false);
    }
    onnxd_http_conn_closed(client->conn);
    client->conn = NULL;
    uv_run(client->server->loop, UV_RUN_NOWAIT);
}

void client_send(test_client *client, const void *data, size_t length)
{
    if (client->conn == NULL)
        return;
    onnxd_strbuf_append(&client->unsent, data, length);
    client_pump(client);
}

void client_send_text(test_client *client, const char *text)
{
    client_send(client, text, strlen(text));
}

void client_end(test_client *client)
{
    client->sends_end = true;
    client_pump(client);
}

void client_reset(test_client *client)
{
    if (client->conn != NULL)
        onnxd_http_conn_failed(client->conn);
    client_pump(client);
}

void client_unblock(test_client *client, size_t bytes)
{
    while (client->pending_count > 0 && bytes > 0) {
        uv_buf_t *first = client->pending;
        size_t step = first->len < bytes ? first->len : bytes;
        onnxd_strbuf_append(&client->received, first->base, step);
        first->base += step;
        first->len -= step;
        bytes -= step;
        client->pending_bytes -= step;
        if (first->len == 0) {
            client->pending++;
            client->pending_count--;
        }
    }
    if (client->pending != NULL && client->pending_bytes == 0) {
        client->pending = NULL;
        client->pending_count = 0;
        onnxd_http_conn_written(client->conn, true);
        client_pump(client);
    }
}

void client_finish(test_client *client)
{
    if (client->conn != NULL && !client->closes)
        onnxd_http_conn_abort(client->conn);
    client_pump(client);
    cr_assert(client->conn == NULL);
    onnxd_strbuf_deinit(&client->unsent);
    onnxd_strbuf_deinit(&client->received);
}

/* -- responses --------------------------------------------------------------------------------- */

const char *response_field(const test_response *response, const char *name)
{
    static char value[256];
    const char *line = response->head;
    const char *end = response->head + response->head_bytes;
    value[0] = '\0';
    while (line < end) {
        const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
        size_t length = strlen(name);
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            size_t bytes = (size_t)(stop - line) - length - 2;
            cr_assert(bytes < sizeof(value));
            memcpy(value, line + length + 2, bytes);
            value[bytes] = '\0';
            break;
        }
        line = stop + 2;
    }
    return value;
}

bool next_response(const onnxd_strbuf *text, size_t *position, bool is_head, test_response *out)
{
    if (text->data == NULL)
        return false;
    const char *start = text->data + *position;
    size_t left = text->length - *position;
    const char *end = memmem(start, left, "\r\n\r\n", 4);
    if (end == NULL || strncmp(start, "HTTP/1.1 ", 9) != 0)
        return false;
    const char *line_end = memmem(start, left, "\r\n", 2);
    out->status = (int)strtol(start + 9, NULL, 10);
    out->head = line_end + 2;
    out->head_bytes = end + 2 > out->head ? (size_t)(end + 2 - out->head) : 0;
    out->body = end + 4;
    out->body_bytes = 0;
    if (out->status >= 200 && !is_head)
        out->body_bytes = (size_t)strtoull(response_field(out, "Content-Length"), NULL, 10);
    size_t used = (size_t)(out->body - start) + out->body_bytes;
    if (used > left)
        return false;
    *position += used;
    return true;
}

/* The transport over a libuv stream, and what happens to a connection before it has one. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http/server_internal.h"

typedef struct socket_transport {
    onnxd_http_transport transport;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    onnxd_http_server *server;
    uv_write_t write;
    uv_shutdown_t shutdown;
    bool is_tcp;
} socket_transport;

/* Connections beyond the limit that are answered before they go; further ones are closed at once.
 */
#define MAX_TURNED_AWAY 64

static socket_transport *self(onnxd_http_transport *transport)
{
    return ONNXD_CONTAINER_OF(transport, socket_transport, transport);
}

static void on_allocate(uv_handle_t *handle, size_t suggested_bytes, uv_buf_t *out_buffer)
{
    (void)suggested_bytes;
    socket_transport *socket = handle->data;
    *out_buffer = uv_buf_init(socket->server->read_buffer, ONNXD_HTTP_READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t result, const uv_buf_t *buffer)
{
    socket_transport *socket = stream->data;
    onnxd_http_conn *conn = socket->transport.conn;
    if (result > 0) {
        onnxd_http_conn_received(conn, buffer->base, (size_t)result);
    } else if (result == UV_EOF) {
        (void)uv_read_stop(stream);
        onnxd_http_conn_ended(conn);
    } else if (result < 0) {
        onnxd_http_conn_failed(conn);
    }
}

static void read_start(onnxd_http_transport *transport)
{
    /* Fails only on a stream that is closing or not connected. */
    (void)uv_read_start(&self(transport)->socket.stream, on_allocate, on_read);
}

static void read_stop(onnxd_http_transport *transport)
{
    (void)uv_read_stop(&self(transport)->socket.stream);
}

static void on_written(uv_write_t *request, int result)
{
    socket_transport *socket = request->data;
    onnxd_http_conn_written(socket->transport.conn, result == 0);
}

/* Takes `bytes` off the front; returns how many buffers are used up. */
static unsigned advance(uv_buf_t *buffers, unsigned count, size_t bytes)
{
    unsigned done = 0;
    while (done < count && bytes >= buffers[done].len) {
        bytes -= buffers[done].len;
        done++;
    }
    if (done < count) {
        buffers[done].base += bytes;
        buffers[done].len -= bytes;
    }
    return done;
}

static onnxd_http_write_result write_all(onnxd_http_transport *transport, uv_buf_t *buffers,
                                         unsigned count)
{
    socket_transport *socket = self(transport);
    int result = uv_try_write(&socket->socket.stream, buffers, count);
    if (result < 0 && result != UV_EAGAIN)
        return ONNXD_HTTP_WRITE_FAILED;
    unsigned done = advance(buffers, count, result > 0 ? (size_t)result : 0);
    if (done == count)
        return ONNXD_HTTP_WRITE_DONE;
    socket->write.data = socket;
    result =
        uv_write(&socket->write, &socket->socket.stream, buffers + done, count - done, on_written);
    return result == 0 ? ONNXD_HTTP_WRITE_PENDING : ONNXD_HTTP_WRITE_FAILED;
}

static size_t pending_bytes(const onnxd_http_transport *transport)
{
    const socket_transport *socket = ONNXD_CONTAINER_OF(transport, socket_transport, transport);
    return uv_stream_get_write_queue_size(&socket->socket.stream);
}

static void on_shutdown(uv_shutdown_t *request, int result)
{
    (void)request;
    (void)result; /* the peer is gone: reading will tell */
}

static void shutdown_writes(onnxd_http_transport *transport)
{
    socket_transport *socket = self(transport);
    (void)uv_shutdown(&socket->shutdown, &socket->socket.stream, on_shutdown);
}

static void on_closed(uv_handle_t *handle)
{
    socket_transport *socket = handle->data;
    if (socket->transport.conn != NULL)
        onnxd_http_conn_closed(socket->transport.conn);
    onnxd_free(socket);
}

static void close_socket(onnxd_http_transport *transport, bool resets)
{
    socket_transport *socket = self(transport);
    if (uv_is_closing(&socket->socket.handle))
        return;
    if (resets && socket->is_tcp && uv_tcp_close_reset(&socket->socket.tcp, on_closed) == 0)
        return; /* a reset is refused after a shutdown; then a plain close follows */
    uv_close(&socket->socket.handle, on_closed);
}

static const onnxd_http_transport_ops socket_ops = {
    .read_start = read_start,
    .read_stop = read_stop,
    .write = write_all,
    .pending_bytes = pending_bytes,
    .shutdown = shutdown_writes,
    .close = close_socket,
};

/* -- accepting --------------------------------------------------------------------------------- */

static socket_transport *make_socket(onnxd_http_server *server, bool is_unix)
{
    socket_transport *socket = onnxd_alloc_zero(1, sizeof(*socket));
    if (socket == NULL)
        return NULL;
    int result = is_unix ? uv_pipe_init(server->loop, &socket->socket.pipe, 0)
                         : uv_tcp_init(server->loop, &socket->socket.tcp);
    if (result != 0) {
        onnxd_free(socket);
        return NULL;
    }
    socket->transport.ops = &socket_ops;
    socket->server = server;
    socket->is_tcp = !is_unix;
    socket->socket.handle.data = socket;
    return socket;
}

/* The address as bytes; size 0 for a UNIX socket. */
static onnxd_http_span peer_of(const socket_transport *socket, struct sockaddr_storage *name)
{
    int length = sizeof(*name);
    if (!socket->is_tcp ||
        uv_tcp_getpeername(&socket->socket.tcp, (struct sockaddr *)name, &length) != 0)
        return (onnxd_http_span){0};
    if (name->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)name;
        return (onnxd_http_span){(const char *)&v6->sin6_addr, sizeof(v6->sin6_addr)};
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;
    return (onnxd_http_span){(const char *)&v4->sin_addr, sizeof(v4->sin_addr)};
}

static bool is_over_limit(const onnxd_http_server *server, onnxd_http_span peer)
{
    const onnxd_http_options *options = &server->options;
    if (server->stats.connections - server->turned_away_count >= options->max_connections)
        return true;
    return peer.size != 0 &&
           onnxd_http_conn_count_peer(server, peer, options->max_connections_per_ip) >=
               options->max_connections_per_ip;
}

/* Makes a connection of a socket, which has one if `result` is 0. */
static void take_socket(onnxd_http_server *server, socket_transport *socket, int result)
{
    onnxd_http_conn *conn;
    struct sockaddr_storage name;
    if (result != 0 || server->is_closing)
        goto refuse;
    onnxd_http_span peer = peer_of(socket, &name);
    bool is_too_many = is_over_limit(server, peer);
    if (is_too_many && server->turned_away_count >= MAX_TURNED_AWAY)
        goto refuse;
    if (socket->is_tcp)
        (void)uv_tcp_nodelay(&socket->socket.tcp, 1); /* an optimisation only */
    const onnxd_http_span *counted = peer.size != 0 && !is_too_many ? &peer : NULL;
    onnxd_status *status = onnxd_http_conn_open(server, &socket->transport, counted, &conn);
    if (status != NULL) {
        onnxd_log(ONNXD_LOG_WARN, "http", "connection refused: %s", onnxd_status_message(status));
        onnxd_status_free(status);
        goto refuse;
    }
    if (is_too_many) {
        server->stats.refused++;
        onnxd_http_conn_turn_away(conn);
        return;
    }
    server->stats.accepted++;
    return;

refuse:
    server->stats.refused++;
    uv_close(&socket->socket.handle, on_closed);
}

bool onnxd_http_accept(onnxd_http_server *server, uv_stream_t *listener, bool is_unix)
{
    socket_transport *socket = make_socket(server, is_unix);
    if (socket == NULL)
        return false;
    take_socket(server, socket, uv_accept(listener, &socket->socket.stream));
    return true;
}

void onnxd_http_accept_rest(onnxd_http_server *server, const uv_stream_t *listener, bool is_unix)
{
    uv_os_fd_t waiting;
    if (uv_fileno((const uv_handle_t *)listener, &waiting) != 0)
        return;
    for (int i = 0; i <= server->options.accept_backlog; i++) {
        int fd = accept4(waiting, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == ECONNABORTED)
            continue;
        socket_transport *socket = fd >= 0 ? make_socket(server, is_unix) : NULL;
        if (socket == NULL) {
            if (fd >= 0)
                (void)close(fd);
            return;
        }
        int result =
            is_unix ? uv_pipe_open(&socket->socket.pipe, fd) : uv_tcp_open(&socket->socket.tcp, fd);
        if (result != 0)
            (void)close(fd);
        take_socket(server, socket, result);
    }
}

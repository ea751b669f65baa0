/* Listeners: addresses to sockets that accept. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "http/server_internal.h"

#define UNIX_PREFIX "unix:"
#define HOST_BYTES 64
#define MAX_PATH_BYTES sizeof(((struct sockaddr_un *)NULL)->sun_path)

struct onnxd_http_listener {
    onnxd_http_listener *next;
    onnxd_http_server *server;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    bool is_unix, is_open;
    bool is_stalled; /* a connection waits that there was no memory for */
};

static void on_connection(uv_stream_t *stream, int result)
{
    onnxd_http_listener *listener = stream->data;
    onnxd_http_server *server = listener->server;
    if (result != 0) {
        server->stats.refused++;
        return;
    }
    /* The stream accepts nothing further until the one that waits is taken. */
    listener->is_stalled = !onnxd_http_accept(server, stream, listener->is_unix);
    if (listener->is_stalled)
        onnxd_http_server_arm(server, uv_now(server->loop) + ONNXD_HTTP_ACCEPT_RETRY_MS);
}

bool onnxd_http_listeners_retry(onnxd_http_server *server)
{
    bool is_stalled = false;
    for (onnxd_http_listener *at = server->listeners; at != NULL; at = at->next) {
        if (at->is_stalled && at->is_open)
            at->is_stalled = !onnxd_http_accept(server, &at->socket.stream, at->is_unix);
        is_stalled = is_stalled || (at->is_stalled && at->is_open);
    }
    return is_stalled;
}

static void on_closed(uv_handle_t *handle)
{
    onnxd_http_listener *listener = handle->data;
    onnxd_http_server *server = listener->server;
    server->open_handle_count--;
    onnxd_http_server_check_ended(server);
}

static void close_listener(onnxd_http_listener *listener)
{
    if (!listener->is_open)
        return;
    listener->is_open = false;
    uv_close(&listener->socket.handle,
             on_closed); /* removes the file of a UNIX socket that it bound */
}

void onnxd_http_listeners_accept_rest(onnxd_http_server *server)
{
    for (onnxd_http_listener *at = server->listeners; at != NULL; at = at->next) {
        if (at->is_open)
            onnxd_http_accept_rest(server, &at->socket.stream, at->is_unix);
    }
}

void onnxd_http_listeners_close(onnxd_http_server *server)
{
    for (onnxd_http_listener *at = server->listeners; at != NULL; at = at->next)
        close_listener(at);
}

void onnxd_http_listeners_free(onnxd_http_server *server)
{
    while (server->listeners != NULL) {
        onnxd_http_listener *next = server->listeners->next;
        onnxd_free(server->listeners);
        server->listeners = next;
    }
}

/* "host:port" or "[host]:port" with a numeric host. */
static onnxd_status *parse_tcp(const char *address, struct sockaddr_storage *out)
{
    const char *colon = strrchr(address, ':');
    char host[HOST_BYTES];
    uint64_t port = 0;
    bool is_bracketed = address[0] == '[';
    if (colon == NULL || !onnxd_parse_u64(colon + 1, strlen(colon + 1), &port) || port > 65535)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "address '%s' does not end in a port from 0 to 65535", address);
    const char *start = is_bracketed ? address + 1 : address;
    size_t length = (size_t)(colon - start);
    if (is_bracketed && (length == 0 || start[--length] != ']'))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "address '%s' has no ']'", address);
    if (length >= sizeof(host))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "address '%s' is too long", address);
    memcpy(host, start, length);
    host[length] = '\0';
    int result = is_bracketed ? uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)out)
                              : uv_ip4_addr(host, (int)port, (struct sockaddr_in *)out);
    if (result != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "address '%s' is not a numeric IPv4 or bracketed IPv6 address", address);
    return NULL;
}

static onnxd_status *unavailable(const char *address, int result)
{
    return onnxd_error(ONNXD_UNAVAILABLE, "cannot listen on '%s': %s", address,
                       uv_strerror(result));
}

static onnxd_status *bind_tcp(onnxd_http_listener *listener, const char *address)
{
    struct sockaddr_storage name = {0};
    ONNXD_TRY(parse_tcp(address, &name));
    int result = uv_tcp_init(listener->server->loop, &listener->socket.tcp);
    if (result != 0)
        return unavailable(address, result);
    listener->is_open = true;
    unsigned flags = name.ss_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0;
    result = uv_tcp_bind(&listener->socket.tcp, (const struct sockaddr *)&name, flags);
    return result != 0 ? unavailable(address, result) : NULL;
}

/* A socket file that nobody answers on is what an earlier process left behind. */
static void remove_stale_socket(const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, path, strlen(path) + 1);
    if (connect(probe, (const struct sockaddr *)&name, sizeof(name)) != 0 && errno == ECONNREFUSED)
        (void)unlink(path);
    (void)close(probe);
}

/* libuv makes EACCES of ENOENT when it binds. */
static int bind_error(const char *path, int result)
{
    char folder[MAX_PATH_BYTES];
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (result != UV_EACCES || slash == NULL || slash == path)
        return result;
    size_t length = (size_t)(slash - path);
    memcpy(folder, path, length);
    folder[length] = '\0';
    return stat(folder, &info) != 0 && errno == ENOENT ? UV_ENOENT : result;
}

static onnxd_status *bind_unix(onnxd_http_listener *listener, const char *address)
{
    const char *path = address + strlen(UNIX_PREFIX);
    if (path[0] == '\0' || strlen(path) >= MAX_PATH_BYTES)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "address '%s' has no path, or one longer than %zu bytes", address,
                           MAX_PATH_BYTES - 1);
    int result = uv_pipe_init(listener->server->loop, &listener->socket.pipe, 0);
    if (result != 0)
        return unavailable(address, result);
    listener->is_open = true;
    listener->is_unix = true;
    remove_stale_socket(path);
    result = bind_error(path, uv_pipe_bind(&listener->socket.pipe, path));
    return result != 0 ? unavailable(address, result) : NULL;
}

static void write_address(const onnxd_http_listener *listener, const char *address, char *out,
                          size_t capacity)
{
    struct sockaddr_storage name = {0};
    int length = sizeof(name);
    char host[HOST_BYTES] = "";
    if (listener->is_unix ||
        uv_tcp_getsockname(&listener->socket.tcp, (struct sockaddr *)&name, &length) != 0) {
        (void)snprintf(out, capacity, "%s", address);
    } else if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&name;
        (void)uv_ip6_name(v6, host, sizeof(host));
        (void)snprintf(out, capacity, "[%s]:%u", host, (unsigned)ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&name;
        (void)uv_ip4_name(v4, host, sizeof(host));
        (void)snprintf(out, capacity, "%s:%u", host, (unsigned)ntohs(v4->sin_port));
    }
}

onnxd_status *onnxd_http_server_listen(onnxd_http_server *server, const char *address,
                                       char *out_address, size_t capacity)
{
    onnxd_http_listener *listener = onnxd_alloc_zero(1, sizeof(*listener));
    if (listener == NULL)
        return onnxd_error_out_of_memory("a listener", sizeof(*listener), UINT64_MAX);
    listener->server = server;
    bool is_unix = strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
    onnxd_status *status = is_unix ? bind_unix(listener, address) : bind_tcp(listener, address);
    listener->socket.handle.data = listener;
    if (status == NULL) {
        int result =
            uv_listen(&listener->socket.stream, server->options.accept_backlog, on_connection);
        if (result != 0)
            status = unavailable(address, result);
    }
    if (!listener->is_open) {
        onnxd_free(listener); /* no handle was made */
        return status;
    }
    /* A handle ends through the loop: the listener stays in the list until the server goes. */
    server->open_handle_count++;
    listener->next = server->listeners;
    server->listeners = listener;
    if (status != NULL) {
        close_listener(listener);
        return status;
    }
    write_address(listener, address, out_address, capacity);
    return NULL;
}

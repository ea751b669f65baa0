/* Real sockets, the real store and scheduler, and cpu_ep: the server as a daemon uses it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/number.h"
#include "http/server.h"
#include "tests/model/support.h"

#define HEALTH "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
#define READ_TIMEOUT_MS 20000

typedef struct live_server {
    char directory[128];
    char address[160];
    onnxd_runtime *runtime;
    onnxd_store *store;
    onnxd_scheduler *scheduler;
    onnxd_http_server *server;
    uv_loop_t loop;
    uv_async_t stop;
    pthread_t thread;
} live_server;

/* -- the daemon's part ------------------------------------------------------------------------- */

static void on_closed(void *user)
{
    live_server *live = user;
    uv_close((uv_handle_t *)&live->stop, NULL);
}

static void on_stop(uv_async_t *async)
{
    live_server *live = async->data;
    onnxd_http_server_close(live->server, on_closed, live);
}

static void *run_loop(void *user)
{
    live_server *live = user;
    (void)uv_run(&live->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void write_model(const live_server *live)
{
    char path[192];
    (void)snprintf(path, sizeof(path), "%s/mlp.onnx", live->directory);
    onnx_file file;
    support_write_mlp(&file);
    onnx_file_write(&file, path);
    (void)snprintf(path, sizeof(path), "%s/relu.onnx", live->directory);
    file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Relu", "x", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N");
    onnx_file_write(&file, path);
}

static void start(live_server *live, const onnxd_http_options *options, const char *address)
{
    memset(live, 0, sizeof(*live));
    support_make_directory(live->directory, sizeof(live->directory));
    write_model(live);
    live->runtime = support_runtime("cpu;cpu.threads=1");
    const char *sources[] = {live->directory, NULL};
    onnxd_store_options store_options = {.sources = sources,
                                         .max_models = 8,
                                         .max_versions = 2,
                                         .model = onnxd_model_options_default()};
    support_ok(onnxd_store_create(live->runtime, &store_options, &live->store));
    support_ok(onnxd_store_start(live->store));
    onnxd_scheduler_options scheduler_options = {.max_queue_size = 128, .max_in_flight = 4};
    support_ok(onnxd_scheduler_create(live->runtime, &scheduler_options, &live->scheduler));
    onnxd_http_services services = {.store = live->store,
                                    .scheduler = live->scheduler,
                                    .server_name = "onnxd",
                                    .server_version = "1.2.3"};
    cr_assert_eq(uv_loop_init(&live->loop), 0);
    cr_assert_eq(uv_async_init(&live->loop, &live->stop, on_stop), 0);
    live->stop.data = live;
    support_ok(onnxd_http_server_create(&live->loop, options, &services, &live->server));
    support_ok(
        onnxd_http_server_listen(live->server, address, live->address, sizeof(live->address)));
    while (!onnxd_store_is_loaded(live->store, NULL))
        (void)poll(NULL, 0, 1);
    cr_assert_eq(pthread_create(&live->thread, NULL, run_loop, live), 0);
}

static void stop(live_server *live)
{
    cr_assert_eq(uv_async_send(&live->stop), 0);
    cr_assert_eq(pthread_join(live->thread, NULL), 0);
    onnxd_http_server_destroy(live->server);
    cr_assert_eq(uv_loop_close(&live->loop), 0, "handles are left");
    onnxd_scheduler_stop(live->scheduler, 0);
    onnxd_scheduler_destroy(live->scheduler);
    onnxd_store_stop(live->store);
    onnxd_store_destroy(live->store);
    onnxd_runtime_destroy(live->runtime);
    support_remove_directory(live->directory);
}

/* -- a client ---------------------------------------------------------------------------------- */

static int dial(const char *address)
{
    int fd;
    if (strncmp(address, "unix:", 5) == 0) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        (void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", address + 5);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        cr_assert_eq(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0, "%s", strerror(errno));
        return fd;
    }
    uint64_t port;
    const char *colon = strrchr(address, ':');
    cr_assert(onnxd_parse_u64(colon + 1, strlen(colon + 1), &port));
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0, "%s", strerror(errno));
    return fd;
}

static void send_all(int fd, const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);
        cr_assert_gt(sent, 0, "%s", strerror(errno));
        at += sent;
        length -= (size_t)sent;
    }
}

/* Reads until one whole response is there; false at the end of the stream before that. */
static bool receive(int fd, onnxd_strbuf *out)
{
    onnxd_strbuf_reset(out);
    for (;;) {
        const char *end = out->length > 0 ? memmem(out->data, out->length, "\r\n\r\n", 4) : NULL;
        if (end != NULL) {
            const char *field = strcasestr(out->data, "\r\nContent-Length: ");
            size_t body = (size_t)strtoull(field + 18, NULL, 10);
            if (out->length >= (size_t)(end + 4 - out->data) + body)
                return true;
        }
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        cr_assert_eq(poll(&wait, 1, READ_TIMEOUT_MS), 1, "no answer");
        char buffer[65536];
        ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
        if (got <= 0)
            return false;
        onnxd_strbuf_append(out, buffer, (size_t)got);
    }
}

static void ask(int fd, const char *request, const char *expected)
{
    onnxd_strbuf got;
    onnxd_strbuf_init(&got, 1u << 28);
    send_all(fd, request, strlen(request));
    cr_assert(receive(fd, &got), "the connection was closed");
    cr_assert(strstr(got.data, expected) != NULL, "%s\nis not in\n%s", expected, got.data);
    onnxd_strbuf_deinit(&got);
}

static void ask_infer(int fd, const char *model, const char *body, const char *expected)
{
    char request[1024];
    (void)snprintf(request, sizeof(request),
                   "POST /v2/models/%s/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                   model, strlen(body), body);
    ask(fd, request, expected);
}

/* -- tests ------------------------------------------------------------------------------------- */

static const char relu_body[] =
    "{\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP32\",\"data\":[-1,0.5,2]}]}";

Test(server, serves_models_over_tcp)
{
    live_server live;
    onnxd_http_options options = onnxd_http_options_default();
    start(&live, &options, "127.0.0.1:0");
    int fd = dial(live.address);
    ask(fd, HEALTH, "{\"live\":true}");
    ask(fd, "GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n", "{\"ready\":true}");
    ask(fd, "GET /v2/models/relu HTTP/1.1\r\nHost: x\r\n\r\n",
        "{\"name\":\"relu\",\"versions\":[\"1\"],\"platform\":\"onnx_onnxv1\",\"inputs\":[{"
        "\"name\":\"x\","
        "\"datatype\":\"FP32\",\"shape\":[-1]}],\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\","
        "\"shape\":[-1]}]}");
    ask_infer(fd, "relu", relu_body,
              "{\"model_name\":\"relu\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"y\","
              "\"datatype\":"
              "\"FP32\",\"shape\":[3],\"data\":[0.0,0.5,2.0]}]}");
    ask_infer(fd, "mlp",
              "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,5],\"datatype\":\"FP32\",\"data\":[1,2,3,"
              "4,5]}]}",
              "unexpected shape for input 'x' for model 'mlp'. Expected [-1,4], got [1,5]");
    ask_infer(fd, "mlp", "{\"inputs\":[]}",
              "expected 1 inputs but got 0 inputs for model 'mlp'. Got input(s) [], but missing "
              "required input(s) ['x']");
    ask_infer(fd, "nobody", "{}", "Request for unknown model: 'nobody' is not found");
    ask(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "onnxd_scheduler_completed_total 1");
    (void)close(fd);
    stop(&live);
}

Test(server, serves_over_a_unix_socket)
{
    live_server live;
    onnxd_http_options options = onnxd_http_options_default();
    char directory[128], address[192];
    support_make_directory(directory, sizeof(directory));
    (void)snprintf(address, sizeof(address), "unix:%s/http.sock", directory);
    for (int round = 0; round < 2; round++) {
        start(&live, &options, address);
        cr_assert_str_eq(live.address, address);
        int fd = dial(address);
        ask_infer(fd, "relu", relu_body, "\"data\":[0.0,0.5,2.0]");
        (void)close(fd);
        stop(&live);
        cr_assert_neq(access(address + 5, F_OK), 0, "the socket file is left");
    }
    support_remove_directory(directory);
}

/* A million floats as JSON and as binary: codec jobs and writes in pieces. */
Test(server, serves_large_bodies)
{
    enum { COUNT = 200000 };
    live_server live;
    onnxd_http_options options = onnxd_http_options_default();
    start(&live, &options, "127.0.0.1:0");
    onnxd_strbuf body, got;
    onnxd_strbuf_init(&body, 1u << 28);
    onnxd_strbuf_init(&got, 1u << 28);
    char head[256], json[256];
    int fd = dial(live.address);

    onnxd_strbuf_printf(
        &body, "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"FP32\",\"data\":[0",
        COUNT);
    for (int i = 1; i < COUNT; i++)
        onnxd_strbuf_printf(&body, ",%d.25", i);
    onnxd_strbuf_puts(&body, "]}]}");
    (void)snprintf(head, sizeof(head),
                   "POST /v2/models/relu/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                   body.length);
    send_all(fd, head, strlen(head));
    send_all(fd, body.data, body.length);
    cr_assert(receive(fd, &got));
    cr_assert(strstr(got.data, ",199998.25,199999.25]}]}") != NULL);

    float *values = onnxd_alloc(COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i - COUNT / 2);
    (void)snprintf(
        json, sizeof(json),
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"FP32\",\"parameters\":"
        "{\"binary_data_size\":%zu}}],\"parameters\":{\"binary_data_output\":true}}",
        COUNT, COUNT * sizeof(float));
    (void)snprintf(head, sizeof(head),
                   "POST /v2/models/relu/infer HTTP/1.1\r\nHost: x\r\n"
                   "Inference-Header-Content-Length: %zu\r\nContent-Length: %zu\r\n\r\n",
                   strlen(json), strlen(json) + COUNT * sizeof(float));
    for (int round = 0; round < 3; round++) {
        send_all(fd, head, strlen(head));
        send_all(fd, json, strlen(json));
        send_all(fd, values, COUNT * sizeof(float));
        cr_assert(receive(fd, &got));
        const char *result = got.data + got.length - COUNT * sizeof(float);
        for (int i = 0; i < COUNT; i++) {
            float value;
            memcpy(&value, result + (size_t)i * sizeof(float), sizeof(value));
            cr_assert_eq(value, values[i] > 0 ? values[i] : 0, "element %d", i);
        }
    }
    (void)close(fd);
    onnxd_free(values);
    onnxd_strbuf_deinit(&body);
    onnxd_strbuf_deinit(&got);
    stop(&live);
}

typedef struct caller {
    const char *address;
    unsigned number, rounds;
    bool is_rude; /* goes away before the answer */
    pthread_t thread;
} caller;

static void *run_caller(void *user)
{
    const caller *self = user;
    for (unsigned i = 0; i < self->rounds; i++) {
        char body[256], expected[128];
        (void)snprintf(
            body, sizeof(body),
            "{\"id\":\"%u-%u\",\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","
            "\"data\":[%u,-1]}]}",
            self->number, i, i);
        (void)snprintf(expected, sizeof(expected),
                       "{\"id\":\"%u-%u\",\"model_name\":\"relu\",\"model_version\":\"1\"",
                       self->number, i);
        int fd = dial(self->address);
        if (self->is_rude) {
            char request[512];
            (void)snprintf(request, sizeof(request),
                           "POST /v2/models/relu/infer HTTP/1.1\r\nHost: x\r\n"
                           "Content-Length: %zu\r\n\r\n%s",
                           strlen(body), body);
            struct linger reset = {.l_onoff = 1};
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
            send_all(fd, request, strlen(request) - i % 3);
        } else {
            ask_infer(fd, "relu", body, expected);
            ask_infer(fd, "relu", body, expected);
        }
        (void)close(fd);
    }
    return NULL;
}

Test(server, serves_many_clients_also_rude_ones)
{
    live_server live;
    onnxd_http_options options = onnxd_http_options_default();
    start(&live, &options, "127.0.0.1:0");
    caller callers[8];
    for (unsigned i = 0; i < ONNXD_COUNT(callers); i++) {
        callers[i] =
            (caller){.address = live.address, .number = i, .rounds = 40, .is_rude = i % 2 == 1};
        cr_assert_eq(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
    }
    for (unsigned i = 0; i < ONNXD_COUNT(callers); i++)
        cr_assert_eq(pthread_join(callers[i].thread, NULL), 0);
    stop(&live);
}

/* The whole answer and an orderly end: what the client sends does not turn it into a reset. */
static void expect_too_many(int fd, onnxd_strbuf *got)
{
    char more;
    cr_assert(receive(fd, got));
    cr_assert(strstr(got->data, "503 ") != NULL &&
                  strstr(got->data, "too many connections") != NULL,
              "%s", got->data);
    cr_assert(strstr(got->data, "Retry-After: 7\r\n") != NULL, "%s", got->data);
    cr_assert_eq(recv(fd, &more, 1, 0), 0, "%s", strerror(errno));
}

Test(server, limits_connections)
{
    live_server live;
    onnxd_http_options options = onnxd_http_options_default();
    options.max_connections = 3;
    options.max_connections_per_ip = 2;
    options.retry_after_s = 7;
    start(&live, &options, "127.0.0.1:0");
    int first = dial(live.address), second = dial(live.address);
    ask(first, HEALTH, "live");
    ask(second, HEALTH, "live");
    int third = dial(live.address);
    onnxd_strbuf got;
    onnxd_strbuf_init(&got, 4096);
    send_all(third, HEALTH, strlen(HEALTH));
    expect_too_many(third, &got);
    (void)close(third);
    third = dial(live.address); /* the request comes behind the answer */
    struct pollfd answered = {.fd = third, .events = POLLIN};
    cr_assert_eq(poll(&answered, 1, READ_TIMEOUT_MS), 1);
    send_all(third, HEALTH, strlen(HEALTH));
    send_all(third, HEALTH, strlen(HEALTH));
    expect_too_many(third, &got);
    (void)close(third);
    (void)close(second);
    for (;;) { /* as soon as the server has seen the second go */
        third = dial(live.address);
        send_all(third, HEALTH, strlen(HEALTH));
        bool is_served = receive(third, &got) && strstr(got.data, "200 OK") != NULL;
        (void)close(third);
        if (is_served)
            break;
    }
    (void)close(first);
    onnxd_strbuf_deinit(&got);
    stop(&live);
}

static void on_drained(void *user)
{
    *(bool *)user = true;
}

/* Connections that the kernel has completed, and requests that it holds, when the drain begins. */
Test(server, drains_what_waits_in_the_kernel)
{
    enum { COUNT = 20 };
    uv_loop_t loop;
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_services services = {.server_name = "onnxd", .server_version = "1"};
    onnxd_http_server *server;
    char address[128];
    bool is_drained = false;
    int fds[COUNT];
    cr_assert_eq(uv_loop_init(&loop), 0);
    support_ok(onnxd_http_server_create(&loop, &options, &services, &server));
    support_ok(onnxd_http_server_listen(server, "127.0.0.1:0", address, sizeof(address)));
    for (size_t i = 0; i < COUNT; i++) {
        fds[i] = dial(address);
        send_all(fds[i], HEALTH, strlen(HEALTH));
    }
    onnxd_http_server_drain(server, 0, on_drained, &is_drained);
    while (!is_drained && onnxd_http_server_query(server).responses_2xx < COUNT)
        uv_run(&loop, UV_RUN_ONCE);
    onnxd_strbuf got;
    onnxd_strbuf_init(&got, 4096);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert(receive(fds[i], &got), "connection %zu", i);
        cr_assert(strstr(got.data, "Connection: close") != NULL, "%s", got.data);
        (void)close(fds[i]);
    }
    while (!is_drained)
        uv_run(&loop, UV_RUN_ONCE);
    onnxd_http_server_close(server, NULL, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    onnxd_http_server_destroy(server);
    cr_assert_eq(uv_loop_close(&loop), 0);
    onnxd_strbuf_deinit(&got);
}

Test(server, closes_a_framing_error_so_that_the_answer_arrives)
{
    live_server live;
    onnxd_http_options options = onnxd_http_options_default();
    start(&live, &options, "127.0.0.1:0");
    onnxd_strbuf got;
    onnxd_strbuf_init(&got, 4096);
    for (int round = 0; round < 20; round++) {
        int fd = dial(live.address);
        char junk[20000];
        memset(junk, 'x', sizeof(junk));
        memcpy(junk, "GET / HTTP/1.1\n", 15);
        send_all(fd, junk, sizeof(junk));
        cr_assert(receive(fd, &got));
        cr_assert(strstr(got.data, "400 Bad Request") != NULL, "%s", got.data);
        cr_assert_not(receive(fd, &got), "and nothing more");
        (void)close(fd);
    }
    onnxd_strbuf_deinit(&got);
    stop(&live);
}

Test(server, refuses_addresses)
{
    uv_loop_t loop;
    onnxd_http_options options = onnxd_http_options_default();
    onnxd_http_services services = {.server_name = "onnxd", .server_version = "1"};
    onnxd_http_server *server;
    char address[128];
    static const char *const bad[] = {"",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "host:80",
                                      "127.0.0.1:a",
                                      "::1:80",
                                      "[::1:80",
                                      "[]:80",
                                      "unix:",
                                      ":80",
                                      "[127.0.0.1]:80",
                                      "127.0.0.1:-1"};
    cr_assert_eq(uv_loop_init(&loop), 0);
    support_ok(onnxd_http_server_create(&loop, &options, &services, &server));
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++)
        support_error(onnxd_http_server_listen(server, bad[i], address, sizeof(address)),
                      ONNXD_INVALID_ARGUMENT, "address");
    support_error(
        onnxd_http_server_listen(server, "unix:/nothing/here.sock", address, sizeof(address)),
        ONNXD_UNAVAILABLE, "/nothing/here.sock");
    support_ok(onnxd_http_server_listen(server, "127.0.0.1:0", address, sizeof(address)));
    char again[128];
    support_error(onnxd_http_server_listen(server, address, again, sizeof(again)),
                  ONNXD_UNAVAILABLE, "in use");
    onnxd_http_server_close(server, NULL, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    onnxd_http_server_destroy(server);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

/* The health check: addresses, and a server that answers, answers badly or not at all. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/healthcheck.h"

Test(healthcheck, addresses)
{
    static const struct {
        const char *url;
        int family; /* 0: refused */
        const char *path;
    } cases[] = {
        {"127.0.0.1:8000", AF_INET, "/v2/health/ready"},
        {"http://127.0.0.1:8000", AF_INET, "/v2/health/ready"},
        {"http://127.0.0.1:8000/v2/health/live", AF_INET, "/v2/health/live"},
        {"localhost:1", AF_INET, "/v2/health/ready"},
        {"0.0.0.0:65535", AF_INET, "/v2/health/ready"},
        {"[::]:8000", AF_INET6, "/v2/health/ready"},
        {"[::1]:8000", AF_INET6, "/v2/health/ready"},
        {"unix:/run/x.sock", AF_UNIX, "/v2/health/ready"},
        {"127.0.0.1", 0, NULL},
        {"127.0.0.1:", 0, NULL},
        {"127.0.0.1:0", 0, NULL},
        {"127.0.0.1:65536", 0, NULL},
        {"127.0.0.1:80x", 0, NULL},
        {":80", 0, NULL},
        {"", 0, NULL},
        {"[::1:80", 0, NULL},
        {"example.org:80", 0, NULL},
        {"https://127.0.0.1:80", 0, NULL},
        {"unix:relative", 0, NULL},
        {"http://127.0.0.1:80/a b", 0, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        onnxd_health_target target;
        onnxd_status *status = onnxd_health_target_parse(cases[i].url, &target);
        cr_expect_eq(status == NULL, cases[i].family != 0, "%s", cases[i].url);
        if (status == NULL) {
            cr_expect_eq(target.address.ss_family, cases[i].family, "%s", cases[i].url);
            cr_expect_str_eq(target.path, cases[i].path);
        }
        onnxd_status_free(status);
    }
}

/* Accepts one connection and sends `answer`. */
typedef struct fake_server {
    int listener;
    const char *answer;
    char url[64];
    pthread_t thread;
} fake_server;

static void *serve_once(void *user)
{
    fake_server *server = user;
    char request[1024];
    int connection = accept(server->listener, NULL, NULL);
    if (connection < 0)
        return NULL;
    if (recv(connection, request, sizeof(request), 0) > 0)
        send(connection, server->answer, strlen(server->answer), MSG_NOSIGNAL);
    close(connection);
    return NULL;
}

static void start(fake_server *server, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    server->answer = answer;
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(server->listener >= 0);
    cr_assert_eq(bind(server->listener, (struct sockaddr *)&address, length), 0);
    cr_assert_eq(listen(server->listener, 1), 0);
    cr_assert_eq(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    snprintf(server->url, sizeof(server->url), "127.0.0.1:%u", ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&server->thread, NULL, serve_once, server), 0);
}

static int ask(const char *answer)
{
    fake_server server;
    onnxd_health_target target;
    int code = -1;
    start(&server, answer);
    cr_assert_null(onnxd_health_target_parse(server.url, &target));
    onnxd_status_free(onnxd_health_ask(&target, 5000, &code));
    pthread_join(server.thread, NULL);
    close(server.listener);
    return code;
}

Test(healthcheck, answers)
{
    cr_assert_eq(ask("HTTP/1.1 200 OK\r\n\r\n"), 200);
    cr_assert_eq(ask("HTTP/1.1 503 Service Unavailable\r\n\r\n"), 503);
    cr_assert_eq(ask("SSH-2.0-OpenSSH_9.2 Debian\r\n"), -1);
    cr_assert_eq(ask(""), -1);
    cr_assert_eq(ask("HTTP/1.1"), -1);
}

Test(healthcheck, nobody_listens)
{
    fake_server server;
    onnxd_health_target target;
    int code = -1;
    start(&server, "HTTP/1.1 200 OK\r\n\r\n");
    cr_assert_null(onnxd_health_target_parse(server.url, &target));
    onnxd_status_free(onnxd_health_ask(&target, 5000, &code));
    pthread_join(server.thread, NULL);
    close(server.listener);
    onnxd_status *status = onnxd_health_ask(&target, 5000, &code);
    cr_assert_eq(onnxd_status_code(status), ONNXD_UNAVAILABLE);
    onnxd_status_free(status);
}

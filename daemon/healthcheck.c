#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"
#include "daemon/command.h"
#include "daemon/healthcheck.h"

#define DEFAULT_PATH "/v2/health/ready"

/* ---- where to ask -------------------------------------------------------------------------- */

ONNXD_RETURNS_NONNULL static onnxd_status *bad_address(const char *address)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT,
                       "address '%.200s' is not ADDRESS:PORT, [ADDRESS]:PORT or unix:/path",
                       address);
}

/* A server that listens on every address is asked over loopback. */
static bool set_ip(onnxd_health_target *target, const char *host, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&target->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&target->address;

    if (strcmp(host, "localhost") == 0 || strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    if (strcmp(host, "::") == 0)
        host = "::1";
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        target->address_bytes = sizeof(*v4);
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        target->address_bytes = sizeof(*v6);
        return true;
    }
    return false;
}

static onnxd_status *set_address(onnxd_health_target *target, const char *text, size_t length)
{
    char address[sizeof(target->authority)];
    uint64_t port;

    if (length >= sizeof(address))
        return bad_address(text);
    memcpy(address, text, length);
    address[length] = '\0';
    memcpy(target->authority, address, length + 1);
    char *colon = strrchr(address, ':');
    if (colon == NULL || !onnxd_parse_u64(colon + 1, strlen(colon + 1), &port) || port == 0 ||
        port > UINT16_MAX)
        return bad_address(address);
    *colon = '\0';
    char *host = address;
    size_t host_length = strlen(host);
    if (host_length > 1 && host[0] == '[' && host[host_length - 1] == ']') {
        host[host_length - 1] = '\0';
        host++;
    }
    return set_ip(target, host, (uint16_t)port) ? NULL : bad_address(text);
}

static onnxd_status *set_unix(onnxd_health_target *target, const char *path)
{
    struct sockaddr_un *local = (struct sockaddr_un *)(void *)&target->address;
    if (path[0] != '/' || strlen(path) >= sizeof(local->sun_path))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "socket path '%.200s' is not absolute or longer "
                           "than %zu bytes",
                           path, sizeof(local->sun_path) - 1);
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, strlen(path) + 1);
    target->address_bytes = sizeof(*local);
    memcpy(target->authority, "localhost", sizeof("localhost"));
    return NULL;
}

onnxd_status *onnxd_health_target_parse(const char *url, onnxd_health_target *out_target)
{
    static const char scheme[] = "http://";
    static const char local[] = "unix:";
    onnxd_health_target target = {.path = DEFAULT_PATH};
    const char *rest = url;

    if (strncmp(url, local, sizeof(local) - 1) == 0) {
        ONNXD_TRY(set_unix(&target, url + sizeof(local) - 1));
        *out_target = target;
        return NULL;
    }
    if (strncmp(url, scheme, sizeof(scheme) - 1) == 0)
        rest += sizeof(scheme) - 1;
    size_t length = strcspn(rest, "/");
    if (rest[length] != '\0')
        target.path = rest + length;
    if (strlen(target.path) > 512 || strpbrk(target.path, " \t\r\n") != NULL)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "path of '%.200s' is too long or has white space", url);
    ONNXD_TRY(set_address(&target, rest, length));
    *out_target = target;
    return NULL;
}

/* ---- asking -------------------------------------------------------------------------------- */

ONNXD_RETURNS_NONNULL static onnxd_status *failed(const char *what, int error)
{
    char text[128];
    return onnxd_error(ONNXD_UNAVAILABLE, "%s: %s", what, strerror_r(error, text, sizeof(text)));
}

static onnxd_status *exchange(int descriptor, const onnxd_health_target *target, int *out_status)
{
    char request[1024];
    char answer[64];
    size_t received = 0;
    uint64_t code;

    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target->path,
                          target->authority);
    if (length < 0 || (size_t)length >= sizeof(request))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the url is too long");
    if (connect(descriptor, (const struct sockaddr *)&target->address, target->address_bytes) != 0)
        return failed("cannot connect", errno);
    if (send(descriptor, request, (size_t)length, MSG_NOSIGNAL) != length)
        return failed("cannot send", errno);
    while (received < sizeof("HTTP/1.1 200") - 1) {
        ssize_t count = recv(descriptor, answer + received, sizeof(answer) - received, 0);
        if (count <= 0)
            return failed("no answer", count == 0 ? ECONNRESET : errno);
        received += (size_t)count;
    }
    if (memcmp(answer, "HTTP/1.1 ", 9) != 0 || !onnxd_parse_u64(answer + 9, 3, &code))
        return onnxd_error(ONNXD_UNAVAILABLE, "the answer is not HTTP/1.1");
    *out_status = (int)code;
    return NULL;
}

onnxd_status *onnxd_health_ask(const onnxd_health_target *target, uint32_t timeout_ms,
                               int *out_status)
{
    struct timeval timeout = {.tv_sec = timeout_ms / 1000,
                              .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    int descriptor = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return failed("cannot make a socket", errno);
    /* on Linux the send timeout bounds connect() too */
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    onnxd_status *status = exchange(descriptor, target, out_status);
    close(descriptor);
    return status;
}

int onnxd_command_healthcheck(const onnxd_invocation *invocation, const onnxd_config *config)
{
    (void)invocation;
    onnxd_health_target target;
    int answer = 0;
    const char *url = config->healthcheck_url;

    if (url[0] == '\0')
        url = config->http_listen[0] != NULL ? config->http_listen[0] : "127.0.0.1:8000";
    onnxd_status *status = onnxd_health_target_parse(url, &target);
    if (status != NULL)
        return onnxd_cli_fail(status, true);
    status = onnxd_health_ask(&target, config->healthcheck_timeout_ms, &answer);
    if (status != NULL)
        return onnxd_cli_fail(onnxd_status_context(status, "%s", url), false);
    printf("%d\n", answer);
    return answer == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A minimal HTTP client that asks one server one question. Threads: any; it blocks. */
#ifndef ONNXD_DAEMON_HEALTHCHECK_H
#define ONNXD_DAEMON_HEALTHCHECK_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/status.h"

typedef struct onnxd_health_target {
    struct sockaddr_storage address;
    socklen_t address_bytes;
    char authority[128]; /* for the Host field */
    const char *path;    /* borrowed from the url, or constant */
} onnxd_health_target;

/* "http://ADDRESS:PORT/path", "ADDRESS:PORT", "[ADDRESS]:PORT" or "unix:/path"; without a path,
 * /v2/health/ready. Addresses are literals or "localhost"; the any-address stands for loopback. */
ONNXD_NODISCARD onnxd_status *onnxd_health_target_parse(const char *url,
                                                        onnxd_health_target *out_target);
/* The status code of the answer. Errors: UNAVAILABLE when none comes in time. */
ONNXD_NODISCARD onnxd_status *onnxd_health_ask(const onnxd_health_target *target,
                                               uint32_t timeout_ms, int *out_status);

#endif

/* What the tests of connections share. */
#ifndef ONNXD_TESTS_HTTP_CONN_SUPPORT_H
#define ONNXD_TESTS_HTTP_CONN_SUPPORT_H

#include "loopback.h"

#define HEALTH "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"

/* A server with the default options. */
onnxd_http_server *test_start_default(void);
/* An inference request that echoes one number and asks for `id`. `parameters` is JSON that follows
 * the id, or "". */
void client_send_infer(test_client *client, unsigned number, const char *parameters);
/* The next response after *position has this status, and `part` in its body. */
void expect_next_response(const test_client *client, size_t *position, int status,
                          const char *part);
void expect_nothing_more(const test_client *client, size_t position);

#endif

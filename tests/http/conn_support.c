#include "conn_support.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

onnxd_http_server *test_start_default(void)
{
    onnxd_http_options options = onnxd_http_options_default();
    return test_server_start(&options);
}

void client_send_infer(test_client *client, unsigned number, const char *parameters)
{
    char body[256], text[512];
    (void)snprintf(body, sizeof(body),
                   "{\"id\":\"%u\"%s,\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":"
                   "\"INT32\",\"data\":[%u]}]}",
                   number, parameters, number);
    (void)snprintf(text, sizeof(text),
                   "POST /v2/models/echo_int32/infer HTTP/1.1\r\nHost: x\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    client_send_text(client, text);
}

void expect_next_response(const test_client *client, size_t *position, int status, const char *part)
{
    test_response got;
    cr_assert(next_response(&client->received, position, false, &got), "no response, received: %s",
              client->received.data != NULL ? client->received.data : "");
    cr_assert_eq(got.status, status, "%d: %.*s", got.status, (int)got.body_bytes, got.body);
    cr_assert(memmem(got.body, got.body_bytes, part, strlen(part)) != NULL, "%.*s",
              (int)got.body_bytes, got.body);
}

void expect_nothing_more(const test_client *client, size_t position)
{
    cr_assert_eq(position, client->received.length, "%s", client->received.data + position);
}

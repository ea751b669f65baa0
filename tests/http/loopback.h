/*
 * A client and its connection without sockets. Bytes go in by client_send() (as far as the server
 * reads), responses come out in `received`.
 */
#ifndef ONNXD_TESTS_HTTP_LOOPBACK_H
#define ONNXD_TESTS_HTTP_LOOPBACK_H

#include "base/strbuf.h"
#include "http/server_internal.h"

typedef struct test_client {
    onnxd_http_transport transport;
    onnxd_http_server *server;
    onnxd_http_conn *conn; /* NULL once it is closed */
    onnxd_strbuf unsent;   /* sent while the server does not read */
    onnxd_strbuf received;
    bool is_reading; /* the server reads */
    bool sends_end;  /* the client's end comes behind `unsent` */
    bool has_sent_end;
    bool saw_end; /* the server has shut its side down or closed */
    bool was_reset;
    bool closes;         /* close was asked for; it takes effect in client_pump() */
    bool refuses_writes; /* writes fail */
    bool blocks_writes;  /* writes stay pending until client_unblock() */
    uv_buf_t *pending;
    unsigned pending_count;
    size_t pending_bytes;
} test_client;

/* A server on a loop of its own with the fake backend, and its end. */
onnxd_http_server *test_server_start(const onnxd_http_options *options);
/* Closes it, runs the loop to its end and checks that nothing is left. */
void test_server_stop(onnxd_http_server *server);
/* Runs the loop until no codec job and no finished request is outstanding. */
void test_server_settle(onnxd_http_server *server);

void client_open(test_client *client, onnxd_http_server *server);
void client_send(test_client *client, const void *data, size_t length);
void client_send_text(test_client *client, const char *text);
void client_end(test_client *client); /* half-close */
void client_reset(test_client *client);
/* Lets things happen: delivers what can be delivered, runs the loop, carries out closes. */
void client_pump(test_client *client);
/* Takes up to `bytes` of the pending write; when all is taken the write is done. */
void client_unblock(test_client *client, size_t bytes);
/* Closes if need be and frees. */
void client_finish(test_client *client);

/* -- reading responses ------------------------------------------------------------------------- */

typedef struct test_response {
    int status;
    const char *head; /* fields, each "Name: value\r\n" */
    size_t head_bytes;
    const char *body;
    size_t body_bytes;
} test_response;

/* The response at *position, which moves behind it; false when there is none (or no whole one).
 * `is_head` says that it answers HEAD. */
bool next_response(const onnxd_strbuf *text, size_t *position, bool is_head, test_response *out);
/* The field's value, "" where there is none; valid until the next call. */
const char *response_field(const test_response *response, const char *name);

#endif

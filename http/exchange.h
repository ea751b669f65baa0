/*
 * An exchange: one request and its response. It is made when a request's first byte arrives, waits
 * in its connection's queue (responses go out in the order of the requests) and ends when the
 * response is sent, or when what runs for it has come back, whichever is later. Exchanges are
 * recycled by their server with their buffers, up to a budget of bytes, so that usual requests
 * allocate nothing.
 *
 *   RECEIVING ─► HANDLING ─► ANSWERED (response complete, waiting to be sent or being sent)
 *
 * Threads: the loop. While a codec job runs, its fields named in infer.h belong to the work thread.
 */
#ifndef ONNXD_HTTP_EXCHANGE_H
#define ONNXD_HTTP_EXCHANGE_H

#include "base/arena.h"
#include "base/list.h"
#include "http/infer.h"
#include "http/parser.h"
#include "http/response.h"
#include "http/router.h"
#include "http/transport.h"

typedef enum onnxd_http_exchange_state {
    ONNXD_HTTP_RECEIVING,
    ONNXD_HTTP_HANDLING,
    ONNXD_HTTP_ANSWERED
} onnxd_http_exchange_state;

struct onnxd_http_exchange {
    onnxd_link link;   /* in the connection's queue or the server's free list */
    size_t kept_bytes; /* large buffers of one in the free list */
    onnxd_http_server *server;
    onnxd_http_conn *conn; /* NULL once the connection has gone */
    uint32_t references;
    onnxd_http_exchange_state state;

    /* the request */
    onnxd_strbuf head_text;
    onnxd_http_head head;
    bool has_head;      /* `head` is valid */
    bool is_received;   /* the message is complete */
    bool is_discarding; /* answered already: the body is read and dropped */
    bool owes_continue; /* "100 Continue" is to be sent before the body comes */
    onnxd_strbuf body;
    uint64_t body_limit, body_bytes; /* received, kept or not */
    const char *over_limit;          /* static: what is said of a body beyond body_limit */
    onnxd_http_match match;

    onnxd_http_response response;
    onnxd_arena arena;      /* ends with the exchange */
    uint64_t charged_bytes; /* of the server's max_inflight_bytes */
    bool is_counted;        /* in the server's max_inflight_requests */
    uint64_t deadline_ms;   /* loop time; 0: none */
    onnxd_http_infer infer;
};

/* An exchange with one reference, in state RECEIVING; NULL when memory is short. */
ONNXD_NODISCARD onnxd_http_exchange *onnxd_http_exchange_create(onnxd_http_server *server,
                                                                onnxd_http_conn *conn);
void onnxd_http_exchange_retain(onnxd_http_exchange *exchange);
/* The last release gives back what the exchange holds. */
void onnxd_http_exchange_release(onnxd_http_exchange *exchange);
/* Frees those that wait to be used again. */
void onnxd_http_exchange_destroy_spares(onnxd_http_server *server);

/* Answering: exactly once for each exchange that is HANDLING; without effect on one that is
 * ANSWERED. The response is sent when the exchange's turn comes. */
void onnxd_http_exchange_finish(onnxd_http_exchange *exchange); /* `response` is filled in */
void onnxd_http_exchange_refuse(onnxd_http_exchange *exchange, int http_status,
                                const char *message);
/* Consumes `status`, which is an error; says Retry-After where that helps. */
void onnxd_http_exchange_fail(onnxd_http_exchange *exchange, onnxd_status *status);

/* Counts bytes held for the exchange; false when the server's limit would be passed. */
ONNXD_NODISCARD bool onnxd_http_exchange_charge(onnxd_http_exchange *exchange, uint64_t bytes);

#endif

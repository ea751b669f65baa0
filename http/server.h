/*
 * The HTTP server: Open Inference Protocol v2 on libuv and llhttp.
 *
 *   listener ─► connection ─► parser (llhttp + own framing checks) ─► router (one table)
 *            ─► handler ─► [codec ─► scheduler ─► mailbox ─► codec] ─► response ─► write queue
 *
 * Ready (/v2/health/ready) is a server whose first set of models is loaded, that is not draining,
 * and that has at least one version ready, or no model at all: a model that failed does not take
 * the others out of service.
 *
 * A client that ends its side of the connection (a half-close) before its response has begun is
 * taken for one that has gone: its inferences are cancelled and the connection is closed. The two
 * cannot be told apart before something is written, and work that nobody waits for is the costlier
 * mistake. What is answered at once, and a response that is being written, still arrives.
 *
 * Every limit is an option with a default; every non-200 answer is JSON {"error": "..."}.
 *
 * Threads: the loop thread, except where a function says otherwise. Bodies beyond
 * inline_codec_bytes are decoded and encoded on libuv's work threads, so that the loop never stalls
 * on a large one.
 */
#ifndef ONNXD_HTTP_SERVER_H
#define ONNXD_HTTP_SERVER_H

#include <uv.h>

#include "model/store.h"
#include "scheduler/scheduler.h"

typedef struct onnxd_http_options {
    uint32_t max_connections;           /* 1024 */
    uint32_t max_connections_per_ip;    /* 256; loopback counts like any other */
    int accept_backlog;                 /* 511 */
    uint32_t client_header_timeout_ms;  /* 10,000: from the first byte, or the accept, to the last
                                           header */
    uint32_t client_body_timeout_ms;    /* 30,000 without a byte */
    uint32_t min_body_rate_bytes_per_s; /* 16,384 after the first 10 s */
    uint32_t send_timeout_ms;           /* 30,000 without progress */
    uint32_t keepalive_timeout_ms;      /* 75,000 */
    uint32_t keepalive_requests;        /* 10,000 */
    uint32_t keepalive_max_age_ms;      /* 3,600,000 */
    uint32_t max_request_line_bytes;    /* 8,192 */
    uint32_t max_header_bytes;          /* 16,384, all fields together */
    uint32_t max_header_field_bytes;    /* 8,192 */
    uint32_t max_header_count;          /* 100 */
    uint64_t max_body_bytes;            /* 64 MiB */
    uint64_t max_json_body_bytes;       /* 16 MiB: the JSON part of an infer request */
    uint64_t max_control_body_bytes;    /* 1 MiB: all other routes */
    uint32_t max_chunks;                /* 65,536 */
    uint32_t max_chunk_overhead_bytes;  /* 256 KiB of chunk headers and extensions */
    uint32_t max_trailer_bytes;         /* 4 KiB */
    uint32_t max_pipelined;             /* 16, then reading pauses */
    uint32_t lingering_timeout_ms;      /* 1,000 */
    uint32_t lingering_bytes;           /* 256 KiB */
    uint64_t max_inflight_bytes;        /* bodies and responses of all connections together */
    uint32_t max_inflight_requests;     /* 1,024 */
    uint32_t inline_codec_bytes;        /* 65,536 */
    /* requests */
    uint32_t max_tensor_rank;       /* 8 */
    uint64_t max_string_bytes;      /* 16 MiB, one BYTES element */
    uint64_t max_output_bytes;      /* 256 MiB, the binary outputs of a response together */
    uint64_t max_output_json_bytes; /* 64 MiB, a JSON response */
    uint32_t max_id_bytes;          /* 256 */
    uint32_t max_parameters;        /* 32 */
    uint64_t default_timeout_us;    /* 30,000,000: of a request that asks for none, or for 0 */
    uint64_t max_timeout_us;        /* 120,000,000: what parameters.timeout asks for is cut to it */
    uint32_t retry_after_s;         /* 1: Retry-After on 503 */
} onnxd_http_options;
onnxd_http_options onnxd_http_options_default(void);

/* What the handlers serve from. Borrowed; outlives the server. */
typedef struct onnxd_http_services {
    onnxd_store *store;
    onnxd_scheduler *scheduler;
    const char *server_name; /* "onnxd" */
    const char *server_version;
    /* Appends further metrics in the text exposition format; may be NULL. Must not block. */
    void (*write_metrics)(onnxd_strbuf *out, void *user);
    void *user;
} onnxd_http_services;

typedef struct onnxd_http_server onnxd_http_server;

ONNXD_NODISCARD onnxd_status *onnxd_http_server_create(uv_loop_t *loop,
                                                       const onnxd_http_options *options,
                                                       const onnxd_http_services *services,
                                                       onnxd_http_server **out_server);
/* "127.0.0.1:8000", "[::1]:8000", or "unix:/run/onnxd/http.sock". Port 0 picks a free one. Writes
 * the bound address in the same form. Errors: INVALID_ARGUMENT, UNAVAILABLE with the address. */
ONNXD_NODISCARD onnxd_status *onnxd_http_server_listen(onnxd_http_server *server,
                                                       const char *address, char *out_address,
                                                       size_t capacity);
/* Readiness says 503 at once; the listeners stay open for grace_ms, take what waits to be accepted,
 * then close, as do idle connections; one that has not sent its first byte yet gets a second to do
 * so. Responses carry "Connection: close"; what is in flight is finished. `drained` is called on
 * the loop when no connection is left. */
void onnxd_http_server_drain(onnxd_http_server *server, uint32_t grace_ms,
                             void (*drained)(void *user), void *user);
/* Closes everything at once, cancelling what is in flight; `closed` is called when every handle is
 * closed and every request has come back. */
void onnxd_http_server_close(onnxd_http_server *server, void (*closed)(void *user), void *user);
/* After `closed`. */
void onnxd_http_server_destroy(onnxd_http_server *server);

typedef struct onnxd_http_stats {
    uint64_t accepted, refused, requests, responses_2xx, responses_4xx, responses_5xx;
    uint64_t received_bytes, sent_bytes;
    uint32_t connections, in_flight;
} onnxd_http_stats;
onnxd_http_stats onnxd_http_server_query(const onnxd_http_server *server);

#endif

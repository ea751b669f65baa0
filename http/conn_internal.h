/* The connection's fields, shared by conn.c (life and time), conn_input.c and conn_output.c. */
#ifndef ONNXD_HTTP_CONN_INTERNAL_H
#define ONNXD_HTTP_CONN_INTERNAL_H

#include "http/conn.h"

#define ONNXD_HTTP_PEER_BYTES 16
/* A body has this long before its rate counts. */
#define ONNXD_HTTP_RATE_GRACE_MS 10000

/* What the input side waits for; each has its time limit. */
typedef enum onnxd_http_input_phase {
    ONNXD_HTTP_INPUT_FIRST, /* the first byte after the accept */
    ONNXD_HTTP_INPUT_IDLE,  /* the first byte of a further request */
    ONNXD_HTTP_INPUT_HEAD,
    ONNXD_HTTP_INPUT_BODY,
    ONNXD_HTTP_INPUT_BUSY,  /* nothing: requests are being worked on */
    ONNXD_HTTP_INPUT_LINGER /* the peer's end; what it sends is dropped */
} onnxd_http_input_phase;

struct onnxd_http_conn {
    onnxd_http_conn *next, *previous;           /* in the server's list */
    onnxd_http_conn *peer_next, *peer_previous; /* in the server's bucket for the peer */
    onnxd_http_server *server;
    onnxd_http_transport *transport;
    onnxd_http_parser *parser;
    onnxd_fifo queue;               /* exchanges in order; the last may be the one being received */
    onnxd_http_exchange *receiving; /* NULL between messages */
    onnxd_strbuf held;              /* input that came before reading paused */
    size_t held_position;           /* how much of it is parsed */
    onnxd_http_input_phase phase;
    bool has_peer, is_turned_away;
    bool is_reading, is_parsing;
    bool is_deaf;    /* nothing more is parsed */
    bool has_ended;  /* the peer has ended its side */
    bool is_writing; /* the transport has a write pending */
    bool is_sending_continue;
    bool is_closing;
    uint64_t opened_ms, input_due_ms, write_due_ms;
    uint64_t rate_started_ms, rate_base_bytes; /* what the rate of a body is measured from */
    uint64_t lingered_bytes;
    size_t write_pending_bytes; /* at the last look */
    uv_buf_t continue_buffer;
    uint32_t request_count;
    unsigned char peer[ONNXD_HTTP_PEER_BYTES];
};

uint64_t onnxd_http_conn_now(const onnxd_http_conn *conn);
/* Sets the phase and the time at which it has taken too long (0: never). */
void onnxd_http_conn_enter(onnxd_http_conn *conn, onnxd_http_input_phase phase,
                           uint32_t timeout_ms);
void onnxd_http_conn_close(onnxd_http_conn *conn, bool resets);
/* Starts or stops reading as the state asks, parses what is held, enters the phase that fits. */
void onnxd_http_conn_resume_input(onnxd_http_conn *conn);
/* Answers a message that cannot be read on: with this response the connection ends. Status 0: with
 * the answer that the exchange has already. */
void onnxd_http_conn_refuse(onnxd_http_conn *conn, int http_status, const char *message);
/* No request has begun and nothing that is to be parsed waits. */
bool onnxd_http_conn_is_idle(const onnxd_http_conn *conn);
/* Ends our side; the peer gets a moment to read what was sent before the connection goes. Nothing
 * more is parsed. */
void onnxd_http_conn_linger(onnxd_http_conn *conn);
/* Sends what is ready, in order. */
void onnxd_http_conn_flush(onnxd_http_conn *conn);

#endif

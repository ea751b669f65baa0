/* The server's fields, shared within the folder. */
#ifndef ONNXD_HTTP_SERVER_INTERNAL_H
#define ONNXD_HTTP_SERVER_INTERNAL_H

#include "base/mailbox.h"
#include "http/conn.h"

#define ONNXD_HTTP_READ_BYTES 65536
#define ONNXD_HTTP_PEER_BUCKETS 256
#define ONNXD_HTTP_ACCEPT_RETRY_MS 100
#define ONNXD_HTTP_SPARE_EXCHANGES 64

typedef struct onnxd_http_listener onnxd_http_listener;

struct onnxd_http_server {
    uv_loop_t *loop;
    onnxd_http_options options;
    onnxd_http_services services;
    onnxd_http_stats stats;

    onnxd_http_listener *listeners;
    onnxd_http_conn *conns; /* newest first */
    onnxd_http_conn *peers[ONNXD_HTTP_PEER_BUCKETS];
    uint32_t turned_away_count; /* of `conns`: beyond the limits, told so and about to go */
    onnxd_link *spares;         /* exchanges that can be used again, the last one used first */
    uint32_t spare_count;
    size_t kept_bytes; /* large buffers of the spares */
    uint32_t live_exchange_count;
    uint64_t inflight_bytes;

    onnxd_mailbox mailbox; /* requests that the scheduler is done with */
    uv_async_t async;
    uv_timer_t timer;           /* the earliest thing that is due on any connection */
    uint64_t timer_due_ms;      /* UINT64_MAX: not armed */
    int64_t clock_offset_ms;    /* the loop's time less that of onnxd_now_ns() */
    uv_timer_t drain_timer;     /* the end of the grace time */
    uint32_t open_handle_count; /* async, timers, listeners */

    bool is_draining, is_closing, has_closed_listeners;
    void (*drained)(void *user);
    void *drained_user;
    void (*closed)(void *user);
    void *closed_user;

    int64_t date_epoch_s; /* of `date` */
    char date[ONNXD_HTTP_DATE_BYTES];
    char read_buffer[ONNXD_HTTP_READ_BYTES]; /* reads are used up before the next one */
};

/* Makes sure that connections are looked at no later than `due_ms`. */
void onnxd_http_server_arm(onnxd_http_server *server, uint64_t due_ms);
/* Looks at every connection: what the timer does, at a time of the caller's choice. */
void onnxd_http_server_tick(onnxd_http_server *server, uint64_t now_ms);
/* The first millisecond of the loop's time behind a time of onnxd_now_ns(). */
uint64_t onnxd_http_server_loop_ms(const onnxd_http_server *server, int64_t time_ns);
const char *onnxd_http_server_date(onnxd_http_server *server);
/* A connection or an exchange has ended; drained and closed may have come true. */
void onnxd_http_server_check_ended(onnxd_http_server *server);

/* listener.c */
void onnxd_http_listeners_close(onnxd_http_server *server);
/* Takes what the kernel holds for the listeners, which closing them would reset. */
void onnxd_http_listeners_accept_rest(onnxd_http_server *server);
void onnxd_http_listeners_free(onnxd_http_server *server);
/* Tries again where a connection waits that could not be taken for lack of memory. Returns whether
 * there still is one. */
bool onnxd_http_listeners_retry(onnxd_http_server *server);

/* transport_uv.c: accepts from `listener` (an uv_stream_t that has a connection waiting) and opens
 * a connection, or answers 503 and closes where a limit is reached. False when the connection
 * still waits: there was no memory to take it. */
ONNXD_NODISCARD bool onnxd_http_accept(onnxd_http_server *server, uv_stream_t *listener,
                                       bool is_unix);
/* Does so with every connection that waits, without a turn of the loop. */
void onnxd_http_accept_rest(onnxd_http_server *server, const uv_stream_t *listener, bool is_unix);

#endif

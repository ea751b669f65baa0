/*
 * A connection: reads, cuts requests, keeps their exchanges in order, writes the responses, and
 * ends when it should.
 *
 * Reading pauses while max_pipelined exchanges wait or while a response waits for the socket: a
 * peer that does not read is not read from. What had arrived by then is held, at most one read's
 * worth. After a framing error, and after any response that says "Connection: close", nothing more
 * is parsed: the connection sends the response, shuts its side down and reads on for a little (so
 * that the response is not lost to a reset), then closes.
 *
 * When the peer ends its side while a request is being worked on, it counts as gone: the request is
 * cancelled and the connection closed.
 *
 * Threads: the loop.
 */
#ifndef ONNXD_HTTP_CONN_H
#define ONNXD_HTTP_CONN_H

#include "http/exchange.h"
#include "http/transport.h"

/* Takes over the transport, which it starts to read, and which it closes in the end. The peer's
 * address is for the limit per address; NULL where there is none. On failure the transport stays
 * with the caller. */
ONNXD_NODISCARD onnxd_status *onnxd_http_conn_open(onnxd_http_server *server,
                                                   onnxd_http_transport *transport,
                                                   const onnxd_http_span *peer,
                                                   onnxd_http_conn **out_conn);
/* Answers 503 at once, whatever the peer sends, and ends the connection, which does not count for
 * the limits of connections. To be called first, if at all. */
void onnxd_http_conn_turn_away(onnxd_http_conn *conn);
/* Connections of that peer, counted up to `limit`. */
uint32_t onnxd_http_conn_count_peer(const onnxd_http_server *server, onnxd_http_span peer,
                                    uint32_t limit);

/* The next of the server's connections; NULL at the end. */
onnxd_http_conn *onnxd_http_conn_next(const onnxd_http_conn *conn);

/* From the transport. */
void onnxd_http_conn_received(onnxd_http_conn *conn, const char *data, size_t length);
void onnxd_http_conn_ended(onnxd_http_conn *conn);
void onnxd_http_conn_failed(onnxd_http_conn *conn);
void onnxd_http_conn_written(onnxd_http_conn *conn, bool is_ok);
void onnxd_http_conn_closed(onnxd_http_conn *conn); /* frees it */

/* An exchange of this connection was answered. */
void onnxd_http_conn_answered(onnxd_http_conn *conn);

/* Acts on what is due at `now_ms` and returns when to look again; UINT64_MAX: never. */
uint64_t onnxd_http_conn_tick(onnxd_http_conn *conn, uint64_t now_ms);
/* Closes at once, cancelling what is in flight. */
void onnxd_http_conn_abort(onnxd_http_conn *conn);
/* Closes between requests; otherwise the connection ends with its last response. A connection that
 * has not sent a byte gets a moment to do so. */
void onnxd_http_conn_drain(onnxd_http_conn *conn);

#endif

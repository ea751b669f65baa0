/*
 * What carries a connection's bytes. The socket transport is one implementation, the tests'
 * loopback another: everything above can be driven without sockets.
 *
 * The transport calls onnxd_http_conn_received(), _ended(), _failed(), _written() and _closed() of
 * its connection (conn.h); the connection calls the operations below. Nothing is called back from
 * within an operation.
 *
 * Threads: the loop.
 */
#ifndef ONNXD_HTTP_TRANSPORT_H
#define ONNXD_HTTP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

typedef struct onnxd_http_transport onnxd_http_transport;
typedef struct onnxd_http_conn onnxd_http_conn;

typedef enum onnxd_http_write_result {
    ONNXD_HTTP_WRITE_DONE,    /* everything was handed over */
    ONNXD_HTTP_WRITE_PENDING, /* onnxd_http_conn_written() follows */
    ONNXD_HTTP_WRITE_FAILED   /* the peer is gone */
} onnxd_http_write_result;

typedef struct onnxd_http_transport_ops {
    void (*read_start)(onnxd_http_transport *transport);
    void (*read_stop)(onnxd_http_transport *transport);
    /* One at a time. The bytes and the array stay valid until it is done; the array may be
     * changed. */
    onnxd_http_write_result (*write)(onnxd_http_transport *transport, uv_buf_t *buffers,
                                     unsigned count);
    /* Of the pending write; what the progress of a send is measured by. */
    size_t (*pending_bytes)(const onnxd_http_transport *transport);
    /* No more will be written; reading goes on. */
    void (*shutdown)(onnxd_http_transport *transport);
    /* Ends it, with a reset where the peer should notice at once. onnxd_http_conn_closed() follows,
     * after which the connection no longer touches the transport. */
    void (*close)(onnxd_http_transport *transport, bool resets);
} onnxd_http_transport_ops;

struct onnxd_http_transport {
    const onnxd_http_transport_ops *ops;
    onnxd_http_conn *conn; /* set by onnxd_http_conn_open() */
};

#endif

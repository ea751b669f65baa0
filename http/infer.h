/*
 * The part of an exchange that belongs to an inference request, and its journey:
 *
 *   begin ─► decode (here, or on a work thread) ─► submit ─► scheduler ─► mailbox ─► received
 *         ─► encode (here, or on a work thread) ─► response
 *
 * While a codec job runs, request, call, status and blobs are its, and the exchange's arena and
 * response.
 *
 * The exchange holds one reference for the scheduler and one for a job on a work thread, so a
 * client that goes away, or a deadline that passes, ends the answer but never the memory in use.
 */
#ifndef ONNXD_HTTP_INFER_H
#define ONNXD_HTTP_INFER_H

#include <uv.h>

#include "http/server.h"

typedef struct onnxd_http_exchange onnxd_http_exchange;

typedef struct onnxd_http_output {
    uint32_t index; /* of the model's output */
    bool is_binary;
} onnxd_http_output;

/* What decoding finds in a request besides the inputs. */
typedef struct onnxd_http_call {
    const char *id; /* decoded, within the body; not NUL-terminated */
    size_t id_bytes;
    uint64_t timeout_us;        /* 0: not given */
    bool prefers_binary;        /* parameters.binary_data_output */
    onnxd_http_output *outputs; /* in the order of the response; in the exchange's arena */
    uint32_t output_count;
} onnxd_http_call;

typedef struct onnxd_http_infer {
    onnxd_model *model;     /* retained through the store */
    onnxd_request *request; /* NULL until decoding starts */
    onnxd_http_call call;
    onnxd_status *status;    /* of the codec job that has ended */
    int64_t begun_ns;        /* when the whole request was there; deadlines count from here */
    bool is_submitted;       /* the request is the scheduler's */
    onnxd_strbuf blobs;      /* BYTES outputs in their binary form */
    uint64_t foreseen_bytes; /* of the response, charged before it was made */
    uv_work_t work;
} onnxd_http_infer;

/* The whole body has been received and the route's captures are set. */
void onnxd_http_infer_begin(onnxd_http_exchange *exchange);
/* The scheduler is done with the request: taken from the mailbox. */
void onnxd_http_infer_received(onnxd_request *request);
/* Nobody waits for the answer any more. */
void onnxd_http_infer_cancel(onnxd_http_exchange *exchange);
/* The answer is made: counts it in the model's statistics, if there is a model. */
void onnxd_http_infer_count(const onnxd_http_exchange *exchange);
/* Gives back model and request; nothing is in flight. */
void onnxd_http_infer_reset(onnxd_http_exchange *exchange);

#endif

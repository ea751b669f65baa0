/*
 * A response being made: status, a few fields, a text body and, behind it, parts that lie elsewhere
 * (binary tensors). The head has a fixed size and the body of an error may be static, so that an
 * answer can be given even when memory is short.
 *
 * Threads: whoever holds the exchange.
 */
#ifndef ONNXD_HTTP_RESPONSE_H
#define ONNXD_HTTP_RESPONSE_H

#include <uv.h>

#include "base/strbuf.h"
#include "http/head.h"

#define ONNXD_HTTP_RESPONSE_HEAD_BYTES 512
#define ONNXD_HTTP_DATE_BYTES 32
/* Of a message in an error's body. */
#define ONNXD_HTTP_MAX_ERROR_BYTES 1024

typedef struct onnxd_http_response {
    int status;
    const char *content_type; /* static */
    onnxd_strbuf text;        /* the body, or its first part */
    const char *fixed_text;   /* static; sent in place of `text` when not NULL */
    /* The buffers to send. [0] and [1] are for head and text and are set when the response is
     * sent; the rest belongs to the handler. NULL: only head and text. */
    uv_buf_t *buffers;
    unsigned buffer_count; /* with [0] and [1] */
    uint64_t part_bytes;   /* of buffers[2..) */
    bool has_json_length;  /* send Inference-Header-Content-Length: the length of `text` */
    uint32_t allowed;      /* set of methods, bit n = onnxd_http_method n; 0: no Allow field */
    uint32_t retry_after_s;
    bool names_encodings; /* send Accept-Encoding: identity */
    bool closes;          /* the connection ends with this response */
    uv_buf_t own_buffers[2];
    char head[ONNXD_HTTP_RESPONSE_HEAD_BYTES];
} onnxd_http_response;

/* The text's memory is kept. */
void onnxd_http_response_reset(onnxd_http_response *response);
/* Makes it {"error": message}, cut where it would be too long. */
void onnxd_http_response_set_error(onnxd_http_response *response, int status, const char *message);

/* Cuts the file names in a message, as base/path.h writes them (file '/a/b/c'), to their last
 * component, in place: where files lie is nothing for clients. */
void onnxd_http_hide_paths(char *message);

typedef struct onnxd_http_response_context {
    const char *date;     /* "Sun, 06 Nov 1994 08:49:37 GMT" */
    bool is_head_request; /* fields of the body, but no body */
    bool asked_http_1_0;  /* keeping the connection must be said */
} onnxd_http_response_context;
/* Sets buffers[0] and buffers[1]. Returns the buffers to send and their count. */
uv_buf_t *onnxd_http_response_seal(onnxd_http_response *response,
                                   const onnxd_http_response_context *context, unsigned *out_count);
/* Body bytes held for the response. */
uint64_t onnxd_http_response_body_bytes(const onnxd_http_response *response);

/* Formats seconds since the epoch as an HTTP date, whatever the locale. */
void onnxd_http_format_date(int64_t epoch_s, char buffer[ONNXD_HTTP_DATE_BYTES]);

#endif

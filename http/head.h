/*
 * The head of a request: request line and header fields.
 *
 * Two steps. The scan takes bytes as they come and finds where the head ends; it is a byte
 * automaton, so what it says does not depend on how the bytes were split. The parse then reads the
 * complete text and keeps the few facts that the server acts on. Both are stricter than RFC 9112
 * asks a recipient to be: whatever two servers could read differently is refused.
 *
 * Refused here: bare CR or LF, control characters, line folding, white space before a colon, a
 * missing or doubled Host, doubled or malformed Content-Length, any Transfer-Encoding but the one
 * value "chunked", both of them together, Transfer-Encoding in HTTP/1.0, Upgrade, unknown methods
 * and versions, targets that are not in origin or absolute form.
 *
 * Threads: the loop. Nothing allocates.
 */
#ifndef ONNXD_HTTP_HEAD_H
#define ONNXD_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "http/fault.h"
#include "http/server.h"

/* X(name): the methods that the router knows. Others end with 501. */
#define ONNXD_HTTP_METHOD_TABLE(X)                                                                 \
    X(GET)                                                                                         \
    X(HEAD)                                                                                        \
    X(POST)                                                                                        \
    X(PUT)                                                                                         \
    X(DELETE)                                                                                      \
    X(PATCH)                                                                                       \
    X(OPTIONS)                                                                                     \
    X(TRACE)

typedef enum onnxd_http_method {
#define ONNXD_HTTP_METHOD_ENUM(name) ONNXD_HTTP_##name,
    ONNXD_HTTP_METHOD_TABLE(ONNXD_HTTP_METHOD_ENUM)
#undef ONNXD_HTTP_METHOD_ENUM
        ONNXD_HTTP_METHOD_COUNT
} onnxd_http_method;
const char *onnxd_http_method_name(onnxd_http_method method);

typedef struct onnxd_http_head {
    onnxd_http_method method;
    unsigned minor_version; /* of HTTP/1: 0 or 1 */
    onnxd_http_span path;   /* without authority and query; raw, starts with '/' (or is "*") */
    onnxd_http_span host;
    bool has_host;
    bool is_chunked;
    bool has_length;
    uint64_t length; /* Content-Length; 0 without one */
    bool keeps_alive;
    bool expects_continue;
    bool is_encoded;      /* Content-Encoding other than identity */
    bool has_json_length; /* Inference-Header-Content-Length */
    uint64_t json_length;
} onnxd_http_head;

typedef struct onnxd_http_head_scan {
    uint8_t state;
    bool is_done;
    uint32_t line_bytes, header_bytes, field_count;
} onnxd_http_head_scan;

/* All zero is the start. Returns how many of `length` bytes belong to the head; stops behind its
 * last byte (is_done) or at the byte that made it invalid (*out_fault). */
size_t onnxd_http_head_scan_feed(onnxd_http_head_scan *scan, const onnxd_http_options *options,
                                 const char *data, size_t length, onnxd_http_fault *out_fault);

/* `text` is a complete head as the scan delimits it; spans in *out_head point into it. */
ONNXD_NODISCARD onnxd_http_fault onnxd_http_head_parse(const char *text, size_t length,
                                                       onnxd_http_head *out_head);

/* Digits only, at most 19 of them: the one integer form that headers may carry. */
ONNXD_NODISCARD bool onnxd_http_parse_length(onnxd_http_span text, uint64_t *out_value);
bool onnxd_http_span_is(onnxd_http_span span, const char *text); /* ASCII case ignored */
bool onnxd_http_is_token_char(char c);                           /* RFC 9110 tchar */

#endif

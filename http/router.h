/*
 * The router: one table, routes.inc, for every listener. What is not in it does not exist.
 *
 * Static segments are compared with the raw path (an encoded spelling of them is another path);
 * captured segments are percent-decoded. There is no normalisation: "//", "/./" and a trailing
 * slash are just other paths.
 *
 * Threads: any.
 */
#ifndef ONNXD_HTTP_ROUTER_H
#define ONNXD_HTTP_ROUTER_H

#include "base/arena.h"
#include "http/head.h"

typedef struct onnxd_http_exchange onnxd_http_exchange;

typedef enum onnxd_http_body_class {
    ONNXD_HTTP_BODY_NONE,    /* none is used; a small one is tolerated */
    ONNXD_HTTP_BODY_CONTROL, /* up to http.max_control_body_bytes of JSON */
    ONNXD_HTTP_BODY_INFER
} onnxd_http_body_class;

/* Answers the exchange, at once or later. */
typedef void (*onnxd_http_handler)(onnxd_http_exchange *exchange);

#define ONNXD_HTTP_MAX_CAPTURES 2

typedef struct onnxd_http_route {
    onnxd_http_method method;
    const char *pattern;        /* "/v2/models/{}/ready"; "{}" takes one segment, a last "**" all */
    onnxd_http_handler handler; /* NULL: a feature that is refused by name */
    onnxd_http_body_class body;
    const char *feature; /* for the refusal */
} onnxd_http_route;

typedef struct onnxd_http_match {
    const onnxd_http_route *route; /* NULL: none */
    uint32_t allowed; /* methods that the path has, when the method is not among them */
    onnxd_http_span captures[ONNXD_HTTP_MAX_CAPTURES]; /* raw */
    unsigned capture_count;
} onnxd_http_match;

/* HEAD is GET without a body. */
onnxd_http_match onnxd_http_router_find(onnxd_http_method method, onnxd_http_span path);

/* Decodes a captured segment into the arena. Errors: INVALID_ARGUMENT for control characters or
 * bytes that are not UTF-8, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_http_decode_segment(onnxd_http_span segment, onnxd_arena *arena,
                                                        onnxd_http_span *out_text);

/* For tests and documentation: every row. */
const onnxd_http_route *onnxd_http_routes(size_t *out_count);

#endif

/*
 * The request parser: cuts a stream of bytes into heads, body spans and message ends.
 *
 * Every byte goes through two readers: the scans of head.h and chunked.h, which are strict, and
 * llhttp. A message on which they disagree (where it ends, how long its body is, which method it
 * has) is refused, so that a laxity of the packaged llhttp cannot be used to smuggle a request.
 * Chunk extensions and trailer fields are checked by the scan alone, and dropped. This is the only
 * user of llhttp; none of its lenient flags is ever set.
 *
 * Threads: the loop.
 */
#ifndef ONNXD_HTTP_PARSER_H
#define ONNXD_HTTP_PARSER_H

#include "base/strbuf.h"
#include "http/head.h"

typedef struct onnxd_http_parser onnxd_http_parser;

typedef enum onnxd_http_event {
    ONNXD_HTTP_EVENT_MORE,     /* all input was used, the message is not complete */
    ONNXD_HTTP_EVENT_HEAD,     /* *head is valid for as long as head_text is untouched */
    ONNXD_HTTP_EVENT_BODY,     /* *out_body: the next bytes of the body, within the input */
    ONNXD_HTTP_EVENT_COMPLETE, /* the message is complete; further input belongs to the next */
    ONNXD_HTTP_EVENT_FAULT /* *out_fault; framing is lost and the parser must not be used again */
} onnxd_http_event;

ONNXD_NODISCARD onnxd_status *onnxd_http_parser_create(const onnxd_http_options *options,
                                                       onnxd_http_parser **out_parser);
void onnxd_http_parser_destroy(onnxd_http_parser *parser);

/* Between two messages: takes the one empty line that may stand before a request line from the
 * front of *input. What is left starts a message. */
ONNXD_NODISCARD onnxd_http_fault onnxd_http_parser_skip_blank_line(onnxd_http_parser *parser,
                                                                   onnxd_http_span *input);
/* Starts a message. `head_text` is empty and takes the head; both stay until its end. */
void onnxd_http_parser_begin(onnxd_http_parser *parser, onnxd_strbuf *head_text,
                             onnxd_http_head *head);
/* Uses bytes from the front of *input up to the next event. To be called until it says MORE, also
 * with empty input. */
ONNXD_NODISCARD onnxd_http_event onnxd_http_parser_next(onnxd_http_parser *parser,
                                                        onnxd_http_span *input,
                                                        onnxd_http_span *out_body,
                                                        onnxd_http_fault *out_fault);

#endif

#include "http/parser.h"

#include <string.h>

#include <llhttp.h>

#include "base/alloc.h"
#include "http/chunked.h"

enum { IN_HEAD, IN_LENGTH_BODY, IN_CHUNKED_BODY, AT_END, BROKEN };
enum { BLANK_NONE, BLANK_CR, BLANK_DONE };

struct onnxd_http_parser {
    llhttp_t llhttp;
    const onnxd_http_options *options;
    onnxd_strbuf *head_text; /* of the message being read */
    onnxd_http_head *head;
    uint8_t state, blank;
    uint64_t remaining; /* IN_LENGTH_BODY */
    union {
        onnxd_http_head_scan head;
        onnxd_http_chunk_scan chunks;
    } scan;
    /* what llhttp reported since the last look */
    uint64_t seen_body_bytes;
    bool seen_head, seen_end;
    onnxd_http_head seen; /* method, version and framing as llhttp read them */
};

/* -- llhttp ------------------------------------------------------------------------------------ */

static int on_headers_complete(llhttp_t *llhttp)
{
    onnxd_http_parser *parser = llhttp->data;
    const char *method = llhttp_method_name((llhttp_method_t)llhttp->method);
    parser->seen_head = true;
    /* To be kept here: llhttp clears its flags at the end of the message. */
    parser->seen = (onnxd_http_head){
        .method = strcmp(method, onnxd_http_method_name(parser->head->method)) == 0
                      ? parser->head->method
                      : ONNXD_HTTP_METHOD_COUNT,
        .minor_version = llhttp->http_minor,
        .is_chunked = (llhttp->flags & F_CHUNKED) != 0,
        .has_length = (llhttp->flags & F_CONTENT_LENGTH) != 0,
        .length = llhttp->content_length,
    };
    return 0;
}

static int on_body(llhttp_t *llhttp, const char *data, size_t length)
{
    (void)data;
    onnxd_http_parser *parser = llhttp->data;
    parser->seen_body_bytes += length;
    return 0;
}

static int on_message_complete(llhttp_t *llhttp)
{
    onnxd_http_parser *parser = llhttp->data;
    parser->seen_end = true;
    return 0;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static const onnxd_http_fault malformed = {400, "the request is malformed"};

/* Gives llhttp a piece and checks that it takes it for what the scans took it for: `body_bytes` of
 * body, and the end of the message or not. */
static bool llhttp_agrees(onnxd_http_parser *parser, onnxd_http_span piece, uint64_t body_bytes,
                          bool is_end)
{
    parser->seen_body_bytes = 0;
    return llhttp_execute(&parser->llhttp, piece.data, piece.size) == HPE_OK &&
           parser->seen_body_bytes == body_bytes && parser->seen_end == is_end;
}

static bool llhttp_agrees_on_head(onnxd_http_parser *parser, bool has_body)
{
    const onnxd_http_head *head = parser->head;
    onnxd_http_span text = {parser->head_text->data, parser->head_text->length};
    if (!llhttp_agrees(parser, text, 0, !has_body) || !parser->seen_head)
        return false;
    const onnxd_http_head *seen = &parser->seen;
    return seen->method == head->method && seen->minor_version == head->minor_version &&
           seen->is_chunked == head->is_chunked && seen->has_length == head->has_length &&
           (!head->has_length || seen->length == head->length);
}

/* -- messages ---------------------------------------------------------------------------------- */

onnxd_status *onnxd_http_parser_create(const onnxd_http_options *options,
                                       onnxd_http_parser **out_parser)
{
    onnxd_http_parser *parser = onnxd_alloc_zero(1, sizeof(*parser));
    if (parser == NULL)
        return onnxd_error_out_of_memory("a connection's parser", sizeof(*parser), UINT64_MAX);
    llhttp_init(&parser->llhttp, HTTP_REQUEST, &settings);
    parser->llhttp.data = parser;
    parser->options = options;
    parser->state = BROKEN; /* until a message begins */
    *out_parser = parser;
    return NULL;
}

void onnxd_http_parser_destroy(onnxd_http_parser *parser)
{
    onnxd_free(parser);
}

static void take(onnxd_http_span *input, size_t bytes)
{
    input->data += bytes;
    input->size -= bytes;
}

onnxd_http_fault onnxd_http_parser_skip_blank_line(onnxd_http_parser *parser,
                                                   onnxd_http_span *input)
{
    while (input->size > 0 && parser->blank != BLANK_DONE) {
        char c = input->data[0];
        if (parser->blank == BLANK_NONE && c != '\r') {
            parser->blank = BLANK_DONE;
            break;
        }
        if (parser->blank == BLANK_CR && c != '\n')
            return malformed;
        parser->blank++;
        take(input, 1);
    }
    return (onnxd_http_fault){0};
}

void onnxd_http_parser_begin(onnxd_http_parser *parser, onnxd_strbuf *head_text,
                             onnxd_http_head *head)
{
    llhttp_reset(&parser->llhttp);
    parser->head_text = head_text;
    parser->head = head;
    parser->state = IN_HEAD;
    parser->blank = BLANK_NONE;
    parser->seen_head = parser->seen_end = false;
    memset(&parser->scan, 0, sizeof(parser->scan));
}

static onnxd_http_event broken(onnxd_http_parser *parser, onnxd_http_fault fault,
                               onnxd_http_fault *out_fault)
{
    parser->state = BROKEN;
    *out_fault = fault;
    return ONNXD_HTTP_EVENT_FAULT;
}

static onnxd_http_event next_in_head(onnxd_http_parser *parser, onnxd_http_span *input,
                                     onnxd_http_fault *out_fault)
{
    onnxd_http_fault fault = {0};
    size_t used = onnxd_http_head_scan_feed(&parser->scan.head, parser->options, input->data,
                                            input->size, &fault);
    if (fault.status != 0)
        return broken(parser, fault, out_fault);
    onnxd_strbuf_append(parser->head_text, input->data, used);
    take(input, used);
    if (parser->head_text->failed)
        return broken(parser, (onnxd_http_fault){503, "out of memory"}, out_fault);
    if (!parser->scan.head.is_done)
        return ONNXD_HTTP_EVENT_MORE;
    fault = onnxd_http_head_parse(parser->head_text->data, parser->head_text->length, parser->head);
    if (fault.status != 0)
        return broken(parser, fault, out_fault);
    bool has_body = parser->head->is_chunked || parser->head->length > 0;
    if (!llhttp_agrees_on_head(parser, has_body))
        return broken(parser, malformed, out_fault);
    memset(&parser->scan, 0, sizeof(parser->scan));
    parser->remaining = parser->head->length;
    parser->state = AT_END;
    if (has_body)
        parser->state = parser->head->is_chunked ? IN_CHUNKED_BODY : IN_LENGTH_BODY;
    return ONNXD_HTTP_EVENT_HEAD;
}

static onnxd_http_event next_in_length_body(onnxd_http_parser *parser, onnxd_http_span *input,
                                            onnxd_http_span *out_body, onnxd_http_fault *out_fault)
{
    size_t used = parser->remaining < input->size ? (size_t)parser->remaining : input->size;
    if (used == 0)
        return ONNXD_HTTP_EVENT_MORE;
    onnxd_http_span piece = {input->data, used};
    parser->remaining -= used;
    if (!llhttp_agrees(parser, piece, used, parser->remaining == 0))
        return broken(parser, malformed, out_fault);
    if (parser->remaining == 0)
        parser->state = AT_END;
    take(input, used);
    *out_body = piece;
    return ONNXD_HTTP_EVENT_BODY;
}

static onnxd_http_event next_in_chunks(onnxd_http_parser *parser, onnxd_http_span *input,
                                       onnxd_http_span *out_body, onnxd_http_fault *out_fault)
{
    while (input->size > 0) {
        onnxd_http_chunk_piece kind;
        onnxd_http_fault fault = {0};
        onnxd_http_span piece = {input->data, 0};
        piece.size = onnxd_http_chunk_scan_feed(&parser->scan.chunks, parser->options, input->data,
                                                input->size, &kind, &fault);
        if (fault.status != 0)
            return broken(parser, fault, out_fault);
        bool is_end = parser->scan.chunks.is_done;
        bool is_data = kind == ONNXD_HTTP_CHUNK_DATA;
        /* What means nothing is left out: on extensions, llhttp 8.1.0 changes its mind with the
         * way the bytes were split. */
        if (kind != ONNXD_HTTP_CHUNK_IGNORED &&
            !llhttp_agrees(parser, piece, is_data ? piece.size : 0, is_end))
            return broken(parser, malformed, out_fault);
        take(input, piece.size);
        if (is_end) {
            parser->state = AT_END;
            return onnxd_http_parser_next(parser, input, out_body, out_fault);
        }
        if (is_data) {
            *out_body = piece;
            return ONNXD_HTTP_EVENT_BODY;
        }
    }
    return ONNXD_HTTP_EVENT_MORE;
}

onnxd_http_event onnxd_http_parser_next(onnxd_http_parser *parser, onnxd_http_span *input,
                                        onnxd_http_span *out_body, onnxd_http_fault *out_fault)
{
    switch (parser->state) {
    case IN_HEAD:
        return next_in_head(parser, input, out_fault);
    case IN_LENGTH_BODY:
        return next_in_length_body(parser, input, out_body, out_fault);
    case IN_CHUNKED_BODY:
        return next_in_chunks(parser, input, out_body, out_fault);
    case AT_END:
        parser->state = BROKEN; /* until the next message begins */
        return ONNXD_HTTP_EVENT_COMPLETE;
    default:
        return broken(parser, malformed, out_fault);
    }
}

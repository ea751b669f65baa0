#include "http/chunked.h"

#include "http/head.h"

#define MAX_SIZE_DIGITS 16

enum {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_START,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF
};

static onnxd_http_fault fault(int status, const char *message)
{
    return (onnxd_http_fault){.status = status, .message = message};
}

static onnxd_http_fault no_fault(void)
{
    return (onnxd_http_fault){0};
}

static int hex_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static onnxd_http_fault scan_size(onnxd_http_chunk_scan *scan, const onnxd_http_options *options,
                                  unsigned char c)
{
    int digit = hex_value(c);
    if (digit >= 0) {
        if (scan->digits >= MAX_SIZE_DIGITS)
            return fault(400, "a chunk size has too many digits");
        scan->digits++;
        scan->remaining = scan->remaining << 4 | (uint64_t)digit;
        return no_fault();
    }
    if (scan->digits == 0 || (c != '\r' && c != ';'))
        return fault(400, "a chunk size is not a hexadecimal number");
    if (scan->remaining > options->max_body_bytes)
        return fault(413, "the request body is larger than http.max_body_bytes");
    scan->state = c == ';' ? EXTENSION : SIZE_LF;
    return no_fault();
}

static onnxd_http_fault scan_extension(onnxd_http_chunk_scan *scan, unsigned char c)
{
    if (c == '\r' && !scan->in_quotes) {
        scan->state = SIZE_LF;
        return no_fault();
    }
    if ((c < 0x20 && c != '\t') || c >= 0x7f)
        return fault(400, "a chunk extension holds a character that it may not");
    if (scan->after_backslash)
        scan->after_backslash = false;
    else if (c == '\\' && scan->in_quotes)
        scan->after_backslash = true;
    else if (c == '"')
        scan->in_quotes = !scan->in_quotes;
    return no_fault();
}

static onnxd_http_fault end_size_line(onnxd_http_chunk_scan *scan,
                                      const onnxd_http_options *options, unsigned char c)
{
    if (c != '\n')
        return fault(400, "a chunk size line does not end in CR LF");
    scan->digits = 0;
    if (scan->remaining == 0) {
        scan->state = TRAILER_START;
        return no_fault();
    }
    if (scan->chunk_count >= options->max_chunks)
        return fault(400, "the request body has too many chunks");
    scan->chunk_count++;
    scan->state = DATA;
    return no_fault();
}

/* A trailer must not say anything about framing or routing. */
static bool is_forbidden_trailer(const onnxd_http_chunk_scan *scan)
{
    static const char *const names[] = {"content-length", "transfer-encoding", "host",
                                        "trailer",        "content-encoding",  "connection"};
    onnxd_http_span name = {scan->name, scan->name_length};
    for (size_t i = 0; i < ONNXD_COUNT(names); i++) {
        if (onnxd_http_span_is(name, names[i]))
            return true;
    }
    return false;
}

static onnxd_http_fault scan_trailer_name(onnxd_http_chunk_scan *scan, unsigned char c)
{
    if (c == ':' && scan->name_length > 0) {
        if (is_forbidden_trailer(scan))
            return fault(400, "a trailer field may not change the framing of the message");
        scan->state = TRAILER_VALUE;
        return no_fault();
    }
    if (!onnxd_http_is_token_char((char)c))
        return fault(400, "the name of a trailer field holds a character that it may not");
    if (scan->name_length < ONNXD_HTTP_TRAILER_NAME)
        scan->name[scan->name_length++] = (char)c;
    return no_fault();
}

static onnxd_http_fault scan_trailer_value(onnxd_http_chunk_scan *scan, unsigned char c)
{
    if (c == '\r') {
        scan->state = TRAILER_LF;
        return no_fault();
    }
    if ((c < 0x20 && c != '\t') || c == 0x7f)
        return fault(400, "a trailer field holds a control character");
    return no_fault();
}

static onnxd_http_fault scan_trailer(onnxd_http_chunk_scan *scan, const onnxd_http_options *options,
                                     unsigned char c)
{
    if (scan->trailer_bytes++ >= options->max_trailer_bytes)
        return fault(400, "the trailer fields are too long");
    switch (scan->state) {
    case TRAILER_START:
        if (c == '\r') {
            scan->state = LAST_LF;
            return no_fault();
        }
        scan->name_length = 0;
        scan->state = TRAILER_NAME;
        return scan_trailer_name(scan, c);
    case TRAILER_NAME:
        return scan_trailer_name(scan, c);
    case TRAILER_VALUE:
        return scan_trailer_value(scan, c);
    default:
        if (c != '\n')
            return fault(400, "a trailer line does not end in CR LF");
        scan->is_done = scan->state == LAST_LF;
        scan->state = TRAILER_START;
        return no_fault();
    }
}

static onnxd_http_fault scan_byte(onnxd_http_chunk_scan *scan, const onnxd_http_options *options,
                                  unsigned char c)
{
    switch (scan->state) {
    case SIZE:
    case EXTENSION:
        if (scan->overhead_bytes++ >= options->max_chunk_overhead_bytes)
            return fault(400, "the chunk sizes and extensions are too long");
        return scan->state == SIZE ? scan_size(scan, options, c) : scan_extension(scan, c);
    case SIZE_LF:
        return end_size_line(scan, options, c);
    case DATA_CR:
        scan->state = DATA_LF;
        return c == '\r' ? no_fault() : fault(400, "a chunk is longer than its size says");
    case DATA_LF:
        scan->state = SIZE;
        return c == '\n' ? no_fault() : fault(400, "a chunk does not end in CR LF");
    default:
        return scan_trailer(scan, options, c);
    }
}

static onnxd_http_chunk_piece piece_of(const onnxd_http_chunk_scan *scan, char c)
{
    switch (scan->state) {
    case DATA:
        return ONNXD_HTTP_CHUNK_DATA;
    case SIZE:
        return c == ';' ? ONNXD_HTTP_CHUNK_IGNORED : ONNXD_HTTP_CHUNK_FRAMING;
    case EXTENSION:
        return c == '\r' && !scan->in_quotes ? ONNXD_HTTP_CHUNK_FRAMING : ONNXD_HTTP_CHUNK_IGNORED;
    case TRAILER_START:
        return c == '\r' ? ONNXD_HTTP_CHUNK_FRAMING : ONNXD_HTTP_CHUNK_IGNORED;
    case TRAILER_NAME:
    case TRAILER_VALUE:
    case TRAILER_LF:
        return ONNXD_HTTP_CHUNK_IGNORED;
    default:
        return ONNXD_HTTP_CHUNK_FRAMING;
    }
}

size_t onnxd_http_chunk_scan_feed(onnxd_http_chunk_scan *scan, const onnxd_http_options *options,
                                  const char *data, size_t length,
                                  onnxd_http_chunk_piece *out_piece, onnxd_http_fault *out_fault)
{
    static const char nothing[1];
    *out_piece = piece_of(scan, *(length > 0 ? data : nothing));
    if (scan->state == DATA) {
        size_t bytes = scan->remaining < length ? (size_t)scan->remaining : length;
        scan->remaining -= bytes;
        if (scan->remaining == 0)
            scan->state = DATA_CR;
        return bytes;
    }
    size_t used = 0;
    while (used < length && !scan->is_done && piece_of(scan, data[used]) == *out_piece) {
        onnxd_http_fault found = scan_byte(scan, options, (unsigned char)data[used]);
        if (found.status != 0) {
            *out_fault = found;
            break;
        }
        used++;
    }
    return used;
}

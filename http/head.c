#include "http/head.h"

#include <string.h>
#include <strings.h>

#define MAX_LENGTH_DIGITS 19

const char *onnxd_http_method_name(onnxd_http_method method)
{
    static const char *const names[] = {
#define METHOD_NAME(name) #name,
        ONNXD_HTTP_METHOD_TABLE(METHOD_NAME)
#undef METHOD_NAME
    };
    return names[method];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

bool onnxd_http_is_token_char(char c)
{
    return is_alphanumeric(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
}

bool onnxd_http_span_is(onnxd_http_span span, const char *text)
{
    return strlen(text) == span.size && strncasecmp(span.data, text, span.size) == 0;
}

bool onnxd_http_parse_length(onnxd_http_span text, uint64_t *out_value)
{
    if (text.size == 0 || text.size > MAX_LENGTH_DIGITS)
        return false;
    uint64_t value = 0; /* 19 digits always fit */
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out_value = value;
    return true;
}

static onnxd_http_fault fault(int status, const char *message)
{
    return (onnxd_http_fault){.status = status, .message = message};
}

static onnxd_http_fault no_fault(void)
{
    return (onnxd_http_fault){0};
}

/* -- scan ------------------------------------------------------------------------------------- */

enum { REQUEST_LINE, REQUEST_LINE_LF, FIELD_START, FIELD, FIELD_LF, LAST_LF };

static onnxd_http_fault scan_request_line(onnxd_http_head_scan *scan,
                                          const onnxd_http_options *options, unsigned char c)
{
    if (c == '\r' && scan->line_bytes > 0) {
        scan->state = REQUEST_LINE_LF;
        return no_fault();
    }
    if (c < 0x20 || c >= 0x7f)
        return fault(400, "the request line holds a control or non-ASCII character");
    if (scan->line_bytes >= options->max_request_line_bytes)
        return fault(414, "the request line is too long");
    scan->line_bytes++;
    return no_fault();
}

static onnxd_http_fault scan_field_start(onnxd_http_head_scan *scan,
                                         const onnxd_http_options *options, unsigned char c)
{
    if (c == '\r') {
        scan->state = LAST_LF;
        return no_fault();
    }
    if (c == ' ' || c == '\t')
        return fault(400, "a header field is folded over several lines");
    if (!onnxd_http_is_token_char((char)c))
        return fault(400, "a header field does not start with a name");
    if (scan->field_count >= options->max_header_count)
        return fault(431, "the request has too many header fields");
    scan->field_count++;
    scan->line_bytes = 1;
    scan->state = FIELD;
    return no_fault();
}

static onnxd_http_fault scan_field(onnxd_http_head_scan *scan, const onnxd_http_options *options,
                                   unsigned char c)
{
    if (c == '\r') {
        scan->state = FIELD_LF;
        return no_fault();
    }
    if ((c < 0x20 && c != '\t') || c == 0x7f)
        return fault(400, "a header field holds a control character");
    if (scan->line_bytes >= options->max_header_field_bytes)
        return fault(431, "a header field is too long");
    scan->line_bytes++;
    return no_fault();
}

static onnxd_http_fault scan_byte(onnxd_http_head_scan *scan, const onnxd_http_options *options,
                                  unsigned char c)
{
    if (scan->state >= FIELD_START && scan->header_bytes++ >= options->max_header_bytes)
        return fault(431, "the header fields are too long");
    switch (scan->state) {
    case REQUEST_LINE:
        return scan_request_line(scan, options, c);
    case FIELD_START:
        return scan_field_start(scan, options, c);
    case FIELD:
        return scan_field(scan, options, c);
    default: /* the second half of a CRLF */
        if (c != '\n')
            return fault(400, "a line does not end in CR LF");
        scan->is_done = scan->state == LAST_LF;
        scan->state = FIELD_START;
        return no_fault();
    }
}

size_t onnxd_http_head_scan_feed(onnxd_http_head_scan *scan, const onnxd_http_options *options,
                                 const char *data, size_t length, onnxd_http_fault *out_fault)
{
    size_t used = 0;
    while (used < length && !scan->is_done) {
        onnxd_http_fault found = scan_byte(scan, options, (unsigned char)data[used]);
        if (found.status != 0) {
            *out_fault = found;
            break;
        }
        used++;
    }
    return used;
}

/* -- request line ------------------------------------------------------------------------------ */

static onnxd_http_fault parse_version(onnxd_http_span text, onnxd_http_head *head)
{
    if (text.size != 8 || memcmp(text.data, "HTTP/", 5) != 0 || !is_digit(text.data[5]) ||
        text.data[6] != '.' || !is_digit(text.data[7]))
        return fault(400, "the request line does not end in an HTTP version");
    if (text.data[5] != '1' || text.data[7] > '1')
        return fault(505, "only HTTP/1.0 and HTTP/1.1 are supported");
    head->minor_version = (unsigned)(text.data[7] - '0');
    return no_fault();
}

static onnxd_http_fault parse_method(onnxd_http_span text, onnxd_http_head *head)
{
    for (unsigned i = 0; i < ONNXD_HTTP_METHOD_COUNT; i++) {
        const char *name = onnxd_http_method_name((onnxd_http_method)i);
        if (strlen(name) == text.size && memcmp(name, text.data, text.size) == 0) {
            head->method = (onnxd_http_method)i;
            return no_fault();
        }
    }
    for (size_t i = 0; i < text.size; i++) {
        if (!onnxd_http_is_token_char(text.data[i]))
            return fault(400, "the method is not a token");
    }
    return text.size == 0 ? fault(400, "the request line has no method")
                          : fault(501, "the method is not supported");
}

/* What RFC 3986 allows in a path (and '?' query), percent signs checked for two hex digits. */
static bool is_path_and_query(onnxd_http_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '%') {
            if (text.size - i < 3 || !is_hex(text.data[i + 1]) || !is_hex(text.data[i + 2]))
                return false;
            i += 2;
        } else if (!is_alphanumeric(c) && !is_one_of(c, "-._~!$&'()*+,;=:@/?")) {
            return false;
        }
    }
    return true;
}

/* Sets head->host to the authority of an absolute target, so that the Host field can be compared.
 */
static onnxd_http_fault parse_target(onnxd_http_span text, onnxd_http_head *head)
{
    static const char scheme[] = "http://";
    size_t scheme_size = sizeof(scheme) - 1;
    head->path = text;
    if (head->method == ONNXD_HTTP_OPTIONS && text.size == 1 && text.data[0] == '*')
        return no_fault();
    if (text.size > scheme_size && strncasecmp(text.data, scheme, scheme_size) == 0) {
        size_t end = scheme_size;
        while (end < text.size && text.data[end] != '/' && text.data[end] != '?')
            end++;
        head->host = (onnxd_http_span){text.data + scheme_size, end - scheme_size};
        head->path = (onnxd_http_span){text.data + end, text.size - end};
    }
    if (head->path.size == 0 || head->path.data[0] != '/')
        return fault(400, "the request target is not a path");
    if (!is_path_and_query(head->path))
        return fault(400, "the request target holds a character that a URI may not");
    const char *query = memchr(head->path.data, '?', head->path.size);
    if (query != NULL)
        head->path.size = (size_t)(query - head->path.data);
    return no_fault();
}

static onnxd_http_fault parse_request_line(onnxd_http_span line, onnxd_http_head *head)
{
    const char *first = memchr(line.data, ' ', line.size);
    const char *last = memrchr(line.data, ' ', line.size);
    if (first == NULL || first == last)
        return fault(400, "the request line is not METHOD TARGET VERSION");
    const char *end = line.data + line.size;
    onnxd_http_span version = {last + 1, (size_t)(end - last - 1)};
    onnxd_http_span method = {line.data, (size_t)(first - line.data)};
    onnxd_http_span target = {first + 1, (size_t)(last - first - 1)};
    onnxd_http_fault found = parse_version(version, head);
    if (found.status == 0)
        found = parse_method(method, head);
    if (found.status == 0)
        found = parse_target(target, head);
    return found;
}

/* -- fields ------------------------------------------------------------------------------------ */

typedef struct field_state {
    onnxd_http_head *head;
    onnxd_http_span authority; /* of an absolute target; size 0: none */
    bool says_close, says_keep_alive, has_transfer_encoding;
} field_state;

/* uri-host [ ":" port ]. Commas are left out of what a name may hold: they are how a proxy joins
 * two Host fields. */
static bool is_valid_host(onnxd_http_span text)
{
    size_t i = 0;
    if (text.size > 0 && text.data[0] == '[') {
        i = 1;
        while (i < text.size && (is_hex(text.data[i]) || is_one_of(text.data[i], ":.")))
            i++;
        if (i == 1 || i == text.size || text.data[i] != ']')
            return false;
        i++;
    } else {
        while (i < text.size &&
               (is_alphanumeric(text.data[i]) || is_one_of(text.data[i], "-._~%!$&'()*+;=")))
            i++;
    }
    if (i == text.size)
        return true;
    if (text.data[i] != ':' || text.size - i > 6)
        return false;
    for (i++; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return false;
    }
    return true;
}

static onnxd_http_fault take_host(field_state *state, onnxd_http_span value)
{
    if (state->head->has_host)
        return fault(400, "the request has more than one Host field");
    if (!is_valid_host(value))
        return fault(400, "the Host field is not a host name with an optional port");
    state->head->has_host = true;
    state->head->host = value;
    return no_fault();
}

static onnxd_http_fault take_content_length(field_state *state, onnxd_http_span value)
{
    if (state->head->has_length)
        return fault(400, "the request has more than one Content-Length field");
    if (!onnxd_http_parse_length(value, &state->head->length))
        return fault(400, "Content-Length is not a decimal number");
    state->head->has_length = true;
    return no_fault();
}

static onnxd_http_fault take_transfer_encoding(field_state *state, onnxd_http_span value)
{
    if (state->has_transfer_encoding)
        return fault(400, "the request has more than one Transfer-Encoding field");
    if (!onnxd_http_span_is(value, "chunked"))
        return fault(400, "the only Transfer-Encoding allowed is \"chunked\"");
    state->has_transfer_encoding = true;
    state->head->is_chunked = true;
    return no_fault();
}

static onnxd_http_span trim(onnxd_http_span text)
{
    while (text.size > 0 && is_one_of(text.data[0], " \t"))
        text = (onnxd_http_span){text.data + 1, text.size - 1};
    while (text.size > 0 && is_one_of(text.data[text.size - 1], " \t"))
        text.size--;
    return text;
}

static onnxd_http_fault take_connection(field_state *state, onnxd_http_span value)
{
    while (value.size > 0) {
        const char *comma = memchr(value.data, ',', value.size);
        size_t size = comma != NULL ? (size_t)(comma - value.data) : value.size;
        onnxd_http_span item = trim((onnxd_http_span){value.data, size});
        state->says_close = state->says_close || onnxd_http_span_is(item, "close");
        state->says_keep_alive = state->says_keep_alive || onnxd_http_span_is(item, "keep-alive");
        size_t step = comma != NULL ? size + 1 : size;
        value = (onnxd_http_span){value.data + step, value.size - step};
    }
    return no_fault();
}

static onnxd_http_fault take_expect(field_state *state, onnxd_http_span value)
{
    if (!onnxd_http_span_is(value, "100-continue"))
        return fault(417, "the only expectation supported is \"100-continue\"");
    state->head->expects_continue = true;
    return no_fault();
}

static onnxd_http_fault take_upgrade(field_state *state, onnxd_http_span value)
{
    (void)state;
    (void)value;
    return fault(400, "switching to another protocol is not supported");
}

static onnxd_http_fault take_content_encoding(field_state *state, onnxd_http_span value)
{
    if (!onnxd_http_span_is(value, "identity"))
        state->head->is_encoded = true;
    return no_fault();
}

static onnxd_http_fault take_json_length(field_state *state, onnxd_http_span value)
{
    if (state->head->has_json_length)
        return fault(400, "the request has more than one Inference-Header-Content-Length field");
    if (!onnxd_http_parse_length(value, &state->head->json_length))
        return fault(400, "Inference-Header-Content-Length is not a decimal number");
    state->head->has_json_length = true;
    return no_fault();
}

static const struct {
    const char *name;
    onnxd_http_fault (*take)(field_state *state, onnxd_http_span value);
} known_fields[] = {
    {"host", take_host},
    {"content-length", take_content_length},
    {"transfer-encoding", take_transfer_encoding},
    {"connection", take_connection},
    {"expect", take_expect},
    {"upgrade", take_upgrade},
    {"content-encoding", take_content_encoding},
    {"inference-header-content-length", take_json_length},
};

static onnxd_http_fault parse_field(field_state *state, onnxd_http_span line)
{
    const char *colon = memchr(line.data, ':', line.size);
    if (colon == NULL)
        return fault(400, "a header field has no colon");
    onnxd_http_span name = {line.data, (size_t)(colon - line.data)};
    for (size_t i = 0; i < name.size; i++) {
        if (!onnxd_http_is_token_char(name.data[i]))
            return fault(400, "the name of a header field holds a character that it may not");
    }
    onnxd_http_span value = {colon + 1, line.size - name.size - 1};
    for (size_t i = 0; i < ONNXD_COUNT(known_fields); i++) {
        if (onnxd_http_span_is(name, known_fields[i].name))
            return known_fields[i].take(state, trim(value));
    }
    return no_fault();
}

/* What no field shows alone. */
static onnxd_http_fault check_together(field_state *state)
{
    onnxd_http_head *head = state->head;
    if (head->minor_version == 1 && !head->has_host)
        return fault(400, "the request has no Host field");
    if (state->authority.size > 0) {
        if (!is_valid_host(state->authority))
            return fault(400, "the request target's authority is not a host name");
        if (head->has_host &&
            (head->host.size != state->authority.size ||
             strncasecmp(head->host.data, state->authority.data, head->host.size) != 0))
            return fault(400, "the request target and the Host field name different hosts");
    }
    if (head->is_chunked && head->has_length)
        return fault(400, "the request has both Content-Length and Transfer-Encoding");
    if (head->is_chunked && head->minor_version == 0)
        return fault(400, "Transfer-Encoding is not part of HTTP/1.0");
    if (head->minor_version == 0)
        head->expects_continue = false;
    head->keeps_alive = !state->says_close && (head->minor_version == 1 || state->says_keep_alive);
    return no_fault();
}

onnxd_http_fault onnxd_http_head_parse(const char *text, size_t length, onnxd_http_head *out_head)
{
    *out_head = (onnxd_http_head){0};
    field_state state = {.head = out_head};
    const char *end = text + length;
    const char *line = text;
    while (line < end && *line != '\r') {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        if (stop == NULL)
            return fault(400, "the request head is not complete");
        onnxd_http_span span = {line, (size_t)(stop - line)};
        onnxd_http_fault found;
        if (line == text) {
            found = parse_request_line(span, out_head);
            state.authority = out_head->host;
        } else {
            found = parse_field(&state, span);
        }
        if (found.status != 0)
            return found;
        line = stop + 2;
    }
    return check_together(&state);
}

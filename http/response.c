#include "http/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < ONNXD_COUNT(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "Unknown";
}

void onnxd_http_response_reset(onnxd_http_response *response)
{
    onnxd_strbuf text = response->text;
    onnxd_strbuf_reset(&text);
    *response = (onnxd_http_response){.text = text};
}

void onnxd_http_response_set_error(onnxd_http_response *response, int status, const char *message)
{
    bool closes = response->closes;
    onnxd_http_response_reset(response);
    response->status = status;
    response->closes = closes;
    response->content_type = "application/json";
    onnxd_strbuf_puts(&response->text, "{\"error\":");
    onnxd_strbuf_json_string(&response->text, message,
                             strnlen(message, ONNXD_HTTP_MAX_ERROR_BYTES));
    onnxd_strbuf_puts(&response->text, "}");
    if (response->text.failed)
        response->fixed_text = "{\"error\":\"out of memory\"}";
}

/* The quote that ends a name; a quote within a name has more of the name behind it. */
static char *end_of_name(char *name)
{
    char *end = strchr(name, '\'');
    while (end != NULL && end[1] != '\0' && strchr(" :,;)", end[1]) == NULL)
        end = strchr(end + 1, '\'');
    return end != NULL ? end : name + strlen(name);
}

void onnxd_http_hide_paths(char *message)
{
    static const char start[] = "file '/";
    char *from = message;
    while ((from = strstr(from, start)) != NULL) {
        char *name = from + sizeof(start) - 2; /* at the slash */
        char *end = end_of_name(name);
        char *slash = memrchr(name, '/', (size_t)(end - name));
        memmove(name, slash + 1, strlen(slash + 1) + 1);
        from = name;
    }
}

/* The head's fields, appended with snprintf: they have a known greatest length. */
typedef struct head_writer {
    char *text;
    size_t length, capacity;
} head_writer;

static void put(head_writer *out, const char *format, ...) ONNXD_PRINTF(2, 3);
static void put(head_writer *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vsnprintf(out->text + out->length, out->capacity - out->length, format, args);
    va_end(args);
    if (written > 0 && (size_t)written < out->capacity - out->length)
        out->length += (size_t)written;
}

static void put_allow(head_writer *out, uint32_t allowed)
{
    const char *separator = "Allow: ";
    for (unsigned i = 0; i < ONNXD_HTTP_METHOD_COUNT; i++) {
        if ((allowed & 1u << i) == 0)
            continue;
        put(out, "%s%s", separator, onnxd_http_method_name((onnxd_http_method)i));
        separator = ", ";
    }
    put(out, "\r\n");
}

static size_t text_length(const onnxd_http_response *response)
{
    return response->fixed_text != NULL ? strlen(response->fixed_text) : response->text.length;
}

uint64_t onnxd_http_response_body_bytes(const onnxd_http_response *response)
{
    return text_length(response) + response->part_bytes;
}

static size_t write_head(onnxd_http_response *response, const onnxd_http_response_context *context)
{
    head_writer out = {response->head, 0, sizeof(response->head)};
    put(&out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", response->status, reason_of(response->status),
        context->date);
    if (response->content_type != NULL)
        put(&out, "Content-Type: %s\r\n", response->content_type);
    if (response->has_json_length)
        put(&out, "Inference-Header-Content-Length: %zu\r\n", text_length(response));
    if (response->allowed != 0)
        put_allow(&out, response->allowed);
    if (response->retry_after_s != 0)
        put(&out, "Retry-After: %" PRIu32 "\r\n", response->retry_after_s);
    if (response->names_encodings)
        put(&out, "Accept-Encoding: identity\r\n");
    if (response->closes)
        put(&out, "Connection: close\r\n");
    else if (context->asked_http_1_0)
        put(&out, "Connection: keep-alive\r\n");
    put(&out, "Content-Length: %" PRIu64 "\r\n\r\n", onnxd_http_response_body_bytes(response));
    return out.length;
}

uv_buf_t *onnxd_http_response_seal(onnxd_http_response *response,
                                   const onnxd_http_response_context *context, unsigned *out_count)
{
    if (response->buffers == NULL) {
        response->buffers = response->own_buffers;
        response->buffer_count = 2;
    }
    uv_buf_t *buffers = response->buffers;
    buffers[0] = uv_buf_init(response->head, (unsigned)write_head(response, context));
    buffers[1].base =
        response->fixed_text != NULL ? (char *)response->fixed_text : response->text.data;
    buffers[1].len = text_length(response);
    unsigned count = response->buffer_count;
    if (context->is_head_request || (count == 2 && buffers[1].len == 0))
        count = 1;
    *out_count = count;
    return buffers;
}

void onnxd_http_format_date(int64_t epoch_s, char buffer[ONNXD_HTTP_DATE_BYTES])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm;
    time_t seconds = (time_t)epoch_s;
    if (gmtime_r(&seconds, &tm) == NULL)
        memset(&tm, 0, sizeof(tm));
    (void)snprintf(buffer, ONNXD_HTTP_DATE_BYTES, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
                   days + (size_t)tm.tm_wday * 3, (unsigned)tm.tm_mday % 100u,
                   months + (size_t)tm.tm_mon * 3, (unsigned)(tm.tm_year + 1900) % 10000u,
                   (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u,
                   (unsigned)tm.tm_sec % 100u);
}

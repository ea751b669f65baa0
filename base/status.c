#define ONNXD_STATUS_IMPLEMENTATION
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Longest message, with its NUL; longer ones are cut. */
#define MESSAGE_BYTES 1024

struct onnxd_status {
    onnxd_code code;
    /* Kept in the object, not derived from its address: a module has a singleton of its own. */
    bool is_static;
    uint64_t requested_bytes;
    uint64_t available_bytes;
    const char *message;
    char text[];
};

/* Returned when there is no memory for the error itself. Never written to. */
static onnxd_status no_memory = {
    .code = ONNXD_OUT_OF_MEMORY,
    .is_static = true,
    .message = "out of memory while reporting an error",
};

static const struct {
    const char *text;
    int http;
} codes[ONNXD_CODE_COUNT] = {
#define CODE_INFO(id, text, http) [ONNXD_##id] = {text, http},
    ONNXD_CODE_TABLE(CODE_INFO)
#undef CODE_INFO
};

static onnxd_status *make(onnxd_code code, const char *text, size_t length)
{
    onnxd_status *status = onnxd_alloc(sizeof(*status) + length + 1);
    if (status == NULL)
        return NULL;
    *status = (onnxd_status){.code = code, .message = status->text};
    memcpy(status->text, text, length);
    status->text[length] = '\0';
    return status;
}

/* Formats into buffer[0..MESSAGE_BYTES) and returns the length after cutting. */
ONNXD_PRINTF(2, 0) static size_t format_message(char *buffer, const char *format, va_list args)
{
    int length = vsnprintf(buffer, MESSAGE_BYTES, format, args);
    if (length < 0) {
        buffer[0] = '\0';
        return 0;
    }
    return length < MESSAGE_BYTES ? (size_t)length : MESSAGE_BYTES - 1;
}

onnxd_status *onnxd_error_v(onnxd_code code, const char *format, va_list args)
{
    char text[MESSAGE_BYTES];
    size_t length = format_message(text, format, args);
    onnxd_status *status = make(code, text, length);
    return status != NULL ? status : &no_memory;
}

onnxd_status *onnxd_error(onnxd_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    onnxd_status *status = onnxd_error_v(code, format, args);
    va_end(args);
    return status;
}

onnxd_status *onnxd_error_out_of_memory(const char *what, uint64_t requested_bytes,
                                        uint64_t available_bytes)
{
    onnxd_status *status;
    if (available_bytes == UINT64_MAX)
        status = onnxd_error(ONNXD_OUT_OF_MEMORY, "no memory for %s: %" PRIu64 " bytes requested",
                             what, requested_bytes);
    else
        status = onnxd_error(ONNXD_OUT_OF_MEMORY,
                             "no memory for %s: %" PRIu64 " bytes requested, %" PRIu64 " available",
                             what, requested_bytes, available_bytes);
    if (!status->is_static) {
        status->requested_bytes = requested_bytes;
        status->available_bytes = available_bytes;
    }
    return status;
}

onnxd_status *onnxd_status_context(onnxd_status *status, const char *format, ...)
{
    if (status == NULL)
        return NULL;
    char prefix[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    size_t prefix_length = format_message(prefix, format, args);
    va_end(args);

    char text[MESSAGE_BYTES];
    int length =
        snprintf(text, sizeof(text), "%.*s: %s", (int)prefix_length, prefix, status->message);
    if (length < 0)
        return status;
    onnxd_status *successor =
        make(status->code, text, length < MESSAGE_BYTES ? (size_t)length : MESSAGE_BYTES - 1);
    /* Without memory for the longer message the shorter one still names the cause. */
    if (successor == NULL)
        return status;
    successor->requested_bytes = status->requested_bytes;
    successor->available_bytes = status->available_bytes;
    onnxd_status_free(status);
    return successor;
}

onnxd_status *onnxd_status_join(onnxd_status *first, onnxd_status *second)
{
    if (first == NULL)
        return second;
    onnxd_status_free(second);
    return first;
}

onnxd_status *onnxd_status_clone(const onnxd_status *status)
{
    if (status == NULL)
        return NULL;
    onnxd_status *copy = make(status->code, status->message, strlen(status->message));
    if (copy == NULL)
        return &no_memory;
    copy->requested_bytes = status->requested_bytes;
    copy->available_bytes = status->available_bytes;
    return copy;
}

void onnxd_status_free(onnxd_status *status)
{
    if (status != NULL && !status->is_static)
        onnxd_free(status);
}

onnxd_code onnxd_status_code(const onnxd_status *status)
{
    return status == NULL ? ONNXD_OK : status->code;
}

const char *onnxd_status_message(const onnxd_status *status)
{
    return status == NULL ? "ok" : status->message;
}

uint64_t onnxd_status_requested_bytes(const onnxd_status *status)
{
    return status == NULL ? 0 : status->requested_bytes;
}

uint64_t onnxd_status_available_bytes(const onnxd_status *status)
{
    return status == NULL ? 0 : status->available_bytes;
}

const char *onnxd_code_text(onnxd_code code)
{
    return (unsigned)code < ONNXD_CODE_COUNT ? codes[code].text : "unknown error";
}

int onnxd_code_http(onnxd_code code)
{
    return (unsigned)code < ONNXD_CODE_COUNT ? codes[code].http : 500;
}

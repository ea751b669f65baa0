#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_reader.h"
#include "base/size_math.h"

#define FIRST_CAPACITY_BYTES 64

void onnxd_strbuf_init(onnxd_strbuf *buffer, size_t max_bytes)
{
    *buffer = (onnxd_strbuf){.max_bytes = max_bytes};
}

void onnxd_strbuf_deinit(onnxd_strbuf *buffer)
{
    onnxd_free(buffer->data);
    *buffer = (onnxd_strbuf){.max_bytes = buffer->max_bytes};
}

void onnxd_strbuf_reset(onnxd_strbuf *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
    if (buffer->data != NULL)
        buffer->data[0] = '\0';
}

/* Room for `bytes` more and the NUL. */
static bool grow(onnxd_strbuf *buffer, size_t bytes)
{
    size_t length, need;
    if (!onnxd_size_add(buffer->length, bytes, &length) || length > buffer->max_bytes ||
        !onnxd_size_add(length, 1, &need))
        return false;
    if (need <= buffer->capacity)
        return true;
    size_t capacity = need < FIRST_CAPACITY_BYTES ? FIRST_CAPACITY_BYTES : need;
    size_t doubled;
    if (onnxd_size_mul(buffer->capacity, 2, &doubled) && doubled > capacity)
        capacity = doubled;
    if (capacity > buffer->max_bytes)
        capacity = buffer->max_bytes + 1; /* at least `need`; max_bytes < SIZE_MAX here */
    char *data = onnxd_realloc_array(buffer->data, capacity, 1);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *onnxd_strbuf_reserve(onnxd_strbuf *buffer, size_t bytes)
{
    if (buffer->failed)
        return NULL;
    if (!grow(buffer, bytes)) {
        buffer->failed = true;
        return NULL;
    }
    buffer->data[buffer->length] = '\0';
    return buffer->data + buffer->length;
}

void onnxd_strbuf_commit(onnxd_strbuf *buffer, size_t bytes)
{
    if (buffer->failed || buffer->data == NULL)
        return;
    if (bytes > buffer->capacity - 1 - buffer->length) {
        buffer->failed = true;
        return;
    }
    buffer->length += bytes;
    buffer->data[buffer->length] = '\0';
}

void onnxd_strbuf_append(onnxd_strbuf *buffer, const void *data, size_t bytes)
{
    char *room = onnxd_strbuf_reserve(buffer, bytes);
    if (room == NULL)
        return;
    if (bytes != 0)
        memcpy(room, data, bytes);
    onnxd_strbuf_commit(buffer, bytes);
}

void onnxd_strbuf_puts(onnxd_strbuf *buffer, const char *text)
{
    onnxd_strbuf_append(buffer, text, strlen(text));
}

void onnxd_strbuf_printf(onnxd_strbuf *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = 0;
    char *out = NULL;
    if (!buffer->failed && buffer->data != NULL) {
        out = buffer->data + buffer->length;
        room = buffer->capacity - buffer->length;
    }
    int length = vsnprintf(out, room, format, args);
    va_end(args);
    if (length < 0) {
        buffer->failed = true;
    } else if ((size_t)length < room) {
        buffer->length += (size_t)length;
    } else {
        if (out != NULL)
            out[0] = '\0';
        out = onnxd_strbuf_reserve(buffer, (size_t)length);
        if (out != NULL) {
            vsnprintf(out, (size_t)length + 1, format, again);
            onnxd_strbuf_commit(buffer, (size_t)length);
        }
    }
    va_end(again);
}

/* A cut of text[0..length) of at most `most` bytes that splits no well-formed character. */
static size_t cut_between_characters(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    for (size_t back = 0; back < 4 && back < most; back++)
        if (((unsigned char)text[most - back] & 0xc0) != 0x80)
            return most - back;
    return most;
}

void onnxd_strbuf_json_string(onnxd_strbuf *buffer, const char *text, size_t length)
{
    enum { CHUNK_BYTES = 256 };
    char escaped[CHUNK_BYTES * 6];
    onnxd_strbuf_append(buffer, "\"", 1);
    while (length != 0 && !buffer->failed) {
        size_t chunk = cut_between_characters(text, length, CHUNK_BYTES);
        onnxd_strbuf_append(buffer, escaped, onnxd_json_escape(escaped, text, chunk));
        text += chunk;
        length -= chunk;
    }
    onnxd_strbuf_append(buffer, "\"", 1);
}

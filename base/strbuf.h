/* A growing byte buffer with a maximum. After a failed append it stays failed ("poisoned"), so a
 * writer can append freely and check once at the end. Always NUL-terminated when not NULL. */
#ifndef ONNXD_BASE_STRBUF_H
#define ONNXD_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

typedef struct onnxd_strbuf {
    char *data; /* NULL until the first append */
    size_t length, capacity, max_bytes;
    bool failed; /* max_bytes passed or memory short */
} onnxd_strbuf;

void onnxd_strbuf_init(onnxd_strbuf *buffer, size_t max_bytes);
void onnxd_strbuf_deinit(onnxd_strbuf *buffer);
/* Empties it and clears `failed`; keeps the memory. */
void onnxd_strbuf_reset(onnxd_strbuf *buffer);
void onnxd_strbuf_append(onnxd_strbuf *buffer, const void *data, size_t bytes);
void onnxd_strbuf_puts(onnxd_strbuf *buffer, const char *text);
void onnxd_strbuf_printf(onnxd_strbuf *buffer, const char *format, ...) ONNXD_PRINTF(2, 3);
/* Room for `bytes` more at the returned pointer, not counted until onnxd_strbuf_commit(). NULL when
 * that fails. */
ONNXD_NODISCARD char *onnxd_strbuf_reserve(onnxd_strbuf *buffer, size_t bytes);
void onnxd_strbuf_commit(onnxd_strbuf *buffer, size_t bytes);
/* Appends text as a quoted, escaped JSON string. */
void onnxd_strbuf_json_string(onnxd_strbuf *buffer, const char *text, size_t length);

#endif

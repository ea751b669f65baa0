/*
 * A refusal that HTTP itself makes, before any handler: a status and a fixed text. Framing errors
 * must not allocate, so they are not onnxd_status objects.
 */
#ifndef ONNXD_HTTP_FAULT_H
#define ONNXD_HTTP_FAULT_H

#include <stddef.h>

typedef struct onnxd_http_fault {
    int status;          /* 0: none */
    const char *message; /* static */
} onnxd_http_fault;

/* Borrowed bytes, not NUL-terminated. */
typedef struct onnxd_http_span {
    const char *data;
    size_t size;
} onnxd_http_span;

#endif

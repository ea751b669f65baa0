/*
 * Host memory. The only file that calls malloc and free is alloc.c.
 *
 * Every call is counted, which lets tests prove that a steady-state request allocates nothing, and
 * any call can be made to fail, which lets tests walk every error path.
 *
 * Threads: all functions may be called from any thread.
 * Errors: NULL on failure; size 0 returns a unique non-NULL pointer. The caller makes the status:
 * onnxd_error_out_of_memory("what", bytes, UINT64_MAX).
 */
#ifndef ONNXD_BASE_ALLOC_H
#define ONNXD_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Uninitialised bytes, aligned for any type. */
ONNXD_NODISCARD void *onnxd_alloc(size_t bytes);
/* Zeroed. The product is checked; NULL when it overflows. */
ONNXD_NODISCARD void *onnxd_alloc_zero(size_t count, size_t element_bytes);
/* Grows or shrinks; the product is checked. On failure `pointer` stays valid and owned. */
ONNXD_NODISCARD void *onnxd_realloc_array(void *pointer, size_t count, size_t element_bytes);
/* `alignment` is a power of two, at least sizeof(void *). Ended by onnxd_free() too. */
ONNXD_NODISCARD void *onnxd_alloc_aligned(size_t bytes, size_t alignment);
/* NULL is fine. */
void onnxd_free(void *pointer);

/* Copies; NULL on failure. `text` need not end in NUL for the _n form, the copy does. */
ONNXD_NODISCARD char *onnxd_strdup(const char *text);
ONNXD_NODISCARD char *onnxd_strndup(const char *text, size_t length);

typedef struct onnxd_alloc_stats {
    uint64_t calls;      /* allocations ever made in this process */
    uint64_t live_count; /* allocations not yet freed */
} onnxd_alloc_stats;
onnxd_alloc_stats onnxd_alloc_query(void);
/* Allocations made by the calling thread so far. */
uint64_t onnxd_alloc_thread_calls(void);

/* Test hook: the nth next allocation (1 = the very next) fails, and with `sticky` all after it too.
 * n = 0 switches it off. Process-wide. */
void onnxd_alloc_fail_at(uint64_t n, int sticky);

#endif

/*
 * Status: how every function that can fail reports it.
 *
 * A status is a pointer. NULL is success; anything else is an error object that its holder must
 * hand on or end with onnxd_status_free(). Messages say what, which object, the value found and
 * what is allowed: lower case, no full stop, no path or address that a client must not see.
 *
 * Ownership: returned errors belong to the caller. Errors may move between threads and between the
 * daemon and its modules (they are plain malloc memory), but are never shared.
 * Outcomes that are expected on a hot path (queue full, cache miss) are enums or bools instead.
 */
#ifndef ONNXD_BASE_STATUS_H
#define ONNXD_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* X(identifier, text, HTTP status a request ends with when it meets this error) */
#define ONNXD_CODE_TABLE(X)                                                                        \
    X(OK, "ok", 200)                                                                               \
    X(INVALID_ARGUMENT, "invalid argument", 400)                                                   \
    X(NOT_FOUND, "not found", 404)                                                                 \
    X(PAYLOAD_TOO_LARGE, "payload too large", 413)                                                 \
    X(CANCELLED, "cancelled", 499)                                                                 \
    X(INTERNAL, "internal error", 500)                                                             \
    X(UNIMPLEMENTED, "not supported", 501)                                                         \
    X(UNAVAILABLE, "unavailable", 503)                                                             \
    X(RESOURCE_EXHAUSTED, "resource exhausted", 503)                                               \
    X(DEADLINE_EXCEEDED, "deadline exceeded", 504)                                                 \
    /* the execution provider contract's own errors */                                             \
    X(NO_EP_FOR_OP, "no execution provider for operator", 501)                                     \
    X(KERNEL_FAILED, "kernel failed", 500)                                                         \
    X(EP_LOAD_FAILED, "execution provider failed to load", 500)                                    \
    X(OUT_OF_MEMORY, "out of memory", 503)                                                         \
    X(ALIGNMENT_ERROR, "alignment error", 500)                                                     \
    X(INVALID_TENSOR_VIEW, "invalid tensor view", 400)                                             \
    X(NOT_INITIALIZED, "not initialized", 500)                                                     \
    X(NO_EP_FOR_CONTEXT, "no execution provider for context", 501)                                 \
    X(UNSUPPORTED_CONTEXT, "unsupported context", 501)                                             \
    X(DUPLICATE_CONTEXT_SOURCE, "duplicate context source", 500)                                   \
    X(DANGLING_EP_CONTEXT, "dangling EPContext", 400)                                              \
    X(FOREIGN_BUFFER, "foreign buffer", 500)                                                       \
    X(STALE_FENCE, "stale fence", 500)

typedef enum onnxd_code {
#define ONNXD_CODE_ENUM(id, text, http) ONNXD_##id,
    ONNXD_CODE_TABLE(ONNXD_CODE_ENUM)
#undef ONNXD_CODE_ENUM
        ONNXD_CODE_COUNT
} onnxd_code;

/* NULL is success. Read through the functions below only. */
typedef struct onnxd_status onnxd_status;

/* Evaluates `expression` and returns its status from the calling function if it is an error.
 * Only for functions that hold nothing which would have to be undone at that point. */
#define ONNXD_TRY(expression)                                                                      \
    do {                                                                                           \
        onnxd_status *onnxd_try_status = (expression);                                             \
        if (ONNXD_UNLIKELY(onnxd_try_status != NULL))                                              \
            return onnxd_try_status;                                                               \
    } while (0)

/* Makes an error. Never fails: when memory is short the result is a shared static error that
 * onnxd_status_free() ignores. `format` must not end in a newline. */
ONNXD_NODISCARD onnxd_status *onnxd_error(onnxd_code code, const char *format, ...)
    ONNXD_PRINTF(2, 3) ONNXD_RETURNS_NONNULL;
ONNXD_NODISCARD onnxd_status *onnxd_error_v(onnxd_code code, const char *format, va_list args)
    ONNXD_PRINTF(2, 0) ONNXD_RETURNS_NONNULL;

/* ONNXD_OUT_OF_MEMORY with both numbers, in bytes. `what` names the object that needed them.
 * available_bytes may be UINT64_MAX when the allocator cannot tell (the host heap). */
ONNXD_NODISCARD onnxd_status *
onnxd_error_out_of_memory(const char *what, uint64_t requested_bytes,
                          uint64_t available_bytes) ONNXD_RETURNS_NONNULL;

/* Puts "<formatted>: " before the message. Consumes `status` and returns its successor; NULL in,
 * NULL out. */
ONNXD_NODISCARD onnxd_status *onnxd_status_context(onnxd_status *status, const char *format, ...)
    ONNXD_PRINTF(2, 3);

/* The first error of two; frees the other. For "keep going, report the first". */
ONNXD_NODISCARD onnxd_status *onnxd_status_join(onnxd_status *first, onnxd_status *second);

/* A copy for a second holder (one failed job, several waiters). NULL in, NULL out. */
ONNXD_NODISCARD onnxd_status *onnxd_status_clone(const onnxd_status *status);

/* Ends an error. NULL is fine. */
void onnxd_status_free(onnxd_status *status);

onnxd_code onnxd_status_code(const onnxd_status *status); /* ONNXD_OK for NULL */
/* Never NULL; "ok" for NULL. Valid until the status is freed. */
const char *onnxd_status_message(const onnxd_status *status);
/* The numbers of an ONNXD_OUT_OF_MEMORY error; 0 for all others. */
uint64_t onnxd_status_requested_bytes(const onnxd_status *status);
uint64_t onnxd_status_available_bytes(const onnxd_status *status);

const char *onnxd_code_text(onnxd_code code);
int onnxd_code_http(onnxd_code code);

/* clang's analyser does not read returns_nonnull of functions defined elsewhere, and would follow
 * paths on which making an error yields success. */
#if defined(__clang_analyzer__) && !defined(ONNXD_STATUS_IMPLEMENTATION)
#define onnxd_error(...)                                                                           \
    ({                                                                                             \
        onnxd_status *onnxd_made = (onnxd_error)(__VA_ARGS__);                                     \
        if (onnxd_made == NULL)                                                                    \
            __builtin_unreachable();                                                               \
        onnxd_made;                                                                                \
    })
#define onnxd_error_out_of_memory(...)                                                             \
    ({                                                                                             \
        onnxd_status *onnxd_short = (onnxd_error_out_of_memory)(__VA_ARGS__);                      \
        if (onnxd_short == NULL)                                                                   \
            __builtin_unreachable();                                                               \
        onnxd_short;                                                                               \
    })
#define onnxd_status_context(status, ...)                                                          \
    ({                                                                                             \
        onnxd_status *onnxd_given = (status);                                                      \
        onnxd_status *onnxd_result = (onnxd_status_context)(onnxd_given, __VA_ARGS__);             \
        if ((onnxd_given == NULL) != (onnxd_result == NULL))                                       \
            __builtin_unreachable();                                                               \
        onnxd_result;                                                                              \
    })
#endif

#endif

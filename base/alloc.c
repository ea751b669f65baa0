#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/size_math.h"

#ifndef __has_feature
#define __has_feature(name) 0
#endif

/* The sanitizers end the process on a request they cannot serve unless they are told to return
 * NULL, which is what the callers here rely on. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
const char *__asan_default_options(void);
ONNXD_EXPORT const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
const char *__tsan_default_options(void);
ONNXD_EXPORT const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

static atomic_uint_fast64_t call_count;
static atomic_uint_fast64_t live_count;
/* Calls left until one fails; 0 is off. */
static atomic_uint_fast64_t fail_countdown;
static atomic_int fail_sticky;
static _Thread_local uint64_t thread_call_count;

/* The counters order nothing else, so relaxed accesses are enough throughout. */
static bool should_fail(void)
{
    uint_fast64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (ONNXD_UNLIKELY(left != 0)) {
        bool sticky = atomic_load_explicit(&fail_sticky, memory_order_relaxed) != 0;
        if (left == 1 && sticky)
            return true;
        if (atomic_compare_exchange_weak_explicit(&fail_countdown, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return left == 1;
    }
    return false;
}

static bool begin_call(void)
{
    thread_call_count++;
    atomic_fetch_add_explicit(&call_count, 1, memory_order_relaxed);
    return !should_fail();
}

static void *count_live(void *pointer)
{
    if (pointer != NULL)
        atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
    return pointer;
}

void *onnxd_alloc(size_t bytes)
{
    if (!begin_call() || bytes > PTRDIFF_MAX)
        return NULL;
    return count_live(malloc(bytes == 0 ? 1 : bytes));
}

void *onnxd_alloc_zero(size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!begin_call() || !onnxd_size_mul(count, element_bytes, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return count_live(calloc(1, bytes == 0 ? 1 : bytes));
}

void *onnxd_realloc_array(void *pointer, size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!begin_call() || !onnxd_size_mul(count, element_bytes, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    bool fresh = pointer == NULL;
    void *grown = realloc(pointer, bytes == 0 ? 1 : bytes);
    return fresh ? count_live(grown) : grown;
}

/* Of x86-64, and the smaller one of arm64. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Weights and activations span far more small pages than the processor can keep the addresses of.
 * Whole huge pages alone, so that none is paid for in memory that was not asked for. It is advice:
 * where the system has no such pages, nothing is lost. */
static void advise_huge_pages(void *pointer, size_t bytes)
{
    (void)!madvise(pointer, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
}

void *onnxd_alloc_aligned(size_t bytes, size_t alignment)
{
    void *pointer = NULL;
    const bool is_huge = bytes >= HUGE_PAGE_BYTES;
    if (!begin_call() || bytes > PTRDIFF_MAX)
        return NULL;
    if (is_huge && alignment < HUGE_PAGE_BYTES)
        alignment = HUGE_PAGE_BYTES;
    if (posix_memalign(&pointer, alignment, bytes == 0 ? 1 : bytes) != 0)
        return NULL;
    if (is_huge)
        advise_huge_pages(pointer, bytes);
    return count_live(pointer);
}

void onnxd_free(void *pointer)
{
    if (pointer == NULL)
        return;
    atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
    free(pointer);
}

char *onnxd_strdup(const char *text)
{
    return onnxd_strndup(text, strlen(text));
}

char *onnxd_strndup(const char *text, size_t length)
{
    size_t bytes;
    if (!onnxd_size_add(length, 1, &bytes))
        return NULL;
    char *copy = onnxd_alloc(bytes);
    if (copy == NULL)
        return NULL;
    if (length != 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

onnxd_alloc_stats onnxd_alloc_query(void)
{
    return (onnxd_alloc_stats){
        .calls = atomic_load_explicit(&call_count, memory_order_relaxed),
        .live_count = atomic_load_explicit(&live_count, memory_order_relaxed),
    };
}

uint64_t onnxd_alloc_thread_calls(void)
{
    return thread_call_count;
}

void onnxd_alloc_fail_at(uint64_t n, int sticky)
{
    atomic_store_explicit(&fail_sticky, sticky, memory_order_relaxed);
    atomic_store_explicit(&fail_countdown, n, memory_order_relaxed);
}

/*
 * The pool: size-classed blocks over an expensive source of memory (a device's allocator, page-
 * aligned host memory, pinned staging). In a steady state acquire and release only move blocks
 * between free lists; the source is asked for more when a class is empty, and gets blocks back when
 * the pool is trimmed, passes its high-water mark, or is destroyed.
 *
 *   source.alloc ──► block ──acquire──► user ──release──► class free list ──trim──► source.free
 *                                                  └────► the extra block ─────────┘
 *
 * Classes: four per power of two, so a block is at most 25 % larger than asked (small ones round up
 * to the granularity). Accounting is exact: in_use + cached = committed, and committed never passes
 * limit_bytes.
 *
 * Threads: any; one mutex, never held over a source call.
 */
#ifndef ONNXD_MEMORY_POOL_H
#define ONNXD_MEMORY_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What a provider supplies. `data` is an address in the provider's own space; the pool never
 * dereferences it. Errors of alloc: OUT_OF_MEMORY with both numbers. */
typedef struct onnxd_pool_source {
    onnxd_status *(*alloc)(void *self, size_t bytes, size_t alignment, void **out_data);
    void (*free)(void *self, void *data, size_t bytes);
    void *self;
} onnxd_pool_source;

typedef struct onnxd_pool_options {
    size_t alignment;         /* of every block; power of two */
    size_t granularity_bytes; /* smallest block; power of two */
    size_t limit_bytes;       /* committed memory never passes this; SIZE_MAX for no limit */
    /* Released blocks that are kept. Of those that do not fit the one released last is kept beside
     * them, so that the one large block of a steady state does not go to the source and back; the
     * others go back at once. 0 keeps nothing. */
    size_t cache_bytes;
} onnxd_pool_options;

typedef struct onnxd_pool onnxd_pool;
typedef struct onnxd_pool_block {
    void *data;
    size_t bytes; /* capacity: at least what was asked */
} onnxd_pool_block;

typedef struct onnxd_pool_stats {
    size_t in_use_bytes, cached_bytes, committed_bytes, peak_committed_bytes;
    size_t live_blocks;
    uint64_t acquires, source_allocs, source_frees, failures;
} onnxd_pool_stats;

ONNXD_NODISCARD onnxd_status *onnxd_pool_create(const onnxd_pool_options *options,
                                                onnxd_pool_source source, onnxd_pool **out_pool);
/* Gives every cached block back. Blocks still in use are the caller's error; they are leaked to the
 * source, never freed under a user. */
void onnxd_pool_destroy(onnxd_pool *pool);
/* `bytes` 0 is legal and yields a unique block. When the source or the limit refuses, cached blocks
 * of other classes are given back and it tries once more.
 * Errors: OUT_OF_MEMORY {requested, available = limit - in use, or what the source said}. */
ONNXD_NODISCARD onnxd_status *onnxd_pool_acquire(onnxd_pool *pool, size_t bytes,
                                                 onnxd_pool_block *out_block);
void onnxd_pool_release(onnxd_pool *pool, onnxd_pool_block block);
/* Gives cached blocks back, largest first, until at most keep_bytes stay cached. */
void onnxd_pool_trim(onnxd_pool *pool, size_t keep_bytes);
onnxd_pool_stats onnxd_pool_query(onnxd_pool *pool);

#endif

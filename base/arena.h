/*
 * A bump arena: many small allocations that end together. It has a maximum from the start, keeps
 * its first block over a reset, and so allocates nothing in a steady state.
 *
 * Threads: one at a time.
 */
#ifndef ONNXD_BASE_ARENA_H
#define ONNXD_BASE_ARENA_H

#include <stddef.h>

#include "base/compiler.h"

typedef struct onnxd_arena_block onnxd_arena_block;
typedef struct onnxd_arena {
    onnxd_arena_block *blocks; /* newest first */
    size_t block_bytes;        /* size of a fresh block */
    size_t used_bytes;         /* handed out since the last reset, with padding */
    size_t max_bytes;
} onnxd_arena;

/* Allocates nothing yet. Larger single requests than block_bytes get a block of their own. */
void onnxd_arena_init(onnxd_arena *arena, size_t block_bytes, size_t max_bytes);
void onnxd_arena_deinit(onnxd_arena *arena);
/* Ends everything handed out; keeps at most one block of block_bytes. */
void onnxd_arena_reset(onnxd_arena *arena);
/* Uninitialised, aligned for any type; NULL when max_bytes would be passed or memory is short. */
ONNXD_NODISCARD void *onnxd_arena_alloc(onnxd_arena *arena, size_t bytes);
/* Zeroed, product checked. */
ONNXD_NODISCARD void *onnxd_arena_alloc_zero(onnxd_arena *arena, size_t count,
                                             size_t element_bytes);
/* A NUL-terminated copy. */
ONNXD_NODISCARD char *onnxd_arena_strndup(onnxd_arena *arena, const char *text, size_t length);

#endif

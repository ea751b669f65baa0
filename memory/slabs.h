/*
 * Pieces of host memory that live long, cut from slabs that are large enough for the system to
 * back them with huge pages: a model's weights are some hundred pieces, most of them smaller than
 * such a page.
 *
 *   acquire ──► the first slab with room, or a new one        release ──► the last piece of a slab
 *                                                                        gives it back
 *
 * The first slab is small, so that a process with little in it stays little.
 *
 * Threads: any; one mutex.
 */
#ifndef ONNXD_MEMORY_SLABS_H
#define ONNXD_MEMORY_SLABS_H

#include <stddef.h>

#include "base/status.h"

/* Of every piece. */
#define ONNXD_SLAB_ALIGNMENT ((size_t)64)

typedef struct onnxd_slabs onnxd_slabs;
typedef struct onnxd_slab onnxd_slab;
typedef struct onnxd_slab_piece {
    void *data;
    onnxd_slab *slab;
} onnxd_slab_piece;

ONNXD_NODISCARD onnxd_status *onnxd_slabs_create(onnxd_slabs **out_slabs);
/* No piece may be left. NULL is fine. */
void onnxd_slabs_destroy(onnxd_slabs *slabs);
/* Uninitialised; `bytes` 0 yields a unique address. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_slabs_acquire(onnxd_slabs *slabs, size_t bytes,
                                                  onnxd_slab_piece *out_piece);
void onnxd_slabs_release(onnxd_slabs *slabs, onnxd_slab_piece piece);
/* Bytes of all slabs, whether pieces take them or not. */
size_t onnxd_slabs_committed_bytes(onnxd_slabs *slabs);

#endif

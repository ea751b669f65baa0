/*
 * Bookkeeping of one contiguous range: hands out and takes back offsets, best fit, merging
 * neighbours. It never touches the memory it accounts for, so a device's address space can be
 * managed from the host.
 *
 * Threads: one at a time. Every offset is a multiple of the granularity.
 */
#ifndef ONNXD_MEMORY_OFFSET_ALLOCATOR_H
#define ONNXD_MEMORY_OFFSET_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct onnxd_offset_allocator onnxd_offset_allocator;

/* capacity_bytes is rounded down to the granularity, a power of two. */
ONNXD_NODISCARD onnxd_status *onnxd_offset_allocator_create(size_t capacity_bytes,
                                                            size_t granularity_bytes,
                                                            onnxd_offset_allocator **out);
void onnxd_offset_allocator_destroy(onnxd_offset_allocator *allocator);
/* False when no free range is large enough; size 0 takes one granule. alignment: power of two. */
ONNXD_NODISCARD bool onnxd_offset_allocator_alloc(onnxd_offset_allocator *allocator, size_t bytes,
                                                  size_t alignment, size_t *out_offset);
/* False when `offset` is not the start of a live range. */
ONNXD_NODISCARD bool onnxd_offset_allocator_free(onnxd_offset_allocator *allocator, size_t offset);
size_t onnxd_offset_allocator_free_bytes(const onnxd_offset_allocator *allocator);
size_t onnxd_offset_allocator_largest_free_bytes(const onnxd_offset_allocator *allocator);

#endif

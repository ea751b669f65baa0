#include "memory/offset_allocator.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"

#define FIRST_CAPACITY 16

typedef struct range {
    size_t offset;
    size_t bytes;
    bool is_free;
} range;

/* The ranges lie in address order, without gaps, and no two neighbours are both free. */
struct onnxd_offset_allocator {
    range *ranges;
    size_t count;
    size_t capacity;
    size_t granularity_bytes;
    size_t free_bytes;
};

onnxd_status *onnxd_offset_allocator_create(size_t capacity_bytes, size_t granularity_bytes,
                                            onnxd_offset_allocator **out)
{
    if (granularity_bytes == 0 || (granularity_bytes & (granularity_bytes - 1)) != 0)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "offset allocator's granularity %zu is not a power of two",
                           granularity_bytes);
    onnxd_offset_allocator *allocator = onnxd_alloc_zero(1, sizeof(*allocator));
    range *ranges = onnxd_realloc_array(NULL, FIRST_CAPACITY, sizeof(*ranges));
    if (allocator == NULL || ranges == NULL) {
        onnxd_free(allocator);
        onnxd_free(ranges);
        return onnxd_error_out_of_memory("an offset allocator",
                                         sizeof(*allocator) + FIRST_CAPACITY * sizeof(*ranges),
                                         UINT64_MAX);
    }
    allocator->ranges = ranges;
    allocator->capacity = FIRST_CAPACITY;
    allocator->granularity_bytes = granularity_bytes;
    allocator->free_bytes = capacity_bytes & ~(granularity_bytes - 1);
    if (allocator->free_bytes != 0) {
        ranges[0] = (range){.bytes = allocator->free_bytes, .is_free = true};
        allocator->count = 1;
    }
    *out = allocator;
    return NULL;
}

void onnxd_offset_allocator_destroy(onnxd_offset_allocator *allocator)
{
    if (allocator == NULL)
        return;
    onnxd_free(allocator->ranges);
    onnxd_free(allocator);
}

/* Room for two more ranges, the most that one allocation splits off. */
static bool reserve_two(onnxd_offset_allocator *allocator)
{
    if (allocator->capacity - allocator->count >= 2)
        return true;
    size_t capacity;
    if (!onnxd_size_mul(allocator->capacity, 2, &capacity))
        return false;
    range *ranges = onnxd_realloc_array(allocator->ranges, capacity, sizeof(*ranges));
    if (ranges == NULL)
        return false;
    allocator->ranges = ranges;
    allocator->capacity = capacity;
    return true;
}

/* The first aligned offset in `candidate` that leaves `bytes` behind it; false when there is none.
 */
static bool fit(const range *candidate, size_t bytes, size_t alignment, size_t *out_offset)
{
    size_t offset;
    if (!candidate->is_free || !onnxd_size_align(candidate->offset, alignment, &offset))
        return false;
    size_t skipped = offset - candidate->offset;
    if (skipped > candidate->bytes || candidate->bytes - skipped < bytes)
        return false;
    *out_offset = offset;
    return true;
}

static void insert_range(onnxd_offset_allocator *allocator, size_t index, range fresh)
{
    memmove(&allocator->ranges[index + 1], &allocator->ranges[index],
            (allocator->count - index) * sizeof(range));
    allocator->ranges[index] = fresh;
    allocator->count++;
}

static void remove_range(onnxd_offset_allocator *allocator, size_t index)
{
    allocator->count--;
    memmove(&allocator->ranges[index], &allocator->ranges[index + 1],
            (allocator->count - index) * sizeof(range));
}

/* Makes [offset, offset + bytes) of the free range at `index` a live range of its own. */
static void carve(onnxd_offset_allocator *allocator, size_t index, size_t offset, size_t bytes)
{
    range whole = allocator->ranges[index];
    size_t before = offset - whole.offset;
    size_t after = whole.bytes - before - bytes;
    allocator->ranges[index] = (range){.offset = offset, .bytes = bytes};
    if (after != 0)
        insert_range(allocator, index + 1,
                     (range){.offset = offset + bytes, .bytes = after, .is_free = true});
    if (before != 0)
        insert_range(allocator, index,
                     (range){.offset = whole.offset, .bytes = before, .is_free = true});
    allocator->free_bytes -= bytes;
}

bool onnxd_offset_allocator_alloc(onnxd_offset_allocator *allocator, size_t bytes, size_t alignment,
                                  size_t *out_offset)
{
    size_t padded;
    if (!onnxd_size_align(bytes == 0 ? 1 : bytes, allocator->granularity_bytes, &padded))
        return false;
    size_t best = SIZE_MAX;
    size_t best_offset = 0;
    for (size_t i = 0; i < allocator->count; i++) {
        size_t offset;
        if (fit(&allocator->ranges[i], padded, alignment, &offset) &&
            (best == SIZE_MAX || allocator->ranges[i].bytes < allocator->ranges[best].bytes)) {
            best = i;
            best_offset = offset;
        }
    }
    if (best == SIZE_MAX || !reserve_two(allocator))
        return false;
    carve(allocator, best, best_offset, padded);
    *out_offset = best_offset;
    return true;
}

/* Index of the range that starts at `offset`; false when none does. */
static bool find_range(const onnxd_offset_allocator *allocator, size_t offset, size_t *out_index)
{
    size_t low = 0;
    size_t high = allocator->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (allocator->ranges[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == allocator->count || allocator->ranges[low].offset != offset)
        return false;
    *out_index = low;
    return true;
}

bool onnxd_offset_allocator_free(onnxd_offset_allocator *allocator, size_t offset)
{
    size_t index;
    range *ranges = allocator->ranges;
    if (!find_range(allocator, offset, &index) || ranges[index].is_free)
        return false;
    ranges[index].is_free = true;
    allocator->free_bytes += ranges[index].bytes;
    if (index + 1 < allocator->count && ranges[index + 1].is_free) {
        ranges[index].bytes += ranges[index + 1].bytes;
        remove_range(allocator, index + 1);
    }
    if (index > 0 && ranges[index - 1].is_free) {
        ranges[index - 1].bytes += ranges[index].bytes;
        remove_range(allocator, index);
    }
    return true;
}

size_t onnxd_offset_allocator_free_bytes(const onnxd_offset_allocator *allocator)
{
    return allocator->free_bytes;
}

size_t onnxd_offset_allocator_largest_free_bytes(const onnxd_offset_allocator *allocator)
{
    size_t largest = 0;
    for (size_t i = 0; i < allocator->count; i++)
        if (allocator->ranges[i].is_free && allocator->ranges[i].bytes > largest)
            largest = allocator->ranges[i].bytes;
    return largest;
}

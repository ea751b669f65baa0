#include "memory/offset_allocator.h"

#include <criterion/criterion.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "tests/base/random.h"
#include "tests/base/status_check.h"

static onnxd_offset_allocator *create(size_t capacity_bytes, size_t granularity_bytes)
{
    onnxd_offset_allocator *allocator = NULL;
    check_ok(onnxd_offset_allocator_create(capacity_bytes, granularity_bytes, &allocator));
    return allocator;
}

static size_t take(onnxd_offset_allocator *allocator, size_t bytes, size_t alignment)
{
    size_t offset = SIZE_MAX;
    cr_assert(onnxd_offset_allocator_alloc(allocator, bytes, alignment, &offset));
    cr_assert_eq(offset % alignment, 0);
    return offset;
}

static void check_refused(onnxd_offset_allocator *allocator, size_t bytes, size_t alignment)
{
    size_t offset = 77;
    size_t free_bytes = onnxd_offset_allocator_free_bytes(allocator);
    cr_assert_not(onnxd_offset_allocator_alloc(allocator, bytes, alignment, &offset));
    cr_assert_eq(offset, 77);
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), free_bytes);
}

Test(offset_allocator, granularity)
{
    onnxd_offset_allocator *allocator = create(1000, 256);
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), 768);
    cr_assert_eq(take(allocator, 0, 1), 0);
    cr_assert_eq(take(allocator, 1, 1), 256);
    cr_assert_eq(take(allocator, 256, 1), 512);
    check_refused(allocator, 1, 1);
    onnxd_offset_allocator_destroy(allocator);
    onnxd_offset_allocator_destroy(NULL);
}

Test(offset_allocator, neighbours_merge)
{
    onnxd_offset_allocator *allocator = create(4 * 64, 64);
    size_t offsets[4];
    for (int i = 0; i < 4; i++)
        offsets[i] = take(allocator, 64, 64);
    cr_assert(onnxd_offset_allocator_free(allocator, offsets[0]));
    cr_assert(onnxd_offset_allocator_free(allocator, offsets[2]));
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), 128);
    cr_assert_eq(onnxd_offset_allocator_largest_free_bytes(allocator), 64);
    check_refused(allocator, 128, 1);
    cr_assert(onnxd_offset_allocator_free(allocator, offsets[1]));
    cr_assert_eq(onnxd_offset_allocator_largest_free_bytes(allocator), 192);
    cr_assert(onnxd_offset_allocator_free(allocator, offsets[3]));
    cr_assert_eq(onnxd_offset_allocator_largest_free_bytes(allocator), 256);
    cr_assert_eq(take(allocator, 256, 1), 0);
    onnxd_offset_allocator_destroy(allocator);
}

Test(offset_allocator, best_fit)
{
    onnxd_offset_allocator *allocator = create(100 * 64, 64);
    size_t large = take(allocator, 10 * 64, 64);
    take(allocator, 64, 64);
    size_t small = take(allocator, 3 * 64, 64);
    take(allocator, 64, 64);
    cr_assert(onnxd_offset_allocator_free(allocator, large));
    cr_assert(onnxd_offset_allocator_free(allocator, small));
    cr_assert_eq(take(allocator, 2 * 64, 64), small);
    cr_assert_eq(take(allocator, 4 * 64, 64), large);
    onnxd_offset_allocator_destroy(allocator);
}

Test(offset_allocator, alignment_leaves_the_rest_usable)
{
    onnxd_offset_allocator *allocator = create(8192, 64);
    cr_assert_eq(take(allocator, 64, 64), 0);
    cr_assert_eq(take(allocator, 64, 4096), 4096);
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), 8192 - 128);
    cr_assert_eq(onnxd_offset_allocator_largest_free_bytes(allocator), 4096 - 64);
    cr_assert_eq(take(allocator, 4032, 1), 64);
    onnxd_offset_allocator_destroy(allocator);
}

Test(offset_allocator, only_live_starts_can_be_freed)
{
    onnxd_offset_allocator *allocator = create(1024, 64);
    size_t offset = take(allocator, 128, 64);
    cr_assert_not(onnxd_offset_allocator_free(allocator, offset + 64));
    cr_assert_not(onnxd_offset_allocator_free(allocator, 128));
    cr_assert_not(onnxd_offset_allocator_free(allocator, SIZE_MAX));
    cr_assert(onnxd_offset_allocator_free(allocator, offset));
    cr_assert_not(onnxd_offset_allocator_free(allocator, offset));
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), 1024);
    onnxd_offset_allocator_destroy(allocator);
}

Test(offset_allocator, sizes_near_the_end_of_the_address_space)
{
    onnxd_offset_allocator *allocator = create(SIZE_MAX, 1);
    check_refused(allocator, 1, 0);
    check_refused(allocator, 1, 3);
    check_refused(allocator, 1, SIZE_MAX);
    cr_assert_eq(take(allocator, SIZE_MAX - 5, 1), 0);
    check_refused(allocator, SIZE_MAX, 1);
    check_refused(allocator, 1, 16);
    cr_assert_eq(take(allocator, 5, 1), SIZE_MAX - 5);
    check_refused(allocator, 1, 1);
    cr_assert(onnxd_offset_allocator_free(allocator, SIZE_MAX - 5));
    cr_assert(onnxd_offset_allocator_free(allocator, 0));
    cr_assert_eq(take(allocator, SIZE_MAX, 1), 0);
    onnxd_offset_allocator_destroy(allocator);

    const size_t half = (size_t)1 << 63;
    allocator = create(SIZE_MAX, half);
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), half);
    check_refused(allocator, half + 1, 1);
    check_refused(allocator, SIZE_MAX, 1);
    cr_assert_eq(take(allocator, 1, half), 0);
    check_refused(allocator, 1, half);
    onnxd_offset_allocator_destroy(allocator);
}

Test(offset_allocator, empty_and_bad_parameters)
{
    onnxd_offset_allocator *allocator = create(63, 64);
    check_refused(allocator, 0, 1);
    cr_assert_eq(onnxd_offset_allocator_largest_free_bytes(allocator), 0);
    cr_assert_not(onnxd_offset_allocator_free(allocator, 0));
    onnxd_offset_allocator_destroy(allocator);
    check_error(onnxd_offset_allocator_create(1024, 0, &allocator), ONNXD_INVALID_ARGUMENT, "0");
    check_error(onnxd_offset_allocator_create(1024, 96, &allocator), ONNXD_INVALID_ARGUMENT, "96");
}

typedef struct live_range {
    size_t offset, bytes;
} live_range;

Test(offset_allocator, random_use_never_overlaps)
{
    enum { MOST = 200, CAPACITY = 1 << 20, GRANULE = 64 };
    static live_range live[MOST];
    size_t count = 0, live_bytes = 0;
    uint64_t random = 31;
    onnxd_offset_allocator *allocator = create(CAPACITY, GRANULE);
    for (int round = 0; round < 20000; round++) {
        if (count < MOST && random_below(&random, 2) == 0) {
            size_t bytes = random_below(&random, 20000);
            size_t alignment = (size_t)1 << random_below(&random, 14);
            size_t padded = bytes == 0 ? GRANULE : (bytes + GRANULE - 1) / GRANULE * GRANULE;
            size_t offset;
            if (!onnxd_offset_allocator_alloc(allocator, bytes, alignment, &offset))
                continue;
            cr_assert(offset % alignment == 0 && offset % GRANULE == 0);
            cr_assert_leq(offset + padded, CAPACITY);
            for (size_t i = 0; i < count; i++)
                cr_assert(offset >= live[i].offset + live[i].bytes ||
                          live[i].offset >= offset + padded);
            live[count++] = (live_range){offset, padded};
            live_bytes += padded;
        } else if (count > 0) {
            size_t index = random_below(&random, count);
            cr_assert(onnxd_offset_allocator_free(allocator, live[index].offset));
            live_bytes -= live[index].bytes;
            live[index] = live[--count];
        }
        cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), CAPACITY - live_bytes);
    }
    while (count > 0)
        cr_assert(onnxd_offset_allocator_free(allocator, live[--count].offset));
    cr_assert_eq(onnxd_offset_allocator_largest_free_bytes(allocator), CAPACITY);
    onnxd_offset_allocator_destroy(allocator);
}

Test(offset_allocator, survives_allocation_failure)
{
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_offset_allocator *allocator = NULL;
    for (uint64_t n = 1; n <= 2; n++) {
        onnxd_alloc_fail_at(n, 0);
        check_error(onnxd_offset_allocator_create(64, 64, &allocator), ONNXD_OUT_OF_MEMORY, NULL);
    }
    cr_assert_eq(onnxd_alloc_query().live_count, live);
    allocator = create(1 << 20, 64);
    size_t count = 0;
    size_t offset;
    onnxd_alloc_fail_at(1, 1);
    while (onnxd_offset_allocator_alloc(allocator, 64, 64, &offset))
        count++;
    onnxd_alloc_fail_at(0, 0);
    cr_assert_gt(count, 0);
    cr_assert_eq(onnxd_offset_allocator_free_bytes(allocator), (1 << 20) - 64 * count);
    cr_assert_eq(take(allocator, 64, 64), 64 * count);
    onnxd_offset_allocator_destroy(allocator);
}

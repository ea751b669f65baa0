#include "base/arena.h"

#include <criterion/criterion.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/base/random.h"

Test(arena, blocks_are_aligned_and_apart)
{
    enum { COUNT = 500 };
    onnxd_arena arena;
    unsigned char *pointers[COUNT];
    size_t sizes[COUNT];
    uint64_t random = 1;
    onnxd_arena_init(&arena, 1024, SIZE_MAX);
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = random_below(&random, 3000);
        pointers[i] = onnxd_arena_alloc(&arena, sizes[i]);
        cr_assert_not_null(pointers[i]);
        cr_assert_eq((uintptr_t)pointers[i] % alignof(max_align_t), 0);
        memset(pointers[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(pointers[i][k], i & 0xff);
    onnxd_arena_deinit(&arena);
}

Test(arena, maximum_is_kept)
{
    onnxd_arena arena;
    onnxd_arena_init(&arena, 64, 100);
    cr_assert_not_null(onnxd_arena_alloc(&arena, 96));
    cr_assert_null(onnxd_arena_alloc(&arena, 5));
    cr_assert_null(onnxd_arena_alloc(&arena, SIZE_MAX));
    cr_assert_null(onnxd_arena_alloc_zero(&arena, SIZE_MAX / 2, 4));
    cr_assert_null(onnxd_arena_strndup(&arena, "x", SIZE_MAX));
    cr_assert_eq(arena.used_bytes, 96);
    onnxd_arena_reset(&arena);
    cr_assert_eq(arena.used_bytes, 0);
    cr_assert_not_null(onnxd_arena_alloc(&arena, 96));
    onnxd_arena_deinit(&arena);
}

Test(arena, steady_state_allocates_nothing)
{
    onnxd_arena arena;
    onnxd_arena_init(&arena, 4096, 1 << 20);
    cr_assert_not_null(onnxd_arena_alloc(&arena, 100));
    onnxd_arena_reset(&arena);
    uint64_t calls = onnxd_alloc_query().calls;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 40; i++)
            cr_assert_not_null(onnxd_arena_alloc(&arena, 96));
        onnxd_arena_reset(&arena);
    }
    cr_assert_eq(onnxd_alloc_query().calls, calls);
    onnxd_arena_deinit(&arena);
}

Test(arena, reset_keeps_one_block_of_the_usual_size)
{
    onnxd_alloc_stats before = onnxd_alloc_query();
    onnxd_arena arena;
    onnxd_arena_init(&arena, 128, SIZE_MAX);
    for (int i = 0; i < 10; i++)
        cr_assert_not_null(onnxd_arena_alloc(&arena, i % 2 == 0 ? 5000 : 100));
    onnxd_arena_reset(&arena);
    cr_assert_eq(onnxd_alloc_query().live_count - before.live_count, 1);
    onnxd_arena_deinit(&arena);
    cr_assert_eq(onnxd_alloc_query().live_count, before.live_count);
}

Test(arena, large_request_leaves_room_in_the_current_block)
{
    onnxd_arena arena;
    onnxd_arena_init(&arena, 1024, SIZE_MAX);
    char *small = onnxd_arena_alloc(&arena, 16);
    cr_assert_not_null(onnxd_arena_alloc(&arena, 10000));
    char *next = onnxd_arena_alloc(&arena, 16);
    cr_assert_eq(next, small + 16);
    onnxd_arena_deinit(&arena);
}

Test(arena, zeroed_and_copied)
{
    onnxd_arena arena;
    onnxd_arena_init(&arena, 256, SIZE_MAX);
    unsigned char *dirty = onnxd_arena_alloc(&arena, 200);
    memset(dirty, 0xff, 200);
    onnxd_arena_reset(&arena);
    unsigned char *zeroed = onnxd_arena_alloc_zero(&arena, 20, 10);
    for (size_t i = 0; i < 200; i++)
        cr_assert_eq(zeroed[i], 0);
    cr_assert_str_eq(onnxd_arena_strndup(&arena, "hello world", 5), "hello");
    cr_assert_str_eq(onnxd_arena_strndup(&arena, NULL, 0), "");
    onnxd_arena_deinit(&arena);
}

Test(arena, survives_allocation_failure)
{
    onnxd_arena arena;
    onnxd_arena_init(&arena, 256, SIZE_MAX);
    onnxd_alloc_fail_at(1, 0);
    cr_assert_null(onnxd_arena_alloc(&arena, 10));
    cr_assert_eq(arena.used_bytes, 0);
    cr_assert_not_null(onnxd_arena_alloc(&arena, 10));
    onnxd_arena_deinit(&arena);
}

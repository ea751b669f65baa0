#include "base/alloc.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdalign.h>
#include <string.h>

#include "base/compiler.h"

Test(alloc, size_zero_is_unique)
{
    void *a = onnxd_alloc(0);
    void *b = onnxd_alloc_zero(0, 8);
    void *c = onnxd_alloc_aligned(0, 64);
    cr_assert(a != NULL && b != NULL && c != NULL);
    cr_assert(a != b && b != c && a != c);
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(c);
    onnxd_free(NULL);
}

Test(alloc, impossible_sizes_are_refused)
{
    cr_assert_null(onnxd_alloc(SIZE_MAX));
    cr_assert_null(onnxd_alloc((size_t)PTRDIFF_MAX));
    cr_assert_null(onnxd_alloc_zero(SIZE_MAX / 2, 3));
    cr_assert_null(onnxd_alloc_zero(SIZE_MAX, 1));
    cr_assert_null(onnxd_alloc_aligned(SIZE_MAX - 7, 64));
    cr_assert_null(onnxd_strndup("x", SIZE_MAX));
    char *kept = onnxd_strdup("kept");
    cr_assert_null(onnxd_realloc_array(kept, SIZE_MAX / 4, 5));
    cr_assert_str_eq(kept, "kept");
    onnxd_free(kept);
}

Test(alloc, zeroed_and_aligned)
{
    unsigned char *zeroed = onnxd_alloc_zero(100, 7);
    for (size_t i = 0; i < 700; i++)
        cr_assert_eq(zeroed[i], 0);
    onnxd_free(zeroed);
    for (size_t alignment = sizeof(void *); alignment <= 65536; alignment *= 2) {
        void *data = onnxd_alloc_aligned(3, alignment);
        cr_assert_eq((uintptr_t)data % alignment, 0);
        onnxd_free(data);
    }
}

Test(alloc, realloc_keeps_the_bytes)
{
    char *text = onnxd_realloc_array(NULL, 4, 1);
    memcpy(text, "abc", 4);
    text = onnxd_realloc_array(text, 1000, 3);
    cr_assert_str_eq(text, "abc");
    text = onnxd_realloc_array(text, 0, 3);
    cr_assert_not_null(text);
    onnxd_free(text);
}

Test(alloc, strndup_ends_in_nul)
{
    char *copy = onnxd_strndup("abcdef", 3);
    cr_assert_str_eq(copy, "abc");
    onnxd_free(copy);
    copy = onnxd_strndup(NULL, 0);
    cr_assert_str_eq(copy, "");
    onnxd_free(copy);
}

Test(alloc, counts_calls_and_live_blocks)
{
    onnxd_alloc_stats before = onnxd_alloc_query();
    uint64_t thread_before = onnxd_alloc_thread_calls();
    void *a = onnxd_alloc(1);
    a = onnxd_realloc_array(a, 2, 1);
    void *b = onnxd_realloc_array(NULL, 2, 1);
    onnxd_alloc_stats during = onnxd_alloc_query();
    cr_assert_eq(during.calls - before.calls, 3);
    cr_assert_eq(during.live_count - before.live_count, 2);
    cr_assert_eq(onnxd_alloc_thread_calls() - thread_before, 3);
    onnxd_free(a);
    onnxd_free(b);
    cr_assert_eq(onnxd_alloc_query().live_count, before.live_count);
}

static void *allocate_once(void *unused)
{
    onnxd_free(onnxd_alloc(1));
    return unused;
}

Test(alloc, counts_per_thread)
{
    uint64_t before = onnxd_alloc_thread_calls();
    onnxd_alloc_stats all_before = onnxd_alloc_query();
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, allocate_once, NULL), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(onnxd_alloc_thread_calls(), before);
    cr_assert_eq(onnxd_alloc_query().calls, all_before.calls + 1);
}

Test(alloc, fails_where_it_is_told)
{
    onnxd_alloc_fail_at(2, 0);
    void *first = onnxd_alloc(1);
    void *second = onnxd_alloc_zero(1, 1);
    void *third = onnxd_alloc_aligned(1, 8);
    cr_assert(first != NULL && second == NULL && third != NULL);
    onnxd_free(first);
    onnxd_free(third);

    onnxd_alloc_fail_at(2, 1);
    first = onnxd_alloc(1);
    cr_assert(first != NULL);
    cr_assert_null(onnxd_strdup("x"));
    cr_assert_null(onnxd_realloc_array(first, 10, 1));
    cr_assert_null(onnxd_alloc(1));
    onnxd_alloc_fail_at(0, 0);
    second = onnxd_alloc(1);
    cr_assert(second != NULL);
    onnxd_free(first);
    onnxd_free(second);
}

/* So that the system can back them with such pages. */
Test(alloc, large_blocks_start_at_a_huge_page)
{
    const size_t page = (size_t)2 << 20, sizes[] = {page, page + 1, 3 * page + 4096};
    for (size_t i = 0; i < ONNXD_COUNT(sizes); i++) {
        unsigned char *data = onnxd_alloc_aligned(sizes[i], 64);
        cr_assert_not_null(data);
        cr_expect_eq((uintptr_t)data % page, 0);
        memset(data, 1, sizes[i]);
        onnxd_free(data);
    }
}

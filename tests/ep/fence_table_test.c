#include "ep/fence_table.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ep/instance_tag.h"

#define MILLISECOND ((int64_t)1000000)

static onnxd_fence_table *make(uint32_t capacity)
{
    onnxd_fence_table *table = NULL;
    uint16_t tag = onnxd_instance_tag((onnxd_device_id){ONNXD_DEVICE_CUSTOM, 0});
    cr_assert_null(onnxd_fence_table_create(capacity, tag, &table));
    return table;
}

static onnxd_fence acquire(onnxd_fence_table *table)
{
    onnxd_fence fence = 0;
    cr_assert_null(onnxd_fence_table_acquire(table, &fence));
    cr_assert_neq(fence, ONNXD_FENCE_SIGNALLED);
    return fence;
}

static void expect_code(onnxd_status *status, onnxd_code code)
{
    cr_assert_eq(onnxd_status_code(status), code, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
}

Test(fence_table, query_and_wait_see_the_signal)
{
    onnxd_fence_table *table = make(4);
    onnxd_fence fence = acquire(table);
    bool done = true;
    cr_assert_null(onnxd_fence_table_query(table, fence, &done));
    cr_assert_not(done);
    expect_code(onnxd_fence_table_wait(table, fence, 0), ONNXD_DEADLINE_EXCEEDED);
    onnxd_fence_table_signal(table, fence, NULL);
    cr_assert_null(onnxd_fence_table_query(table, fence, &done));
    cr_assert(done);
    cr_assert_null(onnxd_fence_table_wait(table, fence, 0));
    cr_assert_null(onnxd_fence_table_wait(table, fence, -1));
    cr_assert_null(onnxd_fence_table_release(table, fence));
    cr_assert_eq(onnxd_fence_table_live(table), 0);
    onnxd_fence_table_destroy(table);
}

Test(fence_table, a_timeout_takes_its_time_and_can_be_repeated)
{
    onnxd_fence_table *table = make(4);
    onnxd_fence fence = acquire(table);
    int64_t start = onnxd_now_ns();
    expect_code(onnxd_fence_table_wait(table, fence, 20 * MILLISECOND), ONNXD_DEADLINE_EXCEEDED);
    cr_assert_geq(onnxd_now_ns() - start, 20 * MILLISECOND);
    onnxd_fence_table_signal(table, fence, NULL);
    cr_assert_null(onnxd_fence_table_wait(table, fence, INT64_MAX));
    onnxd_fence_table_destroy(table);
}

Test(fence_table, unknown_ids_are_stale)
{
    onnxd_fence_table *table = make(4), *other = make(4);
    onnxd_fence fence = acquire(table), foreign = acquire(other);
    cr_assert_neq(fence, foreign, "two instances hand out one fence");
    const onnxd_fence bad[] = {foreign, 1, UINT64_MAX, fence + 1, fence ^ ((uint64_t)1 << 33)};
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++) {
        bool done = false;
        expect_code(onnxd_fence_table_wait(table, bad[i], 0), ONNXD_STALE_FENCE);
        expect_code(onnxd_fence_table_query(table, bad[i], &done), ONNXD_STALE_FENCE);
        expect_code(onnxd_fence_table_release(table, bad[i]), ONNXD_STALE_FENCE);
        expect_code(onnxd_fence_table_hold(table, bad[i]), ONNXD_STALE_FENCE);
        onnxd_fence_table_signal(table, bad[i], NULL);
    }
    bool done = true;
    cr_assert_null(onnxd_fence_table_query(table, fence, &done));
    cr_assert_not(done, "a signal with a foreign id reached the fence");
    onnxd_fence_table_destroy(table);
    onnxd_fence_table_destroy(other);
}

Test(fence_table, released_fences_are_stale_even_before_they_are_signalled)
{
    onnxd_fence_table *table = make(4);
    onnxd_fence fence = acquire(table);
    cr_assert_null(onnxd_fence_table_release(table, fence));
    expect_code(onnxd_fence_table_release(table, fence), ONNXD_STALE_FENCE);
    expect_code(onnxd_fence_table_wait(table, fence, 0), ONNXD_STALE_FENCE);
    cr_assert_eq(onnxd_fence_table_live(table), 1, "the work still has to signal it");
    onnxd_fence_table_signal(table, fence, NULL);
    cr_assert_eq(onnxd_fence_table_live(table), 0);
    onnxd_fence_table_destroy(table);
}

Test(fence_table, slots_come_back_when_nobody_waits)
{
    onnxd_fence_table *table = make(2);
    uint64_t before = onnxd_alloc_thread_calls();
    for (int i = 0; i < 1000; i++) {
        onnxd_fence fence = acquire(table);
        if (i % 2 == 0)
            onnxd_fence_table_signal(table, fence, NULL);
        cr_assert_null(onnxd_fence_table_release(table, fence));
        if (i % 2 == 1)
            onnxd_fence_table_signal(table, fence, NULL);
    }
    cr_assert_eq(onnxd_alloc_thread_calls(), before);
    cr_assert_eq(onnxd_fence_table_live(table), 0);
    onnxd_fence_table_destroy(table);
}

Test(fence_table, capacity_is_a_bound)
{
    onnxd_fence_table *table = make(2);
    onnxd_fence first = acquire(table);
    acquire(table);
    onnxd_fence third = 7;
    expect_code(onnxd_fence_table_acquire(table, &third), ONNXD_RESOURCE_EXHAUSTED);
    cr_assert_eq(third, 7, "the out-parameter was touched on failure");
    onnxd_fence_table_signal(table, first, NULL);
    cr_assert_null(onnxd_fence_table_release(table, first));
    acquire(table);
    onnxd_fence_table_destroy(table);
    expect_code(onnxd_fence_table_create(0, 1, &table), ONNXD_INVALID_ARGUMENT);
    expect_code(onnxd_fence_table_create(ONNXD_FENCE_TABLE_MAX + 1, 1, &table),
                ONNXD_INVALID_ARGUMENT);
}

Test(fence_table, every_waiter_gets_the_failure)
{
    onnxd_fence_table *table = make(2);
    onnxd_fence fence = acquire(table);
    onnxd_fence_table_signal(table, fence, onnxd_error(ONNXD_KERNEL_FAILED, "index 7"));
    onnxd_fence_table_signal(table, fence, NULL);
    for (int i = 0; i < 3; i++) {
        onnxd_status *status = onnxd_fence_table_wait(table, fence, -1);
        cr_assert_str_eq(onnxd_status_message(status), "index 7");
        expect_code(status, ONNXD_KERNEL_FAILED);
    }
    bool done = false;
    cr_assert_null(onnxd_fence_table_query(table, fence, &done));
    cr_assert(done);
    cr_assert_null(onnxd_fence_table_release(table, fence));
    onnxd_fence next = acquire(table);
    onnxd_fence_table_signal(table, next, NULL);
    cr_assert_null(onnxd_fence_table_wait(table, next, -1), "the failure outlived its fence");
    onnxd_fence_table_destroy(table);
}

Test(fence_table, a_hold_outlives_the_release)
{
    onnxd_fence_table *table = make(2);
    onnxd_fence fence = acquire(table);
    cr_assert_null(onnxd_fence_table_hold(table, fence));
    cr_assert_null(onnxd_fence_table_release(table, fence));
    onnxd_fence_table_signal(table, fence, onnxd_error(ONNXD_INTERNAL, "lost"));
    cr_assert_eq(onnxd_fence_table_live(table), 1);
    bool waited = true;
    expect_code(onnxd_fence_table_wait_held(table, fence, &waited), ONNXD_INTERNAL);
    cr_assert_not(waited);
    cr_assert_eq(onnxd_fence_table_live(table), 0);
    expect_code(onnxd_fence_table_wait_held(table, fence, &waited), ONNXD_STALE_FENCE);
    onnxd_fence_table_destroy(table);
}

typedef struct waiter {
    onnxd_fence_table *table;
    onnxd_fence fence;
    onnxd_code code;
} waiter;

static void *wait_main(void *user)
{
    waiter *self = user;
    onnxd_status *status = onnxd_fence_table_wait(self->table, self->fence, -1);
    self->code = onnxd_status_code(status);
    onnxd_status_free(status);
    return NULL;
}

Test(fence_table, waiters_on_other_threads_wake_and_pin_the_fence)
{
    onnxd_fence_table *table = make(2);
    onnxd_fence fence = acquire(table);
    waiter waiters[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        waiters[i] = (waiter){table, fence, ONNXD_OK};
        cr_assert_eq(pthread_create(&threads[i], NULL, wait_main, &waiters[i]), 0);
    }
    nanosleep(&(struct timespec){.tv_nsec = 20 * MILLISECOND}, NULL);
    cr_assert_null(onnxd_fence_table_release(table, fence));
    onnxd_fence_table_signal(table, fence, onnxd_error(ONNXD_INTERNAL, "gone"));
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        /* A thread that came after the release finds the fence stale. */
        cr_assert(waiters[i].code == ONNXD_INTERNAL || waiters[i].code == ONNXD_STALE_FENCE);
    }
    cr_assert_eq(onnxd_fence_table_live(table), 0);
    onnxd_fence_table_destroy(table);
}

static void *churn(void *user)
{
    onnxd_fence_table *table = user;
    intptr_t failures = 0;
    for (int i = 0; i < 2000; i++) {
        onnxd_fence fence = 0;
        onnxd_status *status = onnxd_fence_table_acquire(table, &fence);
        if (status == NULL)
            onnxd_fence_table_signal(table, fence, NULL);
        if (status == NULL)
            status = onnxd_fence_table_wait(table, fence, -1);
        if (status == NULL)
            status = onnxd_fence_table_release(table, fence);
        failures += status != NULL;
        onnxd_status_free(status);
    }
    return (void *)failures;
}

Test(fence_table, threads_share_it)
{
    onnxd_fence_table *table = make(8);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, churn, table), 0);
    for (int i = 0; i < 4; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        cr_assert_null(failures);
    }
    cr_assert_eq(onnxd_fence_table_live(table), 0);
    onnxd_fence_table_destroy(table);
}

Test(fence_table, creation_survives_failed_allocations)
{
    uint64_t live = onnxd_alloc_query().live_count;
    for (uint64_t n = 1; n <= 2; n++) {
        onnxd_fence_table *table = NULL;
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_fence_table_create(8, 1, &table);
        onnxd_alloc_fail_at(0, 0);
        expect_code(status, ONNXD_OUT_OF_MEMORY);
        cr_assert_null(table);
    }
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}

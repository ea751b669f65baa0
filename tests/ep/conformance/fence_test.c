/* The fence verbs. */
#include "support.h"

static onnxd_fence record(onnxd_ep *ep, onnxd_stream stream)
{
    onnxd_fence fence = 0;
    expect_ok(onnxd_ep_fence_record(ep, stream, &fence));
    return fence;
}

CONFORMANCE_TEST(fence, zero_was_signalled_always)
{
    onnxd_ep *ep = open_default_ep();
    bool done = false;
    expect_ok(onnxd_ep_fence_wait(ep, ONNXD_FENCE_SIGNALLED, 0));
    expect_ok(onnxd_ep_fence_query(ep, ONNXD_FENCE_SIGNALLED, &done));
    cr_assert(done);
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        expect_ok(onnxd_ep_stream_wait(ep, (onnxd_stream)i, ONNXD_FENCE_SIGNALLED));
    for (int i = 0; i < 2; i++)
        expect_ok(onnxd_ep_fence_release(ep, ONNXD_FENCE_SIGNALLED));
    close_ep(ep);
}

CONFORMANCE_TEST(fence, every_stream_records_and_waits)
{
    onnxd_ep *ep = open_default_ep();
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++) {
        for (int k = 0; k < ONNXD_STREAM_COUNT; k++) {
            onnxd_fence first = record(ep, (onnxd_stream)i);
            expect_ok(onnxd_ep_stream_wait(ep, (onnxd_stream)k, first));
            onnxd_fence second = record(ep, (onnxd_stream)k);
            expect_ok(onnxd_ep_fence_release(ep, first));
            finish(ep, second);
        }
    }
    const int bad[] = {ONNXD_STREAM_COUNT, -1, 1000};
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++) {
        onnxd_fence fence = 77;
        expect_code(onnxd_ep_fence_record(ep, (onnxd_stream)bad[i], &fence),
                    ONNXD_INVALID_ARGUMENT);
        expect_code(onnxd_ep_stream_wait(ep, (onnxd_stream)bad[i], 0), ONNXD_INVALID_ARGUMENT);
        cr_assert_eq(fence, 77);
    }
    close_ep(ep);
}

static void expect_stale(onnxd_ep *ep, onnxd_fence fence)
{
    bool done = true;
    expect_code(onnxd_ep_fence_wait(ep, fence, 0), ONNXD_STALE_FENCE);
    expect_code(onnxd_ep_fence_query(ep, fence, &done), ONNXD_STALE_FENCE);
    expect_code(onnxd_ep_fence_release(ep, fence), ONNXD_STALE_FENCE);
    for (int i = 0; i < ONNXD_STREAM_COUNT; i++)
        expect_code(onnxd_ep_stream_wait(ep, (onnxd_stream)i, fence), ONNXD_STALE_FENCE);
}

CONFORMANCE_TEST(fence, stale_foreign_and_unknown_fences_are_refused)
{
    onnxd_ep *ep = open_default_ep(), *twin = open_default_ep(), *second = create_ep(1);
    expect_ok(onnxd_ep_initialize(second, NULL));
    onnxd_fence live = record(ep, ONNXD_STREAM_COMPUTE);
    onnxd_fence of_twin = record(twin, ONNXD_STREAM_COMPUTE);
    onnxd_fence of_second = record(second, ONNXD_STREAM_COMPUTE);
    expect_stale(ep, of_twin);
    expect_stale(ep, of_second);
    expect_stale(ep, 1);
    expect_stale(ep, UINT64_MAX);
    expect_stale(ep, live + 1);
    finish(ep, live);
    expect_stale(ep, live);
    onnxd_fence reused = record(ep, ONNXD_STREAM_COMPUTE);
    expect_stale(ep, live);
    finish(ep, reused);
    finish(twin, of_twin);
    finish(second, of_second);
    close_ep(ep);
    close_ep(twin);
    close_ep(second);
}

CONFORMANCE_TEST(fence, fences_come_back_though_nobody_waits)
{
    onnxd_ep *ep = open_default_ep();
    static unsigned char host[16];
    onnxd_buffer buffer = allocate(ep, 16);
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(host, 16), buffer, 16);
    for (int i = 0; i < 20000; i++) {
        onnxd_fence fence =
            i % 2 == 0 ? issue(ep, &copy) : record(ep, (onnxd_stream)(i % ONNXD_STREAM_COUNT));
        expect_ok(onnxd_ep_fence_release(ep, fence));
        if (i % 64 == 63)
            finish(ep, record(ep, ONNXD_STREAM_COPY_IN));
    }
    expect_ok(onnxd_ep_sync(ep));
    cr_assert_eq(onnxd_ep_get_stats(ep).fences_live, 0);
    deallocate(ep, buffer);
    close_ep(ep);
}

CONFORMANCE_TEST(fence, too_many_fences_are_an_error_that_passes)
{
    onnxd_ep *ep = open_default_ep();
    enum { MOST = 70000 };
    static onnxd_fence fences[MOST];
    int count = 0;
    onnxd_status *status = NULL;
    while (count < MOST && status == NULL) {
        status = onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fences[count]);
        count += status == NULL;
    }
    expect_code(status, ONNXD_RESOURCE_EXHAUSTED);
    cr_assert_eq(onnxd_ep_get_stats(ep).fences_live, (uint64_t)count);
    for (int i = 0; i < count; i++)
        finish(ep, fences[i]);
    finish(ep, record(ep, ONNXD_STREAM_COMPUTE));
    cr_assert_eq(onnxd_ep_get_stats(ep).fences_live, 0);
    close_ep(ep);
}

CONFORMANCE_TEST(fence, a_failure_travels_through_streams_and_ends_there)
{
    if (conformance_provider.fault_copy == NULL) {
        skip("no option makes a copy fail");
        return;
    }
    onnxd_ep *ep = open_ep_with(conformance_provider.fault_copy, "1");
    static unsigned char host[16];
    onnxd_buffer buffer = allocate(ep, 16);
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(host, 16), buffer, 16);
    onnxd_fence failed = issue(ep, &copy);
    expect_ok(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COMPUTE, failed));
    onnxd_fence computed = record(ep, ONNXD_STREAM_COMPUTE);
    expect_ok(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COPY_OUT, computed));
    onnxd_copy out = copy_of(buffer, onnxd_buffer_borrow_host(host, 16), 16);
    onnxd_fence read = issue(ep, &out);
    onnxd_fence after = record(ep, ONNXD_STREAM_COMPUTE);
    for (int i = 0; i < 2; i++)
        expect_code(onnxd_ep_fence_wait(ep, computed, -1), ONNXD_INTERNAL);
    finish_with(ep, failed, ONNXD_INTERNAL);
    finish_with(ep, computed, ONNXD_INTERNAL);
    finish_with(ep, read, ONNXD_INTERNAL);
    finish(ep, after);
    finish(ep, issue(ep, &copy));
    deallocate(ep, buffer);
    close_ep(ep);
}

static onnxd_ep *open_slow(void)
{
    onnxd_ep_option options[16] = {{NULL, NULL}};
    const onnxd_ep_option *lists[] = {conformance_provider.slow_copies,
                                      conformance_provider.slow_kernels};
    size_t count = 0;
    for (size_t i = 0; i < ONNXD_COUNT(lists); i++)
        for (const onnxd_ep_option *at = lists[i]; at != NULL && at->key != NULL; at++)
            options[count++] = *at;
    return open_ep(options, count);
}

CONFORMANCE_TEST(fence, sync_drains_all_streams_and_is_counted)
{
    onnxd_ep *ep = open_slow();
    one_node relu;
    make_relu(&relu, 16);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    onnxd_buffer computed = filled(ep, 64, 0);
    expect_ok(enqueue_unary(kernel, computed, computed, 16));
    static unsigned char host[64], back[64] = {1};
    onnxd_buffer buffer = filled(ep, 64, 0), other = filled(ep, 64, 0);
    onnxd_copy in = copy_of(onnxd_buffer_borrow_host(host, 64), buffer, 64);
    onnxd_copy out = copy_of(other, onnxd_buffer_borrow_host(back, 64), 64);
    onnxd_fence fences[] = {issue(ep, &in), issue(ep, &out), record(ep, ONNXD_STREAM_COMPUTE)};
    cr_assert_eq(onnxd_ep_get_stats(ep).sync_calls, 0);
    expect_ok(onnxd_ep_sync(ep));
    cr_assert_eq(onnxd_ep_get_stats(ep).sync_calls, 1);
    for (size_t i = 0; i < ONNXD_COUNT(fences); i++) {
        bool done = false;
        expect_ok(onnxd_ep_fence_query(ep, fences[i], &done));
        cr_assert(done);
        expect_ok(onnxd_ep_fence_release(ep, fences[i]));
    }
    cr_assert(is_filled(back, 64, 0));
    deallocate(ep, buffer);
    deallocate(ep, other);
    deallocate(ep, computed);
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    close_ep(ep);
}

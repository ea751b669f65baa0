/* allocate and deallocate. */
#include <string.h>

#include "support.h"

CONFORMANCE_TEST(memory, size_zero_is_legal_and_unique)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer first = allocate(ep, 0), second = allocate(ep, 0);
    cr_assert_neq(first.handle, second.handle);
    cr_assert_neq(first.data, second.data);
    cr_assert_eq(first.bytes, 0);
    onnxd_copy copy = copy_of(first, second, 0);
    expect_ok(onnxd_ep_copy(ep, &copy));
    deallocate(ep, first);
    deallocate(ep, second);
    close_ep(ep);
}

CONFORMANCE_TEST(memory, every_power_of_two_is_an_alignment)
{
    onnxd_ep *ep = open_default_ep();
    size_t own = onnxd_ep_get_info(ep).alignment_bytes;
    for (size_t alignment = 1; alignment <= (size_t)1 << 20; alignment *= 2) {
        onnxd_buffer buffer;
        expect_ok(onnxd_ep_allocate(ep, 10, alignment, &buffer));
        cr_assert_eq((uintptr_t)buffer.data % alignment, 0, "alignment %zu", alignment);
        cr_assert_eq((uintptr_t)buffer.data % own, 0, "alignment %zu", alignment);
        cr_assert_eq(buffer.bytes, 10);
        upload(ep, buffer, "0123456789", 10);
        deallocate(ep, buffer);
    }
    const size_t bad[] = {0, 3, 48, 65, SIZE_MAX};
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++) {
        onnxd_buffer buffer = {.handle = 77};
        expect_code(onnxd_ep_allocate(ep, 10, bad[i], &buffer), ONNXD_ALIGNMENT_ERROR);
        cr_assert_eq(buffer.handle, 77);
    }
    close_ep(ep);
}

static void expect_out_of_memory(onnxd_ep *ep, size_t bytes, size_t alignment)
{
    onnxd_buffer buffer = {.handle = 77};
    onnxd_status *status = onnxd_ep_allocate(ep, bytes, alignment, &buffer);
    /* What padding for the alignment needs may be part of what was requested. */
    uint64_t requested = onnxd_status_requested_bytes(status);
    cr_assert(alignment <= 64 ? requested == bytes : requested >= bytes, "%zu at %zu: %s", bytes,
              alignment, onnxd_status_message(status));
    cr_assert_lt(onnxd_status_available_bytes(status), requested);
    expect_code(status, ONNXD_OUT_OF_MEMORY);
    cr_assert_eq(buffer.handle, 77);
}

CONFORMANCE_TEST(memory, too_much_is_refused_with_both_numbers)
{
    onnxd_ep *ep = open_ep_with(conformance_provider.limit_key, "1048576");
    const size_t huge[] = {1048577, (size_t)1 << 40, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};
    for (size_t i = 0; i < ONNXD_COUNT(huge); i++)
        expect_out_of_memory(ep, huge[i], 64);
    expect_out_of_memory(ep, (size_t)1 << 22, (size_t)1 << 63);
    onnxd_buffer half = allocate(ep, 600000);
    expect_out_of_memory(ep, 600000, 64);
    cr_assert_eq(onnxd_ep_get_stats(ep).buffers_live, 1);
    deallocate(ep, half);
    expect_ok(onnxd_ep_sync(ep));
    deallocate(ep, allocate(ep, 600000));
    close_ep(ep);
}

CONFORMANCE_TEST(memory, small_blocks_in_the_pool_do_not_starve_a_large_one)
{
    onnxd_ep *ep = open_ep_with(conformance_provider.limit_key, "1048576");
    onnxd_buffer buffers[16];
    for (int i = 0; i < 16; i++)
        buffers[i] = allocate(ep, 50000);
    for (int i = 0; i < 16; i++)
        deallocate(ep, buffers[i]);
    deallocate(ep, allocate(ep, 1000000));
    close_ep(ep);
}

CONFORMANCE_TEST(memory, stale_and_foreign_buffers_are_refused)
{
    onnxd_ep *ep = open_default_ep(), *other = open_default_ep();
    onnxd_buffer stale = filled(ep, 100, 1), foreign = filled(other, 100, 2);
    onnxd_buffer live = filled(ep, 100, 3);
    deallocate(ep, stale);
    onnxd_buffer forged = live, moved = live, resized = live, unknown = live, other_device = live;
    forged.handle ^= (uint64_t)1 << 3;
    moved.data = (char *)moved.data + 1;
    resized.bytes = 1000000;
    unknown.handle = UINT64_MAX;
    other_device.device.index = 9;
    const onnxd_buffer bad[] = {stale, foreign, forged, moved, resized, unknown, other_device};
    unsigned char host[100];
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++) {
        onnxd_buffer borrowed = onnxd_buffer_borrow_host(host, sizeof(host));
        onnxd_copy out = copy_of(bad[i], borrowed, 100), in = copy_of(borrowed, bad[i], 100);
        onnxd_copy within = copy_of(bad[i], live, 100);
        onnxd_fence fence = 77;
        expect_code(onnxd_ep_deallocate(ep, bad[i]), ONNXD_FOREIGN_BUFFER);
        expect_code(onnxd_ep_copy(ep, &out), ONNXD_FOREIGN_BUFFER);
        expect_code(onnxd_ep_copy(ep, &in), ONNXD_FOREIGN_BUFFER);
        expect_code(onnxd_ep_copy_async(ep, &within, &fence), ONNXD_FOREIGN_BUFFER);
        cr_assert_eq(fence, 77);
    }
    download(ep, live, host, sizeof(host));
    cr_assert(is_filled(host, sizeof(host), 3));
    deallocate(ep, live);
    deallocate(other, foreign);
    cr_assert_eq(onnxd_ep_get_stats(ep).fences_live, 0);
    close_ep(ep);
    close_ep(other);
}

/* A peer's buffer is taken only by who can tell whether it lives. */
CONFORMANCE_TEST(memory, a_stale_buffer_of_a_peer_is_refused)
{
    onnxd_ep *ep = open_default_ep(), *peer = create_ep(1);
    expect_ok(onnxd_ep_initialize(peer, NULL));
    onnxd_buffer own = filled(ep, 64, 1), stale = filled(peer, 64, 2);
    deallocate(peer, stale);
    const onnxd_copy copies[] = {copy_of(stale, own, 64), copy_of(own, stale, 64)};
    for (size_t i = 0; i < ONNXD_COUNT(copies); i++) {
        onnxd_fence fence = 77;
        expect_code(onnxd_ep_copy(ep, &copies[i]), ONNXD_FOREIGN_BUFFER);
        expect_code(onnxd_ep_copy_async(ep, &copies[i], &fence), ONNXD_FOREIGN_BUFFER);
        cr_assert_eq(fence, 77);
    }
    deallocate(ep, own);
    close_ep(ep);
    close_ep(peer);
}

CONFORMANCE_TEST(memory, a_buffer_is_ended_once)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer buffer = allocate(ep, 100), copy = buffer;
    deallocate(ep, buffer);
    expect_code(onnxd_ep_deallocate(ep, copy), ONNXD_FOREIGN_BUFFER);
    onnxd_buffer next = allocate(ep, 100);
    expect_code(onnxd_ep_deallocate(ep, copy), ONNXD_FOREIGN_BUFFER);
    deallocate(ep, next);
    close_ep(ep);
}

CONFORMANCE_TEST(memory, deallocating_borrowed_memory_does_nothing)
{
    onnxd_ep *ep = open_default_ep();
    unsigned char host[16] = {5};
    expect_ok(onnxd_ep_deallocate(ep, onnxd_buffer_borrow_host(host, sizeof(host))));
    expect_ok(onnxd_ep_deallocate(ep, onnxd_buffer_borrow_host(host, sizeof(host))));
    cr_assert_eq(host[0], 5);
    close_ep(ep);
}

CONFORMANCE_TEST(memory, deallocate_takes_effect_after_the_work_that_uses_the_buffer)
{
    onnxd_ep *ep = open_ep_list(conformance_provider.slow_copies);
    static unsigned char back[1000];
    onnxd_buffer buffer = filled(ep, sizeof(back), 4);
    onnxd_copy copy = copy_of(buffer, onnxd_buffer_borrow_host(back, sizeof(back)), sizeof(back));
    onnxd_fence fence = issue(ep, &copy);
    deallocate(ep, buffer);
    /* The pool would hand the same block out again if it were free by now. */
    onnxd_buffer next = filled(ep, sizeof(back), 5);
    finish(ep, fence);
    cr_assert(is_filled(back, sizeof(back), 4), "the buffer was reused under a copy");
    deallocate(ep, next);
    close_ep(ep);
}

CONFORMANCE_TEST(memory, the_statistics_are_exact)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer first = allocate(ep, 1000), second = allocate(ep, 24);
    onnxd_ep_stats stats = onnxd_ep_get_stats(ep);
    cr_assert_eq(stats.allocated_bytes, 1024);
    cr_assert_eq(stats.buffers_live, 2);
    cr_assert_eq(stats.allocate_calls, 2);
    cr_assert_gt(stats.device_allocations, 0);
    deallocate(ep, first);
    cr_assert_eq(onnxd_ep_get_stats(ep).allocated_bytes, 24);
    deallocate(ep, second);
    cr_assert_eq(onnxd_ep_get_stats(ep).buffers_live, 0);
    close_ep(ep);
}

CONFORMANCE_TEST(memory, a_steady_state_reaches_the_pool_only)
{
    onnxd_ep *ep = open_default_ep();
    uint64_t after_first = 0;
    for (int i = 0; i < 100; i++) {
        onnxd_buffer a = allocate(ep, 70000), b = allocate(ep, 300);
        unsigned char byte = (unsigned char)i;
        upload(ep, a, &byte, 1);
        deallocate(ep, b);
        deallocate(ep, a);
        /* Deallocation is deferred until the streams have passed it. */
        onnxd_fence fence;
        expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COPY_IN, &fence));
        finish(ep, fence);
        if (i == 10)
            after_first = onnxd_ep_get_stats(ep).device_allocations;
    }
    cr_assert_eq(onnxd_ep_get_stats(ep).device_allocations, after_first);
    cr_assert_eq(onnxd_ep_get_stats(ep).sync_calls, 0, "the request path must not synchronise");
    close_ep(ep);
}

CONFORMANCE_TEST(memory, an_injected_fault_is_reported_and_passes)
{
    if (conformance_provider.fault_alloc == NULL) {
        skip("no option makes an allocation fail");
        return;
    }
    onnxd_ep *ep = open_ep_with(conformance_provider.fault_alloc, "2");
    onnxd_buffer first = allocate(ep, 10);
    expect_out_of_memory(ep, 1000, 64);
    onnxd_buffer third = allocate(ep, 10);
    cr_assert_eq(onnxd_ep_get_stats(ep).buffers_live, 2);
    deallocate(ep, first);
    deallocate(ep, third);
    close_ep(ep);
}

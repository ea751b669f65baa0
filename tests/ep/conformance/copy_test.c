/* copy and copy_async: directions, ranges, and the order that fences make. */
#include <string.h>

#include "support.h"

#define BYTES 4096

CONFORMANCE_TEST(copy, every_direction_with_offsets)
{
    onnxd_ep *ep = open_default_ep();
    unsigned char out[64], in[64];
    for (int i = 0; i < 64; i++)
        out[i] = (unsigned char)(i + 1);
    onnxd_buffer a = filled(ep, 64, 0xaa), b = filled(ep, 64, 0xbb);
    onnxd_copy to_device = {.source = onnxd_buffer_borrow_host(out, 64),
                            .source_offset = 3,
                            .destination = a,
                            .destination_offset = 10,
                            .bytes = 20};
    onnxd_copy within = {
        .source = a, .source_offset = 12, .destination = b, .destination_offset = 1, .bytes = 16};
    memset(in, 0, sizeof(in));
    onnxd_copy to_host = {.source = b,
                          .source_offset = 2,
                          .destination = onnxd_buffer_borrow_host(in, 64),
                          .destination_offset = 40,
                          .bytes = 24};
    for (int is_async = 0; is_async <= 1; is_async++) {
        const onnxd_copy *const copies[] = {&to_device, &within, &to_host};
        for (int i = 0; i < 3; i++) {
            if (is_async)
                finish(ep, issue(ep, copies[i]));
            else
                expect_ok(onnxd_ep_copy(ep, copies[i]));
        }
        cr_assert_arr_eq(in + 40, out + 6, 15);
        cr_assert(is_filled(in + 55, 9, 0xbb));
        cr_assert(is_filled(in, 40, 0));
        memset(in, 0, sizeof(in));
    }
    unsigned char whole[64];
    download(ep, a, whole, 64);
    cr_assert(is_filled(whole, 10, 0xaa) && is_filled(whole + 30, 34, 0xaa));
    cr_assert_arr_eq(whole + 10, out + 3, 20);
    deallocate(ep, a);
    deallocate(ep, b);
    close_ep(ep);
}

CONFORMANCE_TEST(copy, ranges_are_checked_at_both_ends)
{
    onnxd_ep *ep = open_default_ep();
    unsigned char host[100] = {0};
    onnxd_buffer device = filled(ep, 50, 1);
    onnxd_buffer borrowed = onnxd_buffer_borrow_host(host, sizeof(host));
    static const struct {
        size_t host_offset, device_offset, bytes;
    } bad[] = {{0, 0, 51},         {0, 1, 50},
               {60, 0, 41},        {101, 0, 0},
               {0, 51, 0},         {0, 0, SIZE_MAX},
               {SIZE_MAX, 0, 1},   {0, SIZE_MAX, 2},
               {50, SIZE_MAX, 50}, {SIZE_MAX, SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++) {
        onnxd_copy in = {borrowed, device, bad[i].host_offset, bad[i].device_offset, bad[i].bytes};
        onnxd_copy out = {device, borrowed, bad[i].device_offset, bad[i].host_offset, bad[i].bytes};
        onnxd_fence fence = 77;
        expect_code(onnxd_ep_copy(ep, &in), ONNXD_INVALID_ARGUMENT);
        expect_code(onnxd_ep_copy(ep, &out), ONNXD_INVALID_ARGUMENT);
        expect_code(onnxd_ep_copy_async(ep, &in, &fence), ONNXD_INVALID_ARGUMENT);
        expect_code(onnxd_ep_copy_async(ep, &out, &fence), ONNXD_INVALID_ARGUMENT);
        cr_assert_eq(fence, 77);
    }
    const onnxd_copy at_the_end = {borrowed, device, 100, 50, 0};
    expect_ok(onnxd_ep_copy(ep, &at_the_end));
    const onnxd_copy no_address = copy_of(onnxd_buffer_borrow_host(NULL, 10), device, 10);
    expect_code(onnxd_ep_copy(ep, &no_address), ONNXD_INVALID_ARGUMENT);
    cr_assert_eq(onnxd_ep_get_stats(ep).fences_live, 0);
    deallocate(ep, device);
    close_ep(ep);
}

CONFORMANCE_TEST(copy, one_end_must_belong_to_the_instance)
{
    onnxd_ep *ep = create_ep(2);
    expect_ok(onnxd_ep_initialize(ep, NULL));
    unsigned char from[8] = {0}, to[8];
    onnxd_copy copy =
        copy_of(onnxd_buffer_borrow_host(from, 8), onnxd_buffer_borrow_host(to, 8), 8);
    expect_code(onnxd_ep_copy(ep, &copy), ONNXD_FOREIGN_BUFFER);
    close_ep(ep);
}

CONFORMANCE_TEST(copy, overlapping_ranges_of_one_buffer_move)
{
    onnxd_ep *ep = open_default_ep();
    unsigned char data[32], back[32];
    for (int i = 0; i < 32; i++)
        data[i] = (unsigned char)i;
    onnxd_buffer buffer = allocate(ep, 32);
    upload(ep, buffer, data, 32);
    const onnxd_copy copy = {buffer, buffer, 0, 5, 20};
    expect_ok(onnxd_ep_copy(ep, &copy));
    download(ep, buffer, back, 32);
    cr_assert_arr_eq(back + 5, data, 20);
    deallocate(ep, buffer);
    close_ep(ep);
}

/* ---- order --------------------------------------------------------------------------------- */

/* The slow options make each copy take 100 ms, at the end of which its bytes move. A copy that has
 * another one before it on its stream moves them after 200 ms. */
typedef struct slow {
    onnxd_ep *ep;
    onnxd_buffer subject, scratch;
    unsigned char host[BYTES], other[BYTES], old[BYTES];
} slow;

static slow *open_slow(void)
{
    static slow s;
    s.ep = open_ep_list(conformance_provider.slow_copies);
    s.subject = filled(s.ep, BYTES, 1);
    s.scratch = filled(s.ep, BYTES, 9);
    memset(s.host, 2, BYTES);
    memset(s.other, 0, BYTES);
    memset(s.old, 1, BYTES);
    return &s;
}

static void close_slow(slow *s)
{
    deallocate(s->ep, s->subject);
    deallocate(s->ep, s->scratch);
    close_ep(s->ep);
}

static onnxd_copy copy_in(slow *s)
{
    return copy_of(onnxd_buffer_borrow_host(s->host, BYTES), s->subject, BYTES);
}

static onnxd_copy copy_out(slow *s)
{
    return copy_of(s->subject, onnxd_buffer_borrow_host(s->other, BYTES), BYTES);
}

/* Occupies the stream of a direction, so that the next copy on it comes late. */
static onnxd_fence delay_in(slow *s)
{
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(s->old, BYTES), s->scratch, BYTES);
    return issue(s->ep, &copy);
}

static onnxd_fence delay_out(slow *s)
{
    static unsigned char sink[BYTES];
    onnxd_copy copy = copy_of(s->scratch, onnxd_buffer_borrow_host(sink, BYTES), BYTES);
    return issue(s->ep, &copy);
}

/* The subject is 1 on the device, then 2 comes in, and goes out again. */
static unsigned char read_after_write(bool waits)
{
    slow *s = open_slow();
    onnxd_copy in = copy_in(s), out = copy_out(s);
    onnxd_fence before = delay_in(s), written = issue(s->ep, &in);
    if (waits)
        expect_ok(onnxd_ep_stream_wait(s->ep, ONNXD_STREAM_COPY_OUT, written));
    finish(s->ep, issue(s->ep, &out));
    unsigned char seen = s->other[BYTES - 1];
    cr_assert(is_filled(s->other, BYTES, seen));
    finish(s->ep, before);
    finish(s->ep, written);
    close_slow(s);
    return seen;
}

CONFORMANCE_TEST(order, a_read_that_waits_sees_the_write)
{
    cr_assert_eq(read_after_write(true), 2);
    if (can_show_races())
        cr_assert_eq(read_after_write(false), 1, "the wait bears no load");
}

/* The subject is 1 on the device, goes out late, and 2 comes in. */
static unsigned char write_after_read(bool waits)
{
    slow *s = open_slow();
    onnxd_copy in = copy_in(s), out = copy_out(s);
    onnxd_fence before = delay_out(s), read = issue(s->ep, &out);
    if (waits)
        expect_ok(onnxd_ep_stream_wait(s->ep, ONNXD_STREAM_COPY_IN, read));
    onnxd_fence written = issue(s->ep, &in);
    finish(s->ep, read);
    unsigned char seen = s->other[BYTES - 1];
    finish(s->ep, before);
    finish(s->ep, written);
    unsigned char now[BYTES];
    download(s->ep, s->subject, now, BYTES);
    cr_assert(is_filled(now, BYTES, 2));
    close_slow(s);
    return seen;
}

CONFORMANCE_TEST(order, a_write_that_waits_spares_the_read)
{
    cr_assert_eq(write_after_read(true), 1);
    if (can_show_races())
        cr_assert_eq(write_after_read(false), 2, "the wait bears no load");
}

CONFORMANCE_TEST(order, the_host_waits_for_what_goes_out)
{
    slow *s = open_slow();
    onnxd_copy out = copy_out(s);
    onnxd_fence fence = issue(s->ep, &out);
    if (conformance_provider.slow_copies != NULL) {
        bool done = true;
        expect_ok(onnxd_ep_fence_query(s->ep, fence, &done));
        cr_assert_not(done, "a device-to-host copy is not asynchronous");
        if (can_show_races())
            cr_assert_eq(s->other[0], 0);
        expect_code(onnxd_ep_fence_wait(s->ep, fence, 1000), ONNXD_DEADLINE_EXCEEDED);
    }
    finish(s->ep, fence);
    cr_assert(is_filled(s->other, BYTES, 1));
    close_slow(s);
}

/* Host memory is in use until the fence says otherwise. */
static unsigned char source_changed(bool waits)
{
    slow *s = open_slow();
    onnxd_copy in = copy_in(s);
    onnxd_fence fence = issue(s->ep, &in);
    if (waits)
        expect_ok(onnxd_ep_fence_wait(s->ep, fence, -1));
    memset(s->host, 3, BYTES);
    finish(s->ep, fence);
    unsigned char now[BYTES];
    download(s->ep, s->subject, now, BYTES);
    close_slow(s);
    return now[0];
}

CONFORMANCE_TEST(order, the_host_waits_before_it_reuses_what_goes_in)
{
    cr_assert_eq(source_changed(true), 2);
    if (can_show_races())
        cr_assert_eq(source_changed(false), 3, "a host-to-device copy is not asynchronous");
}

CONFORMANCE_TEST(order, device_to_device_copies_are_asynchronous_too)
{
    slow *s = open_slow();
    onnxd_copy within = copy_of(s->subject, s->scratch, BYTES);
    onnxd_fence fence = issue(s->ep, &within);
    bool done = true;
    expect_ok(onnxd_ep_fence_query(s->ep, fence, &done));
    if (conformance_provider.slow_copies != NULL)
        cr_assert_not(done);
    expect_ok(onnxd_ep_stream_wait(s->ep, ONNXD_STREAM_COPY_OUT, fence));
    onnxd_copy out = copy_of(s->scratch, onnxd_buffer_borrow_host(s->other, BYTES), BYTES);
    onnxd_fence read = issue(s->ep, &out);
    expect_ok(onnxd_ep_fence_release(s->ep, fence));
    finish(s->ep, read);
    cr_assert(is_filled(s->other, BYTES, 1));
    close_slow(s);
}

CONFORMANCE_TEST(order, copies_of_one_stream_keep_their_order)
{
    onnxd_ep *ep = open_default_ep();
    enum { COUNT = 200 };
    static unsigned char sources[COUNT][64];
    onnxd_buffer buffer = allocate(ep, 64);
    onnxd_fence fences[COUNT];
    for (int i = 0; i < COUNT; i++) {
        memset(sources[i], i, 64);
        onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(sources[i], 64), buffer, 64);
        fences[i] = issue(ep, &copy);
    }
    expect_ok(onnxd_ep_fence_wait(ep, fences[COUNT - 1], -1));
    for (int i = 0; i < COUNT; i++) {
        bool done = false;
        expect_ok(onnxd_ep_fence_query(ep, fences[i], &done));
        cr_assert(done, "copy %d is not done, but a later one is", i);
        expect_ok(onnxd_ep_fence_release(ep, fences[i]));
    }
    unsigned char back[64];
    download(ep, buffer, back, 64);
    cr_assert(is_filled(back, 64, COUNT - 1));
    deallocate(ep, buffer);
    close_ep(ep);
}

CONFORMANCE_TEST(copy, an_injected_fault_reaches_its_own_fence_only)
{
    if (conformance_provider.fault_copy == NULL) {
        skip("no option makes a copy fail");
        return;
    }
    onnxd_ep *ep = open_ep_with(conformance_provider.fault_copy, "2");
    unsigned char host[16] = {0};
    onnxd_buffer buffer = allocate(ep, 16);
    onnxd_copy copy = copy_of(onnxd_buffer_borrow_host(host, 16), buffer, 16);
    onnxd_fence first = issue(ep, &copy), second = issue(ep, &copy), third = issue(ep, &copy);
    finish(ep, first);
    finish_with(ep, second, ONNXD_INTERNAL);
    finish(ep, third);
    deallocate(ep, buffer);
    close_ep(ep);
}

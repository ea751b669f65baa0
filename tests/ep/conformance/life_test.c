/* From creation to destruction. */
#include <stdio.h>
#include <string.h>

#include "support.h"

CONFORMANCE_TEST(life, the_identity_is_constant)
{
    onnxd_ep *first = create_ep(0), *second = create_ep(3);
    cr_assert_str_eq(onnxd_ep_name(first), conformance_provider.name);
    cr_assert_eq(onnxd_ep_device_id(first).type, conformance_provider.device_type);
    cr_assert_eq(onnxd_ep_device_id(first).index, 0);
    cr_assert_eq(onnxd_ep_device_id(second).index, 3);
    char label[64];
    snprintf(label, sizeof(label), "%s:3", conformance_provider.name);
    cr_assert_str_eq(onnxd_ep_label(second), label);
    cr_assert_neq(first, second);
    expect_ok(onnxd_ep_initialize(first, NULL));
    cr_assert_str_eq(onnxd_ep_name(first), conformance_provider.name);
    close_ep(first);
    onnxd_ep_destroy(second);
}

CONFORMANCE_TEST(life, two_device_ids_are_two_instances)
{
    onnxd_ep *first = create_ep(0), *second = create_ep(1);
    expect_ok(onnxd_ep_initialize(first, NULL));
    expect_code(onnxd_ep_sync(second), ONNXD_NOT_INITIALIZED);
    expect_ok(onnxd_ep_initialize(second, NULL));
    onnxd_buffer buffer = allocate(first, 100);
    cr_assert_eq(onnxd_ep_get_stats(first).buffers_live, 1);
    cr_assert_eq(onnxd_ep_get_stats(second).buffers_live, 0);
    expect_code(onnxd_ep_deallocate(second, buffer), ONNXD_FOREIGN_BUFFER);
    expect_ok(onnxd_ep_shutdown(second));
    deallocate(first, buffer);
    close_ep(second);
    close_ep(first);
}

/* Every call that needs an initialised instance. */
static void expect_all_refused(onnxd_ep *ep)
{
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel *kernel = NULL;
    onnxd_kernel_match match;
    onnxd_buffer buffer = {.handle = 77};
    onnxd_copy copy = {0};
    onnxd_fence fence = 77;
    bool done = false;
    onnxd_ep_context context = {0};
    const onnxd_code code = ONNXD_NOT_INITIALIZED;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    cr_assert_not(match.is_supported);
    cr_assert_gt(strlen(match.reason), 0);
    expect_code(onnxd_ep_get_kernel(ep, &relu.query, &kernel), code);
    expect_code(onnxd_ep_allocate(ep, 1, 64, &buffer), code);
    expect_code(onnxd_ep_deallocate(ep, buffer), code);
    expect_code(onnxd_ep_copy(ep, &copy), code);
    expect_code(onnxd_ep_copy_async(ep, &copy, &fence), code);
    expect_code(onnxd_ep_fence_wait(ep, ONNXD_FENCE_SIGNALLED, 0), code);
    expect_code(onnxd_ep_fence_query(ep, ONNXD_FENCE_SIGNALLED, &done), code);
    expect_code(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence), code);
    expect_code(onnxd_ep_fence_release(ep, ONNXD_FENCE_SIGNALLED), code);
    expect_code(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COMPUTE, ONNXD_FENCE_SIGNALLED), code);
    expect_code(onnxd_ep_sync(ep), code);
    expect_code(onnxd_ep_save_context(ep, &context), code);
    expect_code(onnxd_ep_load_context(ep, &context), code);
    cr_assert_null(kernel);
    cr_assert_eq(buffer.handle, 77, "an out-parameter was touched on failure");
    cr_assert_eq(fence, 77, "an out-parameter was touched on failure");
    bool claimed = false;
    onnxd_ep_claim_nodes(ep, relu.graph, &claimed);
    cr_assert_not(claimed);
    cr_assert_null(onnxd_ep_custom_passes(ep)[0]);
    cr_assert_null(onnxd_ep_context_source_keys(ep)[0]);
    cr_assert_eq(onnxd_ep_get_info(ep).alignment_bytes, 0);
    drop_node(&relu);
}

CONFORMANCE_TEST(life, nothing_works_before_initialize_and_after_shutdown)
{
    onnxd_ep *ep = create_ep(0);
    expect_all_refused(ep);
    expect_ok(onnxd_ep_initialize(ep, NULL));
    expect_ok(onnxd_ep_sync(ep));
    expect_ok(onnxd_ep_shutdown(ep));
    expect_all_refused(ep);
    onnxd_ep_destroy(ep);
}

CONFORMANCE_TEST(life, a_second_initialize_is_refused)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer buffer = filled(ep, 100, 7);
    expect_code(onnxd_ep_initialize(ep, NULL), ONNXD_INVALID_ARGUMENT);
    unsigned char back[100];
    download(ep, buffer, back, sizeof(back));
    cr_assert(is_filled(back, sizeof(back), 7));
    deallocate(ep, buffer);
    expect_ok(onnxd_ep_shutdown(ep));
    expect_code(onnxd_ep_initialize(ep, NULL), ONNXD_INVALID_ARGUMENT);
    onnxd_ep_destroy(ep);
}

CONFORMANCE_TEST(life, a_failed_initialize_leaves_nothing)
{
    const onnxd_ep_option bad = {conformance_provider.wrong_key, "1"};
    const onnxd_ep_config config = {&bad, 1};
    onnxd_ep *ep = create_ep(0);
    expect_code(onnxd_ep_initialize(ep, &config), ONNXD_INVALID_ARGUMENT);
    expect_all_refused(ep);
    expect_code(onnxd_ep_initialize(ep, NULL), ONNXD_INVALID_ARGUMENT);
    expect_ok(onnxd_ep_shutdown(ep));
    close_ep(ep);
}

CONFORMANCE_TEST(life, shutdown_is_idempotent_and_ends_what_is_live)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer buffer = filled(ep, 1000, 1);
    static unsigned char back[1000];
    onnxd_copy copy = copy_of(buffer, onnxd_buffer_borrow_host(back, sizeof(back)), sizeof(back));
    onnxd_fence fence = issue(ep, &copy);
    onnxd_fence recorded;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COPY_OUT, &recorded));
    cr_assert_neq(fence, recorded);
    expect_ok(onnxd_ep_shutdown(ep));
    cr_assert(is_filled(back, sizeof(back), 1), "shutdown finishes what was issued");
    for (int i = 0; i < 3; i++)
        expect_ok(onnxd_ep_shutdown(ep));
    close_ep(ep);
}

CONFORMANCE_TEST(life, kernels_may_be_released_after_shutdown)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
    expect_ok(onnxd_ep_shutdown(ep));
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    onnxd_ep_destroy(ep);
}

CONFORMANCE_TEST(life, destroying_needs_no_shutdown)
{
    onnxd_ep_destroy(NULL);
    onnxd_ep_destroy(create_ep(0));
    onnxd_ep *ep = open_default_ep();
    allocate(ep, 1000);
    onnxd_ep_destroy(ep);
}

CONFORMANCE_TEST(life, the_defaults_stand_in_for_what_is_not_there)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_ep_context context = {0};
    cr_assert_null(onnxd_ep_as_ort_plugin(ep));
    cr_assert_null(onnxd_ep_context_source_keys(ep)[0]);
    expect_message(onnxd_ep_save_context(ep, &context), ONNXD_UNSUPPORTED_CONTEXT,
                   conformance_provider.name);
    expect_message(onnxd_ep_load_context(ep, &context), ONNXD_UNSUPPORTED_CONTEXT,
                   conformance_provider.name);
    cr_assert_not_null(onnxd_ep_custom_passes(ep));
    close_ep(ep);
}

CONFORMANCE_TEST(life, the_info_is_sound)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_ep_info info = onnxd_ep_get_info(ep);
    size_t least = conformance_provider.device_type == ONNXD_DEVICE_CPU ? 64 : 256;
    cr_assert_geq(info.alignment_bytes, least);
    cr_assert_eq(info.alignment_bytes & (info.alignment_bytes - 1), 0);
    cr_assert_gt(info.memory_bytes, 0);
    if (info.is_host_addressable)
        cr_assert(info.copy_latency_us == 0 && info.copy_bytes_per_us == 0);
    else
        cr_assert_gt(info.copy_bytes_per_us, 0);
    close_ep(ep);
}

/* supports_op, get_kernel and enqueue. */
#include <string.h>

#include "support.h"

#define COUNT 256

static void upload_value(onnxd_ep *ep, onnxd_buffer buffer, float value)
{
    float values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = value;
    upload(ep, buffer, values, sizeof(values));
}

static float first_value(onnxd_ep *ep, onnxd_buffer buffer)
{
    float values[COUNT];
    download(ep, buffer, values, sizeof(values));
    for (int i = 1; i < COUNT; i++)
        cr_assert_eq(values[i], values[0]);
    return values[0];
}

CONFORMANCE_TEST(kernel, a_kernel_computes)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    cr_assert(match.is_supported, "%s", match.reason);
    cr_assert_gt(strlen(match.reason), 0, "the reason says which implementation");
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    cr_assert_gt(strlen(kernel->implementation), 0);
    float in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(i - 100);
    onnxd_buffer source = allocate(ep, sizeof(in)), result = allocate(ep, sizeof(out));
    upload(ep, source, in, sizeof(in));
    expect_ok(enqueue_unary(kernel, source, result, COUNT));
    onnxd_fence fence;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence));
    finish(ep, fence);
    download(ep, result, out, sizeof(out));
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(out[i], i < 100 ? 0.0f : in[i]);
    cr_assert_eq(onnxd_ep_get_stats(ep).kernels_enqueued, 1);
    onnxd_kernel_release(kernel);
    onnxd_kernel_release(NULL);
    deallocate(ep, source);
    deallocate(ep, result);
    drop_node(&relu);
    close_ep(ep);
}

CONFORMANCE_TEST(kernel, equal_queries_give_one_kernel_and_others_another)
{
    onnxd_ep *ep = open_default_ep();
    one_node first, second, longer;
    make_relu(&first, COUNT);
    make_relu(&second, COUNT);
    make_relu(&longer, COUNT + 1);
    onnxd_kernel *a = kernel_for(ep, &first), *b = kernel_for(ep, &second);
    onnxd_kernel *c = kernel_for(ep, &longer);
    cr_assert_eq(a, b, "an equal query is not served from the cache");
    cr_assert_neq(a, c, "kernels are specialised to shapes");
    onnxd_kernel_release(a);
    onnxd_kernel_release(b);
    onnxd_kernel_release(c);
    drop_node(&first);
    drop_node(&second);
    drop_node(&longer);
    close_ep(ep);
}

/* Softmax on [2,3,4] along axis 1: until 12 it flattens to [2,12], since 13 it takes one axis. */
static void softmax(onnxd_ep *ep, int64_t opset, float *out)
{
    const int64_t dims[] = {2, 3, 4};
    one_node node;
    make_node(&node, "Softmax", opset, 1, 1);
    add_int_attribute(&node, "axis", 1);
    node.inputs[0] = type_of(ONNXD_FLOAT, 3, dims);
    cr_assert(resolve_node(&node));
    cr_assert(infer_node(&node));
    onnxd_kernel *kernel = kernel_for(ep, &node);
    float in[24];
    for (int i = 0; i < 24; i++)
        in[i] = 1;
    onnxd_buffer source = allocate(ep, sizeof(in)), result = allocate(ep, sizeof(in));
    onnxd_buffer workspace = allocate(ep, kernel->workspace_bytes);
    upload(ep, source, in, sizeof(in));
    onnxd_tensor_view view = onnxd_tensor_view_of(source.data, ONNXD_FLOAT, &node.inputs[0].shape);
    onnxd_tensor_view to = onnxd_tensor_view_of(result.data, ONNXD_FLOAT, &node.outputs[0].shape);
    view.device = to.device = source.device;
    const onnxd_kernel_args args = {&view, &to, 1, 1, workspace.data, NULL};
    expect_ok(onnxd_kernel_enqueue(kernel, &args));
    onnxd_fence fence;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence));
    finish(ep, fence);
    download(ep, result, out, sizeof(in));
    onnxd_kernel_release(kernel);
    deallocate(ep, source);
    deallocate(ep, result);
    deallocate(ep, workspace);
    drop_node(&node);
}

CONFORMANCE_TEST(kernel, the_opset_decides_what_an_operator_means)
{
    onnxd_ep *ep = open_default_ep();
    float twelve[24], thirteen[24];
    softmax(ep, 12, twelve);
    softmax(ep, 13, thirteen);
    for (int i = 0; i < 24; i++) {
        cr_assert_float_eq(twelve[i], 1.0f / 12, 1e-6);
        cr_assert_float_eq(thirteen[i], 1.0f / 3, 1e-6);
    }
    close_ep(ep);
}

CONFORMANCE_TEST(kernel, below_the_earliest_version_there_is_none)
{
    onnxd_ep *ep = open_default_ep();
    const int64_t count = 4;
    static const struct {
        const char *op_type;
        int64_t opset;
    } cases[] = {{"LayerNormalization", 16}, {"NoSuchOperator", 13}, {"Relu", 0}};
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        one_node node;
        make_node(&node, cases[i].op_type, cases[i].opset, 1, 1);
        node.inputs[0] = node.outputs[0] = type_of(ONNXD_FLOAT, 1, &count);
        cr_assert_not(resolve_node(&node));
        onnxd_kernel_match match;
        onnxd_kernel *kernel = NULL;
        onnxd_ep_supports_op(ep, &node.query, &match);
        cr_assert_not(match.is_supported);
        expect_message(onnxd_ep_get_kernel(ep, &node.query, &kernel), ONNXD_NO_EP_FOR_OP,
                       cases[i].op_type);
        cr_assert_null(kernel);
        drop_node(&node);
    }
    close_ep(ep);
}

CONFORMANCE_TEST(kernel, incomplete_queries_are_refused)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = NULL;
    onnxd_kernel_match match;
    onnxd_op_query query = relu.query;
    query.node = NULL;
    expect_code(onnxd_ep_get_kernel(ep, &query, &kernel), ONNXD_INVALID_ARGUMENT);
    onnxd_ep_supports_op(ep, &query, &match);
    cr_assert_not(match.is_supported);
    query = relu.query;
    query.inputs = NULL;
    expect_code(onnxd_ep_get_kernel(ep, &query, &kernel), ONNXD_INVALID_ARGUMENT);
    onnxd_ep_supports_op(ep, &query, &match);
    cr_assert_not(match.is_supported);
    relu.inputs[0].shape.dims[0] = ONNXD_DIM_UNKNOWN;
    expect_message(onnxd_ep_get_kernel(ep, &relu.query, &kernel), ONNXD_INVALID_ARGUMENT,
                   "input 0");
    onnxd_ep_supports_op(ep, &relu.query, &match);
    cr_assert(match.is_supported, "capability needs no static shapes: %s", match.reason);
    cr_assert_null(kernel);
    drop_node(&relu);
    close_ep(ep);
}

/* What answer() answers. */
static onnxd_kernel_match answered;

static void answer(onnxd_ep *ep ONNXD_UNUSED, const onnxd_op_query *query ONNXD_UNUSED,
                   onnxd_kernel_match *out_match)
{
    *out_match = answered;
}

static onnxd_kernel_match match_with(const onnxd_tensor_layout *inputs, uint32_t input_count,
                                     const onnxd_tensor_layout *outputs, uint32_t output_count)
{
    answered = (onnxd_kernel_match){.is_supported = true,
                                    .input_layouts = inputs,
                                    .input_layout_count = input_count,
                                    .output_layouts = outputs,
                                    .output_layout_count = output_count};
    onnxd_ep_api api = *conformance_provider.load();
    api.supports_op = answer;
    onnxd_ep *ep = NULL;
    expect_ok(onnxd_ep_create(&api, test_host(), 0, &ep));
    expect_ok(onnxd_ep_initialize(ep, NULL));
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    drop_node(&relu);
    close_ep(ep);
    return match;
}

CONFORMANCE_TEST(kernel, layouts_are_given_for_all_or_none)
{
    static const onnxd_tensor_layout plain[] = {{.strides_are_default = true},
                                                {.strides_are_default = true}};
    static const onnxd_tensor_layout blocked[] = {{.blocked = "8c"}},
                                     strided[] = {{.blocked = NULL}};
    onnxd_kernel_match match = match_with(NULL, 0, NULL, 0);
    cr_assert(match.is_supported && onnxd_kernel_match_is_row_major(&match));
    match = match_with(plain, 1, plain, 1);
    cr_assert(match.is_supported && onnxd_kernel_match_is_row_major(&match));
    match = match_with(blocked, 1, plain, 1);
    cr_assert(match.is_supported && !onnxd_kernel_match_is_row_major(&match));
    match = match_with(NULL, 0, strided, 1);
    cr_assert(match.is_supported && !onnxd_kernel_match_is_row_major(&match));
    match = match_with(plain, 2, NULL, 0);
    cr_assert_not(match.is_supported, "two layouts for one input");
    cr_assert_not_null(strstr(match.reason, "layouts"), "%s", match.reason);
    match = match_with(NULL, 0, NULL, 1);
    cr_assert_not(match.is_supported, "no layouts where one is announced");
}

CONFORMANCE_TEST(kernel, incomplete_arguments_are_refused)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    onnxd_kernel_args args = {.input_count = 1, .output_count = 1};
    expect_code(onnxd_kernel_enqueue(kernel, NULL), ONNXD_INVALID_ARGUMENT);
    expect_code(onnxd_kernel_enqueue(NULL, &args), ONNXD_INVALID_ARGUMENT);
    expect_code(onnxd_kernel_enqueue(kernel, &args), ONNXD_INVALID_ARGUMENT);
    cr_assert_eq(onnxd_ep_get_stats(ep).kernels_enqueued, 0);
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    close_ep(ep);
}

CONFORMANCE_TEST(kernel, views_on_another_device_are_refused)
{
    onnxd_ep *ep = open_default_ep();
    if (!onnxd_ep_get_info(ep).is_host_addressable) {
        one_node relu;
        make_relu(&relu, COUNT);
        onnxd_kernel *kernel = kernel_for(ep, &relu);
        float host[COUNT] = {0};
        onnxd_buffer device = allocate(ep, sizeof(host));
        onnxd_buffer borrowed = onnxd_buffer_borrow_host(host, sizeof(host)), lying = borrowed;
        lying.device = onnxd_ep_device_id(ep);
        expect_code(enqueue_unary(kernel, borrowed, device, COUNT), ONNXD_INVALID_TENSOR_VIEW);
        expect_code(enqueue_unary(kernel, device, borrowed, COUNT), ONNXD_INVALID_TENSOR_VIEW);
        expect_code(enqueue_unary(kernel, lying, device, COUNT), ONNXD_INVALID_TENSOR_VIEW);
        expect_code(enqueue_unary(kernel, device, lying, COUNT), ONNXD_INVALID_TENSOR_VIEW);
        deallocate(ep, device);
        onnxd_kernel_release(kernel);
        drop_node(&relu);
    } else {
        skip("the host's memory is the device's");
    }
    close_ep(ep);
}

/* Takes element `index` of four floats; the status of the work. */
static onnxd_status *gather(onnxd_ep *ep, int64_t index)
{
    static const int64_t four = 4, one = 1;
    one_node node;
    make_node(&node, "Gather", 13, 2, 1);
    node.inputs[0] = type_of(ONNXD_FLOAT, 1, &four);
    node.inputs[1] = type_of(ONNXD_INT64, 1, &one);
    cr_assert(resolve_node(&node));
    cr_assert(infer_node(&node));
    onnxd_kernel *kernel = kernel_for(ep, &node);
    onnxd_buffer data = filled(ep, 16, 0), indices = allocate(ep, 8), result = allocate(ep, 4);
    upload(ep, indices, &index, sizeof(index));
    onnxd_tensor_view inputs[] = {
        float_view(data, 4),
        onnxd_tensor_view_of(indices.data, ONNXD_INT64, &node.inputs[1].shape)};
    inputs[1].device = indices.device;
    onnxd_tensor_view output = float_view(result, 1);
    const onnxd_kernel_args args = {inputs, &output, 2, 1, NULL, NULL};
    onnxd_status *status = onnxd_kernel_enqueue(kernel, &args);
    onnxd_fence fence;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence));
    status = onnxd_status_join(status, onnxd_ep_fence_wait(ep, fence, -1));
    expect_ok(onnxd_ep_fence_release(ep, fence));
    onnxd_kernel_release(kernel);
    deallocate(ep, data);
    deallocate(ep, indices);
    deallocate(ep, result);
    drop_node(&node);
    return status;
}

CONFORMANCE_TEST(kernel, values_that_the_operator_refuses_are_the_callers_fault)
{
    onnxd_ep *ep = open_default_ep();
    expect_message(gather(ep, 7), ONNXD_INVALID_ARGUMENT, "'subject' (Gather)");
    expect_message(gather(ep, -5), ONNXD_INVALID_ARGUMENT, "-5");
    expect_ok(gather(ep, 3));
    close_ep(ep);
}

/* ---- order between compute and copies ------------------------------------------------------ */

/* -1 lies on the device; 2 comes in slowly; Relu of what is there. */
static float compute_after_copy(bool waits)
{
    onnxd_ep *ep = open_ep_list(conformance_provider.slow_copies);
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    onnxd_buffer source = allocate(ep, COUNT * 4), result = allocate(ep, COUNT * 4);
    upload_value(ep, source, -1);
    float host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = 2;
    onnxd_copy in = copy_of(onnxd_buffer_borrow_host(host, sizeof(host)), source, sizeof(host));
    onnxd_fence written = issue(ep, &in), computed;
    if (waits)
        expect_ok(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COMPUTE, written));
    expect_ok(enqueue_unary(kernel, source, result, COUNT));
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &computed));
    finish(ep, computed);
    finish(ep, written);
    float value = first_value(ep, result);
    onnxd_kernel_release(kernel);
    deallocate(ep, source);
    deallocate(ep, result);
    drop_node(&relu);
    close_ep(ep);
    return value;
}

CONFORMANCE_TEST(kernel, compute_that_waits_sees_the_copy)
{
    cr_assert_eq(compute_after_copy(true), 2);
    if (!can_show_races())
        skip("work that takes no time races with nothing that shows, or the race is watched");
    else
        cr_assert_eq(compute_after_copy(false), 0, "the wait bears no load");
}

/* The result is 7 at first; Relu of 3 goes there slowly; the result goes out. */
static float copy_after_compute(bool waits)
{
    onnxd_ep *ep = open_ep_list(conformance_provider.slow_kernels);
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    onnxd_buffer source = allocate(ep, COUNT * 4), result = allocate(ep, COUNT * 4);
    upload_value(ep, source, 3);
    upload_value(ep, result, 7);
    float host[COUNT];
    expect_ok(enqueue_unary(kernel, source, result, COUNT));
    onnxd_fence computed;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &computed));
    if (waits)
        expect_ok(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COPY_OUT, computed));
    onnxd_copy out = copy_of(result, onnxd_buffer_borrow_host(host, sizeof(host)), sizeof(host));
    finish(ep, issue(ep, &out));
    finish(ep, computed);
    onnxd_kernel_release(kernel);
    deallocate(ep, source);
    deallocate(ep, result);
    drop_node(&relu);
    close_ep(ep);
    return host[0];
}

CONFORMANCE_TEST(kernel, a_copy_that_waits_sees_the_result)
{
    cr_assert_eq(copy_after_compute(true), 3);
    if (!can_show_races())
        skip("work that takes no time races with nothing that shows, or the race is watched");
    else
        cr_assert_eq(copy_after_compute(false), 7, "the wait bears no load");
}

CONFORMANCE_TEST(kernel, an_injected_fault_reaches_the_next_fence)
{
    if (conformance_provider.fault_kernel == NULL) {
        skip("no option makes a kernel fail");
        return;
    }
    onnxd_ep *ep = open_ep_with(conformance_provider.fault_kernel, "2");
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    onnxd_buffer source = allocate(ep, COUNT * 4), result = allocate(ep, COUNT * 4);
    upload_value(ep, source, 3);
    onnxd_fence fences[3];
    for (int i = 0; i < 3; i++) {
        expect_ok(enqueue_unary(kernel, source, result, COUNT));
        expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fences[i]));
    }
    finish(ep, fences[0]);
    finish_with(ep, fences[1], ONNXD_KERNEL_FAILED);
    finish(ep, fences[2]);
    onnxd_kernel_release(kernel);
    deallocate(ep, source);
    deallocate(ep, result);
    drop_node(&relu);
    close_ep(ep);
}

CONFORMANCE_TEST(kernel, a_claimed_operator_is_claimed_and_no_other)
{
    onnxd_ep *ep = conformance_provider.claim_key != NULL
                       ? open_ep_with(conformance_provider.claim_key, "Softmax,Relu")
                       : open_default_ep();
    one_node relu, other;
    make_relu(&relu, 4);
    make_node(&other, "Rel", 13, 1, 1);
    bool claimed = false, other_claimed = false;
    onnxd_ep_claim_nodes(ep, relu.graph, &claimed);
    onnxd_ep_claim_nodes(ep, other.graph, &other_claimed);
    cr_assert_eq(claimed, conformance_provider.claim_key != NULL);
    cr_assert_not(other_claimed);
    drop_node(&relu);
    drop_node(&other);
    close_ep(ep);
}

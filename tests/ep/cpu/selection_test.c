/* What supports_op says, and that it is true. */
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/internal.h"
#include "tests/ep/cpu/support.h"

/* ---- long attributes ------------------------------------------------------------------------- */

/* Whether a node with a list of `count` integers is claimed; then a kernel has to follow. */
static bool is_claimed_with(onnxd_ep *ep, size_t count)
{
    int64_t *ints = onnxd_alloc_zero(count, sizeof(*ints));
    cr_assert_not_null(ints);
    relu_query r;
    relu_query_init(&r, 4);
    onnxd_attribute attribute = {
        .name = "list", .kind = ONNXD_ATTRIBUTE_INTS, .count = count, .value.ints = ints};
    r.node.node->attributes = &attribute;
    r.node.node->attribute_count = 1;
    onnxd_kernel_match match;
    onnxd_kernel *kernel = NULL;
    onnxd_ep_supports_op(ep, &r.query, &match);
    onnxd_status *status = onnxd_ep_get_kernel(ep, &r.query, &kernel);
    cr_expect_eq(match.is_supported, status == NULL, "%s; %s", match.reason,
                 onnxd_status_message(status));
    if (status != NULL) {
        cr_expect_not_null(strstr(match.reason, "attributes"), "%s", match.reason);
        cr_expect_str_eq(match.reason, onnxd_status_message(status));
    }
    onnxd_status_free(status);
    onnxd_kernel_release(kernel);
    r.node.node->attribute_count = 0;
    node_deinit(&r.node);
    onnxd_free(ints);
    return match.is_supported;
}

Test(selection, attributes_that_are_too_long_are_no_claim)
{
    onnxd_ep *ep = ep_open_portable();
    cr_expect(is_claimed_with(ep, 1000));
    cr_expect(is_claimed_with(ep, ((size_t)64 << 20) / 8 - 100));
    cr_expect_not(is_claimed_with(ep, ((size_t)64 << 20) / 8));
    cr_expect_not(is_claimed_with(ep, ((size_t)80 << 20) / 8));
    onnxd_ep_destroy(ep);
}

Test(selection, costs_of_huge_tensors_are_numbers)
{
    const int64_t huge[] = {(int64_t)1 << 60};
    onnxd_ep *ep = ep_open_portable();
    relu_query r;
    relu_query_init(&r, 1);
    onnxd_tensor_type types[8];
    for (size_t i = 0; i < ONNXD_COUNT(types); i++)
        types[i] = (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(1, huge)};
    r.query.inputs = types;
    r.query.input_count = 4;
    r.query.output_count = 4;
    const onnxd_cpu_case c = {.runtime = onnxd_cpu_ep_of(ep)->runtime,
                              .query = &r.query,
                              .node = r.node.node,
                              .def = r.node.node->def,
                              .outputs = types + 4,
                              .is_static = true};
    onnxd_cost cost = {.is_known = false};
    onnxd_cpu_cost(&c, &onnxd_cpu_portable, &cost);
    cr_expect(cost.is_known);
    cr_expect_eq(cost.bytes_moved, (uint64_t)1 << 63);
    node_deinit(&r.node);
    onnxd_ep_destroy(ep);
}

/* ---- what supports_op says ------------------------------------------------------------------- */

/* LRN: oneDNN has fast code for some sizes and numbers of channels. */
static void expect_true_claim(onnxd_ep *ep, const char *op_type, const int64_t *dims, int64_t size)
{
    test_node t;
    node_init(&t, op_type, 13, 1, 1);
    node_int(&t, "size", size);
    expect_ok(node_resolve(&t));
    onnxd_tensor_type type = {.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(4, dims)};
    onnxd_op_query query = {.node = t.node,
                            .opset = 13,
                            .input_count = 1,
                            .output_count = 1,
                            .inputs = &type,
                            .outputs = &type};
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &query, &match);
    cr_assert(match.is_supported, "%s", match.reason);
    onnxd_kernel *kernel = kernel_get(ep, &query);
    cr_expect_eq(strncmp(kernel->implementation, match.reason, strlen(match.reason)), 0,
                 "supports_op says %s, it is %s", match.reason, kernel->implementation);
    onnxd_kernel_release(kernel);
    node_deinit(&t);
}

Test(selection, the_implementation_that_is_announced_is_the_one_that_runs)
{
    const int64_t blocks[] = {1, 16, 5, 5}, odd[] = {1, 3, 5, 5};
    onnxd_ep *ep = ep_open_default();
    /* Of either kind twice: tried, and known. */
    for (int i = 0; i < 2; i++) {
        expect_true_claim(ep, "LRN", blocks, 5);
        expect_true_claim(ep, "LRN", odd, 5);
        expect_true_claim(ep, "LRN", odd, 3);
    }
    onnxd_ep_destroy(ep);
}

Test(selection, what_was_tried_is_not_made_again)
{
    const char *options[1][2] = {{"cpu.kernel_cache", "10"}};
    const int64_t dims[] = {24, 24};
    onnxd_ep *ep = ep_open(1, (const char *const(*)[2])options);
    onnxd_cpu_runtime *runtime = onnxd_cpu_ep_of(ep)->runtime;
    test_node t;
    node_init(&t, "Softmax", 13, 1, 1);
    expect_ok(node_resolve(&t));
    onnxd_tensor_type types[2];
    for (int i = 0; i < 2; i++)
        types[i] = (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(2, dims)};
    onnxd_op_query query = {.node = t.node,
                            .opset = 13,
                            .input_count = 1,
                            .output_count = 1,
                            .inputs = types,
                            .outputs = types + 1};
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &query, &match);
    cr_assert_eq(runtime->unused_count, 1);
    const onnxd_cpu_kernel *tried = runtime->oldest;
    onnxd_kernel *kernel = kernel_get(ep, &query);
    cr_expect_eq(kernel, &tried->base);
    /* Another node of the kind is answered without a kernel of its own. */
    t.node->name = "another";
    onnxd_ep_supports_op(ep, &query, &match);
    cr_expect(match.is_supported);
    cr_expect_eq(runtime->unused_count, 0);
    onnxd_kernel_release(kernel);
    node_deinit(&t);
    onnxd_ep_destroy(ep);
}

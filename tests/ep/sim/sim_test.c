/* What sim_ep promises beyond the contract: that it is like a device, and slow as told. */
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "support.h"

/* ---- an address space of its own ----------------------------------------------------------- */

Test(sim, the_host_cannot_read_device_memory, .signal = SIGSEGV)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer buffer = filled(ep, 100, 1);
    signal(SIGSEGV, SIG_DFL);
    cr_log_info("%d", *(volatile char *)buffer.data);
}

Test(sim, the_host_cannot_write_device_memory, .signal = SIGSEGV)
{
    onnxd_ep *ep = open_default_ep();
    onnxd_buffer buffer = filled(ep, 100, 1);
    signal(SIGSEGV, SIG_DFL);
    *(volatile char *)buffer.data = 1;
}

Test(sim, another_device_is_reached_through_the_host)
{
    onnxd_ep *first = open_default_ep(), *second = create_ep(1);
    expect_ok(onnxd_ep_initialize(second, NULL));
    onnxd_buffer here = filled(first, 10, 1), there = filled(second, 10, 2);
    onnxd_copy copy = copy_of(here, there, 10);
    onnxd_fence fence;
    expect_message(onnxd_ep_copy_async(first, &copy, &fence), ONNXD_FOREIGN_BUFFER,
                   "copy through the host");
    expect_message(onnxd_ep_copy_async(second, &copy, &fence), ONNXD_FOREIGN_BUFFER,
                   "copy through the host");
    deallocate(first, here);
    deallocate(second, there);
    close_ep(first);
    close_ep(second);
}

static onnxd_status *no_provider(const onnxd_ep_host *host, const char *name, uint32_t device_index,
                                 onnxd_ep **out_ep)
{
    (void)host, (void)device_index, (void)out_ep;
    return onnxd_error(ONNXD_NOT_FOUND, "there is no provider '%s'", name);
}

Test(sim, initializing_fails_without_a_provider_to_borrow_from)
{
    onnxd_ep_host host = *test_host();
    host.open_provider = no_provider;
    onnxd_ep *ep = NULL;
    expect_ok(onnxd_ep_create(conformance_provider.load(), &host, 0, &ep));
    expect_message(onnxd_ep_initialize(ep, NULL), ONNXD_NOT_FOUND, "cpu_ep");
    onnxd_ep_destroy(ep);
    host.abi_version++;
    ep = NULL;
    expect_code(onnxd_ep_create(conformance_provider.load(), &host, 0, &ep), ONNXD_EP_LOAD_FAILED);
    cr_assert_null(ep);
}

Test(sim, memory_comes_back_when_work_in_flight_ends)
{
    const onnxd_ep_option options[] = {
        {"sim.memory_bytes", "65536"}, {"sim.copy_latency_us", "20000"}, {NULL, NULL}};
    onnxd_ep *ep = open_ep_list(options);
    static unsigned char host[40000];
    for (int i = 0; i < 5; i++) {
        /* Each round needs the bytes that the last one still copies from. */
        onnxd_buffer buffer = allocate(ep, sizeof(host));
        onnxd_copy copy =
            copy_of(onnxd_buffer_borrow_host(host, sizeof(host)), buffer, sizeof(host));
        onnxd_fence fence = issue(ep, &copy);
        deallocate(ep, buffer);
        expect_ok(onnxd_ep_fence_release(ep, fence));
    }
    close_ep(ep);
}

/* ---- overlap ------------------------------------------------------------------------------- */

enum { REQUESTS = 40, IN_FLIGHT = 4, STAGE_MS = 4, COUNT = 16 };

typedef struct request {
    onnxd_buffer source, result;
    float in[COUNT], out[COUNT];
    onnxd_fence done;
} request;

static void start_request(onnxd_ep *ep, onnxd_kernel *kernel, request *r, int number)
{
    for (int i = 0; i < COUNT; i++)
        r->in[i] = (float)(number + i);
    onnxd_copy in =
        copy_of(onnxd_buffer_borrow_host(r->in, sizeof(r->in)), r->source, sizeof(r->in));
    onnxd_copy out =
        copy_of(r->result, onnxd_buffer_borrow_host(r->out, sizeof(r->out)), sizeof(r->out));
    onnxd_fence uploaded = issue(ep, &in), computed;
    expect_ok(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COMPUTE, uploaded));
    expect_ok(onnxd_ep_fence_release(ep, uploaded));
    expect_ok(enqueue_unary(kernel, r->source, r->result, COUNT));
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &computed));
    expect_ok(onnxd_ep_stream_wait(ep, ONNXD_STREAM_COPY_OUT, computed));
    expect_ok(onnxd_ep_fence_release(ep, computed));
    r->done = issue(ep, &out);
}

static void end_request(onnxd_ep *ep, request *r, int number)
{
    finish(ep, r->done);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(r->out[i], (float)(number + i));
}

/* Upload, compute and download of STAGE_MS each; milliseconds for all requests. */
static double run_requests(const char *is_async, onnxd_ep_stats *out_stats)
{
    const onnxd_ep_option options[] = {{"sim.copy_latency_us", "4000"},
                                       {"sim.kernel_latency_us", "4000"},
                                       {"sim.async", is_async},
                                       {NULL, NULL}};
    onnxd_ep *ep = open_ep_list(options);
    static request requests[IN_FLIGHT];
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
    for (int i = 0; i < IN_FLIGHT; i++) {
        requests[i].source = allocate(ep, sizeof(requests[i].in));
        requests[i].result = allocate(ep, sizeof(requests[i].out));
    }
    uint64_t allocations = onnxd_alloc_thread_calls();
    uint64_t device_allocations = onnxd_ep_get_stats(ep).device_allocations;
    double start = now_ms();
    for (int i = 0; i < REQUESTS + IN_FLIGHT; i++) {
        if (i >= IN_FLIGHT)
            end_request(ep, &requests[i % IN_FLIGHT], i - IN_FLIGHT);
        if (i < REQUESTS)
            start_request(ep, kernel, &requests[i % IN_FLIGHT], i);
    }
    double taken = now_ms() - start;
    *out_stats = onnxd_ep_get_stats(ep);
    cr_assert_eq(onnxd_alloc_thread_calls(), allocations, "issuing work allocates");
    cr_assert_eq(out_stats->device_allocations, device_allocations);
    for (int i = 0; i < IN_FLIGHT; i++) {
        deallocate(ep, requests[i].source);
        deallocate(ep, requests[i].result);
    }
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    close_ep(ep);
    return taken;
}

Test(sim, stages_of_different_requests_overlap)
{
    onnxd_ep_stats stats;
    double alone = run_requests("false", &stats), overlapped = run_requests("true", &stats);
    cr_assert_eq(stats.copies_issued, 2 * REQUESTS);
    cr_assert_eq(stats.kernels_enqueued, REQUESTS);
    cr_assert_eq(stats.sync_calls, 0);
    cr_assert_eq(stats.fences_live, 0);
    cr_assert_geq(alone, 3.0 * REQUESTS * STAGE_MS);
    cr_assert_geq(overlapped, (double)REQUESTS * STAGE_MS);
    /* Three equal stages cost one each when they overlap; half of the sum leaves room for load. */
    cr_assert_leq(overlapped, alone / 2, "%g ms overlapped, %g ms one by one", overlapped, alone);
}

/* ---- kernels ------------------------------------------------------------------------------- */

Test(sim, the_cost_model_sees_the_options)
{
    onnxd_ep *ep = open_ep_with("sim.launch_latency_us", "50");
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    cr_assert(match.cost.is_known);
    cr_assert_geq(match.cost.launch_us, 50);
    drop_node(&relu);
    close_ep(ep);
}

Test(sim, an_unsupported_operator_says_which_option_did_it)
{
    onnxd_ep *ep = open_ep_with("sim.unsupported_ops", "Conv,Relu");
    one_node relu;
    make_relu(&relu, 4);
    onnxd_kernel_match match;
    onnxd_kernel *kernel = NULL;
    onnxd_ep_supports_op(ep, &relu.query, &match);
    cr_assert_not(match.is_supported);
    cr_assert_str_eq(match.reason, "option sim.unsupported_ops lists Relu");
    expect_message(onnxd_ep_get_kernel(ep, &relu.query, &kernel), ONNXD_NO_EP_FOR_OP, match.reason);
    drop_node(&relu);
    close_ep(ep);
}

Test(sim, a_kernel_outlives_its_release_while_it_is_queued)
{
    onnxd_ep *ep = open_ep_with("sim.kernel_latency_us", "20000");
    onnxd_buffer buffer = filled(ep, COUNT * sizeof(float), 0);
    for (int i = 0; i < 3; i++) {
        one_node relu;
        make_relu(&relu, COUNT);
        onnxd_kernel *kernel = NULL;
        expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
        expect_ok(enqueue_unary(kernel, buffer, buffer, COUNT));
        onnxd_kernel_release(kernel);
        drop_node(&relu);
    }
    onnxd_fence fence;
    expect_ok(onnxd_ep_fence_record(ep, ONNXD_STREAM_COMPUTE, &fence));
    finish(ep, fence);
    deallocate(ep, buffer);
    close_ep(ep);
}

Test(sim, enqueueing_after_shutdown_is_refused)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = NULL;
    expect_ok(onnxd_ep_get_kernel(ep, &relu.query, &kernel));
    onnxd_buffer buffer = allocate(ep, COUNT * sizeof(float));
    expect_ok(onnxd_ep_shutdown(ep));
    expect_code(enqueue_unary(kernel, buffer, buffer, COUNT), ONNXD_NOT_INITIALIZED);
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    onnxd_ep_destroy(ep);
}

/* Relu(Relu(Relu(x))), of which the middle one's output may be a graph output too. */
static uint32_t relus_left(onnxd_ep *ep, bool shows_middle)
{
    one_node chain;
    make_relu(&chain, 4);
    onnxd_value_id values[4] = {chain.node->inputs[0], chain.node->outputs[0]};
    for (uint32_t i = 2; i < 4; i++) {
        expect_ok(onnxd_graph_add_value(chain.graph, i == 2 ? "second" : "third", &values[i]));
        const onnxd_node node = {.name = "relu",
                                 .domain = "",
                                 .op_type = "Relu",
                                 .opset = 14,
                                 .inputs = &values[i - 1],
                                 .outputs = &values[i],
                                 .input_count = 1,
                                 .output_count = 1};
        onnxd_node_id id;
        expect_ok(onnxd_graph_add_node(chain.graph, &node, &id));
    }
    const onnxd_value_id outputs[] = {values[3], values[2]};
    expect_ok(onnxd_graph_set_inputs(chain.graph, values, 1));
    expect_ok(onnxd_graph_set_outputs(chain.graph, outputs, shows_middle ? 2 : 1));
    for (const onnxd_pass *const *pass = onnxd_ep_custom_passes(ep); *pass != NULL; pass++) {
        const onnxd_pass_env env = {.registry = test_host()->ops};
        uint32_t changes = 0;
        expect_ok((*pass)->run(chain.graph, &env, &changes));
        cr_expect_eq(changes, 2);
        expect_ok(onnxd_graph_verify(chain.graph));
    }
    uint32_t left = 0;
    for (uint32_t i = 0; i < chain.graph->node_count; i++)
        left += !chain.graph->nodes[i].is_removed;
    drop_node(&chain);
    return left;
}

Test(sim, its_own_pass_fuses_relus_when_it_is_switched_on)
{
    onnxd_ep *without = open_default_ep(), *with = open_ep_with("sim.private_pass", "true");
    cr_expect_eq(relus_left(without, false), 3);
    cr_expect_eq(relus_left(with, false), 1);
    cr_expect_eq(relus_left(with, true), 2);
    close_ep(without);
    close_ep(with);
}

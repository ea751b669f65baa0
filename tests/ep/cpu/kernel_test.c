/* Selection, the kernel cache, and what a kernel holds. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/internal.h"
#include "tests/ep/cpu/support.h"

Test(kernel, equal_queries_share_one)
{
    onnxd_ep *ep = ep_open_default();
    relu_query r, same, other;
    relu_query_init(&r, 5);
    relu_query_init(&same, 5);
    relu_query_init(&other, 6);
    onnxd_kernel *first = kernel_get(ep, &r.query), *second = kernel_get(ep, &same.query);
    onnxd_kernel *third = kernel_get(ep, &other.query);
    cr_expect_eq(first, second);
    cr_expect_neq(first, third);
    onnxd_kernel_release(first);
    onnxd_kernel_release(second);
    onnxd_kernel_release(third);
    /* Not held by anybody, but still there. */
    first = kernel_get(ep, &r.query);
    cr_expect_eq(first, second);
    onnxd_kernel_release(first);
    node_deinit(&r.node);
    node_deinit(&same.node);
    node_deinit(&other.node);
    onnxd_ep_destroy(ep);
}

Test(kernel, outlives_its_graph_and_its_instance)
{
    float in[4] = {-1, 2, -3, 4}, out[4] = {0};
    onnxd_ep *ep = ep_open_default();
    relu_query r;
    relu_query_init(&r, 4);
    onnxd_kernel *kernel = kernel_get(ep, &r.query);
    node_deinit(&r.node);
    onnxd_ep_destroy(ep);
    onnxd_tensor_view input = onnxd_tensor_view_of(in, ONNXD_FLOAT, &r.input.shape);
    onnxd_tensor_view output = onnxd_tensor_view_of(out, ONNXD_FLOAT, &r.input.shape);
    onnxd_kernel_args args = {
        .inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1};
    expect_error(onnxd_kernel_enqueue(kernel, &args), ONNXD_NOT_INITIALIZED);
    cr_expect_eq(out[1], 0.0f, "a kernel ran after shutdown");
    onnxd_kernel_release(kernel);
}

Test(kernel, outlives_its_graph)
{
    float in[4] = {-1, 2, -3, 4}, out[4] = {0};
    onnxd_ep *ep = ep_open_default();
    relu_query r;
    relu_query_init(&r, 4);
    onnxd_kernel *kernel = kernel_get(ep, &r.query);
    node_deinit(&r.node);
    onnxd_tensor_view input = onnxd_tensor_view_of(in, ONNXD_FLOAT, &r.input.shape);
    onnxd_tensor_view output = onnxd_tensor_view_of(out, ONNXD_FLOAT, &r.input.shape);
    onnxd_kernel_args args = {
        .inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1};
    expect_ok(onnxd_kernel_enqueue(kernel, &args));
    cr_expect_eq(out[1], 2.0f);
    cr_expect_eq(out[2], 0.0f);
    onnxd_kernel_release(kernel);
    onnxd_ep_destroy(ep);
}

static size_t kernels_kept(const char *capacity)
{
    const char *options[1][2] = {{"cpu.kernel_cache", capacity}};
    onnxd_ep *ep = ep_open(1, (const char *const(*)[2])options);
    for (int64_t count = 1; count <= 20; count++) {
        relu_query r;
        relu_query_init(&r, count);
        onnxd_kernel_release(kernel_get(ep, &r.query));
        node_deinit(&r.node);
    }
    size_t kept = onnxd_cpu_ep_of(ep)->runtime->unused_count;
    onnxd_ep_destroy(ep);
    return kept;
}

Test(kernel, cache_is_bounded)
{
    cr_expect_eq(kernels_kept("0"), 0);
    cr_expect_eq(kernels_kept("7"), 7);
    cr_expect_eq(kernels_kept("1000"), 20);
}

Test(kernel, cache_drops_the_longest_unused)
{
    const char *options[1][2] = {{"cpu.kernel_cache", "2"}};
    onnxd_ep *ep = ep_open(1, (const char *const(*)[2])options);
    relu_query r[3];
    onnxd_cpu_runtime *runtime = onnxd_cpu_ep_of(ep)->runtime;
    for (int i = 0; i < 3; i++)
        relu_query_init(&r[i], i + 1);
    onnxd_kernel_release(kernel_get(ep, &r[0].query));
    onnxd_kernel_release(kernel_get(ep, &r[1].query));
    onnxd_kernel_release(kernel_get(ep, &r[0].query));
    onnxd_kernel_release(kernel_get(ep, &r[2].query)); /* pushes out r[1] */
    cr_expect_eq(runtime->oldest->inputs[0].shape.dims[0], 1);
    cr_expect_eq(runtime->youngest->inputs[0].shape.dims[0], 3);
    for (int i = 0; i < 3; i++)
        node_deinit(&r[i].node);
    onnxd_ep_destroy(ep);
}

typedef struct conv {
    test_node node;
    onnxd_tensor *weights;
    onnxd_tensor_type inputs[2], output;
    onnxd_tensor *constants[2];
    onnxd_op_query query;
} conv;

static void conv_init(conv *c, int64_t size, onnxd_tensor *weights)
{
    memset(c, 0, sizeof(*c));
    node_init(&c->node, "Conv", 22, 2, 1);
    node_ints(&c->node, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    expect_ok(node_resolve(&c->node));
    c->weights = weights;
    c->constants[1] = weights;
    c->inputs[0] = (onnxd_tensor_type){
        .dtype = ONNXD_FLOAT, .shape = onnxd_shape_from(4, (const int64_t[]){1, 16, size, size})};
    c->inputs[1] = (onnxd_tensor_type){.dtype = ONNXD_FLOAT, .shape = weights->shape};
    expect_ok(onnxd_op_infer(c->node.node, c->inputs, (const onnxd_tensor *const *)c->constants,
                             &c->output));
    c->query = (onnxd_op_query){.node = c->node.node,
                                .opset = 22,
                                .input_count = 2,
                                .output_count = 1,
                                .inputs = c->inputs,
                                .outputs = &c->output,
                                .constants = c->constants};
}

/* Two shapes of one layer share its packed weights; both end with the last kernel, so that an
 * unloaded model leaves nothing behind. */
Test(kernel, constants_are_packed_once_and_let_go)
{
    onnxd_ep *ep = ep_open_default();
    uint64_t seed = 3;
    size_t count, bytes;
    onnxd_tensor *weights = tensor_random(&seed, 4, (const int64_t[]){32, 16, 3, 3});
    conv small, large;
    conv_init(&small, 14, weights);
    conv_init(&large, 28, weights);
    onnxd_dnnl *dnnl = onnxd_cpu_ep_of(ep)->runtime->dnnl;
    onnxd_kernel *a = kernel_get(ep, &small.query), *b = kernel_get(ep, &large.query);
    cr_expect_neq(a, b);
    onnxd_dnnl_query_packed(dnnl, &count, &bytes);
    cr_expect_eq(count, 1);
    cr_expect_geq(bytes, weights->bytes);
    cr_expect_gt(weights->references, 1);
    onnxd_kernel_release(a);
    onnxd_kernel_release(b);
    onnxd_dnnl_query_packed(dnnl, &count, &bytes);
    cr_expect_eq(count, 0);
    cr_expect_eq(bytes, 0);
    cr_expect_eq(weights->references, 1);
    node_deinit(&small.node);
    node_deinit(&large.node);
    onnxd_tensor_release(weights);
    onnxd_ep_destroy(ep);
}

Test(kernel, other_constants_make_another)
{
    onnxd_ep *ep = ep_open_default();
    uint64_t seed = 3;
    conv c[2];
    onnxd_kernel *kernels[2];
    for (int i = 0; i < 2; i++) {
        conv_init(&c[i], 14, tensor_random(&seed, 4, (const int64_t[]){32, 16, 3, 3}));
        kernels[i] = kernel_get(ep, &c[i].query);
    }
    cr_expect_neq(kernels[0], kernels[1]);
    for (int i = 0; i < 2; i++) {
        onnxd_kernel_release(kernels[i]);
        onnxd_tensor_release(c[i].weights);
        node_deinit(&c[i].node);
    }
    onnxd_ep_destroy(ep);
}

Test(kernel, enqueue_allocates_nothing)
{
    onnxd_ep *eps[] = {ep_open_default(), ep_open_portable()};
    uint64_t seed = 3;
    for (size_t e = 0; e < ONNXD_COUNT(eps); e++) {
        conv c;
        conv_init(&c, 14, tensor_random(&seed, 4, (const int64_t[]){32, 16, 3, 3}));
        onnxd_tensor *in = tensor_random(&seed, 4, c.inputs[0].shape.dims);
        onnxd_tensor *out = tensor_random(&seed, 4, c.output.shape.dims);
        onnxd_kernel *kernel = kernel_get(eps[e], &c.query);
        void *workspace = onnxd_alloc_aligned(kernel->workspace_bytes + 1, 64);
        onnxd_tensor_view inputs[] = {onnxd_tensor_as_view(in), onnxd_tensor_as_view(c.weights)};
        onnxd_tensor_view output = onnxd_tensor_as_view(out);
        onnxd_kernel_args args = {.inputs = inputs,
                                  .outputs = &output,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .workspace = workspace};
        uint64_t before = onnxd_alloc_thread_calls();
        for (int i = 0; i < 10; i++)
            expect_ok(onnxd_kernel_enqueue(kernel, &args));
        cr_expect_eq(onnxd_alloc_thread_calls(), before);
        cr_expect_eq(onnxd_ep_get_stats(eps[e]).kernels_enqueued, 10);
        onnxd_kernel_release(kernel);
        onnxd_free(workspace);
        onnxd_tensor_release(in);
        onnxd_tensor_release(out);
        onnxd_tensor_release(c.weights);
        node_deinit(&c.node);
        onnxd_ep_destroy(eps[e]);
    }
}

Test(kernel, views_of_another_type_or_shape_are_refused)
{
    float data[16] = {0};
    onnxd_ep *ep = ep_open_default();
    relu_query r;
    relu_query_init(&r, 4);
    onnxd_kernel *kernel = kernel_get(ep, &r.query);
    int64_t longer = 5;
    onnxd_shape shape = onnxd_shape_from(1, &longer);
    onnxd_tensor_view good = onnxd_tensor_view_of(data, ONNXD_FLOAT, &r.input.shape);
    onnxd_tensor_view bad[] = {onnxd_tensor_view_of(data, ONNXD_FLOAT, &shape),
                               onnxd_tensor_view_of(data, ONNXD_INT32, &r.input.shape), good};
    bad[2].strides[0] = 2;
    for (size_t i = 0; i < ONNXD_COUNT(bad); i++) {
        onnxd_kernel_args args = {
            .inputs = &bad[i], .outputs = &good, .input_count = 1, .output_count = 1};
        expect_error(onnxd_kernel_enqueue(kernel, &args), ONNXD_INVALID_TENSOR_VIEW);
        args.inputs = &good;
        args.outputs = &bad[i];
        expect_error(onnxd_kernel_enqueue(kernel, &args), ONNXD_INVALID_TENSOR_VIEW);
        args.input_count = 0;
        expect_error(onnxd_kernel_enqueue(kernel, &args), ONNXD_INVALID_ARGUMENT);
    }
    onnxd_kernel_release(kernel);
    node_deinit(&r.node);
    onnxd_ep_destroy(ep);
}

static onnxd_kernel_match match_of(onnxd_ep *ep, const onnxd_op_query *query)
{
    onnxd_kernel_match match;
    onnxd_ep_supports_op(ep, query, &match);
    return match;
}

/* Whatever supports_op says no to, get_kernel refuses with the same words. */
static void expect_unsupported(onnxd_ep *ep, const onnxd_op_query *query, const char *part)
{
    onnxd_kernel *kernel = NULL;
    onnxd_kernel_match match = match_of(ep, query);
    cr_expect_not(match.is_supported);
    cr_expect_not_null(strstr(match.reason, part), "%s", match.reason);
    onnxd_status *status = onnxd_ep_get_kernel(ep, query, &kernel);
    cr_expect_null(kernel);
    cr_expect_eq(strncmp(onnxd_status_message(status), match.reason, strlen(match.reason)), 0, "%s",
                 onnxd_status_message(status));
    expect_error(status, ONNXD_NO_EP_FOR_OP);
}

Test(kernel, refusals_say_why)
{
    onnxd_ep *ep = ep_open_default();
    onnxd_tensor_layout layout = {.blocked = "nChw16c"};
    relu_query r;
    relu_query_init(&r, 4);
    r.query.input_layouts = &layout;
    expect_unsupported(ep, &r.query, "row-major");
    r.query.input_layouts = NULL;
    r.query.opset = 5; /* another definition than the node was resolved for */
    expect_unsupported(ep, &r.query, "opset 5");
    r.query.opset = 0;
    expect_unsupported(ep, &r.query, "not known at opset 0");
    r.query.opset = 14;
    r.input.dtype = r.output.dtype = ONNXD_BOOL;
    expect_unsupported(ep, &r.query, "bool");
    r.input.dtype = ONNXD_FLOAT;
    expect_unsupported(ep, &r.query, "bool");
    r.output.dtype = ONNXD_FLOAT;
    r.output.shape.dims[0] = 5;
    expect_unsupported(ep, &r.query, "[5]");
    r.output.shape.dims[0] = 4;
    cr_expect(match_of(ep, &r.query).is_supported);
    node_deinit(&r.node);
    onnxd_ep_destroy(ep);
}

Test(kernel, cost_follows_the_shapes)
{
    onnxd_ep *ep = ep_open_default();
    uint64_t seed = 3;
    onnxd_tensor *weights = tensor_random(&seed, 4, (const int64_t[]){32, 16, 3, 3});
    conv small, large;
    conv_init(&small, 14, weights);
    conv_init(&large, 28, weights);
    onnxd_cost a = match_of(ep, &small.query).cost, b = match_of(ep, &large.query).cost;
    cr_expect(a.is_known && b.is_known);
    cr_expect_gt(b.compute_us + b.memory_us, 2 * (a.compute_us + a.memory_us));
    cr_expect_eq(a.bytes_moved, 4 * (16 * 14 * 14 + 32 * 14 * 14) + weights->bytes);
    small.inputs[0].shape.dims[0] = small.output.shape.dims[0] = ONNXD_DIM_UNKNOWN;
    onnxd_kernel_match symbolic = match_of(ep, &small.query);
    cr_expect(symbolic.is_supported);
    cr_expect_not(symbolic.cost.is_known);
    node_deinit(&small.node);
    node_deinit(&large.node);
    onnxd_tensor_release(weights);
    onnxd_ep_destroy(ep);
}

/* ---- options --------------------------------------------------------------------------------- */

Test(options, each_changes_something)
{
    static const char *const options[][2] = {{"cpu.threads", "3"},
                                             {"cpu.memory_limit_bytes", "65536"},
                                             {"cpu.memory_cache_bytes", "0"},
                                             {"cpu.onednn", "false"},
                                             {"cpu.isa", "portable"},
                                             {"cpu.vector_kernels", "false"},
                                             {"cpu.winograd", "off"},
                                             {"cpu.precision", "bf16"}};
    onnxd_ep *plain = ep_open_default(), *ep = ep_open(ONNXD_COUNT(options), options);
    const onnxd_cpu_ep *cpu = onnxd_cpu_ep_of(ep);
    onnxd_buffer buffer;
    cr_expect_eq(cpu->runtime->threads, 3);
    cr_expect_eq(onnxd_cpu_ep_of(plain)->runtime->threads, onnxd_cpu_count_allowed());
    cr_expect_null(cpu->runtime->dnnl);
    cr_expect_eq(cpu->runtime->simd->level, ONNXD_SIMD_PORTABLE);
    cr_expect_not(cpu->runtime->uses_vector_kernels);
    cr_expect_not(cpu->runtime->uses_winograd);
    cr_expect_gt(cpu->runtime->bf16.rows, 0);
    cr_expect_eq(onnxd_cpu_ep_of(plain)->runtime->bf16.rows, 0);
    cr_expect_eq(onnxd_ep_get_info(ep).memory_bytes, 65536);
    onnxd_status *status = onnxd_ep_allocate(ep, 100000, 64, &buffer);
    cr_expect_eq(onnxd_status_requested_bytes(status) >= 100000, true);
    expect_error(status, ONNXD_OUT_OF_MEMORY);
    /* Without a cache every buffer comes from the system; with one only the first does. */
    for (int i = 0; i < 3; i++) {
        expect_ok(onnxd_ep_allocate(ep, 1000, 64, &buffer));
        expect_ok(onnxd_ep_deallocate(ep, buffer));
        expect_ok(onnxd_ep_allocate(plain, 1000, 64, &buffer));
        expect_ok(onnxd_ep_deallocate(plain, buffer));
    }
    cr_expect_eq(onnxd_ep_get_stats(ep).device_allocations, 3);
    cr_expect_eq(onnxd_ep_get_stats(plain).device_allocations, 1);
    onnxd_ep_destroy(plain);
    onnxd_ep_destroy(ep);
}

/* The implementation that runs a 3 x 3 convolution channels-last with one weight replaced. */
static void convolution_with(onnxd_ep *ep, float weight, char implementation[96])
{
    test_node t;
    test_run run = {.is_constant = {[1] = true}};
    uint64_t seed = 7;
    node_init(&t, "Conv", 1, 2, 1);
    t.node->domain = ONNXD_INTERNAL_DOMAIN;
    node_ints(&t, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    expect_ok(node_resolve(&t));
    run.inputs[0] = tensor_random(&seed, 4, (const int64_t[]){1, 28, 28, 32});
    run.inputs[1] = tensor_random(&seed, 4, (const int64_t[]){64, 32, 3, 3});
    /* Of map 0, which is always among those that are tried. */
    ((float *)run.inputs[1]->data)[4] = weight;
    expect_ok(run_node(ep, &t, &run));
    memcpy(implementation, run.implementation, sizeof(run.implementation));
    run_deinit(&run);
    node_deinit(&t);
}

static void expect_convolution(size_t count, const char *const (*options)[2], float weight,
                               const char *method)
{
    char implementation[96];
    onnxd_ep *ep = ep_open(count, options);
    convolution_with(ep, weight, implementation);
    cr_expect_not_null(strstr(implementation, method), "%s, not %s", implementation, method);
    onnxd_ep_destroy(ep);
}

Test(options, winograd_where_it_errs_little)
{
    static const char *const off[][2] = {{"cpu.winograd", "off"}};
    static const char *const exact[][2] = {{"cpu.winograd_error", "0"}};
    expect_convolution(0, NULL, 1, "winograd");
    expect_convolution(1, off, 1, "direct");
    expect_convolution(1, exact, 1, "direct");
    expect_convolution(0, NULL, INFINITY, "direct");
    expect_convolution(0, NULL, NAN, "direct");
    /* Finite itself, but not what the transformation makes of it. */
    expect_convolution(0, NULL, 3e38f, "direct");
}

Test(options, quotas_round_up_to_cpus)
{
    cr_expect_eq(onnxd_cpu_parse_quota("max 100000\n"), 0);
    cr_expect_eq(onnxd_cpu_parse_quota("100000 100000\n"), 1);
    cr_expect_eq(onnxd_cpu_parse_quota("150000 100000\n"), 2);
    cr_expect_eq(onnxd_cpu_parse_quota("50000 100000"), 1);
    cr_expect_eq(onnxd_cpu_parse_quota("800000 100000\n"), 8);
    cr_expect_eq(onnxd_cpu_parse_quota(""), 0);
    cr_expect_eq(onnxd_cpu_parse_quota("1"), 0);
    cr_expect_eq(onnxd_cpu_parse_quota("1 0\n"), 0);
    cr_expect_eq(onnxd_cpu_parse_quota("-1 100000\n"), 0);
    cr_expect_eq(onnxd_cpu_parse_quota("9223372036854775807 1\n"), 65536);
    cr_expect_geq(onnxd_cpu_count_allowed(), 1);
}

/* ---- memory that runs out -------------------------------------------------------------------- */

/* Every allocation on the way to a kernel fails once: an error, nothing lost, and the next try
 * succeeds. */
Test(kernel, every_allocation_may_fail)
{
    onnxd_ep *ep = ep_open_default();
    uint64_t seed = 3;
    conv c;
    conv_init(&c, 14, tensor_random(&seed, 4, (const int64_t[]){32, 16, 3, 3}));
    onnxd_kernel_release(kernel_get(ep, &c.query));
    uint64_t live = onnxd_alloc_query().live_count, failures = 0;
    for (uint64_t n = 1;; n++) {
        onnxd_kernel *kernel = NULL;
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_ep_get_kernel(ep, &c.query, &kernel);
        onnxd_alloc_fail_at(0, 0);
        if (status == NULL) {
            onnxd_kernel_release(kernel);
            break;
        }
        failures++;
        cr_expect_null(kernel);
        expect_error(status, ONNXD_OUT_OF_MEMORY);
        cr_expect_eq(onnxd_alloc_query().live_count, live, "allocation %u", (unsigned)n);
    }
    cr_expect_gt(failures, 5);
    onnxd_tensor_release(c.weights);
    node_deinit(&c.node);
    onnxd_ep_destroy(ep);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct worker {
    onnxd_ep *ep;
    pthread_t thread;
    uint64_t seed;
} worker;

static void *get_and_release(void *data)
{
    worker *w = data;
    for (int i = 0; i < 60; i++) {
        relu_query r;
        relu_query_init(&r, 1 + (int64_t)(next_random(&w->seed) % 6));
        onnxd_kernel *kernel = kernel_get(w->ep, &r.query);
        cr_expect_eq(((onnxd_cpu_kernel *)(void *)kernel)->inputs[0].shape.dims[0],
                     r.input.shape.dims[0]);
        onnxd_kernel_release(kernel);
        node_deinit(&r.node);
    }
    return NULL;
}

Test(kernel, cache_is_shared_between_threads)
{
    const char *options[2][2] = {{"cpu.kernel_cache", "3"}, {"cpu.onednn", "false"}};
    worker workers[4];
    onnxd_ep *ep = ep_open(2, (const char *const(*)[2])options);
    for (size_t i = 0; i < ONNXD_COUNT(workers); i++) {
        workers[i].ep = ep;
        workers[i].seed = i;
        cr_assert_eq(pthread_create(&workers[i].thread, NULL, get_and_release, &workers[i]), 0);
    }
    for (size_t i = 0; i < ONNXD_COUNT(workers); i++)
        pthread_join(workers[i].thread, NULL);
    cr_expect_leq(onnxd_cpu_ep_of(ep)->runtime->unused_count, 3);
    onnxd_ep_destroy(ep);
}

typedef struct packer {
    onnxd_ep *ep;
    onnxd_tensor *weights;
    int64_t size;
    onnxd_kernel *kernel;
    pthread_t thread;
} packer;

static void *get_packed(void *data)
{
    packer *p = data;
    conv c;
    conv_init(&c, p->size, p->weights);
    p->kernel = kernel_get(p->ep, &c.query);
    node_deinit(&c.node);
    return NULL;
}

/* Packing is done without a lock, by several threads at once; one result is kept. */
Test(kernel, threads_share_packed_constants)
{
    uint64_t seed = 4;
    size_t count, bytes;
    packer packers[4];
    onnxd_ep *ep = ep_open_default();
    onnxd_dnnl *dnnl = onnxd_cpu_ep_of(ep)->runtime->dnnl;
    onnxd_tensor *weights = tensor_random(&seed, 4, (const int64_t[]){32, 16, 3, 3});
    for (size_t i = 0; i < ONNXD_COUNT(packers); i++) {
        packers[i] = (packer){.ep = ep, .weights = weights, .size = 14 + (int64_t)i};
        cr_assert_eq(pthread_create(&packers[i].thread, NULL, get_packed, &packers[i]), 0);
    }
    for (size_t i = 0; i < ONNXD_COUNT(packers); i++)
        pthread_join(packers[i].thread, NULL);
    onnxd_dnnl_query_packed(dnnl, &count, &bytes);
    cr_expect_eq(count, 1);
    for (size_t i = 0; i < ONNXD_COUNT(packers); i++)
        onnxd_kernel_release(packers[i].kernel);
    onnxd_dnnl_query_packed(dnnl, &count, &bytes);
    cr_expect_eq(count, 0);
    onnxd_tensor_release(weights);
    onnxd_ep_destroy(ep);
}

/* ---- failures of portable kernels ------------------------------------------------------------ */

static onnxd_code failing_code;

static onnxd_status *fail_with_code(const onnxd_compute *compute ONNXD_UNUSED)
{
    return failing_code == ONNXD_OUT_OF_MEMORY ? onnxd_error_out_of_memory("a thing", 5, 3)
                                               : onnxd_error(failing_code, "a reason");
}

Test(kernel, failures_keep_the_codes_that_say_whose_they_are)
{
    static const onnxd_code codes[][2] = {
        {ONNXD_INVALID_ARGUMENT, ONNXD_INVALID_ARGUMENT},
        {ONNXD_UNIMPLEMENTED, ONNXD_UNIMPLEMENTED},
        {ONNXD_RESOURCE_EXHAUSTED, ONNXD_RESOURCE_EXHAUSTED},
        {ONNXD_OUT_OF_MEMORY, ONNXD_OUT_OF_MEMORY},
        {ONNXD_INTERNAL, ONNXD_KERNEL_FAILED},
        {ONNXD_NOT_FOUND, ONNXD_KERNEL_FAILED},
    };
    float data[4] = {0};
    onnxd_ep *ep = ep_open_portable();
    relu_query r;
    relu_query_init(&r, 4);
    onnxd_kernel *base = kernel_get(ep, &r.query);
    onnxd_cpu_kernel *kernel = ONNXD_CONTAINER_OF(base, onnxd_cpu_kernel, base);
    onnxd_op_def failing = *kernel->node.def;
    failing.compute = fail_with_code;
    kernel->node.def = &failing;
    onnxd_tensor_view view = onnxd_tensor_view_of(data, ONNXD_FLOAT, &r.input.shape);
    onnxd_kernel_args args = {
        .inputs = &view, .outputs = &view, .input_count = 1, .output_count = 1};
    for (size_t i = 0; i < ONNXD_COUNT(codes); i++) {
        failing_code = codes[i][0];
        onnxd_status *status = onnxd_kernel_enqueue(base, &args);
        cr_expect_not_null(strstr(onnxd_status_message(status), "Relu"), "%s",
                           onnxd_status_message(status));
        if (failing_code == ONNXD_OUT_OF_MEMORY)
            cr_expect_eq(onnxd_status_requested_bytes(status), 5);
        expect_error(status, codes[i][1]);
    }
    onnxd_kernel_release(base);
    node_deinit(&r.node);
    onnxd_ep_destroy(ep);
}

/* What deallocate, sync and shutdown owe to kernels that run. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define COUNT 256

/* A product of matrices of ones: long enough that others get their turn meanwhile. */
#define SIDE 768

typedef struct long_work {
    onnxd_ep *ep;
    one_node node;
    onnxd_kernel *kernel;
    onnxd_buffer ones, result, workspace;
    bool has_thread;
    pthread_t thread;
} long_work;

static void *long_main(void *user)
{
    long_work *work = user;
    const onnxd_shape *shape = &work->node.outputs[0].shape;
    onnxd_tensor_view ones = onnxd_tensor_view_of(work->ones.data, ONNXD_FLOAT, shape);
    onnxd_tensor_view result = onnxd_tensor_view_of(work->result.data, ONNXD_FLOAT, shape);
    ones.device = result.device = work->ones.device;
    const onnxd_tensor_view inputs[] = {ones, ones};
    const onnxd_kernel_args args = {inputs, &result, 2, 1, work->workspace.data, NULL};
    return onnxd_kernel_enqueue(work->kernel, &args);
}

/* Returns when the kernel is issued. Where it runs on the thread that issues it, another does. */
static void long_start(long_work *work, onnxd_ep *ep)
{
    const int64_t dims[] = {SIDE, SIDE};
    *work = (long_work){.ep = ep};
    make_node(&work->node, "MatMul", 13, 2, 1);
    work->node.inputs[0] = work->node.inputs[1] = type_of(ONNXD_FLOAT, 2, dims);
    cr_assert(resolve_node(&work->node));
    cr_assert(infer_node(&work->node));
    work->kernel = kernel_for(ep, &work->node);
    float *values = malloc((size_t)SIDE * SIDE * sizeof(*values));
    cr_assert_not_null(values);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        values[i] = 1;
    work->ones = allocate(ep, (size_t)SIDE * SIDE * sizeof(*values));
    upload(ep, work->ones, values, work->ones.bytes);
    free(values);
    work->result = filled(ep, work->ones.bytes, 0);
    work->workspace = allocate(ep, work->kernel->workspace_bytes);
    work->has_thread = onnxd_ep_get_info(ep).is_host_addressable;
    if (work->has_thread)
        cr_assert_eq(pthread_create(&work->thread, NULL, long_main, work), 0);
    else
        expect_ok(long_main(work));
    while (onnxd_ep_get_stats(ep).kernels_enqueued == 0)
        sched_yield();
}

static void long_join(long_work *work)
{
    void *status = NULL;
    if (work->has_thread)
        cr_assert_eq(pthread_join(work->thread, &status), 0);
    expect_ok(status);
}

static void long_end(long_work *work)
{
    onnxd_kernel_release(work->kernel);
    deallocate(work->ep, work->ones);
    deallocate(work->ep, work->workspace);
    drop_node(&work->node);
}

CONFORMANCE_TEST(running, deallocate_lets_a_running_kernel_finish)
{
    onnxd_ep *ep = open_ep_list(conformance_provider.slow_kernels);
    long_work work;
    long_start(&work, ep);
    deallocate(ep, work.result);
    /* The pool would hand the same block out again if it were free by now. */
    onnxd_buffer next = filled(ep, work.result.bytes, 5);
    long_join(&work);
    expect_ok(onnxd_ep_sync(ep));
    unsigned char *back = malloc(next.bytes);
    cr_assert_not_null(back);
    download(ep, next, back, next.bytes);
    cr_assert(is_filled(back, next.bytes, 5), "the buffer was handed out under a kernel");
    free(back);
    deallocate(ep, next);
    long_end(&work);
    close_ep(ep);
}

CONFORMANCE_TEST(running, sync_waits_for_a_running_kernel)
{
    onnxd_ep *ep = open_ep_list(conformance_provider.slow_kernels);
    long_work work;
    float *back = malloc((size_t)SIDE * SIDE * sizeof(*back));
    cr_assert_not_null(back);
    long_start(&work, ep);
    expect_ok(onnxd_ep_sync(ep));
    download(ep, work.result, back, work.result.bytes);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        cr_assert_eq(back[i], SIDE, "element %zu is not there yet", i);
    free(back);
    long_join(&work);
    deallocate(ep, work.result);
    long_end(&work);
    close_ep(ep);
}

CONFORMANCE_TEST(running, after_shutdown_a_kernel_is_refused)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    onnxd_buffer buffer = filled(ep, COUNT * 4, 0);
    expect_ok(enqueue_unary(kernel, buffer, buffer, COUNT));
    expect_ok(onnxd_ep_shutdown(ep));
    uint64_t enqueued = onnxd_ep_get_stats(ep).kernels_enqueued;
    expect_code(enqueue_unary(kernel, buffer, buffer, COUNT), ONNXD_NOT_INITIALIZED);
    cr_assert_eq(onnxd_ep_get_stats(ep).kernels_enqueued, enqueued);
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    onnxd_ep_destroy(ep);
}

CONFORMANCE_TEST(running, a_kernel_may_outlive_its_instance)
{
    onnxd_ep *ep = open_default_ep();
    one_node relu;
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu), *again = kernel_for(ep, &relu);
    onnxd_buffer buffer = filled(ep, COUNT * 4, 0);
    drop_node(&relu);
    onnxd_ep_destroy(ep);
    expect_code(enqueue_unary(kernel, buffer, buffer, COUNT), ONNXD_NOT_INITIALIZED);
    onnxd_kernel_release(again);
    cr_assert_gt(strlen(kernel->implementation), 0);
    onnxd_kernel_release(kernel);
}

/* ---- several threads ----------------------------------------------------------------------- */

typedef struct issuer {
    onnxd_ep *ep;
    onnxd_kernel *kernel;
    onnxd_buffer input, output;
    pthread_t thread;
} issuer;

static void *issue_often(void *user)
{
    issuer *i = user;
    onnxd_status *status = NULL;
    onnxd_ep_begin_issuing(i->ep);
    for (int round = 0; round < 100 && status == NULL; round++)
        status = enqueue_unary(i->kernel, i->input, i->output, COUNT);
    onnxd_ep_end_issuing(i->ep);
    return status;
}

/* One kernel, with memory of its own for each. */
CONFORMANCE_TEST(running, as_many_threads_issue_as_the_instance_says)
{
    enum { MOST = 4 };
    onnxd_ep *ep = open_default_ep();
    const uint32_t says = onnxd_ep_get_info(ep).issuers, count = says < MOST ? says : MOST;
    issuer issuers[MOST];
    unsigned char back[COUNT * 4];
    one_node relu;
    cr_assert_geq(says, 1);
    make_relu(&relu, COUNT);
    onnxd_kernel *kernel = kernel_for(ep, &relu);
    for (uint32_t i = 0; i < count; i++) {
        /* Positive as a float. */
        issuers[i] = (issuer){.ep = ep,
                              .kernel = kernel,
                              .input = filled(ep, COUNT * 4, (unsigned char)(i + 1)),
                              .output = filled(ep, COUNT * 4, 0)};
        cr_assert_eq(pthread_create(&issuers[i].thread, NULL, issue_often, &issuers[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        void *status;
        cr_assert_eq(pthread_join(issuers[i].thread, &status), 0);
        expect_ok(status);
    }
    expect_ok(onnxd_ep_sync(ep));
    for (uint32_t i = 0; i < count; i++) {
        download(ep, issuers[i].output, back, sizeof(back));
        cr_expect(is_filled(back, sizeof(back), (unsigned char)(i + 1)), "issuer %u", i);
        deallocate(ep, issuers[i].input);
        deallocate(ep, issuers[i].output);
    }
    onnxd_kernel_release(kernel);
    drop_node(&relu);
    close_ep(ep);
}

#include <criterion/criterion.h>
#include <time.h>

#include "base/clock.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/fixture.h"

/* What happens when places, time or memory are short. */

/* ---- places -------------------------------------------------------------------------------- */

/* Holds back every request that ends, and with it the device thread that ends it. */
static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool is_open;
    void (*done)(onnxd_request *request);
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static void end_behind_gate(onnxd_request *request)
{
    pthread_mutex_lock(&gate.mutex);
    while (!gate.is_open)
        pthread_cond_wait(&gate.opened, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
    gate.done(request);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.mutex);
}

static bool try_submit_behind_gate(fixture *f)
{
    onnxd_request *request = collector_request(&f->done, f->model, 1, 1);
    gate.done = request->done;
    request->done = end_behind_gate;
    onnxd_status *status = onnxd_scheduler_submit(f->scheduler, request);
    if (status == NULL)
        return true;
    support_error(status, ONNXD_RESOURCE_EXHAUSTED, "Exceeds maximum queue size");
    onnxd_request_release(request);
    return false;
}

/* Neg on a fast device, Relu on the host, whose thread stands still: the runs that have left the
 * device count as well, so the queue before it fills up. */
Test(pressure, refuses_what_piles_up_behind_a_slow_second_stage)
{
    enum { QUEUE = 8, IN_FLIGHT = 2, LANES = 2 };
    /* One more stands at the gate. */
    const size_t most = QUEUE + IN_FLIGHT * LANES + 1;
    const struct timespec millisecond = {.tv_nsec = 1000000};
    fixture f;
    size_t accepted = 0, refused = 0;
    fixture_setup(&f, CPU " " SIM ";sim.unsupported_ops=Relu;sim.claim_ops=Neg", QUEUE, IN_FLIGHT);
    onnxd_model_release(f.model);
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Relu", "a", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N");
    f.model = support_load(f.runtime, &file, NULL);
    fixture_warm_up(&f);
    /* Whatever the device takes in from the queue, it takes in while these are refused. */
    while (accepted <= most && refused < 100) {
        if (try_submit_behind_gate(&f)) {
            accepted++;
            continue;
        }
        refused++;
        nanosleep(&millisecond, NULL);
    }
    cr_expect_eq(accepted, most);
    cr_expect_leq(onnxd_scheduler_query(f.scheduler).waiting, QUEUE + IN_FLIGHT * LANES);
    open_gate();
    collector_wait(&f.done, accepted);
    for (size_t i = 0; i < accepted; i++)
        cr_expect_null(f.done.requests[i]->status);
    fixture_teardown(&f);
}

/* ---- time ---------------------------------------------------------------------------------- */

/* The device is busy with the first request for more than 600 ms. */
#define VERY_SLOW_SIM SIM ";sim.kernel_latency_us=200000"

Test(pressure, a_deadline_passes_while_the_device_is_busy)
{
    fixture f;
    fixture_setup(&f, VERY_SLOW_SIM, 0, 1);
    fixture_warm_up(&f);
    fixture_submit(&f, 1, 1);
    fixture_submit(&f, 1, 2);
    onnxd_request *late = collector_request(&f.done, f.model, 1, 1);
    late->deadline_ns = onnxd_now_ns() + 20 * MILLISECOND_NS;
    support_ok(onnxd_scheduler_submit(f.scheduler, late));
    onnxd_request *later = collector_request(&f.done, f.model, 1, 1);
    later->deadline_ns = onnxd_now_ns() + 40 * MILLISECOND_NS;
    support_ok(onnxd_scheduler_submit(f.scheduler, later));
    collector_wait(&f.done, 4);
    cr_expect_eq(f.done.requests[0], late);
    cr_expect_eq(onnxd_status_code(late->status), ONNXD_DEADLINE_EXCEEDED);
    cr_expect_eq(f.done.requests[1], later);
    cr_expect_eq(onnxd_status_code(later->status), ONNXD_DEADLINE_EXCEEDED);
    cr_expect_eq(collector_result(f.done.requests[2]), fixture_expected_of(1));
    cr_expect_eq(collector_result(f.done.requests[3]), fixture_expected_of(2));
    fixture_teardown(&f);
}

Test(pressure, a_waiting_request_is_cancelled_while_the_device_is_busy)
{
    fixture f;
    fixture_setup(&f, VERY_SLOW_SIM, 0, 1);
    fixture_warm_up(&f);
    fixture_submit(&f, 1, 1);
    onnxd_request *cancelled = fixture_submit(&f, 1, 1);
    onnxd_scheduler_cancel(f.scheduler, cancelled);
    collector_wait(&f.done, 2);
    cr_expect_eq(f.done.requests[0], cancelled);
    cr_expect_eq(onnxd_status_code(cancelled->status), ONNXD_CANCELLED);
    cr_expect_eq(collector_result(f.done.requests[1]), fixture_expected_of(1));
    fixture_teardown(&f);
}

/* ---- memory -------------------------------------------------------------------------------- */

Test(pressure, a_device_too_small_for_several_requests_takes_them_in_turn)
{
    /* One request needs more than half of the device's memory. */
    enum { ELEMENTS = 16384, REQUESTS = 12 };
    fixture f;
    fixture_setup(&f, "sim;sim.memory_bytes=262144;sim.kernel_latency_us=500", 0, 4);
    for (int i = 0; i < REQUESTS; i++)
        fixture_submit(&f, ELEMENTS, (float)i);
    collector_wait(&f.done, REQUESTS);
    for (int i = 0; i < REQUESTS; i++)
        fixture_expect(f.done.requests[i]);
    onnxd_request *huge = fixture_submit(&f, (int64_t)10 * ELEMENTS, 1);
    collector_wait(&f.done, REQUESTS + 1);
    cr_expect_eq(onnxd_status_code(huge->status), ONNXD_OUT_OF_MEMORY);
    fixture_teardown(&f);
}

/* A run keeps its arena on the device while it is on the host, and there is no room for another. */
Test(pressure, a_small_device_takes_split_requests_in_turn)
{
    enum { ELEMENTS = 16384, REQUESTS = 12 };
    fixture f;
    fixture_setup(&f,
                  CPU " sim;sim.memory_bytes=262144;sim.unsupported_ops=Relu;sim.claim_ops=Neg,Add",
                  0, 4);
    for (int i = 0; i < REQUESTS; i++)
        fixture_submit(&f, ELEMENTS, (float)i);
    collector_wait(&f.done, REQUESTS);
    for (int i = 0; i < REQUESTS; i++)
        fixture_expect(f.done.requests[i]);
    /* What fits at no time fails, and what waits behind it does not. */
    for (int i = 0; i < REQUESTS; i++)
        fixture_submit(&f, ELEMENTS, (float)i);
    const onnxd_request *huge = fixture_submit(&f, (int64_t)10 * ELEMENTS, 1);
    fixture_submit(&f, ELEMENTS, 1);
    collector_wait(&f.done, 2 * REQUESTS + 2);
    for (size_t i = REQUESTS; i < 2 * REQUESTS + 2; i++)
        if (f.done.requests[i] != huge)
            fixture_expect(f.done.requests[i]);
    cr_expect_eq(onnxd_status_code(huge->status), ONNXD_OUT_OF_MEMORY);
    fixture_teardown(&f);
}

Test(pressure, a_request_that_waits_for_memory_ends_when_it_is_cancelled)
{
    /* Of three requests at a time the device has no memory for one. */
    enum { ELEMENTS = 24576 };
    fixture f;
    fixture_setup(&f, "sim;sim.memory_bytes=262144;sim.kernel_latency_us=100000", 0, 4);
    fixture_submit(&f, ELEMENTS, 0);
    collector_wait(&f.done, 1);
    collector_clear(&f.done);
    fixture_submit(&f, ELEMENTS, 1);
    fixture_submit(&f, ELEMENTS, 2);
    onnxd_request *late = collector_request(&f.done, f.model, ELEMENTS, 3);
    late->deadline_ns = onnxd_now_ns() + 50 * MILLISECOND_NS;
    support_ok(onnxd_scheduler_submit(f.scheduler, late));
    onnxd_scheduler_stop(f.scheduler, onnxd_now_ns() + 150 * MILLISECOND_NS);
    cr_assert_eq(f.done.count, 3);
    cr_expect_eq(f.done.requests[0], late);
    cr_expect_eq(onnxd_status_code(late->status), ONNXD_DEADLINE_EXCEEDED);
    cr_expect_eq(onnxd_status_code(f.done.requests[1]->status), ONNXD_CANCELLED);
    fixture_teardown(&f);
}

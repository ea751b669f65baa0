#include "scheduler/scheduler.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/scheduler/fixture.h"

/* ---- results and order --------------------------------------------------------------------- */

static void expect_results(const char *spec)
{
    fixture f;
    fixture_setup(&f, spec, 64, 0);
    for (int i = 0; i < 50; i++)
        fixture_submit(&f, 1 + i % 3, (float)(i - 25));
    collector_wait(&f.done, 50);
    for (size_t i = 0; i < 50; i++) {
        const onnxd_request *request = f.done.requests[i];
        fixture_expect(request);
        cr_expect_leq(request->submitted_ns, request->started_ns);
        cr_expect_leq(request->started_ns, request->finished_ns);
    }
    const onnxd_scheduler_stats stats = onnxd_scheduler_query(f.scheduler);
    cr_expect_eq(stats.submitted, 50);
    cr_expect_eq(stats.completed, 50);
    cr_expect_eq(stats.waiting, 0);
    fixture_teardown(&f);
}

Test(scheduler, computes_on_the_cpu)
{
    expect_results(CPU);
}

Test(scheduler, computes_on_a_device)
{
    expect_results(SIM);
}

Test(scheduler, computes_when_split)
{
    expect_results(SPLIT);
}

Test(scheduler, computes_side_by_side)
{
    expect_results(WIDE_CPU);
}

Test(scheduler, computes_side_by_side_when_split)
{
    expect_results(WIDE_SPLIT);
}

/* Its thread looks for another request at that time, and sleeps without an end when it missed the
 * stop. */
static void stop_after_a_request(const char *spec)
{
    for (int i = 0; i < 40; i++) {
        fixture f;
        fixture_setup(&f, spec, 4, 0);
        fixture_submit(&f, 1, (float)i);
        collector_wait(&f.done, 1);
        fixture_expect(f.done.requests[0]);
        fixture_teardown(&f);
    }
}

Test(scheduler, a_stop_comes_right_after_a_request)
{
    stop_after_a_request(CPU);
    stop_after_a_request(WIDE_CPU);
}

static void expect_order(const char *spec)
{
    fixture f;
    fixture_setup(&f, spec, 64, 0);
    fixture_warm_up(&f);
    onnxd_request *requests[40];
    for (int i = 0; i < 40; i++)
        requests[i] = fixture_submit(&f, 1, (float)i);
    collector_wait(&f.done, 40);
    for (int i = 0; i < 40; i++)
        cr_expect_eq(f.done.requests[i], requests[i]);
    fixture_teardown(&f);
}

Test(scheduler, keeps_the_order_on_the_cpu)
{
    expect_order(CPU);
}

Test(scheduler, keeps_the_order_on_a_device)
{
    expect_order(SIM);
}

Test(scheduler, ends_a_plan_without_stages)
{
    fixture f;
    fixture_setup(&f, CPU, 0, 0);
    onnxd_model_release(f.model);
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Flatten", "x", "y");
    onnx_attribute_int(&file, "axis", 0);
    onnx_output(&file, "y", ONNXD_FLOAT, "A,B");
    f.model = support_load(f.runtime, &file, NULL);
    fixture_submit(&f, 3, 7);
    collector_wait(&f.done, 1);
    cr_expect_eq(collector_result(f.done.requests[0]), 7);
    fixture_teardown(&f);
}

/* ---- the steady state ---------------------------------------------------------------------- */

/* Several at once fill the pools with more than one request needs at a time: a device takes a
 * buffer back only when the work behind it has ended, which may be a moment after the request has.
 * How many that takes is a matter of timing, so it goes on until nothing has been added for long.
 */
static void fill_pools(fixture *f)
{
    uint64_t allocations = 0;
    for (int quiet_rounds = 0; quiet_rounds < 50; quiet_rounds++) {
        for (int i = 0; i < 8; i++)
            fixture_submit(f, 100, (float)i);
        collector_wait(&f->done, 8);
        collector_clear(&f->done);
        uint64_t now = 0;
        for (size_t i = 0; i < f->runtime->ep_count; i++)
            now += onnxd_ep_get_stats(f->runtime->eps[i]).device_allocations;
        if (now != allocations)
            quiet_rounds = 0;
        allocations = now;
    }
}

static void expect_steady(const char *spec)
{
    fixture f;
    onnxd_ep_stats before[2] = {{0}, {0}};
    fixture_setup(&f, spec, 0, 0);
    fill_pools(&f);
    const uint64_t calls = onnxd_alloc_query().calls;
    for (size_t i = 0; i < f.runtime->ep_count; i++)
        before[i] = onnxd_ep_get_stats(f.runtime->eps[i]);
    for (int round = 0; round < 30; round++) {
        fixture_submit(&f, 100, (float)round);
        collector_wait(&f.done, 1);
        cr_expect_eq(collector_result(f.done.requests[0]), fixture_expected_of((float)round));
        collector_clear(&f.done);
    }
    cr_expect_eq(onnxd_alloc_query().calls, calls);
    for (size_t i = 0; i < f.runtime->ep_count; i++) {
        const onnxd_ep_stats after = onnxd_ep_get_stats(f.runtime->eps[i]);
        cr_expect_eq(after.device_allocations, before[i].device_allocations);
        cr_expect_eq(after.sync_calls, before[i].sync_calls);
        cr_expect_eq(after.fences_live, 0);
    }
    fixture_teardown(&f);
}

Test(scheduler, allocates_nothing_in_a_steady_state_on_the_cpu)
{
    expect_steady(CPU);
}

Test(scheduler, allocates_nothing_in_a_steady_state_side_by_side)
{
    expect_steady(WIDE_CPU);
}

Test(scheduler, allocates_nothing_in_a_steady_state_on_a_device)
{
    expect_steady(SIM);
}

Test(scheduler, allocates_nothing_in_a_steady_state_when_split)
{
    expect_steady(SPLIT);
}

/* ---- admission ----------------------------------------------------------------------------- */

Test(scheduler, refuses_what_the_queue_cannot_hold)
{
    fixture f;
    size_t accepted = 0;
    fixture_setup(&f, SLOW_SIM, 2, 1);
    fixture_warm_up(&f);
    onnxd_status *status = NULL;
    while (status == NULL && accepted < 10) {
        onnxd_request *request = collector_request(&f.done, f.model, 1, 1);
        status = onnxd_scheduler_submit(f.scheduler, request);
        if (status == NULL)
            accepted++;
        else
            onnxd_request_release(request);
        cr_expect_leq(onnxd_scheduler_query(f.scheduler).waiting, 2);
    }
    support_error(status, ONNXD_RESOURCE_EXHAUSTED, "Exceeds maximum queue size");
    cr_expect_geq(accepted, 2);
    collector_wait(&f.done, accepted);
    for (size_t i = 0; i < accepted; i++)
        cr_expect_eq(collector_result(f.done.requests[i]), fixture_expected_of(1));
    cr_expect_eq(onnxd_scheduler_query(f.scheduler).refused, 1);
    fixture_teardown(&f);
}

Test(scheduler, refuses_a_request_without_its_inputs)
{
    fixture f;
    onnxd_request *request;
    fixture_setup(&f, CPU, 0, 0);
    support_ok(onnxd_request_create(f.model, &request));
    support_error(onnxd_scheduler_submit(f.scheduler, request), ONNXD_INVALID_ARGUMENT,
                  "expected 1 inputs but got 0 inputs");
    onnxd_request_release(request);
    fixture_teardown(&f);
}

/* ---- deadlines and cancellation ------------------------------------------------------------ */

Test(scheduler, ends_what_is_late)
{
    fixture f;
    fixture_setup(&f, SLOW_SIM, 0, 1);
    fixture_warm_up(&f);
    const onnxd_request *first = fixture_submit(&f, 1, 1);
    fixture_submit(&f, 1, 1);
    onnxd_request *late = collector_request(&f.done, f.model, 1, 1);
    late->deadline_ns = onnxd_now_ns() + 10 * MILLISECOND_NS;
    support_ok(onnxd_scheduler_submit(f.scheduler, late));
    const onnxd_request *next = fixture_submit(&f, 1, 2);
    collector_wait(&f.done, 4);
    cr_expect_eq(collector_result(first), fixture_expected_of(1));
    cr_expect_eq(onnxd_status_code(late->status), ONNXD_DEADLINE_EXCEEDED);
    cr_expect_null(late->outputs);
    cr_expect_eq(collector_result(next), fixture_expected_of(2));
    cr_expect_eq(onnxd_scheduler_query(f.scheduler).expired, 1);
    fixture_teardown(&f);
}

Test(scheduler, a_result_that_comes_too_late_is_none)
{
    fixture f;
    fixture_setup(&f, SLOW_SIM, 0, 1);
    fixture_warm_up(&f);
    /* Taken at once, but three kernels of 20 ms do not end within 30 ms. */
    onnxd_request *late = collector_request(&f.done, f.model, 1, 1);
    late->deadline_ns = onnxd_now_ns() + 30 * MILLISECOND_NS;
    support_ok(onnxd_scheduler_submit(f.scheduler, late));
    collector_wait(&f.done, 1);
    cr_expect_eq(onnxd_status_code(late->status), ONNXD_DEADLINE_EXCEEDED);
    fixture_teardown(&f);
}

Test(scheduler, ends_what_is_cancelled)
{
    fixture f;
    fixture_setup(&f, SLOW_SIM, 0, 1);
    fixture_warm_up(&f);
    for (int i = 0; i < 5; i++)
        fixture_submit(&f, 1, 1);
    onnxd_request *cancelled = fixture_submit(&f, 1, 1);
    const onnxd_request *next = fixture_submit(&f, 1, 3);
    onnxd_scheduler_cancel(f.scheduler, cancelled);
    collector_wait(&f.done, 7);
    cr_expect_eq(onnxd_status_code(cancelled->status), ONNXD_CANCELLED);
    cr_expect_eq(collector_result(next), fixture_expected_of(3));
    cr_expect_eq(onnxd_scheduler_query(f.scheduler).cancelled, 1);
    fixture_teardown(&f);
}

/* ---- failures ------------------------------------------------------------------------------ */

Test(scheduler, an_impossible_shape_fails_its_request_alone)
{
    fixture f;
    onnxd_model_options options = onnxd_model_options_default();
    fixture_setup(&f, CPU, 0, 0);
    onnxd_model_release(f.model);
    onnx_file file = onnx_file_begin();
    const float weights[] = {1, 2, 3};
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_floats(&file, "w", "3", 3, weights);
    onnx_node(&file, "Add", "x,w", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "M");
    f.model = support_load(f.runtime, &file, &options);
    fixture_submit(&f, 2, 1);
    fixture_submit(&f, 3, 1);
    collector_wait(&f.done, 2);
    cr_expect_eq(onnxd_status_code(f.done.requests[0]->status), ONNXD_INVALID_ARGUMENT);
    cr_expect_eq(collector_result(f.done.requests[1]), 2);
    cr_expect_eq(onnxd_scheduler_query(f.scheduler).failed, 1);
    fixture_teardown(&f);
}

static void expect_fault(const char *fault, onnxd_code code)
{
    fixture f;
    char spec[256];
    snprintf(spec, sizeof(spec), SIM ";%s", fault);
    fixture_setup(&f, spec, 0, 0);
    for (int i = 0; i < 6; i++)
        fixture_submit(&f, 1, (float)i);
    collector_wait(&f.done, 6);
    size_t failed = 0;
    for (int i = 0; i < 6; i++) {
        const onnxd_request *request = f.done.requests[i];
        if (request->status != NULL) {
            cr_expect_eq(onnxd_status_code(request->status), code, "%s",
                         onnxd_status_message(request->status));
            failed++;
        } else {
            fixture_expect(request);
        }
    }
    cr_expect_eq(failed, 1);
    cr_expect_eq(onnxd_ep_get_stats(f.runtime->eps[0]).fences_live, 0);
    fixture_teardown(&f);
}

Test(scheduler, a_failed_copy_fails_its_request_alone)
{
    expect_fault("sim.fault_copy_at=3", ONNXD_INTERNAL);
}

Test(scheduler, a_failed_kernel_fails_its_request_alone)
{
    expect_fault("sim.fault_kernel_at=5", ONNXD_KERNEL_FAILED);
}

Test(scheduler, an_allocation_that_fails_with_nothing_in_flight_fails_its_request)
{
    fixture f;
    fixture_setup(&f, SIM ";sim.fault_alloc_at=1", 0, 0);
    fixture_submit(&f, 1, 3);
    collector_wait(&f.done, 1);
    cr_expect_eq(onnxd_status_code(f.done.requests[0]->status), ONNXD_OUT_OF_MEMORY);
    fixture_submit(&f, 1, 3);
    collector_wait(&f.done, 2);
    cr_expect_eq(collector_result(f.done.requests[1]), fixture_expected_of(3));
    fixture_teardown(&f);
}

/* ---- the end ------------------------------------------------------------------------------- */

Test(scheduler, stops_after_what_it_has_admitted)
{
    fixture f;
    fixture_setup(&f, SPLIT, 0, 0);
    for (int i = 0; i < 30; i++)
        fixture_submit(&f, 1, (float)i);
    onnxd_scheduler_stop(f.scheduler, ONNXD_NO_DEADLINE);
    cr_assert_eq(f.done.count, 30);
    for (int i = 0; i < 30; i++)
        cr_expect_null(f.done.requests[i]->status);
    onnxd_request *request = collector_request(&f.done, f.model, 1, 1);
    support_error(onnxd_scheduler_submit(f.scheduler, request), ONNXD_UNAVAILABLE, "shutting down");
    onnxd_request_release(request);
    fixture_teardown(&f);
}

Test(scheduler, cancels_what_is_left_at_the_deadline)
{
    fixture f;
    size_t cancelled = 0;
    fixture_setup(&f, SLOW_SIM, 0, 1);
    fixture_warm_up(&f);
    for (int i = 0; i < 20; i++)
        fixture_submit(&f, 1, 1);
    onnxd_scheduler_stop(f.scheduler, onnxd_now_ns() + 30 * MILLISECOND_NS);
    cr_assert_eq(f.done.count, 20);
    for (int i = 0; i < 20; i++)
        cancelled += onnxd_status_code(f.done.requests[i]->status) == ONNXD_CANCELLED;
    /* All of them would take 1.2 s. */
    cr_expect_geq(cancelled, 1);
    fixture_teardown(&f);
}

/* ---- many threads -------------------------------------------------------------------------- */

typedef struct submitter {
    fixture *f;
    uint32_t seed, submitted;
} submitter;

static void *submit_many(void *argument)
{
    submitter *s = argument;
    for (int i = 0; i < 200; i++) {
        s->seed = s->seed * 1664525u + 1013904223u;
        const int64_t elements = 1 + (s->seed >> 16) % 5;
        onnxd_request *request = collector_request(&s->f->done, s->f->model, elements, (float)i);
        if ((s->seed >> 24) % 8 == 0)
            request->deadline_ns = onnxd_now_ns() + 100000;
        /* Before submission the request is the submitter's own, so this cannot come too late. */
        if ((s->seed >> 24) % 8 == 1)
            onnxd_scheduler_cancel(s->f->scheduler, request);
        onnxd_status *status = onnxd_scheduler_submit(s->f->scheduler, request);
        if (status == NULL) {
            s->submitted++;
            continue;
        }
        cr_expect_eq(onnxd_status_code(status), ONNXD_RESOURCE_EXHAUSTED);
        onnxd_status_free(status);
        onnxd_request_release(request);
    }
    return NULL;
}

static void expect_ends_once(const char *spec)
{
    enum { THREADS = 4 };
    static fixture f;
    pthread_t threads[THREADS];
    submitter submitters[THREADS];
    size_t total = 0;
    fixture_setup(&f, spec, 16, 3);
    for (uint32_t i = 0; i < THREADS; i++) {
        submitters[i] = (submitter){&f, i + 1, 0};
        cr_assert_eq(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += submitters[i].submitted;
    }
    collector_wait(&f.done, total);
    onnxd_scheduler_stop(f.scheduler, ONNXD_NO_DEADLINE);
    cr_expect_eq(f.done.count, total);
    const onnxd_scheduler_stats stats = onnxd_scheduler_query(f.scheduler);
    cr_expect_eq(stats.submitted, total);
    cr_expect_eq(stats.completed + stats.failed + stats.cancelled + stats.expired, total);
    fixture_teardown(&f);
}

Test(scheduler, every_request_ends_once_under_load)
{
    expect_ends_once(SPLIT);
}

Test(scheduler, every_request_ends_once_under_load_side_by_side)
{
    expect_ends_once(WIDE_SPLIT);
}

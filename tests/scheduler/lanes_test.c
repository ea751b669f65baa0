/* Several requests at a time on an instance whose kernels run on the threads that enqueue them. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "ops/ops.h"
#include "tests/model/fake_ep.h"
#include "tests/scheduler/fixture.h"

/* ---- kernels that a test holds ------------------------------------------------------------- */

/* The value of a request says what its kernels do: those from HELD on wait at the gate of their
 * own until the test opens it, and FAILING ones fail, all others return at once. */
enum { FREE = 1, FAILING = 2, HELD = 10, GATES = 32 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_open[GATES];
    uint32_t arrived[GATES]; /* kernels that came to the gate */
    uint32_t inside, most;   /* kernels at a time */
} gates = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool wait_locked(int64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    return pthread_cond_timedwait(&gates.changed, &gates.mutex, &until) == 0;
}

static int64_t in_a_minute(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((int64_t)now.tv_sec + 60) * 1000000000;
}

/* Copies what it is given. */
static onnxd_status *compute(const onnxd_kernel_args *args)
{
    const float value = *(const float *)onnxd_tensor_view_data(&args->inputs[0]);
    const int64_t until_ns = in_a_minute();
    const int kind = (int)value;
    bool is_late = false;
    pthread_mutex_lock(&gates.mutex);
    gates.inside++;
    gates.most = gates.inside > gates.most ? gates.inside : gates.most;
    if (kind >= HELD) {
        gates.arrived[kind - HELD]++;
        pthread_cond_broadcast(&gates.changed);
        while (!gates.is_open[kind - HELD] && !is_late)
            is_late = !wait_locked(until_ns);
    }
    gates.inside--;
    pthread_mutex_unlock(&gates.mutex);
    if (is_late)
        return onnxd_error(ONNXD_DEADLINE_EXCEEDED, "the gate stayed closed");
    if (kind == FAILING)
        return onnxd_error(ONNXD_KERNEL_FAILED, "as wanted");
    *(float *)onnxd_tensor_view_data(&args->outputs[0]) = value;
    return NULL;
}

static void await_arrival(int kind)
{
    const int64_t until_ns = in_a_minute();
    bool has_time = true;
    pthread_mutex_lock(&gates.mutex);
    while (gates.arrived[kind - HELD] == 0 && has_time)
        has_time = wait_locked(until_ns);
    pthread_mutex_unlock(&gates.mutex);
    cr_assert(has_time, "nobody came to gate %d", kind - HELD);
}

static void open_gate(int kind)
{
    pthread_mutex_lock(&gates.mutex);
    gates.is_open[kind - HELD] = true;
    pthread_cond_broadcast(&gates.changed);
    pthread_mutex_unlock(&gates.mutex);
}

/* ---- the instance -------------------------------------------------------------------------- */

/* Two kernels, one after another, between which a cancelled request ends. */
static void setup(fixture *f, uint32_t issuers, uint32_t max_in_flight)
{
    const fake_ep_settings settings = {.issuers = issuers, .compute = compute};
    const onnxd_scheduler_options options = {.max_in_flight = max_in_flight};
    onnxd_ep *ep = fake_ep_open(0, &settings);
    f->runtime = support_runtime_of(&ep, 1);
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "1");
    onnx_node(&file, "Neg", "x", "a");
    onnx_node(&file, "Abs", "a", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "1");
    f->model = support_load(f->runtime, &file, NULL);
    support_ok(onnxd_scheduler_create(f->runtime, &options, &f->scheduler));
    collector_init(&f->done);
    fixture_warm_up(f);
}

static void teardown(fixture *f)
{
    onnxd_scheduler_stop(f->scheduler, ONNXD_NO_DEADLINE);
    cr_expect_eq(fake_ep_issuing(f->runtime->eps[0]), 0);
    fixture_teardown(f);
}

static onnxd_request *submit(fixture *f, int kind)
{
    return fixture_submit(f, 1, (float)kind);
}

Test(lanes, two_requests_run_at_a_time)
{
    fixture f;
    setup(&f, 2, 0);
    const onnxd_request *first = submit(&f, HELD), *second = submit(&f, HELD + 1);
    await_arrival(HELD);
    await_arrival(HELD + 1);
    cr_expect_eq(onnxd_scheduler_query(f.scheduler).in_flight, 2);
    cr_expect_eq(fake_ep_issuing(f.runtime->eps[0]), 2);
    open_gate(HELD + 1);
    collector_wait(&f.done, 1);
    cr_expect_eq(f.done.requests[0], second);
    open_gate(HELD);
    collector_wait(&f.done, 2);
    cr_expect_eq(collector_result(first), HELD);
    cr_expect_eq(collector_result(second), HELD + 1);
    teardown(&f);
}

static void expect_at_most(uint32_t issuers, uint32_t max_in_flight, uint32_t most)
{
    enum { REQUESTS = 8 };
    fixture f;
    setup(&f, issuers, max_in_flight);
    for (int i = 0; i < REQUESTS; i++)
        submit(&f, HELD + i);
    for (int i = 0; i < REQUESTS; i++)
        open_gate(HELD + i);
    collector_wait(&f.done, REQUESTS);
    for (int i = 0; i < REQUESTS; i++)
        cr_expect_null(f.done.requests[i]->status);
    cr_expect_leq(gates.most, most);
    teardown(&f);
}

Test(lanes, no_more_than_the_instance_says)
{
    expect_at_most(3, 0, 3);
}

Test(lanes, no_more_than_may_be_in_flight)
{
    expect_at_most(8, 2, 2);
}

Test(lanes, one_when_the_instance_says_nothing)
{
    expect_at_most(0, 0, 1);
}

Test(lanes, one_per_thread_of_the_cpu_provider)
{
    onnxd_ep *eps[2];
    cr_assert_eq(support_open("cpu;cpu.threads=1", eps, 1), 1);
    cr_assert_eq(support_open("cpu;cpu.threads=3", eps + 1, 1), 1);
    cr_expect_eq(onnxd_ep_get_info(eps[0]).issuers, 1);
    cr_expect_eq(onnxd_ep_get_info(eps[1]).issuers, 3);
    onnxd_ep_destroy(eps[0]);
    onnxd_ep_destroy(eps[1]);
}

/* ---- order --------------------------------------------------------------------------------- */

Test(lanes, requests_begin_in_their_order)
{
    enum { REQUESTS = 100 };
    fixture f;
    const onnxd_request *requests[REQUESTS];
    setup(&f, 3, 0);
    for (int i = 0; i < REQUESTS; i++)
        requests[i] = submit(&f, FREE);
    collector_wait(&f.done, REQUESTS);
    for (int i = 1; i < REQUESTS; i++)
        cr_expect_leq(requests[i - 1]->started_ns, requests[i]->started_ns);
    teardown(&f);
}

/* The third is begun by whichever thread is free first, and not before. */
Test(lanes, the_next_one_begins_when_a_thread_is_free)
{
    fixture f;
    setup(&f, 2, 0);
    submit(&f, HELD);
    submit(&f, HELD + 1);
    const onnxd_request *third = submit(&f, FREE);
    await_arrival(HELD);
    await_arrival(HELD + 1);
    const onnxd_scheduler_stats stats = onnxd_scheduler_query(f.scheduler);
    cr_expect_eq(stats.waiting, 1);
    cr_expect_eq(stats.completed, 1, "the one that warmed up");
    open_gate(HELD + 1);
    collector_wait(&f.done, 2);
    cr_expect_eq(collector_result(third), FREE);
    cr_expect_eq(onnxd_scheduler_query(f.scheduler).in_flight, 1);
    open_gate(HELD);
    collector_wait(&f.done, 3);
    teardown(&f);
}

/* ---- one's end is not the other's ---------------------------------------------------------- */

Test(lanes, a_cancelled_request_frees_its_thread_alone)
{
    fixture f;
    setup(&f, 2, 0);
    onnxd_request *cancelled = submit(&f, HELD);
    const onnxd_request *other = submit(&f, HELD + 1);
    await_arrival(HELD);
    await_arrival(HELD + 1);
    onnxd_scheduler_cancel(f.scheduler, cancelled);
    open_gate(HELD);
    collector_wait(&f.done, 1);
    cr_expect_eq(onnxd_status_code(cancelled->status), ONNXD_CANCELLED);
    const onnxd_request *next = submit(&f, FREE);
    collector_wait(&f.done, 2);
    cr_expect_eq(f.done.requests[1], next);
    open_gate(HELD + 1);
    collector_wait(&f.done, 3);
    cr_expect_eq(collector_result(other), HELD + 1);
    teardown(&f);
}

Test(lanes, a_failure_is_its_requests_alone)
{
    fixture f;
    setup(&f, 2, 0);
    const onnxd_request *other = submit(&f, HELD);
    await_arrival(HELD);
    const onnxd_request *failed = submit(&f, FAILING), *next = submit(&f, FREE);
    collector_wait(&f.done, 2);
    cr_expect_eq(onnxd_status_code(failed->status), ONNXD_KERNEL_FAILED);
    cr_expect_eq(collector_result(next), FREE);
    open_gate(HELD);
    collector_wait(&f.done, 3);
    cr_expect_eq(collector_result(other), HELD);
    teardown(&f);
}

Test(lanes, a_deadline_passes_while_all_threads_but_one_are_busy)
{
    fixture f;
    setup(&f, 2, 0);
    const onnxd_request *other = submit(&f, HELD);
    await_arrival(HELD);
    onnxd_request *late = collector_request(&f.done, f.model, 1, FREE);
    late->deadline_ns = onnxd_now_ns() - 1;
    support_ok(onnxd_scheduler_submit(f.scheduler, late));
    collector_wait(&f.done, 1);
    cr_expect_eq(onnxd_status_code(late->status), ONNXD_DEADLINE_EXCEEDED);
    open_gate(HELD);
    collector_wait(&f.done, 2);
    cr_expect_eq(collector_result(other), HELD);
    teardown(&f);
}

/* ---- the end ------------------------------------------------------------------------------- */

typedef struct stopper {
    onnxd_scheduler *scheduler;
    int64_t deadline_ns;
    atomic_bool has_stopped;
} stopper;

static void *stop(void *argument)
{
    stopper *s = argument;
    onnxd_scheduler_stop(s->scheduler, s->deadline_ns);
    atomic_store(&s->has_stopped, true);
    return NULL;
}

Test(lanes, a_stop_waits_for_all_of_them)
{
    fixture f;
    pthread_t thread;
    setup(&f, 2, 0);
    const onnxd_request *first = submit(&f, HELD), *second = submit(&f, HELD + 1);
    await_arrival(HELD);
    await_arrival(HELD + 1);
    stopper s = {.scheduler = f.scheduler, .deadline_ns = ONNXD_NO_DEADLINE};
    cr_assert_eq(pthread_create(&thread, NULL, stop, &s), 0);
    open_gate(HELD);
    collector_wait(&f.done, 1);
    cr_expect_eq(collector_result(first), HELD);
    cr_expect_not(atomic_load(&s.has_stopped));
    open_gate(HELD + 1);
    pthread_join(thread, NULL);
    cr_assert_eq(f.done.count, 2);
    cr_expect_eq(collector_result(second), HELD + 1);
    teardown(&f);
}

/* Whatever was cancelled by then ends so, at the latest between its kernels. */
Test(lanes, a_stop_that_is_late_cancels_all_of_them)
{
    fixture f;
    pthread_t thread;
    setup(&f, 2, 0);
    for (int i = 0; i < 2; i++)
        submit(&f, HELD + i);
    const onnxd_request *waiting = submit(&f, FREE);
    await_arrival(HELD);
    await_arrival(HELD + 1);
    stopper s = {.scheduler = f.scheduler, .deadline_ns = 0};
    cr_assert_eq(pthread_create(&thread, NULL, stop, &s), 0);
    /* Both threads are busy, so the one that waits tells nothing before; its mark does. */
    while (!atomic_load(&waiting->cancelled))
        sched_yield();
    open_gate(HELD);
    open_gate(HELD + 1);
    pthread_join(thread, NULL);
    cr_assert_eq(f.done.count, 3);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(onnxd_status_code(f.done.requests[i]->status), ONNXD_CANCELLED);
    teardown(&f);
}

/* ---- memory -------------------------------------------------------------------------------- */

enum { WIDE = 65536, OUTSTANDING = 4 };

static struct {
    atomic_uint outstanding, completed, short_of_memory, others;
} tally;

/* Gives everything back at once. */
static void count(onnxd_request *request)
{
    if (request->status == NULL)
        atomic_fetch_add(&tally.completed, 1);
    else if (onnxd_status_code(request->status) == ONNXD_OUT_OF_MEMORY)
        atomic_fetch_add(&tally.short_of_memory, 1);
    else
        atomic_fetch_add(&tally.others, 1);
    onnxd_request_release(request);
    atomic_fetch_sub(&tally.outstanding, 1);
}

/* The inputs of four requests and the activations of one fit, those of two do not. Requests wait
 * for each other's runs; only what is held by a request that has run, while it is given back, is
 * not waited for. */
Test(lanes, all_end_where_memory_is_short)
{
    enum { REQUESTS = 400 };
    const onnxd_runtime_options options = {.host_memory_limit_bytes =
                                               OUTSTANDING * WIDE * 4 + WIDE * 4 * 4};
    const onnxd_scheduler_options scheduling = {.max_in_flight = 0};
    fixture f;
    onnxd_ep *ep;
    cr_assert_eq(support_open("cpu;cpu.threads=3", &ep, 1), 1);
    support_ok(onnxd_runtime_create(&ep, 1, onnxd_ops(), &options, &f.runtime));
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "N");
    onnx_node(&file, "Softsign", "x", "a");
    onnx_node(&file, "Softsign", "a", "b");
    onnx_node(&file, "Softsign", "b", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "N");
    f.model = support_load(f.runtime, &file, NULL);
    support_ok(onnxd_scheduler_create(f.runtime, &scheduling, &f.scheduler));
    collector_init(&f.done);
    for (int i = 0; i < REQUESTS; i++) {
        while (atomic_load(&tally.outstanding) == OUTSTANDING)
            sched_yield();
        atomic_fetch_add(&tally.outstanding, 1);
        onnxd_request *request = collector_request(&f.done, f.model, WIDE, 1);
        request->done = count;
        support_ok(onnxd_scheduler_submit(f.scheduler, request));
    }
    onnxd_scheduler_stop(f.scheduler, ONNXD_NO_DEADLINE);
    cr_expect_eq(atomic_load(&tally.completed) + atomic_load(&tally.short_of_memory), REQUESTS);
    cr_expect_geq(atomic_load(&tally.completed), 1);
    fixture_teardown(&f);
}

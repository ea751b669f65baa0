/* The team of threads: every index once, workers told apart, its life. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ep/cpu/compute/team.h"

#define MOST_THREADS 9
#define MOST_COUNT 1000

/* The test is linked with --wrap=pthread_create: the nth next thread is refused. */
static atomic_int refused;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (atomic_load(&refused) > 0 && atomic_fetch_sub(&refused, 1) == 1)
        return EAGAIN;
    return __real_pthread_create(thread, attributes, start, argument);
}

static onnxd_team *make(uint32_t threads)
{
    onnxd_team *team = NULL;
    onnxd_status *status = onnxd_team_create(threads, &team);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    cr_assert_eq(onnxd_team_threads(team), threads);
    return team;
}

/* Long enough for workers to have gone to sleep. */
static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- loops ----------------------------------------------------------------------------------- */

typedef struct loop {
    uint32_t threads;
    atomic_int is_busy[MOST_THREADS]; /* by worker */
    atomic_int clashes;               /* two with one number at a time, or a number too high */
    unsigned times[MOST_COUNT];       /* not atomic: an index is one worker's alone */
    unsigned rounds;
} loop;

static void step(void *context, size_t index, uint32_t worker)
{
    loop *l = context;
    if (worker >= l->threads) {
        atomic_fetch_add(&l->clashes, 1);
        return;
    }
    if (atomic_exchange(&l->is_busy[worker], 1) != 0)
        atomic_fetch_add(&l->clashes, 1);
    l->times[index]++;
    atomic_store(&l->is_busy[worker], 0);
}

/* The caller sees what the workers wrote. */
static void expect_once(loop *l, onnxd_team *team, size_t count)
{
    l->rounds++;
    for (size_t i = 0; i < count; i++)
        l->times[i] = 0;
    onnxd_team_run(team, count, step, l);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(l->times[i], 1, "%u threads, round %u: index %zu of %zu ran %u times",
                     l->threads, l->rounds, i, count, l->times[i]);
    cr_assert_eq(atomic_load(&l->clashes), 0, "%u threads, round %u: a worker's number", l->threads,
                 l->rounds);
}

Test(team, every_index_once)
{
    static const uint32_t threads[] = {1, 2, 3, 5, MOST_THREADS};
    static const size_t counts[] = {0, 1, 2, 3, 8, 64, MOST_COUNT};
    for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
        onnxd_team *team = make(threads[t]);
        loop l = {.threads = threads[t]};
        for (int round = 0; round < 30; round++)
            for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
                expect_once(&l, team, counts[c]);
        onnxd_team_destroy(team);
    }
}

/* Loops right after each other, without a pause in which late workers could settle. */
Test(team, short_loops_in_a_row)
{
    onnxd_team *team = make(4);
    loop l = {.threads = 4};
    for (int round = 0; round < 3000; round++)
        expect_once(&l, team, 2 + (size_t)round % 5);
    onnxd_team_destroy(team);
}

Test(team, wakes_up)
{
    onnxd_team *team = make(3);
    loop l = {.threads = 3};
    for (int round = 0; round < 20; round++) {
        pause_ms(round % 2 == 0 ? 3 : 0);
        expect_once(&l, team, 50);
    }
    pause_ms(3);
    onnxd_team_destroy(team);
}

/* ---- others take part ------------------------------------------------------------------------ */

typedef struct meeting {
    atomic_uint present;
    unsigned wanted;
    atomic_bool is_missed;
} meeting;

static void attend(void *context, size_t index, uint32_t worker)
{
    meeting *m = context;
    const int64_t start = onnxd_now_ns();
    (void)index;
    (void)worker;
    atomic_fetch_add(&m->present, 1);
    while (atomic_load(&m->present) < m->wanted && !atomic_load(&m->is_missed)) {
        if (onnxd_now_ns() - start > 60 * INT64_C(1000000000))
            atomic_store(&m->is_missed, true);
        sched_yield();
    }
}

/* A loop whose steps wait for each other ends only when all threads are in it, asleep before or
 * not. */
Test(team, all_threads_take_part)
{
    onnxd_team *team = make(4);
    for (int round = 0; round < 6; round++) {
        meeting m = {.wanted = 4};
        pause_ms(round % 2 == 0 ? 3 : 0);
        onnxd_team_run(team, 4, attend, &m);
        cr_assert_not(atomic_load(&m.is_missed), "round %d: %u of 4 came", round,
                      atomic_load(&m.present));
    }
    onnxd_team_destroy(team);
}

/* ---- several loops at a time ----------------------------------------------------------------- */

typedef struct nest {
    onnxd_team *team;
    atomic_uint inner[16];
} nest;

static void inner_step(void *context, size_t index, uint32_t worker)
{
    atomic_uint *times = context;
    (void)worker;
    atomic_fetch_add(times, 1u << (4 * index));
}

static void outer_step(void *context, size_t index, uint32_t worker)
{
    nest *n = context;
    (void)worker;
    onnxd_team_run(n->team, 5, inner_step, &n->inner[index]);
}

Test(team, a_loop_within_a_loop)
{
    nest n = {.team = make(3)};
    onnxd_team_run(n.team, 16, outer_step, &n);
    for (size_t i = 0; i < 16; i++)
        cr_assert_eq(atomic_load(&n.inner[i]), 0x11111, "the loop of index %zu: 0x%x", i,
                     atomic_load(&n.inner[i]));
    onnxd_team_destroy(n.team);
}

typedef struct caller {
    onnxd_team *team;
    loop own;
} caller;

static void *call(void *context)
{
    caller *c = context;
    for (int round = 0; round < 300; round++)
        expect_once(&c->own, c->team, 1 + (size_t)round % 40);
    return NULL;
}

/* Whoever finds no helper free works alone. */
Test(team, several_callers)
{
    enum { CALLERS = 4 };
    onnxd_team *team = make(3);
    static caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller){.team = team, .own = {.threads = 3}};
        cr_assert_eq(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(callers[i].own.rounds, 300);
    }
    onnxd_team_destroy(team);
}

/* ---- callers that share the threads ---------------------------------------------------------- */

/* Of two that have joined each has half of the threads. */
Test(team, two_callers_have_half_each)
{
    onnxd_team *team = make(4);
    onnxd_team_join(team);
    onnxd_team_join(team);
    loop l = {.threads = 2};
    for (int round = 0; round < 200; round++)
        expect_once(&l, team, 20);
    meeting m = {.wanted = 2};
    onnxd_team_run(team, 2, attend, &m);
    cr_expect_not(atomic_load(&m.is_missed));
    onnxd_team_leave(team);
    meeting all = {.wanted = 4};
    onnxd_team_run(team, 4, attend, &all);
    cr_expect_not(atomic_load(&all.is_missed));
    onnxd_team_leave(team);
    onnxd_team_destroy(team);
}

/* More callers than threads: each works alone. */
Test(team, many_callers_work_alone)
{
    onnxd_team *team = make(3);
    for (int i = 0; i < 4; i++)
        onnxd_team_join(team);
    loop l = {.threads = 1};
    for (int round = 0; round < 50; round++)
        expect_once(&l, team, 20);
    for (int i = 0; i < 4; i++)
        onnxd_team_leave(team);
    onnxd_team_destroy(team);
}

/* What each of two workers begins with. */
enum { PIECES = 50, FIRST_OF_HELPER = PIECES / 2 };

static bool is_first(size_t index)
{
    return index == 0 || index == FIRST_OF_HELPER;
}

typedef struct joining {
    onnxd_team *team;
    meeting start;
    atomic_bool has_joined;
    atomic_uint by_helper; /* pieces that it began after the second caller had joined */
} joining;

static void join_meanwhile(void *context, size_t index, uint32_t worker)
{
    joining *j = context;
    if (!is_first(index)) {
        atomic_fetch_add(&j->by_helper, worker != 0);
        return;
    }
    attend(&j->start, index, worker);
    if (worker == 0) {
        onnxd_team_join(j->team);
        atomic_store(&j->has_joined, true);
    }
    while (!atomic_load(&j->has_joined) && !atomic_load(&j->start.is_missed))
        sched_yield();
}

/* A helper that has become one too many finishes its piece and takes no other. */
Test(team, a_helper_leaves_when_a_caller_joins)
{
    joining j = {.team = make(2), .start = {.wanted = 2}};
    onnxd_team_join(j.team);
    onnxd_team_run(j.team, PIECES, join_meanwhile, &j);
    cr_expect_not(atomic_load(&j.start.is_missed));
    cr_expect_eq(atomic_load(&j.by_helper), 0);
    onnxd_team_leave(j.team);
    onnxd_team_leave(j.team);
    onnxd_team_destroy(j.team);
}

typedef struct beginning {
    meeting start;
    atomic_size_t first[2];
} beginning;

static void begin(void *context, size_t index, uint32_t worker)
{
    beginning *b = context;
    size_t none = SIZE_MAX;
    atomic_compare_exchange_strong(&b->first[worker], &none, index);
    if (is_first(index))
        attend(&b->start, index, worker);
}

/* The same part of every loop, so that what one left in a cache the next one finds there. */
Test(team, each_worker_begins_with_its_own_part)
{
    onnxd_team *team = make(2);
    onnxd_team_join(team);
    for (int round = 0; round < 50; round++) {
        beginning b = {.start = {.wanted = 2}, .first = {SIZE_MAX, SIZE_MAX}};
        onnxd_team_run(team, PIECES, begin, &b);
        cr_assert_not(atomic_load(&b.start.is_missed));
        cr_assert_eq(atomic_load(&b.first[0]), 0);
        cr_assert_eq(atomic_load(&b.first[1]), FIRST_OF_HELPER);
    }
    onnxd_team_leave(team);
    onnxd_team_destroy(team);
}

/* Two at a time on a team of four, each with a helper of its own. */
static void *meet_often(void *context)
{
    onnxd_team *team = context;
    bool is_missed = false;
    onnxd_team_join(team);
    for (int round = 0; round < 50; round++) {
        meeting m = {.wanted = 2};
        onnxd_team_run(team, 2, attend, &m);
        is_missed |= atomic_load(&m.is_missed);
    }
    onnxd_team_leave(team);
    return is_missed ? context : NULL;
}

Test(team, two_callers_each_have_a_helper)
{
    onnxd_team *team = make(4);
    pthread_t threads[2];
    onnxd_team_join(team);
    onnxd_team_leave(team);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, meet_often, team), 0);
    for (size_t i = 0; i < 2; i++) {
        void *missed;
        pthread_join(threads[i], &missed);
        cr_expect_null(missed);
    }
    onnxd_team_destroy(team);
}

/* ---- life ------------------------------------------------------------------------------------ */

Test(team, begins_and_ends_often)
{
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t threads = 1 + i % 5;
        onnxd_team *team = make(threads);
        loop l = {.threads = threads};
        for (uint32_t round = 0; round < i % 3; round++)
            expect_once(&l, team, 10);
        onnxd_team_destroy(team);
    }
    onnxd_team_destroy(NULL);
}

static void expect_refused(onnxd_status *status, onnxd_code code, const onnxd_team *team)
{
    cr_assert_not_null(status);
    cr_expect_eq(onnxd_status_code(status), code, "%s", onnxd_status_message(status));
    cr_expect_null(team, "a failure touched its result");
    onnxd_status_free(status);
}

Test(team, memory_fails)
{
    const uint64_t live = onnxd_alloc_query().live_count;
    uint64_t n = 1;
    for (bool is_made = false; !is_made; n++) {
        onnxd_team *team = NULL;
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_team_create(4, &team);
        onnxd_alloc_fail_at(0, 0);
        is_made = status == NULL;
        if (!is_made)
            expect_refused(status, ONNXD_OUT_OF_MEMORY, team);
        onnxd_team_destroy(team);
        cr_assert_eq(onnxd_alloc_query().live_count, live, "allocation %lu of them", n);
        cr_assert_lt(n, 100);
    }
    cr_expect_geq(n, 5, "the team, its helpers, its loops, and who is called to them");
}

Test(team, threads_are_refused)
{
    const uint64_t live = onnxd_alloc_query().live_count;
    for (int n = 1; n <= 4; n++) {
        onnxd_team *team = NULL;
        atomic_store(&refused, n);
        onnxd_status *status = onnxd_team_create(4, &team);
        atomic_store(&refused, 0);
        if (n == 4)
            cr_assert_null(status);
        else
            expect_refused(status, ONNXD_RESOURCE_EXHAUSTED, team);
        onnxd_team_destroy(team);
        cr_assert_eq(onnxd_alloc_query().live_count, live, "thread %d of them", n);
    }
}

/* A run neither allocates nor leaves anything behind. */
Test(team, a_run_allocates_nothing)
{
    onnxd_team *team = make(3);
    loop l = {.threads = 3};
    expect_once(&l, team, 100);
    const uint64_t calls = onnxd_alloc_query().calls;
    expect_once(&l, team, 100);
    cr_expect_eq(onnxd_alloc_query().calls, calls);
    onnxd_team_destroy(team);
}

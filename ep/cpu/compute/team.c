#include "ep/cpu/compute/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"

/* About 20 us: longer than what a model does between two loops takes. */
#define SPINS 4000u
#define CACHE_LINE 64

/*
 * What a helper is at, one word that it sleeps on. CALLED comes with the number of the loop and of
 * the worker that it is to be in it, so that a call is one exchange, and so is taking it back.
 */
#define IDLE 0u
#define BUSY 1u
#define ENDED 2u
#define CALLED 3u
#define STATE_BITS 2
#define LOOP_BITS 15

/* What of a loop one worker begins with. */
typedef struct portion {
    _Alignas(CACHE_LINE) atomic_size_t next;
    size_t end;
} portion;

/* A loop in hand. The team owns it, so that a helper that leaves late touches nothing that has
 * gone. */
typedef struct loop {
    _Alignas(CACHE_LINE) atomic_bool is_used;
    onnxd_team_task task;
    void *context;
    uint32_t portion_count;
    portion *portions;                       /* [threads]; the first portion_count of this loop */
    _Alignas(CACHE_LINE) atomic_uint inside; /* helpers that were called and have not left */
    atomic_bool is_awaited;                  /* the caller sleeps on `inside` */
    uint32_t *called; /* [threads]; of the caller: the helper that is worker i */
} loop;

typedef struct helper {
    _Alignas(CACHE_LINE) atomic_uint state;
    atomic_bool is_asleep;
    onnxd_team *team;
    pthread_t thread;
} helper;

struct onnxd_team {
    uint32_t threads;    /* the caller's and the helpers' */
    uint32_t started;    /* helpers */
    helper *helpers;     /* [threads - 1] */
    loop *loops;         /* [threads]: no more callers than that have helpers at a time */
    uint32_t *called;    /* of all loops */
    portion *portions;   /* of all loops */
    atomic_uint callers; /* that have joined */
};

/* ---- waiting --------------------------------------------------------------------------------- */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void futex_wait(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Whether a loop has a worker of this number while so many callers share the threads. */
static bool has_worker(const onnxd_team *team, uint32_t worker)
{
    return worker < onnxd_team_width(team);
}

/* CALLED or ENDED; a call may be taken back at once. */
static unsigned await_call(helper *h)
{
    unsigned state;
    /* While nobody has helpers, one that looks out for a call is in another's way. */
    for (unsigned spin = 0; spin < SPINS && has_worker(h->team, 1); spin++) {
        state = atomic_load_explicit(&h->state, memory_order_relaxed);
        if (state != IDLE)
            return state;
        relax();
    }
    /* Sequentially consistent with call(): either it sees the sleeper, or is seen itself. */
    atomic_store(&h->is_asleep, true);
    while ((state = atomic_load(&h->state)) == IDLE)
        futex_wait(&h->state, IDLE);
    atomic_store_explicit(&h->is_asleep, false, memory_order_relaxed);
    return state;
}

/* The caller has done its part; returns when every helper has left. */
static void await_helpers(loop *l)
{
    for (unsigned spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(&l->inside, memory_order_acquire) == 0)
            return;
        relax();
    }
    unsigned inside;
    atomic_store(&l->is_awaited, true);
    while ((inside = atomic_load(&l->inside)) != 0)
        futex_wait(&l->inside, inside);
    atomic_store_explicit(&l->is_awaited, false, memory_order_relaxed);
}

/* ---- a loop ---------------------------------------------------------------------------------- */

/* Of the worker's own portion, then of others'. What one loop wrote the next one reads, piece for
 * piece: it is likely still in the caches of this thread's processor. */
static bool take_piece(loop *l, uint32_t worker, size_t *out_index)
{
    for (uint32_t i = 0; i < l->portion_count; i++) {
        const uint32_t of = worker + i;
        portion *p = &l->portions[of < l->portion_count ? of : of - l->portion_count];
        if (atomic_load_explicit(&p->next, memory_order_relaxed) >= p->end)
            continue;
        *out_index = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (*out_index < p->end)
            return true;
    }
    return false;
}

static void deal_out(loop *l, size_t count, uint32_t workers)
{
    const size_t each = count / workers, more = count % workers;
    size_t next = 0;
    l->portion_count = workers;
    for (uint32_t i = 0; i < workers; i++) {
        atomic_store_explicit(&l->portions[i].next, next, memory_order_relaxed);
        next += each + (i < more);
        l->portions[i].end = next;
    }
}

static void help(const onnxd_team *team, loop *l, uint32_t worker)
{
    size_t index;
    while (has_worker(team, worker) && take_piece(l, worker, &index))
        l->task(l->context, index, worker);
}

/* The helper is free for the next loop before this one's caller goes on to it. */
static void leave_loop(helper *h, loop *l)
{
    atomic_store_explicit(&h->state, IDLE, memory_order_release);
    if (atomic_fetch_sub(&l->inside, 1) == 1 && atomic_load(&l->is_awaited))
        futex_wake(&l->inside);
}

static void *work(void *argument)
{
    helper *h = argument;
    for (;;) {
        const unsigned state = await_call(h);
        unsigned expected = state;
        if (state == ENDED)
            return NULL;
        if (!atomic_compare_exchange_strong(&h->state, &expected, BUSY))
            continue;
        loop *l = &h->team->loops[state >> STATE_BITS & ((1u << LOOP_BITS) - 1)];
        help(h->team, l, state >> (STATE_BITS + LOOP_BITS));
        leave_loop(h, l);
    }
}

static unsigned call_of(const onnxd_team *team, const loop *l, uint32_t worker)
{
    const unsigned number = (unsigned)(l - team->loops);
    return CALLED | number << STATE_BITS | worker << (STATE_BITS + LOOP_BITS);
}

static bool change(helper *h, unsigned from, unsigned to)
{
    return atomic_load_explicit(&h->state, memory_order_relaxed) == from &&
           atomic_compare_exchange_strong(&h->state, &from, to);
}

/* Notes in called[] which helper is which worker. Returns the number of workers, the caller
 * included. */
static uint32_t call_helpers(onnxd_team *team, loop *l)
{
    uint32_t worker = 1;
    for (uint32_t i = 0; i < team->started && worker < l->portion_count && has_worker(team, worker);
         i++) {
        helper *h = &team->helpers[i];
        /* It may leave before this line is over, so it is counted first. */
        atomic_fetch_add_explicit(&l->inside, 1, memory_order_relaxed);
        if (!change(h, IDLE, call_of(team, l, worker))) {
            atomic_fetch_sub_explicit(&l->inside, 1, memory_order_relaxed);
            continue;
        }
        if (atomic_load(&h->is_asleep))
            futex_wake(&h->state);
        l->called[worker++] = i;
    }
    return worker;
}

/* Those that have not begun need not. */
static void call_off(onnxd_team *team, loop *l, uint32_t workers)
{
    for (uint32_t worker = 1; worker < workers; worker++)
        if (change(&team->helpers[l->called[worker]], call_of(team, l, worker), IDLE))
            atomic_fetch_sub_explicit(&l->inside, 1, memory_order_relaxed);
}

/* NULL when as many callers as there are threads have one. */
static loop *acquire_loop(onnxd_team *team)
{
    for (uint32_t i = 0; i < team->threads; i++) {
        atomic_bool *is_used = &team->loops[i].is_used;
        if (!atomic_load_explicit(is_used, memory_order_relaxed) &&
            !atomic_exchange_explicit(is_used, true, memory_order_acquire))
            return &team->loops[i];
    }
    return NULL;
}

static void run_alone(size_t count, onnxd_team_task task, void *context)
{
    for (size_t i = 0; i < count; i++)
        task(context, i, 0);
}

void onnxd_team_run(onnxd_team *team, size_t count, onnxd_team_task task, void *context)
{
    loop *l = count > 1 && has_worker(team, 1) ? acquire_loop(team) : NULL;
    if (l == NULL) {
        run_alone(count, task, context);
        return;
    }
    l->task = task;
    l->context = context;
    const uint32_t width = onnxd_team_width(team);
    deal_out(l, count, count < width ? (uint32_t)count : width);
    const uint32_t workers = call_helpers(team, l);
    size_t index;
    while (take_piece(l, 0, &index))
        task(context, index, 0);
    call_off(team, l, workers);
    await_helpers(l);
    atomic_store_explicit(&l->is_used, false, memory_order_release);
}

void onnxd_team_join(onnxd_team *team)
{
    atomic_fetch_add_explicit(&team->callers, 1, memory_order_relaxed);
}

void onnxd_team_leave(onnxd_team *team)
{
    atomic_fetch_sub_explicit(&team->callers, 1, memory_order_relaxed);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Signals are for the thread that asks for them, never for a helper. */
static int start_thread(helper *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&h->thread, NULL, work, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        pthread_setname_np(h->thread, "onnxd-team");
    return code;
}

static onnxd_status *start_helper(onnxd_team *team)
{
    helper *h = &team->helpers[team->started];
    h->team = team;
    const int code = start_thread(h);
    if (code != 0)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "thread %u of %u of the CPU provider: %s",
                           team->started + 1, team->threads, strerror(code));
    team->started++;
    return NULL;
}

static void *alloc_lines(size_t count, size_t bytes)
{
    /* Some thousand times some hundred bytes at most. */
    void *lines = onnxd_alloc_aligned(count * bytes, CACHE_LINE);
    if (lines != NULL)
        memset(lines, 0, count * bytes);
    return lines;
}

static bool alloc_parts(onnxd_team *team)
{
    team->helpers = alloc_lines(team->threads, sizeof(team->helpers[0]));
    team->loops = alloc_lines(team->threads, sizeof(team->loops[0]));
    team->called = onnxd_alloc_zero((size_t)team->threads * team->threads, sizeof(team->called[0]));
    team->portions = onnxd_alloc_aligned(
        (size_t)team->threads * team->threads * sizeof(team->portions[0]), CACHE_LINE);
    if (team->helpers == NULL || team->loops == NULL || team->called == NULL ||
        team->portions == NULL)
        return false;
    for (uint32_t i = 0; i < team->threads; i++) {
        team->loops[i].called = team->called + (size_t)i * team->threads;
        team->loops[i].portions = team->portions + (size_t)i * team->threads;
    }
    return true;
}

onnxd_status *onnxd_team_create(uint32_t threads, onnxd_team **out_team)
{
    onnxd_team *team = onnxd_alloc_zero(1, sizeof(*team));
    if (team == NULL)
        return onnxd_error_out_of_memory("a team of threads", sizeof(*team), UINT64_MAX);
    team->threads = threads;
    onnxd_status *status = NULL;
    if (!alloc_parts(team))
        status = onnxd_error_out_of_memory("a team of threads",
                                           threads * (sizeof(helper) + sizeof(loop)), UINT64_MAX);
    while (status == NULL && team->started + 1 < threads)
        status = start_helper(team);
    if (status != NULL) {
        onnxd_team_destroy(team);
        return status;
    }
    *out_team = team;
    return NULL;
}

void onnxd_team_destroy(onnxd_team *team)
{
    if (team == NULL)
        return;
    for (uint32_t i = 0; i < team->started; i++) {
        atomic_store(&team->helpers[i].state, ENDED);
        futex_wake(&team->helpers[i].state);
    }
    for (uint32_t i = 0; i < team->started; i++)
        pthread_join(team->helpers[i].thread, NULL);
    onnxd_free(team->portions);
    onnxd_free(team->called);
    onnxd_free(team->loops);
    onnxd_free(team->helpers);
    onnxd_free(team);
}

uint32_t onnxd_team_threads(const onnxd_team *team)
{
    return team->threads;
}

uint32_t onnxd_team_width(const onnxd_team *team)
{
    const uint32_t callers = atomic_load_explicit(&team->callers, memory_order_relaxed);
    const uint32_t share = callers < 2 ? team->threads : team->threads / callers;
    return share < 1 ? 1 : share;
}

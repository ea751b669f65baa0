#include "ep/cpu/compute/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
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

/*
 * The gate of the loop in hand, one word that workers sleep on: how many are inside, whether it is
 * open, whether the team has ended, and the number of the loop. Who finds the gate closed has come
 * too late and is not waited for.
 */
#define INSIDE 0x7ffu
#define OPEN 0x800u
#define ENDED 0x1000u
#define NEXT_LOOP 0x2000u
#define LOOP_NUMBER (~(NEXT_LOOP - 1))

struct onnxd_team {
    uint32_t threads; /* the caller's and those that were started */
    uint32_t started;
    pthread_t *workers;    /* [started] */
    pthread_mutex_t mutex; /* held by the one caller that has the team */
    /* The loop: written while the gate is closed and nobody is inside. */
    onnxd_team_task task;
    void *context;
    size_t count;
    atomic_size_t next;
    atomic_uint gate;
    atomic_uint sleepers;
};

typedef struct worker_start {
    onnxd_team *team;
    uint32_t index;
} worker_start;

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

static void futex_wake_all(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Something to do at this gate for somebody who was in the loop numbered `seen`. */
static bool calls(unsigned gate, unsigned seen)
{
    return (gate & ENDED) != 0 || ((gate & OPEN) != 0 && (gate & LOOP_NUMBER) != seen);
}

static unsigned await_call(onnxd_team *team, unsigned seen)
{
    unsigned gate;
    for (unsigned spin = 0; spin < SPINS; spin++) {
        gate = atomic_load_explicit(&team->gate, memory_order_acquire);
        if (calls(gate, seen))
            return gate;
        relax();
    }
    atomic_fetch_add(&team->sleepers, 1);
    while (!calls(gate = atomic_load(&team->gate), seen))
        futex_wait(&team->gate, gate);
    atomic_fetch_sub(&team->sleepers, 1);
    return gate;
}

/* ---- a loop ---------------------------------------------------------------------------------- */

static void take_part(onnxd_team *team, uint32_t worker)
{
    size_t index;
    while ((index = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed)) < team->count)
        team->task(team->context, index, worker);
}

static void *work(void *argument)
{
    const worker_start start = *(worker_start *)argument;
    onnxd_team *team = start.team;
    unsigned seen = 0;
    onnxd_free(argument);
    for (;;) {
        unsigned gate = await_call(team, seen);
        if ((gate & ENDED) != 0)
            return NULL;
        if (!atomic_compare_exchange_weak(&team->gate, &gate, gate + 1))
            continue;
        seen = gate & LOOP_NUMBER;
        take_part(team, start.index);
        atomic_fetch_sub_explicit(&team->gate, 1, memory_order_release);
    }
}

static void run_alone(size_t count, onnxd_team_task task, void *context)
{
    for (size_t i = 0; i < count; i++)
        task(context, i, 0);
}

/* Nobody comes in any more; returns when those inside have left. */
static void close_gate(onnxd_team *team)
{
    unsigned gate = atomic_fetch_and(&team->gate, ~OPEN);
    for (unsigned spin = 0; (gate & INSIDE) != 0; spin++) {
        if (spin < SPINS)
            relax();
        else
            sched_yield();
        gate = atomic_load_explicit(&team->gate, memory_order_acquire);
    }
}

void onnxd_team_run(onnxd_team *team, size_t count, onnxd_team_task task, void *context)
{
    if (count <= 1 || team->threads == 1 || pthread_mutex_trylock(&team->mutex) != 0) {
        run_alone(count, task, context);
        return;
    }
    team->task = task;
    team->context = context;
    team->count = count;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    const unsigned loop = atomic_load_explicit(&team->gate, memory_order_relaxed) + NEXT_LOOP;
    atomic_store(&team->gate, (loop & LOOP_NUMBER) | OPEN);
    if (atomic_load(&team->sleepers) > 0)
        futex_wake_all(&team->gate);
    take_part(team, 0);
    close_gate(team);
    pthread_mutex_unlock(&team->mutex);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Signals are for the thread that asks for them, never for a worker. */
static int start_thread(pthread_t *thread, worker_start *start)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(thread, NULL, work, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        pthread_setname_np(*thread, "onnxd-team");
    return code;
}

static onnxd_status *start_worker(onnxd_team *team)
{
    worker_start *start = onnxd_alloc(sizeof(*start));
    if (start == NULL)
        return onnxd_error_out_of_memory("a thread", sizeof(*start), UINT64_MAX);
    *start = (worker_start){team, team->started + 1};
    const int code = start_thread(&team->workers[team->started], start);
    if (code != 0) {
        onnxd_free(start);
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "thread %u of %u of the CPU provider: %s",
                           team->started + 1, team->threads, strerror(code));
    }
    team->started++;
    return NULL;
}

onnxd_status *onnxd_team_create(uint32_t threads, onnxd_team **out_team)
{
    onnxd_team *team = onnxd_alloc_zero(1, sizeof(*team));
    if (team == NULL)
        return onnxd_error_out_of_memory("a team of threads", sizeof(*team), UINT64_MAX);
    pthread_mutex_init(&team->mutex, NULL);
    team->threads = threads;
    team->workers = onnxd_alloc_zero(threads, sizeof(team->workers[0]));
    onnxd_status *status = NULL;
    if (team->workers == NULL)
        status =
            onnxd_error_out_of_memory("a team of threads", threads * sizeof(pthread_t), UINT64_MAX);
    while (status == NULL && team->started + 1 < threads)
        status = start_worker(team);
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
    atomic_fetch_or(&team->gate, ENDED);
    futex_wake_all(&team->gate);
    for (uint32_t i = 0; i < team->started; i++)
        pthread_join(team->workers[i], NULL);
    pthread_mutex_destroy(&team->mutex);
    onnxd_free(team->workers);
    onnxd_free(team);
}

uint32_t onnxd_team_threads(const onnxd_team *team)
{
    return team->threads;
}

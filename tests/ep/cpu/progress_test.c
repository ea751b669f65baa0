/* Points that are passed when all that began before has ended, whatever begins later. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "ep/cpu/progress.h"

Test(progress, passed_at_once_when_nothing_runs)
{
    onnxd_cpu_progress progress = {0};
    for (int i = 0; i < 5; i++) {
        const uint64_t point = onnxd_cpu_progress_point(&progress);
        cr_expect_geq(onnxd_cpu_progress_passed(&progress), point);
    }
}

Test(progress, those_that_end_do_not_stand_for_the_one_that_runs)
{
    onnxd_cpu_progress progress = {0};
    const uint64_t first = onnxd_cpu_progress_begin(&progress);
    const uint64_t point = onnxd_cpu_progress_point(&progress);
    for (int i = 0; i < 10; i++) {
        onnxd_cpu_progress_end(&progress, onnxd_cpu_progress_begin(&progress));
        cr_expect_lt(onnxd_cpu_progress_passed(&progress), point);
    }
    onnxd_cpu_progress_end(&progress, first);
    cr_expect_geq(onnxd_cpu_progress_passed(&progress), point);
}

Test(progress, those_that_begin_later_hold_nothing_up)
{
    onnxd_cpu_progress progress = {0};
    const uint64_t first = onnxd_cpu_progress_begin(&progress);
    const uint64_t point = onnxd_cpu_progress_point(&progress);
    /* The epochs go on as far as the first lets them. */
    cr_expect_lt(onnxd_cpu_progress_passed(&progress), point);
    const uint64_t later = onnxd_cpu_progress_begin(&progress);
    onnxd_cpu_progress_end(&progress, first);
    cr_expect_geq(onnxd_cpu_progress_passed(&progress), point);
    const uint64_t second_point = onnxd_cpu_progress_point(&progress);
    cr_expect_lt(onnxd_cpu_progress_passed(&progress), second_point);
    onnxd_cpu_progress_end(&progress, later);
    cr_expect_geq(onnxd_cpu_progress_passed(&progress), second_point);
}

/* ---- several threads ------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 20000 };

typedef struct shared {
    onnxd_cpu_progress progress;
    /* What a thread uses between its beginning and its end. NULL: taken away. */
    _Atomic(int *) in_use;
    atomic_bool is_over;
} shared;

static void *use(void *argument)
{
    shared *s = argument;
    int wrong = 0;
    while (!atomic_load(&s->is_over)) {
        const uint64_t epoch = onnxd_cpu_progress_begin(&s->progress);
        const int *value = atomic_load(&s->in_use);
        wrong += *value != 1;
        onnxd_cpu_progress_end(&s->progress, epoch);
    }
    return wrong == 0 ? NULL : argument;
}

/* What is replaced is spoiled, but not before the last that can have found it has ended. */
Test(progress, nothing_in_use_is_taken_away)
{
    static shared s;
    static int values[2] = {1, 1};
    pthread_t threads[THREADS];
    atomic_store(&s.in_use, &values[0]);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, use, &s), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        values[round % 2] = 1;
        atomic_store(&s.in_use, &values[round % 2]);
        const uint64_t point = onnxd_cpu_progress_point(&s.progress);
        while (onnxd_cpu_progress_passed(&s.progress) < point)
            sched_yield();
        values[(round + 1) % 2] = 0;
    }
    atomic_store(&s.is_over, true);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_expect_null(failed);
    }
}

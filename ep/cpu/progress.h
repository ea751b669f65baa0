/*
 * The compute stream's progress, where kernels run on several threads at a time: which kernels have
 * begun before a point, and whether all of those have ended.
 *
 *   epoch e:    kernels that begin count themselves in running[e % 2]
 *   e -> e + 1: when none that began in epoch e - 1 runs any more
 *
 * A point is the epoch of the moment. It is passed two epochs later: everything that began up to
 * then has ended, and nothing that began later was waited for. Beginning and ending cost an atomic
 * operation each; looking makes the epochs go on.
 *
 * Threads: any.
 */
#ifndef ONNXD_EP_CPU_PROGRESS_H
#define ONNXD_EP_CPU_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct onnxd_cpu_progress {
    _Atomic uint64_t epoch;
    _Atomic uint64_t running[2];
} onnxd_cpu_progress;

/* Returns what end() wants to know. */
static inline uint64_t onnxd_cpu_progress_begin(onnxd_cpu_progress *progress)
{
    for (;;) {
        const uint64_t epoch = atomic_load(&progress->epoch);
        atomic_fetch_add(&progress->running[epoch % 2], 1);
        /* Sequentially consistent with passed(): it counts this one, or this one sees the epoch
         * that it went on to. */
        if (atomic_load(&progress->epoch) == epoch)
            return epoch;
        atomic_fetch_sub(&progress->running[epoch % 2], 1);
    }
}

static inline void onnxd_cpu_progress_end(onnxd_cpu_progress *progress, uint64_t epoch)
{
    atomic_fetch_sub_explicit(&progress->running[epoch % 2], 1, memory_order_release);
}

/* A point that is passed when all that has begun so far has ended. */
static inline uint64_t onnxd_cpu_progress_point(onnxd_cpu_progress *progress)
{
    return atomic_load(&progress->epoch) + 2;
}

/* The points up to the result are passed. */
static inline uint64_t onnxd_cpu_progress_passed(onnxd_cpu_progress *progress)
{
    for (int step = 0; step < 2; step++) {
        uint64_t epoch = atomic_load(&progress->epoch);
        if (atomic_load(&progress->running[(epoch + 1) % 2]) != 0)
            break;
        /* Another may have been faster. */
        atomic_compare_exchange_strong(&progress->epoch, &epoch, epoch + 1);
    }
    return atomic_load(&progress->epoch);
}

#endif

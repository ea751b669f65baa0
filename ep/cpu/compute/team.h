/*
 * A team of threads that share the loops of kernels.
 *
 *   onnxd_team_run(team, 12, task, context):  task(context, 0, w) ... task(context, 11, w)
 *
 * The caller is worker 0 and works along. Each worker begins with a part of the indices, the same
 * in every loop, one index at a time, and then takes what is left of the others' parts: a thread
 * finds in its caches what it wrote there in the loop before, and one which the system has taken
 * off its CPU holds up one piece of work at most. Between loops the helpers spin for some
 * microseconds and then sleep: a model's steps follow each other closely, an idle server costs
 * nothing.
 *
 * Callers that run loops at the same time, each for a request of its own, share the threads: while
 * `n` have joined, a loop has threads / n of them, its caller included. Helpers that are more than
 * that, since somebody joined, leave a loop after the piece in hand; until then the team runs that
 * many threads more. Results must not tell how many there are.
 *
 * Threads: run, join and leave from any thread. A caller that finds no helper free works alone.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_TEAM_H
#define ONNXD_EP_CPU_COMPUTE_TEAM_H

#include <stddef.h>

#include "base/status.h"

typedef struct onnxd_team onnxd_team;
/* `worker` is in [0, threads) and tells apart those that run at the same time for one loop. */
typedef void (*onnxd_team_task)(void *context, size_t index, uint32_t worker);

/* `threads` >= 1, the caller's included. Errors: OUT_OF_MEMORY, RESOURCE_EXHAUSTED when the system
 * gives no more threads. */
ONNXD_NODISCARD onnxd_status *onnxd_team_create(uint32_t threads, onnxd_team **out_team);
/* Nobody may run on it. NULL is fine. */
void onnxd_team_destroy(onnxd_team *team);
uint32_t onnxd_team_threads(const onnxd_team *team);
/* Threads that a loop would have at this moment, its caller included: how many pieces are worth
 * making. */
uint32_t onnxd_team_width(const onnxd_team *team);

/* One more, or one less, of the callers that share the threads. Who runs a loop without having
 * joined is not counted. */
void onnxd_team_join(onnxd_team *team);
void onnxd_team_leave(onnxd_team *team);

/* Returns when task has returned for every index below `count`. Neither allocates nor fails. */
void onnxd_team_run(onnxd_team *team, size_t count, onnxd_team_task task, void *context);

#endif

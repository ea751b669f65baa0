/*
 * Worker threads: named, with 8 MiB of stack (loading and shape inference recurse, within limits)
 * and every signal blocked but those a thread raises itself, so that the process's signals reach
 * the event loop.
 */
#ifndef ONNXD_MODEL_WORKER_H
#define ONNXD_MODEL_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct onnxd_worker {
    pthread_t thread;
    bool is_started;
} onnxd_worker;

/* Runs main(argument) on a thread called `name` (15 characters at most).
 * Errors: RESOURCE_EXHAUSTED with the system's reason. */
ONNXD_NODISCARD onnxd_status *onnxd_worker_start(onnxd_worker *worker, const char *name,
                                                 void *(*main)(void *argument), void *argument);
/* Waits for its end; nothing when it was not started. */
void onnxd_worker_join(onnxd_worker *worker);

#endif

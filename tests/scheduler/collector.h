/* Where finished requests end in tests: in order of arrival. */
#ifndef ONNXD_TESTS_SCHEDULER_COLLECTOR_H
#define ONNXD_TESTS_SCHEDULER_COLLECTOR_H

#include <pthread.h>

#include "scheduler/scheduler.h"

#define COLLECTOR_MAX 4096

typedef struct collector {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    onnxd_request *requests[COLLECTOR_MAX];
    size_t count;
} collector;

void collector_init(collector *c);
/* Every request has been taken. */
void collector_deinit(collector *c);
/* Waits until `count` have arrived since the last collector_clear(); fails the test after 60 s. */
void collector_wait(collector *c, size_t count);
/* Releases what has arrived. */
void collector_clear(collector *c);
/* A request for a model of one float input of `elements`, all of them `value`, ending in `c`. */
onnxd_request *collector_request(collector *c, onnxd_model *model, int64_t elements, float value);
/* The first element of the first output. */
float collector_result(const onnxd_request *request);

#endif

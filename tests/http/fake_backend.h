/*
 * A stand-in for model/ and scheduler/: models that answer with their inputs, and a scheduler that
 * does what a test tells it. It is linked in place of the real ones, so that the HTTP server can be
 * tested without graphs, providers and threads.
 *
 * Models: "echo_<datatype in lower case>" (input x, output y, any shape) for every type of the
 * protocol; "pair" (inputs a FP32 [-1,3] and b INT32 [2], outputs a_out and b_out); "fixed" (x FP32
 * [2,2]); "loading" and "broken" are known but not ready. All have versions 1 and 3.
 */
#ifndef ONNXD_TESTS_HTTP_FAKE_BACKEND_H
#define ONNXD_TESTS_HTTP_FAKE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "model/request.h"

#define FAKE_MAX_TENSOR_BYTES (1u << 20)

typedef struct fake_backend {
    bool is_loading;        /* the store's first scan is not over */
    bool is_empty;          /* the store knows no version */
    bool is_broken;         /* no version of the store is ready */
    bool holds;             /* requests wait until fake_release_held() */
    bool is_full;           /* submit refuses */
    onnxd_code fails;       /* requests end with this error; ONNXD_OK: they succeed */
    uint32_t held_count;    /* requests waiting */
    uint32_t live_requests; /* made and not released */
    uint32_t live_models;   /* found and not released */
    uint32_t cancelled;     /* calls of cancel */
    uint32_t submitted;
    _Atomic uint64_t input_bytes; /* asked for by requests since the last reset */
    int64_t last_deadline_ns;
} fake_backend;

extern fake_backend fake;
void fake_reset(void);
/* Ends the requests that wait, in order; cancelled ones with CANCELLED. */
void fake_release_held(void);

#endif

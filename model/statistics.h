/*
 * What requests for one version of a model came to, since it was loaded: how many, and how long
 * their parts took, as Triton's statistics extension counts them.
 *
 * Threads: any. Counts are relaxed: two of one snapshot may be a request apart.
 */
#ifndef ONNXD_MODEL_STATISTICS_H
#define ONNXD_MODEL_STATISTICS_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum onnxd_statistic {
    ONNXD_STATISTIC_SUCCESS, /* from the whole request to the whole response */
    ONNXD_STATISTIC_FAIL,    /* to the error */
    /* Of requests that succeed: */
    ONNXD_STATISTIC_QUEUE,          /* submitted, but not begun */
    ONNXD_STATISTIC_COMPUTE_INPUT,  /* the request is decoded */
    ONNXD_STATISTIC_COMPUTE_INFER,  /* from the first stage to the end of the last */
    ONNXD_STATISTIC_COMPUTE_OUTPUT, /* the response is encoded */
    ONNXD_STATISTIC_COUNT
} onnxd_statistic;

typedef struct onnxd_statistics {
    struct {
        atomic_uint_least64_t count, ns;
    } of[ONNXD_STATISTIC_COUNT];
    atomic_uint_least64_t last_inference_ms; /* since the epoch, of a success; 0: none */
} onnxd_statistics;

/* Durations below 0 count as 0. */
static inline void onnxd_statistics_add(onnxd_statistics *statistics, onnxd_statistic which,
                                        int64_t ns)
{
    atomic_fetch_add_explicit(&statistics->of[which].count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&statistics->of[which].ns, ns < 0 ? 0 : (uint64_t)ns,
                              memory_order_relaxed);
}

#endif

/*
 * Requests that the scheduler serves, some at a time, as the daemon's loop would submit them.
 *
 * Threads: the main thread; requests end on the scheduler's.
 */
#ifndef ONNXD_DAEMON_BENCH_REQUESTS_H
#define ONNXD_DAEMON_BENCH_REQUESTS_H

#include "daemon/model_io.h"

typedef struct onnxd_bench_requests onnxd_bench_requests;

/* The session and the inputs are borrowed. `concurrency`: requests in flight at a time, at least 1.
 * Errors: OUT_OF_MEMORY, those of onnxd_scheduler_create(). */
ONNXD_NODISCARD onnxd_status *onnxd_bench_requests_create(const onnxd_config *config,
                                                          const onnxd_session *session,
                                                          const onnxd_tensor_list *inputs,
                                                          uint32_t concurrency,
                                                          onnxd_bench_requests **out_requests);
/* Serves `count` requests. latencies_ns[count], from submission to the end of the last stage; NULL:
 * not wanted. Errors: that of the first request that failed, when all have ended. */
ONNXD_NODISCARD onnxd_status *onnxd_bench_requests_run(onnxd_bench_requests *requests,
                                                       uint32_t count, int64_t *latencies_ns);
/* NULL is fine. */
void onnxd_bench_requests_destroy(onnxd_bench_requests *requests);

#endif

/* Time. Deadlines and durations are nanoseconds of CLOCK_MONOTONIC; wall time is for logs alone. */
#ifndef ONNXD_BASE_CLOCK_H
#define ONNXD_BASE_CLOCK_H

#include <stdint.h>

/* A deadline that never comes. */
#define ONNXD_NO_DEADLINE INT64_MAX

int64_t onnxd_now_ns(void);

#endif

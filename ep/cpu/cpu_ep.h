/*
 * The CPU execution provider: oneDNN where it helps, the operators' portable kernels everywhere
 * else. Kernels run on the thread that enqueues them, of as many threads at a time as cpu.threads,
 * and share the instance's threads; copies run on a thread per direction.
 */
#ifndef ONNXD_EP_CPU_CPU_EP_H
#define ONNXD_EP_CPU_CPU_EP_H

#include "ep/ep.h"

/* Constant; named "cpu_ep". Each device index is an instance of its own with the same CPUs. */
const onnxd_ep_api *onnxd_cpu_ep_api(void);

/* The graph passes that every instance brings; constant, NULL-terminated. */
const onnxd_pass *const *onnxd_cpu_ep_passes(void);

/* CPUs that the process may run on, which is what the option cpu.threads at 0 stands for: its
 * affinity, and no more than its control groups' quotas (versions 1 and 2, the tightest on the way
 * up) round up to. At least 1. */
int onnxd_cpu_count_allowed(void);

/* What all threads of an instance together can do, measured: multiplications and additions of FLOAT
 * in registers, and bytes read of memory that no cache holds. */
typedef struct onnxd_cpu_peak {
    double flops_per_s, bytes_per_s;
} onnxd_cpu_peak;
/* Takes some tenths of a second. `ep` is an initialised instance of this provider on which nothing
 * runs. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_ep_measure_peak(onnxd_ep *ep, onnxd_cpu_peak *out_peak);

#endif

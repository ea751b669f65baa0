/*
 * The CPU execution provider: oneDNN where it helps, the operators' portable kernels everywhere
 * else. Kernels run on the thread that enqueues them; copies run on a thread per direction.
 */
#ifndef ONNXD_EP_CPU_CPU_EP_H
#define ONNXD_EP_CPU_CPU_EP_H

#include "ep/ep.h"

/* Constant; named "cpu_ep". Each device index is an instance of its own with the same CPUs. */
const onnxd_ep_api *onnxd_cpu_ep_api(void);

/* The graph passes that every instance brings; constant, NULL-terminated. */
const onnxd_pass *const *onnxd_cpu_ep_passes(void);

/* CPUs that the process may run on, which is what the option cpu.threads at 0 stands for: its
 * affinity, and no more than its control groups' quotas (version 2, the tightest on the way up)
 * round up to. At least 1. */
int onnxd_cpu_count_allowed(void);

#endif

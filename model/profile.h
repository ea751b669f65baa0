/*
 * Where a plan's time goes: how long each of its steps took, and what it had to do.
 *
 * Threads: one at a time, on which the steps run. For the command line and tests: waiting for every
 * step keeps an instance from overlapping them.
 */
#ifndef ONNXD_MODEL_PROFILE_H
#define ONNXD_MODEL_PROFILE_H

#include "model/run.h"

/* The plan's steps in the order they run in, and behind them one entry for its tail where it has
 * one. */
uint32_t onnxd_plan_profile_length(const onnxd_plan *plan);

typedef struct onnxd_step_facts {
    const onnxd_node *node;     /* of the model's graph after its passes; NULL: the tail */
    const char *ep;             /* label of the instance */
    const char *implementation; /* of the kernel */
    double flops; /* as the operator is defined, a fused multiply-add being two; 0: not known */
    double bytes; /* of all inputs and outputs */
} onnxd_step_facts;
/* For each entry; the texts live as long as the plan. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_plan_step_facts(const onnxd_plan *plan,
                                                    onnxd_step_facts *out_facts);

/* onnxd_run_once() that adds to step_ns[i] the nanoseconds of entry i, on instances with a memory
 * of their own from the issue of the kernel until its fence. Uploads and downloads are not counted.
 */
ONNXD_NODISCARD onnxd_status *onnxd_run_profiled(onnxd_plan *plan, const onnxd_tensor_view *inputs,
                                                 int64_t *step_ns, onnxd_run **out_run);

#endif

/*
 * A run: one execution of a plan. It holds the blocks of memory, the views with their addresses and
 * the fences. Runs are recycled by their plan, so a steady state allocates nothing.
 *
 *   acquire ─► take_memory ─► for each stage: issue (device thread) ─► fence
 *                                              retire (completion thread) ◄─┘
 *           ─► outputs ─► release
 *
 * Threads: one at a time; moves between threads with its request.
 */
#ifndef ONNXD_MODEL_RUN_H
#define ONNXD_MODEL_RUN_H

#include "model/interpreter.h"
#include "model/plan.h"

typedef struct onnxd_run onnxd_run;

/* Holds a reference to the plan. `inputs` are host views in signature order and stay valid until
 * the run is released. */
ONNXD_NODISCARD onnxd_status *onnxd_run_acquire(onnxd_plan *plan, const onnxd_tensor_view *inputs,
                                                onnxd_run **out_run);
/* Returns its blocks to their pools. No stage may be in flight. */
void onnxd_run_release(onnxd_run *run);

/* The host's memory, where an instance is asked for. */
#define ONNXD_RUN_HOST UINT32_MAX

/* Takes the memory of every space that the plan uses, all or none: a run that waits for memory
 * holds none, so runs never wait for each other in a circle. Once per run; issue does it when it
 * has not been done. Errors: OUT_OF_MEMORY, and in *out_ep whose memory is short: the index of an
 * instance in the runtime, or ONNXD_RUN_HOST. */
ONNXD_NODISCARD onnxd_status *onnxd_run_take_memory(onnxd_run *run, uint32_t *out_ep);
/* Issues uploads, kernels and downloads of a stage on its instance and returns the fence that
 * covers them; on a host-addressable instance the kernels have run when this returns. When
 * `control` (NULL: nothing) says so between kernels the rest is not issued: CANCELLED, and where
 * nodes are run one by one DEADLINE_EXCEEDED. When all fences of the instance are in use it waits
 * for one. After an error nothing of the stage is in flight.
 * Errors: OUT_OF_MEMORY (device or host), KERNEL_FAILED, RESOURCE_EXHAUSTED when no fence comes
 * free for a minute, those of copies. */
ONNXD_NODISCARD onnxd_status *onnxd_run_issue(onnxd_run *run, uint32_t stage,
                                              const onnxd_run_control *control,
                                              onnxd_fence *out_fence);
/* After the stage's fence was signalled: releases the fence and the blocks that no later stage
 * needs. Returns whether there was such a block. */
bool onnxd_run_retire(onnxd_run *run, uint32_t stage, onnxd_fence fence);
/* Host views of all outputs, valid after the last stage and until release. They may point into the
 * inputs or into the model's constants. */
const onnxd_tensor_view *onnxd_run_outputs(const onnxd_run *run);

/* Acquires, runs every stage on the calling thread and waits: for the command line and tests. */
ONNXD_NODISCARD onnxd_status *onnxd_run_once(onnxd_plan *plan, const onnxd_tensor_view *inputs,
                                             onnxd_run **out_run);

#endif

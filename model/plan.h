/*
 * A plan: a model prepared for one set of input shapes (and of those input values that decide
 * shapes). A flat list of stages, each on one instance:
 *
 *   stage: uploads ─► steps (kernel, input views, output views) ─► downloads
 *
 * Stages run one after another; a value that leaves its device is downloaded once and uploaded once
 * per destination. Activations of each memory space (the host, and each device that the host cannot
 * address) lie in one arena, laid out by lifetime. Kernels are made, constants placed and every
 * view checked against its arena when the plan is built, so running it looks nothing up.
 *
 * Threads: building may block and compile (not on the loop, not on a device thread). A built plan
 * is immutable and counted; who holds one holds its model too, and for longer.
 */
#ifndef ONNXD_MODEL_PLAN_H
#define ONNXD_MODEL_PLAN_H

#include "model/model.h"

typedef struct onnxd_plan onnxd_plan;

/* The cached plan for these inputs, or NULL. `inputs` are host views in signature order. Never
 * blocks for longer than a look-up. The caller holds a reference. */
onnxd_plan *onnxd_model_find_plan(onnxd_model *model, const onnxd_tensor_view *inputs);
/* Finds or builds it, and caches it. Errors name the node: INVALID_ARGUMENT for shapes the model
 * cannot take, OUT_OF_MEMORY, PAYLOAD_TOO_LARGE for a value beyond max_tensor_bytes. */
ONNXD_NODISCARD onnxd_status *
onnxd_model_prepare(onnxd_model *model, const onnxd_tensor_view *inputs, onnxd_plan **out_plan);
onnxd_plan *onnxd_plan_retain(onnxd_plan *plan);
/* Never blocks for a model with a reaper, as the store's have: the last release hands the plan
 * over, for its end frees device memory and kernels. NULL is fine. */
void onnxd_plan_release(onnxd_plan *plan);

uint32_t onnxd_plan_stage_count(const onnxd_plan *plan);
/* Index into the runtime's instances of the one that runs a stage. */
uint32_t onnxd_plan_stage_ep(const onnxd_plan *plan, uint32_t stage);
/* Types of the model's outputs under this plan. */
const onnxd_tensor_type *onnxd_plan_output_type(const onnxd_plan *plan, uint32_t output);
/* Names, implementations, arenas and offsets, for `inspect`. */
void onnxd_plan_describe(const onnxd_plan *plan, onnxd_strbuf *out);

#endif

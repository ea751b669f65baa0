/*
 * The interpreter: runs nodes one after another on the host, each with the shapes that its inputs
 * turn out to have. It takes what plans cannot be made for: operators whose output shapes follow
 * from data, sequences, optionals and maps, subgraphs, and everything that depends on them.
 *
 *   set inputs ─► run ─► get outputs ─► clear
 *
 * Tensors come from the runtime's host pool. Kernels are those of a host-addressable instance; a
 * node whose input types are those of its last run uses the same kernel again, and what it knew of
 * its outputs where no other value decides their types.
 *
 * Threads: one at a time; on a device thread of the instance, as its kernels demand.
 */
#ifndef ONNXD_MODEL_INTERPRETER_H
#define ONNXD_MODEL_INTERPRETER_H

#include <stdatomic.h>

#include "graph/datum.h"
#include "model/model.h"

/* When to stop early. */
typedef struct onnxd_run_control {
    const atomic_bool *cancelled; /* NULL: never */
    int64_t deadline_ns;          /* monotonic; ONNXD_NO_DEADLINE */
    int64_t *step_ns;             /* model/profile.h; NULL: nothing is measured */
} onnxd_run_control;

typedef struct onnxd_interpreter onnxd_interpreter;

/* For the nodes of `graph` that `selected` marks, NULL for all; both borrowed. `ep` is the host-
 * addressable instance whose kernels run. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_interpreter_create(const onnxd_graph *graph,
                                                       const bool *selected,
                                                       const onnxd_runtime *runtime, onnxd_ep *ep,
                                                       uint64_t max_tensor_bytes,
                                                       onnxd_interpreter **out_interpreter);
void onnxd_interpreter_destroy(onnxd_interpreter *interpreter); /* NULL is fine */

/* A value that the nodes read and none of them makes. Retained until clear. */
void onnxd_interpreter_set(onnxd_interpreter *interpreter, onnxd_value_id value,
                           onnxd_datum *datum);
/* The same for a host tensor that somebody else owns and keeps until clear. Errors: OUT_OF_MEMORY.
 */
ONNXD_NODISCARD onnxd_status *onnxd_interpreter_set_view(onnxd_interpreter *interpreter,
                                                         onnxd_value_id value,
                                                         const onnxd_tensor_view *view);
/* Errors name the node: those of inference and kernels, CANCELLED, DEADLINE_EXCEEDED,
 * PAYLOAD_TOO_LARGE beyond max_tensor_bytes, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_interpreter_run(onnxd_interpreter *interpreter,
                                                    const onnxd_run_control *control);
/* A value that is an output of the graph, borrowed; NULL when nothing made it. */
onnxd_datum *onnxd_interpreter_get(const onnxd_interpreter *interpreter, onnxd_value_id value);
/* Lets go of all values but constants. */
void onnxd_interpreter_clear(onnxd_interpreter *interpreter);

/* Whether every input and output of the model is a tensor, so that plans and the protocol can carry
 * it. */
bool onnxd_model_is_tensors_only(const onnxd_model *model);
/* Runs the whole model on the calling thread. Inputs in signature order, borrowed (NULL: an
 * optional that is absent); each output becomes a reference of the caller's. For the command line
 * and tests; the model is not in use elsewhere.
 * Errors: INVALID_ARGUMENT for an input of another kind or type, those of the interpreter. */
ONNXD_NODISCARD onnxd_status *onnxd_model_run_datums(onnxd_model *model, onnxd_datum *const *inputs,
                                                     onnxd_datum **outputs);

#endif

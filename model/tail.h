/*
 * The tail of a plan: the nodes whose shapes only running the model can tell, and all that depend
 * on them. They follow every other node and are one stage, which an interpreter runs on a host-
 * addressable instance.
 */
#ifndef ONNXD_MODEL_TAIL_H
#define ONNXD_MODEL_TAIL_H

#include "model/interpreter.h"
#include "model/plan_build.h"

/* The last stage, when some node is in the tail. Locates every value that the tail reads. Errors:
 * NO_EP_FOR_OP when the model has no host-addressable instance, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_builder_add_tail(onnxd_plan_builder *b);
/* Whether the tail makes the value. */
bool onnxd_builder_is_in_tail(const onnxd_plan_builder *b, onnxd_value_id value);

/* For runs of a plan that has a tail. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_tail_create(const onnxd_plan *plan,
                                                onnxd_interpreter **out_interpreter);
/* Runs the tail on the values at `views`, the run's, and puts the views of what it made for the
 * caller there. They last until the interpreter is cleared. */
ONNXD_NODISCARD onnxd_status *onnxd_tail_run(const onnxd_plan *plan, onnxd_interpreter *interpreter,
                                             onnxd_tensor_view *views,
                                             const onnxd_run_control *control);

#endif

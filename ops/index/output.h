/* Outputs of operators whose `run` finds out their shapes. */
#ifndef ONNXD_OPS_INDEX_OUTPUT_H
#define ONNXD_OPS_INDEX_OUTPUT_H

#include "graph/op.h"

/* Makes `tensor` output `index` of the node. Strings in it may borrow their bytes from the inputs:
 * the output gets bytes of its own. Consumes the caller's reference in any case.
 * Errors: those of env->allocate; OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_publish_output(onnxd_dynamic *dynamic, uint32_t index,
                                                   onnxd_tensor *tensor);

#endif

/*
 * Half types calculated in float: a kernel for float tensors run on widened copies, its results
 * rounded once.
 */
#ifndef ONNXD_OPS_CONTRIB_AS_FLOAT_H
#define ONNXD_OPS_CONTRIB_AS_FLOAT_H

#include "graph/op.h"

/* A float for each element of an input or output of a half type, 0 if there is none; SIZE_MAX
 * beyond size_t. For `workspace_bytes`. */
size_t onnxd_as_float_workspace_bytes(const onnxd_compute *compute);
/* Runs `kernel`, which gets no workspace, with FLOAT views in place of those of half types. At most
 * ONNXD_OP_MAX_FORMALS inputs and outputs. */
ONNXD_NODISCARD onnxd_status *
onnxd_as_float_compute(const onnxd_compute *compute,
                       onnxd_status *(*kernel)(const onnxd_compute *compute));

#endif

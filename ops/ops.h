/*
 * The operator library: every operator this build knows. One file ops/<file>.c and one line in
 * ops/ops.inc each; CMake reads the same table, so there is no third list.
 */
#ifndef ONNXD_OPS_OPS_H
#define ONNXD_OPS_OPS_H

#include "graph/op.h"

/* Constant and shared; any thread. */
const onnxd_op_registry *onnxd_ops(void);

#endif

/* Operators that make their own outputs (`run` in graph/op.h), called without an executor. */
#ifndef ONNXD_TESTS_OPS_RUN_ENV_H
#define ONNXD_TESTS_OPS_RUN_ENV_H

#include "graph/op.h"

/* The most bytes of a tensor that such a call makes. */
#define RUN_ENV_MAX_BYTES ((size_t)1 << 20)

/* Room for tensors of that many bytes; no subgraphs, and never cancelled. */
const onnxd_run_env *run_env(void);

/* Infers, then runs the node on tensors; `inputs` has NULL where one is absent. An output that
 * inference had not foreseen so fails the test. Each present output becomes a reference of the
 * caller's. Errors: those of the operator; UNIMPLEMENTED when it wants a subgraph run or an output
 * is no tensor. */
ONNXD_NODISCARD onnxd_status *
run_env_evaluate(const onnxd_node *node, const onnxd_tensor *const *inputs, onnxd_tensor **outputs);

#endif

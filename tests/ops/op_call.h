/*
 * One operator call as a node without a graph around it, made from its text and open to changes
 * before it is run.
 */
#ifndef ONNXD_TESTS_OPS_OP_CALL_H
#define ONNXD_TESTS_OPS_OP_CALL_H

#include "graph/graph.h"
#include "tests/ops/op_text.h"

#define OP_CALL_MAX 64                      /* inputs, outputs or attributes of a call */
#define OP_CALL_MAX_BYTES ((size_t)1 << 20) /* of an output */

typedef struct op_call {
    onnxd_graph *graph; /* its arena holds what the node borrows */
    onnxd_node node;    /* called "n" */
    onnxd_tensor_type types[OP_CALL_MAX], results[OP_CALL_MAX];
    /* Owned; a value is NULL where the input is absent or not known. */
    onnxd_tensor *values[OP_CALL_MAX], *attribute_tensors[OP_CALL_MAX], *outputs[OP_CALL_MAX];
    onnxd_value_id inputs[OP_CALL_MAX], output_ids[OP_CALL_MAX];
    onnxd_attribute attributes[OP_CALL_MAX];
} op_call;

void op_call_open(op_call *call, const op_text *text);
void op_call_close(op_call *call);

/* Resolves the node, then infers the types of its outputs, or computes them. Once a call. */
ONNXD_NODISCARD onnxd_status *op_call_infer(op_call *call);
ONNXD_NODISCARD onnxd_status *op_call_evaluate(op_call *call);

#endif

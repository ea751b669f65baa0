/*
 * Accepted calls of every operator (accepted_calls.inc), to be made wrong one change at a time. The
 * changes are derived from the operator table, so that an operator without a call fails a test and
 * one with a call meets all of them.
 */
#ifndef ONNXD_TESTS_OPS_HOSTILE_H
#define ONNXD_TESTS_OPS_HOSTILE_H

#include "graph/op.h"
#include "tests/ops/op_call.h"

/* Calls `visit` with each accepted call in the first and the last opset of every definition of its
 * operator that accepts it, and that definition. */
void hostile_for_each(void (*visit)(const op_text *call, const onnxd_op_def *def));

/* A definition that has no call; NULL after the last. `inout_at` starts at 0. Definitions that need
 * what has no text (subgraphs, sequences, maps) are not meant. */
const onnxd_op_def *hostile_next_without_call(size_t *inout_at);

/* Ends the call after running it. It must give a result, or an error of the caller's whose message
 * names the node and the operator. Returns the message, "" for a result; valid until the next call.
 */
const char *hostile_infer(op_call *call);
const char *hostile_evaluate(op_call *call);

/* Gives input `input` another shape, with the values that it has, repeated as often as needed. They
 * are unknown when the shape has more elements than a test should make, or unknown extents; the
 * call can then only be inferred. Returns whether it can be evaluated. */
bool hostile_set_shape(op_call *call, uint32_t input, const onnxd_shape *shape);

/* A pseudo-kind for values: what integers and floats a hostile peer would write into `dtype`. */
#define HOSTILE_VALUES 12
size_t hostile_value_count(onnxd_dtype dtype);
/* Writes value `which` of hostile_value_count() to element `index`. */
void hostile_store(onnxd_tensor *tensor, size_t index, size_t which);

#endif

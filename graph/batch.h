/*
 * Batches in parts: whether a node that computes a batch, a first dimension whose indices it keeps
 * apart, can compute it part by part, and with what types. The operator says which inputs hold a
 * batch (batch_inputs in graph/op.h); that the shapes go along with it is found by inferring them
 * once more from those of a part.
 *
 * Threads: any. Nothing is kept.
 */
#ifndef ONNXD_GRAPH_BATCH_H
#define ONNXD_GRAPH_BATCH_H

#include "graph/op.h"

/* Nodes with more inputs or outputs are not looked at. */
#define ONNXD_BATCH_MAX_VALUES 64

/* Whether the node's batch, of static types, can be computed in `parts` (at least 2) equal parts,
 * each from the same part of some inputs, bit i of *out_cut, and all of the others, in any order.
 * Every output is cut. `constants` as for onnxd_op_infer(); a value given there is not cut. */
bool onnxd_batch_is_divisible(const onnxd_node *node, const onnxd_tensor_type *inputs,
                              const onnxd_tensor *const *constants,
                              const onnxd_tensor_type *outputs, uint32_t parts, uint64_t *out_cut);
/* Whether a value of the type consists of `parts` equal parts, one behind another. */
bool onnxd_batch_has_parts(const onnxd_tensor_type *type, uint32_t parts);
/* The type of one of them. */
onnxd_tensor_type onnxd_batch_part(const onnxd_tensor_type *type, uint32_t parts);

#endif

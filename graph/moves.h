/* Nodes that only move elements, and shapes, for the passes that look for them. */
#ifndef ONNXD_GRAPH_MOVES_H
#define ONNXD_GRAPH_MOVES_H

#include "graph/graph.h"

/* Reshape, Flatten, Squeeze or Unsqueeze of ai.onnx. */
bool onnxd_node_is_reshape(const onnxd_node *node);
/* The axes of a Transpose whose input has the shape `input`; false where its rank is not known, or
 * the node is not as it should be. `perm` has room for ONNXD_MAX_RANK. */
bool onnxd_node_read_perm(const onnxd_node *node, const onnxd_shape *input, int64_t *perm,
                          int32_t *out_rank);
/* Whether two shapes are certainly the same: rank and every dimension known, be it by a symbol. */
bool onnxd_graph_same_shape(const onnxd_shape *a, const onnxd_shape *b);

#endif

/*
 * Taking out nodes that hand a value on. The names of graph outputs stay: where the output of such
 * a node is one, the producer of its input makes that output.
 *
 * Threads: as for the graph. Errors: OUT_OF_MEMORY.
 */
#ifndef ONNXD_GRAPH_BYPASS_H
#define ONNXD_GRAPH_BYPASS_H

#include "graph/graph.h"

/* Whether output 0 of the node, its only one that is present, is the same value as one of its
 * inputs, and which. */
typedef bool (*onnxd_bypass_test)(const void *context, const onnxd_node *node, uint32_t *out_input);

/* Asks about each node, and has those that read what it makes read its input instead. A node stays
 * where only its name tells an output from a graph input, a constant or another output. */
ONNXD_NODISCARD onnxd_status *onnxd_graph_bypass(onnxd_graph *graph, onnxd_bypass_test test,
                                                 const void *context, uint32_t *out_changes);

#endif

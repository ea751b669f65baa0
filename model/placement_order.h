/*
 * The order in which placement takes the nodes. A file may interleave branches that different
 * instances run, and partitions are intervals of the order: so a node is followed, as far as the
 * edges allow it, by one that the same instances can run.
 */
#ifndef ONNXD_MODEL_PLACEMENT_ORDER_H
#define ONNXD_MODEL_PLACEMENT_ORDER_H

#include "graph/graph.h"

/* The instances that can run a node, one bit each. */
typedef uint64_t onnxd_ep_set;
#define ONNXD_EP_SET_MAX 63
/* Of nodes that run nowhere: they stay with whatever comes before them. */
#define ONNXD_EP_SET_ANY UINT64_MAX

/* Writes a topological order: order[i] is the node that becomes number i. Deterministic; nodes keep
 * their order within a set as far as the edges allow it, and altogether when all sets are equal.
 * `sets` and `order` have node_count entries. The graph's nodes are in a topological order and have
 * no subgraphs. O(edges + nodes x (log nodes + sets)). Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_placement_order(const onnxd_graph *graph,
                                                    const onnxd_ep_set *sets, onnxd_node_id *order);
/* Renumbers the graph's nodes. Errors: OUT_OF_MEMORY; then the graph is as it was. */
ONNXD_NODISCARD onnxd_status *onnxd_placement_renumber(onnxd_graph *graph,
                                                       const onnxd_node_id *order);

#endif

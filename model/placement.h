/*
 * Placement: which instance runs which node. Claims first, then a cost model over all instances.
 *
 * Along the topological order a dynamic program picks the instance of every node so that the sum of
 * node costs, launch costs and transfers at changes of instance is least. Runs of equal choice are
 * the partitions: intervals of a topological order are convex, so no partition waits for itself
 * through another. O(nodes x instances^2), deterministic (ties go to the instance listed first).
 */
#ifndef ONNXD_MODEL_PLACEMENT_H
#define ONNXD_MODEL_PLACEMENT_H

#include "ep/ep.h"

typedef struct onnxd_placement_node {
    uint32_t ep;     /* index of the chosen instance */
    bool is_claimed; /* by claim_nodes, not by cost */
    onnxd_cost cost; /* on the chosen instance */
} onnxd_placement_node;

typedef struct onnxd_partition {
    uint32_t ep;
    uint32_t first_node, last_node; /* inclusive, in graph order */
} onnxd_partition;

typedef struct onnxd_placement {
    onnxd_placement_node *nodes; /* [graph->node_count] */
    onnxd_partition *partitions;
    uint32_t partition_count;
    onnxd_kernel_match *matches; /* [node_count * ep_count]: node-major, for inspection */
} onnxd_placement;

/* Errors: NO_EP_FOR_OP naming each operator nobody runs and every instance's reason. */
ONNXD_NODISCARD onnxd_status *onnxd_place(const onnxd_graph *graph, onnxd_ep *const *eps,
                                          size_t ep_count, onnxd_placement *out_placement);
void onnxd_placement_deinit(onnxd_placement *placement);

#endif

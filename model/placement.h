/*
 * Placement: which instance runs which node. Claims first, then a cost model over all instances.
 *
 * Along the topological order a dynamic program picks the instance of every node so that the sum of
 * node costs, launch costs and transfers between instances is least; a change of instance costs a
 * stage, so nodes do not hop for nothing. Runs of equal choice are the partitions: intervals of a
 * topological order are convex, so no partition waits for itself through another. Before that the
 * nodes are brought into an order (model/placement_order.h) that keeps together what the same
 * instances can run, or interleaved branches would be a partition per node.
 * O((nodes + inputs) x instances^2), deterministic (ties go to the instance listed first).
 *
 * The instances are asked with nominal types (model/nominal.h): extents that only a request tells
 * count as 1.
 *
 * Threads: any, while no other uses the graph.
 */
#ifndef ONNXD_MODEL_PLACEMENT_H
#define ONNXD_MODEL_PLACEMENT_H

#include "base/arena.h"
#include "ep/ep.h"

/* What a node costs, in microseconds, on an instance that can run it but does not know its cost.
 * Not zero, or ignorance would look like speed. */
#define ONNXD_UNKNOWN_NODE_COST_US 10.0
/* What each change of instance costs beyond its transfers: a stage more to schedule. */
#define ONNXD_STAGE_COST_US 20.0

typedef struct onnxd_placement_node {
    uint32_t ep;     /* index of the chosen instance */
    bool is_claimed; /* by claim_nodes, not by cost */
    /* Runs on no instance: its result is needed only to find shapes, or it is a view of its input.
     */
    bool is_free;
    bool is_dynamic; /* free, and run in the tail of a plan; see model/tail.h */
    onnxd_cost cost; /* on the chosen instance; zero when free */
} onnxd_placement_node;

typedef struct onnxd_partition {
    uint32_t ep;
    uint32_t first_node, last_node; /* inclusive, in graph order */
} onnxd_partition;

/* What one instance said of one node. */
typedef struct onnxd_placement_match {
    const char *reason; /* which implementation, or why not; lives as long as the placement */
    bool is_supported;
    onnxd_cost cost;
} onnxd_placement_match;

typedef struct onnxd_placement {
    onnxd_placement_node *nodes; /* [graph->node_count] */
    onnxd_partition *partitions;
    uint32_t partition_count;
    onnxd_placement_match *matches; /* [node_count * ep_count]: node-major, for inspection */
    bool is_nominal;                /* costs are for nominal types, not those of every request */
    uint64_t search_steps;          /* what finding it took */
    onnxd_arena reasons;
} onnxd_placement;

typedef struct onnxd_placement_options {
    size_t max_shape_value_bytes; /* of each value evaluated to find nominal types */
    const bool *is_left_out;      /* [ep_count]: instances that get nothing; NULL: none */
} onnxd_placement_options;

/* Renumbers the graph's nodes; the placement holds for the new numbers. Errors: NO_EP_FOR_OP naming
 * each operator nobody runs and every instance's reason; OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_place(onnxd_graph *graph, onnxd_ep *const *eps, size_t ep_count,
                                          const onnxd_placement_options *options,
                                          onnxd_placement *out_placement);
/* Ends a placement made by onnxd_place(); a zeroed one is fine. */
void onnxd_placement_deinit(onnxd_placement *placement);

#endif

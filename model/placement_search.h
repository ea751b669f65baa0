/*
 * The search behind placement: a dynamic program over numbers. Transfers are charged where a node
 * reads a value that is not yet in its memory, along the best path known so far, and each value
 * once per destination; what leaves for the host as an output is charged where it is made.
 */
#ifndef ONNXD_MODEL_PLACEMENT_SEARCH_H
#define ONNXD_MODEL_PLACEMENT_SEARCH_H

#include "ep/ep.h"
#include "model/usage.h"

typedef struct onnxd_placement_problem {
    const onnxd_graph *graph;
    const onnxd_usage *usage;
    const onnxd_tensor_type *types; /* [value_count]: how many bytes a value has */
    const onnxd_ep_info *infos;     /* [ep_count] */
    size_t ep_count;
    const double *costs_us; /* [node_count * ep_count], node-major; INFINITY: not possible */
} onnxd_placement_problem;

/* Every node has an instance of finite cost. `choices` has node_count entries. *out_steps: how
 * often the search looked at a choice, a run or a reader before the one in hand, which grows with
 * the nodes and inputs. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_placement_search(const onnxd_placement_problem *problem,
                                                     uint32_t *choices, uint64_t *out_steps);

/* Inputs of a node that are read at run time and are no constants; views read input 0 alone. */
bool onnxd_placement_reads(const onnxd_graph *graph, const onnxd_usage *usage, onnxd_node_id node,
                           uint32_t input);

#endif

/*
 * Queries: one node with what is known of it, as providers are asked. Placement asks with the types
 * of nominal shapes, plans ask with those of a request.
 */
#ifndef ONNXD_MODEL_QUERY_H
#define ONNXD_MODEL_QUERY_H

#include "ep/ep.h"

typedef struct onnxd_query_maker {
    const onnxd_graph *graph;
    /* of the node in hand */
    onnxd_tensor_type *types;
    onnxd_tensor **constants;
} onnxd_query_maker;

/* Room for the widest node of the graph. On failure deinit is still legal. Errors: OUT_OF_MEMORY.
 */
ONNXD_NODISCARD onnxd_status *onnxd_query_maker_init(onnxd_query_maker *maker,
                                                     const onnxd_graph *graph);
void onnxd_query_maker_deinit(onnxd_query_maker *maker);

/* The query for a node of the graph; it borrows the maker's memory and holds until the next one.
 * `types` has value_count entries, NULL: the graph's own. `known`, too, holds values beside the
 * graph's constants; NULL: none. */
onnxd_op_query onnxd_query_make(onnxd_query_maker *maker, const onnxd_node *node,
                                const onnxd_tensor_type *types, onnxd_tensor *const *known);
/* Strings are pointers into host memory, which mean nothing to a device. */
bool onnxd_query_has_strings(const onnxd_op_query *query);

#endif

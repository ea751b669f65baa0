/*
 * Usage: which nodes of a graph have to run at all. Seen backwards from the outputs: a node whose
 * result is known before the run, or feeds only shapes, does not run; a view of its input does not
 * run either, since both share memory. Nodes whose shapes follow from data run apart from the rest.
 */
#ifndef ONNXD_MODEL_USAGE_H
#define ONNXD_MODEL_USAGE_H

#include "graph/graph.h"
#include "graph/op.h"

typedef enum onnxd_node_role {
    ONNXD_NODE_SKIPPED, /* nothing at run time needs it */
    ONNXD_NODE_VIEW,    /* output 0 is input 0 under another shape */
    ONNXD_NODE_RUN,
    ONNXD_NODE_DYNAMIC /* run in the tail of a plan; see model/tail.h */
} onnxd_node_role;

typedef struct onnxd_usage {
    bool *is_needed;        /* [value_count]: read at run time, or an output of the graph */
    onnxd_node_role *roles; /* [node_count] */
} onnxd_usage;

/* `is_dynamic` is what onnxd_graph_mark_dynamic() found. `known` (value_count entries) holds the
 * values that onnxd_specialize() found. NULL before any shapes are given: then every value that an
 * operator declares to decide shapes counts as known. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_usage_find(const onnxd_graph *graph, const bool *is_dynamic,
                                               onnxd_tensor *const *known, onnxd_usage *out_usage);
void onnxd_usage_deinit(onnxd_usage *usage);

#endif

/*
 * What the operators that own subgraphs (If, Loop, Scan, SequenceMap) need of them at load.
 *
 * Threads: any; the graph is not changed.
 */
#ifndef ONNXD_GRAPH_SUBGRAPH_H
#define ONNXD_GRAPH_SUBGRAPH_H

#include "graph/graph.h"

/*
 * The types that a subgraph's outputs have for these types of what it reads, into out_outputs
 * (subgraph->output_count entries).
 *
 * `node_inputs` are the types of all inputs of the node that owns the subgraph, captures included,
 * as in onnxd_infer.inputs; dtype UNDEFINED where not known. `inputs` are those of the inputs that
 * the subgraph lists, taken as they are; where dtype is UNDEFINED, what the subgraph declares
 * holds. `inputs` is NULL when all are as declared.
 *
 * What cannot be told is left unknown (dtype UNDEFINED, unknown rank or dimensions), also where a
 * node of the subgraph contradicts its inputs: a branch that cannot work may be one that is never
 * taken, and running it names the node. Dimensions that the subgraph itself calls by a symbol
 * become unknown; symbols of `node_inputs` and `inputs` stay. Subgraphs nested more than three deep
 * are not entered, and have the types that they declare. Errors: OUT_OF_MEMORY.
 */
ONNXD_NODISCARD onnxd_status *onnxd_graph_infer_outputs(const onnxd_graph *subgraph,
                                                        const onnxd_tensor_type *node_inputs,
                                                        const onnxd_tensor_type *inputs,
                                                        onnxd_tensor_type *out_outputs);

#endif

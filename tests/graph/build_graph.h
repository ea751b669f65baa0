/* Graphs for tests, built through the public functions and resolved against the toy operators. */
#ifndef ONNXD_TESTS_GRAPH_BUILD_GRAPH_H
#define ONNXD_TESTS_GRAPH_BUILD_GRAPH_H

#include "graph/graph.h"

/* An empty graph of opset 13 with 64 MiB of arena. */
onnxd_graph *build_graph(void);
/* The value called `name`, added when there is none. */
onnxd_value_id build_value(onnxd_graph *graph, const char *name);
void build_type(onnxd_graph *graph, const char *name, onnxd_dtype dtype, int32_t rank,
                const int64_t *dims);
/* A constant from `count` int64 values, of rank 1 (rank 0 when count is 0 and values is not NULL).
 */
void build_int64(onnxd_graph *graph, const char *name, size_t count, const int64_t *values);
/* A float constant of rank 1. */
void build_float(onnxd_graph *graph, const char *name, size_t count, const float *values);
/* Names are separated by commas; "" between them is an absent one. Resolved where the operator is
 * known. */
onnxd_node *build_node(onnxd_graph *graph, const char *op_type, const char *inputs,
                       const char *outputs);
/* An empty subgraph of `outer`. */
onnxd_graph *build_subgraph(onnxd_graph *outer);
/* The value called `name` of the subgraph is input `input` of the node that owns it. */
void build_capture(onnxd_graph *subgraph, const char *name, uint32_t input);
/* An If; the last `captures` inputs are what its branches capture. NULL: no such branch. */
onnxd_node *build_if(onnxd_graph *graph, const char *inputs, uint32_t captures, const char *outputs,
                     onnxd_graph *then_branch, onnxd_graph *else_branch);
/* Signature; names separated by commas. */
void build_signature(onnxd_graph *graph, const char *inputs, const char *outputs);
/* The dump of the graph equals `expected`. */
void expect_graph(const onnxd_graph *graph, const char *expected);
/* `status` is an error of that code whose message contains `text`; frees it. */
void expect_error(onnxd_status *status, onnxd_code code, const char *text);
/* `status` is OK. */
void expect_ok(onnxd_status *status);

#endif

/*
 * The graph as text: deterministic, the format of the golden tests.
 *
 *   graph "name" ir 8 opset ai.onnx 13
 *   input x: float[batch,3]
 *   constant w: float[2,2] {1.0, 2.0, 3.0, 4.0}
 *   node Gemm "fc" (x, w, -) -> (y: float[batch,2]) {transB=1}
 *   output y: float[batch,2]
 *
 * Constants of more than eight elements show their type only. A subgraph follows as the value of
 * its attribute, indented. Values that nothing refers to do not show.
 */
#ifndef ONNXD_GRAPH_PRINT_H
#define ONNXD_GRAPH_PRINT_H

#include "base/strbuf.h"
#include "graph/graph.h"

void onnxd_graph_print(const onnxd_graph *graph, onnxd_strbuf *out);
/* "float[batch,3]"; dimensions that are neither static nor a symbol of the graph, and a type that
 * is not known, are "?"; an unknown rank is "float[?]*". */
void onnxd_print_type(const onnxd_graph *graph, const onnxd_tensor_type *type, onnxd_strbuf *out);

#endif

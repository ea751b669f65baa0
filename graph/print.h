/* The graph as text: deterministic, one line per value and node; the format of the golden tests. */
#ifndef ONNXD_GRAPH_PRINT_H
#define ONNXD_GRAPH_PRINT_H

#include "base/strbuf.h"
#include "graph/graph.h"

void onnxd_graph_print(const onnxd_graph *graph, onnxd_strbuf *out);

#endif

/* Nodes of the operator library for tests of passes. */
#ifndef ONNXD_TESTS_GRAPH_REAL_NODE_H
#define ONNXD_TESTS_GRAPH_REAL_NODE_H

#include "graph/passes.h"
#include "tests/graph/build_graph.h"

/* As build_node(), of the operator library; `attributes` ends with one without a name, NULL: none.
 */
onnxd_node *real_node(onnxd_graph *graph, const char *op_type, const char *inputs,
                      const char *outputs, const onnxd_attribute *attributes);
/* A FLOAT value with these dims, separated by 'x': "1x3x4x4". */
void real_type(onnxd_graph *graph, const char *name, const char *dims);
/* A FLOAT constant with these dims whose elements are first, first + 1, ... */
void real_constant(onnxd_graph *graph, const char *name, const char *dims, float first);
/* Infers types and runs a pass, which must change something, or nothing, and then nothing more;
 * drops what nobody reads. */
void real_pass(onnxd_graph *graph, const onnxd_pass *pass, bool expect_change);

#endif

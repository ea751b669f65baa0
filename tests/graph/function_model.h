/* Models that define functions, all of domain "local" and opset 13. Names are separated by commas.
 */
#ifndef ONNXD_TESTS_GRAPH_FUNCTION_MODEL_H
#define ONNXD_TESTS_GRAPH_FUNCTION_MODEL_H

#include "tests/graph/wire.h"

/* An unfinished graph with input x: float[2]; the caller adds nodes. */
void function_model_begin(wire *w);
/* Ends the graph, with output y. */
void function_model_end(wire *w);
/* An unfinished call of a function in the graph, and a whole one. */
void function_call_begin(wire *w, const char *function, const char *inputs, const char *outputs);
void function_call(wire *w, const char *function, const char *inputs, const char *outputs);

/* An unfinished function. */
void function_begin(wire *w, const char *name, const char *inputs, const char *outputs);
/* A node called "n" of a function under way. */
void function_node(wire *w, const char *op_type, const char *inputs, const char *outputs);
/* A call in a function under way. */
void function_inner_call(wire *w, const char *function, const char *inputs, const char *outputs);
/* An attribute called `name` that refers to `target`, of type `type`, of a node under way. */
void function_reference(wire *w, const char *name, const char *target, int64_t type);
/* thrice(a) = a + a + a, through an inner value called as one of the graph's. */
void function_thrice(wire *w);

#endif

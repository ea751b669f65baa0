/* Loading what a wire holds. */
#ifndef ONNXD_TESTS_GRAPH_LOAD_H
#define ONNXD_TESTS_GRAPH_LOAD_H

#include "graph/loader.h"
#include "tests/graph/wire.h"

/* With default limits, the toy operators and no directory for external data. */
onnxd_status *load_wire(const wire *w, onnxd_graph **out_graph);
/* Ends `w`. The model loads. */
onnxd_graph *load_good(wire *w);
/* Ends `w`. Loading fails with that code and a message that contains `text`. */
void load_bad(wire *w, onnxd_code code, const char *text);

#endif

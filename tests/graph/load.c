#include "tests/graph/load.h"

#include <criterion/criterion.h>

#include "tests/graph/build_graph.h"
#include "tests/graph/toy_ops.h"

onnxd_status *load_wire(const wire *w, onnxd_graph **out_graph)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    return onnxd_graph_load_memory(wire_data(w), wire_size(w), NULL, &toy_ops, &limits, out_graph);
}

onnxd_graph *load_good(wire *w)
{
    onnxd_graph *graph = NULL;
    expect_ok(load_wire(w, &graph));
    wire_deinit(w);
    return graph;
}

void load_bad(wire *w, onnxd_code code, const char *text)
{
    onnxd_graph *graph = NULL;
    expect_error(load_wire(w, &graph), code, text);
    cr_expect(graph == NULL);
    wire_deinit(w);
}

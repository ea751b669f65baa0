#include <criterion/criterion.h>

#include "graph/passes.h"
#include "tests/graph/build_graph.h"

Test(infer, types_flow_from_inputs)
{
    onnxd_graph *graph = build_graph();
    int64_t batch;
    expect_ok(onnxd_graph_symbol(graph, "batch", &batch));
    int64_t dims[2] = {batch, 3};
    build_type(graph, "x", ONNXD_FLOAT, 2, dims);
    build_node(graph, "Identity", "x", "y");
    build_node(graph, "Shape", "y", "s");
    build_signature(graph, "x", "s");
    expect_ok(onnxd_infer_shapes(graph));
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "input x: float[batch,3]\n"
                        "node Identity (x) -> (y: float[batch,3])\n"
                        "node Shape (y) -> (s: int64[2])\n"
                        "output s: int64[2]\n");
    onnxd_graph_destroy(graph);
}

Test(infer, declarations_and_inference_are_merged)
{
    onnxd_graph *graph = build_graph();
    int64_t unknown[2] = {-1, 3};
    int64_t declared[2] = {5, -1};
    build_type(graph, "x", ONNXD_FLOAT, 2, unknown);
    build_type(graph, "y", ONNXD_FLOAT, 2, declared);
    build_type(graph, "z", ONNXD_FLOAT, ONNXD_RANK_UNKNOWN, NULL);
    build_node(graph, "Identity", "x", "y");
    build_node(graph, "Identity", "y", "z");
    build_signature(graph, "x", "z");
    expect_ok(onnxd_infer_shapes(graph));
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "input x: float[?,3]\n"
                        "node Identity (x) -> (y: float[5,3])\n"
                        "node Identity (y) -> (z: float[5,3])\n"
                        "output z: float[5,3]\n");
    onnxd_graph_destroy(graph);
}

static void expect_contradiction(onnxd_dtype dtype, int32_t rank, const int64_t *dims,
                                 const char *text)
{
    onnxd_graph *graph = build_graph();
    int64_t actual[2] = {2, 3};
    build_type(graph, "x", ONNXD_FLOAT, 2, actual);
    build_type(graph, "y", dtype, rank, dims);
    build_node(graph, "Identity", "x", "y");
    build_signature(graph, "x", "y");
    expect_error(onnxd_infer_shapes(graph), ONNXD_INVALID_ARGUMENT, text);
    onnxd_graph_destroy(graph);
}

Test(infer, contradictions_name_node_and_value)
{
    int64_t dims[3] = {2, 4, 1};
    expect_contradiction(ONNXD_INT64, ONNXD_RANK_UNKNOWN, NULL,
                         "node #0 (Identity): value 'y' is declared int64[?]*, but its node makes "
                         "float[2,3]");
    expect_contradiction(ONNXD_FLOAT, 2, dims, "declared float[2,4]");
    expect_contradiction(ONNXD_FLOAT, 3, dims, "declared float[2,4,1]");
}

Test(infer, unknown_operators_leave_unknown_types)
{
    onnxd_graph *graph = build_graph();
    int64_t dims[1] = {2};
    build_type(graph, "x", ONNXD_FLOAT, 1, dims);
    build_node(graph, "Mystery", "x", "y");
    build_node(graph, "Identity", "y", "z");
    build_node(graph, "Identity", "x", "w");
    build_signature(graph, "x", "z,w");
    expect_ok(onnxd_infer_shapes(graph));
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "input x: float[2]\n"
                        "node Mystery (x) -> (y: ?)\n"
                        "node Identity (y) -> (z: ?)\n"
                        "node Identity (x) -> (w: float[2])\n"
                        "output z: ?\n"
                        "output w: float[2]\n");
    onnxd_graph_destroy(graph);
}

Test(infer, errors_name_the_node)
{
    onnxd_graph *graph = build_graph();
    int64_t two[1] = {2};
    int64_t three[1] = {3};
    build_type(graph, "a", ONNXD_FLOAT, 1, two);
    build_type(graph, "b", ONNXD_FLOAT, 1, three);
    build_node(graph, "Add", "a,b", "c")->name = "sum";
    build_signature(graph, "a,b", "c");
    expect_error(onnxd_infer_shapes(graph), ONNXD_INVALID_ARGUMENT,
                 "node 'sum' (Add): inputs differ in shape");
    onnxd_graph_destroy(graph);
}

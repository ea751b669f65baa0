/* What models compute from shapes becomes constant as far as it is known. */
#include <criterion/criterion.h>

#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

extern const onnxd_pass onnxd_pass_propagate_shapes;

static const onnxd_attribute axis_0[] = {
    {.name = "axis", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 0}, {0}};

/* x: float[batch,length,8], its shape "s", and numbers. */
static onnxd_graph *graph_with_shape(void)
{
    onnxd_graph *graph = build_graph();
    int64_t batch, length;
    expect_ok(onnxd_graph_symbol(graph, "batch", &batch));
    expect_ok(onnxd_graph_symbol(graph, "length", &length));
    build_type(graph, "x", ONNXD_FLOAT, 3, (int64_t[]){batch, length, 8});
    const onnxd_shape scalar = onnxd_shape_from(0, NULL);
    onnxd_tensor *index = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_INT64, &scalar, &index));
    onnxd_graph_set_constant(graph, build_value(graph, "i0"), index);
    onnxd_tensor_release(index);
    build_int64(graph, "l0", 1, (int64_t[]){0});
    build_int64(graph, "l1", 1, (int64_t[]){1});
    build_int64(graph, "l2", 1, (int64_t[]){2});
    build_int64(graph, "l4", 1, (int64_t[]){4});
    build_int64(graph, "end", 1, (int64_t[]){-1});
    real_node(graph, "Shape", "x", "s", NULL);
    return graph;
}

/* As torch writes x.view(x.size(0), x.size(1), 2, x.size(2) / 2). */
Test(propagate_shapes, shape_of_a_view)
{
    onnxd_graph *graph = graph_with_shape();
    real_node(graph, "Gather", "s,i0", "b", NULL);
    real_node(graph, "Unsqueeze", "b,l0", "b1", NULL);
    real_node(graph, "Slice", "s,l1,l2", "n1", NULL);
    real_node(graph, "Gather", "s,end", "c", NULL);
    real_node(graph, "Div", "c,l2", "c2", NULL);
    real_node(graph, "Concat", "b1,n1,l2,c2", "t", axis_0);
    real_node(graph, "Reshape", "x,t", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_pass_propagate_shapes, true);
    expect_graph(graph, HEADER "input x: float[batch,length,8]\n"
                               "constant y/shape/15: int64[4] {0, 0, 2, 4}\n"
                               "node Reshape (x, y/shape/15) -> (y: float[batch,length,2,4])\n"
                               "output y: float[batch,length,2,4]\n");
    onnxd_graph_destroy(graph);
}

/* One extent may be what is left, where none can be 0 beside it; and what follows is known too. */
Test(propagate_shapes, one_after_another)
{
    onnxd_graph *graph = graph_with_shape();
    real_node(graph, "Slice", "s,l0,l1", "b", NULL);
    real_node(graph, "Slice", "s,l1,l2", "n", NULL);
    real_node(graph, "Mul", "b,n", "bn", NULL);
    real_node(graph, "Concat", "bn,l4,l2", "t", axis_0);
    real_node(graph, "Reshape", "x,t", "z", NULL);
    real_node(graph, "Shape", "z", "u", NULL);
    real_node(graph, "Slice", "u,l1,l2", "y", NULL);
    build_signature(graph, "x", "z,y");
    real_pass(graph, &onnxd_pass_propagate_shapes, true);
    expect_graph(graph, HEADER "input x: float[batch,length,8]\n"
                               "constant y: int64[1] {4}\n"
                               "constant z/shape/15: int64[3] {-1, 4, 2}\n"
                               "node Reshape (x, z/shape/15) -> (z: float[?,4,2])\n"
                               "output z: float[?,4,2]\n"
                               "output y: int64[1]\n");
    onnxd_graph_destroy(graph);
}

/* As exporters write expand(): elements -1 stand for the extent that is there. */
Test(propagate_shapes, expansion)
{
    onnxd_graph *graph = graph_with_shape();
    build_int64(graph, "minus", 3, (int64_t[]){-1, -1, -1});
    build_int64(graph, "ones", 3, (int64_t[]){1, 1, 1});
    real_node(graph, "Equal", "s,minus", "e", NULL);
    real_node(graph, "Where", "e,ones,s", "t", NULL);
    real_node(graph, "Expand", "x,t", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_pass_propagate_shapes, true);
    expect_graph(graph, HEADER "input x: float[batch,length,8]\n"
                               "constant y/shape/13: int64[3] {1, 1, 8}\n"
                               "node Expand (x, y/shape/13) -> (y: float[batch,length,8])\n"
                               "output y: float[batch,length,8]\n");
    onnxd_graph_destroy(graph);
}

/* Two extents in another order; one beside another that may be 0. */
Test(propagate_shapes, leaves_alone)
{
    static const char *const targets[] = {"n,b,l4,l2", "b,bn,l4"};
    for (size_t i = 0; i < ONNXD_COUNT(targets); i++) {
        onnxd_graph *graph = graph_with_shape();
        real_node(graph, "Slice", "s,l0,l1", "b", NULL);
        real_node(graph, "Slice", "s,l1,l2", "n", NULL);
        real_node(graph, "Mul", "b,n", "bn", NULL);
        real_node(graph, "Concat", targets[i], "t", axis_0);
        real_node(graph, "Reshape", "x,t", "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_pass_propagate_shapes, false);
        onnxd_graph_destroy(graph);
    }
}

/* A name that the model gives to what a node makes says nothing. */
Test(propagate_shapes, declared_symbols_prove_nothing)
{
    onnxd_graph *graph = graph_with_shape();
    const onnxd_value_id x = build_value(graph, "x");
    build_type(graph, "m", ONNXD_FLOAT, 3, graph->values[x].type.shape.dims);
    build_type(graph, "q", ONNXD_INT64, 1, (int64_t[]){3});
    real_node(graph, "Reshape", "x,q", "m", NULL);
    real_node(graph, "Reshape", "m,s", "y", NULL);
    build_signature(graph, "x,q", "y");
    real_pass(graph, &onnxd_pass_propagate_shapes, false);
    onnxd_graph_destroy(graph);
}

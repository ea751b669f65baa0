/* Nodes that do the same, and those that only seem to. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

static const onnxd_pass *pass(void)
{
    const onnxd_pass *const *found = onnxd_passes;
    while (*found != NULL && strcmp((*found)->name, "common_subexpressions") != 0)
        found++;
    cr_assert_not_null(*found);
    return *found;
}

static onnxd_attribute alpha(float value)
{
    return (onnxd_attribute){
        .name = "alpha", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = value};
}

/* The second pair is the same only once the first one is. */
Test(common_subexpressions, one_after_the_other)
{
    const onnxd_attribute attributes[] = {alpha(0.5f), {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2");
    real_node(graph, "Relu", "x", "a", NULL);
    real_node(graph, "Relu", "x", "b", NULL);
    real_node(graph, "LeakyRelu", "a", "c", attributes);
    real_node(graph, "LeakyRelu", "b", "d", attributes);
    real_node(graph, "Add", "c,d", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, pass(), true);
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "node Relu (x) -> (a: float[2])\n"
                               "node LeakyRelu (a) -> (c: float[2]) {alpha=0.5}\n"
                               "node Add (c, c) -> (y: float[2])\n"
                               "output y: float[2]\n");
    onnxd_graph_destroy(graph);
}

/* The names of outputs stay; who comes later reads the first. */
Test(common_subexpressions, outputs_of_the_graph)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2");
    real_node(graph, "Relu", "x", "y", NULL);
    real_node(graph, "Relu", "x", "z", NULL);
    real_node(graph, "Relu", "x", "b", NULL);
    real_node(graph, "Neg", "b", "w", NULL);
    build_signature(graph, "x", "y,z,w");
    real_pass(graph, pass(), true);
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "node Relu (x) -> (y: float[2])\n"
                               "node Relu (x) -> (z: float[2])\n"
                               "node Neg (y) -> (w: float[2])\n"
                               "output y: float[2]\n"
                               "output z: float[2]\n"
                               "output w: float[2]\n");
    onnxd_graph_destroy(graph);
}

/* Another attribute, operator, order of inputs, count of inputs; random numbers. */
Test(common_subexpressions, leaves_alone)
{
    const onnxd_attribute half[] = {alpha(0.5f), {0}}, none[] = {alpha(0), {0}},
                          minus[] = {alpha(-0.0f), {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2");
    real_type(graph, "v", "2");
    real_node(graph, "LeakyRelu", "x", "a", half);
    real_node(graph, "LeakyRelu", "x", "b", none);
    real_node(graph, "LeakyRelu", "x", "c", minus);
    real_node(graph, "LeakyRelu", "v", "d", half);
    real_node(graph, "Sub", "x,v", "e", NULL);
    real_node(graph, "Sub", "v,x", "f", NULL);
    real_node(graph, "Add", "x,v", "g", NULL);
    real_node(graph, "Sum", "x,v", "h", NULL);
    real_node(graph, "Sum", "x,v,v", "i", NULL);
    real_node(graph, "RandomNormalLike", "x", "j", NULL);
    real_node(graph, "RandomNormalLike", "x", "k", NULL);
    real_node(graph, "Sum", "a,b,c,d,e,f,g,h,i,j,k", "y", NULL);
    build_signature(graph, "x,v", "y");
    real_pass(graph, pass(), false);
    onnxd_graph_destroy(graph);
}

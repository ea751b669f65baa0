/* Which nodes become one Elementwise, as text. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ep/cpu/passes/passes.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

static void fuse(onnxd_graph *graph, bool expect_change)
{
    real_pass(graph, &onnxd_cpu_pass_fuse_elementwise, expect_change);
}

Test(fuse_elementwise, chain)
{
    const onnxd_attribute alpha[] = {
        {.name = "alpha", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 0.5f}, {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3");
    real_constant(graph, "b", "3", 1);
    real_constant(graph, "low", "", -1);
    real_node(graph, "Add", "x,b", "a", NULL);
    real_node(graph, "LeakyRelu", "a", "c", alpha);
    real_node(graph, "Mul", "b,c", "d", NULL);
    real_node(graph, "Clip", "d,low", "y", NULL);
    build_signature(graph, "x", "y");
    fuse(graph, true);
    expect_graph(
        graph,
        HEADER "input x: float[2,3]\n"
               "constant b: float[3] {1.0, 2.0, 3.0}\n"
               "node onnxd.Elementwise (x, b) -> (y: float[2,3]) "
               "{steps=[\"Add\",\"LeakyRelu\",\"Mul\",\"Clip\"], operands=[0,1,-1,-1,1,-2,-3,-3], "
               "parameters=[0.0,0.0,0.5,0.0,0.0,0.0,-1.0,3.4028235e+38]}\n"
               "output y: float[2,3]\n");
    onnxd_graph_destroy(graph);
}

/* Results that are read twice, by nodes that are taken in too. */
Test(fuse_elementwise, not_only_chains)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "4x3");
    real_constant(graph, "three", "1", 3);
    real_node(graph, "Neg", "x", "n", NULL);
    real_node(graph, "Pow", "n,three", "p", NULL);
    real_node(graph, "Reciprocal", "n", "r", NULL);
    real_node(graph, "Sum", "p,r,x", "y", NULL);
    build_signature(graph, "x", "y");
    fuse(graph, true);
    expect_graph(graph,
                 HEADER "input x: float[4,3]\n"
                        "constant n/number/6: float[] {-1.0}\n"
                        "constant r/number/7: float[] {1.0}\n"
                        "node onnxd.Elementwise (x, n/number/6, r/number/7) -> (y: float[4,3]) "
                        "{steps=[\"Mul\",\"Mul\",\"Mul\",\"Div\",\"Add\",\"Add\"], "
                        "operands=[0,1,-1,-1,-2,-1,2,-1,-3,-4,-5,0], "
                        "parameters=[0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]}\n"
                        "output y: float[4,3]\n");
    onnxd_graph_destroy(graph);
}

/* Longer chains than one operator holds become several. */
Test(fuse_elementwise, long_chains)
{
    char names[2][8] = {"x", "v0"};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "5");
    for (int i = 0; i < 20; i++) {
        snprintf(names[1], sizeof(names[1]), "v%d", i);
        real_node(graph, i % 2 == 0 ? "Tanh" : "Sigmoid", names[0], names[1], NULL);
        snprintf(names[0], sizeof(names[0]), "%s", names[1]);
    }
    build_signature(graph, "x", "v19");
    fuse(graph, true);
    cr_assert_eq(graph->node_count, 2);
    cr_expect_eq(graph->nodes[0].attributes[0].count, 4);
    cr_expect_eq(graph->nodes[1].attributes[0].count, 16);
    onnxd_graph_destroy(graph);
}

/* A result of another shape, one that somebody else reads, one that is an output, other types, and
 * functions that there are none of. */
Test(fuse_elementwise, leaves_alone)
{
    static const struct {
        const char *first, *inputs, *second, *outputs;
    } cases[] = {
        {"Sigmoid", "c", "x,a", "y"},
        {"Sigmoid", "x", "a,x", "y,a"},
        {"Sin", "x", "a,x", "y"},
        {"Softmax", "x", "a,x", "y"},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_graph *graph = build_graph();
        real_type(graph, "x", "2x3");
        real_type(graph, "c", "2x1");
        real_node(graph, cases[i].first, cases[i].inputs, "a", NULL);
        real_node(graph, "Mul", cases[i].second, "y", NULL);
        build_signature(graph, "x,c", cases[i].outputs);
        fuse(graph, false);
        onnxd_graph_destroy(graph);
    }
    onnxd_graph *graph = build_graph();
    build_type(graph, "x", ONNXD_DOUBLE, 1, (int64_t[]){3});
    real_node(graph, "Neg", "x", "a", NULL);
    real_node(graph, "Add", "a,x", "y", NULL);
    build_signature(graph, "x", "y");
    fuse(graph, false);
    onnxd_graph_destroy(graph);
}

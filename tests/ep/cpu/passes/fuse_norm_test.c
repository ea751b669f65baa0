/* Layer normalisation and its relative without a mean, from their parts. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ep/cpu/passes/passes.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"
#define CONSTANTS                                                                                  \
    "constant scale: float[4] {1.0, 2.0, 3.0, 4.0}\n"                                              \
    "constant bias: float[4] {5.0, 6.0, 7.0, 8.0}\n"

static void mean(onnxd_graph *graph, const char *from, const char *to, int64_t axis, int64_t keeps)
{
    const onnxd_attribute attributes[] = {
        {.name = "axes", .kind = ONNXD_ATTRIBUTE_INTS, .count = 1, .value.ints = &axis},
        {.name = "keepdims", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = keeps},
        {0}};
    onnxd_node *node = real_node(graph, "ReduceMean", from, to, attributes);
    /* The axis lives as long as the graph. */
    int64_t *copy = onnxd_arena_alloc_zero(&graph->arena, 1, sizeof(*copy));
    cr_assert_not_null(copy);
    *copy = axis;
    node->attributes[0].value.ints = copy;
}

static onnxd_graph *graph_with_x(void)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3x4");
    real_constant(graph, "two", "", 2);
    real_constant(graph, "one", "", 1);
    real_constant(graph, "small", "", 0.5f);
    real_constant(graph, "scale", "4", 1);
    real_constant(graph, "bias", "4", 5);
    return graph;
}

/* "r" of `of`. */
static void add_root(onnxd_graph *graph, const char *of, bool has_pow)
{
    char inputs[16];
    snprintf(inputs, sizeof(inputs), "%s,%s", of, has_pow ? "two" : of);
    real_node(graph, has_pow ? "Pow" : "Mul", inputs, "p", NULL);
    mean(graph, "p", "v", -1, 1);
    real_node(graph, "Add", has_pow ? "v,small" : "small,v", "e", NULL);
    real_node(graph, "Sqrt", "e", "r", NULL);
}

/* ---- with a mean ----------------------------------------------------------------------------- */

static onnxd_graph *graph_with_quotient(int64_t axis, bool has_pow)
{
    onnxd_graph *graph = graph_with_x();
    mean(graph, "x", "m", axis, 1);
    real_node(graph, "Sub", "x,m", "d", NULL);
    add_root(graph, "d", has_pow);
    real_node(graph, "Div", "d,r", "q", NULL);
    return graph;
}

Test(fuse_layer_norm, with_and_without_bias)
{
    for (int has_bias = 0; has_bias < 2; has_bias++) {
        onnxd_graph *graph = graph_with_quotient(has_bias == 0 ? 2 : -1, has_bias == 0);
        real_node(graph, "Mul", has_bias == 0 ? "q,scale" : "scale,q", has_bias == 0 ? "y" : "s",
                  NULL);
        if (has_bias != 0)
            real_node(graph, "Add", "bias,s", "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_layer_norm, true);
        expect_graph(graph, has_bias == 0
                                ? HEADER "input x: float[2,3,4]\n"
                                         "constant scale: float[4] {1.0, 2.0, 3.0, 4.0}\n"
                                         "node LayerNormalization (x, scale) -> (y: float[2,3,4]) "
                                         "{epsilon=0.5}\n"
                                         "output y: float[2,3,4]\n"
                                : HEADER "input x: float[2,3,4]\n" CONSTANTS
                                         "node LayerNormalization (x, scale, bias) -> (y: "
                                         "float[2,3,4]) {epsilon=0.5}\n"
                                         "output y: float[2,3,4]\n");
        onnxd_graph_destroy(graph);
    }
}

/* Parts that an output shows, another axis, a scale of another shape, another difference. */
Test(fuse_layer_norm, leaves_alone)
{
    static const char *const outputs[] = {"y,d", "y,v", "y,q", "y,m", "y", "y", "y"};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        onnxd_graph *graph = i == 6 ? graph_with_x() : graph_with_quotient(i == 4 ? 1 : 2, true);
        if (i == 6) {
            mean(graph, "x", "m", 2, 1);
            real_node(graph, "Sub", "m,x", "d", NULL);
            add_root(graph, "d", true);
            real_node(graph, "Div", "d,r", "q", NULL);
        }
        real_node(graph, "Mul", i == 5 ? "q,two" : "q,scale", "y", NULL);
        build_signature(graph, "x", outputs[i]);
        real_pass(graph, &onnxd_cpu_pass_fuse_layer_norm, false);
        onnxd_graph_destroy(graph);
    }
}

/* ---- without --------------------------------------------------------------------------------- */

Test(fuse_rms_norm, every_quotient)
{
    for (int i = 0; i < 3; i++) {
        onnxd_graph *graph = graph_with_x();
        add_root(graph, "x", i != 1);
        if (i == 0)
            real_node(graph, "Div", "x,r", "n", NULL);
        else
            real_node(graph, i == 1 ? "Reciprocal" : "Div", i == 1 ? "r" : "one,r", "f", NULL);
        if (i != 0)
            real_node(graph, "Mul", i == 1 ? "x,f" : "f,x", "n", NULL);
        real_node(graph, "Mul", i == 1 ? "scale,n" : "n,scale", "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_rms_norm, true);
        expect_graph(graph,
                     HEADER "input x: float[2,3,4]\n"
                            "constant scale: float[4] {1.0, 2.0, 3.0, 4.0}\n"
                            "node RMSNormalization (x, scale) -> (y: float[2,3,4]) {epsilon=0.5}\n"
                            "output y: float[2,3,4]\n");
        onnxd_graph_destroy(graph);
    }
}

/* A root that an output shows, a scale of another shape, another numerator. */
Test(fuse_rms_norm, leaves_alone)
{
    static const char *const outputs[] = {"y,r", "y,n", "y", "y"};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        onnxd_graph *graph = graph_with_x();
        add_root(graph, "x", true);
        real_node(graph, "Div", i == 2 ? "p,r" : "x,r", "n", NULL);
        real_node(graph, "Mul", i == 3 ? "n,one" : "n,scale", "y", NULL);
        build_signature(graph, "x", outputs[i]);
        real_pass(graph, &onnxd_cpu_pass_fuse_rms_norm, false);
        onnxd_graph_destroy(graph);
    }
}

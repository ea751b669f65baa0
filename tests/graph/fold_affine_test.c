/* Factors and addends per channel that become part of the weights before them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

static const onnxd_pass *find_pass(const char *name)
{
    const onnxd_pass *const *pass = onnxd_passes;
    while (*pass != NULL && strcmp((*pass)->name, name) != 0)
        pass++;
    cr_assert(*pass != NULL);
    return *pass;
}

/* A convolution of two maps over an image of one channel. */
static onnxd_graph *graph_with_conv(const char *inputs)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x1x2x2");
    real_constant(graph, "w", "2x1x1x1", 2);
    real_constant(graph, "b", "2", 1);
    real_node(graph, "Conv", inputs, "c", NULL);
    return graph;
}

/* Variance and epsilon add up to 4 and 9. */
static void add_norm(onnxd_graph *graph, const char *input, const char *output)
{
    static const float variance[] = {3.5f, 8.5f};
    const onnxd_attribute attributes[] = {
        {.name = "epsilon", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 0.5f}, {0}};
    char inputs[64];
    real_constant(graph, "scale", "2", 6);
    real_constant(graph, "beta", "2", 10);
    real_constant(graph, "mean", "2", 1);
    build_float(graph, "variance", 2, variance);
    snprintf(inputs, sizeof(inputs), "%s,scale,beta,mean,variance", input);
    real_node(graph, "BatchNormalization", inputs, output, attributes);
}

Test(fold_affine, normalization_of_a_convolution)
{
    onnxd_graph *graph = graph_with_conv("x,w,b");
    add_norm(graph, "c", "y");
    build_signature(graph, "x", "y");
    real_pass(graph, find_pass("fold_affine"), true);
    /* Factors 3 and 7/3; addends 10 - 3 and 11 - 2 * 7/3; the bias was 1 and 2. */
    expect_graph(graph, HEADER "input x: float[1,1,2,2]\n"
                               "constant w/scaled/9: float[2,1,1,1] {6.0, 7.0}\n"
                               "constant w/shifted/10: float[2] {10.0, 11.0}\n"
                               "node Conv (x, w/scaled/9, w/shifted/10) -> (y: float[1,2,2,2])\n"
                               "output y: float[1,2,2,2]\n");
    onnxd_graph_destroy(graph);
}

Test(fold_affine, factors_and_addends)
{
    onnxd_graph *graph = graph_with_conv("x,w");
    real_constant(graph, "m", "2x1x1", 3);
    real_constant(graph, "a", "1", 5);
    real_node(graph, "Mul", "m,c", "d", NULL);
    real_node(graph, "Add", "d,a", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, find_pass("fold_affine"), true);
    expect_graph(graph, HEADER "input x: float[1,1,2,2]\n"
                               "constant w/scaled/8/scaled/10: float[2,1,1,1] {6.0, 12.0}\n"
                               "constant w/scaled/8/shifted/11: float[2] {5.0, 5.0}\n"
                               "node Conv (x, w/scaled/8/scaled/10, w/scaled/8/shifted/11) -> "
                               "(y: float[1,2,2,2])\n"
                               "output y: float[1,2,2,2]\n");
    onnxd_graph_destroy(graph);
}

/* The weights of a transposed convolution begin with the input's channels: two groups of one
 * channel each, two maps of two taps per group. */
Test(fold_affine, factors_of_a_transposed_convolution)
{
    const onnxd_attribute group[] = {
        {.name = "group", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 2}, {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x2x3");
    real_constant(graph, "w", "2x2x2", 1);
    real_constant(graph, "m", "4x1", 1);
    real_node(graph, "ConvTranspose", "x,w", "c", group);
    real_node(graph, "Mul", "c,m", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, find_pass("fold_affine"), true);
    expect_graph(graph, HEADER "input x: float[1,2,3]\n"
                               "constant w/scaled/5: float[2,2,2] "
                               "{1.0, 2.0, 6.0, 8.0, 15.0, 18.0, 28.0, 32.0}\n"
                               "constant w/shifted/6: float[4] {0.0, 0.0, 0.0, 0.0}\n"
                               "node ConvTranspose (x, w/scaled/5, w/shifted/6) -> "
                               "(y: float[1,4,4]) {group=2}\n"
                               "output y: float[1,4,4]\n");
    onnxd_graph_destroy(graph);
}

Test(fold_affine, into_a_normalization)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x2x2x2");
    add_norm(graph, "x", "n");
    real_constant(graph, "m", "1x2x1x1", 2);
    real_node(graph, "Mul", "n,m", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, find_pass("fold_affine"), true);
    const onnxd_node *node = &graph->nodes[0];
    cr_assert(graph->node_count == 1 && strcmp(node->op_type, "BatchNormalization") == 0);
    const float *scale = graph->values[node->inputs[1]].constant->data;
    const float *beta = graph->values[node->inputs[2]].constant->data;
    cr_expect(scale[0] == 12 && scale[1] == 21 && beta[0] == 20 && beta[1] == 33);
    onnxd_graph_destroy(graph);
}

/* What else reads the convolution's result still needs it; a constant along another dimension is no
 * factor of a channel. */
Test(fold_affine, leaves_alone)
{
    static const char *const dims[] = {"2x2", "1x1x2", "2x1x1x1", "2x2x2"};
    for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
        onnxd_graph *graph = graph_with_conv("x,w");
        real_constant(graph, "m", dims[i], 3);
        real_node(graph, "Mul", "c,m", "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, find_pass("fold_affine"), false);
        onnxd_graph_destroy(graph);
    }
    onnxd_graph *graph = graph_with_conv("x,w");
    add_norm(graph, "c", "y");
    build_signature(graph, "x", "y,c");
    real_pass(graph, find_pass("fold_affine"), false);
    onnxd_graph_destroy(graph);
}

Test(fold_affine, training_stays)
{
    const onnxd_attribute attributes[] = {
        {.name = "training_mode", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 1}, {0}};
    onnxd_graph *graph = graph_with_conv("x,w");
    real_constant(graph, "one", "2", 1);
    onnxd_node *node = build_node(graph, "BatchNormalization", "c,one,one,one,one", "y");
    node->attributes = (onnxd_attribute *)(uintptr_t)attributes;
    node->attribute_count = 1;
    node->opset = 15;
    build_signature(graph, "x", "y");
    real_pass(graph, find_pass("fold_affine"), false);
    onnxd_graph_destroy(graph);
}

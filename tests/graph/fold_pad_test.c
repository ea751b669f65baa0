/* Pads that become part of the windows behind them, and those that do not. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "tests/graph/attribute_literals.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

extern const onnxd_pass onnxd_pass_fold_pad;

static void constant(onnxd_graph *graph, const char *name, onnxd_dtype dtype, const void *element)
{
    const onnxd_shape scalar = onnxd_shape_from(0, NULL);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(dtype, &scalar, &tensor));
    memcpy(tensor->data, element, tensor->bytes);
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

/* x: float[1,2,4,5] with "r" what Relu makes of it, q: uint8 of that shape, and constants. */
static onnxd_graph *graph_of_images(void)
{
    static const float lowest = -INFINITY, one = 1;
    static const uint8_t three = 3, four = 4;
    const int64_t dims[] = {1, 2, 4, 5}, weights[] = {1, 2, 2, 2};
    onnxd_graph *graph = build_graph();
    build_type(graph, "x", ONNXD_FLOAT, 4, dims);
    build_type(graph, "q", ONNXD_UINT8, 4, dims);
    build_type(graph, "v", ONNXD_UINT8, 4, weights);
    real_constant(graph, "w", "1x2x2x2", 0);
    constant(graph, "lowest", ONNXD_FLOAT, &lowest);
    constant(graph, "one", ONNXD_FLOAT, &one);
    constant(graph, "three", ONNXD_UINT8, &three);
    constant(graph, "four", ONNXD_UINT8, &four);
    build_int64(graph, "pads", 8, (int64_t[]){0, 0, 1, 0, 0, 0, 0, 1});
    build_int64(graph, "cuts", 8, (int64_t[]){0, 0, 1, 0, 0, 0, 0, -1});
    build_int64(graph, "channels", 8, (int64_t[]){0, 1, 1, 0, 0, -1, 0, 1});
    build_int64(graph, "wide", 8, (int64_t[]){0, 0, 2, 0, 0, 0, 0, 1});
    build_int64(graph, "of_last", 2, (int64_t[]){1, 0});
    build_int64(graph, "last", 1, (int64_t[]){-1});
    real_node(graph, "Relu", "x", "r", NULL);
    return graph;
}

typedef struct pad_case {
    const char *pad;
    onnxd_attribute mode[2];
    int64_t opset;
    const char *op_type, *inputs;
    onnxd_attribute attributes[5];
    const char *wanted; /* the node's text; NULL: it stays */
} pad_case;

static void check(const pad_case *c)
{
    char expected[512];
    onnxd_graph *graph = graph_of_images();
    onnxd_node *pad = build_node(graph, "Pad", c->pad, "p");
    pad->opset = c->opset;
    pad->attributes = (onnxd_attribute *)(uintptr_t)c->mode;
    pad->attribute_count = c->mode[0].name != NULL ? 1 : 0;
    expect_ok(onnxd_op_resolve(onnxd_ops(), graph, pad));
    real_node(graph, c->op_type, c->inputs, "y", c->attributes);
    build_signature(graph, "x,q,v", "y");
    real_pass(graph, &onnxd_pass_fold_pad, c->wanted != NULL);
    const onnxd_node *last = &graph->nodes[graph->node_count - 1];
    const onnxd_attribute *pads = onnxd_node_attribute(last, "pads");
    size_t length =
        (size_t)snprintf(expected, sizeof(expected), "%s", graph->values[last->inputs[0]].name);
    for (size_t i = 0; pads != NULL && i < pads->count; i++)
        length += (size_t)snprintf(expected + length, sizeof(expected) - length, " %d",
                                   (int)pads->value.ints[i]);
    if (onnxd_node_attribute(last, "count_include_pad") != NULL)
        snprintf(expected + length, sizeof(expected) - length, " counted");
    if (c->wanted != NULL)
        cr_expect_str_eq(expected, c->wanted, "%s: %s", c->op_type, expected);
    onnxd_graph_destroy(graph);
}

#define KERNEL INTS("kernel_shape", 2, 2, 2)

Test(fold_pad, becomes_part)
{
    const pad_case cases[] = {
        {"x,pads", {{0}}, 13, "Conv", "p,w", {{0}}, "x 1 0 0 1"},
        {"x,pads",
         {TEXT("mode", "constant")},
         13,
         "Conv",
         "p,w",
         {INTS("pads", 4, 1, 2, 3, 4)},
         "x 2 2 3 5"},
        {"x,pads", {{0}}, 13, "Conv", "p,w", {TEXT("auto_pad", "VALID")}, "x 1 0 0 1"},
        {"x,of_last,,last", {{0}}, 18, "Conv", "p,w", {{0}}, "x 0 1 0 0"},
        {"x", {INTS("pads", 8, 0, 0, 1, 1, 0, 0, 0, 0)}, 2, "Conv", "p,w", {{0}}, "x 1 1 0 0"},
        {"q,pads,three", {{0}}, 13, "ConvInteger", "p,v,three", {{0}}, "q 1 0 0 1"},
        {"q,pads", {{0}}, 13, "ConvInteger", "p,v", {{0}}, "q 1 0 0 1"},
        {"x,pads", {{0}}, 13, "AveragePool", "p", {KERNEL}, "x 1 0 0 1 counted"},
        {"x,pads",
         {{0}},
         13,
         "AveragePool",
         "p",
         {KERNEL, INTS("pads", 4, 0, 0, 1, 0), INT("count_include_pad", 1)},
         "x 1 0 1 1 counted"},
        {"x,pads,lowest", {{0}}, 13, "MaxPool", "p", {KERNEL}, "x 1 0 0 1"},
        {"r,pads", {{0}}, 13, "MaxPool", "p", {KERNEL}, "r 1 0 0 1"},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++)
        check(&cases[i]);
}

Test(fold_pad, stays)
{
    const pad_case cases[] = {
        {"x,pads,one", {{0}}, 13, "Conv", "p,w", {{0}}, NULL},
        {"x,cuts", {{0}}, 13, "Conv", "p,w", {{0}}, NULL},
        {"x,channels", {{0}}, 13, "Conv", "p,w", {{0}}, NULL},
        {"x,pads", {TEXT("mode", "edge")}, 13, "Conv", "p,w", {{0}}, NULL},
        {"x,pads", {{0}}, 13, "Conv", "p,w", {TEXT("auto_pad", "SAME_UPPER")}, NULL},
        {"q,pads,three", {{0}}, 13, "ConvInteger", "p,v,four", {{0}}, NULL},
        {"x,pads", {{0}}, 13, "AveragePool", "p", {KERNEL, INTS("pads", 4, 0, 0, 1, 0)}, NULL},
        {"x,pads", {{0}}, 13, "AveragePool", "p", {KERNEL, INT("ceil_mode", 1)}, NULL},
        {"x,wide", {{0}}, 13, "AveragePool", "p", {KERNEL}, NULL},
        {"x,pads", {{0}}, 13, "MaxPool", "p", {KERNEL}, NULL}, /* 0 may be the greatest */
        {"r,wide", {{0}}, 13, "MaxPool", "p", {KERNEL}, NULL},
        {"r,pads", {{0}}, 13, "MaxPool", "p", {KERNEL, INTS("dilations", 2, 2, 1)}, NULL},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++)
        check(&cases[i]);
}

Test(fold_pad, before_and_after)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x1x4");
    real_constant(graph, "w", "1x1x2", 1);
    build_int64(graph, "pads", 6, (int64_t[]){0, 0, 1, 0, 0, 2});
    real_node(graph, "Pad", "x,pads", "p", NULL);
    real_node(graph, "Conv", "p,w", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_pass_fold_pad, true);
    expect_graph(graph, HEADER "input x: float[1,1,4]\n"
                               "constant w: float[1,1,2] {1.0, 2.0}\n"
                               "node Conv (x, w) -> (y: float[1,1,6]) {pads=[1,2]}\n"
                               "output y: float[1,1,6]\n");
    onnxd_graph_destroy(graph);
}

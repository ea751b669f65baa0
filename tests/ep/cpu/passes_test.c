/* What the provider's graph passes make of small networks, as text. */
#include "ep/cpu/passes/passes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"
#define INT_ATTRIBUTE(key, number)                                                                 \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = (number)                  \
    }

static const int64_t two_by_two[] = {2, 2};
static const onnxd_attribute pool_attributes[] = {
    {.name = "kernel_shape", .kind = ONNXD_ATTRIBUTE_INTS, .count = 2, .value.ints = two_by_two},
    {0}};

/* x [1,3,4,4] into two maps of 1 x 1, "c". */
static onnxd_graph *graph_with_conv(void)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x3x4x4");
    real_constant(graph, "w", "2x3x1x1", 0);
    real_node(graph, "Conv", "x,w", "c", NULL);
    return graph;
}

Test(channels_last, follows_what_stands_between)
{
    onnxd_graph *graph = graph_with_conv();
    real_node(graph, "Relu", "c", "r", NULL);
    real_node(graph, "MaxPool", "r", "p", pool_attributes);
    real_node(graph, "Flatten", "p", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    expect_graph(graph, HEADER
                 "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "node Transpose (x) -> (x/channels_last/6: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/6, w) -> (c/channels_last/7: float[1,4,4,2])\n"
                 "node Relu (c/channels_last/7) -> (r/channels_last/8: float[1,4,4,2])\n"
                 "node onnxd.MaxPool (r/channels_last/8) -> (p/channels_last/9: float[1,3,3,2]) "
                 "{kernel_shape=[2,2]}\n"
                 "node Transpose (p/channels_last/9) -> (p: float[1,2,3,3]) {perm=[0,3,1,2]}\n"
                 "node Flatten (p) -> (y: float[1,18])\n"
                 "output y: float[1,18]\n");
    onnxd_graph_destroy(graph);
}

Test(channels_last, constants_and_axes_follow)
{
    const onnxd_attribute axis[] = {INT_ATTRIBUTE("axis", -3), {0}};
    onnxd_graph *graph = graph_with_conv();
    real_constant(graph, "m", "2x1x1", 5);
    real_constant(graph, "s", "1", 7);
    real_node(graph, "Mul", "c,m", "d", NULL);
    real_node(graph, "Add", "s,d", "e", NULL);
    real_node(graph, "Concat", "e,x", "y", axis);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    expect_graph(graph, HEADER
                 "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "constant s: float[1] {7.0}\n"
                 "constant m/channels_last/10: float[1,1,1,2] {5.0, 6.0}\n"
                 "node Transpose (x) -> (x/channels_last/8: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/8, w) -> (c/channels_last/9: float[1,4,4,2])\n"
                 "node Mul (c/channels_last/9, m/channels_last/10) -> (d/channels_last/11: "
                 "float[1,4,4,2])\n"
                 "node Add (s, d/channels_last/11) -> (e/channels_last/12: float[1,4,4,2])\n"
                 "node Concat (e/channels_last/12, x/channels_last/8) -> (y/channels_last/13: "
                 "float[1,4,4,5]) {axis=3}\n"
                 "node Transpose (y/channels_last/13) -> (y: float[1,5,4,4]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,5,4,4]\n");
    onnxd_graph_destroy(graph);
}

Test(channels_last, normalization_is_a_convolution)
{
    onnxd_graph *graph = graph_with_conv();
    real_constant(graph, "one", "2", 1);
    real_constant(graph, "zero", "2", 0);
    real_node(graph, "Relu", "c", "r", NULL);
    real_node(graph, "BatchNormalization", "r,one,zero,zero,one", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    const onnxd_node *node = &graph->nodes[3];
    cr_assert(strcmp(node->domain, "onnxd") == 0 && strcmp(node->op_type, "Conv") == 0);
    const onnxd_attribute *group = onnxd_node_attribute(node, "group");
    cr_expect(group != NULL && group->value.i == 2);
    const onnxd_shape *shape = &graph->values[node->inputs[1]].type.shape;
    cr_expect(shape->rank == 4 && shape->dims[0] == 2 && shape->dims[1] == 1);
    onnxd_graph_destroy(graph);
}

/* Weights that a request brings, matrices and other types. */
Test(channels_last, leaves_alone)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x3x4x4");
    real_type(graph, "w", "2x3x1x1");
    real_node(graph, "Conv", "x,w", "c", NULL);
    real_node(graph, "MaxPool", "c", "p", pool_attributes);
    real_node(graph, "Relu", "p", "y", NULL);
    build_signature(graph, "x,w", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, false);
    onnxd_graph_destroy(graph);
}

/* ---- shuffles of channels ---------------------------------------------------------------------
 */

static void build_shuffle(onnxd_graph *graph, const int64_t *swap)
{
    static const int64_t parted[] = {1, 1, 2, 4, 4}, joined[] = {1, 2, 4, 4};
    const onnxd_attribute perm[] = {
        {.name = "perm", .kind = ONNXD_ATTRIBUTE_INTS, .count = 5, .value.ints = swap}, {0}};
    build_int64(graph, "parted", 5, parted);
    build_int64(graph, "joined", 4, joined);
    real_constant(graph, "v", "2x2x1x1", 0);
    real_node(graph, "Reshape", "c,parted", "p", NULL);
    real_node(graph, "Transpose", "p", "s", perm);
    real_node(graph, "Reshape", "s,joined", "j", NULL);
    real_node(graph, "Conv", "j,v", "y", NULL);
    build_signature(graph, "x", "y");
}

Test(shuffle_channels, stays_channels_last)
{
    static const int64_t swap[] = {0, 2, 1, 3, 4};
    onnxd_graph *graph = graph_with_conv();
    build_shuffle(graph, swap);
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    real_pass(graph, &onnxd_cpu_pass_shuffle_channels, true);
    expect_graph(graph, HEADER
                 "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "constant v: float[2,2,1,1] {0.0, 1.0, 2.0, 3.0}\n"
                 "constant c/channels_last/11/shape/14: int64[5] {0, 0, 0, 1, 2}\n"
                 "constant s/shape/15: int64[4] {0, 0, 0, 2}\n"
                 "node Transpose (x) -> (x/channels_last/10: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/10, w) -> (c/channels_last/11: float[1,4,4,2])\n"
                 "node Reshape (c/channels_last/11, c/channels_last/11/shape/14) -> (p: "
                 "float[1,4,4,1,2])\n"
                 "node Transpose (p) -> (s: float[1,4,4,2,1]) {perm=[0,1,2,4,3]}\n"
                 "node Reshape (s, s/shape/15) -> (j/channels_last/12: float[1,4,4,2])\n"
                 "node onnxd.Conv (j/channels_last/12, v) -> (y/channels_last/13: float[1,4,4,2])\n"
                 "node Transpose (y/channels_last/13) -> (y: float[1,2,4,4]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,2,4,4]\n");
    onnxd_graph_destroy(graph);
}

Test(shuffle_channels, leaves_other_orders_alone)
{
    static const int64_t turn[] = {0, 1, 2, 4, 3};
    onnxd_graph *graph = graph_with_conv();
    build_shuffle(graph, turn);
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    real_pass(graph, &onnxd_cpu_pass_shuffle_channels, false);
    onnxd_graph_destroy(graph);
}

/* ---- fusion ---------------------------------------------------------------------------------- */

static void fuse(onnxd_graph *graph, bool expect_change)
{
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    expect_ok(onnxd_graph_compact(graph));
    real_pass(graph, &onnxd_cpu_pass_fuse_convolution, expect_change);
}

Test(fuse_convolution, addition_and_activation)
{
    const onnxd_attribute slope[] = {
        {.name = "alpha", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 0.5f}, {0}};
    onnxd_graph *graph = graph_with_conv();
    real_node(graph, "Conv", "x,w", "d", NULL);
    real_node(graph, "Add", "c,d", "e", NULL);
    real_node(graph, "LeakyRelu", "e", "y", slope);
    build_signature(graph, "x", "y");
    fuse(graph, true);
    expect_graph(
        graph, HEADER
        "input x: float[1,3,4,4]\n"
        "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
        "node Transpose (x) -> (x/channels_last/6: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
        "node onnxd.Conv (x/channels_last/6, w) -> (c/channels_last/7: float[1,4,4,2])\n"
        "node onnxd.Conv (x/channels_last/6, w, -, c/channels_last/7) -> (y/channels_last/10: "
        "float[1,4,4,2]) {activation=\"LeakyRelu\", activation_params=[0.5]}\n"
        "node Transpose (y/channels_last/10) -> (y: float[1,2,4,4]) {perm=[0,3,1,2]}\n"
        "output y: float[1,2,4,4]\n");
    onnxd_graph_destroy(graph);
}

Test(fuse_convolution, every_activation)
{
    static const char *const names[] = {"Relu",      "Tanh",        "Sigmoid",
                                        "LeakyRelu", "HardSigmoid", "Clip"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        onnxd_graph *graph = graph_with_conv();
        real_node(graph, names[i], "c", "y", NULL);
        build_signature(graph, "x", "y");
        fuse(graph, true);
        cr_expect(graph->node_count == 3, "%s: %u nodes", names[i], graph->node_count);
        onnxd_graph_destroy(graph);
    }
}

/* A result that somebody else reads, an addend of another shape, a second activation. */
Test(fuse_convolution, leaves_alone)
{
    onnxd_graph *graph = graph_with_conv();
    real_type(graph, "one", "1x2x1x1");
    real_node(graph, "Add", "c,one", "d", NULL);
    build_signature(graph, "x,one", "d");
    fuse(graph, false);
    onnxd_graph_destroy(graph);

    graph = graph_with_conv();
    real_node(graph, "Relu", "c", "d", NULL);
    real_node(graph, "Add", "c,d", "y", NULL);
    build_signature(graph, "x", "y");
    fuse(graph, false);
    onnxd_graph_destroy(graph);

    graph = graph_with_conv();
    real_node(graph, "Relu", "c", "d", NULL);
    real_node(graph, "Tanh", "d", "y", NULL);
    build_signature(graph, "x", "y");
    fuse(graph, true);
    cr_expect(graph->node_count == 4, "%u nodes", graph->node_count);
    onnxd_graph_destroy(graph);
}

/* ---- GELU ------------------------------------------------------------------------------------ */

/* One element, of rank 0. */
static void build_scalar(onnxd_graph *graph, const char *name, float value)
{
    real_constant(graph, name, "", value);
}

static onnxd_graph *graph_with_erf(float one)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3");
    build_scalar(graph, "root", 1.41421354f);
    build_scalar(graph, "one", one);
    build_scalar(graph, "half", 0.5f);
    real_node(graph, "Div", "x,root", "d", NULL);
    real_node(graph, "Erf", "d", "e", NULL);
    real_node(graph, "Add", "one,e", "s", NULL);
    return graph;
}

Test(fuse_gelu, every_order_of_factors)
{
    static const char *const factors[][2] = {
        {"x,s", "m,half"}, {"x,half", "s,m"}, {"half,s", "x,m"}};
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        onnxd_graph *graph = graph_with_erf(1);
        real_node(graph, "Mul", factors[i][0], "m", NULL);
        real_node(graph, "Mul", factors[i][1], "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_gelu, true);
        expect_graph(graph, HEADER "input x: float[2,3]\n"
                                   "node Gelu (x) -> (y: float[2,3])\n"
                                   "output y: float[2,3]\n");
        onnxd_graph_destroy(graph);
    }
}

/* Another number, another factor, a part that somebody else reads. */
Test(fuse_gelu, leaves_alone)
{
    for (int i = 0; i < 3; i++) {
        onnxd_graph *graph = graph_with_erf(i == 0 ? 1.5f : 1);
        real_node(graph, "Mul", i == 1 ? "d,s" : "x,s", "m", NULL);
        real_node(graph, "Mul", "m,half", "y", NULL);
        build_signature(graph, "x", i == 2 ? "y,e" : "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_gelu, false);
        onnxd_graph_destroy(graph);
    }
}

/* ---- Dense ----------------------------------------------------------------------------------- */

Test(fuse_dense, bias_addition_and_activation)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "5x2");
    real_constant(graph, "w", "2x3", 0);
    real_constant(graph, "b", "3", 1);
    real_node(graph, "MatMul", "x,w", "m", NULL);
    real_node(graph, "Add", "b,m", "d", NULL);
    real_node(graph, "MatMul", "x,w", "n", NULL);
    real_node(graph, "Add", "n,b", "e", NULL);
    real_node(graph, "Add", "d,e", "s", NULL);
    real_node(graph, "Relu", "s", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_fuse_dense, true);
    expect_graph(graph, HEADER "input x: float[5,2]\n"
                               "constant w: float[2,3] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                               "constant b: float[3] {1.0, 2.0, 3.0}\n"
                               "node onnxd.Dense (x, w, b) -> (d: float[5,3])\n"
                               "node onnxd.Dense (x, w, b, d) -> (y: float[5,3]) "
                               "{activation=\"Relu\"}\n"
                               "output y: float[5,3]\n");
    onnxd_graph_destroy(graph);
}

/* Weights that a request brings, a bias of another shape, a product that somebody else reads. */
Test(fuse_dense, leaves_alone)
{
    static const char *const dims[][2] = {{"2x3", "1"}, {"2x3", "1x3"}, {"1x2x3", "3"}};
    for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
        onnxd_graph *graph = build_graph();
        real_type(graph, "x", "5x2");
        real_constant(graph, "w", dims[i][0], 0);
        real_constant(graph, "b", dims[i][1], 1);
        real_node(graph, "MatMul", "x,w", "m", NULL);
        real_node(graph, "Add", "m,b", "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_dense, false);
        onnxd_graph_destroy(graph);
    }
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "5x2");
    real_constant(graph, "w", "2x3", 0);
    real_constant(graph, "b", "3", 1);
    real_node(graph, "MatMul", "x,w", "m", NULL);
    real_node(graph, "Add", "m,b", "y", NULL);
    build_signature(graph, "x", "y,m");
    real_pass(graph, &onnxd_cpu_pass_fuse_dense, false);
    onnxd_graph_destroy(graph);
}

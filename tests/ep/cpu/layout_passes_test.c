/* What channels_last makes of operators that name dimensions, as text. */
#include <criterion/criterion.h>

#include "ep/cpu/passes/passes.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"
#define WEIGHTS "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
#define TEXT(key, string)                                                                          \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_STRING, .count = 1, .value.s = {                      \
            string,                                                                                \
            sizeof(string) - 1                                                                     \
        }                                                                                          \
    }
#define NUMBER(key, number)                                                                        \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = (number)                  \
    }
#define LIST(key, numbers)                                                                         \
    {                                                                                              \
        .name = key, .kind = ONNXD_ATTRIBUTE_INTS,                                                 \
        .count = sizeof(numbers) / sizeof((numbers)[0]), .value.ints = numbers                     \
    }

/* x [1,3,4,4] into two maps of 1 x 1, "c". */
static onnxd_graph *graph_with_conv(void)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x3x4x4");
    real_constant(graph, "w", "2x3x1x1", 0);
    real_node(graph, "Conv", "x,w", "c", NULL);
    return graph;
}

/* Runs the pass on what ends in y. */
static void check(onnxd_graph *graph, const char *text)
{
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    expect_graph(graph, text);
    onnxd_graph_destroy(graph);
}

Test(channels_last, resize)
{
    static const float scales[] = {1, 1, 2, 3};
    const onnxd_attribute mode[] = {TEXT("mode", "linear"), {0}};
    onnxd_graph *graph = graph_with_conv();
    build_float(graph, "s", 4, scales);
    real_node(graph, "Resize", "c,,s", "y", mode);
    check(graph,
          HEADER "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "constant s/channels_last/7: float[4] {1.0, 2.0, 3.0, 1.0}\n"
                 "node Transpose (x) -> (x/channels_last/5: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/5, w) -> (c/channels_last/6: float[1,4,4,2])\n"
                 "node Resize (c/channels_last/6, -, s/channels_last/7) -> (y/channels_last/8: "
                 "float[1,8,12,2]) {mode=\"linear\"}\n"
                 "node Transpose (y/channels_last/8) -> (y: float[1,2,8,12]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,2,8,12]\n");
}

Test(channels_last, resize_to_sizes)
{
    static const int64_t sizes[] = {1, 2, 5, 6};
    onnxd_graph *graph = graph_with_conv();
    build_int64(graph, "s", 4, sizes);
    real_node(graph, "Resize", "c,,,s", "y", NULL);
    check(graph,
          HEADER "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "constant c/channels_last/7: int64[4] {1, 5, 6, 2}\n"
                 "node Transpose (x) -> (x/channels_last/5: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/5, w) -> (c/channels_last/6: float[1,4,4,2])\n"
                 "node Resize (c/channels_last/6, -, -, c/channels_last/7) -> (y/channels_last/8: "
                 "float[1,5,6,2])\n"
                 "node Transpose (y/channels_last/8) -> (y: float[1,2,5,6]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,2,5,6]\n");
}

Test(channels_last, slice_and_pad)
{
    static const int64_t starts[] = {1, 0}, ends[] = {2, 3}, axes[] = {1, -1};
    static const int64_t pads[] = {0, 1, 2, 3, 4, 5, 6, 7};
    onnxd_graph *graph = graph_with_conv();
    build_int64(graph, "s", 2, starts);
    build_int64(graph, "e", 2, ends);
    build_int64(graph, "a", 2, axes);
    build_int64(graph, "p", 8, pads);
    real_node(graph, "Slice", "c,s,e,a", "d", NULL);
    real_node(graph, "Pad", "d,p", "y", NULL);
    check(graph, HEADER
          "input x: float[1,3,4,4]\n"
          "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
          "constant s: int64[2] {1, 0}\n"
          "constant e: int64[2] {2, 3}\n"
          "constant c/channels_last/11: int64[2] {3, 2}\n"
          "constant d/channels_last/13: int64[8] {0, 2, 3, 1, 4, 6, 7, 5}\n"
          "node Transpose (x) -> (x/channels_last/9: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
          "node onnxd.Conv (x/channels_last/9, w) -> (c/channels_last/10: float[1,4,4,2])\n"
          "node Slice (c/channels_last/10, s, e, c/channels_last/11) -> (d/channels_last/12: "
          "float[1,4,3,1])\n"
          "node Pad (d/channels_last/12, d/channels_last/13) -> (y/channels_last/14: "
          "float[5,12,13,7])\n"
          "node Transpose (y/channels_last/14) -> (y: float[5,7,12,13]) {perm=[0,3,1,2]}\n"
          "output y: float[5,7,12,13]\n");
}

Test(channels_last, split_and_softmax)
{
    const onnxd_attribute axis[] = {NUMBER("axis", 1), {0}}, spatial[] = {NUMBER("axis", -2), {0}};
    onnxd_graph *graph = graph_with_conv();
    real_node(graph, "Split", "c", "a,b", axis);
    real_node(graph, "Softmax", "a", "d", spatial);
    real_node(graph, "Sub", "d,b", "y", NULL);
    check(graph,
          HEADER "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "node Transpose (x) -> (x/channels_last/7: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/7, w) -> (c/channels_last/8: float[1,4,4,2])\n"
                 "node Split (c/channels_last/8) -> (a/channels_last/9: float[1,4,4,1], "
                 "b/channels_last/10: float[1,4,4,1]) {axis=3}\n"
                 "node Softmax (a/channels_last/9) -> (d/channels_last/11: float[1,4,4,1]) "
                 "{axis=1}\n"
                 "node Sub (d/channels_last/11, b/channels_last/10) -> (y/channels_last/12: "
                 "float[1,4,4,1])\n"
                 "node Transpose (y/channels_last/12) -> (y: float[1,1,4,4]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,1,4,4]\n");
}

/* One pixel is only given another shape. */
Test(channels_last, mean_of_all_pixels)
{
    static const int64_t axes[] = {-1, 2};
    const onnxd_attribute attributes[] = {LIST("axes", axes), {0}};
    onnxd_graph *graph = graph_with_conv();
    real_node(graph, "ReduceMean", "c", "m", attributes);
    real_node(graph, "Flatten", "m", "y", NULL);
    check(graph,
          HEADER "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "constant m/channels_last/7/shape/8: int64[4] {0, 2, 1, 1}\n"
                 "node Transpose (x) -> (x/channels_last/5: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/5, w) -> (c/channels_last/6: float[1,4,4,2])\n"
                 "node onnxd.GlobalAveragePool (c/channels_last/6) -> (m/channels_last/7: "
                 "float[1,1,1,2])\n"
                 "node Reshape (m/channels_last/7, m/channels_last/7/shape/8) -> (m: "
                 "float[1,2,1,1])\n"
                 "node Flatten (m) -> (y: float[1,2])\n"
                 "output y: float[1,2]\n");
}

Test(channels_last, squeeze_and_the_models_own_order)
{
    static const int64_t axes[] = {2}, perm[] = {0, 2, 1};
    const onnxd_attribute attributes[] = {LIST("perm", perm), {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x3x1x4");
    real_constant(graph, "w", "2x3x1x1", 0);
    real_node(graph, "Conv", "x,w", "c", NULL);
    build_int64(graph, "a", 1, axes);
    real_node(graph, "Squeeze", "c,a", "s", NULL);
    real_node(graph, "Transpose", "s", "t", attributes);
    real_node(graph, "Relu", "t", "y", NULL);
    check(graph,
          HEADER "input x: float[1,3,1,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "constant c/channels_last/9: int64[1] {1}\n"
                 "node Transpose (x) -> (x/channels_last/7: float[1,1,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/7, w) -> (c/channels_last/8: float[1,1,4,2])\n"
                 "node Squeeze (c/channels_last/8, c/channels_last/9) -> (t: float[1,4,2])\n"
                 "node Relu (t) -> (y: float[1,4,2])\n"
                 "output y: float[1,4,2]\n");
}

Test(channels_last, back_from_the_models_own_order)
{
    static const int64_t perm[] = {0, 3, 1, 2};
    const onnxd_attribute attributes[] = {LIST("perm", perm), {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x4x4x3");
    real_constant(graph, "w", "2x3x1x1", 0);
    real_node(graph, "Transpose", "x", "t", attributes);
    real_node(graph, "Conv", "t,w", "y", NULL);
    check(graph,
          HEADER "input x: float[1,4,4,3]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "node onnxd.Conv (x, w) -> (y/channels_last/4: float[1,4,4,2])\n"
                 "node Transpose (y/channels_last/4) -> (y: float[1,2,4,4]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,2,4,4]\n");
}

Test(channels_last, transposed_convolution)
{
    static const int64_t strides[] = {2, 2};
    const onnxd_attribute attributes[] = {LIST("strides", strides), {0}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x2x3x3");
    real_constant(graph, "v", "2x1x2x2", 0);
    real_constant(graph, "b", "1", 9);
    real_node(graph, "ConvTranspose", "x,v,b", "t", attributes);
    real_node(graph, "Relu", "t", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    expect_ok(onnxd_graph_compact(graph));
    real_pass(graph, &onnxd_cpu_pass_fuse_convolution, true);
    expect_graph(graph, HEADER
                 "input x: float[1,2,3,3]\n"
                 "constant v/blocks/5: float[4,2,1,1] {0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0}\n"
                 "constant b/blocks/6: float[4] {9.0, 9.0, 9.0, 9.0}\n"
                 "node Transpose (x) -> (x/channels_last/7: float[1,3,3,2]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/7, v/blocks/5, b/blocks/6) -> (t/blocks/8: "
                 "float[1,3,3,4]) {activation=\"Relu\"}\n"
                 "node onnxd.DepthToSpace (t/blocks/8) -> (y/channels_last/10: float[1,6,6,1]) "
                 "{blocksize=2}\n"
                 "node Transpose (y/channels_last/10) -> (y: float[1,1,6,6]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,1,6,6]\n");
    onnxd_graph_destroy(graph);
}

/* Windows that overlap, padding, groups; regions of a Resize; a mean over the channels. */
Test(channels_last, other_dimensions_stay)
{
    static const int64_t strides[] = {1, 1}, two[] = {2, 2}, pads[] = {1, 0, 0, 0},
                         channels[] = {1};
    const onnxd_attribute transposed[][4] = {{LIST("strides", strides), {0}},
                                             {LIST("strides", two), LIST("pads", pads), {0}},
                                             {LIST("strides", two), NUMBER("group", 2), {0}}};
    for (size_t i = 0; i < sizeof(transposed) / sizeof(transposed[0]); i++) {
        onnxd_graph *graph = build_graph();
        real_type(graph, "x", "1x2x3x3");
        real_constant(graph, "v", "2x1x2x2", 0);
        real_node(graph, "ConvTranspose", "x,v", "y", transposed[i]);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_cpu_pass_channels_last, false);
        onnxd_graph_destroy(graph);
    }
    const onnxd_attribute axes[] = {LIST("axes", channels), {0}};
    onnxd_graph *graph = graph_with_conv();
    real_node(graph, "ReduceMean", "c", "y", axes);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    cr_expect(graph->node_count == 4, "%u nodes", graph->node_count);
    onnxd_graph_destroy(graph);
}

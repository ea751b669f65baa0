/* What the passes over quantised models make of small networks, as text. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ep/cpu/passes/passes.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

static void byte_constant(onnxd_graph *graph, const char *name, onnxd_dtype dtype, const char *dims,
                          const void *elements)
{
    onnxd_shape shape = {.rank = 0};
    onnxd_tensor *tensor = NULL;
    for (const char *at = dims; *at != '\0'; at++)
        if (*at != 'x')
            shape.dims[shape.rank++] = *at - '0';
    cr_assert_null(onnxd_tensor_create(dtype, &shape, &tensor));
    memcpy(tensor->data, elements, tensor->bytes);
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

static void add_scalars(onnxd_graph *graph)
{
    static const uint8_t zero = 3;
    real_constant(graph, "s", "", 0.5f);
    byte_constant(graph, "z", ONNXD_UINT8, "", &zero);
}

/* x between QuantizeLinear and DequantizeLinear: "dx". */
static void add_input(onnxd_graph *graph, const char *dims)
{
    real_type(graph, "x", dims);
    add_scalars(graph);
    real_node(graph, "QuantizeLinear", "x,s,z", "qx", NULL);
    real_node(graph, "DequantizeLinear", "qx,s,z", "dx", NULL);
}

static const int8_t weights[] = {1, -2, 3, 4};
static const onnxd_attribute axis_0[] = {
    {.name = "axis", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 0}, {0}};

/* Two maps of 1 x 1 with a scale each: "dw". */
static void add_weights(onnxd_graph *graph)
{
    byte_constant(graph, "w", ONNXD_INT8, "2x2x1x1", weights);
    real_constant(graph, "ws", "2", 1);
    real_node(graph, "DequantizeLinear", "w,ws", "dw", axis_0);
}

Test(fuse_quantized, convolution_with_a_bias_in_steps)
{
    onnxd_graph *graph = build_graph();
    add_input(graph, "1x2x3x3");
    add_weights(graph);
    /* 5 and 6 in steps of 0.5 times 1 and 2. */
    real_constant(graph, "b", "2", 5);
    real_node(graph, "Conv", "dx,dw,b", "c", NULL);
    real_node(graph, "QuantizeLinear", "c,s,z", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized, true);
    expect_graph(graph,
                 HEADER "input x: float[1,2,3,3]\n"
                        "constant s: float[] {0.5}\n"
                        "constant z: uint8[] {3}\n"
                        "constant w: int8[2,2,1,1] {.., .., .., ..}\n"
                        "constant ws: float[2] {1.0, 2.0}\n"
                        "constant ws/zero/11: int8[2] {.., ..}\n"
                        "constant b/quantized/12: int32[2] {10, 6}\n"
                        "node QuantizeLinear (x, s, z) -> (qx: uint8[1,2,3,3])\n"
                        "node QLinearConv (qx, s, z, w, ws, ws/zero/11, s, z, b/quantized/12) -> "
                        "(y: uint8[1,2,3,3])\n"
                        "output y: uint8[1,2,3,3]\n");
    onnxd_graph_destroy(graph);
}

Test(fuse_quantized, sums_and_movements)
{
    onnxd_graph *graph = build_graph();
    add_input(graph, "1x2x3x3");
    real_node(graph, "Add", "dx,dx", "a", NULL);
    real_node(graph, "QuantizeLinear", "a,s,z", "qa", NULL);
    real_node(graph, "DequantizeLinear", "qa,s,z", "da", NULL);
    real_node(graph, "Flatten", "da", "f", NULL);
    real_node(graph, "QuantizeLinear", "f,s,z", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized, true);
    expect_graph(graph, HEADER "input x: float[1,2,3,3]\n"
                               "constant s: float[] {0.5}\n"
                               "constant z: uint8[] {3}\n"
                               "node QuantizeLinear (x, s, z) -> (qx: uint8[1,2,3,3])\n"
                               "node com.microsoft.QLinearAdd (qx, s, z, qx, s, z, s, z) -> "
                               "(qa: uint8[1,2,3,3])\n"
                               "node Flatten (qa) -> (y: uint8[1,18])\n"
                               "output y: uint8[1,18]\n");
    onnxd_graph_destroy(graph);
}

/* A result that stays real. */
Test(fuse_quantized, products)
{
    onnxd_graph *graph = build_graph();
    add_input(graph, "3x2");
    byte_constant(graph, "w", ONNXD_INT8, "2x2", weights);
    real_constant(graph, "ws", "", 1);
    real_node(graph, "DequantizeLinear", "w,ws", "dw", NULL);
    real_node(graph, "MatMul", "dx,dw", "m", NULL);
    real_node(graph, "Gemm", "dx,dw", "g", NULL);
    real_node(graph, "QuantizeLinear", "g,s,z", "y", NULL);
    build_signature(graph, "x", "m,y");
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized, true);
    expect_graph(graph,
                 HEADER "input x: float[3,2]\n"
                        "constant s: float[] {0.5}\n"
                        "constant z: uint8[] {3}\n"
                        "constant w: int8[2,2] {.., .., .., ..}\n"
                        "constant ws: float[] {1.0}\n"
                        "constant ws/zero/11: int8[] {..}\n"
                        "constant ws/zero/12: int8[] {..}\n"
                        "node QuantizeLinear (x, s, z) -> (qx: uint8[3,2])\n"
                        "node com.microsoft.MatMulIntegerToFloat (qx, w, s, ws, z, ws/zero/11) -> "
                        "(m: float[3,2])\n"
                        "node com.microsoft.QGemm (qx, s, z, w, ws, ws/zero/12, -, s, z) -> "
                        "(y: uint8[3,2]) {transB=0}\n"
                        "output m: float[3,2]\n"
                        "output y: uint8[3,2]\n");
    onnxd_graph_destroy(graph);
}

/* Weights that a request brings, a result that others read too, a Relu before negative numbers. */
Test(fuse_quantized, leaves_alone)
{
    onnxd_graph *graph = build_graph();
    add_input(graph, "1x2x3x3");
    add_weights(graph);
    real_type(graph, "v", "2x2x1x1");
    real_node(graph, "Conv", "dx,v", "c", NULL);
    real_node(graph, "QuantizeLinear", "c,s,z", "y", NULL);
    real_node(graph, "Conv", "dx,dw", "d", NULL);
    real_node(graph, "QuantizeLinear", "d,s,z", "e", NULL);
    real_node(graph, "Conv", "dx,dw", "f", NULL);
    real_node(graph, "Relu", "f", "g", NULL);
    real_node(graph, "QuantizeLinear", "g,s,z", "h", NULL);
    build_signature(graph, "x,v", "y,d,e,h");
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized, false);
    onnxd_graph_destroy(graph);
}

Test(fuse_dynamic, five_nodes_are_one)
{
    const onnxd_attribute to[] = {
        {.name = "to", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 1}, {0}};
    static const int8_t zero = 0;
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "3x2");
    byte_constant(graph, "w", ONNXD_INT8, "2x2", weights);
    byte_constant(graph, "wz", ONNXD_INT8, "", &zero);
    real_constant(graph, "ws", "", 2);
    real_constant(graph, "b", "2", 7);
    real_node(graph, "DynamicQuantizeLinear", "x", "q,s,z", NULL);
    real_node(graph, "Mul", "s,ws", "sw", NULL);
    real_node(graph, "MatMulInteger", "q,w,z,wz", "m", NULL);
    real_node(graph, "Cast", "m", "c", to);
    real_node(graph, "Mul", "c,sw", "p", NULL);
    real_node(graph, "Add", "b,p", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_fuse_dynamic, true);
    expect_graph(graph, HEADER
                 "input x: float[3,2]\n"
                 "constant w: int8[2,2] {.., .., .., ..}\n"
                 "constant wz: int8[] {..}\n"
                 "constant ws: float[] {2.0}\n"
                 "constant b: float[2] {7.0, 8.0}\n"
                 "node DynamicQuantizeLinear (x) -> (q: uint8[3,2], s: float[], z: uint8[])\n"
                 "node com.microsoft.MatMulIntegerToFloat (q, w, s, ws, z, wz, b) -> "
                 "(y: float[3,2])\n"
                 "output y: float[3,2]\n");
    onnxd_graph_destroy(graph);
}

/* x ─► Conv ─► c, c + x, both quantised, as the passes before fuse_quantized_sum leave them. c is
 * read with the scale and zero point `parameters`. */
static onnxd_graph *quantised_residual(const char *operands, const char *parameters,
                                       const char *outputs)
{
    static const uint8_t none = 0;
    onnxd_graph *graph = build_graph();
    char quantised[32];
    add_input(graph, "1x2x3x3");
    add_weights(graph);
    if (strcmp(parameters, "s,z") != 0) {
        real_constant(graph, "t", "", 0.25f);
        byte_constant(graph, "o", ONNXD_UINT8, "", &none);
    }
    real_node(graph, "Conv", "dx,dw", "c", NULL);
    real_node(graph, "QuantizeLinear", "c,s,z", "qc", NULL);
    snprintf(quantised, sizeof(quantised), "qc,%s", parameters);
    real_node(graph, "DequantizeLinear", quantised, "dc", NULL);
    real_node(graph, "Add", operands, "a", NULL);
    real_node(graph, "QuantizeLinear", "a,s,z", "qa", NULL);
    real_node(graph, "DequantizeLinear", "qa,s,z", "y", NULL);
    build_signature(graph, "x", outputs);
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized, true);
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    return graph;
}

/* Images of bytes go channels-last as those of floats do. */
Test(channels_last, quantised_images)
{
    onnxd_graph *graph = quantised_residual("dc,dx", "s,z", "y");
    expect_graph(
        graph,
        HEADER "input x: float[1,2,3,3]\n"
               "constant s: float[] {0.5}\n"
               "constant z: uint8[] {3}\n"
               "constant w: int8[2,2,1,1] {.., .., .., ..}\n"
               "constant ws: float[2] {1.0, 2.0}\n"
               "constant ws/zero/14: int8[2] {.., ..}\n"
               "node QuantizeLinear (x, s, z) -> (qx: uint8[1,2,3,3])\n"
               "node Transpose (qx) -> (qx/channels_last/15: uint8[1,3,3,2]) {perm=[0,2,3,1]}\n"
               "node onnxd.QLinearConv (qx/channels_last/15, s, z, w, ws, ws/zero/14, s, z) -> "
               "(qc/channels_last/16: uint8[1,3,3,2])\n"
               "node com.microsoft.QLinearAdd (qc/channels_last/16, s, z, qx/channels_last/15, s, "
               "z, s, z) -> (qa/channels_last/17: uint8[1,3,3,2])\n"
               "node DequantizeLinear (qa/channels_last/17, s, z) -> (y/channels_last/18: "
               "float[1,3,3,2])\n"
               "node Transpose (y/channels_last/18) -> (y: float[1,2,3,3]) {perm=[0,3,1,2]}\n"
               "output y: float[1,2,3,3]\n");
    onnxd_graph_destroy(graph);
}

static void expect_added(onnxd_graph *graph)
{
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized_sum, true);
    expect_graph(graph, HEADER
                 "input x: float[1,2,3,3]\n"
                 "constant s: float[] {0.5}\n"
                 "constant z: uint8[] {3}\n"
                 "constant w: int8[2,2,1,1] {.., .., .., ..}\n"
                 "constant ws: float[2] {1.0, 2.0}\n"
                 "constant ws/zero/14: int8[2] {.., ..}\n"
                 "node QuantizeLinear (x, s, z) -> (qx: uint8[1,2,3,3])\n"
                 "node Transpose (qx) -> (qx/channels_last/15: uint8[1,3,3,2]) {perm=[0,2,3,1]}\n"
                 "node onnxd.QLinearConv (qx/channels_last/15, s, z, w, ws, ws/zero/14, s, z, -, "
                 "qx/channels_last/15, s, z, s, z) -> (qa/channels_last/17: uint8[1,3,3,2])\n"
                 "node DequantizeLinear (qa/channels_last/17, s, z) -> (y/channels_last/18: "
                 "float[1,3,3,2])\n"
                 "node Transpose (y/channels_last/18) -> (y: float[1,2,3,3]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,2,3,3]\n");
    onnxd_graph_destroy(graph);
}

Test(fuse_quantized_sum, of_either_operand)
{
    expect_added(quantised_residual("dc,dx", "s,z", "y"));
    expect_added(quantised_residual("dx,dc", "s,z", "y"));
}

static void expect_left_alone(const char *operands, const char *parameters, const char *outputs)
{
    onnxd_graph *graph = quantised_residual(operands, parameters, outputs);
    real_pass(graph, &onnxd_cpu_pass_fuse_quantized_sum, false);
    onnxd_graph_destroy(graph);
}

/* The sum may take the result with another scale or zero point than it was quantised with: 0.25
 * for 0.5, 0 for 3. */
Test(fuse_quantized_sum, other_parameters_stay)
{
    expect_left_alone("dc,dx", "t,z", "y");
    expect_left_alone("dc,dx", "s,o", "y");
    expect_left_alone("dx,dc", "t,o", "y");
}

/* The convolution has one place for an image, and no other reader. */
Test(fuse_quantized_sum, leaves_alone)
{
    expect_left_alone("dc,dc", "s,z", "y");
    expect_left_alone("dc,dx", "s,z", "y,qc");
}

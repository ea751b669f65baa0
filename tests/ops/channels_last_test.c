/* Operators of the domain onnxd: the portable kernels, which providers' are measured by. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

#define OWN "onnxd/"

Test(channels_last, values)
{
    static const op_text calls[] = {
        /* Two pixels of two channels; the maps are their sum and their difference. */
        {OWN "Conv", 1, "", "float[1,2,2]{1,2,3,5}; float[2,2,1]{1,1,1,-1}",
         "float[1,2,2]{3,-1,8,-2}"},
        {OWN "Conv", 1, "", "float[1,2,2]{1,2,3,5}; float[1,2,1]{1,1}; float[1]{10}",
         "float[1,2,1]{13,18}"},
        {OWN "Conv", 1, "activation='Relu'",
         "float[1,2,2]{1,2,3,5}; float[2,2,1]{1,1,1,-1}; -; float[1,2,2]{1,2,-9,3}",
         "float[1,2,2]{4,1,0,1}"},
        /* Each channel by itself, over a window of two pixels and one of padding. */
        {OWN "Conv", 1, "group=2 pads=[0,1]", "float[1,2,2]{1,2,3,5}; float[2,1,2]{1,10,1,100}",
         "float[1,2,2]{31,502,3,5}"},
        {OWN "MaxPool", 1, "kernel_shape=[2]", "float[1,3,2]{1,9,2,8,3,7}",
         "float[1,2,2]{2,9,3,8}"},
        {OWN "AveragePool", 1, "kernel_shape=[2]", "float[1,3,2]{1,9,2,7,4,7}",
         "float[1,2,2]{1.5,8,3,7}"},
        {OWN "GlobalAveragePool", 1, "", "float[1,2,1,2]{1,9,3,7}", "float[1,1,1,2]{2,8}"},
        {OWN "GlobalMaxPool", 1, "", "float[2,1,2,1]{1,9,3,7}", "float[2,1,1,1]{9,7}"},
        {OWN "LRN", 1, "size=1 alpha=1.0 beta=1.0 bias=0.0", "float[1,2,2]{1,2,4,8}",
         "float[1,2,2]{1,0.5,0.25,0.125}"},
        {OWN "DepthToSpace", 1, "blocksize=2", "float[1,1,2,4]{1,2,3,4,5,6,7,8}",
         "float[1,2,4,1]{1,2,5,6,3,4,7,8}"},
        {OWN "Conv", 1, "", "float[0,2,2]{}; float[1,2,1]{1,1}", "float[0,2,1]{}"},
        {OWN "MaxPool", 1, "kernel_shape=[2]", "int8[1,3,2]{-128,9,2,8,3,127}",
         "int8[1,2,2]{2,9,3,127}"},
        {OWN "ConvInteger", 1, "", "uint8[1,2,2]{1,2,3,5}; int8[2,2,1]{1,1,1,-1}; uint8[]{1}",
         "int32[1,2,2]{1,-1,6,-2}"},
        /* Sums 3, -1, 8 and -2 times 0.5, rounded to even, plus 10. */
        {OWN "QLinearConv", 1, "",
         "uint8[1,2,2]{1,2,3,5}; float[]{1}; uint8[]{0}; int8[2,2,1]{1,1,1,-1}; float[]{0.5}; "
         "int8[]{0}; float[]{1}; uint8[]{10}",
         "uint8[1,2,2]{12,10,14,9}"},
        /* The same, less 10, times 1 / 2, and the others less 4 times 0.25 / 2; plus 1. */
        {OWN "QLinearConv", 1, "",
         "uint8[1,2,2]{1,2,3,5}; float[]{1}; uint8[]{0}; int8[2,2,1]{1,1,1,-1}; float[]{0.5}; "
         "int8[]{0}; float[]{1}; uint8[]{10}; -; uint8[1,2,2]{20,36,4,0}; float[]{0.25}; "
         "uint8[]{4}; float[]{2}; uint8[]{1}",
         "uint8[1,2,2]{4,5,3,0}"},
        /* Absent zero points are 0. */
        {OWN "QLinearConv", 1, "",
         "uint8[1,2,1]{1,2}; float[]{1}; uint8[]{0}; int8[1,1,1]{1}; float[]{1}; int8[]{0}; "
         "float[]{1}; uint8[]{0}; -; uint8[1,2,1]{3,4}; float[]{1}; -; float[]{1}",
         "uint8[1,2,1]{4,6}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(channels_last, shapes)
{
    static const op_text shapes[] = {
        {OWN "Conv", 1, "pads=[1,1,1,1]", "float[s0,?,8,3]; float[16,3,3,3]", "float[s0,?,8,16]"},
        {OWN "Conv", 1, "", "float[1,8,8,3]; float[16,4,3,3]", "error: channels"},
        {OWN "Conv", 1, "", "float[1,8,8,3]; float[16,3,3,3]; -; float[1,6,6,15]",
         "error: dimension 1 of input 3 is 15, but 16 is needed"},
        {OWN "MaxPool", 1, "kernel_shape=[2,2] strides=[2,2]", "float[s0,8,6,3]",
         "float[s0,4,3,3]"},
        {OWN "GlobalAveragePool", 1, "", "float[2,?,6,3]", "float[2,1,1,3]"},
        {OWN "GlobalMaxPool", 1, "", "float[2,3]",
         "error: input 0 has rank 2, needed is at least 3"},
        {OWN "MaxPool", 1, "kernel_shape=[2,2]", "float*", "float[?,?,?,?]"},
        {OWN "QLinearConv", 1, "",
         "uint8[s0,2,2]; float[]; uint8[]; int8[3,2,1]; float[]; int8[]; float[]; uint8[]; -; "
         "uint8[s0,2,3]; float[]; uint8[]; float[]; uint8[]",
         "uint8[s0,2,3]"},
        {OWN "QLinearConv", 1, "",
         "uint8[1,2,2]; float[]; uint8[]; int8[3,2,1]; float[]; int8[]; float[]; uint8[]; -; "
         "uint8[1,2,2]; float[]; uint8[]; float[]; uint8[]",
         "error: dimension 2 of input 9 is 2, but 3 is needed"},
        {OWN "QLinearConv", 1, "",
         "uint8[1,2,2]; float[]; uint8[]; int8[3,2,1]; float[]; int8[]; float[]; uint8[]; -; "
         "uint8[1,2,3]; float[2]; uint8[]; float[]; uint8[]",
         "error: input 10 has shape [2], it must be one element"},
    };
    EXPECT_INFERRED(shapes);
}

Test(dense, values_and_shapes)
{
    static const op_text calls[] = {
        {OWN "Dense", 1, "", "float[2,2]{1,2,3,4}; float[2,1]{1,10}; float[1]{100}",
         "float[2,1]{121,143}"},
        {OWN "Dense", 1, "activation='Relu'",
         "float[2,2]{1,2,3,4}; float[2,1]{1,10}; -; float[2,1]{-30,1}", "float[2,1]{0,44}"},
        {OWN "Dense", 1, "activation='Gelu'", "float[3]{1,0,0}; float[3,2]{100,-100,0,0,0,0}",
         "float[2]{100,-0}"},
        {OWN "Dense", 1, "", "float[0,2]{}; float[2,1]{1,10}; float[1]{1}", "float[0,1]{}"},
        {OWN "Dense", 1, "activation='Elu'", "float[1]{1}; float[1,1]{1}",
         "error: attribute 'activation'"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {OWN "Dense", 1, "", "float[s0,?,4]; float[4,3]; float[3]", "float[s0,?,3]"},
        {OWN "Dense", 1, "", "float[2,4]; float[4,3]; float[2]",
         "error: dimension 0 of input 2 is 2, but 3 is needed"},
        {OWN "Dense", 1, "", "float[2,4]; float[4,3]; -; float[3]", "error: input 3 has rank 1"},
    };
    EXPECT_INFERRED(shapes);
}

#define STEPS(steps, operands, parameters)                                                         \
    "steps=[" steps "] operands=[" operands "] parameters=[" parameters "]"

Test(elementwise, values_and_shapes)
{
    static const op_text calls[] = {
        {OWN "Elementwise", 1, STEPS("'Add','Relu'", "0,1,-1,0", "0.0,0.0,0.0,0.0"),
         "float[2,2]{1,-2,3,-4}; float[2]{1,1}", "float[2,2]{2,0,4,0}"},
        {OWN "Elementwise", 1, STEPS("'Clip','Div'", "0,0,1,-1", "-1.0,2.0,0.0,0.0"),
         "float[3]{-4,1,8}; float[]{2}", "float[3]{-2,2,1}"},
        {OWN "Elementwise", 1, STEPS("'Sub'", "0,1", "0.0,0.0"), "float[0,2]{}; float[1,1]{1}",
         "float[0,2]{}"},
        {OWN "Elementwise", 1, STEPS("'Cosh'", "0,0", "0.0,0.0"), "float[1]{1}",
         "error: names no function 'Cosh'"},
        {OWN "Elementwise", 1, STEPS("'Add'", "0,-1", "0.0,0.0"), "float[1]{1}",
         "error: operand -1 of step 0"},
        {OWN "Elementwise", 1, STEPS("'Add'", "0,1", "0.0,0.0"), "float[1]{1}",
         "error: operand 1 of step 0"},
        {OWN "Elementwise", 1, STEPS("'Exp'", "0", "0.0,0.0"), "float[1]{1}",
         "error: 1 steps, 1 operands"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {OWN "Elementwise", 1, STEPS("'Add'", "0,1", "0.0,0.0"), "float[s0,1,4]; float[5,1]",
         "float[s0,5,4]"},
        {OWN "Elementwise", 1, STEPS("'Add'", "0,1", "0.0,0.0"), "float[2]; float[3]",
         "error: do not broadcast"},
    };
    EXPECT_INFERRED(shapes);
}

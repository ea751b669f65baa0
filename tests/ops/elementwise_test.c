/* Operators that look at one element at a time: values at the edges, wrong attributes, shapes. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(elementwise, activations_at_the_edges)
{
    static const op_text calls[] = {
        {"Round", 11, "", "float[6]{0.5,1.5,-0.5,-2.5,nan,inf}", "float[6]{0,2,-0,-2,NaN,INF}"},
        {"Sign", 13, "", "float[4]{-inf,0,3,nan}", "float[4]{-1,0,1,NaN}"},
        {"Sign", 13, "", "int8[3]{-128,0,5}", "int8[3]{-1,0,1}"},
        {"Sign", 9, "", "uint64[2]{18446744073709551615,0}", "uint64[2]{1,0}"},
        {"Acosh", 9, "", "float[2]{1,0}", "float[2]{0,NaN}"},
        {"Atanh", 22, "", "bfloat16[2]{0,1}", "bfloat16[2]{0,INF}"},
        {"Tan", 7, "", "double[1]{0}", "double[1]{0}"},
        {"Softsign", 1, "", "float[2]{-3,1}", "float[2]{-0.75,0.5}"},
        {"Celu", 12, "alpha=-1.0", "float[2]{2,0}", "float[2]{2,0}"},
        {"Celu", 12, "", "float[2]{-1000,nan}", "float[2]{-1,NaN}"},
        {"Celu", 28, "alpha=2.0", "float16[2]{-1000,3}", "float16[2]{-2,3}"},
        {"Celu", 27, "", "double[1]{1}", "error: input 0 has type double"},
        {"ThresholdedRelu", 10, "alpha=2.0", "float[4]{2,2.5,nan,-9}", "float[4]{0,2.5,0,0}"},
        {"HardSwish", 14, "", "float[4]{-4,0,3,nan}", "float[4]{-0,0,3,NaN}"},
        {"Mish", 18, "", "float[4]{-1000,0,1000,nan}", "float[4]{-0,0,1000,NaN}"},
        {"Gelu", 20, "", "float[3]{-100,0,100}", "float[3]{-0,0,100}"},
        {"Gelu", 20, "approximate='tanh'", "float[3]{-100,0,100}", "float[3]{-0,0,100}"},
        {"Gelu", 20, "approximate='erf'", "float[1]{1}",
         "error: attribute 'approximate' is 'erf', must be one of 'none', 'tanh'"},
        {"Swish", 24, "alpha=0.0", "float[2]{4,-2}", "float[2]{2,-1}"},
        {"SwiGLU", 28, "alpha=0.0", "float[2]{4,-2}; float[2]{3,5}", "float[2]{6,-5}"},
        {"SwiGLU", 28, "", "float[2]{4,-2}; float[1]{3}",
         "error: input 1 of shape [1] must have the shape of input 0, [2]"},
        {"Shrink", 9, "lambd=1.5 bias=1.0", "int8[4]{-128,-1,1,127}", "int8[4]{-127,0,0,126}"},
        {"Shrink", 9, "bias=-200.0", "int8[1]{100}", "int8[1]{44}"},
        {"Shrink", 9, "bias=0.5", "int32[2]{3,-3}", "int32[2]{2,-2}"},
        {"Shrink", 9, "bias=300000000000000000000000000000000000000.0", "int32[1]{3}",
         "int32[1]{-2147483648}"},
        {"Shrink", 9, "", "uint64[1]{18446744073709551615}", "uint64[1]{18446744073709551615}"},
        {"Shrink", 9, "", "float[3]{nan,0.5,-inf}", "float[3]{0,0,-INF}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(elementwise, classification)
{
    static const op_text calls[] = {
        {"IsNaN", 9, "", "double[3]{nan,inf,0}", "bool[3]{1,0,0}"},
        {"IsNaN", 13, "", "bfloat16[2]{nan,1}", "bool[2]{1,0}"},
        {"IsNaN", 9, "", "bfloat16[1]{1}", "error: input 0 has type bfloat16"},
        {"IsNaN", 20, "", "float8e4m3fn[3]{nan,448,-1}", "bool[3]{1,0,0}"},
        {"IsNaN", 20, "", "float8e4m3fnuz[2]{nan,0}", "bool[2]{1,0}"},
        {"IsNaN", 20, "", "float8e5m2[2]{nan,57344}", "bool[2]{1,0}"},
        {"IsInf", 20, "", "float8e5m2[2]{nan,57344}", "bool[2]{0,0}"},
        {"IsInf", 20, "", "float8e4m3fn[2]{nan,448}", "bool[2]{0,0}"},
        {"IsInf", 20, "detect_positive=0", "float16[3]{inf,-inf,nan}", "bool[3]{0,1,0}"},
        {"IsInf", 10, "detect_positive=2", "float[1]{1}", "error: attribute 'detect_positive'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(elementwise, bits)
{
    static const op_text calls[] = {
        {"BitwiseAnd", 18, "", "int8[2]{-1,12}; int8[1]{10}", "int8[2]{10,8}"},
        {"BitwiseOr", 18, "", "uint64[1]{1}; uint64[1]{9223372036854775808}",
         "uint64[1]{9223372036854775809}"},
        {"BitwiseXor", 18, "", "int64[1]{-1}; int64[1]{5}", "int64[1]{-6}"},
        {"BitwiseNot", 18, "", "int16[2]{-32768,0}", "int16[2]{32767,-1}"},
        {"BitShift", 11, "direction='LEFT'", "uint8[3]{255,1,1}; uint8[3]{1,7,8}",
         "uint8[3]{254,128,0}"},
        {"BitShift", 11, "direction='RIGHT'", "uint64[2]{18446744073709551615,1}; uint64[2]{63,64}",
         "uint64[2]{1,0}"},
        {"BitShift", 28, "direction='RIGHT'", "int8[5]{-128,-128,-128,64,64}; int8[5]{7,8,-1,6,-1}",
         "int8[5]{-1,-1,-1,1,0}"},
        {"BitShift", 28, "direction='LEFT'", "int32[3]{-1,3,1}; int32[3]{31,31,-1}",
         "int32[3]{-2147483648,-2147483648,0}"},
        {"BitShift", 28, "direction='LEFT'", "int64[1]{-9223372036854775808}; int64[1]{1}",
         "int64[1]{0}"},
        {"BitShift", 27, "direction='LEFT'", "int32[1]{1}; int32[1]{1}", "error: int32"},
        {"BitShift", 11, "", "uint8[1]{1}; uint8[1]{1}", "error: attribute 'direction'"},
        {"BitShift", 11, "direction='left'", "uint8[1]{1}; uint8[1]{1}",
         "error: attribute 'direction' is 'left', must be one of 'LEFT', 'RIGHT'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(elementwise, remainders)
{
    static const op_text calls[] = {
        {"Mod", 10, "", "int32[4]{7,-7,7,-7}; int32[4]{3,3,-3,-3}", "int32[4]{1,2,-2,-1}"},
        {"Mod", 10, "fmod=1", "int32[4]{7,-7,7,-7}; int32[4]{3,3,-3,-3}", "int32[4]{1,-1,1,-1}"},
        {"Mod", 13, "", "int64[1]{-9223372036854775808}; int64[1]{-1}", "int64[1]{0}"},
        {"Mod", 13, "fmod=1", "int8[1]{-128}; int8[1]{-1}", "int8[1]{0}"},
        {"Mod", 13, "", "int8[1]{127}; int8[1]{-128}", "int8[1]{-1}"},
        {"Mod", 13, "", "uint8[1]{200}; uint8[1]{7}", "uint8[1]{4}"},
        {"Mod", 13, "", "uint16[2]{1,2}; uint16[2]{1,0}",
         "error: node 'n' (Mod): integer division by 0: element 1 of input 1 is 0"},
        {"Mod", 13, "fmod=1", "float[4]{-7,7,1,inf}; float[4]{3,0,inf,2}",
         "float[4]{-1,NaN,1,NaN}"},
        {"Mod", 28, "", "float[6]{-7,7,1,-1,0,inf}; float[6]{3,-3,-inf,-inf,-2,2}",
         "float[6]{2,-2,-INF,-1,-0,NaN}"},
        {"Mod", 27, "", "float[1]{1}; float[1]{1}",
         "error: attribute 'fmod' is 0 for float inputs, before opset 28 it must be 1"},
        {"Mod", 13, "fmod=2", "int32[1]{1}; int32[1]{1}", "error: attribute 'fmod'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(elementwise, slopes)
{
    static const op_text calls[] = {
        {"PRelu", 9, "", "float[2,2]{-1,2,-3,nan}; float[2]{10,20}", "float[2,2]{-10,2,-30,NaN}"},
        {"PRelu", 9, "", "int32[2]{-2147483648,5}; int32[]{2}", "int32[2]{0,5}"},
        {"PRelu", 16, "", "uint32[2]{1,4294967295}; uint32[1]{7}", "uint32[2]{1,4294967295}"},
        {"PRelu", 6, "", "float[1,2,2]{-1,-1,-1,-1}; float[2]{3,5}", "float[1,2,2]{-3,-3,-5,-5}"},
        {"PRelu", 6, "", "float[1,2,1,2]{-1,-1,-1,-1}; float[1]{3}", "float[1,2,1,2]{-3,-3,-3,-3}"},
        {"PRelu", 7, "", "float[1,2,2]{-1,-1,-1,-1}; float[2]{3,5}", "float[1,2,2]{-3,-5,-3,-5}"},
        {"PRelu", 7, "", "float[2]{1,1}; float[2,1]{1,1}",
         "error: slope of shape [2,1] does not broadcast to [2]"},
        {"PRelu", 6, "", "float[1,3,2]{1,1,1,1,1,1}; float[2]{1,1}", "error: slope of shape [2]"},
    };
    EXPECT_EVALUATED(calls);
}

Test(elementwise, hardmax)
{
    static const op_text calls[] = {
        {"Hardmax", 13, "", "float[2,3]{1,3,3,nan,2,1}", "float[2,3]{0,1,0,0,1,0}"},
        {"Hardmax", 13, "axis=0", "float[2,2]{1,5,2,4}", "float[2,2]{0,1,1,0}"},
        {"Hardmax", 11, "axis=0", "float[2,2]{1,5,2,4}", "float[2,2]{0,1,0,0}"},
        {"Hardmax", 1, "axis=2", "float[2,1]{1,5}", "float[2,1]{1,1}"},
        {"Hardmax", 13, "", "float[2]{nan,nan}", "float[2]{1,0}"},
        {"Hardmax", 13, "axis=2", "float[2,2]{1,5,2,4}", "error: attribute 'axis' is 2"},
    };
    EXPECT_EVALUATED(calls);
}

Test(elementwise, shapes)
{
    static const op_text calls[] = {
        {"SwiGLU", 28, "", "float[s0,3]; float[2,?]", "float[2,3]"},
        {"SwiGLU", 28, "", "float*; float[2,s1]", "float[2,s1]"},
        {"PRelu", 16, "", "float[s0,3]; float[3]", "float[s0,3]"},
        {"PRelu", 16, "", "float*; float[3]", "float*"},
        {"IsNaN", 20, "", "float16[s0,?]", "bool[s0,?]"},
        {"Hardmax", 13, "axis=5", "float*", "float*"},
        {"BitShift", 28, "direction='LEFT'", "uint8[s0,1]; uint8[4]", "uint8[s0,4]"},
    };
    EXPECT_INFERRED(calls);
}

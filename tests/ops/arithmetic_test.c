/* Values at the edges of integer and floating-point arithmetic. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(arithmetic, integers_wrap_and_never_trap)
{
    static const op_text calls[] = {
        {"Add", 14, "", "int8[2]{127,-128}; int8[2]{1,-1}", "int8[2]{-128,127}"},
        {"Add", 14, "", "int32[1]{2147483647}; int32[1]{1}", "int32[1]{-2147483648}"},
        {"Add", 14, "", "int64[1]{9223372036854775807}; int64[1]{1}",
         "int64[1]{-9223372036854775808}"},
        {"Sub", 14, "", "uint16[1]{0}; uint16[1]{1}", "uint16[1]{65535}"},
        {"Mul", 14, "", "uint16[1]{65535}; uint16[1]{65535}", "uint16[1]{1}"},
        {"Mul", 14, "", "int64[1]{9223372036854775807}; int64[1]{2}", "int64[1]{-2}"},
        {"Div", 14, "", "int8[3]{-128,-128,7}; int8[3]{-1,1,-2}", "int8[3]{-128,-128,-3}"},
        {"Div", 14, "", "int32[1]{-2147483648}; int32[1]{-1}", "int32[1]{-2147483648}"},
        {"Div", 14, "", "int64[1]{-9223372036854775808}; int64[1]{-1}",
         "int64[1]{-9223372036854775808}"},
        {"Div", 14, "", "uint8[2]{255,7}; uint8[1]{2}", "uint8[2]{127,3}"},
        {"Div", 14, "", "int32[2]{1,2}; int32[2]{1,0}",
         "error: node 'n' (Div): integer division by 0: element 1 of input 1 is 0"},
        {"Div", 14, "", "uint64[2]{1,2}; uint64[]{0}", "error: integer division by 0"},
        {"Div", 14, "", "int32[0]{}; int32[1]{0}", "int32[0]{}"},
        {"Div", 14, "", "float[3]{1,-1,0}; float[1]{0}", "float[3]{INF,-INF,NaN}"},
        {"Neg", 13, "", "int8[2]{-128,5}", "int8[2]{-128,-5}"},
        {"Neg", 13, "", "int64[1]{-9223372036854775808}", "int64[1]{-9223372036854775808}"},
        {"Abs", 13, "", "int16[2]{-32768,-5}", "int16[2]{-32768,5}"},
        {"Abs", 13, "", "uint8[1]{200}", "uint8[1]{200}"},
        {"Pow", 15, "", "int32[3]{2,-3,0}; int32[3]{10,3,0}", "int32[3]{1024,-27,1}"},
        {"Pow", 15, "", "int32[1]{10}; uint64[1]{18446744073709551615}", "int32[1]{0}"},
        {"Pow", 15, "", "int64[3]{2,1,0}; int64[1]{-1}", "int64[3]{0,1,-9223372036854775808}"},
        {"Pow", 15, "", "float[2]{3,-2}; int8[]{2}", "float[2]{9,4}"},
        {"Pow", 15, "", "int32[2]{4,9}; float[]{0.5}", "int32[2]{2,3}"},
        {"Pow", 15, "", "float16[2]{2,4}; float16[2]{3,0.5}", "float16[2]{8,2}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(arithmetic, broadcasts_in_every_direction)
{
    static const op_text calls[] = {
        {"Sub", 14, "", "float[2,1]{10,20}; float[3]{1,2,3}", "float[2,3]{9,8,7,19,18,17}"},
        {"Sub", 14, "", "float[]{1}; float[3]{1,2,3}", "float[3]{0,-1,-2}"},
        {"Sub", 14, "", "float[3]{1,2,3}; float[1]{1}", "float[3]{0,1,2}"},
        {"Sub", 14, "", "int32[2,1,2]{1,2,3,4}; int32[2,1]{10,20}",
         "int32[2,2,2]{-9,-8,-19,-18,-7,-6,-17,-16}"},
        {"Add", 14, "", "float[0]{}; float[1]{1}", "float[0]{}"},
        {"Add", 14, "", "float[2,0,3]{}; float[3]{1,2,3}", "float[2,0,3]{}"},
        {"Add", 6, "broadcast=1 axis=0", "float[2,2]{1,2,3,4}; float[2]{10,20}",
         "float[2,2]{11,12,23,24}"},
        {"Add", 6, "broadcast=1", "float[2,2]{1,2,3,4}; float[2]{10,20}",
         "float[2,2]{11,22,13,24}"},
        {"Add", 14, "", "float16[2]{1.5,65504}; float16[1]{65504}", "float16[2]{65504,INF}"},
        {"Add", 14, "", "bfloat16[2]{1,256}; bfloat16[1]{1}", "bfloat16[2]{2,256}"},
        {"Where", 16, "", "bool[2,1]{1,0}; int8[2]{1,2}; int8[]{9}", "int8[2,2]{1,2,9,9}"},
        {"Where", 16, "", "bool[2]{1,0}; string[2]{ab,c}; string[1]{xyz}", "string[2]{ab,xyz}"},
        {"Where", 16, "", "bool[]{1}; double[2]{1,2}; double[2]{3,4}", "double[2]{1,2}"},
        {"Sum", 13, "", "float[2]{1,2}; float[2,1]{10,20}; float[]{100}",
         "float[2,2]{111,112,121,122}"},
        {"Mean", 13, "", "float[2]{1,2}; float[2]{3,4}", "float[2]{2,3}"},
        {"Max", 13, "", "int8[2]{1,-5}; int8[1]{-1}", "int8[2]{1,-1}"},
        {"Max", 13, "", "float[2]{nan,1}; float[2]{1,nan}", "float[2]{NaN,NaN}"},
        {"Min", 13, "", "uint64[2]{1,18446744073709551615}; uint64[1]{7}", "uint64[2]{1,7}"},
        {"Min", 13, "", "float[1]{3}", "float[1]{3}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(arithmetic, comparisons_and_logic)
{
    static const op_text calls[] = {
        {"Equal", 13, "", "float[3]{1,nan,2}; float[3]{1,nan,3}", "bool[3]{1,0,0}"},
        {"Equal", 19, "", "string[3]{a,,bc}; string[3]{a,b,bc}", "bool[3]{1,0,1}"},
        {"Equal", 13, "", "uint64[1]{18446744073709551615}; uint64[1]{18446744073709551615}",
         "bool[1]{1}"},
        {"Greater", 13, "", "uint64[1]{18446744073709551615}; uint64[1]{1}", "bool[1]{1}"},
        {"Less", 13, "", "int64[1]{-1}; int64[1]{1}", "bool[1]{1}"},
        {"LessOrEqual", 16, "", "bfloat16[2]{1,nan}; bfloat16[1]{1}", "bool[2]{1,0}"},
        {"GreaterOrEqual", 16, "", "float[2]{1,0}; float[]{1}", "bool[2]{1,0}"},
        {"And", 7, "", "bool[2]{1,0}; bool[1]{1}", "bool[2]{1,0}"},
        {"Or", 7, "", "bool[2]{1,0}; bool[1]{0}", "bool[2]{1,0}"},
        {"Xor", 7, "", "bool[2]{1,0}; bool[1]{1}", "bool[2]{0,1}"},
        {"Not", 1, "", "bool[2]{1,0}", "bool[2]{0,1}"},
        {"Equal", 11, "", "string[1]{a}; string[1]{a}", "error: string"},
    };
    EXPECT_EVALUATED(calls);
}

Test(arithmetic, functions)
{
    static const op_text calls[] = {
        {"Relu", 14, "", "float[3]{-1,nan,2}", "float[3]{0,NaN,2}"},
        {"Relu", 14, "", "int8[2]{-128,127}", "int8[2]{0,127}"},
        {"LeakyRelu", 16, "alpha=0.5", "float[2]{-2,2}", "float[2]{-1,2}"},
        {"Sigmoid", 13, "", "float[4]{0,-1000,1000,nan}", "float[4]{0.5,0,1,NaN}"},
        {"Softplus", 22, "", "float[3]{-1000,1000,nan}", "float[3]{0,1000,NaN}"},
        {"HardSigmoid", 6, "alpha=0.5 beta=0.5", "float[4]{-5,0,5,nan}", "float[4]{0,0.5,1,NaN}"},
        {"Elu", 6, "alpha=2.0", "float[2]{-1000,3}", "float[2]{-2,3}"},
        {"Selu", 6, "alpha=2.0 gamma=3.0", "float[2]{-1000,3}", "float[2]{-6,9}"},
        {"Clip", 13, "", "float[4]{-2,0.5,7,nan}; float[]{-1}; float[]{1}",
         "float[4]{-1,0.5,1,NaN}"},
        {"Clip", 13, "", "int8[3]{-2,5,7}; -; int8[1]{6}", "int8[3]{-2,5,6}"},
        {"Clip", 13, "", "uint8[2]{0,5}; uint8[]{3}", "uint8[2]{3,5}"},
        {"Clip", 13, "", "float[2]{0,5}; float[]{3}; float[]{1}", "float[2]{1,1}"},
        {"Clip", 6, "min=0.0 max=6.0", "float16[3]{-1,5,7}", "float16[3]{0,5,6}"},
        /* An absent bound is a finite number from opset 6 on. */
        {"Clip", 1, "", "float[2]{inf,-inf}", "float[2]{INF,-INF}"},
        {"Clip", 6, "", "float[2]{inf,-inf}", "float[2]{3.4028235e+38,-3.4028235e+38}"},
        {"Sqrt", 13, "", "double[2]{4,-1}", "double[2]{2,NaN}"},
        {"Reciprocal", 13, "", "float[2]{4,0}", "float[2]{0.25,INF}"},
        {"Floor", 13, "", "float[2]{-1.5,1.5}", "float[2]{-2,1}"},
        {"Ceil", 13, "", "bfloat16[2]{-1.5,1.5}", "bfloat16[2]{-1,2}"},
        {"Erf", 13, "", "float[2]{0,100}", "float[2]{0,1}"},
        {"Erf", 9, "", "int32[2]{-9,0}", "int32[2]{-1,0}"},
        {"Dropout:2", 13, "", "float[2]{1,2}", "float[2]{1,2}; bool[2]{1,1}"},
        {"Dropout:2", 7, "ratio=0.9", "float16[2]{1,2}", "float16[2]{1,2}; float16[2]{1,1}"},
        {"Dropout", 13, "", "float[1]{1}; float[]{0}; bool[]{1}", "float[1]{1}"},
    };
    EXPECT_EVALUATED(calls);
}

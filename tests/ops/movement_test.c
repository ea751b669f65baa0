/* Operators that move elements: order, every element size, strings, empty tensors. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(movement, transpose_every_size)
{
    static const op_text calls[] = {
        {"Transpose", 13, "", "int8[2,3]{1,2,3,4,5,6}", "int8[3,2]{1,4,2,5,3,6}"},
        {"Transpose", 13, "", "float16[2,3]{1,2,3,4,5,6}", "float16[3,2]{1,4,2,5,3,6}"},
        {"Transpose", 13, "", "float[2,3]{1,2,3,4,5,6}", "float[3,2]{1,4,2,5,3,6}"},
        {"Transpose", 13, "", "double[2,3]{1,2,3,4,5,6}", "double[3,2]{1,4,2,5,3,6}"},
        {"Transpose", 13, "", "string[2,3]{a,b,c,d,,f}", "string[3,2]{a,d,b,,c,f}"},
        {"Transpose", 13, "perm=[2,0,1]", "int32[2,2,2]{1,2,3,4,5,6,7,8}",
         "int32[2,2,2]{1,3,5,7,2,4,6,8}"},
        {"Transpose", 13, "perm=[0,2,1]", "int32[2,2,2]{1,2,3,4,5,6,7,8}",
         "int32[2,2,2]{1,3,2,4,5,7,6,8}"},
        {"Transpose", 13, "perm=[1,0,2]", "int32[2,2,2]{1,2,3,4,5,6,7,8}",
         "int32[2,2,2]{1,2,5,6,3,4,7,8}"},
        {"Transpose", 13, "", "int64[]{7}", "int64[]{7}"},
        {"Transpose", 13, "", "float[0,3]{}", "float[3,0]{}"},
        {"Transpose", 25, "", "int4[2,3]{1,-2,3,4,5,-6}", "int4[3,2]{1,4,-2,5,3,-6}"},
        {"Transpose", 25, "", "uint2[3,3]{0,1,2,3,0,1,2,3,0}", "uint2[3,3]{0,3,2,1,0,3,2,1,0}"},
        {"Transpose", 25, "", "float4e2m1[3,1]{0.5,-6,1.5}", "float4e2m1[1,3]{0.5,-6,1.5}"},
        {"Transpose", 25, "", "int4[0,3]{}", "int4[3,0]{}"},
        {"Transpose", 22, "", "float4e2m1[1]{1}", "error: float4e2m1"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, slice)
{
    static const op_text calls[] = {
        {"Slice", 13, "", "int32[5]{0,1,2,3,4}; int64[1]{1}; int64[1]{4}; -; int64[1]{2}",
         "int32[2]{1,3}"},
        {"Slice", 13, "",
         "int32[5]{0,1,2,3,4}; int64[1]{-1}; int64[1]{-9223372036854775808}; int64[1]{0}; "
         "int64[1]{-1}",
         "int32[5]{4,3,2,1,0}"},
        {"Slice", 13, "",
         "int32[5]{0,1,2,3,4}; int64[1]{0}; int64[1]{5}; -; int64[1]{9223372036854775807}",
         "int32[1]{0}"},
        {"Slice", 13, "",
         "int8[2,3]{1,2,3,4,5,6}; int32[2]{1,0}; int32[2]{-9,2}; int32[2]{0,1}; "
         "int32[2]{-1,1}",
         "int8[2,2]{4,5,1,2}"},
        {"Slice", 13, "",
         "int32[2,2]{1,2,3,4}; int64[1]{0}; int64[1]{2}; -; int64[1]{9223372036854775807}",
         "int32[1,2]{1,2}"},
        {"Slice", 13, "", "string[3]{a,b,c}; int64[1]{2}; int64[1]{0}; -; int64[1]{-1}",
         "string[2]{c,b}"},
        {"Slice", 13, "", "int32[2]{1,2}; int64[1]{5}; int64[1]{9}", "int32[0]{}"},
        {"Slice", 9, "starts=[0,1] ends=[1,3]", "int32[2,3]{1,2,3,4,5,6}", "int32[1,2]{2,3}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, gather)
{
    static const op_text calls[] = {
        {"Gather", 13, "", "int32[3,2]{1,2,3,4,5,6}; int64[2]{-1,0}", "int32[2,2]{5,6,1,2}"},
        {"Gather", 13, "axis=1", "int32[2,3]{1,2,3,4,5,6}; int32[1,2]{2,0}",
         "int32[2,1,2]{3,1,6,4}"},
        {"Gather", 13, "", "string[2]{ab,cd}; int64[]{1}", "string[]{cd}"},
        {"Gather", 13, "", "float[3]{1,2,3}; int64[2]{0,3}",
         "error: index 3 (element 1 of input 1) is outside [-3, 2]"},
        {"Gather", 13, "", "float[3]{1,2,3}; int64[1]{-9223372036854775808}",
         "error: index -92233"},
        {"Gather", 13, "", "float[0]{}; int64[0]{}", "float[0]{}"},
        {"Gather", 13, "", "float[0,2]{}; int64[1]{0}", "error: index 0"},
        {"Gather", 13, "axis=1", "float[0,2]{}; int64[1]{5}", "error: index 5"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, views)
{
    static const op_text calls[] = {
        {"Identity", 13, "", "string[2]{a,b}", "string[2]{a,b}"},
        {"Identity", 21, "", "int4[3]{1,-8,7}", "int4[3]{1,-8,7}"},
        {"Reshape", 14, "", "string[2]{a,b}; int64[2]{2,1}", "string[2,1]{a,b}"},
        {"Reshape", 21, "", "uint4[4]{1,2,3,15}; int64[2]{2,2}", "uint4[2,2]{1,2,3,15}"},
        {"Flatten", 13, "axis=0", "int8[2,2]{1,2,3,4}", "int8[1,4]{1,2,3,4}"},
        {"Squeeze", 13, "", "bool[1,2]{1,0}", "bool[2]{1,0}"},
        {"Unsqueeze", 13, "", "bfloat16[]{2}; int64[1]{0}", "bfloat16[1]{2}"},
        {"Shape", 13, "", "string[2,0]{}", "int64[2]{2,0}"},
        {"Shape", 15, "start=-2", "int8[1,2,3]{1,2,3,4,5,6}", "int64[2]{2,3}"},
        {"Size", 13, "", "float[2,3]{1,2,3,4,5,6}", "int64[]{6}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, joins_and_cuts)
{
    static const op_text calls[] = {
        {"Concat", 13, "axis=1", "int8[2,1]{1,2}; int8[2,0]{}; int8[2,2]{3,4,5,6}",
         "int8[2,3]{1,3,4,2,5,6}"},
        {"Concat", 13, "axis=0", "string[1]{a}; string[2]{b,c}", "string[3]{a,b,c}"},
        {"Split:2", 13, "axis=1", "int32[2,3]{1,2,3,4,5,6}; int64[2]{1,2}",
         "int32[2,1]{1,4}; int32[2,2]{2,3,5,6}"},
        {"Split:3", 13, "", "string[2]{a,b}; int64[3]{1,0,1}",
         "string[1]{a}; string[0]{}; string[1]{b}"},
        {"Split:2", 18, "num_outputs=2", "int8[3]{1,2,3}", "int8[2]{1,2}; int8[1]{3}"},
        {"Split:2", 13, "", "int8[3]{1,2,3}; int64[2]{1,1}", "error: add up to 2"},
        {"Expand", 13, "", "string[2,1]{a,b}; int64[2]{1,2}", "string[2,2]{a,a,b,b}"},
        {"Expand", 13, "", "float[1]{3}; int64[2]{2,0}", "float[2,0]{}"},
        {"Tile", 13, "", "int8[2]{1,2}; int64[1]{2}", "int8[4]{1,2,1,2}"},
        {"Tile", 13, "", "string[1,2]{a,b}; int64[2]{2,2}", "string[2,4]{a,b,a,b,a,b,a,b}"},
        {"Tile", 13, "", "float[2]{1,2}; int64[1]{0}", "float[0]{}"},
        {"Tile", 1, "", "float[1,2]{1,2}; float[]{2}; float[]{1}", "float[1,4]{1,2,1,2}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, pad)
{
    static const op_text calls[] = {
        {"Pad", 13, "", "int8[2]{1,2}; int64[2]{1,2}; int8[]{9}", "int8[5]{9,1,2,9,9}"},
        {"Pad", 13, "", "int8[3]{1,2,3}; int64[2]{-1,1}", "int8[3]{2,3,0}"},
        {"Pad", 13, "", "int8[2]{1,2}; int64[2]{-2,3}", "int8[3]{0,0,0}"},
        {"Pad", 13, "", "int8[2]{1,2}; int64[2]{-3,4}", "error: cannot take pads -3 and 4"},
        {"Pad", 13, "", "int8[2]{1,2}; int64[2]{4,-3}", "error: cannot take pads 4 and -3"},
        {"Pad", 13, "", "int8[2]{1,2}; int64[2]{-9223372036854775808,9223372036854775807}",
         "error: cannot take pads -9223372036854775808"},
        {"Pad", 13, "mode='edge'", "int8[2]{1,2}; int64[2]{2,2}", "int8[6]{1,1,1,2,2,2}"},
        {"Pad", 13, "mode='reflect'", "int8[3]{1,2,3}; int64[2]{2,2}", "int8[7]{3,2,1,2,3,2,1}"},
        {"Pad", 13, "mode='reflect'", "int8[3]{1,2,3}; int64[2]{5,0}", "int8[8]{2,1,2,3,2,1,2,3}"},
        {"Pad", 13, "mode='reflect'", "int8[1]{1}; int64[2]{1,1}", "int8[3]{1,1,1}"},
        {"Pad", 19, "mode='wrap'", "int8[3]{1,2,3}; int64[2]{4,1}", "int8[8]{3,1,2,3,1,2,3,1}"},
        {"Pad", 19, "mode='wrap'", "int8[4]{0,1,2,3}; int64[2]{-1,2}", "int8[5]{1,2,3,1,2}"},
        {"Pad", 13, "", "string[1,1]{a}; int64[4]{0,1,1,0}; string[]{x}", "string[2,2]{x,a,x,x}"},
        {"Pad", 18, "", "int8[1,1]{1}; int64[2]{1,0}; -; int64[1]{-1}", "int8[1,2]{0,1}"},
        {"Pad", 13, "", "int8[2,2]{1,2,3,4}; int64[4]{1,0,-1,0}", "int8[2,2]{0,0,1,2}"},
        {"Pad", 13, "", "int8[2,2]{1,2,3,4}; int64[4]{0,1,0,-1}", "int8[2,2]{0,1,0,3}"},
        {"Pad", 13, "", "int8[2,3]{1,2,3,4,5,6}; int64[4]{0,0,0,-1}", "int8[2,2]{1,2,4,5}"},
        {"Pad", 13, "", "int8[2,3]{1,2,3,4,5,6}; int64[4]{0,-1,0,0}", "int8[2,2]{2,3,5,6}"},
        {"Pad", 13, "", "int8[2,2]{1,2,3,4}; int64[4]{1,0,0,0}", "int8[3,2]{0,0,1,2,3,4}"},
        {"Pad", 13, "", "int8[1,2,1]{1,2}; int64[6]{0,1,0,1,0,0}; int8[]{9}",
         "int8[2,3,1]{9,1,2,9,9,9}"},
        {"Pad", 13, "", "int8[0]{}; int64[2]{1,1}; int8[]{5}", "int8[2]{5,5}"},
        {"Pad", 13, "", "int8[]{7}; int64[0]{}", "int8[]{7}"},
        {"Pad", 2, "pads=[1,0] value=2.5", "float16[1]{1}", "float16[2]{2.5,1}"},
        {"Pad", 13, "", "int8[1]{1}; int64[2]{0,0}; int8[2]{1,1}", "error: input 2 must have one"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, makes_tensors)
{
    static const op_text calls[] = {
        {"ConstantOfShape", 9, "value=<int16[1]{-3}>", "int64[1]{2}", "int16[2]{-3,-3}"},
        {"ConstantOfShape", 9, "", "int64[0]{}", "float[]{0}"},
        {"ConstantOfShape", 21, "value=<int4[1]{-3}>", "int64[1]{3}", "int4[3]{-3,-3,-3}"},
        {"ConstantOfShape", 25, "value=<uint2[1]{2}>", "int64[1]{5}", "uint2[5]{2,2,2,2,2}"},
        {"ConstantOfShape", 9, "value=<bfloat16[1]{1}>", "int64[1]{1}", "error: bfloat16"},
        {"Constant", 13, "value_strings='a'", "", "error: 'value_strings'"},
        {"Constant", 13, "value_ints=[4,-5]", "", "int64[2]{4,-5}"},
        {"Constant", 13, "value_floats=[4.5]", "", "float[1]{4.5}"},
        {"Constant", 13, "value_string='a b'", "", "string[]{a b}"},
        {"Constant", 13, "value=<int8[2]{1,2}>", "", "int8[2]{1,2}"},
        {"Constant", 1, "value=<int8[2]{1,2}>", "", "error: int8"},
        {"Range", 11, "", "int16[]{10}; int16[]{0}; int16[]{-4}", "int16[3]{10,6,2}"},
        {"Range", 11, "", "float[]{0}; float[]{1}; float[]{0.25}", "float[4]{0,0.25,0.5,0.75}"},
        {"Range", 27, "", "float16[]{0}; float16[]{3}; float16[]{1}", "float16[3]{0,1,2}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, reductions)
{
    static const op_text calls[] = {
        {"ReduceSum", 13, "keepdims=0", "float[2,3]{1,2,3,4,5,6}; int64[1]{1}", "float[2]{6,15}"},
        {"ReduceSum", 13, "", "float[2,3]{1,2,3,4,5,6}; int64[1]{0}", "float[1,3]{5,7,9}"},
        {"ReduceSum", 13, "keepdims=0", "int32[2,2,2]{1,2,3,4,5,6,7,8}; int64[2]{0,2}",
         "int32[2]{14,22}"},
        {"ReduceSum", 13, "", "int32[2]{2147483647,1}", "int32[1]{-2147483648}"},
        {"ReduceSum", 13, "", "int64[2]{9223372036854775807,1}", "int64[1]{-9223372036854775808}"},
        {"ReduceSum", 13, "", "float[0]{}", "float[1]{0}"},
        {"ReduceSum", 13, "", "float[10]{1,2,3,4,5,6,7,8,9,10}", "float[1]{55}"},
        {"ReduceSum", 13, "noop_with_empty_axes=1", "float[2]{1,2}", "float[2]{1,2}"},
        {"ReduceSum", 13, "", "float[]{5}", "float[]{5}"},
        {"ReduceMean", 13, "", "int32[2]{-3,0}", "int32[1]{-1}"},
        {"ReduceMean", 13, "", "float16[2]{65504,65504}", "float16[1]{65504}"},
        {"ReduceMean", 13, "", "float[0]{}", "float[1]{NaN}"},
        {"ReduceMean", 13, "", "int32[0]{}", "error: the mean of no integers"},
        {"ReduceMax", 13, "keepdims=0", "int8[2,2]{-5,-7,3,4}", "int8[]{4}"},
        {"ReduceMax", 13, "", "float[3]{1,nan,2}", "float[1]{NaN}"},
        {"ReduceMax", 13, "", "uint8[10]{1,2,3,4,5,6,7,8,250,9}", "uint8[1]{250}"},
        {"ReduceMax", 20, "", "bool[2]{0,1}", "bool[1]{1}"},
        {"ReduceMax", 20, "", "bool[0]{}", "bool[1]{0}"},
        {"ReduceMax", 18, "", "int8[0]{}", "int8[1]{-128}"},
        {"ReduceMax", 18, "", "float[0]{}", "float[1]{-INF}"},
        {"ReduceMin", 18, "", "uint32[0]{}", "uint32[1]{4294967295}"},
        {"ReduceMin", 18, "", "int64[0]{}", "int64[1]{9223372036854775807}"},
        {"ReduceMin", 13, "axes=[1]", "float[1,2,2]{4,2,1,3}", "float[1,1,2]{1,2}"},
        {"ArgMax", 13, "axis=1 keepdims=0", "float[2,3]{1,9,9,5,4,3}", "int64[2]{1,0}"},
        {"ArgMax", 13, "axis=1 keepdims=0 select_last_index=1", "float[2,3]{1,9,9,5,4,3}",
         "int64[2]{2,0}"},
        {"ArgMin", 13, "axis=0", "int8[2,2]{1,-1,0,5}", "int64[1,2]{1,0}"},
        {"ArgMin", 13, "axis=1", "int8[0,2]{}", "int64[0,1]{}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(movement, dropout_in_training)
{
    static const op_text calls[] = {
        {"Dropout:2", 13, "seed=0", "float[4]{1,2,3,4}; double[]{0.6}; bool[]{1}",
         "float[4]{0,5,7.5,0}; bool[4]{0,1,1,0}"},
        {"Dropout:2", 22, "seed=0", "float8e5m2[4]{1,2,3,4}; double[]{0.6}; bool[]{1}",
         "float8e5m2[4]{0,5,8,0}; bool[4]{0,1,1,0}"},
        {"Dropout:2", 12, "", "double[2]{1,2}; float[]{0.9}; bool[]{0}",
         "double[2]{1,2}; bool[2]{1,1}"},
        {"Dropout:2", 7, "ratio=0.9", "float16[2]{1,2}", "float16[2]{1,2}; float16[2]{1,1}"},
        {"Dropout", 13, "", "float[1]{1}; float[]{nan}; bool[]{1}", "error: the ratio, is nan"},
    };
    EXPECT_EVALUATED(calls);
}

/* What the shape rules make of symbolic and unknown dimensions and of unknown values. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(shape_rules, broadcasting)
{
    static const op_text calls[] = {
        {"Add", 14, "", "float[2,3]; float[3]", "float[2,3]"},
        {"Add", 14, "", "float[s0,1]; float[3]", "float[s0,3]"},
        {"Add", 14, "", "float[s0]; float[1]", "float[s0]"},
        {"Add", 14, "", "float[s0]; float[s0]", "float[s0]"},
        {"Add", 14, "", "float[s0]; float[s1]", "float[?]"},
        {"Add", 14, "", "float[s0]; float[5]", "float[5]"},
        {"Add", 14, "", "float[?]; float[5]", "float[5]"},
        {"Add", 14, "", "float[?]; float[1]", "float[?]"},
        {"Add", 14, "", "float[?]; float[s1]", "float[?]"},
        {"Add", 14, "", "float[0]; float[1]", "float[0]"},
        {"Add", 14, "", "float[]; float[]", "float[]"},
        {"Add", 14, "", "float*; float[5]", "float*"},
        {"Add", 14, "", "?[2]; float[1]", "float[2]"},
        {"Add", 14, "", "float[2,3]; float[4]",
         "error: node 'n' (Add): shapes [2,3] and [4] do not broadcast: 3 against 4"},
        {"Add", 14, "", "float[0]; float[2]", "error: do not broadcast"},
        {"Add", 14, "", "float[2]; int32[2]", "error: input 1"},
        {"Add", 13, "", "int8[2]; int8[2]", "error: input 0 has type int8"},
        {"Equal", 13, "", "float[2,1]; float[3]", "bool[2,3]"},
        {"Where", 16, "", "bool[s0,1]; float[1,s1]; float[]", "float[s0,s1]"},
        {"Max", 13, "", "float[2,1]; float[3]; float[s0,1,1]", "float[s0,2,3]"},
        {"Sum", 6, "", "float[2]; float[3]", "error: input 1 has another shape"},
        {"Expand", 13, "", "float[3,1]; int64[3]{2,1,6}", "float[2,3,6]"},
        {"Expand", 13, "", "float[3,1]; int64[3]", "float[?,?,?]"},
        {"Expand", 13, "", "float[3,1]; int64[?]", "float*"},
        {"Expand", 13, "", "float[s0]; int64[2]{2,1}", "float[2,s0]"},
        {"Expand", 13, "", "float[3]; int64[1]{-1}", "error: element 0 of the shape is -1"},
        {"Expand", 13, "", "float[3]; int64[17]", "error: the shape has 17 elements"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, legacy_broadcasting)
{
    static const op_text calls[] = {
        {"Add", 6, "broadcast=1", "float[2,3,4,5]; float[5]", "float[2,3,4,5]"},
        {"Add", 6, "broadcast=1 axis=1", "float[2,3,4,5]; float[3,4]", "float[2,3,4,5]"},
        {"Add", 6, "broadcast=1 axis=0", "float[2,3,4,5]; float[2]", "float[2,3,4,5]"},
        {"Add", 6, "broadcast=1", "float[s0,3]; float[3]", "float[s0,3]"},
        {"Add", 6, "broadcast=1 axis=3", "float[2,3,4,5]; float[5,1]", "error: does not fit"},
        {"Add", 6, "broadcast=1 axis=1", "float[2,3]; float[4]", "error: do not broadcast"},
        {"Add", 6, "broadcast=1", "float[1]; float[4]", "error: does not fit"},
        {"Add", 6, "broadcast=1", "float[3]; float[2,3]", "error: does not fit into rank 1"},
        {"Add", 6, "", "float[2,3]; float[3]", "error: without attribute 'broadcast'"},
        {"Add", 6, "", "float[2,3]; float[2,3]", "float[2,3]"},
        {"Add", 7, "broadcast=1", "float[2]; float[2]", "error: 'broadcast'"},
        {"Add", 6, "broadcast=2", "float[2]; float[2]", "error: 'broadcast'"},
        {"Less", 1, "broadcast=1 axis=0", "float[2,3]; float[2]", "bool[2,3]"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, transpose_and_squeeze)
{
    static const op_text calls[] = {
        {"Transpose", 13, "", "float[2,s0,?]", "float[?,s0,2]"},
        {"Transpose", 13, "perm=[1,0]", "float*", "float[?,?]"},
        {"Transpose", 13, "", "float*", "float*"},
        {"Transpose", 13, "perm=[1,0]", "float[2]", "error: 'perm' has 2 elements"},
        {"Transpose", 13, "perm=[1,1]", "float[2,2]", "error: no permutation"},
        {"Transpose", 13, "perm=[0,2]", "float[2,2]", "error: no permutation"},
        {"Transpose", 13, "perm=[-1,0]", "float[2,2]", "error: value -1"},
        {"Squeeze", 13, "", "float[1,2,1]", "float[2]"},
        {"Squeeze", 13, "", "float[1,s0,1]", "float*"},
        {"Squeeze", 13, "", "float[1,s0,1]; int64[2]{0,-1}", "float[s0]"},
        {"Squeeze", 13, "", "float[1,s0,1]; int64[2]", "float[?]"},
        {"Squeeze", 13, "", "float[1,s0,1]; int64[1]{1}", "float[1,1]"},
        {"Squeeze", 13, "", "float[1,2]; int64[1]{1}", "error: axis 1 has extent 2"},
        {"Squeeze", 13, "", "float[1,2]; int64[2]{0,-2}", "error: a second time"},
        {"Squeeze", 13, "", "float[1,2]; int64[1]{2}", "error: outside [-2, 1]"},
        {"Squeeze", 13, "", "float[]; int64[1]{0}", "error: a scalar has no axes"},
        {"Squeeze", 11, "axes=[0]", "float[1,2]", "float[2]"},
        {"Squeeze", 11, "axes=[0]", "float*", "float*"},
        {"Unsqueeze", 13, "", "float[s0]; int64[2]{0,-1}", "float[1,s0,1]"},
        {"Unsqueeze", 13, "", "float[s0]; int64[2]", "float[?,?,?]"},
        {"Unsqueeze", 13, "", "float[s0]; int64[?]", "float*"},
        {"Unsqueeze", 13, "", "float[2]; int64[1]{3}", "error: axes[0] is 3"},
        {"Unsqueeze", 11, "", "float[2]", "error: 'axes'"},
        {"Unsqueeze", 11, "axes=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]", "float[2,2]",
         "error: highest rank"},
        {"Flatten", 13, "axis=2", "float[s0,1,4,5]", "float[s0,20]"},
        {"Flatten", 13, "axis=0", "float[s0,3]", "float[1,?]"},
        {"Flatten", 13, "axis=-1", "float[2,3,s1]", "float[6,s1]"},
        {"Flatten", 13, "", "float*", "float[?,?]"},
        {"Flatten", 13, "axis=3", "float[2,3]", "error: outside"},
        {"Flatten", 9, "axis=-1", "float[2,3]", "error: value -1"},
        {"Flatten", 13, "axis=0", "float[0,s0]", "float[1,0]"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, slice)
{
    static const op_text calls[] = {
        {"Slice", 13, "", "float[10,s0]; int64[1]{2}; int64[1]{-1}", "float[7,s0]"},
        {"Slice", 13, "", "float[s0,4]; int64[1]{0}; int64[1]{9223372036854775807}", "float[s0,4]"},
        {"Slice", 13, "", "float[s0,4]; int64[1]{1}; int64[1]{3}", "float[?,4]"},
        {"Slice", 13, "", "float[s0,4]; int64[1]; int64[1]{3}", "float[?,?]"},
        {"Slice", 13, "", "float*; int64[1]{1}; int64[1]{3}", "float*"},
        {"Slice", 13, "",
         "float[5]; int64[1]{-1}; int64[1]{-9223372036854775808}; int64[1]{0}; "
         "int64[1]{-9223372036854775808}",
         "float[1]"},
        {"Slice", 13, "", "float[5]; int64[1]{4}; int64[1]{-100}; -; int64[1]{-2}", "float[3]"},
        {"Slice", 13, "", "float[5]; int64[1]{3}; int64[1]{3}", "float[0]"},
        {"Slice", 13, "", "float[0]; int64[1]{0}; int64[1]{9}; -; int64[1]{-1}", "float[0]"},
        {"Slice", 13, "", "float[0]; int64[1]{-5}; int64[1]{-9}; -; int64[1]{-1}", "float[0]"},
        {"Slice", 13, "", "float[5]; int64[1]{-9}; int64[1]{-99}; -; int64[1]{-1}", "float[1]"},
        {"Slice", 13, "", "float[5]; int64[1]{0}; int64[1]{1}; int64[1]{1}",
         "error: outside [-1, 0]"},
        {"Slice", 13, "", "float[5]; int64[1]{0}; int64[1]{1}; -; int64[1]{0}",
         "error: steps[0] is 0"},
        {"Slice", 13, "", "float[5]; int64[2]{0,0}; int64[2]{1,1}", "error: 2 starts"},
        {"Slice", 13, "", "float[5]; int64[1]{0}; int64[2]{1,1}", "error: 1 starts, but 2 ends"},
        {"Slice", 13, "", "float[5]; int64[1,1]{0}; int64[1]{1}", "error: input 1 has rank 2"},
        {"Slice", 9, "starts=[1] ends=[3]", "float[5,2]", "float[2,2]"},
        {"Slice", 9, "starts=[1] ends=[3] axes=[1]", "float[5,2]", "float[5,1]"},
        {"Slice", 9, "starts=[1]", "float[5,2]", "error: 'ends'"},
        {"Slice", 9, "starts=1 ends=[1]", "float[5,2]", "error: 'starts'"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, gather_and_shape)
{
    static const op_text calls[] = {
        {"Gather", 13, "axis=1", "float[2,s0,4]; int64[3,?]", "float[2,3,?,4]"},
        {"Gather", 13, "axis=-3", "float[2,s0,4]; int64[]", "float[s0,4]"},
        {"Gather", 13, "", "float[2]; int64*", "float*"},
        {"Gather", 13, "", "float*; int64[1]", "float*"},
        {"Gather", 13, "", "float[]; int64[1]", "error: a scalar has no axes"},
        {"Gather", 13, "axis=2", "float[2,2]; int64[1]", "error: outside"},
        {"Gather", 13, "axis=100", "float[2,2]; int64[1]", "error: value 100"},
        {"Gather", 13, "", "float[2]; int64[2]{0,2}", "error: index 2 (element 1 of input 1)"},
        {"Gather", 13, "", "float[2]; int32[1]{-3}", "error: index -3"},
        {"Gather", 13, "", "float[1,1,1,1,1,1,1,1,1]; int64[1,1,1,1,1,1,1,1,1]", "error: rank 17"},
        {"Shape", 13, "", "float[2,s0]", "int64[2]"},
        {"Shape", 13, "", "float*", "int64[?]"},
        {"Shape", 15, "start=1 end=-1", "float[2,3,4,5]", "int64[2]"},
        {"Shape", 15, "start=-9223372036854775808 end=9223372036854775807", "float[2]", "int64[1]"},
        {"Shape", 15, "start=3 end=1", "float[2,3,4,5]", "int64[0]"},
        {"Shape", 13, "start=1", "float[2]", "error: 'start'"},
        {"Size", 13, "", "float*", "int64[]"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, reshape)
{
    static const op_text calls[] = {
        {"Reshape", 14, "", "float[2,3,4]; int64[2]{6,-1}", "float[6,4]"},
        {"Reshape", 14, "", "float[s0,3,4]; int64[2]{0,-1}", "float[s0,12]"},
        {"Reshape", 14, "", "float[s0,3,4]; int64[2]{-1,12}", "float[s0,12]"},
        {"Reshape", 14, "", "float[s0,3,4]; int64[1]{-1}", "float[?]"},
        {"Reshape", 14, "", "float[s0,s1,4]; int64[3]{0,-1,2}", "float[s0,?,2]"},
        {"Reshape", 14, "", "float[s0,s1,4]; int64[3]{0,-1,4}", "float[s0,s1,4]"},
        {"Reshape", 14, "", "float*; int64[2]{0,-1}", "float[?,?]"},
        {"Reshape", 14, "", "float[2]; int64[3]", "float[?,?,?]"},
        {"Reshape", 14, "", "float[2]; int64[?]", "float*"},
        {"Reshape", 14, "", "float[2,0]; int64[2]{0,0}", "float[2,0]"},
        {"Reshape", 14, "", "float[0]; int64[2]{3,-1}", "float[3,0]"},
        {"Reshape", 14, "", "float[0,3]; int64[2]{0,-1}", "error: cannot be divided"},
        {"Reshape", 14, "allowzero=1", "float[0,3]; int64[3]{3,4,0}", "float[3,4,0]"},
        {"Reshape", 14, "allowzero=1", "float[0,3]; int64[2]{0,-1}", "error: both 0 and -1"},
        {"Reshape", 14, "", "float[1]; int64[0]{}", "float[]"},
        {"Reshape", 14, "", "float[2,3]; int64[1]{5}",
         "error: node 'n' (Reshape): shape [2,3] cannot become [5]"},
        {"Reshape", 14, "", "float[2,3]; int64[2]{4,-1}", "error: 6 elements cannot be divided"},
        {"Reshape", 14, "", "float[2,3]; int64[2]{-1,-1}", "error: at most one"},
        {"Reshape", 14, "", "float[2,3]; int64[1]{-2}", "error: less than -1"},
        {"Reshape", 14, "", "float[2]; int64[2]{1,0}", "error: is 0, but the input has rank 1"},
        {"Reshape", 14, "", "float[2]; int64[2]{9223372036854775807,9223372036854775807}",
         "error: cannot become"},
        {"Reshape", 14, "", "float[2]; int64[3]{9223372036854775807,4,-1}", "error: too many"},
        {"Reshape", 1, "shape=[3,-1]", "float[2,3]", "float[3,2]"},
        {"Reshape", 5, "shape=[3,-1]", "float[2,3]; int64[1]", "error: 'shape'"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, concat_and_split)
{
    static const op_text calls[] = {
        {"Concat", 13, "axis=1", "float[s0,2]; float[?,3]", "float[s0,5]"},
        {"Concat", 13, "axis=0", "float[s0,2]; float[3,s1]", "float[?,2]"},
        {"Concat", 13, "axis=1", "float[?,2]; float[4,3]", "float[4,5]"},
        {"Concat", 13, "axis=1", "float[?,2]; float[s1,3]", "float[s1,5]"},
        {"Concat", 13, "axis=-1", "float[2]; float*", "float[?]"},
        {"Concat", 3, "", "float[2,1]; float[2,1]", "float[2,2]"},
        {"Concat", 13, "", "float[2]", "error: 'axis'"},
        {"Concat", 13, "axis=0", "float[2]; float[2,2]", "error: input 1 has rank 2"},
        {"Concat", 13, "axis=0", "float[1,2]; float[1,3]", "error: input 1 has extent 3"},
        {"Concat", 13, "axis=0", "float[]; float[]", "error: a scalar has no axes"},
        {"Concat", 13, "axis=0", "float[9223372036854775807]; float[1]", "error: overflows"},
        {"Split:3", 13, "axis=1", "float[s0,6]", "float[s0,2]; float[s0,2]; float[s0,2]"},
        {"Split:2", 13, "", "float[s0,6]", "float[?,6]; float[?,6]"},
        {"Split:2", 13, "", "float[s0,6]; int64[2]{1,2}", "float[1,6]; float[2,6]"},
        {"Split:2", 13, "", "float[5]; int64[2]", "float[?]; float[?]"},
        {"Split:3", 18, "num_outputs=3", "float[7]", "float[3]; float[3]; float[1]"},
        {"Split:4", 18, "num_outputs=4", "float[5]", "error: too small for 4 parts"},
        {"Split:2", 18, "num_outputs=3", "float[7]", "error: but there are 2 outputs"},
        {"Split:2", 18, "", "float[6]", "error: either input 1 or"},
        {"Split:2", 13, "", "float[5]", "error: does not divide into 2"},
        {"Split:2", 13, "", "float[5]; int64[2]{1,3}", "error: add up to 4"},
        {"Split:2", 13, "", "float[5]; int64[2]{-1,6}", "error: size 0 of input 1 is -1"},
        {"Split:2", 13, "", "float[5]; int64[1]{5}", "error: 1 sizes for 2 outputs"},
        {"Split:2", 2, "split=[1,4]", "float[5]", "float[1]; float[4]"},
        {"Split:2", 2, "split=[1]", "float[5]", "error: 1 sizes for 2 outputs"},
        {"Split:2", 2, "split=[9223372036854775807,9223372036854775807]", "float[5]",
         "error: overflows"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, pad_tile_range_fill)
{
    static const op_text calls[] = {
        {"Pad", 13, "", "float[2,s0]; int64[4]{1,0,1,0}", "float[4,s0]"},
        {"Pad", 13, "", "float[2,s0]; int64[4]{0,1,0,0}", "float[2,?]"},
        {"Pad", 13, "", "float[2,3]; int64[4]", "float[?,?]"},
        {"Pad", 18, "", "float[2,3]; int64[2]{1,-1}; -; int32[1]{-1}", "float[2,3]"},
        {"Pad", 13, "", "float[2]; int64[2]{-3,0}", "error: cannot take pads -3 and 0"},
        {"Pad", 13, "", "float[2]; int64[2]{9223372036854775807,1}", "error: cannot take"},
        {"Pad", 13, "", "float[2]; int64[2]{-9223372036854775808,-1}", "error: cannot take"},
        {"Pad", 13, "", "float[2]; int64[1]{1}", "error: 1 pads for 1 axes"},
        {"Pad", 13, "mode='edge'", "float[0]; int64[2]{1,1}", "error: no elements"},
        {"Pad", 13, "mode='wrap'", "float[2]; int64[2]{1,1}", "error: 'mode'"},
        {"Pad", 2, "pads=[1,1]", "float[2]", "float[4]"},
        {"Pad", 1, "paddings=[1,1]", "float[2]", "float[4]"},
        {"Pad", 2, "", "float[2]", "error: 'pads'"},
        {"Tile", 13, "", "float[2,s0]; int64[2]{3,1}", "float[6,s0]"},
        {"Tile", 13, "", "float[2,s0]; int64[2]{0,2}", "float[0,?]"},
        {"Tile", 13, "", "float[2,2]; int64[1]{1}", "error: 1 repeats"},
        {"Tile", 13, "", "float[2]; int64[1]{-1}", "error: less than 0"},
        {"Tile", 13, "", "float[2]; int64[1]{9223372036854775807}", "error: too large"},
        {"Tile", 1, "", "float[2,3]; float[]{2}; float[]{1}", "float[2,6]"},
        {"Range", 11, "", "int64[]{0}; int64[]{10}; int64[]{3}", "int64[4]"},
        {"Range", 11, "", "int64[]{0}; int64[]{10}; int64[]{-1}", "int64[0]"},
        {"Range", 11, "", "int64[]{0}; int64[]; int64[]{1}", "int64[?]"},
        {"Range", 11, "", "int64[]{0}; int64[]{1}; int64[]{0}", "error: is 0"},
        {"Range", 11, "", "int64[]{-9223372036854775808}; int64[]{9223372036854775807}; int64[]{1}",
         "error: too many"},
        {"Range", 11, "", "float[]{0}; float[]{1}; float[]{nan}", "error: no range"},
        {"Range", 11, "", "float[]{0}; float[]{inf}; float[]{1}", "error: too many"},
        {"ConstantOfShape", 9, "", "int64[2]{2,3}", "float[2,3]"},
        {"ConstantOfShape", 9, "value=<int32[1]{7}>", "int64[0]{}", "int32[]"},
        {"ConstantOfShape", 9, "", "int64[2]", "float[?,?]"},
        {"ConstantOfShape", 9, "", "int64[1]{-1}", "error: less than 0"},
        {"ConstantOfShape", 9, "value=<int32[2]{7,7}>", "int64[1]{1}", "error: must have one"},
        {"ConstantOfShape", 9, "", "int64[3]{4611686018427387904,4611686018427387904,4}",
         "error: more elements than memory can hold"},
    };
    EXPECT_INFERRED(calls);
}

Test(shape_rules, reductions)
{
    static const op_text calls[] = {
        {"ReduceMean", 13, "axes=[1]", "float[s0,3,s1]", "float[s0,1,s1]"},
        {"ReduceMean", 13, "axes=[-1] keepdims=0", "float[s0,3,s1]", "float[s0,3]"},
        {"ReduceMean", 18, "", "float[s0,3]; int64[1]", "float[?,?]"},
        {"ReduceMean", 18, "keepdims=0", "float[s0,3]; int64[1]", "float*"},
        {"ReduceSum", 13, "", "float[2,3]", "float[1,1]"},
        {"ReduceSum", 13, "noop_with_empty_axes=1", "float[2,3]", "float[2,3]"},
        {"ReduceSum", 13, "noop_with_empty_axes=1", "float[2,3]; int64[0]{}", "float[2,3]"},
        {"ReduceSum", 13, "", "float[2,3]; int64[2]{0,0}", "error: a second time"},
        {"ReduceSum", 13, "axes=[0]", "float[2,3]", "error: 'axes'"},
        {"ReduceSum", 13, "keepdims=2", "float[2,3]", "error: 'keepdims'"},
        {"ArgMax", 13, "axis=1", "float[s0,3]", "int64[s0,1]"},
        {"ArgMax", 13, "keepdims=0", "float[s0,3]", "int64[3]"},
        {"ArgMax", 13, "axis=2", "float[s0,3]", "error: outside"},
        {"ArgMax", 13, "", "float[0,3]", "error: no elements"},
        {"Clip", 13, "", "float[s0]; float[2]", "error: input 1 has 2 elements"},
        {"Dropout:2", 13, "", "float[s0]", "float[s0]; bool[s0]"},
        {"Dropout:2", 7, "", "float[s0]", "float[s0]; float[s0]"},
        {"Dropout", 13, "", "float[1]; -; bool[]{1}", "float[1]"},
        {"Dropout", 13, "", "float[1]; float[]{1}; bool[]{1}",
         "error: input 1, the ratio, is 1, must be at least 0 and below 1"},
        {"Dropout:2", 22, "", "float8e5m2[s0]; float[]{1}; bool[]{0}", "float8e5m2[s0]; bool[s0]"},
        {"Split:2", 1, "", "float[5]; float[2]{2,3}", "float[2]; float[3]"},
        {"Split:2", 1, "", "float16[5]; float16[2]{2.5,3}",
         "error: size 0 of input 1 is 2.5, must be a whole number"},
        {"Split:2", 1, "split=[2,3]", "float[5]; float[2]{2,3}",
         "error: attribute 'split' and input 1 exclude each other"},
        {"Cast", 13, "to=7", "float[s0,?]", "int64[s0,?]"},
        {"Cast", 13, "to=14", "float[1]", "error: 14 (complex64)"},
        {"Cast", 13, "to=0", "float[1]", "error: 'to' is 0"},
        {"Cast", 13, "to=-9223372036854775808", "float[1]", "error: 'to'"},
        {"Cast", 13, "", "float[1]", "error: 'to'"},
        {"Cast", 9, "to=16", "float[1]", "error: bfloat16"},
        {"Cast", 1, "to='INT64'", "float[1]", "int64[1]"},
        {"Cast", 1, "to='INTEGER'", "float[1]", "error: names no element type"},
        {"CastLike", 15, "", "float[s0]; int8[3]", "int8[s0]"},
        {"Constant", 13, "value_ints=[1,2,3]", "", "int64[3]"},
        {"Constant", 13, "value_float=1.5", "", "float[]"},
        {"Constant", 13, "value_string='a'", "", "string[]"},
        {"Constant", 13, "value_int=1 value_float=1.5", "", "error: exclude each other"},
        {"Constant", 13, "", "", "error: 'value' is required"},
        {"Constant", 11, "value_int=1", "", "error: 'value_int'"},
        {"Constant", 13, "value=1", "",
         "error: attribute 'value' of node 'n' (Constant): kind is int, must be tensor"},
    };
    EXPECT_INFERRED(calls);
}

/* Operators that pick, put and order elements: hostile indices, every kind of element, ties, empty
 * tensors, symbolic shapes. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(index, gather_elements)
{
    static const op_text calls[] = {
        {"GatherElements", 13, "axis=1", "string[2,2]{a,b,c,d}; int32[2,1]{-1,0}",
         "string[2,1]{b,c}"},
        {"GatherElements", 13, "", "float[3,2]{1,2,3,4,5,6}; int64[1,2]{2,-2}", "float[1,2]{5,4}"},
        {"GatherElements", 13, "", "int8[2]{1,2}; int64[3]{0,1,-3}",
         "error: index -3 (element 2 of input 1) is outside [-2, 1]"},
        {"GatherElements", 13, "", "int8[2]{1,2}; int64[1]{-9223372036854775808}",
         "error: index -9223372036854775808 (element 0"},
        {"GatherElements", 13, "axis=1",
         "int8[2,2]{1,2,3,4}; int64[2,2]{0,1,1,9223372036854775807}",
         "error: (element 3 of input 1) is outside [-2, 1]"},
        {"GatherElements", 13, "", "int8[0]{}; int64[1]{0}", "error: axis that has none"},
        {"GatherElements", 13, "", "int8[0,4,9223372036854775807]{}; int64[1,2,2]{0,0,0,0}",
         "error: index 0 (element 0 of input 1) names an element of an axis that has none"},
        {"GatherElements", 13, "", "int8[2,2]{1,2,3,4}; int64[2,3]{0,0,0,0,0,0}",
         "error: input 1 has extent 3 at axis 1, more than the 2 of input 0"},
        {"GatherElements", 13, "", "int8[2]{1,2}; int64[1,1]{0}", "error: rank 2"},
        {"GatherElements", 13, "", "int8[]{1}; int64[]{0}", "error: a scalar has no axes"},
        {"GatherElements", 13, "axis=2", "int8[2,2]{1,2,3,4}; int64[1,1]{0}",
         "error: outside [-2, 1]"},
        {"GatherElements", 13, "axes=[1]", "int8[2]{1,2}; int64[1]{0}", "error: 'axes'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, gather_nd)
{
    static const op_text calls[] = {
        {"GatherND", 13, "batch_dims=1", "int8[2,2,2]{1,2,3,4,5,6,7,8}; int64[2,1]{-1,0}",
         "int8[2,2]{3,4,5,6}"},
        {"GatherND", 11, "", "string[2,2]{a,b,c,d}; int64[2,2]{0,-1,1,0}", "string[2]{b,c}"},
        {"GatherND", 13, "", "int8[2]{1,2}; int64[2,0]{}", "int8[2,2]{1,2,1,2}"},
        {"GatherND", 13, "", "int8[2,2]{1,2,3,4}; int64[2,2]{0,0,1,2}",
         "error: index 2 (element 3 of input 1) is outside [-2, 1]"},
        {"GatherND", 13, "", "int8[2,0]{}; int64[1,1]{5}", "error: index 5 (element 0"},
        {"GatherND", 13, "", "int8[2]{1,2}; int64[1,2]{0,0}", "error: 2 indices, more than the 1"},
        {"GatherND", 13, "batch_dims=1", "int8[2]{1,2}; int64[2,1]{0,0}",
         "error: input 0 has rank 1"},
        {"GatherND", 13, "batch_dims=1", "int8[2,1]{1,2}; int64[3,1]{0,0,0}",
         "error: batch dimension 0 is 2 in input 0, but 3 in input 1"},
        {"GatherND", 11, "batch_dims=0", "int8[2]{1,2}; int64[1,1]{0}", "error: 'batch_dims'"},
        {"GatherND", 13, "batch_dims=-1", "int8[2]{1,2}; int64[1,1]{0}", "error: 'batch_dims'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, scatter)
{
    static const op_text calls[] = {
        {"Scatter", 9, "axis=-1", "int16[1,3]{1,2,3}; int32[1,2]{2,0}; int16[1,2]{8,9}",
         "int16[1,3]{9,2,8}"},
        {"ScatterElements", 18, "reduction='add'", "int8[2]{127,1}; int64[2]{0,0}; int8[2]{1,1}",
         "int8[2]{-127,1}"},
        {"ScatterElements", 18, "reduction='add'",
         "string[2]{a,b}; int64[3]{1,0,1}; string[3]{x,,y}", "string[2]{a,bxy}"},
        {"ScatterElements", 18, "reduction='max'", "string[2]{a,b}; int64[2]{0,1}; string[2]{ab,a}",
         "string[2]{ab,b}"},
        {"ScatterElements", 18, "reduction='mul'", "string[1]{a}; int64[1]{0}; string[1]{b}",
         "error: reduction 'mul' is not defined for elements of type string"},
        {"ScatterElements", 18, "reduction='min'",
         "float16[2]{3,1}; int64[2]{0,1}; float16[2]{2,2}", "float16[2]{2,1}"},
        {"ScatterElements", 18, "reduction='add'",
         "bool[3]{0,1,0}; int64[3]{0,1,2}; bool[3]{1,1,0}", "bool[3]{1,1,0}"},
        {"ScatterElements", 18, "reduction='mul'",
         "bool[3]{0,1,1}; int64[3]{0,1,2}; bool[3]{1,1,0}", "bool[3]{0,1,0}"},
        {"ScatterElements", 18, "", "int8[2]{1,2}; int64[1]{2}; int8[1]{0}",
         "error: index 2 (element 0 of input 1) is outside [-2, 1]"},
        {"ScatterElements", 18, "", "int8[2]{1,2}; int64[1]{0}; int8[2]{0,0}",
         "error: input 2 has shape [2], must have that of input 1, [1]"},
        {"ScatterElements", 16, "reduction='max'", "int8[1]{1}; int64[1]{0}; int8[1]{0}",
         "error: attribute 'reduction' is 'max', must be one of 'none', 'add', 'mul'"},
        {"ScatterElements", 13, "reduction='add'", "int8[1]{1}; int64[1]{0}; int8[1]{0}",
         "error: 'reduction'"},
        {"ScatterElements", 18, "", "int8[2]{1,2}; int64[0]{}; int8[0]{}", "int8[2]{1,2}"},
        {"ScatterND", 18, "reduction='mul'",
         "int64[2,2]{1,2,3,4}; int64[2,1]{-1,1}; int64[2,2]{2,3,5,7}", "int64[2,2]{1,2,30,84}"},
        {"ScatterND", 18, "", "string[2]{a,b}; int64[1,1]{1}; string[1]{c}", "string[2]{a,c}"},
        {"ScatterND", 18, "reduction='add'", "float[2]{1,2}; int64[1,0]{}; float[1,2]{1,1}",
         "float[2]{2,3}"},
        {"ScatterND", 18, "", "float[2,2]{1,2,3,4}; int64[1,2]{0,-3}; float[1]{0}",
         "error: index -3 (element 1 of input 1) is outside [-2, 1]"},
        {"ScatterND", 18, "", "float[2,2]{1,2,3,4}; int64[1,1]{0}; float[2]{0,0}",
         "error: input 2 has shape [2], must have that of the slices, [1,2]"},
        {"ScatterND", 18, "reduction='xor'", "float[1]{1}; int64[1,1]{0}; float[1]{0}",
         "error: 'xor', must be one of 'none', 'add', 'mul', 'max', 'min'"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, compress_and_non_zero)
{
    static const op_text calls[] = {
        {"Compress", 11, "axis=1", "string[2,3]{a,b,c,d,e,f}; bool[2]{0,1}", "string[2,1]{b,e}"},
        {"Compress", 11, "", "int8[2,2]{1,2,3,4}; bool[9]{1,0,1,0,1,1,1,1,1}", "int8[2]{1,3}"},
        {"Compress", 11, "", "int8[]{7}; bool[1]{1}", "int8[1]{7}"},
        {"Compress", 11, "axis=2", "int8[2,2]{1,2,3,4}; bool[1]{1}", "error: outside [-2, 1]"},
        {"Compress", 11, "", "int8[2]{1,2}; bool[1,1]{1}", "error: rank 2, must have 1"},
        {"NonZero", 13, "", "float[2,2]{0,-0,nan,1}", "int64[2,2]{1,1,0,1}"},
        {"NonZero", 13, "", "string[3]{,a,b}", "int64[1,2]{1,2}"},
        {"NonZero", 13, "", "bfloat16[2,1,2]{-0,0,1,0}", "int64[3,1]{1,0,0}"},
        {"NonZero", 13, "", "float[]{3}", "int64[0,1]{}"},
        {"NonZero", 13, "", "bool[2,0]{}", "int64[2,0]{}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, unique)
{
    static const op_text calls[] = {
        {"Unique:4", 11, "", "float[5]{nan,2,nan,0,-0}",
         "float[3]{0,2,NaN}; int64[3]{3,1,0}; int64[5]{2,1,2,0,0}; int64[3]{2,1,2}"},
        {"Unique:4", 11, "sorted=0", "string[2,2]{b,a,b,ab}",
         "string[3]{b,a,ab}; int64[3]{0,1,3}; int64[4]{0,1,0,2}; int64[3]{2,1,1}"},
        {"Unique:4", 11, "axis=-1", "int8[2,3]{2,1,2,0,5,0}",
         "int8[2,2]{1,2,5,0}; int64[2]{1,0}; int64[3]{1,0,1}; int64[2]{1,2}"},
        {"Unique:4", 11, "axis=0", "int8[3,0]{}",
         "int8[1,0]{}; int64[1]{0}; int64[3]{0,0,0}; int64[1]{3}"},
        {"Unique:4", 11, "axis=0", "int8[0,3]{}",
         "int8[0,3]{}; int64[0]{}; int64[0]{}; int64[0]{}"},
        {"Unique:3", 11, "", "bool[]{1}", "bool[1]{1}; int64[1]{0}; int64[1]{0}"},
        {"Unique", 11, "axis=1", "int8[3]{1,2,3}", "error: outside [-1, 0]"},
        {"Unique", 11, "sorted=2", "int8[3]{1,2,3}", "error: 'sorted'"},
        {"Unique", 27, "", "bfloat16[1]{1}", "error: bfloat16"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, top_k)
{
    static const op_text calls[] = {
        {"TopK:2", 11, "", "int32[5]{3,1,3,2,3}; int64[1]{4}",
         "int32[4]{3,3,3,2}; int64[4]{0,2,4,3}"},
        {"TopK:2", 11, "largest=0", "int64[3]{5,-9223372036854775808,5}; int64[1]{3}",
         "int64[3]{-9223372036854775808,5,5}; int64[3]{1,0,2}"},
        {"TopK:2", 11, "", "float[5]{-0,nan,0,-inf,1}; int64[1]{5}",
         "float[5]{NaN,1,-0,0,-INF}; int64[5]{1,4,0,2,3}"},
        {"TopK:2", 11, "axis=0", "uint8[3,2]{1,200,3,4,255,6}; int64[1]{1}",
         "uint8[1,2]{255,200}; int64[1,2]{2,0}"},
        {"TopK:2", 11, "axis=0", "double[3,2]{1,2,3,4,5,6}; int64[1]{2}",
         "double[2,2]{5,6,3,4}; int64[2,2]{2,2,1,1}"},
        {"TopK:2", 1, "k=1", "float16[2]{1,2}", "float16[1]{2}; int64[1]{1}"},
        {"TopK:2", 11, "", "int8[2]{1,2}; int64[1]{0}", "int8[0]{}; int64[0]{}"},
        {"TopK:2", 11, "", "int8[2]{1,2}; int64[1]{3}", "error: k is 3, more than the 2 elements"},
        {"TopK:2", 11, "", "int8[2]{1,2}; int64[1]{-1}", "error: k is -1, must be 0 or more"},
        {"TopK:2", 11, "", "int8[2]{1,2}; int64[2]{1,1}", "error: 2 elements, must have one"},
        {"TopK:2", 1, "", "float[2]{1,2}", "error: 'k'"},
        {"TopK:2", 23, "", "bfloat16[2]{1,2}; int64[1]{1}", "error: bfloat16"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, one_hot)
{
    static const op_text calls[] = {
        {"OneHot", 11, "", "float[3]{1.7,-1.5,nan}; int8[]{3}; string[2]{.,x}",
         "string[3,3]{.,x,.,.,.,x,.,.,.}"},
        {"OneHot", 9, "axis=0", "int64[2]{-1,1}; int64[]{2}; int8[2]{0,1}", "int8[2,2]{0,0,0,1}"},
        {"OneHot", 11, "", "uint64[1]{18446744073709551615}; int64[]{2}; int8[2]{0,1}",
         "int8[1,2]{0,0}"},
        {"OneHot", 11, "", "int64[]{1}; float[1]{2.5}; int8[2]{0,1}", "int8[2]{0,1}"},
        {"OneHot", 11, "", "int64[1]{1}; int64[]{-1}; int8[2]{0,1}",
         "error: the depth, is -1, must be from 0"},
        {"OneHot", 11, "", "int64[1]{1}; float[]{nan}; int8[2]{0,1}",
         "error: the depth, is NaN, must be from 0"},
        {"OneHot", 11, "", "int64[1]{1}; int64[2]{1,2}; int8[2]{0,1}",
         "error: the depth, has shape [2], must have one element"},
        {"OneHot", 11, "", "int64[1]{1}; int64[]{2}; int8[3]{0,1,2}",
         "error: has shape [3], must have [2]"},
        {"OneHot", 11, "axis=2", "int64[1]{1}; int64[]{2}; int8[2]{0,1}", "error: outside [-2, 1]"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, sequences_and_triangles)
{
    static const op_text calls[] = {
        {"ReverseSequence", 10, "", "int8[3,2]{1,2,3,4,5,6}; int64[2]{0,3}",
         "int8[3,2]{1,6,3,4,5,2}"},
        {"ReverseSequence", 10, "batch_axis=0 time_axis=1", "string[1,3]{a,b,c}; int64[1]{2}",
         "string[1,3]{b,a,c}"},
        {"ReverseSequence", 10, "", "int8[2,1]{1,2}; int64[1]{3}",
         "error: length 3 (element 0 of input 1) is outside [0, 2]"},
        {"ReverseSequence", 10, "", "int8[2,1]{1,2}; int64[2]{1,1}",
         "error: 2 lengths for a batch of 1"},
        {"ReverseSequence", 10, "time_axis=1", "int8[2,1]{1,2}; int64[1]{1}", "error: both 1"},
        {"ReverseSequence", 10, "", "int8[2]{1,2}; int64[1]{1}", "error: rank 1"},
        {"Trilu", 14, "", "string[2,2]{a,b,c,d}", "string[2,2]{a,b,,d}"},
        {"Trilu", 14, "upper=0", "int8[2,3]{1,2,3,4,5,6}; int64[]{1}", "int8[2,3]{1,2,0,4,5,6}"},
        {"Trilu", 14, "upper=0", "int8[1,1]{1}; int64[]{-9223372036854775808}", "int8[1,1]{0}"},
        {"Trilu", 14, "", "int8[1,1]{1}; int64[]{-9223372036854775808}", "int8[1,1]{1}"},
        {"Trilu", 14, "", "int8[1,1]{1}; int64[]{9223372036854775807}", "int8[1,1]{0}"},
        {"Trilu", 14, "", "int8[2]{1,2}", "error: rank 1, must have at least 2"},
        {"EyeLike", 9, "dtype=10 k=-1", "int8[2,2]{1,2,3,4}", "float16[2,2]{0,0,1,0}"},
        {"EyeLike", 9, "k=9223372036854775807", "int8[1,1]{5}", "int8[1,1]{0}"},
        {"EyeLike", 9, "k=-9223372036854775808", "int8[1,1]{5}", "int8[1,1]{0}"},
        {"EyeLike", 9, "dtype=16", "int8[1,1]{5}", "error: bfloat16"},
        {"EyeLike", 9, "", "int8[1]{5}", "error: rank 1, must have 2"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, cumulative)
{
    static const op_text calls[] = {
        {"CumSum", 14, "exclusive=1 reverse=1", "int32[2,2]{1,2,3,4}; int32[]{-2}",
         "int32[2,2]{3,4,0,0}"},
        {"CumSum", 14, "", "int64[2]{9223372036854775807,1}; int64[1]{0}",
         "int64[2]{9223372036854775807,-9223372036854775808}"},
        {"CumSum", 14, "", "float16[4]{2048,1,1,1}; int64[]{0}", "float16[4]{2048,2048,2050,2052}"},
        {"CumProd", 26, "exclusive=1", "uint32[3]{65536,65536,7}; int64[]{0}",
         "uint32[3]{1,65536,0}"},
        {"CumSum", 14, "", "int32[2]{1,2}; int64[]{1}", "error: input 1, the axis, is 1"},
        {"CumSum", 14, "", "int32[2]{1,2}; int64[2]{0,0}", "error: 2 elements, must have one"},
        {"CumSum", 13, "", "float16[1]{1}; int64[]{0}", "error: float16"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, boxes)
{
    static const op_text calls[] = {
        {"NonMaxSuppression", 11, "",
         "float[1,3,4]{1,1,0,0,0,0,1,1,0,0,2,2}; float[1,1,3]{0.5,0.5,nan}; int64[]{9}; "
         "float[]{0.5}",
         "int64[2,3]{0,0,0,0,0,2}"},
        {"NonMaxSuppression", 11, "",
         "float[1,2,4]{0,0,1,1,5,5,6,6}; float[1,2,2]{1,2,3,1}; int64[]{2}; -; float[]{1}",
         "int64[2,3]{0,0,1,0,1,0}"},
        {"NonMaxSuppression", 11, "", "float[1,1,4]{0,0,1,1}; float[1,1,1]{1}", "int64[0,3]{}"},
        {"NonMaxSuppression", 11, "", "float[1,1,4]{0,0,1,1}; float[1,1,1]{1}; int64[]{-1}",
         "int64[0,3]{}"},
        {"NonMaxSuppression", 11, "",
         "float[1,1,4]{0,0,1,1}; float[1,1,1]{1}; int64[]{1}; float[]{1.5}",
         "error: the overlap threshold, is 1.5, outside [0, 1]"},
        {"NonMaxSuppression", 11, "",
         "float[1,1,4]{0,0,1,1}; float[1,1,1]{1}; int64[]{1}; float[]{nan}",
         "error: the overlap threshold"},
        {"NonMaxSuppression", 11, "", "float[1,1,4]{0,0,1,1}; float[1,1,2]{1,1}; int64[]{1}",
         "error: input 0 has 1 boxes, but input 1 has 2"},
        {"NonMaxSuppression", 11, "", "float[1,1,3]{0,0,1}; float[1,1,1]{1}; int64[]{1}",
         "error: a box has 3 numbers"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, images)
{
    static const op_text calls[] = {
        {"DepthToSpace", 13, "blocksize=2 mode='CRD'", "int8[1,4,1,1]{1,2,3,4}",
         "int8[1,1,2,2]{1,2,3,4}"},
        {"DepthToSpace", 1, "blocksize=2", "string[1,4,1,1]{a,b,c,d}", "string[1,1,2,2]{a,b,c,d}"},
        {"DepthToSpace", 13, "blocksize=2", "int8[1,3,1,1]{1,2,3}",
         "error: axis 1 has extent 3, must be a multiple of 4"},
        {"DepthToSpace", 13, "blocksize=2147483647", "int8[0,0,9,9]{}",
         "int8[0,0,19327352823,19327352823]{}"},
        {"DepthToSpace", 13, "", "int8[1,4,1,1]{1,2,3,4}", "error: 'blocksize'"},
        {"DepthToSpace", 13, "blocksize=0", "int8[1,4,1,1]{1,2,3,4}", "error: 'blocksize'"},
        {"DepthToSpace", 13, "blocksize=2 mode='crd'", "int8[1,4,1,1]{1,2,3,4}",
         "error: must be one of 'DCR', 'CRD'"},
        {"SpaceToDepth", 28, "blocksize=2 mode='CRD'", "int8[1,2,2,2]{1,2,3,4,5,6,7,8}",
         "int8[1,8,1,1]{1,2,3,4,5,6,7,8}"},
        {"SpaceToDepth", 13, "blocksize=2", "int8[1,2,2,2]{1,2,3,4,5,6,7,8}",
         "int8[1,8,1,1]{1,5,2,6,3,7,4,8}"},
        {"SpaceToDepth", 27, "blocksize=2 mode='CRD'", "int8[1,1,2,2]{1,2,3,4}", "error: 'mode'"},
        {"CenterCropPad", 18, "axes=[-1]", "string[2,3]{a,b,c,d,e,f}; int32[1]{5}",
         "string[2,5]{,a,b,c,,,d,e,f,}"},
        {"CenterCropPad", 18, "", "int8[3,2]{1,2,3,4,5,6}; int64[2]{2,3}",
         "int8[2,3]{1,2,0,3,4,0}"},
        {"CenterCropPad", 18, "", "int8[0,1099511627776,1099511627776]{}; int64[3]{1,1,2}",
         "int8[1,1,2]{0,0}"},
        {"CenterCropPad", 18, "axes=[0,-2]", "int8[1,1]{1}; int64[2]{1,1}", "error: a second time"},
        {"CenterCropPad", 18, "", "int8[1,1]{1}; int64[1]{1}", "error: 1 extents for 2 axes"},
        {"CenterCropPad", 18, "", "int8[1]{1}; int64[1]{-1}", "error: less than 0"},
        {"Col2Im", 18, "pads=[1,1]", "int8[1,3,3]{1,2,3,4,5,6,7,8,9}; int64[1]{3}; int64[1]{3}",
         "int8[1,1,3]{6,15,14}"},
        {"Col2Im", 18, "", "string[1,2,2]{a,b,c,d}; int64[1]{3}; int64[1]{2}",
         "string[1,1,3]{a,bc,d}"},
        {"Col2Im", 18, "", "bool[1,2,2]{0,1,0,0}; int64[1]{3}; int64[1]{2}", "bool[1,1,3]{0,1,0}"},
        {"Col2Im", 18, "", "int8[1,3,2]{1,2,3,4,5,6}; int64[1]{3}; int64[1]{2}",
         "error: axis 1 of input 0 has extent 3, must be a multiple of 2"},
        {"Col2Im", 18, "", "int8[1,2,1]{1,2}; int64[1]{3}; int64[1]{2}",
         "error: the image holds 2 blocks"},
        {"Col2Im", 18, "", "int8[1,2,1]{1,2}; int64[1]{1}; int64[1]{2}",
         "error: does not fit axis 0"},
        {"Col2Im", 18, "",
         "int8[1,2,1]{1,2}; int64[1]{9223372036854775807}; int64[1]{9223372036854775807}",
         "error: "},
        {"Col2Im", 18, "strides=[1,1]", "int8[1,2,2]{1,2,3,4}; int64[1]{3}; int64[1]{2}",
         "error: attribute 'strides' has 2 values, 1 are needed"},
        {"Range", 27, "stash_type=11", "bfloat16[]{0}; bfloat16[]{3}; bfloat16[]{1}",
         "bfloat16[3]{0,1,2}"},
        {"Range", 27, "stash_type=10", "bfloat16[]{0}; bfloat16[]{3}; bfloat16[]{1}",
         "error: attribute 'stash_type' is 10, must be 1 (float) or 11 (double)"},
    };
    EXPECT_EVALUATED(calls);
}

Test(index, symbolic_shapes)
{
    static const op_text calls[] = {
        {"GatherElements", 13, "", "float[s0,3]; int64[?,3]", "float[?,3]"},
        {"GatherElements", 13, "", "float[s0,3]; int64*", "float[?,?]"},
        {"GatherND", 13, "", "float[s0,3,s1]; int64[s2,2]", "float[s2,s1]"},
        {"GatherND", 13, "", "float[s0,3]; int64[4,?]", "float*"},
        {"ScatterND", 18, "", "float[s0,3]; int64[s1,1]; float[?,3]", "float[s0,3]"},
        {"Compress", 11, "axis=0", "float[s0,3]; bool[?]", "float[?,3]"},
        {"Compress", 11, "", "float*; bool*", "float[?]"},
        {"NonZero", 13, "", "float[s0,3]", "int64[2,?]"},
        {"NonZero", 13, "", "float*", "int64[?,?]"},
        {"Unique:2", 11, "axis=-1", "float[s0,3]", "float[s0,?]; int64[?]"},
        {"TopK:2", 11, "", "float[s0,3]; int64[1]{2}", "float[s0,2]; int64[s0,2]"},
        {"TopK:2", 11, "", "float[s0,3]; int64[1]", "float[s0,?]; int64[s0,?]"},
        {"OneHot", 11, "axis=0", "int64[s0]; int64[]; float[2]", "float[?,s0]"},
        {"NonMaxSuppression", 11, "", "float[s0,?,4]; float[?,s1,s2]", "int64[?,3]"},
        {"DepthToSpace", 13, "blocksize=2", "float[s0,4,s1,3]", "float[s0,1,?,6]"},
        {"SpaceToDepth", 13, "blocksize=1", "float[s0,s1,s2,3]", "float[s0,s1,s2,3]"},
        {"CenterCropPad", 18, "axes=[1]", "float[s0,3]; int64[1]", "float[s0,?]"},
        {"CenterCropPad", 18, "", "float*; int64[2]{4,5}", "float[4,5]"},
        {"Col2Im", 18, "", "float[s0,4,s1]; int64[2]{3,3}; int64[2]{2,2}", "float[s0,1,3,3]"},
        {"Col2Im", 18, "", "float*; int64[2]; int64[2]{2,2}", "float[?,?,?,?]"},
        {"EyeLike", 9, "dtype=1", "int8*", "float[?,?]"},
        {"RandomNormalLike", 1, "", "float[s0,3]", "float[s0,3]"},
        {"Multinomial", 7, "sample_size=5", "float[s0,3]", "int32[s0,5]"},
    };
    EXPECT_INFERRED(calls);
}

/* Quantised operators of com.microsoft and relatives of ONNX's: hostile shapes, values and
 * attributes, and shapes that are not known. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

#define MS "com.microsoft/"

Test(contrib_quant, linear_quantization)
{
    static const op_text calls[] = {
        {MS "QuantizeLinear", 1, "axis=0", "float[2,2]{1,2,3,4}; float[2]{1,2}; uint8[2]{0,1}",
         "uint8[2,2]{1,2,3,3}"},
        {MS "QuantizeLinear", 1, "axis=1 block_size=2",
         "float[1,3]{1,2,30}; float[1,2]{1,3}; int4[1,2]{0,1}", "int4[1,3]{1,2,7}"},
        {MS "QuantizeLinear", 1, "", "float[3]{nan,-inf,inf}; float[]{1}; int16[]{0}",
         "int16[3]{-32768,-32768,32767}"},
        {MS "DequantizeLinear", 1, "", "int32[1]{-2147483648}; float[]{1}; int32[]{2147483647}",
         "float[1]{-4.2949673e+09}"},
        {MS "QuantizeLinear", 1, "saturate=1", "float[1]{1}; float[]{1}", "error: saturate"},
        {MS "QuantizeLinear", 1, "", "float[2,2]{1,2,3,4}; float[3]{1,2,3}",
         "error: input 1 has 3 scales for axis 1 of extent 2"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, elementwise)
{
    static const op_text calls[] = {
        {MS "QLinearAdd", 1, "",
         "uint8[2]{0,255}; float[]{1}; uint8[]{0}; uint8[1]{255}; float[]{1}; uint8[]{0}; "
         "float[]{1}; uint8[]{0}",
         "uint8[2]{255,255}"},
        /* Zero points that are absent are 0. */
        {MS "QLinearAdd", 1, "",
         "int8[2]{-100,3}; float[]{1}; -; int8[2]{-100,4}; float[]{1}; -; float[]{2}",
         "int8[2]{-100,4}"},
        {MS "QLinearMul", 1, "",
         "int8[2,1]{-128,2}; float[]{1}; int8[]{0}; int8[2]{-128,1}; float[]{1}; int8[]{0}; "
         "float[]{1}; int8[]{0}",
         "int8[2,2]{127,-128,-128,2}"},
        {MS "QLinearMul", 1, "",
         "int8[0]{}; float[]{1}; int8[]{0}; int8[1]{1}; float[]{1}; int8[]{0}; float[]{1}; "
         "int8[]{0}",
         "int8[0]{}"},
        /* A scale of 0 divides to infinities and NaN, which saturate. */
        {MS "QLinearAdd", 1, "",
         "uint8[3]{0,1,2}; float[]{1}; uint8[]{1}; uint8[]{1}; float[]{1}; uint8[]{1}; float[]{0}; "
         "uint8[]{7}",
         "uint8[3]{0,0,0}"},
        {MS "QLinearLeakyRelu", 1, "alpha=0.5",
         "int8[3]{-128,0,127}; float[]{1}; int8[]{0}; float[]{1}; int8[]{0}", "int8[3]{-64,0,127}"},
        {MS "QLinearSigmoid", 1, "", "uint8[2]{0,255}; float[]{1}; uint8[]{0}; float[]{0.00390625}",
         "uint8[2]{128,255}"},
        {MS "QLinearWhere", 1, "",
         "bool[2]{1,0}; uint8[1]{10}; float[]{1}; uint8[]{0}; uint8[2]{20,30}; float[]{2}; "
         "uint8[]{10}; float[]{2}; uint8[]{1}",
         "uint8[2]{6,21}"},
        {MS "QLinearWhere", 1, "",
         "bool[2]{1,0}; uint8[1]{10}; float[]{1}; uint8[]{0}; uint8[2]{20,30}; float[]{2}; "
         "uint8[]{10}; uint8[]{2}; uint8[]{1}",
         "error: input 7 has type uint8"},
        {MS "QLinearAdd", 1, "",
         "uint8[2]{0,0}; float[2]{1,1}; uint8[]{0}; uint8[2]{0,0}; float[]{1}; uint8[]{0}; "
         "float[]{1}; uint8[]{0}",
         "error: input 1 has shape [2], it must be one element"},
        {MS "QLinearAdd", 1, "",
         "uint8[2]{0,0}; float[]{1}; uint8[]{0}; uint8[3]{0,0,0}; float[]{1}; uint8[]{0}; "
         "float[]{1}; uint8[]{0}",
         "error: "},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, concat_and_reductions)
{
    static const op_text calls[] = {
        {MS "QLinearConcat", 1, "axis=-1",
         "float[]{2}; int8[]{1}; int8[1,1]{9}; float[]{1}; int8[]{1}; uint8[1,2]{200,0}; "
         "float[]{2}; "
         "uint8[]{100}",
         "int8[1,3]{5,101,-99}"},
        {MS "QLinearConcat", 1, "axis=0",
         "float[]{1}; uint8[]{0}; uint8[0]{}; float[]{1}; uint8[]{0}; uint8[1]{7}; float[]{1}; "
         "uint8[]{0}",
         "uint8[1]{7}"},
        {MS "QLinearConcat", 1, "axis=0",
         "float[]{1}; uint8[]{0}; uint8[1]{7}; float[]{1}; uint8[]{0}; uint8[1]{7}",
         "error: there are 6 inputs"},
        {MS "QLinearConcat", 1, "axis=0",
         "float[]{1}; uint8[]{0}; uint8[1]{7}; float[]{1}; int8[]{0}", "error: input 4 has type"},
        {MS "QLinearConcat", 1, "axis=1",
         "float[]{1}; uint8[]{0}; uint8[1]{7}; float[]{1}; uint8[]{0}", "error: attribute 'axis'"},
        {MS "QLinearSoftmax", 1, "opset=13 axis=0",
         "int8[2,2]{-128,127,127,127}; float[]{1}; int8[]{0}; float[]{0.00390625}; int8[]{-128}",
         "int8[2,2]{-128,0,127,0}"},
        {MS "QLinearSoftmax", 1, "opset=9 axis=0",
         "uint8[2,2]{9,9,9,9}; float[]{1}; uint8[]{0}; float[]{0.00390625}; uint8[]{0}",
         "uint8[2,2]{64,64,64,64}"},
        {MS "QLinearSoftmax", 1, "opset=13",
         "uint8[0,3]{}; float[]{1}; uint8[]{0}; float[]{0.00390625}; uint8[]{0}", "uint8[0,3]{}"},
        {MS "QLinearSoftmax", 1, "",
         "uint8[1]{1}; float[]{1}; uint8[]{0}; float[]{0.00390625}; uint8[]{0}",
         "error: attribute 'opset'"},
        {MS "QLinearReduceMean", 1, "axes=[-1] keepdims=0",
         "uint8[2,2]{0,255,1,4}; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}",
         "uint8[2]{128,2}"},
        {MS "QLinearReduceMean", 1, "axes=[2] keepdims=0",
         "uint8[2,2]{0,255,1,4}; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", "error: axes"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, pools)
{
    static const op_text calls[] = {
        {MS "QLinearAveragePool", 1, "kernel_shape=[2] channels_last=1",
         "uint8[1,3,2]{1,10,3,20,5,30}; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}",
         "uint8[1,2,2]{2,15,4,25}"},
        {MS "QLinearAveragePool", 1, "kernel_shape=[2] pads=[1,0] count_include_pad=1",
         "uint8[1,1,2]{12,14}; float[]{1}; uint8[]{10}; float[]{1}; uint8[]{10}",
         "uint8[1,1,2]{11,13}"},
        {MS "QLinearAveragePool", 1, "kernel_shape=[2] channels_last=1",
         "uint8[1,1,2]{1,10}; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", "error: "},
        {MS "QLinearGlobalAveragePool", 1, "channels_last=1",
         "int8[1,2,2]{-128,127,-126,125}; float[]{1}; int8[]{0}; float[]{1}; int8[]{0}",
         "int8[1,1,2]{-127,126}"},
        {MS "QLinearGlobalAveragePool", 1, "channels_last=1",
         "int8[1,0,2]{}; float[]{1}; int8[]{0}; float[]{1}; int8[]{0}",
         "error: the input is empty"},
        {MS "QLinearGlobalAveragePool", 1, "",
         "int8[0,1,2]{}; float[]{1}; int8[]{0}; float[]{1}; int8[]{0}", "int8[0,1,1]{}"},
        {MS "NhwcMaxPool", 1, "kernel_shape=[2]", "int8[1,3,2]{-1,5,-3,-6,-5,7}",
         "int8[1,2,2]{-1,5,-3,7}"},
        {MS "NhwcMaxPool", 1, "kernel_shape=[2,2]", "int8[1,3,2]{-1,5,-3,-6,-5,7}",
         "error: the input has rank 3"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, products)
{
    static const op_text calls[] = {
        {MS "QGemm", 1, "transB=1 alpha=2.0",
         "uint8[1,2]{255,255}; float[]{1}; uint8[]{0}; int8[1,2]{-128,-128}; float[]{1}; "
         "int8[]{127}",
         "float[1,1]{-260100}"},
        {MS "QGemm", 1, "",
         "uint8[1,1]{3}; float[]{1}; uint8[]{1}; uint8[1,2]{5,6}; float[2]{1,2}; uint8[2]{1,2}; "
         "int32[1,2]{2147483647,-1}; float[]{1}; int8[]{-1}",
         "int8[1,2]{-128,13}"},
        {MS "QGemm", 1, "",
         "uint8[2,0]{}; float[]{1}; uint8[]{0}; uint8[0,1]{}; float[]{1}; uint8[]{0}; int32[]{5}",
         "float[2,1]{5,5}"},
        {MS "QGemm", 1, "",
         "uint8[1,1]{3}; float[]{1}; uint8[]{1}; uint8[1,1]{5}; float[]{1}; uint8[]{1}; -; "
         "float[]{1}",
         "error: inputs 7 and 8"},
        {MS "QGemm", 1, "",
         "uint8[1,1]{3}; float[]{1}; uint8[]{1}; uint8[1,1]{5}; float[]{1}; uint8[]{1}; "
         "int32[2,1]{1,2}",
         "error: input 6 has shape [2,1]"},
        {MS "QGemm", 1, "",
         "uint8[1,2]{3,3}; float[]{1}; uint8[]{1}; uint8[1,1]{5}; float[]{1}; uint8[]{1}",
         "error: A has a depth of 2, B one of 1"},
        {MS "MatMulIntegerToFloat", 1, "",
         "int8[1,1]{-128}; int8[1,2]{127,-128}; float[]{0.5}; float[2]{1,2}; int8[]{127}; -; "
         "float[2]{1,-1}",
         "float[1,2]{-16191.5,32639}"},
        {MS "MatMulIntegerToFloat", 1, "",
         "int8[1,1]{1}; int8[1,2]{1,1}; float[]{1}; float[3]{1,2,3}",
         "error: input 3 has shape [3]"},
        {MS "DynamicQuantizeMatMul", 1, "", "float[1,2]{0,0}; uint8[2,1]{1,2}; float[]{1}",
         "float[1,1]{0}"},
        {MS "DynamicQuantizeMatMul", 1, "", "float[0,2]{}; uint8[2,1]{1,2}; float[]{1}",
         "float[0,1]{}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, block_quantised_weights)
{
    static const op_text calls[] = {
        /* 16 weights of 9 less the implied 8; the second block has a single weight. */
        {MS "MatMulNBits", 1, "K=17 N=1 block_size=16",
         "float[1,17]{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}; "
         "uint8[1,2,8]{153,153,153,153,153,153,153,153,10,0,0,0,0,0,0,0}; float[1,2]{1,10}",
         "float[1,1]{36}"},
        {MS "MatMulNBits", 1, "K=1 N=1 block_size=16 bits=8",
         "float[1]{2}; uint8[1,1,16]{255,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}; float[1]{1}; -; -; "
         "float[1]{3}",
         "float[1]{257}"},
        {MS "MatMulNBits", 1, "K=1 N=2 block_size=16",
         "float[2,1]{1,2}; uint8[0,1,8]{}; float[2,1]{1,1}", "float[2,2]{0,0,0,0}"},
        {MS "MatMulNBits", 1, "K=1 N=1 block_size=16",
         "float[1,1]{1}; uint8[1,1,8]{0,0,0,0,0,0,0,0}; float[1,1]{1}; -; int32[1]{1}",
         "error: element 0 of input 4 is 1, allowed is 0 to 0"},
        {MS "MatMulNBits", 1, "K=1 N=1 block_size=16 bits=3",
         "float[1,1]{1}; uint8[1,1,6]{0,0,0,0,0,0}; float[1,1]{1}", "error: attribute 'bits' is 3"},
        {MS "MatMulNBits", 1, "K=1 N=1 block_size=24",
         "float[1,1]{1}; uint8[1,1,12]{0,0,0,0,0,0,0,0,0,0,0,0}; float[1,1]{1}",
         "error: attribute 'block_size' is 24"},
        {MS "MatMulNBits", 1, "K=2 N=1 block_size=16",
         "float[1,1]{1}; uint8[1,1,8]{0,0,0,0,0,0,0,0}; float[1,1]{1}",
         "error: the last dimension of input 0 is 1"},
        {MS "MatMulNBits", 1, "K=2147483647 N=2147483647 block_size=16",
         "float[1,1]{1}; uint8[1,1,8]{0,0,0,0,0,0,0,0}; float[1,1]{1}", "error: "},
        {MS "GatherBlockQuantized", 1, "block_size=16 quantize_axis=1 bits=8",
         "uint8[2,1]{130,127}; int64[3]{-1,5,0}; float[2,1]{1,2}", "float[3,1]{-2,0,2}"},
        {MS "GatherBlockQuantized", 1, "block_size=16 quantize_axis=0 gather_axis=1",
         "int4[1,3]{-8,1,7}; int64[2]{2,0}; float[1,3]{1,2,3}; int4[1,3]{1,2,-1}",
         "float[1,2]{24,-9}"},
        {MS "GatherBlockQuantized", 1, "block_size=0 quantize_axis=1",
         "float8e4m3fn[2,2]{1,2,3,4}; int32[]{1}; float[2,1]{1,10}", "float[2]{30,40}"},
        {MS "GatherBlockQuantized", 1, "block_size=0 quantize_axis=1",
         "int4[2,2]{1,2,3,4}; int32[]{1}; float[2,1]{1,10}", "error: attribute 'block_size' is 0"},
        {MS "GatherBlockQuantized", 1, "block_size=16 quantize_axis=0",
         "uint8[2,2]{1,2,3,4}; int32[]{1}; float[1,4]{1,1,1,1}", "error: data of 4 bits"},
        {MS "GatherBlockQuantized", 1, "block_size=16 quantize_axis=1",
         "int4[2,2]{1,2,3,4}; int32[]{1}; float[2,2]{1,10,1,1}",
         "error: dimension 1 of input 2 is 2"},
        {MS "GatherBlockQuantized", 1, "block_size=16", "int4[0,2]{}; int32[1]{0}; float[0,1]{}",
         "float[1,2]{0,0}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, relatives)
{
    static const op_text calls[] = {
        {MS "Trilu", 1, "upper=0", "int8[2,2]{1,2,3,4}", "int8[2,2]{1,0,3,4}"},
        {MS "Inverse", 1, "", "double[2,2]{0,2,1,0}", "double[2,2]{0,1,0.5,0}"},
        {MS "Inverse", 1, "", "float[0,0]{}", "float[0,0]{}"},
        {MS "Inverse", 1, "", "float[1,2]{1,2}", "error: the matrices are 1 by 2"},
        {MS "ExpandDims", 1, "", "string[2]{a,b}; int32[]{-1}", "string[2,1]{a,b}"},
        {MS "ExpandDims", 1, "", "string[2]{a,b}; int32[]{2}", "error: input 1 is 2"},
        {MS "CDist", 1, "metric='euclidean'", "float[1,2]{0,3}; float[2,2]{4,0,0,3}",
         "float[1,2]{5,0}"},
        {MS "CDist", 1, "", "float[1,0]{}; float[1,0]{}", "float[1,1]{0}"},
        {MS "CDist", 1, "", "float[1,2]{0,3}; float[1,3]{4,0,0}", "error: dimension 1 of input 1"},
        {MS "CDist", 1, "metric='cosine'", "float[1,2]{0,3}; float[1,2]{4,0}", "error: "},
        {MS "NGramRepeatBlock", 1, "ngram_size=2", "int64[1,3]{1,0,1}; float[1,2]{5,6}",
         "float[1,2]{-INF,6}"},
        {MS "NGramRepeatBlock", 1, "ngram_size=1", "int64[1,2]{1,2}; float[1,2]{5,6}",
         "error: element [0, 1] of input 0 is 2"},
        {MS "NGramRepeatBlock", 1, "ngram_size=9223372036854775807",
         "int64[1,2]{1,2}; float[1,2]{5,6}", "float[1,2]{5,6}"},
        {MS "NGramRepeatBlock", 1, "ngram_size=0", "int64[1,2]{1,2}; float[1,2]{5,6}", "error: "},
        {MS "ConvTransposeWithDynamicPads", 1, "",
         "float[1,1,2]{1,2}; float[1,1,2]{1,1}; int64[2]{1,0}; float[1]{10}",
         "float[1,1,2]{13,12}"},
        {MS "ConvTransposeWithDynamicPads", 1, "",
         "float[1,1,2]{1,2}; float[1,1,2]{1,1}; int64[3]{1,0,0}", "error: input 2 has 3 elements"},
        {MS "ConvTransposeWithDynamicPads", 1, "",
         "float[1,1,2]{1,2}; float[1,1,2]{1,1}; int64[2]{-1,0}",
         "error: element 0 of input 2 is -1"},
        {MS "ConvTransposeWithDynamicPads", 1, "pads=[0,0]",
         "float[1,1,2]{1,2}; float[1,1,2]{1,1}; int64[2]{1,0}", "error: "},
        {MS "GridSample", 1, "mode='bicubic' padding_mode='border'",
         "float[1,1,1,1]{3}; float[1,1,3,2]{nan,0,inf,-inf,1e30,0}", "float[1,1,1,3]{3,3,3}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib_quant, open_shapes)
{
    static const op_text calls[] = {
        {MS "QLinearAdd", 1, "",
         "uint8[s0,1]; float[]; uint8[]; uint8[3]; float[]; uint8[]; float[]; uint8[]",
         "uint8[s0,3]"},
        {MS "QLinearAveragePool", 1, "kernel_shape=[2] channels_last=1",
         "uint8[s0,5,s1]; float[]; uint8[]; float[]; uint8[]", "uint8[s0,4,s1]"},
        {MS "QLinearGlobalAveragePool", 1, "channels_last=1",
         "uint8[s0,?,s1]; float[]; uint8[]; float[]; uint8[]", "uint8[s0,1,s1]"},
        {MS "NhwcMaxPool", 1, "kernel_shape=[2]", "int8*", "int8[?,?,?]"},
        {MS "QLinearConcat", 1, "axis=1",
         "float[]; uint8[]; uint8[s0,2]; float[]; uint8[]; uint8[s0,?]; float[]; uint8[]",
         "uint8[s0,?]"},
        {MS "QGemm", 1, "transA=1", "uint8[?,s0]; float[]; uint8[]; int8[3,4]; float[?]; int8[?]",
         "float[s0,4]"},
        {MS "QGemm", 1, "", "uint8*; float[]; uint8[]; int8*; float[?]; int8[?]", "float[?,?]"},
        {MS "MatMulIntegerToFloat", 1, "", "uint8[s0,s1,8]; uint8[8,3]; float16[]; float16[3]",
         "float16[s0,s1,3]"},
        {MS "DynamicQuantizeMatMul", 1, "", "float*; uint8[8,3]; float[3]", "float*"},
        {MS "MatMulNBits", 1, "K=16 N=3 block_size=16",
         "float16[s0,s1,16]; uint8[3,1,8]; float16[3,1]", "float16[s0,s1,3]"},
        {MS "GatherBlockQuantized", 1, "block_size=16", "uint8[s0,16]; int64[s1,?]; float[s0,2]",
         "float[s1,?,32]"},
        {MS "QLinearReduceMean", 1, "axes=[0] keepdims=1",
         "uint8[?,s0]; float[]; uint8[]; float[]; uint8[]", "uint8[1,s0]"},
        {MS "ExpandDims", 1, "", "float[s0]; int32[]", "float[?,?]"},
        {MS "ExpandDims", 1, "", "float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]; int32[]",
         "error: input 0 has rank 16"},
        {MS "ConvTransposeWithDynamicPads", 1, "", "float[s0,1,2]; float[1,1,2]; int64[2]",
         "float[s0,1,?]"},
        {MS "Unique:3", 1, "", "float[s0]", "float[?]; int64[?]; int64[?]"},
        {MS "QAttention:2", 1, "num_heads=2",
         "uint8[s0,s1,8]; int8[8,12]; float[12]; float[]; float[]; -; uint8[]; int8[]; "
         "float[2,s0,2,3,2]",
         "float[s0,s1,4]; float[2,s0,2,?,2]"},
        {MS "QAttention", 1, "num_heads=2",
         "uint8[1,2,8]; int8[8,12]; float[12]; float[]; float[5]; -; uint8[]; int8[]",
         "error: input 4 has shape [5]"},
        {MS "QAttention", 1, "num_heads=2",
         "uint8[1,2,8]; int8[8,12]; float[12]; float[]; float[]; -; uint8[]; uint8[]",
         "error: input 7 has type uint8"},
        {MS "DynamicQuantizeLSTM:3", 1, "hidden_size=2",
         "float[s0,s1,3]; int8[1,3,8]; int8[1,2,8]; -; -; -; -; -; float[1]; int8[1]; float[1,8]; "
         "int8[1,8]",
         "float[s0,1,s1,2]; float[1,s1,2]; float[1,s1,2]"},
        {MS "DynamicQuantizeLSTM:3", 1, "hidden_size=2",
         "float[s0,s1,3]; int8[1,3,8]; int8[1,2,8]; -; -; -; -; -; float[1]; int8[1]; float[1,7]; "
         "int8[1,8]",
         "error: dimension 1 of input 10 is 7"},
        {MS "DynamicQuantizeLSTM:3", 1, "hidden_size=2",
         "float[s0,s1,3]; int8[1,8,3]; int8[1,2,8]; -; -; -; -; -; float[1]; int8[1]; float[1]; "
         "int8[1]",
         "error: input 1"},
    };
    EXPECT_INFERRED(calls);
}

/* Inputs far behind have types of their own as well. */
Test(contrib_quant, types)
{
#define FACTORS "uint8[1,1]; float[]; uint8[]; uint8[1,1]; float[]; uint8[]; -; "
#define SOURCES "bool[1]; uint8[1]; float[]; uint8[]; uint8[1]; float[]; uint8[]; "
#define PROJECTED "uint8[1,1,1]; int8[1,3]; float[3]; float[]; float[]; -; uint8[]; "
#define STEPS "float[1,1,1]; int8[1,1,4]; int8[1,1,4]; -; -; -; -; "
    static const op_text calls[] = {
        {MS "QGemm", 1, "", FACTORS "uint8[]; uint8[]",
         "error: input 7 has type uint8, allowed are float"},
        {MS "QGemm", 1, "", FACTORS "float[]; float[]",
         "error: input 8 has type float, allowed are uint8, int8"},
        {MS "QGemm", 1, "", FACTORS "float[]; int8[]", "int8[1,1]"},
        {MS "QLinearWhere", 1, "", SOURCES "uint8[]; uint8[]",
         "error: input 7 has type uint8, allowed are float"},
        {MS "QLinearWhere", 1, "", SOURCES "float[]; int8[]",
         "error: input 8 has type int8, it must be that of input 1, uint8"},
        {MS "QAttention", 1, "num_heads=1", PROJECTED "uint8[]",
         "error: input 7 has type uint8, it must be that of input 1, int8"},
        {MS "QAttention", 1, "num_heads=1", PROJECTED "int8[]; float16[2,1,1,1,1]",
         "error: input 8 has type float16, it must be that of input 2, float"},
        {MS "DynamicQuantizeLSTM", 1, "", STEPS "-; float[1]; uint8[1]; float[1]; int8[1]",
         "error: input 9 has type uint8, it must be that of input 1, int8"},
        {MS "DynamicQuantizeLSTM", 1, "", STEPS "int8[1,3]; float[1]; int8[1]; float[1]; int8[1]",
         "error: input 7 has type int8, allowed are float"},
        {MS "DynamicQuantizeLSTM", 1, "", STEPS "-; -; int8[1]; float[1]; int8[1]",
         "error: input 8"},
        {MS "QLinearConcat", 1, "axis=0", "float[]; uint8[]; uint8[1]; uint8[]; uint8[]",
         "error: input 3 has type uint8, allowed are float"},
    };
    EXPECT_INFERRED(calls);
}

/* com.microsoft's fused operators: shapes that do not fit, symbolic ones, wrong attributes, values
 * out of range, and results that are known without arithmetic. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

#define MS "com.microsoft/"

Test(contrib, gelu)
{
    static const op_text calls[] = {
        {MS "Gelu", 1, "", "float[3]{0,100,-100}", "float[3]{0,100,-0}"},
        {MS "QuickGelu", 1, "alpha=0.0", "double[2]{3,-4}", "double[2]{1.5,-2}"},
        {MS "FastGelu", 1, "", "bfloat16[2]{0,64}", "bfloat16[2]{0,64}"},
        {MS "FastGelu", 1, "", "float[2,2]{100,1,99,0}; float[2]{-100,99}",
         "float[2,2]{0,100,-0.15880799,99}"},
        {MS "BiasGelu", 1, "", "float[0,2]{}; float[2]{1,2}", "float[0,2]{}"},
        {MS "BiasGelu", 1, "", "float[2,0]{}; float[0]{}", "float[2,0]{}"},
        {MS "BiasSplitGelu", 1, "", "float[1,4]{1,2,50,60}; float[4]{1,1,0,4}",
         "float[1,2]{100,192}"},
        {MS "BiasAdd", 1, "", "float16[2,2]{1,2,3,4}; float16[2]{10,20}; float16[2,2]{0,0,1,1}",
         "float16[2,2]{11,22,14,25}"},
        {MS "Gelu", 1, "approximate='tanh'", "float[1]{0}", "error: attribute 'approximate'"},
        {MS "Gelu", 1, "", "int32[1]{0}", "error: input 0 has type int32"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "BiasGelu", 1, "", "float[s0,?,4]; float[4]", "float[s0,?,4]"},
        {MS "BiasGelu", 1, "", "float*; float*", "float*"},
        {MS "BiasGelu", 1, "", "float[2,3]; float[2]",
         "error: dimension 0 of input 1 is 2, but 3 is needed"},
        {MS "BiasGelu", 1, "", "float[2,3]; float[1,3]", "error: input 1 has rank 2"},
        {MS "BiasGelu", 1, "", "float[]; float[1]", "error: input 0 is a scalar"},
        {MS "BiasSplitGelu", 1, "", "float[s0,6]; float[6]", "float[s0,3]"},
        {MS "BiasSplitGelu", 1, "", "float[2,s0]; float[?]", "float[2,?]"},
        {MS "BiasSplitGelu", 1, "", "float[2,3]; float[3]", "error: must be even"},
        {MS "BiasAdd", 1, "", "float[2,3]; float[3]; float[1,3]", "error: dimension 0 of input 2"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, bias_softmax)
{
    static const op_text calls[] = {
        {MS "BiasSoftmax", 1, "axis=2 is_inner_broadcast=1",
         "float[2,2,2]{0,0,0,0,0,0,0,0}; float[2,1,2]{0,-1000,-1000,0}",
         "float[2,2,2]{1,0,1,0,0,1,0,1}"},
        {MS "BiasSoftmax", 1, "axis=-1 is_inner_broadcast=0",
         "double[2,2,2]{0,0,0,0,0,0,0,0}; double[1,2,2]{0,-1000,-1000,0}",
         "double[2,2,2]{1,0,0,1,1,0,0,1}"},
        {MS "BiasSoftmax", 1, "is_inner_broadcast=0", "float16[2,0]{}; float16[1,0]{}",
         "float16[2,0]{}"},
        {MS "BiasSoftmax", 1, "", "float[1,1]{0}; float[1,1]{0}",
         "error: attribute 'is_inner_broadcast'"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "BiasSoftmax", 1, "is_inner_broadcast=0", "float[s0,3]; float[1,3]", "float[s0,3]"},
        {MS "BiasSoftmax", 1, "is_inner_broadcast=0", "float[4,3]; float[3,3]",
         "error: input 1 has shape [3,3]"},
        {MS "BiasSoftmax", 1, "is_inner_broadcast=0", "float[4,3]; float[]", "error: input 1"},
        {MS "BiasSoftmax", 1, "is_inner_broadcast=0", "float[4,3]; float[0,3]", "error: input 1"},
        {MS "BiasSoftmax", 1, "is_inner_broadcast=0 axis=2", "float[4,3]; float[4,3]",
         "error: attribute 'axis' is 2"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, skip_normalization)
{
    static const op_text calls[] = {
        {MS "SkipLayerNormalization:4", 1, "epsilon=0.0",
         "float[1,2,2]{1,3,0,2}; float[2]{1,1}; float[2]{1,2}", "error: input 1 has shape [2]"},
        {MS "SkipLayerNormalization:4", 1, "epsilon=0.0",
         "float[1,2,2]{1,3,0,2}; float[2,2]{1,1,0,4}; float[2]{1,2}; float[2]{0,10}; float[2]{0,0}",
         "float[1,2,2]{-1,12,-1,12}; float[1,2,1]{3,3}; float[1,2,1]{1,0.33333334}; "
         "float[1,2,2]{2,4,0,6}"},
        {MS "SkipSimplifiedLayerNormalization", 1, "epsilon=0.0",
         "float[1,2]{1,1}; float[1,2]{2,2}; float[2]{1,2}; float[2]{1,1}", "float[1,2]{1,2}"},
        {MS "SkipLayerNormalization", 1, "", "float[0,2,2]{}; float[2,2]{0,0,0,0}; float[2]{1,1}",
         "float[0,2,2]{}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "SkipLayerNormalization:4", 1, "", "float16[s0,s1,8]; float16[1,s1,8]; float16[8]",
         "float16[s0,s1,8]; float[s0,s1,1]; float[s0,s1,1]; float16[s0,s1,8]"},
        {MS "SkipLayerNormalization", 1, "", "float*; float*; float*", "float*"},
        {MS "SkipLayerNormalization", 1, "", "float[2]; float[2]; float[2]",
         "error: input 0 has rank 1"},
        {MS "SkipLayerNormalization", 1, "", "float[2,3,4]; float[2,1,4]; float[4]",
         "error: input 1 has shape [2,1,4]"},
        {MS "SkipLayerNormalization", 1, "", "float[2,4]; float[2,4]; float[3]",
         "error: dimension 0 of input 2 is 3"},
        {MS "SkipLayerNormalization", 1, "", "double[2,4]; double[2,4]; double[4]",
         "error: input 0 has type double"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, simplified_layer_normalization)
{
    static const op_text calls[] = {
        {"SimplifiedLayerNormalization:2", 17, "epsilon=0.0", "float[1,2]{2,2}; float16[2]{1,3}",
         "float16[1,2]{1,3}; float[1,1]{0.5}"},
        {MS "SimplifiedLayerNormalization", 1, "axis=0 epsilon=0.0",
         "double[1,2]{2,2}; double[1,2]{1,3}", "double[1,2]{1,3}"},
        {MS "SimplifiedLayerNormalization", 1, "stash_type=10", "float[1]{1}; float[1]{1}",
         "error: attribute 'stash_type' is 10"},
        {MS "SimplifiedLayerNormalization", 1, "", "float[2,0]{}; float[0]{}", "float[2,0]{}"},
        {MS "SimplifiedLayerNormalization", 1, "", "float[1,2]{2,2}; float[1]{1}",
         "error: dimension 0 of input 1 is 1, but 2 is needed"},
    };
    EXPECT_EVALUATED(calls);
}

Test(contrib, embeddings)
{
    static const op_text calls[] = {
        {MS "EmbedLayerNormalization:3", 1, "epsilon=0.0",
         "int32[1,2]{1,0}; -; float[2,2]{1,3,2,6}; float[2,2]{0,0,1,1}; -; float[2]{1,1}; "
         "float[2]{0,0}; int32[1,2]{1,0}",
         "float[1,2,2]{-1,1,-1,1}; int32[1]{1}; float[1,2,2]{2,6,2,4}"},
        {MS "EmbedLayerNormalization:3", 1, "epsilon=0.0",
         "int32[1,1]{0}; int32[1,1]{1}; float[1,2]{0,2}; float[2,2]{0,0,1,1}; "
         "float[2,2]{0,0,0,2}; float[2]{1,1}; float[2]{0,0}; -; int32[1,1]{1}",
         "float[1,1,2]{-1,1}; int32[1]{0}; float[1,1,2]{1,5}"},
        {MS "EmbedLayerNormalization", 1, "",
         "int32[1,1]{-1}; -; float[2,2]{1,3,2,6}; float[2,2]{0,0,1,1}; -; float[2]{1,1}; "
         "float[2]{0,0}",
         "error: element 0 of input 0 is -1, but input 2 has 2 rows"},
        {MS "EmbedLayerNormalization", 1, "",
         "int32[1,1]{1}; -; float[2,2]{1,3,2,6}; float[2,2]{0,0,1,1}; -; float[2]{1,1}; "
         "float[2]{0,0}; -; int32[1,1]{2}",
         "error: element 0 of input 8 is 2, but input 3 has 2 rows"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "EmbedLayerNormalization:2", 1, "",
         "int32[s0,s1]; int32*; float16[9,4]; float16[5,4]; float16*; float16[4]; float16[?]",
         "float16[s0,s1,4]; int32[s0]"},
        {MS "EmbedLayerNormalization", 1, "",
         "int32[1,3]; -; float[9,4]; float[2,4]; -; float[4]; float[4]",
         "error: sequences of 3 words have more than the 2 positions"},
        {MS "EmbedLayerNormalization", 1, "",
         "int32[1,2]; int32[1,2]; float[9,4]; float[2,4]; -; float[4]; float[4]",
         "error: inputs 1 and 4"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, group_norm)
{
    static const op_text calls[] = {
        {MS "GroupNorm", 1, "groups=1 activation=0 epsilon=0.0",
         "float[1,1,1,2]{1,3}; float16[2]{1,2}; float16[2]{0,1}", "float[1,1,1,2]{-1,3}"},
        {MS "GroupNorm", 1, "groups=2 activation=0 channels_last=0 epsilon=0.0",
         "float[1,2,1,2]{1,3,5,9}; float[2]{1,2}; float[2]{0,1}", "float[1,2,1,2]{-1,1,-1,3}"},
        {MS "SkipGroupNorm:2", 1, "groups=1 activation=0 epsilon=0.0",
         "float[1,1,1,2]{1,3}; float[2]{1,1}; float[2]{0,0}; float[1,2]{0,2}; float[2]{1,1}",
         "float[1,1,1,2]{-1,1}; float[1,1,1,2]{2,6}"},
        {MS "GroupNorm", 1, "groups=1 activation=1",
         "float[0,1,1,2]{}; float[2]{1,2}; float[2]{0,1}", "float[0,1,1,2]{}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "GroupNorm", 1, "groups=3 activation=0", "float[1,1,1,4]; float[4]; float[4]",
         "error: 3 groups do not divide 4 channels"},
        {MS "GroupNorm", 1, "groups=2 activation=2", "float[1,1,1,4]; float[4]; float[4]",
         "error: attribute 'activation'"},
        {MS "GroupNorm", 1, "groups=2 activation=0", "float[1,1,4]; float[4]; float[4]",
         "error: input 0 has rank 3"},
        {MS "SkipGroupNorm", 1, "groups=2 activation=0",
         "float[2,3,3,4]; float[4]; float[4]; float[2,1,1,4]", "float[2,3,3,4]"},
        {MS "SkipGroupNorm", 1, "groups=2 activation=0",
         "float[2,3,3,4]; float[4]; float[4]; float[2,3,1,4]", "error: dimension 2 of input 3"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, fused_products)
{
    static const op_text calls[] = {
        {MS "FusedMatMul", 1, "transA=1 alpha=2.0", "float[2,1]{1,2}; float[2,1]{3,4}",
         "float[1,1]{22}"},
        {MS "FusedMatMul", 1, "transBatchA=1", "float[2,3,1]{1,2,3,4,5,6}; float[3,1,1]{1,10,100}",
         "float[3,2,1]{1,4,20,50,300,600}"},
        {MS "FusedMatMul", 1, "transA=1 transB=1", "bfloat16[2]{1,2}; bfloat16[2]{3,4}",
         "bfloat16[]{11}"},
        {MS "FusedMatMul", 1, "", "float[2,0]{}; float[0,1]{}", "float[2,1]{0,0}"},
        {MS "FusedGemm", 1, "activation='Relu'", "float[1,1]{2}; float[1,2]{1,-1}; float[1]{1}",
         "float[1,2]{3,0}"},
        {MS "FusedGemm", 1, "activation='LeakyRelu' activation_alpha=0.5",
         "float16[1,1]{2}; float16[1,2]{1,-1}", "float16[1,2]{2,-1}"},
        {MS "FusedGemm", 1, "", "int32[1,1]{2}; int32[1,2]{1,-1}", "int32[1,2]{2,-2}"},
        {MS "FusedGemm", 1, "activation='Relu'", "int32[1,1]{2}; int32[1,2]{1,-1}",
         "error: input 0 has type int32"},
        {MS "FusedGemm", 1, "activation='LeakyRelu'", "float[1,1]{2}; float[1,2]{1,-1}",
         "error: attribute 'activation_alpha'"},
        {MS "FusedGemm", 1, "activation='Swish'", "float[1,1]{2}; float[1,2]{1,-1}",
         "error: attribute 'activation' is 'Swish', must be one of"},
        {MS "FusedConv", 1, "activation='Clip' activation_params=[0.0,5.0]",
         "float[1,1,3]{1,-2,3}; float[1,1,1]{2}; float[1]{1}; float[1,1,3]{0,0,1}",
         "float[1,1,3]{3,0,5}"},
        {MS "FusedConv", 1, "activation='HardSwish'", "double[1,1,2]{3,-3}; double[1,1,1]{1}",
         "double[1,1,2]{3,-0}"},
        {MS "FusedConv", 1, "activation='ScaledHardSwish' activation_params=[2.0,1.0]",
         "float[1,1,3]{3,-3,1.5}; float[1,1,1]{1}", "float[1,1,3]{7,1,3.25}"},
        {MS "FusedConv", 1, "activation='Swish' activation_params=[0.0]",
         "double[1,1,2]{3,-3}; double[1,1,1]{1}", "double[1,1,2]{1.5,-1.5}"},
        {MS "FusedConv", 1, "activation='Clip' activation_params=[0.0]",
         "float[1,1,1]{1}; float[1,1,1]{2}",
         "error: attribute 'activation_params' has 1 values, but Clip needs 2"},
        {MS "FusedConv", 1, "", "float[1,1,1]{1}; float[1,1,1]{2}; -; float[1,1,2]{0,0}",
         "error: dimension 2 of input 3 is 2, but 1 is needed"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "FusedMatMul", 1, "transA=1 transBatchA=1", "float[s0,7,2]; float[7,s0,3]",
         "float[7,2,3]"},
        {MS "FusedMatMul", 1, "transBatchA=1", "float[2,3]; float[3,2]", "error: one rank of 3"},
        {MS "FusedMatMul", 1, "", "float[]; float[3,2]", "error: a factor is a scalar"},
        {MS "FusedMatMul", 1, "transA=2", "float[2,2]; float[2,2]", "error: attribute 'transA'"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, rotary_embedding)
{
    static const op_text calls[] = {
        {MS "RotaryEmbedding", 1, "",
         "float[1,2,2]{1,2,3,4}; int64[1]{1}; float[3,1]{1,0,0}; float[3,1]{0,1,1}",
         "float[1,2,2]{-2,1,-4,3}"},
        {MS "RotaryEmbedding", 1, "num_heads=1 rotary_embedding_dim=2",
         "float[1,1,3]{1,2,3}; int64[1,1]{0}; float[1,1]{0}; float[1,1]{1}",
         "float[1,1,3]{-2,1,3}"},
        {MS "RotaryEmbedding", 1, "",
         "float[1,2,2]{1,2,3,4}; int64[1]{2}; float[3,1]{1,0,0}; float[3,1]{0,1,1}",
         "error: element 0 of input 1 is 2, allowed are 0 to 1 for 3 positions"},
        {MS "RotaryEmbedding", 1, "",
         "float[1,1,2]{1,2}; int64[1,1]{-9223372036854775808}; float[3,1]{1,0,0}; "
         "float[3,1]{0,1,1}",
         "error: element 0 of input 1 is -9223372036854775808"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "RotaryEmbedding", 1, "", "float[s0,s1,8]; int64*; float[9,2]; float[?,2]",
         "float[s0,s1,8]"},
        {MS "RotaryEmbedding", 1, "", "float[1,1,6]; int64[1]; float[9,2]; float[9,2]",
         "error: the last dimension of input 0 is 6, no multiple of the head's 4 elements"},
        {MS "RotaryEmbedding", 1, "", "float[1,1,1,6]; int64[1]; float[9,2]; float[9,2]",
         "error: 6 of a head's 6 elements turn"},
        {MS "RotaryEmbedding", 1, "rotary_embedding_dim=2",
         "float[1,1,6]; int64[1]; float[9,1]; float[9,1]",
         "error: needs the attribute 'num_heads'"},
        {MS "RotaryEmbedding", 1, "", "float[1,1,6]; int64[1]; float[9,0]; float[9,0]",
         "error: the last dimension of input 0 is 6"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, attention)
{
    static const op_text calls[] = {
        /* Values are the input; each query sees one key. */
        {MS "Attention", 1, "num_heads=1 unidirectional=1",
         "float[1,1,1]{3}; float[1,3]{1,1,1}; float[3]{0,0,1}", "float[1,1,1]{4}"},
        {MS "Attention:2", 1, "num_heads=1 mask_filter_value=-1000000.0",
         "float[1,1,1]{3}; float[1,3]{1,1,1}; -; int32[1,2]{1,0}; float[2,1,1,1,1]{5,7}",
         "float[1,1,1]{7}; float[2,1,1,2,1]{5,3,7,3}"},
        {MS "Attention", 1, "num_heads=1 mask_filter_value=-1000000.0",
         "float[2,1,1]{3,4}; float[1,3]{1,1,1}; -; int32[4]{1,1,1,0}", "float[2,1,1]{3,4}"},
        {MS "Attention", 1, "num_heads=1", "float[1,1,1]{3}; float[1,3]{1,1,1}; -; int32[1]{-1}",
         "error: element 0 of input 3 is -1"},
        {MS "Attention", 1, "num_heads=1", "float[1,0,1]{}; float[1,3]{1,1,1}", "float[1,0,1]{}"},
        {MS "Attention", 1, "num_heads=1", "float[1,1,0]{}; float[0,3]{}; float[3]{1,2,3}",
         "float[1,1,1]{3}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "Attention:2", 1, "num_heads=2", "float16[s0,s1,8]; float16[8,24]; float16[24]",
         "float16[s0,s1,8]; float16[2,s0,2,s1,4]"},
        {MS "Attention:2", 1, "num_heads=2", "float*; float*", "float[?,?,?]; float[2,?,2,?,?]"},
        {MS "Attention", 1, "num_heads=2 qkv_hidden_sizes=[4,4,6]", "float[1,2,8]; float[8,14]",
         "float[1,2,6]"},
        {MS "Attention:2", 1, "num_heads=2 qkv_hidden_sizes=[4,4,6]", "float[1,2,8]; float[8,14]",
         "error: with a past or present"},
        {MS "Attention", 1, "num_heads=2 qkv_hidden_sizes=[4,2,6]", "float[1,2,8]; float[8,12]",
         "error: attribute 'qkv_hidden_sizes'"},
        {MS "Attention", 1, "num_heads=2 qkv_hidden_sizes=[4,4]", "float[1,2,8]; float[8,12]",
         "error: attribute 'qkv_hidden_sizes' has 2 values"},
        {MS "Attention", 1, "num_heads=5", "float[1,2,8]; float[8,12]",
         "error: input 1 has 12 columns"},
        {MS "Attention", 1, "num_heads=0", "float[1,2,8]; float[8,12]",
         "error: attribute 'num_heads'"},
        {MS "Attention", 1, "num_heads=1 do_rotary=1", "float[1,2,8]; float[8,12]",
         "error: attribute 'do_rotary' is 1, supported is 0"},
        {MS "Attention", 1, "num_heads=1", "float[1,2,8]; float[8,12]; -; int32[3]",
         "error: input 3 has shape [3], no form of a mask"},
        {MS "Attention", 1, "num_heads=1", "float[1,2,8]; float[8,12]; -; int32[1,1,2,1]",
         "error: input 3 has shape [1,1,2,1]"},
        {MS "Attention", 1, "num_heads=1",
         "float[1,2,8]; float[8,12]; -; -; float[2,1,1,9223372036854775807,4]",
         "error: past and new keys are too many"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, multi_head_attention)
{
    static const op_text calls[] = {
        {MS "MultiHeadAttention:4", 1, "num_heads=1 scale=1.0",
         "float[1,1,1]{1}; float[1,1,1]{2}; float[1,1,1]{3}; float[3]{0,1,10}",
         "float[1,1,1]{13}; float[1,1,1,1]{3}; float[1,1,1,1]{13}; float[1,1,1,1]{3}"},
        {MS "MultiHeadAttention:3", 1, "num_heads=1", "float[1,1,1,3,1]{1,2,3}",
         "float[1,1,1]{3}; float[1,1,1,1]{2}; float[1,1,1,1]{3}"},
        {MS "MultiHeadAttention:3", 1, "num_heads=1", "float[1,1,1]{1}; float[1,1,1,2,1]{2,3}",
         "float[1,1,1]{3}; float[1,1,1,1]{2}; float[1,1,1,1]{3}"},
        {MS "MultiHeadAttention:2", 1, "num_heads=1 mask_filter_value=-1000000.0",
         "float[1,1,1]{1}; float[1,1,1]{2}; float[1,1,1]{3}; -; int32[1,2]{0,1}; -; "
         "float[1,1,1,1]{5}; float[1,1,1,1]{7}",
         "float[1,1,1]{3}; float[1,1,2,1]{5,2}"},
        {MS "MultiHeadAttention", 1, "num_heads=1",
         "float[1,1,1]{1}; float[1,0,1]{}; float[1,0,1]{}", "float[1,1,1]{0}"},
        {MS "MultiHeadAttention", 1, "num_heads=2",
         "float[1,1,0]{}; float[1,3,0]{}; float[1,3,2]{1,2,1,2,1,2}", "float[1,1,2]{1,2}"},
        /* The last query sees what is behind it. */
        {MS "MultiHeadAttention", 1, "num_heads=1 unidirectional=1",
         "float[1,2,1]{0,0}; float[1,3,1]{0,0,0}; float[1,3,1]{1,2,6}", "float[1,2,1]{1,3}"},
        {MS "MultiHeadAttention", 1, "num_heads=1 unidirectional=1",
         "float[1,1,1]{0}; float[1,3,1]{0,0,0}; float[1,3,1]{1,2,6}", "float[1,1,1]{3}"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "MultiHeadAttention:4", 1, "num_heads=2",
         "float[s0,s1,8]; float[s0,s2,8]; float[s0,s2,6]; float[22]",
         "float[s0,s1,6]; float[s0,2,s2,4]; float[s0,2,s2,3]; float[s0,2,s1,s2]"},
        {MS "MultiHeadAttention", 1, "num_heads=2", "float*; float*; float*", "float[?,?,?]"},
        {MS "MultiHeadAttention", 1, "num_heads=2", "float[1,2,8]", "error: input 0 has rank 3"},
        {MS "MultiHeadAttention", 1, "num_heads=2", "float[1,2,2,2,4]",
         "error: dimension 3 of input 0 is 2, but 3 is needed"},
        {MS "MultiHeadAttention", 1, "num_heads=2", "float[1,2,8]; -; float[1,2,8]",
         "error: input 2, value, needs input 1"},
        {MS "MultiHeadAttention", 1, "num_heads=3", "float[1,2,8]; float[1,2,8]; float[1,2,8]",
         "error: the last dimension of input 0 is 8, which 3 heads do not divide"},
        {MS "MultiHeadAttention", 1, "num_heads=2", "float[1,2]; float[1,2,8]; float[1,2,8]",
         "error: input 0 has rank 2"},
        {MS "MultiHeadAttention", 1, "num_heads=2", "float[1,2,8]; float[2,2,8]; float[1,2,8]",
         "error: dimension 0 of input 1 is 2, but 1 is needed"},
        {MS "MultiHeadAttention", 1, "num_heads=2147483647",
         "float[1,2,8]; float[1,2147483647,2,9223372036854775807]; float[1,2147483647,2,3]",
         "error: input 0"},
    };
    EXPECT_INFERRED(shapes);
}

Test(contrib, group_query_attention)
{
    static const op_text calls[] = {
        {MS "GroupQueryAttention:3", 1, "num_heads=2 kv_num_heads=1",
         "float[1,1,2]{1,1}; float[1,1,1]{2}; float[1,1,1]{3}; float[1,1,3,1]{9,9,9}; "
         "float[1,1,3,1]{3,9,9}; int32[1]{1}; int32[]{2}",
         "float[1,1,2]{3,3}; float[1,1,3,1]{9,2,0}; float[1,1,3,1]{3,3,0}"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1",
         "float[1,1,3]{1,2,3}; -; -; -; -; int32[1]{0}; int32[1]{1}", "float[1,1,1]{3}"},
        {MS "GroupQueryAttention:4", 1, "num_heads=1 kv_num_heads=1 qk_output=2 smooth_softmax=1",
         "float[1,2,3]{0,2,3,0,5,3}; -; -; -; -; int32[1]{1}; int32[1]{2}",
         "float[1,2,1]{1.5,2}; float[1,1,2,1]{2,5}; float[1,1,2,1]{3,3}; "
         "float[1,1,2,2]{0.5,0,0.33333334,0.33333334}"},
        {MS "GroupQueryAttention:3", 1, "num_heads=1 kv_num_heads=1",
         "float[1,2,3]{1,2,3,4,5,6}; -; -; float[1,1,3,1]{9,9,9}; float[1,1,3,1]{3,9,9}; "
         "int32[1]{1}; int32[1]{3}; -; -; -; -; -; -; -; -; -; int32[1]{1}",
         "float[1,2,1]{3,3}; float[1,1,3,1]{9,2,0}; float[1,1,3,1]{3,3,0}"},
        /* The first prompt counts on from the first position, later ones have one each. */
        {MS "GroupQueryAttention:3", 1, "num_heads=1 kv_num_heads=1 do_rotary=1",
         "float[1,2,6]{0,0,1,2,1,1,0,0,1,2,3,3}; -; -; -; -; int32[1]{1}; int32[1]{2}; "
         "float[3,1]{1,0,-1}; float[3,1]{0,1,0}; int64[1,2]{1,0}",
         "float[1,2,2]{1,1,2,2}; float[1,1,2,2]{-2,1,-1,-2}; float[1,1,2,2]{1,1,3,3}"},
        {MS "GroupQueryAttention:3", 1, "num_heads=1 kv_num_heads=1 do_rotary=1",
         "float[1,2,6]{0,0,1,2,1,1,0,0,1,2,3,3}; -; -; float[1,1,1,2]{7,7}; float[1,1,1,2]{5,5}; "
         "int32[1]{2}; int32[1]{3}; float[3,1]{1,0,-1}; float[3,1]{0,1,0}; int64[1,2]{1,0}",
         "float[1,2,2]{3,3,3,3}; float[1,1,3,2]{7,7,-2,1,1,2}; float[1,1,3,2]{5,5,1,1,3,3}"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1 do_rotary=1",
         "float[1,2,6]{0,0,1,2,1,1,0,0,1,2,3,3}; -; -; -; -; int32[1]{1}; int32[1]{2}; "
         "float[3,1]{1,0,-1}; float[3,1]{0,1,0}; int64[1,2]{9223372036854775807,0}",
         "error: row 0 of entry 0 is at position 9223372036854775807"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1",
         "float[1,1,3]{1,2,3}; -; -; -; -; int32[1]{1}; int32[1]{1}",
         "error: element 0 of input 5 is 1, allowed is 0 to 0"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1",
         "float[1,1,3]{1,2,3}; -; -; -; -; int32[1]{2147483647}; int32[1]{1}",
         "error: element 0 of input 5 is 2147483647"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1",
         "float[1,1,3]{1,2,3}; -; -; -; -; int32[1]{6}; int32[1]{9}",
         "error: entry 0 continues 6 keys, but the past has room for 0"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1 do_rotary=1",
         "float[1,1,6]{1,2,3,4,5,6}; -; -; -; -; int32[1]{0}; int32[1]{1}; float[1,1]{1}; "
         "float[1,1]{0}; int64[1,1]{7}",
         "error: row 0 of entry 0 is at position 7, but the caches have 1 positions"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1",
         "float[1,2,3]{1,2,3,4,5,6}; -; -; -; -; int32[1]{0}; int32[1]{1}",
         "error: input 6, total_sequence_length, is 1, but at least 2 is needed"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {MS "GroupQueryAttention:3", 1, "num_heads=4 kv_num_heads=2",
         "float16[s0,1,32]; float16[s0,1,16]; float16[s0,1,16]; float16[s0,2,5,8]; "
         "float16[s0,2,5,8]; int32[s0]; int32[]{3}",
         "float16[s0,1,32]; float16[s0,2,5,8]; float16[s0,2,5,8]"},
        {MS "GroupQueryAttention:3", 1, "num_heads=4 kv_num_heads=2",
         "float*; -; -; -; -; int32*; int32*", "float[?,?,?]; float[?,2,?,?]; float[?,2,?,?]"},
        {MS "GroupQueryAttention", 1, "num_heads=3 kv_num_heads=2",
         "float*; -; -; -; -; int32*; int32*", "error: 3 heads of Q cannot share 2"},
        {MS "GroupQueryAttention", 1, "num_heads=2 kv_num_heads=1 do_rotary=1",
         "float*; -; -; -; -; int32*; int32*", "error: attribute 'do_rotary' is 1"},
        {MS "GroupQueryAttention", 1, "num_heads=2 kv_num_heads=1 causal=0 local_window_size=4",
         "float*; -; -; -; -; int32*; int32*", "error: attribute 'local_window_size' is 4"},
        {MS "GroupQueryAttention", 1, "num_heads=2 kv_num_heads=1 k_quant_type='PER_TENSOR'",
         "float*; -; -; -; -; int32*; int32*", "error: attribute 'k_quant_type' is 'PER_TENSOR'"},
        {MS "GroupQueryAttention", 1, "num_heads=2 kv_num_heads=1 qk_output=1",
         "float*; -; -; -; -; int32*; int32*", "error: output 3 is absent"},
        {MS "GroupQueryAttention", 1, "num_heads=2 kv_num_heads=1",
         "float*; float*; -; -; -; int32*; int32*", "error: inputs 1 and 2"},
        {MS "GroupQueryAttention", 1, "num_heads=1 kv_num_heads=1",
         "float[1,1,3]; -; -; -; -; int32[1]; int32[2]{1,1}", "error: input 6 has 2 elements"},
    };
    EXPECT_INFERRED(shapes);
}

/* Attention and its neighbours: shapes, refusals, and values that ONNX's own cases leave out. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(attention, shapes)
{
    static const op_text calls[] = {
        {"Attention", 23, "", "float[s0,4,s1,8]; float[s0,2,s2,8]; float[s0,2,s2,6]",
         "float[s0,4,s1,6]"},
        {"Attention:4", 23, "", "float[2,4,3,8]; float[2,2,5,8]; float[2,2,5,6]",
         "float[2,4,3,6]; float[2,2,5,8]; float[2,2,5,6]; float[2,4,3,5]"},
        {"Attention:3", 23, "q_num_heads=4 kv_num_heads=2",
         "float16[2,3,32]; float16[2,5,16]; float16[2,5,12]; -; float16[2,2,7,8]; "
         "float16[2,2,7,6]",
         "float16[2,3,24]; float16[2,2,12,8]; float16[2,2,12,6]"},
        {"Attention", 23, "", "float*; float*; float*", "float*"},
        {"Attention", 24, "", "float[2,4,?,8]; float*; float[2,2,5,6]; -; -; -; int64[2]",
         "float[2,4,?,6]"},
    };
    EXPECT_INFERRED(calls);
}

Test(attention, refusals)
{
    static const op_text calls[] = {
        {"Attention", 23, "", "float[2,3,8]; float[2,3,8]; float[2,3,8]",
         "error: need the attributes 'q_num_heads'"},
        {"Attention", 23, "", "float[1,3,2,8]; float[1,2,2,8]; float[1,2,2,8]",
         "error: 3 heads of Q cannot share 2"},
        {"Attention", 23, "q_num_heads=3 kv_num_heads=2",
         "float[1,2,8]; float[1,2,8]; float[1,2,8]", "error: which 3 heads do not divide"},
        {"Attention", 25, "q_num_heads=1 kv_num_heads=1",
         "float[1,1,2,8]; float[1,1,2,8]; float[1,1,2,8]", "error: forbid the attributes"},
        {"Attention", 23, "", "float[1,1,2,8]; float[1,1,2,8]; float[1,1,2,8]; -; float[1,1,1,8]",
         "error: must be given together"},
        {"Attention", 24, "",
         "float[1,1,2,8]; float[1,1,2,8]; float[1,1,2,8]; -; float[1,1,1,8]; float[1,1,1,8]; "
         "int64[1]",
         "error: must not be given together"},
        {"Attention", 23, "", "float[1,1,2,8]; float[1,1,3,8]; float[1,1,3,8]; bool[2,4]",
         "error: dimension 1 of input 3 is 4, allowed is at most 3"},
        {"Attention", 23, "", "float[1,1,2,8]; float[1,1,3,8]; float[1,1,3,8]; bool[3,3]",
         "error: dimension 0 of input 3 is 3, allowed is 1 or 2"},
        {"Attention", 23, "", "float[1,1,2,8]; float[1,1,3,8]; float[1,1,3,8]; bool[]",
         "error: input 3 has rank 0"},
        {"Attention", 23, "", "float[1,1,2,8]; float[1,1,3,7]; float[1,1,3,8]", "error: head size"},
        {"Attention", 23, "softmax_precision=6", "float[1,1,2,8]; float[1,1,3,8]; float[1,1,3,8]",
         "error: 'softmax_precision' is 6"},
        {"Attention", 23, "left_window_size=1", "float[1,1,2,8]; float[1,1,3,8]; float[1,1,3,8]",
         "error: 'left_window_size'"},
        {"RotaryEmbedding", 23, "", "float[1,2,8]; float[9,4]; float[9,4]; int64[1,2]",
         "error: 'num_heads'"},
        {"RotaryEmbedding", 23, "rotary_embedding_dim=3", "float[1,1,2,8]; float[9,1]; float[9,1]",
         "error: must be even"},
        {"RotaryEmbedding", 23, "", "float[1,1,2,8]; float[9,3]; float[9,3]; int64[1,2]",
         "error: dimension 1 of input 1 is 3, but 4 is needed"},
        {"TensorScatter", 24, "axis=0", "float[2,3]; float[2,3]", "error: names axis 0"},
        {"TensorScatter", 24, "axis=1", "float[2,3]; float[2,4]", "error: at most 3"},
        {"TensorScatter", 24, "axis=1 mode='random'", "float[2,3]; float[2,3]",
         "error: attribute 'mode' is 'random', must be one of 'linear', 'circular'"},
        {"LinearAttention:2", 27, "q_num_heads=2 kv_num_heads=2 update_rule='gated'",
         "float[1,1,4]; float[1,1,4]; float[1,1,4]", "error: needs input 4"},
        {"LinearAttention:2", 27, "q_num_heads=3 kv_num_heads=2",
         "float[1,1,4]; float[1,1,4]; float[1,1,4]", "error: cannot share 2"},
        {"CausalConvWithState:2", 27, "", "float[1,2,3]; float[2,1,0]", "error: is 0"},
        {"CausalConvWithState:2", 27, "activation='tanh'", "float[1,2,3]; float[2,1,2]",
         "error: 'activation' is 'tanh', must be one of 'none', 'silu', 'swish'"},
        {"LinearAttention:2", 27, "q_num_heads=1 kv_num_heads=1 update_rule='gate'",
         "float[1,1,4]; float[1,1,4]; float[1,1,4]",
         "error: 'update_rule' is 'gate', must be one of 'linear', 'gated', 'delta', "
         "'gated_delta'"},
    };
    EXPECT_INFERRED(calls);
}

Test(attention, without_elements)
{
    static const op_text calls[] = {
        {"LinearAttention:2", 27, "q_num_heads=1 kv_num_heads=1 update_rule='linear'",
         "float[1,1,0]{}; float[1,1,0]{}; float[1,1,2]{1,2}",
         "float[1,1,2]{0,0}; float[1,1,0,2]{}"},
        {"com.microsoft/Attention:2", 1, "num_heads=1",
         "float[1,0,1]{}; float[1,3]{1,1,1}; float[3]{0,0,0}; -; float[2,1,1,1,1]{5,7}",
         "float[1,0,1]{}; float[2,1,1,1,1]{5,7}"},
    };
    EXPECT_EVALUATED(calls);
}

/* Values are such that the weights are halves, thirds or nothing. */
Test(attention, what_a_query_sees)
{
    static const op_text calls[] = {
        {"Attention", 23, "is_causal=1",
         "float[1,1,2,1]{0,0}; float[1,1,2,1]{1,1}; float[1,1,2,1]{2,4}", "float[1,1,2,1]{2,3}"},
        {"Attention", 23, "is_causal=1",
         "float[1,1,1,1]{0}; float[1,1,1,1]{1}; float[1,1,1,1]{6}; -; float[1,1,2,1]{1,1}; "
         "float[1,1,2,1]{0,3}",
         "float[1,1,1,1]{3}"},
        {"Attention:4", 23, "qk_matmul_output_mode=3",
         "float[1,1,2,1]{0,0}; float[1,1,2,1]{1,1}; float[1,1,2,1]{2,4}; bool[2,2]{0,0,0,1}",
         "float[1,1,2,1]{0,4}; float[1,1,2,1]{1,1}; float[1,1,2,1]{2,4}; "
         "float[1,1,2,2]{0,0,0,1}"},
        /* The mask's missing key is not seen. */
        {"Attention", 23, "",
         "float[1,1,1,1]{0}; float[1,1,3,1]{1,1,1}; float[1,1,3,1]{2,4,9}; int32[1,2]{0,0}",
         "float[1,1,1,1]{3}"},
        {"Attention", 24, "",
         "float[2,1,1,1]{0,0}; float[2,1,2,1]{1,1,1,1}; float[2,1,2,1]{2,4,6,8}; -; -; -; "
         "int64[2]{1,0}",
         "float[2,1,1,1]{2,0}"},
        {"Attention", 24, "",
         "float[1,1,1,1]{0}; float[1,1,2,1]{1,1}; float[1,1,2,1]{2,4}; -; -; -; int64[1]{3}",
         "error: element 0 of input 6 is 3, allowed is 0 to 2"},
        {"Attention", 25, "left_window_size=9223372036854775807 right_window_size=0",
         "float[1,1,2,1]{0,0}; float[1,1,2,1]{1,1}; float[1,1,2,1]{2,4}", "float[1,1,2,1]{2,3}"},
        {"Attention", 25, "left_window_size=0 right_window_size=9223372036854775807",
         "float[1,1,2,1]{0,0}; float[1,1,2,1]{1,1}; float[1,1,2,1]{2,4}", "float[1,1,2,1]{3,4}"},
        /* Two query heads share one of keys; doubles beside floats. */
        {"Attention", 23, "q_num_heads=2 kv_num_heads=1",
         "float[1,1,2]{0,0}; float[1,2,1]{1,1}; double[1,2,1]{2,4}", "float[1,1,2]{3,3}"},
        {"Attention", 23, "softmax_precision=16",
         "bfloat16[1,1,1,1]{0}; bfloat16[1,1,2,1]{1,1}; bfloat16[1,1,2,1]{2,4}",
         "bfloat16[1,1,1,1]{3}"},
        {"Attention", 23, "", "float[1,1,1,1]{0}; float[1,1,0,1]{}; float[1,1,0,1]{}",
         "float[1,1,1,1]{0}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(attention, neighbours)
{
    static const op_text calls[] = {
        {"RotaryEmbedding", 23, "",
         "float[1,1,1,4]{1,2,3,4}; float[2,2]{1,1,0,0}; float[2,2]{0,0,1,1}; int64[1,1]{1}",
         "float[1,1,1,4]{-3,-4,1,2}"},
        {"RotaryEmbedding", 23, "interleaved=1 rotary_embedding_dim=2",
         "float[1,1,1,4]{1,2,3,4}; float[1,1,1]{0}; float[1,1,1]{1}", "float[1,1,1,4]{-2,1,3,4}"},
        {"RotaryEmbedding", 23, "",
         "float[1,1,1,2]{1,2}; float[2,1]{1,1}; float[2,1]{0,0}; int64[1,1]{-1}",
         "error: element 0 of input 3 is -1"},
        {"TensorScatter", 24, "axis=1 mode='circular'",
         "int8[2,3]{1,2,3,4,5,6}; int8[2,2]{7,8,9,10}; int64[2]{2,-1}", "int8[2,3]{8,2,7,10,5,9}"},
        {"TensorScatter", 24, "axis=1", "string[1,2]{a,b}; string[1,1]{c}; int64[1]{1}",
         "string[1,2]{a,c}"},
        {"TensorScatter", 24, "axis=1", "float[1,2]{1,2}; float[1,1]{3}; int64[1]{2}",
         "error: element 0 of input 2 is 2, allowed is 0 to 1"},
        {"CausalConvWithState:2", 27, "", "float[1,1,1]{3}; float[1,1,3]{1,10,100}",
         "float[1,1,1]{300}; float[1,1,2]{0,3}"},
        {"LinearAttention:2", 27, "q_num_heads=1 kv_num_heads=1 update_rule='linear' scale=1.0",
         "float[1,2,1]{1,1}; float[1,2,1]{2,1}; float[1,2,1]{3,4}",
         "float[1,2,1]{6,10}; float[1,1,1,1]{10}"},
        {"LinearAttention:2", 27, "q_num_heads=2 kv_num_heads=1 update_rule='delta' scale=1.0",
         "float[1,1,2]{1,2}; float[1,1,1]{1}; float[1,1,1]{5}; float[1,1,1,1]{3}; -; "
         "float[1,1,1]{0.5}",
         "float[1,1,2]{4,8}; float[1,1,1,1]{4}"},
    };
    EXPECT_EVALUATED(calls);
}

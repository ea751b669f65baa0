/* RNN, GRU and LSTM: shapes, refusals, lengths, and activations. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(recurrent, shapes)
{
    static const op_text calls[] = {
        {"LSTM:3", 22, "hidden_size=5 direction='bidirectional'",
         "float[s0,s1,3]; float[2,20,3]; float[2,20,5]",
         "float[s0,2,s1,5]; float[2,s1,5]; float[2,s1,5]"},
        {"GRU:2", 14, "layout=1", "double[7,s0,3]; double[1,15,3]; double[1,15,5]",
         "double[7,s0,1,5]; double[7,1,5]"},
        {"RNN:2", 1, "output_sequence=1 direction='reverse'", "float*; float*; float*",
         "float[?,1,?,?]; float[1,?,?]"},
    };
    EXPECT_INFERRED(calls);
}

Test(recurrent, refusals)
{
    static const op_text calls[] = {
        {"RNN", 14, "direction='both'", "float[1,1,1]; float[1,1,1]; float[1,1,1]",
         "error: 'direction' is 'both', must be one of 'forward', 'reverse', 'bidirectional'"},
        {"RNN", 14, "activations=['Sine']", "float[1,1,1]; float[1,1,1]; float[1,1,1]",
         "error: 'Sine'"},
        /* A name of 64 bytes is as good a name as any. */
        {"RNN", 14,
         "activations=['0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef']",
         "float[1,1,1]; float[1,1,1]; float[1,1,1]", "error: is '0123456789abcdef"},
        {"GRU", 14, "activations=['Tanh']", "float[1,1,1]; float[1,3,1]; float[1,3,1]",
         "error: has 1 elements, needed are 2"},
        {"LSTM", 14, "clip=-1.0", "float[1,1,1]; float[1,4,1]; float[1,4,1]", "error: 'clip'"},
        {"LSTM", 7, "layout=1", "float[1,1,1]; float[1,4,1]; float[1,4,1]", "error: 'layout'"},
        {"GRU:2", 1, "linear_before_reset=1", "float[1,1,1]; float[1,3,1]; float[1,3,1]",
         "error: 'linear_before_reset'"},
        {"LSTM", 14, "", "float[1,1,1]; float[1,3,1]; float[1,4,1]",
         "error: dimension 1 of input 1 is 3, but 4 is needed"},
        {"RNN", 14, "direction='bidirectional'", "float[1,1,1]; float[1,1,1]; float[1,1,1]",
         "error: dimension 0 of input 1 is 1, but 2 is needed"},
        {"RNN", 14, "", "float[1,2,1]; float[1,1,1]; float[1,1,1]; -; int32[3]",
         "error: dimension 0 of input 4 is 3, but 2 is needed"},
        {"RNN", 14, "", "bfloat16[1,2,1]; bfloat16[1,1,1]; bfloat16[1,1,1]", "error: input 0"},
    };
    EXPECT_INFERRED(calls);
}

/* Ht = Xt + Ht-1. */
Test(recurrent, sequences)
{
    static const op_text calls[] = {
        {"RNN:2", 14, "activations=['Affine']",
         "float[3,1,1]{1,2,4}; float[1,1,1]{1}; float[1,1,1]{1}",
         "float[3,1,1,1]{1,3,7}; float[1,1,1]{7}"},
        {"RNN:2", 14, "activations=['affine'] direction='reverse'",
         "float[3,2,1]{1,10,2,20,4,40}; float[1,1,1]{1}; float[1,1,1]{1}; -; int32[2]{2,3}",
         "float[3,1,2,1]{3,70,2,60,0,40}; float[1,2,1]{3,70}"},
        {"RNN:2", 14, "activations=['Affine'] layout=1",
         "float16[2,2,1]{1,2,10,20}; float16[1,1,1]{1}; float16[1,1,1]{1}; float16[1,2]{0.5,0.5}; "
         "-; float16[2,1,1]{0,100}",
         "float16[2,2,1,1]{2,5,111,132}; float16[2,1,1]{5,132}"},
        {"RNN:2", 14, "activations=['Affine','Affine'] direction='bidirectional'",
         "double[2,1,1]{1,2}; double[2,1,1]{1,10}; double[2,1,1]{1,1}",
         "double[2,2,1,1]{1,30,3,20}; double[2,1,1]{3,30}"},
        /* An entry without steps keeps its state; so does a sequence without steps. */
        {"RNN:2", 14, "",
         "float[1,1,1]{1}; float[1,1,1]{1}; float[1,1,1]{1}; -; int32[1]{0}; "
         "float[1,1,1]{7}",
         "float[1,1,1,1]{0}; float[1,1,1]{7}"},
        {"RNN:2", 14, "", "float[0,1,1]{}; float[1,1,1]{1}; float[1,1,1]{1}; -; -; float[1,1,1]{7}",
         "float[0,1,1,1]{}; float[1,1,1]{7}"},
        {"RNN:2", 14, "", "float[1,1,1]{1}; float[1,1,1]{1}; float[1,1,1]{1}; -; int32[1]{2}",
         "error: element 0 of input 4 is 2, allowed is 0 to 1"},
        {"RNN:2", 14, "", "float[1,1,1]{1}; float[1,1,1]{1}; float[1,1,1]{1}; -; int32[1]{-1}",
         "error: element 0 of input 4 is -1"},
    };
    EXPECT_EVALUATED(calls);
}

/* One step of Ht = f(X), with X = 4 and -2. */
#define STEP(activation, attributes, result)                                                       \
    {                                                                                              \
        "RNN", 14, "activations=['" activation "'] " attributes,                                   \
            "float[1,2,1]{4,-2}; float[1,1,1]{1}; float[1,1,1]{0}", "float[1,1,2,1]{" result "}"   \
    }

Test(recurrent, activations)
{
    static const op_text calls[] = {
        STEP("Relu", "", "4,0"),
        STEP("Affine", "activation_alpha=[2.0] activation_beta=[1.0]", "9,-3"),
        STEP("Affine", "", "4,-2"),
        STEP("LeakyRelu", "activation_alpha=[0.5]", "4,-1"),
        STEP("ThresholdedRelu", "activation_alpha=[5.0]", "0,0"),
        STEP("ThresholdedRelu", "", "4,0"),
        STEP("HardSigmoid", "activation_alpha=[0.25] activation_beta=[0.5]", "1,0"),
        STEP("Softsign", "clip=3.0", "0.75,-0.66666669"),
        STEP("Relu", "clip=0.5", "0.5,0"),
    };
    EXPECT_EVALUATED(calls);
}

/* A value is consumed by the next function that has a use for it. */
Test(recurrent, parameters_of_activations)
{
    static const op_text calls[] = {
        /* z = 0.5 * 1, h = 4: 0.5 * 4 */
        {"GRU", 14, "activations=['Affine','Affine'] activation_alpha=[0.5,4.0]",
         "float[1,1,1]{1}; float[1,3,1]{1,1,1}; float[1,3,1]{0,0,0}", "float[1,1,1,1]{2}"},
        {"GRU", 14, "activations=['Relu','Affine'] activation_alpha=[4.0] linear_before_reset=1",
         "float[1,1,1]{1}; float[1,3,1]{0.5,1,1}; float[1,3,1]{0,0,0}", "float[1,1,1,1]{2}"},
        /* i = 0.5, f = 1 - i, o = 1, c = 2: C = 0.5 * 4 + 0.5 * 2 */
        {"LSTM:3", 14, "activations=['Affine','Affine','Affine'] input_forget=1",
         "float[1,1,1]{1}; float[1,4,1]{0.5,1,9,2}; float[1,4,1]{0,0,0,0}; -; -; -; "
         "float[1,1,1]{4}",
         "float[1,1,1,1]{3}; float[1,1,1]{3}; float[1,1,1]{3}"},
    };
    EXPECT_EVALUATED(calls);
}

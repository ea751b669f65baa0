/* Losses and optimizers: targets that are wrong or ignored, weights, counts of inputs. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(training, likelihoods)
{
    static const op_text calls[] = {
        {"NegativeLogLikelihoodLoss", 13, "", "float[2,2]{1,2,3,4}; int64[2]{1,0}",
         "float[]{-2.5}"},
        {"NegativeLogLikelihoodLoss", 13, "reduction='sum'",
         "float[2,2]{1,2,3,4}; int32[2]{1,0}; float[2]{10,1}", "float[]{-32}"},
        {"NegativeLogLikelihoodLoss", 13, "reduction='none' ignore_index=-7",
         "double[1,2,2]{1,2,3,4}; int64[1,2]{1,-7}", "double[1,2]{-3,0}"},
        {"NegativeLogLikelihoodLoss", 22, "ignore_index=0", "bfloat16[2,2]{1,2,3,4}; int64[2]{1,0}",
         "bfloat16[]{-2}"},
        {"NegativeLogLikelihoodLoss", 13, "ignore_index=5", "float[1,2]{1,2}; int64[1]{5}",
         "float[]{NaN}"},
        {"NegativeLogLikelihoodLoss", 13, "reduction='sum'", "float[0,2]{}; int64[0]{}",
         "float[]{0}"},
        {"NegativeLogLikelihoodLoss", 13, "", "float[1,2]{1,2}; int64[1]{2}",
         "error: element 0 of input 1 is 2, allowed are 0 to 1"},
        {"NegativeLogLikelihoodLoss", 13, "",
         "float[2,2]{1,2,3,4}; int64[2]{0,-9223372036854775808}",
         "error: element 1 of input 1 is -9223372036854775808"},
        {"NegativeLogLikelihoodLoss", 13, "reduction='max'", "float[1,2]{1,2}; int64[1]{0}",
         "error: attribute 'reduction' is 'max', must be one of 'none', 'sum', 'mean'"},
        {"NegativeLogLikelihoodLoss", 13, "", "bfloat16[1,2]{1,2}; int64[1]{0}",
         "error: input 0 has type bfloat16"},
    };
    EXPECT_EVALUATED(calls);
}

Test(training, cross_entropy)
{
    static const op_text calls[] = {
        {"SoftmaxCrossEntropyLoss", 13, "", "float[1,1]{5}; int64[1]{0}", "float[]{0}"},
        {"SoftmaxCrossEntropyLoss:2", 13, "reduction='none'", "float[1,2]{1000,-1000}; int64[1]{1}",
         "float[1]{2000}; float[1,2]{0,-2000}"},
        {"SoftmaxCrossEntropyLoss", 12, "reduction='sum' ignore_index=-1",
         "double[2,2,1]{1000,0,0,1000}; int32[2,1]{1,-1}; double[2]{1,3}", "double[]{3000}"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float[1,2]{1,2}; int64[1]{-1}",
         "error: element 0 of input 1 is -1"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {"SoftmaxCrossEntropyLoss:2", 13, "reduction='none'", "float[s0,4,?]; int64[2,s1]",
         "float[2,s1]; float[s0,4,?]"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float*; int64*", "float[]"},
        {"SoftmaxCrossEntropyLoss", 13, "reduction='none'", "float*; int64[3]", "float[3]"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float[2]; int64[2]", "error: input 0 has rank 1"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float[2,3]; int64[3]",
         "error: input 1 has shape [3], input 0 without its classes has [2]"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float[2,3]; int64[2]; float[2]",
         "error: input 2 has 2 weights for 3 classes"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float[2,3]; int64[2]; float[3,1]",
         "error: input 2 has rank 2"},
    };
    EXPECT_INFERRED(shapes);
}

#define DOMAIN "ai.onnx.preview.training/"

Test(training, optimizers)
{
    static const op_text calls[] = {
        {DOMAIN "Adagrad:2", 1, "epsilon=0.0",
         "float[]{0.5}; int64[]{0}; float[1]{3}; float[1]{2}; "
         "float[1]{0}",
         "float[1]{2.5}; float[1]{4}"},
        {DOMAIN "Momentum:2", 1, "alpha=0.5 beta=0.25 mode='standard' norm_coefficient=0.0",
         "float[]{1}; int64[1]{1}; double[1]{3}; double[1]{4}; double[1]{2}",
         "double[1]{1}; double[1]{2}"},
        {DOMAIN "Momentum:2", 1, "alpha=0.5 beta=0.25 mode='nesterov' norm_coefficient=1.0",
         "float[]{1}; int64[]{0}; float[1]{3}; float[1]{4}; float[1]{2}",
         "float[1]{-8}; float[1]{8}"},
        {DOMAIN "Adam:3", 1, "alpha=0.5 beta=0.5 epsilon=0.0",
         "float[]{1}; int64[]{0}; float[1]{3}; float[1]{2}; float[1]{2}; float[1]{4}",
         "float[1]{2}; float[1]{2}; float[1]{4}"},
        {DOMAIN "Adagrad:4", 1, "epsilon=0.0",
         "float[]{1}; int64[]{0}; float[1]{3}; double[0]{}; float[1]{2}; double[0]{}; float[1]{0}; "
         "double[0]{}",
         "float[1]{2}; double[0]{}; float[1]{4}; double[0]{}"},
        {DOMAIN "Adagrad:2", 1, "", "float[]{1}; int64[]{0}; float[1]{3}; float[1]{2}",
         "error: it has 4 inputs and 2 outputs"},
        {DOMAIN "Adagrad:3", 1, "", "float[]{1}; int64[]{0}; float[1]{3}; float[1]{2}; float[1]{0}",
         "error: it has 5 inputs and 3 outputs"},
        {DOMAIN "Adagrad:2", 1, "",
         "float[]{1}; int64[]{0}; float[1]{3}; float[2]{2,2}; float[1]{0}",
         "error: input 3 is float [2], input 2, to which it belongs, is float [1]"},
        {DOMAIN "Adagrad:2", 1, "",
         "float[]{1}; int64[]{0}; float[1]{3}; double[1]{2}; float[1]{0}",
         "error: input 3 is double [1]"},
        {DOMAIN "Adagrad:2", 1, "",
         "float[2]{1,1}; int64[]{0}; float[1]{3}; float[1]{2}; float[1]{0}",
         "error: input 0 has 2 elements"},
        {DOMAIN "Momentum:2", 1, "alpha=0.5 beta=0.25 mode='fast' norm_coefficient=0.0",
         "float[]{1}; int64[]{0}; float[1]{3}; float[1]{2}; float[1]{0}",
         "error: attribute 'mode' is 'fast', must be one of 'standard', 'nesterov'"},
        {DOMAIN "Momentum:2", 1, "alpha=0.5 mode='standard' norm_coefficient=0.0",
         "float[]{1}; int64[]{0}; float[1]{3}; float[1]{2}; float[1]{0}", "error: 'beta'"},
        {DOMAIN "Gradient", 1, "", "float[]{1}", "error: 'Gradient'"},
    };
    EXPECT_EVALUATED(calls);
}

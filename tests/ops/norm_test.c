/* Normalisations: shapes, refusals, broadcast scales, and statistics. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(norm, shapes)
{
    static const op_text calls[] = {
        {"LayerNormalization:3", 17, "axis=1", "float16[s0,3,?]; float16[3,?]",
         "float16[s0,3,?]; float[s0,1,1]; float[s0,1,1]"},
        {"LayerNormalization:2", 17, "stash_type=16", "float*; float[3]", "float*; bfloat16*"},
        {"RMSNormalization", 23, "", "float16[2,3]; double[3]", "double[2,3]"},
        {"GroupNormalization", 21, "num_groups=2", "float[s0,4,?]; float[4]; float[4]",
         "float[s0,4,?]"},
        {"BatchNormalization:5", 9, "", "float[2,3]; float[3]; float[3]; float[3]; float[3]",
         "float[2,3]; float[3]; float[3]; float[3]; float[3]"},
    };
    EXPECT_INFERRED(calls);
}

Test(norm, refusals)
{
    static const op_text calls[] = {
        {"LayerNormalization", 17, "axis=2", "float[2,3]; float[3]", "error: 'axis' is 2"},
        {"LayerNormalization", 17, "", "float[2,3]; float[2]", "error: does not broadcast"},
        {"LayerNormalization", 17, "", "float[3]; float[1,3]", "error: does not broadcast"},
        {"LayerNormalization", 17, "stash_type=7", "float[2,3]; float[3]",
         "error: 'stash_type' is 7, allowed are 1 (float), 10 (float16), 11 (double) and 16 "
         "(bfloat16)"},
        {"GroupNormalization", 21, "num_groups=2 stash_type=-1", "float[2,4]; float[4]; float[4]",
         "error: 'stash_type' is -1, allowed are"},
        {"LayerNormalization", 17, "stash_type=0", "float[2,3]; float[3]",
         "error: 'stash_type' is 0, allowed are"},
        {"LayerNormalization:2", 17, "stash_type=11", "float[2,3]; float[3]", "error: output 1"},
        {"GroupNormalization", 21, "", "float[2,4]; float[4]; float[4]", "error: 'num_groups'"},
        {"GroupNormalization", 21, "num_groups=3", "float[2,4]; float[4]; float[4]",
         "error: 3 groups do not divide 4"},
        {"GroupNormalization", 18, "num_groups=2", "float[2,4]; float[4]; float[4]",
         "error: input 1 has 4 elements, needed are 2"},
        {"InstanceNormalization", 6, "", "float[4]; float[4]; float[4]", "error: at least 2"},
        {"LpNormalization", 1, "p=3", "float[2]", "error: 'p'"},
        {"LpNormalization", 1, "axis=1", "float[2]", "error: axes[0] is 1"},
        {"MeanVarianceNormalization", 13, "", "float[2,2,2]", "error: axes[2] is 3"},
        {"BatchNormalization:2", 14, "", "float[2,3]; float[3]; float[3]; float[3]; float[3]",
         "error: exists in training only"},
    };
    EXPECT_INFERRED(calls);
}

Test(norm, values)
{
    static const op_text calls[] = {
        {"LayerNormalization:3", 17, "epsilon=0.0",
         "float[2,2]{1,3,2,10}; float[2]{1,2}; float[2]{0,1}",
         "float[2,2]{-1,3,-1,3}; float[2,1]{2,6}; float[2,1]{1,0.25}"},
        /* A factor per row, one for all, and one per row and column. */
        {"LayerNormalization", 17, "epsilon=0.0", "float[2,2]{1,3,2,10}; float[2,1]{1,10}",
         "float[2,2]{-1,1,-10,10}"},
        {"LayerNormalization", 17, "epsilon=0.0",
         "double[2,2]{1,3,2,10}; double[]{2}; double[1,1]{1}", "double[2,2]{-1,3,-1,3}"},
        {"LayerNormalization", 17, "epsilon=0.0 axis=0",
         "float[2,2]{1,3,1,3}; float[2,1]{1,2}; float[2]{0,1}", "float[2,2]{-1,2,-2,3}"},
        {"LayerNormalization:2", 17, "", "float[2,0]{}; float[0]{}",
         "float[2,0]{}; float[2,1]{NaN,NaN}"},
        {"RMSNormalization", 23, "epsilon=0.0", "float16[1,2]{3,-3}; float[2]{1,2}",
         "float[1,2]{1,-2}"},
        {"GroupNormalization", 18, "num_groups=1 epsilon=0.0",
         "float[1,2,1]{1,3}; float[1]{2}; float[1]{1}", "float[1,2,1]{-1,3}"},
        {"GroupNormalization", 21, "num_groups=1 epsilon=0.0",
         "bfloat16[1,2,1]{1,3}; bfloat16[2]{2,4}; bfloat16[2]{0,1}", "bfloat16[1,2,1]{-2,5}"},
        {"InstanceNormalization", 6, "epsilon=0.0",
         "float[1,2,2]{1,3,2,10}; float[2]{1,2}; float[2]{0,1}", "float[1,2,2]{-1,1,-1,3}"},
        {"LpNormalization", 1, "p=1 axis=0", "float[2,2]{1,0,-3,0}", "float[2,2]{0.25,0,-0.75,0}"},
        {"LpNormalization", 1, "", "float16[2]{3,-4}", "float16[2]{0.60009766,-0.79980469}"},
        {"MeanVarianceNormalization", 13, "axes=[-1]", "double[2,2]{1,3,5,9}",
         "double[2,2]{-1,1,-1,1}"},
        {"MeanVarianceNormalization", 13, "axes=[0]", "float[2,2]{1,2,3,6}",
         "float[2,2]{-1,-1,1,1}"},
    };
    EXPECT_EVALUATED(calls);
}

/* Below opset 14 the outputs, or is_test 0, ask for training. */
Test(norm, batches_in_training)
{
    static const op_text calls[] = {
        {"BatchNormalization:5", 9, "epsilon=0.0 momentum=0.5",
         "float[2,1]{1,3}; float[1]{2}; float[1]{1}; float[1]{4}; float[1]{5}",
         "float[2,1]{-1,3}; float[1]{3}; float[1]{3}; float[1]{2}; float[1]{1}"},
        {"BatchNormalization", 6, "epsilon=0.0",
         "float[2,1]{1,3}; float[1]{2}; float[1]{1}; float[1]{4}; float[1]{5}", "float[2,1]{-1,3}"},
        {"BatchNormalization", 6, "epsilon=0.0 is_test=1",
         "float[2,1]{1,3}; float[1]{2}; float[1]{1}; float[1]{1}; float[1]{4}", "float[2,1]{1,3}"},
    };
    EXPECT_EVALUATED(calls);
}

/* Reductions: what empty ones give, integers at the edges, axes, and long rows. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(reduce, nothing_gives_the_neutral_element)
{
    static const op_text calls[] = {
        {"ReduceSum", 13, "keepdims=0", "float[2,0]{}; int64[1]{1}", "float[2]{0,0}"},
        {"ReduceSumSquare", 18, "keepdims=0", "int32[0]{}", "int32[]{0}"},
        {"ReduceL1", 18, "keepdims=0", "float[0]{}", "float[]{0}"},
        {"ReduceL2", 13, "keepdims=0 axes=[0]", "double[0,1]{}", "double[1]{0}"},
        {"ReduceProd", 18, "", "int64[0]{}", "int64[1]{1}"},
        {"ReduceProd", 1, "", "float16[0]{}", "float16[1]{1}"},
        {"ReduceLogSum", 18, "keepdims=0", "float[0]{}", "float[]{-INF}"},
        {"ReduceLogSum", 18, "keepdims=0", "int32[0]{}", "int32[]{-2147483648}"},
        {"ReduceLogSumExp", 18, "keepdims=0", "uint32[0]{}", "uint32[]{0}"},
        {"ReduceMax", 20, "keepdims=0", "bool[0]{}", "bool[]{0}"},
        {"ReduceMin", 20, "keepdims=0", "bool[0]{}", "bool[]{1}"},
        {"ReduceMin", 12, "", "int8[0]{}", "int8[1]{127}"},
        {"ReduceMean", 18, "", "int32[0]{}", "error: the mean of no integers is not defined"},
        {"ReduceSum", 13, "keepdims=0", "float[0,3]{}; int64[1]{1}", "float[0]{}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(reduce, numbers_at_the_edges)
{
    static const op_text calls[] = {
        {"ReduceL1", 18, "keepdims=0", "int64[2]{-9223372036854775808,1}",
         "int64[]{-9223372036854775807}"},
        {"ReduceL1", 13, "keepdims=0", "float[3]{-1,2,-inf}", "float[]{INF}"},
        {"ReduceSumSquare", 13, "keepdims=0", "int32[2]{65536,1}", "int32[]{1}"},
        {"ReduceSumSquare", 13, "keepdims=0", "uint64[2]{4294967296,3}", "uint64[]{9}"},
        {"ReduceL2", 13, "keepdims=0", "int32[2]{3,-4}", "int32[]{5}"},
        {"ReduceL2", 13, "keepdims=0", "int32[2]{-2147483648,-2147483648}", "int32[]{2147483647}"},
        {"ReduceL2", 13, "keepdims=0", "float16[2]{300,400}", "float16[]{500}"},
        {"ReduceProd", 13, "keepdims=0", "int64[3]{9223372036854775807,2,-1}", "int64[]{2}"},
        {"ReduceProd", 13, "keepdims=0", "bfloat16[3]{2,0.5,-8}", "bfloat16[]{-8}"},
        {"ReduceLogSum", 13, "keepdims=0", "float[2]{-1,0.5}", "float[]{NaN}"},
        {"ReduceLogSum", 13, "keepdims=0", "uint32[2]{0,0}", "uint32[]{0}"},
        {"ReduceLogSum", 13, "keepdims=0", "int64[2]{-1,0}", "int64[]{0}"},
        {"ReduceLogSumExp", 13, "keepdims=0", "float[2]{1000,-1000}", "float[]{1000}"},
        {"ReduceLogSumExp", 13, "keepdims=0", "float[2]{-inf,-inf}", "float[]{-INF}"},
        {"ReduceLogSumExp", 13, "keepdims=0", "float[3]{-inf,inf,1}", "float[]{INF}"},
        {"ReduceLogSumExp", 13, "keepdims=0", "float[3]{-inf,nan,inf}", "float[]{NaN}"},
        {"ReduceLogSumExp", 13, "keepdims=0", "int64[2]{9223372036854775807,0}",
         "int64[]{9223372036854775807}"},
        {"ReduceMax", 20, "keepdims=0", "bool[3]{0,7,0}", "bool[]{1}"},
        {"ReduceMin", 20, "keepdims=0", "float[3]{1,nan,-1}", "float[]{NaN}"},
        {"ReduceLogSum", 28, "", "int32[1]{1}", "error: input 0 has type int32"},
    };
    EXPECT_EVALUATED(calls);
}

Test(reduce, axes)
{
    static const op_text calls[] = {
        {"ReduceSumSquare", 18, "noop_with_empty_axes=1", "float[2]{-2,3}", "float[2]{4,9}"},
        {"ReduceL1", 18, "noop_with_empty_axes=1", "int32[2]{-2,3}; int64[0]{}", "int32[2]{2,3}"},
        {"ReduceProd", 18, "keepdims=0", "float[2,2]{1,2,3,4}; int64[1]{-2}", "float[2]{3,8}"},
        {"ReduceProd", 18, "keepdims=0", "float[]{3}", "float[]{3}"},
        {"ReduceL1", 13, "axes=[0,2] keepdims=0", "float[2,2,2]{-1,2,-3,4,5,-6,7,-8}",
         "float[2]{14,22}"},
        {"ReduceL2", 18, "", "float[2]{1,2}; int64[1]{1}", "error: axes[0] is 1"},
        {"ReduceL2", 18, "", "float[2,2]{1,2,3,4}; int64[2]{0,-2}", "error: a second time"},
        {"ReduceL2", 13, "noop_with_empty_axes=1", "float[1]{1}", "error: 'noop_with_empty_axes'"},
        {"ReduceL2", 18, "axes=[0]", "float[1]{1}", "error: 'axes'"},
    };
    EXPECT_EVALUATED(calls);
    static const op_text shapes[] = {
        {"ReduceProd", 18, "", "float[s0,3]; int64[1]{0}", "float[1,3]"},
        {"ReduceLogSum", 18, "keepdims=0", "float[s0,3]; int64[1]{1}", "float[s0]"},
        {"ReduceLogSumExp", 18, "", "float[2,3]; int64[1]", "float[?,?]"},
        {"ReduceL2", 18, "keepdims=0", "float[2,3]; int64[1]", "float*"},
    };
    EXPECT_INFERRED(shapes);
}

/* Longer than the partial results that a kernel keeps, with an uneven rest. */
Test(reduce, long_rows_and_columns)
{
    static const op_text calls[] = {
        {"ReduceL1", 18, "keepdims=0", "int32[19]{-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1}",
         "int32[]{19}"},
        {"ReduceSumSquare", 18, "keepdims=0",
         "float[11,2]{1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2}; int64[1]{0}",
         "float[2]{11,44}"},
        {"ReduceProd", 18, "keepdims=0",
         "int64[2,17]{1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,1,-1,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,3};"
         " "
         "int64[1]{1}",
         "int64[2]{2,3}"},
    };
    EXPECT_EVALUATED(calls);
}

/* Windows: how many taps a call may cost, and what NaN does to a maximum. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

/* A kernel of 2^31 - 1 meets four elements; a call that visits its other taps runs for hours. */
Test(pool, huge_kernels)
{
    static const op_text calls[] = {
        {"MaxPool", 12, "auto_pad='SAME_UPPER' kernel_shape=[2147483647]", "float[1,1,4]{1,4,2,3}",
         "float[1,1,4]{4,4,4,4}"},
        {"MaxPool:2", 12, "auto_pad='SAME_UPPER' kernel_shape=[2147483647]",
         "float[1,1,4]{1,4,2,3}", "float[1,1,4]{4,4,4,4}; int64[1,1,4]{1,1,1,1}"},
        {"MaxPool", 12,
         "auto_pad='SAME_LOWER' kernel_shape=[2147483647,2147483647] dilations=[1,2]",
         "int8[1,1,2,4]{1,4,2,3,9,5,8,6}", "int8[1,1,2,4]{9,6,9,6,9,6,9,6}"},
        {"MaxPool", 12,
         "kernel_shape=[2147483647] strides=[2147483647] pads=[2147483646,2147483646]",
         "uint8[1,1,4]{1,4,2,3}", "uint8[1,1,2]{1,4}"},
        {"AveragePool", 19, "auto_pad='SAME_UPPER' kernel_shape=[2147483647]",
         "float[1,1,4]{1,4,2,5}", "float[1,1,4]{3,3,3,3}"},
        {"AveragePool", 19, "auto_pad='SAME_UPPER' kernel_shape=[2147483647,2147483647,2147483647]",
         "double[1,1,2,1,2]{1,4,2,5}", "double[1,1,2,1,2]{3,3,3,3}"},
    };
    EXPECT_EVALUATED(calls);
}

/* More taps than outputs and fewer take different ways to one result. */
Test(pool, kernels_wider_than_the_output)
{
    static const op_text calls[] = {
        {"MaxPool", 12, "kernel_shape=[3]", "float[1,1,4]{1,4,2,3}", "float[1,1,2]{4,4}"},
        {"MaxPool", 12, "kernel_shape=[3] dilations=[2] pads=[2,0]", "float[1,1,5]{5,1,4,2,3}",
         "float[1,1,3]{5,2,5}"},
        {"MaxPool", 12, "kernel_shape=[2] strides=[1]", "float[1,1,4]{1,4,2,3}",
         "float[1,1,3]{4,4,3}"},
        {"AveragePool", 19, "kernel_shape=[3]", "float[1,1,4]{1,4,1,7}", "float[1,1,2]{2,4}"},
        {"AveragePool", 19, "kernel_shape=[2]", "float[1,1,4]{1,3,1,7}", "float[1,1,3]{2,2,4}"},
        {"AveragePool", 19, "kernel_shape=[3] pads=[1,0] count_include_pad=1",
         "float[1,1,3]{3,6,9}", "float[1,1,2]{3,6}"},
    };
    EXPECT_EVALUATED(calls);
}

/* Windows over planes without elements, of extents whose products fit no integer and that no kernel
 * may step through; positions over nothing are 0 in either order. */
Test(pool, windows_over_nothing)
{
    static const op_text calls[] = {
        {"MaxPool", 12,
         "kernel_shape=[2147483647,2147483647,2] pads=[0,0,1,0,0,1] "
         "strides=[2147483647,2147483647,1]",
         "float[1,1,4294967296,8589934592,0]{}",
         "float[1,1,2,4,1]{-INF,-INF,-INF,-INF,-INF,-INF,-INF,-INF}"},
        {"MaxPool:2", 12, "kernel_shape=[1,2] pads=[0,1,0,1] storage_order=1", "float[1,1,1,0]{}",
         "float[1,1,1,1]{-INF}; int64[1,1,1,1]{0}"},
        {"MaxPool:2", 12, "kernel_shape=[2,1] pads=[1,0,1,0] storage_order=1", "int8[1,2,0,1]{}",
         "int8[1,2,1,1]{-128,-128}; int64[1,2,1,1]{0,0}"},
        {"AveragePool", 19,
         "kernel_shape=[1,1,2] pads=[0,0,1,0,0,1] strides=[2147483647,2147483647,1]",
         "float[1,1,4294967296,8589934592,0]{}", "float[1,1,3,5,1]{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}"},
        {"LpPool", 18, "kernel_shape=[1,1,2] pads=[0,0,1,0,0,1] strides=[2147483647,2147483647,1]",
         "float[1,1,4294967296,8589934592,0]{}", "float[1,1,3,5,1]{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}"},
        {"Conv", 11, "pads=[0,0,1,0,0,1] strides=[2147483647,2147483647,1]",
         "float[1,1,4294967296,8589934592,0]{}; float[1,1,1,1,2]{1,1}; float[1]{3}",
         "float[1,1,3,5,1]{3,3,3,3,3,3,3,3,3,3,3,3,3,3,3}"},
        {"ConvInteger", 10, "pads=[0,0,1,0,0,1] strides=[2147483647,2147483647,1]",
         "uint8[1,1,4294967296,8589934592,0]{}; uint8[1,1,1,1,2]{1,1}",
         "int32[1,1,3,5,1]{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}"},
    };
    EXPECT_EVALUATED(calls);
}

/* One rule with and without indices, by either way through a row: NaN is never the largest. */
Test(pool, maxima_beside_nan)
{
    static const op_text calls[] = {
        {"MaxPool", 12, "kernel_shape=[3]", "float[1,3,3]{nan,1,2,1,nan,-4,1,2,nan}",
         "float[1,3,1]{2,1,2}"},
        {"MaxPool:2", 12, "kernel_shape=[3]", "float[1,3,3]{nan,1,2,1,nan,-4,1,2,nan}",
         "float[1,3,1]{2,1,2}; int64[1,3,1]{2,3,7}"},
        {"MaxPool", 12, "kernel_shape=[2]", "float16[1,1,4]{nan,1,2,nan}", "float16[1,1,3]{1,2,2}"},
        {"MaxPool:2", 12, "kernel_shape=[2]", "float16[1,1,4]{nan,1,2,nan}",
         "float16[1,1,3]{1,2,2}; int64[1,1,3]{1,2,2}"},
        {"MaxPool", 12, "kernel_shape=[2]", "double[1,1,4]{nan,nan,-inf,nan}",
         "double[1,1,3]{-INF,-INF,-INF}"},
        {"MaxPool:2", 12, "kernel_shape=[2]", "double[1,1,4]{nan,nan,-inf,nan}",
         "double[1,1,3]{-INF,-INF,-INF}; int64[1,1,3]{0,2,2}"},
        {"GlobalMaxPool", 12, "", "float[1,3,2]{nan,1,-3,nan,nan,nan}", "float[1,3,1]{1,-3,-INF}"},
    };
    EXPECT_EVALUATED(calls);
}

/* Resampling, regions and windows: what ONNX's own cases leave out. */
#include <criterion/criterion.h>

#include "tests/ops/op_text.h"

Test(image, resize_shapes)
{
    static const op_text calls[] = {
        {"Resize", 13, "", "float[1,s0]; -; float[2]{1,2}", "float[1,?]"},
        {"Resize", 13, "", "float[s0,3]; -; float[2]{1,2}", "float[s0,6]"},
        {"Resize", 13, "", "float[s0,3]; -; float[2]", "float[?,?]"},
        {"Resize", 13, "", "float*; -; float[2]{1,2}", "float*"},
        {"Resize", 13, "", "float[s0,3]; -; -; int64[2]{4,5}", "float[4,5]"},
        {"Resize", 11, "", "float[10]; float[0]{}; float[1]{0.7}", "float[7]"},
        {"Resize", 11, "", "float[2]; float[0]{}; float[0]{}; int64[1]{5}", "float[5]"},
        {"Resize", 10, "", "string[2,3]; float[2]{1,2}", "string[2,6]"},
        {"Resize", 18, "axes=[-1]", "float[s0,3]; -; float[1]{2}", "float[s0,6]"},
        {"Resize", 18, "axes=[1,0] keep_aspect_ratio_policy='not_larger'",
         "float[4,6]; -; -; int64[2]{3,3}", "float[2,3]"},
        {"Resize", 18, "keep_aspect_ratio_policy='not_smaller'", "float[4,s0]; -; -; int64[2]{3,3}",
         "float[?,?]"},
        {"Resize", 13, "", "float[0,2]; -; -; int64[2]{0,4}", "float[0,4]"},
        {"Upsample", 7, "scales=[1.0,2.5]", "int8[2,3]", "int8[2,7]"},
        {"Upsample", 1, "height_scale=2.0 width_scale=1.0", "float[1,s0,3,3]", "float[1,s0,6,3]"},
    };
    EXPECT_INFERRED(calls);
}

Test(image, resize_refusals)
{
    static const op_text calls[] = {
        {"Resize", 13, "", "float[2]", "error: one of inputs 'scales' and 'sizes'"},
        {"Resize", 13, "", "float[2]; -; float[1]{2}; int64[1]{4}", "error: both given"},
        {"Resize", 13, "", "float[2]; -; float[2]{2,1}", "error: 'scales' has 2 values"},
        {"Resize", 13, "", "float[2]; -; float[1]{0}", "error: scale of axis 0 is 0"},
        {"Resize", 13, "", "float[2]; -; float[1]{-1}", "error: scale of axis 0 is -1"},
        {"Resize", 13, "", "float[2]; -; float[1]{nan}", "error: scale of axis 0 is"},
        {"Resize", 13, "", "float[2]; -; float[1]{inf}", "error: scale of axis 0 is inf"},
        {"Resize", 13, "", "float[2]; -; float[1]{3e38}", "error: too large when scaled"},
        {"Resize", 13, "", "float[2]; -; -; int64[1]{-1}", "error: size of axis 0 is -1"},
        {"Resize", 13, "", "float[2]; -; -; int64[1]{9223372036854775807}",
         "error: size of axis 0"},
        {"Resize", 13, "", "float[0]; -; -; int64[1]{2}", "error: axis 0 is empty"},
        {"Resize", 18, "keep_aspect_ratio_policy='not_larger'", "float[0]; -; -; int64[1]{0}",
         "error: has no aspect ratio"},
        {"Resize", 18, "axes=[0,-1]", "float[2]; -; float[2]{1,1}", "error: a second time"},
        {"Resize", 18, "antialias=1", "float[2]; -; float[1]{2}", "error: 'antialias' is 1"},
        {"Resize", 13, "mode='linear'", "string[2]; -; float[1]{2}",
         "error: only be resized by mode"},
        {"Resize", 13, "coordinate_transformation_mode='tf_half_pixel_for_nn'",
         "float[2]; -; float[1]{2}", "error: 'coordinate_transformation_mode' is"},
        {"Resize", 18, "coordinate_transformation_mode='half_pixel_symmetric'",
         "float[2]; -; float[1]{2}", "error: 'coordinate_transformation_mode' is"},
        {"Resize", 13, "coordinate_transformation_mode='tf_crop_and_resize'",
         "float[2]; -; float[1]{2}", "error: 'roi' is needed"},
        {"Resize", 10, "mode='cubic'", "float[2]; float[1]{2}",
         "error: 'mode' is 'cubic', must be one of"},
        {"Upsample", 9, "", "float[2]; float[1]{0.5}", "error: of at least 1"},
        {"Upsample", 7, "", "float[2]", "error: 'scales'"},
        {"Upsample", 7, "scales=[1.0,2.0]", "float[2]", "error: 'scales' has 2 values"},
    };
    EXPECT_INFERRED(calls);
}

/* Types and regions; NaN lies outside. */
Test(image, resize_values)
{
    static const op_text calls[] = {
        {"Resize", 10, "", "string[2]{ab,c}; float[1]{2}", "string[4]{ab,ab,c,c}"},
        {"Resize", 13, "", "bool[3]{1,0,1}; -; -; int64[1]{2}", "bool[2]{1,1}"},
        {"Resize", 13, "mode='linear' coordinate_transformation_mode='align_corners'",
         "float16[2]{0,4}; -; -; int64[1]{5}", "float16[5]{0,1,2,3,4}"},
        {"Resize", 13, "mode='linear' coordinate_transformation_mode='align_corners'",
         "int64[2]{-4611686018427387904,0}; -; -; int64[1]{3}",
         "int64[3]{-4611686018427387904,-2305843009213693952,0}"},
        {"Resize", 13, "mode='cubic' coordinate_transformation_mode='asymmetric'",
         "uint8[4]{0,255,255,0}; -; float[1]{2}", "uint8[8]{0,128,255,255,255,128,0,0}"},
        {"Resize", 13,
         "coordinate_transformation_mode='tf_crop_and_resize' extrapolation_value=9.0",
         "float[2]{1,2}; float[2]{nan,1}; -; int64[1]{2}", "float[2]{9,9}"},
        {"Resize", 13,
         "mode='linear' coordinate_transformation_mode='tf_crop_and_resize' "
         "extrapolation_value=300.0",
         "uint8[2]{1,3}; float[2]{0,1e30}; -; int64[1]{3}", "uint8[3]{1,44,44}"},
        {"Resize", 13, "mode='linear'", "float[2]{nan,2}; -; float[1]{1}", "float[2]{NaN,2}"},
        {"Resize", 18, "mode='linear' antialias=1", "float[8]{0,0,0,0,8,8,8,8}; -; float[1]{0.25}",
         "float[2]{1,7}"},
        {"Resize", 13, "mode='cubic' cubic_coeff_a=3.0e38", "int32[3]{1,2,3}; -; -; int64[1]{2}",
         "int32[2]{-2147483648,2147483647}"},
        {"Upsample", 9, "mode='linear'", "float[2]{1,3}; float[1]{2}", "float[4]{1,2,3,3}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(image, grids)
{
    static const op_text shapes[] = {
        {"GridSample", 20, "", "float[s0,3,4]; float[?,7,1]", "float[s0,3,7]"},
        {"GridSample", 16, "", "float[1,3,4]; float[1,7,1]", "error: needed is 4"},
        {"GridSample", 16, "mode='linear'", "float[1,1,2,2]; float[1,1,1,2]", "error: 'mode'"},
        {"GridSample", 20, "", "float[2,1,2,2]; float[1,1,1,2]", "error: the grid 1"},
        {"GridSample", 20, "", "float[1,1,2,2]; float[1,1,1,3]", "error: has 3 coordinates"},
        {"GridSample", 20, "", "float[1,1,0,2]; float[1,1,1,2]", "error: empty in dimension 2"},
        {"GridSample", 20, "", "string[1,1,2,2]; float[1,1,1,2]", "error: by mode nearest"},
        {"AffineGrid", 20, "", "float[s0,2,3]; int64[4]{2,1,3,4}", "float[2,3,4,2]"},
        {"AffineGrid", 20, "", "float[s0,3,4]; int64[5]", "float[s0,?,?,?,3]"},
        {"AffineGrid", 20, "", "float[1,2,4]; int64[4]", "error: allowed are [N,2,3]"},
        {"AffineGrid", 20, "", "float[1,2,3]; int64[5]", "error: the size has 5"},
        {"AffineGrid", 20, "", "float[1,2,3]; int64[4]{2,1,3,4}", "error: for 1 images"},
        {"AffineGrid", 20, "", "float[1,2,3]; int64[4]{1,1,-3,4}", "error: -3"},
    };
    EXPECT_INFERRED(shapes);
    static const op_text calls[] = {
        {"GridSample", 20, "", "float[1,1,2]{1,3}; float[1,4,1]{nan,inf,-1e30,0}",
         "float[1,1,4]{0,0,0,2}"},
        {"GridSample", 20, "padding_mode='border'",
         "float[1,1,2]{1,3}; float[1,4,1]{nan,inf,-1e30,0}", "float[1,1,4]{1,3,1,2}"},
        {"GridSample", 20, "padding_mode='reflection'",
         "float[1,1,2]{1,3}; float[1,4,1]{nan,inf,-2,2}", "float[1,1,4]{1,1,2,2}"},
        {"GridSample", 20, "padding_mode='reflection' align_corners=1",
         "float[1,1,1]{5}; float[1,2,1]{7,0}", "float[1,1,2]{5,5}"},
        {"GridSample", 20, "mode='nearest'", "string[1,1,2]{a,b}; float[1,3,1]{-0.5,0.5,4}",
         "string[1,1,3]{a,b,}"},
        {"GridSample", 20, "", "uint8[1,1,2]{0,255}; float16[1,1,1]{0}", "uint8[1,1,1]{127}"},
        {"AffineGrid", 20, "align_corners=1", "float[1,2,3]{1,0,0,0,1,0}; int64[4]{1,1,1,3}",
         "float[1,1,3,2]{-1,-1,0,-1,1,-1}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(image, regions)
{
    static const op_text calls[] = {
        {"RoiAlign", 16, "output_height=1 output_width=1",
         "float[1,1,1,2]{1,3}; float[1,4]{0,0,2,1}; int64[1]{1}",
         "error: batch index 0 is 1, allowed are 0 to 0"},
        {"RoiAlign", 16, "", "float[1,1,1,2]{1,3}; float[1,4]{0,0,2,1}; int64[1]{-1}",
         "error: batch index 0 is -1"},
        {"RoiAlign", 16, "", "float[1,1,1,2]{1,3}; float[1,4]{nan,0,2,1}; int64[1]{0}",
         "float[1,1,1,1]{0}"},
        {"RoiAlign", 16, "", "float[1,1,1,2]{1,3}; float[1,4]{-1e38,-1e38,1e38,1e38}; int64[1]{0}",
         "float[1,1,1,1]{2.6020852e-18}"},
        {"RoiAlign", 10, "mode='max'",
         "double[1,1,1,2]{1,3}; double[1,4]{-1e300,0,1e300,1}; int64[1]{0}", "double[1,1,1,1]{3}"},
        {"RoiAlign", 16, "sampling_ratio=2",
         "float16[1,1,2,2]{1,1,1,1}; float16[1,4]{1,1,0,0}; "
         "int64[1]{0}",
         "float16[1,1,1,1]{1}"},
        {"RoiAlign", 16, "sampling_ratio=1025", "float[1,1,1,1]{1}; float[0,4]{}; int64[0]{}",
         "error: 'sampling_ratio'"},
        {"RoiAlign", 16, "", "float[1,2,1,1]{1,2}; float[0,4]{}; int64[0]{}", "float[0,2,1,1]{}"},
        {"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[1,1,1,2]{1,3}; float[1,5]{1,0,0,1,1}",
         "error: region 0 is of image 1, allowed are 0 to 0"},
        {"MaxRoiPool", 1, "pooled_shape=[1,2]",
         "float[1,1,1152921504606846976,0]{}; float[1,5]{0,0,0,1e30,1e30}", "float[1,1,1,2]{0,0}"},
        {"MaxRoiPool", 1, "pooled_shape=[2,1]",
         "double[1,1,0,1152921504606846976]{}; double[1,5]{0,0,0,1e30,1e30}",
         "double[1,1,2,1]{0,0}"},
        {"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[1,1,1,2]{1,3}; float[1,5]{nan,0,0,1,1}",
         "error: region 0 is of image"},
        {"MaxRoiPool", 1, "pooled_shape=[1,2]",
         "float[1,1,1,2]{1,3}; float[1,5]{0,-1e38,nan,1e38,1}", "float[1,1,1,2]{0,0}"},
        {"MaxRoiPool", 22, "pooled_shape=[1,1]", "bfloat16[1,1,1,2]{1,3}; bfloat16[1,5]{0,5,5,5,5}",
         "bfloat16[1,1,1,1]{0}"},
    };
    EXPECT_EVALUATED(calls);
}

Test(image, unpooling)
{
    static const op_text calls[] = {
        {"MaxUnpool", 11, "kernel_shape=[2] strides=[2]", "float[1,1,2]{5,6}; int64[1,1,2]{1,2}",
         "float[1,1,4]{0,5,6,0}"},
        {"MaxUnpool", 11, "kernel_shape=[2] strides=[2]",
         "float[1,1,2]{5,6}; int64[1,1,2]{1,2}; int64[3]{1,1,5}", "float[1,1,5]{0,5,6,0,0}"},
        {"MaxUnpool", 11, "kernel_shape=[2] strides=[2]", "float[1,1,2]{5,6}; int64[1,1,2]{1,4}",
         "error: index 1 is 4, allowed are 0 to 3"},
        {"MaxUnpool", 11, "kernel_shape=[2] strides=[2]",
         "double[1,1,2]{5,6}; int64[1,1,2]{-9223372036854775808,0}", "error: index 0 is"},
        {"MaxUnpool", 11, "kernel_shape=[2] strides=[2]",
         "float[1,1,2]{5,6}; int64[1,1,2]{1,2}; int64[3]{1,1,3}", "error: output_shape is [1,1,3]"},
        {"MaxUnpool", 11, "kernel_shape=[2] strides=[2]", "float[1,1,2]{5,6}; int64[1,1,1]{1}",
         "error: the indices have shape [1,1,1]"},
        {"MaxUnpool", 11, "kernel_shape=[1] pads=[1,1]", "float[1,1,1]{5}; int64[1,1,1]{0}",
         "error: no extent of at least 0"},
        {"MaxUnpool", 22, "kernel_shape=[2]", "float16[1,0,1]{}; int64[1,0,1]{}",
         "float16[1,0,2]{}"},
        {"MaxUnpool", 11, "kernel_shape=[1] pads=[1,0]",
         "float[1,1,1]{5}; int64[1,1,1]{0}; int64[3]{1,1,2}",
         "error: index 0 is 0, but the pooled tensor has no elements"},
    };
    EXPECT_EVALUATED(calls);
}

Test(image, transposed_convolutions)
{
    static const op_text shapes[] = {
        {"ConvTranspose", 11, "", "float[s0,2,?]; float[2,3,4]", "float[s0,3,?]"},
        {"ConvTranspose", 11, "output_shape=[7]", "float[1,2,?]; float[2,3,4]", "float[1,3,7]"},
        {"ConvTranspose", 11, "group=2", "float[1,3,4]; float[3,1,1]", "error: no multiple"},
        {"ConvTranspose", 11, "", "float[1,3,4]; float[2,1,1]", "error: the weights take 2"},
        {"ConvTranspose", 11, "", "float[1,2,4]; float[2,3,1]; float[2]",
         "error: dimension 0 of input 2 is 2, but 3 is needed"},
        {"ConvTranspose", 11, "output_shape=[9]", "float[1,1,3]; float[1,1,3]",
         "error: output_shape has 9"},
        {"ConvTranspose", 11, "output_shape=[1,2]", "float[1,1,3]; float[1,1,3]",
         "error: the attributes 2 spatial dimensions"},
        {"ConvTranspose", 11, "pads=[9,9]", "float[1,1,3]; float[1,1,3]",
         "error: gives an output of -13"},
        {"ConvTranspose", 11, "strides=[2147483647]",
         "float[1,1,9223372036854775807]; "
         "float[1,1,3]",
         "error: too large for stride"},
        {"ConvTranspose", 11, "kernel_shape=[2]", "float[1,1,3]; float[1,1,3]",
         "error: 'kernel_shape' has 2"},
        {"DeformConv", 19, "", "float[1,1,3,3]; float[1,1,2,2]; float[1,7,2,2]",
         "error: the offset has shape [1,7,2,2], needed is [1,8,2,2]"},
        {"DeformConv", 19, "offset_group=2", "float[1,1,3,3]; float[1,1,2,2]; float[1,16,2,2]",
         "error: groups of offsets"},
        {"DeformConv", 19, "", "float[1,1,3,3]; float[1,1,2,2]; float[1,8,2,2]; float[2]",
         "error: dimension 0 of input 3 is 2, but 1 is needed"},
        {"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[1,1,2,2]; float[3,4]",
         "error: the regions have shape [3,4], needed is [n,5]"},
        {"RoiAlign", 16, "", "float[1,1,2,2]; float[3]; int64[3]",
         "error: the regions have shape [3], needed is [n,4]"},
        {"RoiAlign", 16, "", "float[1,1,0,2]; float[3,4]; int64[3]",
         "error: the images are of 0 by 2 elements"},
        {"LpPool", 2, "kernel_shape=[2] p=0", "float[1,1,2]", "error: 'p'"},
        {"LpPool", 1, "kernel_shape=[2] p=-1.0", "float[1,1,2]", "error: 'p' is"},
    };
    EXPECT_INFERRED(shapes);
    static const op_text calls[] = {
        {"ConvTranspose", 11, "strides=[2]",
         "float16[1,1,2]{1,2}; float16[1,1,2]{1,3}; float16[1]{1}", "float16[1,1,4]{2,4,3,7}"},
        {"ConvTranspose", 11, "strides=[2]", "float[1,1,0]{}; float[1,1,3]{1,2,3}; float[1]{4}",
         "float[1,1,1]{4}"},
        /* 2^64 + 1, beside no channels. */
        {"ConvTranspose", 11, "output_shape=[1,1]",
         "float[1,0,274177,67280421310721]{}; float[0,1,1,1]{}; float[1]{5}", "float[1,1,1,1]{5}"},
        {"ConvTranspose", 11, "output_shape=[1,1]",
         "float16[1,0,4294967296,4294967296]{}; float16[0,1,1,1]{}", "float16[1,1,1,1]{0}"},
        {"ConvTranspose", 11, "strides=[2] auto_pad='SAME_UPPER'",
         "float[1,1,2]{1,2}; float[1,1,1]{1}", "float[1,1,4]{1,0,2,0}"},
        {"ConvTranspose", 11, "", "float[1,0,2]{}; float[0,1,1]{}", "float[1,1,2]{0,0}"},
        {"DeformConv", 19, "", "double[1,1,3]{1,2,4}; double[1,1,1]{2}; double[1,1,3]{0.5,nan,-9}",
         "double[1,1,3]{3,0,0}"},
        {"LpPool", 1, "kernel_shape=[2] p=1.0", "float[1,1,3]{1,-2,3}", "float[1,1,2]{3,5}"},
        {"GlobalLpPool", 22, "", "bfloat16[1,1,2]{3,4}", "bfloat16[1,1,1]{5}"},
    };
    EXPECT_EVALUATED(calls);
}

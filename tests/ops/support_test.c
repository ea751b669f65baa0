/* What operator files share, where no operator can show it. */
#include <criterion/criterion.h>
#include <string.h>

#include "ops/support.h"
#include "tests/ops/op_text.h"

/* The plan decides how much memory an output has; a copy must not pass it. */
Test(support, copy_compares_bytes)
{
    static const onnxd_node node = {.name = "n", .domain = "", .op_type = "Identity"};
    float from[4] = {1, 2, 3, 4}, to[4] = {0};
    const onnxd_shape three = {.rank = 1, .dims = {3}}, four = {.rank = 1, .dims = {4}};
    onnxd_tensor_view input = onnxd_tensor_view_of(from, ONNXD_FLOAT, &four);
    onnxd_tensor_view output = onnxd_tensor_view_of(to, ONNXD_FLOAT, &three);
    const onnxd_compute compute = {
        .node = &node, .input_count = 1, .output_count = 1, .inputs = &input, .outputs = &output};
    onnxd_status *status = onnxd_op_compute_copy(&compute);
    cr_assert(status != NULL);
    cr_expect(onnxd_status_code(status) == ONNXD_INTERNAL);
    cr_expect(strstr(onnxd_status_message(status),
                     "output 0 was planned with 12 bytes, input 0 has 16") != NULL,
              "%s", onnxd_status_message(status));
    onnxd_status_free(status);
    cr_expect(to[0] == 0, "the copy began");
    output = onnxd_tensor_view_of(to, ONNXD_FLOAT, &four);
    cr_expect(onnxd_op_compute_copy(&compute) == NULL);
    cr_expect(memcmp(from, to, sizeof(to)) == 0);
}

/* The operators that take a shape as an input read it alike. */
Test(support, shapes_as_inputs)
{
    static const op_text calls[] = {
        {"ConstantOfShape", 9, "", "int64[2]{2,3}", "float[2,3]"},
        {"ConstantOfShape", 9, "", "int64[2]{2,-1}",
         "error: element 1 of the shape is -1, less than 0"},
        {"ConstantOfShape", 9, "", "int64[2]", "float[?,?]"},
        {"ConstantOfShape", 9, "", "int64[?]", "float*"},
        {"ConstantOfShape", 9, "", "int64[17]", "error: the shape has 17 elements"},
        {"ConstantOfShape", 9, "", "int64[17]{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}",
         "error: input 0 has 17 elements"},
        {"ConstantOfShape", 9, "", "int64[1,1]{1}", "error: input 0 has rank 2"},
        {"Expand", 13, "", "float[3,1]; int64[2]{1,4}", "float[3,4]"},
        {"Expand", 13, "", "float[3,1]; int64[2]{1,-4}",
         "error: element 1 of the shape is -4, less than 0"},
        {"Expand", 13, "", "float[3,1]; int64[3]", "float[?,?,?]"},
        {"Expand", 13, "", "float[3,1]; int64[?]", "float*"},
        {"Expand", 13, "", "float[3,1]; int64[17]", "error: the shape has 17 elements"},
        {"Reshape", 13, "", "float[3,2]; int64[2]{-1,3}", "float[2,3]"},
        {"Reshape", 13, "", "float[3,2]; int64[2]{-2,3}",
         "error: element 0 of the shape is -2, less than -1"},
        {"Reshape", 13, "", "float[3,2]; int64[3]", "float[?,?,?]"},
        {"Reshape", 13, "", "float[3,2]; int64[?]", "float*"},
        {"Reshape", 13, "", "float[3,2]; int64[17]", "error: the shape has 17 elements"},
    };
    EXPECT_INFERRED(calls);
}

/* Extents that no tensor can have are refused or stay what they are; none wraps around. */
Test(support, huge_shapes)
{
    static const op_text calls[] = {
        {"Expand", 13, "", "float[1]; int64[2]{9223372036854775807,9223372036854775807}",
         "error: more elements than memory can hold"},
        {"Tile", 13, "", "float[3]; int64[1]{9223372036854775807}",
         "error: extent 3 repeated 9223372036854775807 times is too large"},
        {"Pad", 13, "", "float[3]; int64[2]{9223372036854775807,1}", "error: cannot take pads"},
        {"Pad", 13, "", "float[3]; int64[2]{9223372036854775800,4}",
         "error: more elements than memory can hold"},
        {"Range", 11, "", "int64[]{-9223372036854775808}; int64[]{9223372036854775807}; int64[]{1}",
         "error: too many"},
        {"Range", 11, "", "int64[]{0}; int64[]{9223372036854775807}; int64[]{1}",
         "error: more elements than memory can hold"},
        {"Range", 11, "", "double[]{0}; double[]{1e300}; double[]{1e-300}", "error: too many"},
        {"Concat", 13, "axis=0", "float[9223372036854775807]; float[1]", "error: overflows"},
        {"Flatten", 13, "", "float[1,4294967296,4294967296]", "error: too large"},
        {"Reshape", 13, "", "float[4294967296,4294967296]; int64[1]{-1}",
         "error: too many elements"},
        {"Reshape", 13, "", "float[4294967296,2147483648]; int64[1]{-1}",
         "error: too many elements"},
    };
    EXPECT_INFERRED(calls);
}

/* Comparing outputs, and the file that they are saved to. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/model_io.h"

static onnxd_tensor_view floats(float *data, int64_t count)
{
    onnxd_shape shape = onnxd_shape_from(1, &count);
    return onnxd_tensor_view_of(data, ONNXD_FLOAT, &shape);
}

static onnxd_comparison compare_floats(float actual, float expected)
{
    onnxd_comparison result;
    onnxd_tensor_view a = floats(&actual, 1), b = floats(&expected, 1);
    onnxd_compare_tensors(&a, &b, 1e-3, 1e-7, &result);
    return result;
}

Test(compare, floats_within_the_tolerances)
{
    static const struct {
        float actual, expected;
        bool is_equal;
    } cases[] = {
        {1.0f, 1.0f, true},       {1.0009f, 1.0f, true},      {1.0011f, 1.0f, false},
        {-1.0f, 1.0f, false},     {0.0f, -0.0f, true},        {5e-8f, 0.0f, true},
        {2e-7f, 0.0f, false},     {NAN, NAN, true},           {NAN, 0.0f, false},
        {0.0f, NAN, false},       {INFINITY, INFINITY, true}, {INFINITY, -INFINITY, false},
        {INFINITY, 3e38f, false}, {3e38f, INFINITY, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        onnxd_comparison result = compare_floats(cases[i].actual, cases[i].expected);
        cr_expect_eq(result.is_equal, cases[i].is_equal, "%g against %g", (double)cases[i].actual,
                     (double)cases[i].expected);
    }
}

Test(compare, says_where_and_how_much)
{
    float actual[] = {1, 2, 3.5f, 4.5f}, expected[] = {1, 2, 3, 4};
    onnxd_comparison result;
    onnxd_tensor_view a = floats(actual, 4), b = floats(expected, 4);
    onnxd_compare_tensors(&a, &b, 1e-3, 0, &result);
    cr_assert_not(result.is_equal);
    cr_assert_eq(result.different_count, 2);
    cr_assert_eq(result.first_different, 2);
    cr_assert_float_eq(result.greatest_absolute, 0.5, 1e-9);
    cr_assert_float_eq(result.greatest_relative, 0.5 / 3, 1e-9);
}

Test(compare, types_and_shapes_must_be_the_same)
{
    float data[4] = {0};
    int64_t dims[] = {2, 2};
    onnxd_shape square = onnxd_shape_from(2, dims);
    onnxd_comparison result;
    onnxd_tensor_view a = floats(data, 4), b = onnxd_tensor_view_of(data, ONNXD_FLOAT, &square);
    onnxd_compare_tensors(&a, &b, 1, 1, &result);
    cr_assert_not(result.is_equal);
    cr_assert_str_eq(result.reason, "is float[4], expected is float[2,2]");
    b = onnxd_tensor_view_of(data, ONNXD_INT32, &a.shape);
    onnxd_compare_tensors(&a, &b, 1, 1, &result);
    cr_assert_not(result.is_equal);
}

Test(compare, integers_and_strings_are_exact)
{
    int64_t count = 2;
    onnxd_shape shape = onnxd_shape_from(1, &count);
    int64_t a[] = {1000000, 2}, b[] = {1000001, 2};
    onnxd_string x[] = {{"a", 1}, {NULL, 0}}, y[] = {{"a", 1}, {"", 0}}, z[] = {{"a", 1}, {"b", 1}};
    onnxd_comparison result;
    onnxd_tensor_view left = onnxd_tensor_view_of(a, ONNXD_INT64, &shape);
    onnxd_tensor_view right = onnxd_tensor_view_of(b, ONNXD_INT64, &shape);
    onnxd_compare_tensors(&left, &right, 1, 1, &result);
    cr_assert_not(result.is_equal);
    left = onnxd_tensor_view_of(x, ONNXD_STRING, &shape);
    right = onnxd_tensor_view_of(y, ONNXD_STRING, &shape);
    onnxd_compare_tensors(&left, &right, 0, 0, &result);
    cr_assert(result.is_equal);
    right = onnxd_tensor_view_of(z, ONNXD_STRING, &shape);
    onnxd_compare_tensors(&left, &right, 0, 0, &result);
    cr_assert_not(result.is_equal);
}

/* The greatest difference is that of the numbers, also where doubles could not tell them apart. */
Test(compare, integers_have_a_greatest_difference)
{
    int64_t count = 3;
    onnxd_shape shape = onnxd_shape_from(1, &count);
    int64_t a[] = {7, INT64_MAX, -4}, b[] = {7, INT64_MAX - 3, 6};
    uint8_t x[] = {1, 255, 3}, y[] = {1, 5, 3};
    onnxd_comparison result;
    onnxd_tensor_view left = onnxd_tensor_view_of(a, ONNXD_INT64, &shape);
    onnxd_tensor_view right = onnxd_tensor_view_of(b, ONNXD_INT64, &shape);
    onnxd_compare_tensors(&left, &right, 1, 1, &result);
    cr_assert(result.has_numbers);
    cr_assert_eq(result.different_count, 2);
    cr_assert_eq(result.first_different, 1);
    cr_assert_float_eq(result.greatest_absolute, 10, 1e-9);
    cr_assert_float_eq(result.greatest_relative, 10.0 / 6, 1e-9);
    left = onnxd_tensor_view_of(x, ONNXD_UINT8, &shape);
    right = onnxd_tensor_view_of(y, ONNXD_UINT8, &shape);
    onnxd_compare_tensors(&left, &right, 1, 1, &result);
    cr_assert_float_eq(result.greatest_absolute, 250, 1e-9);
    cr_assert_float_eq(result.greatest_relative, 50, 1e-9);
}

Test(compare, one_nan_or_infinity_is_an_infinite_difference)
{
    static const float pairs[][2] = {{NAN, 1}, {1, NAN}, {INFINITY, 1}, {1, -INFINITY}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        onnxd_comparison result = compare_floats(pairs[i][0], pairs[i][1]);
        cr_expect(isinf(result.greatest_absolute) && isinf(result.greatest_relative), "%zu", i);
    }
    cr_expect_eq(compare_floats(NAN, NAN).greatest_absolute, 0);
}

static void expect_element(const onnxd_tensor_view *view, size_t index, const char *expected)
{
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 4096);
    onnxd_write_element(view, index, &text);
    cr_expect_str_eq(text.data, expected);
    onnxd_strbuf_deinit(&text);
}

Test(compare, elements_are_written_as_what_they_are)
{
    int64_t count = 2;
    onnxd_shape shape = onnxd_shape_from(1, &count);
    int64_t integers[] = {INT64_MIN, 5};
    uint64_t large[] = {UINT64_MAX, 0};
    uint8_t float8[] = {0x7e, 0x01};
    onnxd_string strings[] = {{"a\"b", 3}, {NULL, 0}};
    onnxd_tensor_view view = onnxd_tensor_view_of(integers, ONNXD_INT64, &shape);
    expect_element(&view, 0, "-9223372036854775808");
    expect_element(&view, 1, "5");
    view = onnxd_tensor_view_of(large, ONNXD_UINT64, &shape);
    expect_element(&view, 0, "18446744073709551615");
    view = onnxd_tensor_view_of(float8, ONNXD_FLOAT8E5M2, &shape);
    expect_element(&view, 1, "0x01");
    view = onnxd_tensor_view_of(strings, ONNXD_STRING, &shape);
    expect_element(&view, 0, "\"a\\\"b\"");
    expect_element(&view, 1, "\"\"");
}

Test(compare, a_float8_nan_equals_any_nan_of_its_type)
{
    static const struct {
        onnxd_dtype dtype;
        uint8_t actual, expected;
        bool is_equal;
    } cases[] = {
        {ONNXD_FLOAT8E5M2, 0x7e, 0x7f, true},      {ONNXD_FLOAT8E5M2, 0xfd, 0x7f, true},
        {ONNXD_FLOAT8E5M2, 0x7c, 0x7f, false},     {ONNXD_FLOAT8E4M3FN, 0xff, 0x7f, true},
        {ONNXD_FLOAT8E4M3FN, 0x7e, 0x7f, false},   {ONNXD_FLOAT8E4M3FNUZ, 0x00, 0x80, false},
        {ONNXD_FLOAT8E5M2FNUZ, 0x7f, 0x80, false}, {ONNXD_UINT8, 0x7e, 0x7f, false},
    };
    int64_t count = 1;
    onnxd_shape shape = onnxd_shape_from(1, &count);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t x = cases[i].actual, y = cases[i].expected;
        onnxd_comparison result;
        onnxd_tensor_view a = onnxd_tensor_view_of(&x, cases[i].dtype, &shape);
        onnxd_tensor_view b = onnxd_tensor_view_of(&y, cases[i].dtype, &shape);
        onnxd_compare_tensors(&a, &b, 1e-3, 1e-7, &result);
        cr_expect_eq(result.is_equal, cases[i].is_equal, "%s %02x against %02x",
                     onnxd_dtype_name(cases[i].dtype), x, y);
    }
}

static void round_trip(const onnxd_tensor_view *view)
{
    char path[] = "/tmp/onnxd_tensor_XXXXXX";
    int descriptor = mkstemp(path);
    onnxd_tensor *loaded = NULL;
    onnxd_comparison result;
    onnxd_load_limits limits = onnxd_load_limits_default();

    cr_assert(descriptor >= 0);
    close(descriptor);
    cr_assert_null(onnxd_save_tensor(path, "name", view));
    onnxd_status *status = onnxd_tensor_load_file(path, &limits, &loaded);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    onnxd_tensor_view again = onnxd_tensor_as_view(loaded);
    onnxd_compare_tensors(&again, view, 0, 0, &result);
    cr_assert(result.is_equal, "%s", result.reason);
    onnxd_tensor_release(loaded);
    unlink(path);
}

Test(save, what_is_written_reads_back)
{
    float data[] = {1.5f, -0.0f, INFINITY, 1e-45f, 300, 301};
    int64_t dims[] = {2, 3, 1};
    onnxd_shape shape = onnxd_shape_from(3, dims), scalar = {.rank = 0};
    int64_t two = 2;
    onnxd_shape pair = onnxd_shape_from(1, &two);
    onnxd_string strings[] = {{"a\0b", 3}, {"", 0}};
    onnxd_tensor_view view = onnxd_tensor_view_of(data, ONNXD_FLOAT, &shape);
    round_trip(&view);
    view = onnxd_tensor_view_of(data, ONNXD_FLOAT, &scalar);
    round_trip(&view);
    view = onnxd_tensor_view_of(strings, ONNXD_STRING, &pair);
    round_trip(&view);
}

Test(save, a_place_that_cannot_be_written_is_named)
{
    float value = 0;
    onnxd_tensor_view view = floats(&value, 1);
    onnxd_status *status = onnxd_save_tensor("/nonexistent/output_0.pb", "x", &view);
    cr_assert_not_null(strstr(onnxd_status_message(status), "/nonexistent/output_0.pb"));
    onnxd_status_free(status);
}

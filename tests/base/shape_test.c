#include "base/shape.h"

#include <criterion/criterion.h>
#include <string.h>

static onnxd_shape shape_2(int64_t a, int64_t b)
{
    const int64_t dims[] = {a, b};
    return onnxd_shape_from(2, dims);
}

static onnxd_shape shape_3(int64_t a, int64_t b, int64_t c)
{
    const int64_t dims[] = {a, b, c};
    return onnxd_shape_from(3, dims);
}

static void check_count(onnxd_shape shape, bool fits, size_t expected)
{
    size_t count = 12345;
    cr_assert_eq(onnxd_shape_count(&shape, &count), fits);
    cr_assert_eq(count, fits ? expected : 12345);
}

Test(shape, count)
{
    const int64_t big = (int64_t)1 << 62;
    check_count(onnxd_shape_from(0, NULL), true, 1);
    check_count(shape_2(3, 5), true, 15);
    check_count(shape_3(2, 0, 7), true, 0);
    check_count(shape_3(big, 2, 1), true, (size_t)1 << 63);
    check_count(shape_3(big, 4, 1), false, 0);
    check_count(shape_3(INT64_MAX, 2, 2), false, 0);
    check_count(shape_3(big, big, 0), true, 0);
    check_count(shape_3(0, big, big), true, 0);
    check_count(onnxd_shape_unknown(), false, 0);
}

Test(shape, zero_hides_no_bad_dimension)
{
    check_count(shape_2(0, -1), false, 0);
    check_count(shape_2(-1, 0), false, 0);
    check_count(shape_3(0, 3, INT64_MIN), false, 0);
    check_count(shape_3(0, 3, ONNXD_DIM_FROM_SYMBOL(4)), false, 0);
    onnxd_shape shape = shape_3(7, 0, -1);
    size_t count;
    cr_assert_not(onnxd_shape_span(&shape, 0, 3, &count));
    cr_assert_not(onnxd_shape_span(&shape, 1, 3, &count));
    cr_assert(onnxd_shape_span(&shape, 0, 2, &count) && count == 0);
}

Test(shape, count_refuses_a_bad_rank)
{
    onnxd_shape shape = {.rank = ONNXD_MAX_RANK + 1};
    check_count(shape, false, 0);
    shape.rank = -7;
    check_count(shape, false, 0);
}

Test(shape, span)
{
    onnxd_shape shape = shape_3(2, 3, 5);
    size_t count = 0;
    cr_assert(onnxd_shape_span(&shape, 1, 3, &count));
    cr_assert_eq(count, 15);
    cr_assert(onnxd_shape_span(&shape, 2, 2, &count));
    cr_assert_eq(count, 1);
    cr_assert_not(onnxd_shape_span(&shape, 0, 4, &count));
    cr_assert_not(onnxd_shape_span(&shape, -1, 2, &count));
    cr_assert_not(onnxd_shape_span(&shape, 2, 1, &count));
    shape.dims[0] = ONNXD_DIM_UNKNOWN;
    cr_assert(onnxd_shape_span(&shape, 1, 3, &count));
    cr_assert_not(onnxd_shape_span(&shape, 0, 1, &count));
}

Test(shape, symbols_go_there_and_back)
{
    for (uint32_t symbol = 0; symbol < 5; symbol++) {
        int64_t dim = ONNXD_DIM_FROM_SYMBOL(symbol);
        cr_assert(onnxd_dim_is_symbol(dim));
        cr_assert_not(onnxd_dim_is_static(dim));
        cr_assert_eq(ONNXD_DIM_SYMBOL(dim), symbol);
    }
    cr_assert_eq(ONNXD_DIM_SYMBOL(ONNXD_DIM_FROM_SYMBOL(UINT32_MAX)), UINT32_MAX);
    cr_assert_not(onnxd_dim_is_symbol(ONNXD_DIM_UNKNOWN));
}

Test(shape, equal_and_static)
{
    onnxd_shape a = shape_2(2, ONNXD_DIM_UNKNOWN);
    onnxd_shape b = shape_2(2, ONNXD_DIM_UNKNOWN);
    cr_assert(onnxd_shape_equal(&a, &b));
    cr_assert_not(onnxd_shape_is_static(&a));
    b.dims[1] = 3;
    cr_assert_not(onnxd_shape_equal(&a, &b));
    cr_assert(onnxd_shape_is_static(&b));
    onnxd_shape scalar = onnxd_shape_from(0, NULL);
    onnxd_shape unknown = onnxd_shape_unknown();
    cr_assert(onnxd_shape_is_static(&scalar));
    cr_assert_not(onnxd_shape_is_static(&unknown));
    cr_assert_not(onnxd_shape_equal(&scalar, &unknown));
    cr_assert(onnxd_shape_equal(&unknown, &unknown));
    onnxd_shape ranked = onnxd_shape_of_rank(2);
    cr_assert_eq(ranked.dims[0], ONNXD_DIM_UNKNOWN);
    cr_assert_eq(ranked.dims[1], ONNXD_DIM_UNKNOWN);
}

Test(shape, admits)
{
    onnxd_shape actual = shape_2(2, 3);
    onnxd_shape declared = shape_2(ONNXD_DIM_FROM_SYMBOL(0), 3);
    cr_assert(onnxd_shape_admits(&declared, &actual));
    declared.dims[1] = ONNXD_DIM_UNKNOWN;
    cr_assert(onnxd_shape_admits(&declared, &actual));
    declared.dims[1] = 4;
    cr_assert_not(onnxd_shape_admits(&declared, &actual));
    declared = onnxd_shape_unknown();
    cr_assert(onnxd_shape_admits(&declared, &actual));
    declared = onnxd_shape_from(0, NULL);
    cr_assert_not(onnxd_shape_admits(&declared, &actual));
}

Test(shape, axis)
{
    int32_t axis = 99;
    cr_assert(onnxd_shape_axis(3, -3, &axis));
    cr_assert_eq(axis, 0);
    cr_assert(onnxd_shape_axis(3, 2, &axis));
    cr_assert_eq(axis, 2);
    cr_assert(onnxd_shape_axis(3, -1, &axis));
    cr_assert_eq(axis, 2);
    axis = 99;
    cr_assert_not(onnxd_shape_axis(3, 3, &axis));
    cr_assert_not(onnxd_shape_axis(3, -4, &axis));
    cr_assert_not(onnxd_shape_axis(0, 0, &axis));
    cr_assert_not(onnxd_shape_axis(3, INT64_MIN, &axis));
    cr_assert_not(onnxd_shape_axis(3, INT64_MAX, &axis));
    cr_assert_eq(axis, 99);
}

Test(shape, format)
{
    char text[ONNXD_SHAPE_TEXT];
    onnxd_shape shape = shape_3(2, ONNXD_DIM_UNKNOWN, ONNXD_DIM_FROM_SYMBOL(1));
    cr_assert_str_eq(onnxd_shape_format(&shape, text, sizeof(text)), "[2,?,s1]");
    cr_assert_str_eq(onnxd_shape_format(&shape, text, 5), "[2,?");
    cr_assert_str_eq(onnxd_shape_format(&shape, text, 1), "");
    shape = onnxd_shape_from(0, NULL);
    cr_assert_str_eq(onnxd_shape_format(&shape, text, sizeof(text)), "[]");
    shape = onnxd_shape_unknown();
    cr_assert_str_eq(onnxd_shape_format(&shape, text, sizeof(text)), "[?]*");
    shape = onnxd_shape_of_rank(ONNXD_MAX_RANK);
    for (int i = 0; i < ONNXD_MAX_RANK; i++)
        shape.dims[i] = INT64_MAX;
    onnxd_shape_format(&shape, text, sizeof(text));
    cr_assert_eq(text[strlen(text) - 1], ']');
}

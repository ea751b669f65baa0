#include "base/tensor.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/base/status_check.h"

static onnxd_shape shape_3(int64_t a, int64_t b, int64_t c)
{
    const int64_t dims[] = {a, b, c};
    return onnxd_shape_from(3, dims);
}

static onnxd_tensor_view view_3(onnxd_shape shape, int64_t a, int64_t b, int64_t c)
{
    static _Alignas(64) char data[4096];
    onnxd_tensor_view view = onnxd_tensor_view_of(data, ONNXD_FLOAT, &shape);
    view.strides[0] = a;
    view.strides[1] = b;
    view.strides[2] = c;
    return view;
}

Test(tensor, kinds_have_names)
{
    for (unsigned kind = 0; kind < ONNXD_VALUE_KIND_COUNT; kind++)
        cr_expect_str_neq(onnxd_value_kind_name((onnxd_value_kind)kind), "invalid");
    cr_expect_str_eq(onnxd_value_kind_name(ONNXD_VALUE_OPTIONAL_SEQUENCE), "optional sequence");
    cr_expect_str_eq(onnxd_value_kind_name((onnxd_value_kind)ONNXD_VALUE_KIND_COUNT), "invalid");
}

Test(tensor, view_of_is_row_major)
{
    onnxd_shape shape = shape_3(2, 3, 5);
    onnxd_tensor_view view = onnxd_tensor_view_of(NULL, ONNXD_INT16, &shape);
    cr_assert_eq(view.strides[0], 15);
    cr_assert_eq(view.strides[1], 5);
    cr_assert_eq(view.strides[2], 1);
    cr_assert(onnxd_tensor_view_is_contiguous(&view));
    cr_assert(onnxd_tensor_view_is_dense(&view));
    cr_assert_eq(onnxd_tensor_view_count(&view), 30);
    cr_assert_eq(onnxd_tensor_view_bytes(&view), 60);
    shape = shape_3(0, INT64_MAX, INT64_MAX);
    view = onnxd_tensor_view_of(NULL, ONNXD_INT16, &shape);
    cr_assert_eq(onnxd_tensor_view_count(&view), 0);
    check_ok(onnxd_tensor_view_check(&view, 0, "empty"));
}

Test(tensor, contiguous_and_dense)
{
    static const struct {
        int64_t dims[3];
        int64_t strides[3];
        bool contiguous, dense;
    } cases[] = {
        {{2, 3, 5}, {15, 5, 1}, true, true},  {{2, 3, 5}, {1, 2, 6}, false, true},
        {{2, 3, 5}, {5, 10, 1}, false, true}, {{2, 3, 5}, {16, 5, 1}, false, false},
        {{2, 3, 5}, {0, 5, 1}, false, false}, {{2, 3, 5}, {15, 5, -1}, false, false},
        {{1, 3, 5}, {999, 5, 1}, true, true}, {{2, 1, 5}, {5, -7, 1}, true, true},
        {{1, 1, 1}, {0, 0, 0}, true, true},   {{2, 2, 1}, {1, 1, 1}, false, false},
        {{0, 3, 5}, {7, 7, 7}, true, true},   {{2, 3, 5}, {30, 10, 2}, false, false},
        {{4, 4, 4}, {4, 16, 1}, false, true}, {{4, 4, 4}, {4, 4, 1}, false, false},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_tensor_view view = view_3(onnxd_shape_from(3, cases[i].dims), cases[i].strides[0],
                                        cases[i].strides[1], cases[i].strides[2]);
        cr_assert_eq(onnxd_tensor_view_is_contiguous(&view), cases[i].contiguous, "case %zu", i);
        cr_assert_eq(onnxd_tensor_view_is_dense(&view), cases[i].dense, "case %zu", i);
    }
}

Test(tensor, check_accepts_exactly_what_fits)
{
    onnxd_tensor_view view = view_3(shape_3(2, 3, 5), 15, 5, 1);
    check_ok(onnxd_tensor_view_check(&view, 120, "x"));
    check_error(onnxd_tensor_view_check(&view, 119, "x"), ONNXD_INVALID_TENSOR_VIEW, "view x");
    view.byte_offset = 8;
    check_ok(onnxd_tensor_view_check(&view, 128, "x"));
    check_error(onnxd_tensor_view_check(&view, 127, "x"), ONNXD_INVALID_TENSOR_VIEW, "offset 8");
    /* Backwards along the last dimension: it starts at its last element. */
    view = view_3(shape_3(2, 3, 5), 15, 5, -1);
    view.byte_offset = 16;
    check_ok(onnxd_tensor_view_check(&view, 120, "x"));
    view.byte_offset = 12;
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, "leaves");
    /* A broadcast repeats what little there is. */
    view = view_3(shape_3(1000, 1000, 5), 0, 0, 1);
    check_ok(onnxd_tensor_view_check(&view, 20, "x"));
}

Test(tensor, check_survives_hostile_numbers)
{
    onnxd_tensor_view view = view_3(shape_3(2, 3, 5), INT64_MAX, INT64_MAX, 1);
    check_error(onnxd_tensor_view_check(&view, SIZE_MAX, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
    view = view_3(shape_3(3, 3, 5), INT64_MIN, 5, 1);
    check_error(onnxd_tensor_view_check(&view, SIZE_MAX, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
    view = view_3(shape_3(2, 3, 5), 15, 5, 1);
    view.byte_offset = SIZE_MAX - 3;
    check_error(onnxd_tensor_view_check(&view, SIZE_MAX, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, "past");
    view = view_3(shape_3(2, -1, 5), 15, 5, 1);
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, "[2,?,5]");
    view = view_3(shape_3(INT64_MAX, INT64_MAX, 5), 15, 5, 1);
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
    view = view_3(shape_3(2, 3, 5), 15, 5, 1);
    view.shape.rank = 100;
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
    view.shape.rank = 3;
    view.dtype = (onnxd_dtype)777;
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, "777");
    view.dtype = ONNXD_FLOAT;
    view.data = NULL;
    check_error(onnxd_tensor_view_check(&view, 120, "x"), ONNXD_INVALID_TENSOR_VIEW, "no data");
}

Test(tensor, check_wants_alignment)
{
    onnxd_tensor_view view = view_3(shape_3(1, 1, 2), 2, 2, 1);
    for (size_t offset = 0; offset < 16; offset++) {
        view.byte_offset = offset;
        view.dtype = ONNXD_FLOAT;
        onnxd_status *status = onnxd_tensor_view_check(&view, 256, "x");
        cr_assert_eq(status == NULL, offset % 4 == 0);
        onnxd_status_free(status);
        view.dtype = ONNXD_COMPLEX128;
        status = onnxd_tensor_view_check(&view, 256, "x");
        cr_assert_eq(status == NULL, offset % 8 == 0);
        onnxd_status_free(status);
        view.dtype = ONNXD_INT8;
        check_ok(onnxd_tensor_view_check(&view, 256, "x"));
    }
}

Test(tensor, check_of_packed_and_absent)
{
    onnxd_tensor_view view = view_3(shape_3(1, 1, 5), 5, 5, 1);
    view.dtype = ONNXD_UINT4;
    check_ok(onnxd_tensor_view_check(&view, 3, "x"));
    check_error(onnxd_tensor_view_check(&view, 2, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
    view.strides[2] = 2;
    check_error(onnxd_tensor_view_check(&view, 100, "x"), ONNXD_INVALID_TENSOR_VIEW, "contiguous");
    onnxd_tensor_view absent = {0};
    check_ok(onnxd_tensor_view_check(&absent, 0, "x"));
    cr_assert_not(onnxd_tensor_view_is_present(&absent));
    cr_assert_eq(onnxd_tensor_view_count(&absent), 0);
    cr_assert_eq(onnxd_tensor_view_bytes(&absent), 0);
    absent.data = &view;
    check_error(onnxd_tensor_view_check(&absent, 0, "x"), ONNXD_INVALID_TENSOR_VIEW, NULL);
}

Test(tensor, create_is_zeroed_aligned_and_counted)
{
    uint64_t live = onnxd_alloc_query().live_count;
    onnxd_shape shape = shape_3(2, 3, 5);
    onnxd_tensor *tensor = NULL;
    check_ok(onnxd_tensor_create(ONNXD_DOUBLE, &shape, &tensor));
    cr_assert_eq((uintptr_t)tensor->data % 64, 0);
    cr_assert_eq(tensor->count, 30);
    cr_assert_eq(tensor->bytes, 240);
    const char *bytes = tensor->data;
    for (size_t i = 0; i < 240; i++)
        cr_assert_eq(bytes[i], 0);
    onnxd_tensor_view view = onnxd_tensor_as_view(tensor);
    check_ok(onnxd_tensor_view_check(&view, tensor->bytes, "t"));
    cr_assert_eq(onnxd_tensor_retain(tensor), tensor);
    onnxd_tensor_release(tensor);
    cr_assert_eq(tensor->count, 30);
    onnxd_tensor_release(tensor);
    onnxd_tensor_release(NULL);
    cr_assert_eq(onnxd_alloc_query().live_count, live);
}

Test(tensor, create_refuses)
{
    onnxd_tensor *tensor = NULL;
    onnxd_shape shape = shape_3(2, -1, 5);
    check_error(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor), ONNXD_INVALID_ARGUMENT,
                "not static");
    shape = shape_3((int64_t)1 << 40, (int64_t)1 << 40, 1);
    check_error(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor), ONNXD_INVALID_ARGUMENT,
                "too many");
    shape = shape_3((int64_t)1 << 62, 1, 1);
    check_error(onnxd_tensor_create(ONNXD_DOUBLE, &shape, &tensor), ONNXD_INVALID_ARGUMENT,
                "too many");
    shape = shape_3((int64_t)1 << 60, 1, 1);
    check_error(onnxd_tensor_create(ONNXD_INT8, &shape, &tensor), ONNXD_OUT_OF_MEMORY, NULL);
    shape = shape_3(1, 1, 1);
    check_error(onnxd_tensor_create(ONNXD_UNDEFINED, &shape, &tensor), ONNXD_INVALID_ARGUMENT,
                NULL);
    check_error(onnxd_tensor_create((onnxd_dtype)50, &shape, &tensor), ONNXD_INVALID_ARGUMENT,
                "50");
    onnxd_alloc_fail_at(1, 0);
    check_error(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor), ONNXD_OUT_OF_MEMORY, NULL);
    cr_assert_null(tensor);
}

Test(tensor, rows_may_lie_at_a_pitch)
{
    size_t pitch = 0;
    const onnxd_shape shape = shape_3(2, 3, 4), wide = shape_3(2, 3, 10);
    onnxd_tensor_view view = onnxd_tensor_view_of(NULL, ONNXD_FLOAT, &shape);
    cr_assert(onnxd_tensor_view_pitch(&view, &pitch));
    cr_assert_eq(pitch, 4);
    view = onnxd_tensor_view_of(NULL, ONNXD_FLOAT, &wide);
    view.shape = shape;
    cr_assert_not(onnxd_tensor_view_is_contiguous(&view));
    cr_assert(onnxd_tensor_view_pitch(&view, &pitch));
    cr_assert_eq(pitch, 10);
    view.shape = shape_3(1, 1, 4);
    cr_assert(onnxd_tensor_view_pitch(&view, &pitch));
    cr_assert_eq(pitch, 4, "of one row");
    view.shape = shape_3(2, 3, 1);
    cr_assert(onnxd_tensor_view_pitch(&view, &pitch));
    cr_assert_eq(pitch, 10);
    view.shape = shape_3(2, 1, 4);
    cr_assert(onnxd_tensor_view_pitch(&view, &pitch));
    cr_assert_eq(pitch, 30);
    view.shape = shape_3(2, 2, 4);
    cr_assert_not(onnxd_tensor_view_pitch(&view, &pitch), "rows that are left out");
    view.shape = shape;
    view.strides[2] = 2;
    cr_assert_not(onnxd_tensor_view_pitch(&view, &pitch));
    view.strides[2] = 1;
    view.strides[0] = 9;
    view.strides[1] = 3;
    cr_assert_not(onnxd_tensor_view_pitch(&view, &pitch), "rows that overlap");
    view.strides[1] = -10;
    view.strides[0] = -30;
    cr_assert_not(onnxd_tensor_view_pitch(&view, &pitch), "rows that run backwards");
    view.shape = shape_3(2, 0, 4);
    cr_assert(onnxd_tensor_view_pitch(&view, &pitch), "no elements");
}

static void count_release(void *owner, void *data)
{
    cr_assert_str_eq(data, "abc");
    ++*(int *)owner;
}

Test(tensor, adopt_releases_once)
{
    char data[] = "abc";
    int released = 0;
    onnxd_shape shape = shape_3(1, 1, 3);
    onnxd_tensor *tensor = NULL;
    check_error(onnxd_tensor_adopt(ONNXD_INT8, &shape, data, 4, count_release, &released, &tensor),
                ONNXD_INVALID_ARGUMENT, "needs 3 bytes of data, not 4");
    onnxd_alloc_fail_at(1, 0);
    check_error(onnxd_tensor_adopt(ONNXD_INT8, &shape, data, 3, count_release, &released, &tensor),
                ONNXD_OUT_OF_MEMORY, NULL);
    cr_assert_eq(released, 0);
    check_ok(onnxd_tensor_adopt(ONNXD_INT8, &shape, data, 3, count_release, &released, &tensor));
    onnxd_tensor_retain(tensor);
    onnxd_tensor_release(tensor);
    cr_assert_eq(released, 0);
    onnxd_tensor_release(tensor);
    cr_assert_eq(released, 1);
}

Test(tensor, strings_are_copied)
{
    char text[] = "hello";
    onnxd_string strings[] = {{text, 5}, {NULL, 0}, {text + 1, 2}};
    onnxd_shape shape = shape_3(1, 3, 1);
    onnxd_tensor *tensor = NULL;
    check_ok(onnxd_tensor_create_strings(&shape, strings, &tensor));
    memset(text, 'x', 5);
    const onnxd_string *copies = tensor->data;
    cr_assert_eq(tensor->bytes, 3 * sizeof(onnxd_string));
    cr_assert(copies[0].size == 5 && memcmp(copies[0].data, "hello", 5) == 0);
    cr_assert_eq(copies[1].size, 0);
    cr_assert(copies[2].size == 2 && memcmp(copies[2].data, "el", 2) == 0);
    onnxd_tensor_release(tensor);

    onnxd_string huge[] = {{text, SIZE_MAX}, {text, 2}, {text, 2}};
    check_error(onnxd_tensor_create_strings(&shape, huge, &tensor), ONNXD_INVALID_ARGUMENT,
                "element 1");
    shape = shape_3(0, 3, 1);
    check_ok(onnxd_tensor_create_strings(&shape, NULL, &tensor));
    cr_assert_eq(tensor->count, 0);
    onnxd_tensor_release(tensor);
}

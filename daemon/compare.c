#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "daemon/model_io.h"

#define SHOWN_ELEMENTS 5

/* ---- elements ------------------------------------------------------------------------------ */

static bool is_float(onnxd_dtype dtype)
{
    return dtype == ONNXD_FLOAT || dtype == ONNXD_DOUBLE || dtype == ONNXD_FLOAT16 ||
           dtype == ONNXD_BFLOAT16;
}

static double float_at(const onnxd_tensor_view *view, size_t index)
{
    const void *data = onnxd_tensor_view_data(view);
    switch ((int)view->dtype) {
    case ONNXD_FLOAT:
        return ((const float *)data)[index];
    case ONNXD_DOUBLE:
        return ((const double *)data)[index];
    case ONNXD_FLOAT16:
        return onnxd_float16_to_float(((const uint16_t *)data)[index]);
    case ONNXD_BFLOAT16:
        return onnxd_bfloat16_to_float(((const uint16_t *)data)[index]);
    default:
        return NAN;
    }
}

/* Whether a byte is one of its 8-bit type's NaNs; E5M2 has several. Source: ONNX's float8 page. */
static bool is_float8_nan(onnxd_dtype dtype, uint8_t byte)
{
    switch ((int)dtype) {
    case ONNXD_FLOAT8E5M2:
        return (byte & 0x7f) > 0x7c;
    case ONNXD_FLOAT8E4M3FN:
        return (byte & 0x7f) == 0x7f;
    case ONNXD_FLOAT8E4M3FNUZ:
    case ONNXD_FLOAT8E5M2FNUZ:
        return byte == 0x80;
    case ONNXD_FLOAT8E8M0:
        return byte == 0xff;
    default:
        return false;
    }
}

static bool same_bytes(const onnxd_tensor_view *a, const onnxd_tensor_view *b, size_t index)
{
    const char *left = onnxd_tensor_view_data(a);
    const char *right = onnxd_tensor_view_data(b);
    if (a->dtype == ONNXD_STRING) {
        const onnxd_string *x = (const onnxd_string *)(const void *)left + index;
        const onnxd_string *y = (const onnxd_string *)(const void *)right + index;
        return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
    }
    size_t size = onnxd_dtype_size(a->dtype);
    if (memcmp(left + index * size, right + index * size, size) == 0)
        return true;
    return size == 1 && is_float8_nan(a->dtype, (uint8_t)left[index]) &&
           is_float8_nan(b->dtype, (uint8_t)right[index]);
}

static bool floats_equal(double actual, double expected, double rtol, double atol,
                         onnxd_comparison *out)
{
    if (isnan(actual) || isnan(expected))
        return isnan(actual) && isnan(expected);
    if (isinf(actual) || isinf(expected))
        return isinf(actual) && isinf(expected) && signbit(actual) == signbit(expected);
    double difference = fabs(actual - expected);
    double relative = difference > 0 ? difference / fabs(expected) : 0;
    out->greatest_absolute = fmax(out->greatest_absolute, difference);
    out->greatest_relative = fmax(out->greatest_relative, relative);
    return difference <= atol + rtol * fabs(expected);
}

void onnxd_compare_tensors(const onnxd_tensor_view *actual, const onnxd_tensor_view *expected,
                           double rtol, double atol, onnxd_comparison *out)
{
    char got[ONNXD_SHAPE_TEXT], wanted[ONNXD_SHAPE_TEXT];
    onnxd_comparison result = {.is_equal = true};

    if (actual->dtype != expected->dtype || !onnxd_shape_equal(&actual->shape, &expected->shape)) {
        result.is_equal = false;
        snprintf(result.reason, sizeof(result.reason), "is %s%.60s, expected is %s%.60s",
                 onnxd_dtype_name(actual->dtype),
                 onnxd_shape_format(&actual->shape, got, sizeof(got)),
                 onnxd_dtype_name(expected->dtype),
                 onnxd_shape_format(&expected->shape, wanted, sizeof(wanted)));
        *out = result;
        return;
    }
    /* elements of less than a byte are compared as the bytes that hold them */
    bool is_packed = onnxd_dtype_size(actual->dtype) == 0;
    result.count = is_packed ? 1 : onnxd_tensor_view_count(actual);
    for (size_t i = 0; i < result.count; i++) {
        bool equal;
        if (is_packed)
            equal = memcmp(onnxd_tensor_view_data(actual), onnxd_tensor_view_data(expected),
                           onnxd_tensor_view_bytes(actual)) == 0;
        else if (is_float(actual->dtype))
            equal = floats_equal(float_at(actual, i), float_at(expected, i), rtol, atol, &result);
        else
            equal = same_bytes(actual, expected, i);
        if (!equal && result.different_count++ == 0)
            result.first_different = i;
    }
    result.is_equal = result.different_count == 0;
    *out = result;
}

/* ---- summary ------------------------------------------------------------------------------- */

/* An integer or boolean as text; false for other types. */
static bool format_integer(const onnxd_tensor_view *view, size_t index, char *out, size_t *length)
{
    const void *data = onnxd_tensor_view_data(view);
    switch ((int)view->dtype) {
#define INTEGER(id, type, format)                                                                  \
    case ONNXD_##id:                                                                               \
        *length = format(out, ((const type *)data)[index]);                                        \
        return true;
        INTEGER(INT8, int8_t, onnxd_format_i64)
        INTEGER(INT16, int16_t, onnxd_format_i64)
        INTEGER(INT32, int32_t, onnxd_format_i64)
        INTEGER(INT64, int64_t, onnxd_format_i64)
        INTEGER(UINT8, uint8_t, onnxd_format_u64)
        INTEGER(UINT16, uint16_t, onnxd_format_u64)
        INTEGER(UINT32, uint32_t, onnxd_format_u64)
        INTEGER(UINT64, uint64_t, onnxd_format_u64)
        INTEGER(BOOL, uint8_t, onnxd_format_u64)
#undef INTEGER
    default:
        return false;
    }
}

static void write_element(const onnxd_tensor_view *view, size_t index, onnxd_strbuf *out)
{
    char number[ONNXD_NUMBER_TEXT];
    size_t length;
    if (is_float(view->dtype)) {
        onnxd_strbuf_printf(out, "%.6g", float_at(view, index));
    } else if (format_integer(view, index, number, &length)) {
        onnxd_strbuf_append(out, number, length);
    } else if (view->dtype == ONNXD_STRING) {
        const onnxd_string *text = (const onnxd_string *)onnxd_tensor_view_data(view) + index;
        onnxd_strbuf_json_string(out, text->data != NULL ? text->data : "", text->size);
    } else {
        onnxd_strbuf_puts(out, "?");
    }
}

static void write_statistics(const onnxd_tensor_view *view, size_t count, onnxd_strbuf *out)
{
    double least = INFINITY, greatest = -INFINITY, sum = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        double value = float_at(view, i);
        if (value > greatest)
            at = i;
        least = fmin(least, value);
        greatest = fmax(greatest, value);
        sum += value;
    }
    onnxd_strbuf_printf(out, " (least %.6g, mean %.6g, greatest %.6g at %zu)", least,
                        sum / (double)count, greatest, at);
}

void onnxd_summarize_tensor(const onnxd_tensor_view *view, onnxd_strbuf *out)
{
    char shape[ONNXD_SHAPE_TEXT];
    size_t count = onnxd_tensor_view_count(view);

    onnxd_strbuf_printf(out, "%s%s:", onnxd_dtype_name(view->dtype),
                        onnxd_shape_format(&view->shape, shape, sizeof(shape)));
    for (size_t i = 0; i < count && i < SHOWN_ELEMENTS; i++) {
        onnxd_strbuf_puts(out, i == 0 ? " " : ", ");
        write_element(view, i, out);
    }
    if (count > SHOWN_ELEMENTS)
        onnxd_strbuf_puts(out, ", ...");
    if (is_float(view->dtype) && count > 0)
        write_statistics(view, count, out);
}

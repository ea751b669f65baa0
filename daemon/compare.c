#include <math.h>
#include <stdio.h>
#include <string.h>

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

static void take_difference(onnxd_comparison *out, double difference, double expected)
{
    double relative = difference > 0 ? difference / fabs(expected) : 0;
    out->greatest_absolute = fmax(out->greatest_absolute, difference);
    out->greatest_relative = fmax(out->greatest_relative, isnan(relative) ? INFINITY : relative);
}

static bool floats_equal(double actual, double expected, double rtol, double atol,
                         onnxd_comparison *out)
{
    bool is_equal;
    if (isnan(actual) || isnan(expected))
        is_equal = isnan(actual) && isnan(expected);
    else if (isinf(actual) || isinf(expected))
        is_equal = isinf(actual) && isinf(expected) && signbit(actual) == signbit(expected);
    else {
        double difference = fabs(actual - expected);
        take_difference(out, difference, expected);
        return difference <= atol + rtol * fabs(expected);
    }
    if (!is_equal)
        take_difference(out, INFINITY, expected);
    return is_equal;
}

/* An integer as its magnitude and sign, so that differences of 64-bit values come out exact. */
typedef struct integer {
    uint64_t magnitude;
    bool is_negative;
} integer;

static integer signed_integer(int64_t value)
{
    return (integer){value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0};
}

static integer unsigned_integer(uint64_t value)
{
    return (integer){value, false};
}

/* Types that are compared as integers, each with its C type and how it becomes an `integer`. */
#define INTEGERS(X)                                                                                \
    X(INT8, int8_t, signed_integer)                                                                \
    X(INT16, int16_t, signed_integer)                                                              \
    X(INT32, int32_t, signed_integer)                                                              \
    X(INT64, int64_t, signed_integer)                                                              \
    X(UINT8, uint8_t, unsigned_integer)                                                            \
    X(UINT16, uint16_t, unsigned_integer)                                                          \
    X(UINT32, uint32_t, unsigned_integer)                                                          \
    X(UINT64, uint64_t, unsigned_integer)                                                          \
    X(BOOL, uint8_t, unsigned_integer)

static bool is_integer(onnxd_dtype dtype)
{
    switch ((int)dtype) {
#define CASE(id, type, make) case ONNXD_##id:
        INTEGERS(CASE)
#undef CASE
        return true;
    default:
        return false;
    }
}

static bool integer_at(const onnxd_tensor_view *view, size_t index, integer *out)
{
    const void *data = onnxd_tensor_view_data(view);
    switch ((int)view->dtype) {
#define CASE(id, type, make)                                                                       \
    case ONNXD_##id:                                                                               \
        *out = make(((const type *)data)[index]);                                                  \
        return true;
        INTEGERS(CASE)
#undef CASE
    default:
        return false;
    }
}

static void take_integers(const integer *actual, const integer *expected, onnxd_comparison *out)
{
    uint64_t a = actual->magnitude;
    uint64_t b = expected->magnitude;
    double difference;
    if (actual->is_negative != expected->is_negative)
        difference = (double)a + (double)b;
    else
        difference = (double)(a > b ? a - b : b - a);
    take_difference(out, difference, (double)b);
}

static bool elements_equal(const onnxd_tensor_view *actual, const onnxd_tensor_view *expected,
                           size_t index, onnxd_comparison *out)
{
    integer found, wanted;
    if (same_bytes(actual, expected, index))
        return true;
    if (integer_at(actual, index, &found) && integer_at(expected, index, &wanted))
        take_integers(&found, &wanted, out);
    return false;
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
    result.has_numbers = is_float(actual->dtype) || is_integer(actual->dtype);
    for (size_t i = 0; i < result.count; i++) {
        bool equal;
        if (is_packed)
            equal = memcmp(onnxd_tensor_view_data(actual), onnxd_tensor_view_data(expected),
                           onnxd_tensor_view_bytes(actual)) == 0;
        else if (is_float(actual->dtype))
            equal = floats_equal(float_at(actual, i), float_at(expected, i), rtol, atol, &result);
        else
            equal = elements_equal(actual, expected, i, &result);
        if (!equal && result.different_count++ == 0)
            result.first_different = i;
    }
    result.is_equal = result.different_count == 0;
    *out = result;
}

/* ---- summary ------------------------------------------------------------------------------- */

static void write_bytes(const onnxd_tensor_view *view, size_t index, onnxd_strbuf *out)
{
    size_t size = onnxd_dtype_size(view->dtype);
    const uint8_t *bytes = (const uint8_t *)onnxd_tensor_view_data(view) + index * size;
    if (size == 0) { /* several elements to the byte */
        onnxd_strbuf_puts(out, "?");
        return;
    }
    onnxd_strbuf_puts(out, "0x");
    for (size_t i = size; i > 0; i--)
        onnxd_strbuf_printf(out, "%02x", bytes[i - 1]);
}

void onnxd_write_element(const onnxd_tensor_view *view, size_t index, onnxd_strbuf *out)
{
    integer number;
    if (is_float(view->dtype)) {
        onnxd_strbuf_printf(out, "%.6g", float_at(view, index));
    } else if (integer_at(view, index, &number)) {
        onnxd_strbuf_printf(out, "%s%llu", number.is_negative ? "-" : "",
                            (unsigned long long)number.magnitude);
    } else if (view->dtype == ONNXD_STRING) {
        const onnxd_string *text = (const onnxd_string *)onnxd_tensor_view_data(view) + index;
        onnxd_strbuf_json_string(out, text->data != NULL ? text->data : "", text->size);
    } else {
        write_bytes(view, index, out);
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
        onnxd_write_element(view, i, out);
    }
    if (count > SHOWN_ELEMENTS)
        onnxd_strbuf_puts(out, ", ...");
    if (is_float(view->dtype) && count > 0)
        write_statistics(view, count, out);
}

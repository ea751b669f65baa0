#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/model_io.h"

#define SHOWN_ITEMS 5

/* "a sequence" into `buffer`. */
#define KIND_TEXT 40
static const char *kind_text(const onnxd_datum *datum, char *buffer)
{
    /* One that holds something is that thing. */
    if (datum->kind == ONNXD_VALUE_OPTIONAL || datum->kind == ONNXD_VALUE_OPTIONAL_SEQUENCE)
        return "an optional that holds nothing";
    (void)snprintf(buffer, KIND_TEXT, "a %s", onnxd_value_kind_name(datum->kind));
    return buffer;
}

/* ---- maps ---------------------------------------------------------------------------------- */

static bool keys_equal(const onnxd_tensor *a, size_t i, const onnxd_tensor *b, size_t j)
{
    if (a->dtype != ONNXD_STRING)
        return ((const int64_t *)a->data)[i] == ((const int64_t *)b->data)[j];
    const onnxd_string *x = (const onnxd_string *)a->data + i;
    const onnxd_string *y = (const onnxd_string *)b->data + j;
    return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
}

/* Position of key `index` of `expected` in `actual`, tried first where the last one was; count when
 * it is not there. */
static size_t find_key(const onnxd_tensor *actual, const onnxd_tensor *expected, size_t index)
{
    for (size_t i = 0; i < actual->count; i++) {
        size_t position = (index + i) % actual->count;
        if (keys_equal(actual, position, expected, index))
            return position;
    }
    return actual->count;
}

static void say_key(const onnxd_datum *expected, size_t index, onnxd_comparison *out)
{
    onnxd_tensor_view keys = onnxd_tensor_as_view(expected->keys);
    onnxd_strbuf text;
    onnxd_strbuf_init(&text, 65536);
    onnxd_write_element(&keys, index, &text);
    (void)snprintf(out->reason, sizeof(out->reason), "is a map without key %.100s",
                   text.data != NULL ? text.data : "");
    onnxd_strbuf_deinit(&text);
}

/* The actual values in the order of the expected keys. */
static onnxd_status *compare_maps(const onnxd_datum *actual, const onnxd_datum *expected,
                                  double rtol, double atol, onnxd_datum_comparison *out)
{
    size_t size = onnxd_dtype_size(actual->dtype);
    out->tensors.is_equal = false;
    if (actual->keys->dtype != expected->keys->dtype || actual->dtype != expected->dtype ||
        actual->keys->count != expected->keys->count || size == 0) {
        (void)snprintf(out->tensors.reason, sizeof(out->tensors.reason),
                       "is a map of %zu from %s to %s, expected is one of %zu from %s to %s",
                       actual->keys->count, onnxd_dtype_name(actual->keys->dtype),
                       onnxd_dtype_name(actual->dtype), expected->keys->count,
                       onnxd_dtype_name(expected->keys->dtype), onnxd_dtype_name(expected->dtype));
        return NULL;
    }
    onnxd_tensor *values = NULL;
    ONNXD_TRY(onnxd_tensor_create(actual->dtype, &expected->tensor->shape, &values));
    onnxd_tensor_release(out->reordered);
    out->reordered = values;
    for (size_t i = 0; i < expected->keys->count; i++) {
        size_t position = find_key(actual->keys, expected->keys, i);
        if (position == actual->keys->count) {
            say_key(expected, i, &out->tensors);
            return NULL;
        }
        memcpy((char *)values->data + i * size,
               (const char *)actual->tensor->data + position * size, size);
    }
    out->actual = onnxd_tensor_as_view(values);
    out->expected = onnxd_tensor_as_view(expected->tensor);
    onnxd_compare_tensors(&out->actual, &out->expected, rtol, atol, &out->tensors);
    return NULL;
}

/* ---- any ----------------------------------------------------------------------------------- */

/* Two values that are no sequences. */
static onnxd_status *compare_single(const onnxd_datum *actual, const onnxd_datum *expected,
                                    double rtol, double atol, onnxd_datum_comparison *out)
{
    out->tensors = (onnxd_comparison){.is_equal = actual->kind == expected->kind};
    if (actual->kind != expected->kind) {
        char found[KIND_TEXT];
        char wanted[KIND_TEXT];
        (void)snprintf(out->tensors.reason, sizeof(out->tensors.reason), "is %s, expected is %s",
                       kind_text(actual, found), kind_text(expected, wanted));
        return NULL;
    }
    if (actual->kind == ONNXD_VALUE_MAP)
        return compare_maps(actual, expected, rtol, atol, out);
    if (actual->kind != ONNXD_VALUE_TENSOR)
        return NULL;
    out->actual = onnxd_tensor_as_view(actual->tensor);
    out->expected = onnxd_tensor_as_view(expected->tensor);
    onnxd_compare_tensors(&out->actual, &out->expected, rtol, atol, &out->tensors);
    return NULL;
}

static bool is_sequence(const onnxd_datum *datum)
{
    return datum->kind == ONNXD_VALUE_SEQUENCE || datum->kind == ONNXD_VALUE_SEQUENCE_OF_MAPS;
}

static onnxd_status *compare_items(const onnxd_datum *actual, const onnxd_datum *expected,
                                   double rtol, double atol, onnxd_datum_comparison *out)
{
    onnxd_comparison all = {.is_equal = true};
    for (size_t i = 0; i < expected->item_count; i++) {
        out->item = i;
        ONNXD_TRY(compare_single(actual->items[i], expected->items[i], rtol, atol, out));
        if (!out->tensors.is_equal)
            return NULL;
        all.count += out->tensors.count;
        all.has_numbers = out->tensors.has_numbers;
        all.greatest_absolute = fmax(all.greatest_absolute, out->tensors.greatest_absolute);
        all.greatest_relative = fmax(all.greatest_relative, out->tensors.greatest_relative);
    }
    out->tensors = all;
    out->item = SIZE_MAX;
    return NULL;
}

onnxd_status *onnxd_compare_datums(const onnxd_datum *actual, const onnxd_datum *expected,
                                   double rtol, double atol, onnxd_datum_comparison *out)
{
    onnxd_datum_comparison result = {.item = SIZE_MAX};
    onnxd_status *status = NULL;
    bool are_sequences = is_sequence(actual) && actual->kind == expected->kind;
    if (are_sequences &&
        (actual->item_count != expected->item_count || actual->dtype != expected->dtype))
        (void)snprintf(result.tensors.reason, sizeof(result.tensors.reason),
                       "is a sequence of %zu of type %s, expected is one of %zu of type %s",
                       actual->item_count, onnxd_dtype_name(actual->dtype), expected->item_count,
                       onnxd_dtype_name(expected->dtype));
    else if (are_sequences)
        status = compare_items(actual, expected, rtol, atol, &result);
    else
        status = compare_single(actual, expected, rtol, atol, &result);
    if (status != NULL)
        onnxd_datum_comparison_deinit(&result);
    else
        *out = result;
    return status;
}

void onnxd_datum_comparison_deinit(onnxd_datum_comparison *comparison)
{
    onnxd_tensor_release(comparison->reordered);
    comparison->reordered = NULL;
}

/* ---- summary ------------------------------------------------------------------------------- */

static void summarize_map(const onnxd_datum *datum, onnxd_strbuf *out)
{
    onnxd_tensor_view keys = onnxd_tensor_as_view(datum->keys);
    onnxd_tensor_view values = onnxd_tensor_as_view(datum->tensor);
    onnxd_strbuf_printf(out, "map of %zu from %s to %s:", datum->keys->count,
                        onnxd_dtype_name(datum->keys->dtype), onnxd_dtype_name(datum->dtype));
    for (size_t i = 0; i < datum->keys->count && i < SHOWN_ITEMS; i++) {
        onnxd_strbuf_puts(out, i == 0 ? " " : ", ");
        onnxd_write_element(&keys, i, out);
        onnxd_strbuf_puts(out, " -> ");
        onnxd_write_element(&values, i, out);
    }
    if (datum->keys->count > SHOWN_ITEMS)
        onnxd_strbuf_puts(out, ", ...");
}

static void summarize_single(const onnxd_datum *datum, onnxd_strbuf *out)
{
    if (datum->kind == ONNXD_VALUE_MAP) {
        summarize_map(datum, out);
        return;
    }
    if (datum->kind != ONNXD_VALUE_TENSOR) {
        onnxd_strbuf_puts(out, "nothing");
        return;
    }
    onnxd_tensor_view view = onnxd_tensor_as_view(datum->tensor);
    onnxd_summarize_tensor(&view, out);
}

void onnxd_summarize_datum(const onnxd_datum *datum, onnxd_strbuf *out)
{
    if (datum == NULL || !is_sequence(datum)) {
        if (datum == NULL)
            onnxd_strbuf_puts(out, "nothing");
        else
            summarize_single(datum, out);
        return;
    }
    onnxd_strbuf_printf(out, "sequence of %zu", datum->item_count);
    for (size_t i = 0; i < datum->item_count && i < SHOWN_ITEMS; i++) {
        onnxd_strbuf_printf(out, "\n  [%zu] ", i);
        summarize_single(datum->items[i], out);
    }
    if (datum->item_count > SHOWN_ITEMS)
        onnxd_strbuf_puts(out, "\n  ...");
}

/* Files of sequences, optionals and maps: what is written reads back, what is broken is refused;
 * and comparing them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/model_io.h"
#include "graph/loader_datum.h"

static onnxd_tensor *tensor_of(onnxd_dtype dtype, size_t count, const void *data)
{
    onnxd_tensor *tensor = NULL;
    int64_t extent = (int64_t)count;
    onnxd_shape shape = onnxd_shape_from(1, &extent);
    if (dtype == ONNXD_STRING) {
        cr_assert_null(onnxd_tensor_create_strings(&shape, data, &tensor));
        return tensor;
    }
    cr_assert_null(onnxd_tensor_create(dtype, &shape, &tensor));
    if (tensor->bytes != 0)
        memcpy(tensor->data, data, tensor->bytes);
    return tensor;
}

static onnxd_datum *floats(size_t count, const float *data)
{
    onnxd_datum *datum = NULL;
    onnxd_tensor *tensor = tensor_of(ONNXD_FLOAT, count, data);
    cr_assert_null(onnxd_datum_of_tensor(tensor, &datum));
    onnxd_tensor_release(tensor);
    return datum;
}

/* Consumes the items. */
static onnxd_datum *sequence(onnxd_value_kind kind, size_t count, onnxd_datum *const *items)
{
    onnxd_datum *datum = NULL;
    cr_assert_null(onnxd_datum_of_items(kind, ONNXD_FLOAT, items, count, &datum));
    for (size_t i = 0; i < count; i++)
        onnxd_datum_release(items[i]);
    return datum;
}

static onnxd_datum *map(onnxd_dtype key_type, size_t count, const void *keys, const float *values)
{
    onnxd_datum *datum = NULL;
    onnxd_tensor *key_tensor = tensor_of(key_type, count, keys);
    onnxd_tensor *value_tensor = tensor_of(ONNXD_FLOAT, count, values);
    cr_assert_null(onnxd_datum_of_map(key_tensor, value_tensor, &datum));
    onnxd_tensor_release(key_tensor);
    onnxd_tensor_release(value_tensor);
    return datum;
}

static onnxd_status *load(const char *path, onnxd_value_kind kind, onnxd_dtype dtype,
                          onnxd_datum **out_datum)
{
    onnxd_tensor_type type = {.dtype = dtype, .kind = kind, .shape = onnxd_shape_unknown()};
    onnxd_load_limits limits = onnxd_load_limits_default();
    return onnxd_datum_load_file(path, &type, &limits, out_datum);
}

static void make_path(char *path)
{
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    close(descriptor);
}

/* ---- writing and reading ------------------------------------------------------------------- */

/* Consumes the value. */
static void round_trip(onnxd_value_kind declared, onnxd_datum *datum)
{
    char path[] = "/tmp/onnxd_datum_XXXXXX";
    onnxd_datum *loaded = NULL;
    onnxd_datum_comparison result;
    make_path(path);
    cr_assert_null(onnxd_save_datum(path, "name", declared, datum));
    onnxd_status *status = load(path, declared, ONNXD_FLOAT, &loaded);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    cr_assert_null(onnxd_compare_datums(loaded, datum, 0, 0, &result));
    cr_expect(result.tensors.is_equal, "%s", result.tensors.reason);
    cr_expect_eq(loaded->dtype, ONNXD_FLOAT);
    onnxd_datum_comparison_deinit(&result);
    onnxd_datum_release(loaded);
    onnxd_datum_release(datum);
    unlink(path);
}

static const float numbers[] = {1.5f, -2, 0, 4};
static const int64_t ids[] = {-7, 300, 1};
static const onnxd_string names[] = {{"a", 1}, {"", 0}, {"b\0c", 3}};

Test(datum, values_of_every_kind_read_back)
{
    onnxd_datum *nothing = NULL, *many[300];
    onnxd_datum *two[] = {floats(4, numbers), floats(0, NULL)};
    onnxd_datum *maps[] = {map(ONNXD_STRING, 3, names, numbers), map(ONNXD_STRING, 0, names, NULL)};
    round_trip(ONNXD_VALUE_TENSOR, floats(4, numbers));
    round_trip(ONNXD_VALUE_SEQUENCE, sequence(ONNXD_VALUE_SEQUENCE, 2, two));
    round_trip(ONNXD_VALUE_SEQUENCE, sequence(ONNXD_VALUE_SEQUENCE, 0, NULL));
    round_trip(ONNXD_VALUE_MAP, map(ONNXD_INT64, 3, ids, numbers));
    round_trip(ONNXD_VALUE_SEQUENCE_OF_MAPS, sequence(ONNXD_VALUE_SEQUENCE_OF_MAPS, 2, maps));
    round_trip(ONNXD_VALUE_OPTIONAL, floats(2, numbers));
    for (size_t i = 0; i < ONNXD_COUNT(many); i++)
        many[i] = floats(3, numbers);
    round_trip(ONNXD_VALUE_OPTIONAL_SEQUENCE, sequence(ONNXD_VALUE_SEQUENCE, 300, many));
    cr_assert_null(onnxd_datum_nothing(ONNXD_FLOAT, &nothing));
    round_trip(ONNXD_VALUE_OPTIONAL, nothing);
}

/* ---- broken files -------------------------------------------------------------------------- */

static void expect_refused(onnxd_value_kind kind, const void *data, size_t bytes, const char *text)
{
    char path[] = "/tmp/onnxd_datum_XXXXXX";
    onnxd_datum *datum = NULL;
    make_path(path);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
    onnxd_status *status = load(path, kind, ONNXD_FLOAT, &datum);
    cr_expect(status != NULL && strstr(onnxd_status_message(status), text) != NULL,
              "is  %s\n  must contain %s", onnxd_status_message(status), text);
    onnxd_status_free(status);
    onnxd_datum_release(datum);
    unlink(path);
}
#define EXPECT_REFUSED(kind, bytes, text) expect_refused(kind, bytes, sizeof(bytes) - 1, text)

/* A tensor message: int64[0]. */
#define INT64S "\x08\x00\x10\x07"

Test(datum, files_that_hold_something_else)
{
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "\x10\x01\x1a\x04" INT64S,
                   "it holds int64, float is declared");
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "\x10\x01\x2a\x02\x10\x01",
                   "sequences of sequences, optionals and sparse tensors are not supported");
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "\x10\x04\x32\x02\x10\x07",
                   "it is not a sequence of tensors alone");
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE_OF_MAPS, "\x10\x01\x1a\x04" INT64S,
                   "it is not a sequence of maps alone");
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "\x10\x03\x1a\x04" INT64S,
                   "it is not a sequence of tensors alone");
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "\x10\x01\x1a\x04" INT64S "\x1a\x04\x08\x00\x10\x01",
                   "element 1 of a sequence of int64 has element type float");
    EXPECT_REFUSED(ONNXD_VALUE_OPTIONAL, "\x10\x03\x2a\x02\x10\x01",
                   "it is not an optional tensor");
    EXPECT_REFUSED(ONNXD_VALUE_OPTIONAL_SEQUENCE, "\x10\x01\x1a\x04" INT64S,
                   "it is not an optional sequence");
    EXPECT_REFUSED(ONNXD_VALUE_OPTIONAL, "\x10\x04\x32\x02\x10\x07",
                   "optionals of maps, optionals and sparse tensors are not supported");
    EXPECT_REFUSED(ONNXD_VALUE_MAP, "\x10\x07\x18\x01\x22\x01\x61\x2a\x02\x10\x01",
                   "a map with both numbers and strings as keys");
    EXPECT_REFUSED(ONNXD_VALUE_MAP, "\x10\x07\x18\x01\x2a\x02\x10\x01",
                   "a map of 1 keys has 0 values");
    EXPECT_REFUSED(ONNXD_VALUE_MAP, "\x10\x07\x18\x01\x2a\x08\x10\x01\x1a\x04" INT64S,
                   "value 0 of a map is no scalar");
}

Test(datum, files_that_are_broken)
{
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "\x1a\x7f\x08", "length exceeds the enclosing message");
    EXPECT_REFUSED(ONNXD_VALUE_SEQUENCE, "", "the file is empty");
    EXPECT_REFUSED(ONNXD_VALUE_MAP, "\x2a\x02\x10", "not a well-formed ONNX map");
    EXPECT_REFUSED(ONNXD_VALUE_OPTIONAL, "\x1b", "groups and reserved wire types");
}

/* Sequences of maps of sequences of maps: only the scan looks inside. */
Test(datum, nesting_is_bounded)
{
    unsigned char bytes[4096];
    size_t start = sizeof(bytes), length = 0;
    for (int level = 0; level < 120; level++) {
        size_t header = length < 128 ? 2 : 3;
        start -= header;
        bytes[start] = level % 2 == 0 ? 0x32 : 0x2a;
        bytes[start + 1] = (unsigned char)(length < 128 ? length : (length & 0x7f) | 0x80);
        if (header == 3)
            bytes[start + 2] = (unsigned char)(length >> 7);
        length += header;
    }
    expect_refused(ONNXD_VALUE_MAP, bytes + start, length, "levels of nested messages");
}

/* ---- comparing ----------------------------------------------------------------------------- */

static void expect_compared(onnxd_datum *actual, onnxd_datum *expected, bool is_equal, size_t item,
                            const char *reason)
{
    onnxd_datum_comparison result;
    cr_assert_null(onnxd_compare_datums(actual, expected, 1e-3, 0, &result));
    cr_expect_eq(result.tensors.is_equal, is_equal);
    cr_expect_eq(result.item, item);
    cr_expect_str_eq(result.tensors.reason, reason);
    onnxd_datum_comparison_deinit(&result);
    onnxd_datum_release(actual);
    onnxd_datum_release(expected);
}

Test(datum, sequences_are_compared_element_by_element)
{
    static const float others[] = {1.5f, -2, 1, 4};
    onnxd_datum *a[] = {floats(2, numbers), floats(4, numbers)};
    onnxd_datum *b[] = {floats(2, numbers), floats(4, others)};
    onnxd_datum *c[] = {floats(2, numbers), floats(4, numbers)};
    onnxd_datum *d[] = {floats(2, numbers), floats(4, numbers)};
    onnxd_datum *e[] = {floats(2, numbers)}, *f[] = {floats(2, numbers)};
    onnxd_datum *nothing = NULL;
    cr_assert_null(onnxd_datum_nothing(ONNXD_FLOAT, &nothing));
    expect_compared(sequence(ONNXD_VALUE_SEQUENCE, 2, a), sequence(ONNXD_VALUE_SEQUENCE, 2, b),
                    false, 1, "");
    expect_compared(sequence(ONNXD_VALUE_SEQUENCE, 2, c), sequence(ONNXD_VALUE_SEQUENCE, 1, e),
                    false, SIZE_MAX,
                    "is a sequence of 2 of type float, expected is one of 1 of type float");
    expect_compared(sequence(ONNXD_VALUE_SEQUENCE, 2, d), nothing, false, SIZE_MAX,
                    "is a sequence, expected is an optional that holds nothing");
    expect_compared(floats(2, numbers), sequence(ONNXD_VALUE_SEQUENCE, 1, f), false, SIZE_MAX,
                    "is a tensor, expected is a sequence");
}

Test(datum, maps_are_compared_in_any_order)
{
    static const int64_t turned[] = {1, -7, 300}, other[] = {1, -7, 301};
    static const float turned_numbers[] = {0, 1.5f, -2};
    expect_compared(map(ONNXD_INT64, 3, ids, numbers), map(ONNXD_INT64, 3, turned, turned_numbers),
                    true, SIZE_MAX, "");
    expect_compared(map(ONNXD_INT64, 3, ids, numbers), map(ONNXD_INT64, 3, turned, numbers), false,
                    SIZE_MAX, "");
    expect_compared(map(ONNXD_INT64, 3, ids, numbers), map(ONNXD_INT64, 3, other, turned_numbers),
                    false, SIZE_MAX, "is a map without key 301");
    expect_compared(map(ONNXD_INT64, 3, ids, numbers), map(ONNXD_STRING, 3, names, numbers), false,
                    SIZE_MAX,
                    "is a map of 3 from int64 to float, expected is one of 3 from string to float");
}

Test(datum, values_are_summarized)
{
    onnxd_strbuf text;
    onnxd_datum *items[] = {map(ONNXD_STRING, 1, names, numbers), map(ONNXD_STRING, 0, NULL, NULL)};
    onnxd_datum *datum = sequence(ONNXD_VALUE_SEQUENCE_OF_MAPS, 2, items);
    onnxd_strbuf_init(&text, 4096);
    onnxd_summarize_datum(datum, &text);
    cr_expect_str_eq(text.data, "sequence of 2\n  [0] map of 1 from string to float: \"a\" -> 1.5\n"
                                "  [1] map of 0 from string to float:");
    onnxd_strbuf_reset(&text);
    onnxd_summarize_datum(NULL, &text);
    cr_expect_str_eq(text.data, "nothing");
    onnxd_strbuf_deinit(&text);
    onnxd_datum_release(datum);
}

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/graph/build_graph.h"
#include "tests/graph/load.h"

enum { ELEMENTS = 3 };

typedef enum entry_kind { ENTRY_VARINT, ENTRY_FIXED32, ENTRY_FIXED64, ENTRY_BYTES } entry_kind;

/* Where three elements of each type lie: bytes when raw, entries of a field when typed. */
static const struct dtype_case {
    int32_t dtype;
    size_t raw_bytes;
    uint32_t field;
    entry_kind kind;
    size_t entries;
} dtype_cases[] = {
    {1, 12, TENSOR_FLOAT_DATA, ENTRY_FIXED32, 3},   {2, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {3, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},     {4, 6, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {5, 6, TENSOR_INT32_DATA, ENTRY_VARINT, 3},     {6, 12, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {7, 24, TENSOR_INT64_DATA, ENTRY_VARINT, 3},    {8, 0, TENSOR_STRING_DATA, ENTRY_BYTES, 3},
    {9, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},     {10, 6, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {11, 24, TENSOR_DOUBLE_DATA, ENTRY_FIXED64, 3}, {12, 12, TENSOR_UINT64_DATA, ENTRY_VARINT, 3},
    {13, 24, TENSOR_UINT64_DATA, ENTRY_VARINT, 3},  {14, 24, TENSOR_FLOAT_DATA, ENTRY_FIXED32, 6},
    {15, 48, TENSOR_DOUBLE_DATA, ENTRY_FIXED64, 6}, {16, 6, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {17, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},    {18, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {19, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},    {20, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {21, 2, TENSOR_INT32_DATA, ENTRY_VARINT, 2},    {22, 2, TENSOR_INT32_DATA, ENTRY_VARINT, 2},
    {23, 2, TENSOR_INT32_DATA, ENTRY_VARINT, 2},    {24, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
    {25, 1, TENSOR_INT32_DATA, ENTRY_VARINT, 1},    {26, 1, TENSOR_INT32_DATA, ENTRY_VARINT, 1},
    {27, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},    {28, 3, TENSOR_INT32_DATA, ENTRY_VARINT, 3},
};

_Static_assert(ONNXD_COUNT(dtype_cases) == ONNXD_DTYPE_COUNT - 1, "every type has a case");

static void begin(wire *w, int32_t dtype, size_t rank, const int64_t *dims)
{
    wire_init(w);
    wire_model_begin(w);
    wire_begin(w, GRAPH_INITIALIZER);
    wire_tensor_header(w, "t", dtype, rank, dims);
}

static void end(wire *w)
{
    wire_end(w);
    wire_model_end(w);
}

static void write_entries(wire *w, uint32_t field, entry_kind kind, size_t count)
{
    static const uint8_t zeros[64] = {0};
    if (kind == ENTRY_BYTES) {
        for (size_t i = 0; i < count; i++)
            wire_text(w, field, "ab");
        return;
    }
    size_t size = kind == ENTRY_VARINT ? 1 : kind == ENTRY_FIXED32 ? 4 : 8;
    wire_bytes(w, field, zeros, count * size);
}

static void check(wire *w, bool is_exact, const char *what)
{
    onnxd_graph *graph = NULL;
    end(w);
    onnxd_status *status = load_wire(w, &graph);
    if (is_exact)
        cr_expect(status == NULL, "%s: %s", what, onnxd_status_message(status));
    else
        cr_expect(status != NULL && strstr(onnxd_status_message(status), "initializer 't'") &&
                      strstr(onnxd_status_message(status), "need"),
                  "%s: %s", what, onnxd_status_message(status));
    onnxd_status_free(status);
    onnxd_graph_destroy(graph);
    wire_deinit(w);
}

Test(loader_tensor, lengths_are_exact_for_every_type)
{
    static const uint8_t zeros[64] = {0};
    static const int64_t dims[1] = {ELEMENTS};
    for (size_t c = 0; c < ONNXD_COUNT(dtype_cases); c++) {
        const struct dtype_case *t = &dtype_cases[c];
        for (int extra = -1; extra <= 1; extra++) {
            char what[64];
            wire w;
            (void)snprintf(what, sizeof(what), "typed %d%+d", t->dtype, extra);
            begin(&w, t->dtype, 1, dims);
            write_entries(&w, t->field, t->kind, (size_t)((int)t->entries + extra));
            check(&w, extra == 0, what);
            if (t->dtype == ONNXD_STRING || (int)t->raw_bytes + extra == 0)
                continue;
            (void)snprintf(what, sizeof(what), "raw %d%+d", t->dtype, extra);
            begin(&w, t->dtype, 1, dims);
            wire_bytes(&w, TENSOR_RAW_DATA, zeros, (size_t)((int)t->raw_bytes + extra));
            check(&w, extra == 0, what);
        }
    }
}

/* Raw data is a stream of bits, int32_data has an entry for each element. */
Test(loader_tensor, types_of_six_bits)
{
    static const int64_t dims[1] = {5};
    static const uint8_t entries[] = {1, 2, 0x3f, 0x20, 0x15}, above[] = {0, 0, 0, 0, 64};
    static const uint8_t packed[] = {0x81, 0xf0, 0x83, 0x15};
    for (int i = 0; i < 4; i++) {
        wire w;
        begin(&w, ONNXD_FLOAT6E2M3 + i % 2, 1, dims);
        wire_bytes(&w, i < 2 ? TENSOR_RAW_DATA : TENSOR_INT32_DATA, i < 2 ? packed : entries,
                   i < 2 ? sizeof(packed) : sizeof(entries));
        end(&w);
        onnxd_graph *graph = load_good(&w);
        const onnxd_tensor *tensor = graph->values[0].constant;
        cr_assert_eq(tensor->bytes, sizeof(packed));
        cr_assert_arr_eq(tensor->data, packed, sizeof(packed));
        onnxd_graph_destroy(graph);
    }
    wire w;
    begin(&w, ONNXD_FLOAT6E3M2, 1, dims);
    wire_bytes(&w, TENSOR_INT32_DATA, above, sizeof(above));
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "entry 4 is 64, allowed for float6e3m2 are 0 to 63");
}

Test(loader_tensor, empty_and_scalar_of_every_type)
{
    static const int64_t empty[2] = {0, 5};
    for (size_t c = 0; c < ONNXD_COUNT(dtype_cases); c++) {
        const struct dtype_case *t = &dtype_cases[c];
        wire w;
        begin(&w, t->dtype, 2, empty);
        check(&w, true, "empty");
        begin(&w, t->dtype, 2, empty);
        write_entries(&w, t->field, t->kind, 1);
        check(&w, false, "not empty");
        begin(&w, t->dtype, 0, empty);
        write_entries(&w, t->field, t->kind, t->entries > 3 ? 2 : 1);
        check(&w, true, "scalar");
        begin(&w, t->dtype, 0, empty);
        check(&w, false, "scalar without data");
    }
}

/* The wrong field for each type: float_data where it belongs elsewhere, int64_data for floats. */
Test(loader_tensor, data_in_the_wrong_field)
{
    static const int64_t dims[1] = {ELEMENTS};
    for (size_t c = 0; c < ONNXD_COUNT(dtype_cases); c++) {
        const struct dtype_case *t = &dtype_cases[c];
        bool is_float = t->field == TENSOR_FLOAT_DATA;
        wire w;
        begin(&w, t->dtype, 1, dims);
        write_entries(&w, is_float ? TENSOR_INT64_DATA : TENSOR_FLOAT_DATA,
                      is_float ? ENTRY_VARINT : ENTRY_FIXED32, 3);
        end(&w);
        load_bad(&w, ONNXD_INVALID_ARGUMENT, "it belongs in");
    }
}

static onnxd_graph *load_entries(int32_t dtype, uint32_t field, size_t count, const int64_t *values)
{
    int64_t dims[1] = {(int64_t)count};
    wire w;
    begin(&w, dtype, 1, dims);
    for (size_t i = 0; i < count; i++)
        wire_int(&w, field, values[i]);
    end(&w);
    return load_good(&w);
}

static void expect_bytes(int32_t dtype, uint32_t field, size_t count, const int64_t *values,
                         const void *expected, size_t size)
{
    onnxd_graph *graph = load_entries(dtype, field, count, values);
    const onnxd_tensor *tensor = graph->values[0].constant;
    cr_expect(tensor->bytes == size && memcmp(tensor->data, expected, size) == 0, "type %d", dtype);
    onnxd_graph_destroy(graph);
}

Test(loader_tensor, entries_are_narrowed)
{
    expect_bytes(ONNXD_INT8, TENSOR_INT32_DATA, 2, (const int64_t[]){-128, 127}, "\x80\x7f", 2);
    expect_bytes(ONNXD_UINT8, TENSOR_INT32_DATA, 2, (const int64_t[]){0, 255}, "\x00\xff", 2);
    expect_bytes(ONNXD_INT16, TENSOR_INT32_DATA, 2, (const int64_t[]){-2, 1}, "\xfe\xff\x01\x00",
                 4);
    expect_bytes(ONNXD_FLOAT16, TENSOR_INT32_DATA, 1, (const int64_t[]){0xbc00}, "\x00\xbc", 2);
    expect_bytes(ONNXD_BOOL, TENSOR_INT32_DATA, 2, (const int64_t[]){1, 0}, "\x01\x00", 2);
    expect_bytes(ONNXD_UINT32, TENSOR_UINT64_DATA, 1, (const int64_t[]){UINT32_MAX},
                 "\xff\xff\xff\xff", 4);
    expect_bytes(ONNXD_INT64, TENSOR_INT64_DATA, 1, (const int64_t[]){-1},
                 "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    expect_bytes(ONNXD_UINT64, TENSOR_UINT64_DATA, 1, (const int64_t[]){-1},
                 "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    expect_bytes(ONNXD_INT32, TENSOR_INT32_DATA, 1, (const int64_t[]){INT32_MIN},
                 "\x00\x00\x00\x80", 4);
}

static void expect_bad_entry(int32_t dtype, uint32_t field, int64_t value, const char *text)
{
    static const int64_t dims[1] = {1};
    wire w;
    begin(&w, dtype, 1, dims);
    wire_int(&w, field, value);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

Test(loader_tensor, entries_have_ranges)
{
    expect_bad_entry(ONNXD_INT8, TENSOR_INT32_DATA, 128,
                     "int32_data entry 0 is 128, allowed for int8 are -128 to 127");
    expect_bad_entry(ONNXD_INT8, TENSOR_INT32_DATA, -129, "-129");
    expect_bad_entry(ONNXD_UINT8, TENSOR_INT32_DATA, 256, "256");
    expect_bad_entry(ONNXD_UINT8, TENSOR_INT32_DATA, -1, "-1");
    expect_bad_entry(ONNXD_UINT16, TENSOR_INT32_DATA, 65536, "65536");
    expect_bad_entry(ONNXD_FLOAT16, TENSOR_INT32_DATA, 65536, "65536");
    expect_bad_entry(ONNXD_BOOL, TENSOR_INT32_DATA, 2, "allowed for bool are 0 to 1");
    expect_bad_entry(ONNXD_UINT32, TENSOR_UINT64_DATA, (int64_t)UINT32_MAX + 1, "4294967296");
    expect_bad_entry(ONNXD_UINT32, TENSOR_UINT64_DATA, -1, "9223372036854775807");
    expect_bad_entry(ONNXD_FLOAT8E5M2, TENSOR_INT32_DATA, 256, "256");
}

Test(loader_tensor, packed_types_keep_their_bytes)
{
    static const int64_t dims[1] = {ELEMENTS};
    expect_bytes(ONNXD_UINT8, TENSOR_INT32_DATA, 2, (const int64_t[]){0x21, 0x03}, "\x21\x03", 2);
    wire w;
    begin(&w, ONNXD_INT4, 1, dims);
    wire_int(&w, TENSOR_INT32_DATA, 0x21);
    wire_int(&w, TENSOR_INT32_DATA, 0x03);
    end(&w);
    onnxd_graph *graph = load_good(&w);
    const onnxd_tensor *tensor = graph->values[0].constant;
    cr_expect(tensor->count == 3 && tensor->bytes == 2);
    cr_expect(memcmp(tensor->data, "\x21\x03", 2) == 0);
    onnxd_graph_destroy(graph);
}

Test(loader_tensor, strings_may_hold_anything)
{
    static const int64_t dims[1] = {2};
    wire w;
    begin(&w, ONNXD_STRING, 1, dims);
    wire_bytes(&w, TENSOR_STRING_DATA, "a\0\xff", 3);
    wire_bytes(&w, TENSOR_STRING_DATA, "", 0);
    end(&w);
    onnxd_graph *graph = load_good(&w);
    const onnxd_string *strings = graph->values[0].constant->data;
    cr_expect(strings[0].size == 3 && memcmp(strings[0].data, "a\0\xff", 3) == 0);
    cr_expect(strings[1].size == 0);
    onnxd_graph_destroy(graph);
}

static void expect_bad_tensor(int32_t dtype, size_t rank, const int64_t *dims, uint32_t field,
                              const void *data, size_t size, const char *text)
{
    wire w;
    begin(&w, dtype, rank, dims);
    wire_bytes(&w, field, data, size);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

Test(loader_tensor, bad_types_and_shapes)
{
    int64_t dims[17] = {1, 1};
    expect_bad_tensor(0, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "data type 0 is not known");
    expect_bad_tensor(29, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "data type 29 is not known");
    expect_bad_tensor(999, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "data type 999 is not known");
    expect_bad_tensor(-1, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "data type -1 is not known");
    expect_bad_tensor(8, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "strings cannot lie in raw_data");
    expect_bad_tensor(9, 1, dims, TENSOR_RAW_DATA, "\x02", 1, "bool element 0 is 2");
    expect_bad_tensor(1, 17, dims, TENSOR_RAW_DATA, "abcd", 4, "rank 17, at most 16");
    dims[0] = -1;
    expect_bad_tensor(1, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "dimension 0 is -1");
    dims[0] = 0;
    dims[1] = -1;
    expect_bad_tensor(1, 2, dims, TENSOR_RAW_DATA, "abcd", 4, "dimension 1 is -1");
    dims[0] = (int64_t)1 << 62;
    expect_bad_tensor(1, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "more elements than memory can hold");
    dims[0] = (int64_t)1 << 32;
    dims[1] = (int64_t)1 << 32;
    expect_bad_tensor(1, 2, dims, TENSOR_RAW_DATA, "abcd", 4, "more elements than memory can hold");
    dims[0] = (int64_t)1 << 31;
    expect_bad_tensor(1, 1, dims, TENSOR_RAW_DATA, "abcd", 4, "raw_data holds 4 bytes");
}

Test(loader_tensor, data_lies_in_one_place)
{
    static const int64_t dims[1] = {1};
    wire w;
    begin(&w, 1, 1, dims);
    wire_bytes(&w, TENSOR_RAW_DATA, "abcd", 4);
    wire_bytes(&w, TENSOR_FLOAT_DATA, "abcd", 4);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "data in both float_data and raw_data");
    begin(&w, 1, 1, dims);
    wire_bytes(&w, TENSOR_RAW_DATA, "abcd", 4);
    wire_external(&w, "location", "f");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "data_location is not external");
    begin(&w, 1, 1, dims);
    wire_bytes(&w, TENSOR_RAW_DATA, "abcd", 4);
    wire_int(&w, TENSOR_DATA_LOCATION, 1);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "data in both raw_data and an external file");
    begin(&w, 1, 1, dims);
    wire_bytes(&w, TENSOR_RAW_DATA, "abcd", 4);
    wire_int(&w, TENSOR_DATA_LOCATION, 2);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "data location 2");
    begin(&w, 1, 1, dims);
    wire_bytes(&w, TENSOR_RAW_DATA, "abcd", 4);
    wire_begin(&w, TENSOR_SEGMENT);
    wire_end(&w);
    end(&w);
    load_bad(&w, ONNXD_UNIMPLEMENTED, "tensors in segments");
}

/* values float[n], indices of the given shape, a dense tensor of shape [2,3]. */
static void write_sparse(wire *w, size_t values, size_t rank, const int64_t *index_dims,
                         const int64_t *indices, size_t index_count)
{
    static const float data[4] = {1, 2, 3, 4};
    int64_t value_dims[1] = {(int64_t)values};
    wire_init(w);
    wire_model_begin(w);
    wire_begin(w, GRAPH_SPARSE_INITIALIZER);
    wire_begin(w, 1);
    wire_tensor_header(w, "t", 1, 1, value_dims);
    wire_bytes(w, TENSOR_RAW_DATA, data, values * sizeof(float));
    wire_end(w);
    wire_begin(w, 2);
    wire_tensor_header(w, "", 7, rank, index_dims);
    wire_bytes(w, TENSOR_RAW_DATA, indices, index_count * sizeof(int64_t));
    wire_end(w);
    wire_int(w, 3, 2);
    wire_int(w, 3, 3);
    wire_end(w);
    wire_model_end(w);
}

static void expect_sparse(size_t rank, const int64_t *index_dims, const int64_t *indices,
                          size_t index_count)
{
    wire w;
    write_sparse(&w, 2, rank, index_dims, indices, index_count);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph, "graph \"g\" ir 8 opset ai.onnx 13\n"
                        "constant t: float[2,3] {0.0, 1.0, 0.0, 0.0, 0.0, 2.0}\n");
    onnxd_graph_destroy(graph);
}

static void expect_bad_sparse(size_t rank, const int64_t *index_dims, const int64_t *indices,
                              size_t index_count, const char *text)
{
    wire w;
    write_sparse(&w, 2, rank, index_dims, indices, index_count);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

Test(loader_tensor, sparse_initializers_become_dense)
{
    static const int64_t linear[1] = {2};
    static const int64_t matrix[2] = {2, 2};
    static const int64_t wrong[2] = {2, 3};
    static const int64_t six[6] = {0};
    expect_sparse(1, linear, (const int64_t[]){1, 5}, 2);
    expect_sparse(2, matrix, (const int64_t[]){0, 1, 1, 2}, 4);
    expect_bad_sparse(1, linear, (const int64_t[]){5, 1}, 2, "ascending order");
    expect_bad_sparse(1, linear, (const int64_t[]){1, 1}, 2, "ascending order");
    expect_bad_sparse(1, linear, (const int64_t[]){1, 6}, 2, "index 6 of entry 1");
    expect_bad_sparse(1, linear, (const int64_t[]){-1, 6}, 2, "index -1 of entry 0");
    expect_bad_sparse(2, matrix, (const int64_t[]){0, 3, 1, 0}, 4, "index 3 of entry 0 on axis 1");
    expect_bad_sparse(2, matrix, (const int64_t[]){0, 0, -1, 0}, 4, "index -1 of entry 1 on axis");
    expect_bad_sparse(2, wrong, six, 6, "indices are int64[2,3]");
}

Test(loader_tensor, sparse_initializers_are_bounded)
{
    static const int64_t none[1] = {0};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_begin(&w, GRAPH_SPARSE_INITIALIZER);
    wire_begin(&w, 1);
    wire_tensor_header(&w, "t", 1, 1, none);
    wire_end(&w);
    wire_begin(&w, 2);
    wire_tensor_header(&w, "", 7, 1, none);
    wire_end(&w);
    wire_int(&w, 3, (int64_t)1 << 40);
    wire_end(&w);
    wire_model_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "when made dense");
}

Test(loader_tensor, tensor_files)
{
    char path[] = "/tmp/onnxd-tensor-XXXXXX";
    static const int64_t dims[1] = {2};
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    wire w;
    wire_init(&w);
    wire_tensor_header(&w, "t", 1, 1, dims);
    wire_bytes(&w, TENSOR_RAW_DATA, "\0\0\x80\x3f\0\0\0\x40", 8);
    cr_assert(write(descriptor, wire_data(&w), wire_size(&w)) == (ssize_t)wire_size(&w));
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_load_file(path, &limits, &tensor));
    cr_expect(((const float *)tensor->data)[1] == 2.0f);
    onnxd_tensor_release(tensor);
    cr_assert(ftruncate(descriptor, (off_t)wire_size(&w) - 1) == 0);
    expect_error(onnxd_tensor_load_file(path, &limits, &tensor), ONNXD_INVALID_ARGUMENT, "length");
    (void)close(descriptor);
    cr_assert(unlink(path) == 0);
    expect_error(onnxd_tensor_load_file(path, &limits, &tensor), ONNXD_NOT_FOUND, "not found");
    wire_deinit(&w);
}

/*
 * Writing values: TensorProto (dims = 1, data_type = 2, string_data = 6, name = 8, raw_data = 9),
 * SequenceProto (name = 1, elem_type = 2, tensor_values = 3, map_values = 6), OptionalProto
 * (name = 1, elem_type = 2, tensor_value = 3, sequence_value = 5) and MapProto (name = 1,
 * key_type = 2, keys = 3, string_keys = 4, values = 5). Few enough fields to spell out, which keeps
 * protobuf within graph/.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/model_io.h"

/* SequenceProto.DataType. */
enum { ELEMENT_NOTHING = 0, ELEMENT_TENSOR = 1, ELEMENT_SEQUENCE = 3, ELEMENT_MAP = 4 };

/* Counts what it writes; without a file it only counts, since a message within another comes behind
 * its length. */
typedef struct writer {
    FILE *file;
    uint64_t bytes;
    bool failed;
} writer;

static void put_bytes(writer *out, const void *data, size_t bytes)
{
    if (out->file != NULL && bytes != 0 && fwrite(data, 1, bytes, out->file) != bytes)
        out->failed = true;
    out->bytes += bytes;
}

static void put_varint(writer *out, uint64_t value)
{
    unsigned char bytes[10];
    size_t length = 0;
    do {
        bytes[length] = (unsigned char)((value & 0x7fu) | (value > 0x7fu ? 0x80u : 0u));
        value >>= 7;
        length++;
    } while (value != 0);
    put_bytes(out, bytes, length);
}

static void put_number(writer *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_block(writer *out, unsigned field, const void *data, size_t bytes)
{
    put_varint(out, (field << 3) | 2u);
    put_varint(out, bytes);
    put_bytes(out, data, bytes);
}

static void put_tensor(writer *out, const char *name, const onnxd_tensor_view *view)
{
    for (int32_t i = 0; i < view->shape.rank; i++)
        put_number(out, 1, (uint64_t)view->shape.dims[i]);
    put_number(out, 2, (uint64_t)view->dtype);
    if (name[0] != '\0')
        put_block(out, 8, name, strlen(name));
    if (view->dtype != ONNXD_STRING) {
        put_block(out, 9, onnxd_tensor_view_data(view), onnxd_tensor_view_bytes(view));
        return;
    }
    const onnxd_string *strings = onnxd_tensor_view_data(view);
    size_t count = onnxd_tensor_view_count(view);
    for (size_t i = 0; i < count; i++)
        put_block(out, 6, strings[i].data, strings[i].size);
}

/* ---- values of other kinds ----------------------------------------------------------------- */

typedef void (*put_message)(writer *out, const void *message);

static void put_nested(writer *out, unsigned field, put_message put, const void *message)
{
    writer counter = {.file = NULL};
    put(&counter, message);
    put_varint(out, (field << 3) | 2u);
    put_varint(out, counter.bytes);
    put(out, message);
}

static void put_view(writer *out, const void *view)
{
    put_tensor(out, "", view);
}

/* The values of a map, each a scalar. */
static void put_values(writer *out, const void *message)
{
    const onnxd_tensor *values = message;
    const onnxd_shape scalar = {.rank = 0};
    size_t size = onnxd_dtype_size(values->dtype);
    put_number(out, 2, ELEMENT_TENSOR);
    for (size_t i = 0; i < values->count; i++) {
        onnxd_tensor_view view =
            onnxd_tensor_view_of((char *)values->data + i * size, values->dtype, &scalar);
        put_nested(out, 3, put_view, &view);
    }
}

static void put_map(writer *out, const void *message)
{
    const onnxd_datum *map = message;
    put_number(out, 2, (uint64_t)map->keys->dtype);
    for (size_t i = 0; i < map->keys->count; i++) {
        const onnxd_string *text = (const onnxd_string *)map->keys->data + i;
        if (map->keys->dtype == ONNXD_STRING)
            put_block(out, 4, text->data, text->size);
        else
            put_number(out, 3, (uint64_t)((const int64_t *)map->keys->data)[i]);
    }
    put_nested(out, 5, put_values, map->tensor);
}

static void put_sequence(writer *out, const void *message)
{
    const onnxd_datum *sequence = message;
    bool of_tensors = sequence->kind == ONNXD_VALUE_SEQUENCE;
    put_number(out, 2, of_tensors ? ELEMENT_TENSOR : ELEMENT_MAP);
    for (size_t i = 0; i < sequence->item_count; i++) {
        if (!of_tensors) {
            put_nested(out, 6, put_map, sequence->items[i]);
            continue;
        }
        onnxd_tensor_view view = onnxd_tensor_as_view(sequence->items[i]->tensor);
        put_nested(out, 3, put_view, &view);
    }
}

static void put_optional(writer *out, const onnxd_datum *datum)
{
    if (datum == NULL || datum->kind == ONNXD_VALUE_OPTIONAL) {
        put_number(out, 2, ELEMENT_NOTHING);
    } else if (datum->kind == ONNXD_VALUE_TENSOR) {
        onnxd_tensor_view view = onnxd_tensor_as_view(datum->tensor);
        put_number(out, 2, ELEMENT_TENSOR);
        put_nested(out, 3, put_view, &view);
    } else {
        put_number(out, 2, ELEMENT_SEQUENCE);
        put_nested(out, 5, put_sequence, datum);
    }
}

/* ---- files --------------------------------------------------------------------------------- */

static onnxd_status *open_file(const char *path, writer *out)
{
    char text[128];
    *out = (writer){.file = fopen(path, "we")};
    if (out->file != NULL)
        return NULL;
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "cannot write '%s': %s", path,
                       strerror_r(errno, text, sizeof(text)));
}

static onnxd_status *close_file(const char *path, writer *out)
{
    if (fclose(out->file) != 0)
        out->failed = true;
    if (out->failed)
        return onnxd_error(ONNXD_INTERNAL, "cannot write '%s'", path);
    return NULL;
}

onnxd_status *onnxd_save_tensor(const char *path, const char *name, const onnxd_tensor_view *view)
{
    writer out;
    ONNXD_TRY(open_file(path, &out));
    put_tensor(&out, name, view);
    return close_file(path, &out);
}

onnxd_status *onnxd_save_datum(const char *path, const char *name, onnxd_value_kind declared,
                               const onnxd_datum *datum)
{
    writer out;
    bool is_optional =
        declared == ONNXD_VALUE_OPTIONAL || declared == ONNXD_VALUE_OPTIONAL_SEQUENCE;
    if (!is_optional && datum->kind == ONNXD_VALUE_TENSOR) {
        onnxd_tensor_view view = onnxd_tensor_as_view(datum->tensor);
        return onnxd_save_tensor(path, name, &view);
    }
    ONNXD_TRY(open_file(path, &out));
    put_block(&out, 1, name, strlen(name));
    if (is_optional || datum->kind == ONNXD_VALUE_OPTIONAL)
        put_optional(&out, datum);
    else if (datum->kind == ONNXD_VALUE_MAP)
        put_map(&out, datum);
    else
        put_sequence(&out, datum);
    return close_file(path, &out);
}

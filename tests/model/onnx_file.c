#include "tests/model/onnx_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)
#define OPSET 17
#define IR_VERSION 8

/* Field numbers of onnx.proto. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET_IMPORT = 8,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEM = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2
};

/* ---- wire format --------------------------------------------------------------------------- */

static void put_varint(onnxd_strbuf *out, uint64_t value)
{
    do {
        const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        onnxd_strbuf_append(out, &byte, 1);
        value >>= 7;
    } while (value != 0);
}

static void put_int(onnxd_strbuf *out, unsigned field, int64_t value)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(onnxd_strbuf *out, unsigned field, const void *data, size_t bytes)
{
    put_varint(out, ((uint64_t)field << 3) | 2);
    put_varint(out, bytes);
    if (bytes > 0)
        onnxd_strbuf_append(out, data, bytes);
}

static void put_text(onnxd_strbuf *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* Puts a message as a field of another and ends it. */
static void put_message(onnxd_strbuf *out, unsigned field, onnxd_strbuf *message)
{
    put_bytes(out, field, message->data, message->length);
    onnxd_strbuf_deinit(message);
}

static onnxd_strbuf fresh(void)
{
    onnxd_strbuf buffer;
    onnxd_strbuf_init(&buffer, MAX_FILE_BYTES);
    return buffer;
}

/* Calls visit for every piece of a list separated by commas. */
static void each(const char *list,
                 void (*visit)(onnxd_strbuf *out, unsigned field, const char *item),
                 onnxd_strbuf *out, unsigned field)
{
    char item[128];
    while (*list != '\0') {
        const size_t length = strcspn(list, ",");
        cr_assert(length < sizeof(item));
        memcpy(item, list, length);
        item[length] = '\0';
        visit(out, field, item);
        list += length;
        list += *list == ',';
    }
}

/* ---- pieces -------------------------------------------------------------------------------- */

onnx_file onnx_file_begin(void)
{
    onnx_file file = {.graph = fresh()};
    put_text(&file.graph, GRAPH_NAME, "test");
    return file;
}

static void end_node(onnx_file *file)
{
    if (file->has_node)
        put_message(&file->graph, GRAPH_NODE, &file->node);
    file->has_node = false;
}

static void put_dim(onnxd_strbuf *out, unsigned field, const char *item)
{
    onnxd_strbuf dim = fresh();
    if (item[0] >= '0' && item[0] <= '9')
        put_int(&dim, DIM_VALUE, strtoll(item, NULL, 10));
    else
        put_text(&dim, DIM_PARAM, item);
    put_message(out, field, &dim);
}

static void put_value(onnx_file *file, unsigned field, const char *name, onnxd_dtype dtype,
                      const char *dims)
{
    onnxd_strbuf value = fresh(), type = fresh(), tensor = fresh(), shape = fresh();
    end_node(file);
    each(dims, put_dim, &shape, SHAPE_DIM);
    put_int(&tensor, TENSOR_TYPE_ELEM, (int64_t)dtype);
    put_message(&tensor, TENSOR_TYPE_SHAPE, &shape);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &type);
    put_message(&file->graph, field, &value);
}

void onnx_input(onnx_file *file, const char *name, onnxd_dtype dtype, const char *dims)
{
    put_value(file, GRAPH_INPUT, name, dtype, dims);
}

void onnx_output(onnx_file *file, const char *name, onnxd_dtype dtype, const char *dims)
{
    put_value(file, GRAPH_OUTPUT, name, dtype, dims);
}

static void put_name(onnxd_strbuf *out, unsigned field, const char *item)
{
    put_text(out, field, item);
}

void onnx_unnamed_node(onnx_file *file, const char *op_type, const char *inputs,
                       const char *outputs)
{
    end_node(file);
    file->node = fresh();
    file->has_node = true;
    each(inputs, put_name, &file->node, NODE_INPUT);
    each(outputs, put_name, &file->node, NODE_OUTPUT);
    put_text(&file->node, NODE_OP_TYPE, op_type);
}

void onnx_node(onnx_file *file, const char *op_type, const char *inputs, const char *outputs)
{
    onnx_unnamed_node(file, op_type, inputs, outputs);
    put_text(&file->node, NODE_NAME, outputs);
}

void onnx_attribute_int(onnx_file *file, const char *name, int64_t value)
{
    onnxd_strbuf attribute = fresh();
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_int(&attribute, ATTRIBUTE_I, value);
    put_int(&attribute, ATTRIBUTE_TYPE, 2);
    put_message(&file->node, NODE_ATTRIBUTE, &attribute);
}

void onnx_attribute_text(onnx_file *file, const char *name, const char *text)
{
    onnxd_strbuf attribute = fresh();
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_text(&attribute, ATTRIBUTE_S, text);
    put_int(&attribute, ATTRIBUTE_TYPE, 3);
    put_message(&file->node, NODE_ATTRIBUTE, &attribute);
}

void onnx_attribute_ints(onnx_file *file, const char *name, size_t count, const int64_t *values)
{
    onnxd_strbuf attribute = fresh();
    put_text(&attribute, ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < count; i++)
        put_int(&attribute, ATTRIBUTE_INTS, values[i]);
    put_int(&attribute, ATTRIBUTE_TYPE, 7);
    put_message(&file->node, NODE_ATTRIBUTE, &attribute);
}

static void put_tensor_dim(onnxd_strbuf *out, unsigned field, const char *item)
{
    put_int(out, field, strtoll(item, NULL, 10));
}

static void put_tensor(onnx_file *file, const char *name, onnxd_dtype dtype, const char *dims,
                       const void *data, size_t bytes)
{
    onnxd_strbuf tensor = fresh();
    end_node(file);
    each(dims, put_tensor_dim, &tensor, TENSOR_DIMS);
    put_int(&tensor, TENSOR_DATA_TYPE, (int64_t)dtype);
    put_text(&tensor, TENSOR_NAME, name);
    put_bytes(&tensor, TENSOR_RAW_DATA, data, bytes);
    put_message(&file->graph, GRAPH_INITIALIZER, &tensor);
}

void onnx_floats(onnx_file *file, const char *name, const char *dims, size_t count,
                 const float *values)
{
    put_tensor(file, name, ONNXD_FLOAT, dims, values, count * sizeof(float));
}

void onnx_int64s(onnx_file *file, const char *name, const char *dims, size_t count,
                 const int64_t *values)
{
    put_tensor(file, name, ONNXD_INT64, dims, values, count * sizeof(int64_t));
}

void onnx_external_floats(onnx_file *file, const char *name, const char *dims, const char *location)
{
    onnxd_strbuf tensor = fresh(), entry = fresh();
    end_node(file);
    each(dims, put_tensor_dim, &tensor, TENSOR_DIMS);
    put_int(&tensor, TENSOR_DATA_TYPE, (int64_t)ONNXD_FLOAT);
    put_text(&tensor, TENSOR_NAME, name);
    put_text(&entry, ENTRY_KEY, "location");
    put_text(&entry, ENTRY_VALUE, location);
    put_message(&tensor, TENSOR_EXTERNAL_DATA, &entry);
    put_int(&tensor, TENSOR_DATA_LOCATION, 1);
    put_message(&file->graph, GRAPH_INITIALIZER, &tensor);
}

void onnx_file_write(onnx_file *file, const char *path)
{
    onnxd_strbuf model = fresh(), opset = fresh();
    end_node(file);
    put_int(&opset, OPSET_VERSION, OPSET);
    put_int(&model, MODEL_IR_VERSION, IR_VERSION);
    put_message(&model, MODEL_OPSET_IMPORT, &opset);
    put_message(&model, MODEL_GRAPH, &file->graph);
    cr_assert_not(model.failed);
    FILE *out = fopen(path, "wb");
    cr_assert_not_null(out, "cannot write %s", path);
    cr_assert_eq(fwrite(model.data, 1, model.length, out), model.length);
    cr_assert_eq(fclose(out), 0);
    onnxd_strbuf_deinit(&model);
}

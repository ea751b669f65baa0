#include "tests/graph/wire.h"

#include <criterion/criterion.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

void wire_init(wire *w)
{
    onnxd_strbuf_init(&w->bytes, MAX_BYTES);
    w->depth = 0;
}

void wire_deinit(wire *w)
{
    onnxd_strbuf_deinit(&w->bytes);
}

const uint8_t *wire_data(const wire *w)
{
    cr_assert(!w->bytes.failed && w->depth == 0);
    return (const uint8_t *)w->bytes.data;
}

size_t wire_size(const wire *w)
{
    return w->bytes.length;
}

static size_t encode(uint64_t value, uint8_t *out)
{
    size_t size = 0;
    do {
        out[size] = (uint8_t)(value & 0x7f);
        value >>= 7;
        if (value != 0)
            out[size] |= 0x80;
        size++;
    } while (value != 0);
    return size;
}

void wire_varint(wire *w, uint64_t value)
{
    uint8_t encoded[10];
    onnxd_strbuf_append(&w->bytes, encoded, encode(value, encoded));
}

void wire_tag(wire *w, uint32_t field, uint32_t wire_type)
{
    wire_varint(w, ((uint64_t)field << 3) | wire_type);
}

void wire_int(wire *w, uint32_t field, int64_t value)
{
    wire_tag(w, field, 0);
    wire_varint(w, (uint64_t)value);
}

void wire_bytes(wire *w, uint32_t field, const void *data, size_t size)
{
    wire_tag(w, field, 2);
    wire_varint(w, size);
    onnxd_strbuf_append(&w->bytes, data, size);
}

void wire_text(wire *w, uint32_t field, const char *text)
{
    wire_bytes(w, field, text, strlen(text));
}

void wire_begin(wire *w, uint32_t field)
{
    cr_assert(w->depth < WIRE_MAX_OPEN);
    wire_tag(w, field, 2);
    w->open[w->depth++] = w->bytes.length;
}

void wire_end(wire *w)
{
    uint8_t encoded[10];
    size_t start = w->open[--w->depth];
    size_t size = w->bytes.length - start;
    size_t prefix = encode(size, encoded);
    onnxd_strbuf_append(&w->bytes, encoded, prefix);
    cr_assert(!w->bytes.failed);
    memmove(w->bytes.data + start + prefix, w->bytes.data + start, size);
    memcpy(w->bytes.data + start, encoded, prefix);
}

void wire_opset(wire *w, const char *domain, int64_t version)
{
    wire_begin(w, MODEL_OPSET_IMPORT);
    wire_text(w, 1, domain);
    wire_int(w, 2, version);
    wire_end(w);
}

void wire_model_begin(wire *w)
{
    wire_int(w, MODEL_IR_VERSION, 8);
    wire_opset(w, "", 13);
    wire_begin(w, MODEL_GRAPH);
    wire_text(w, GRAPH_NAME, "g");
}

void wire_model_end(wire *w)
{
    wire_end(w);
}

void wire_value_info(wire *w, uint32_t field, const char *name, int32_t dtype, size_t rank,
                     const int64_t *dims)
{
    wire_begin(w, field);
    wire_text(w, 1, name);
    wire_begin(w, 2); /* TypeProto */
    wire_begin(w, 1); /* tensor_type */
    wire_int(w, 1, dtype);
    wire_begin(w, 2); /* shape */
    for (size_t i = 0; i < rank; i++) {
        wire_begin(w, 1);
        if (dims[i] == -2)
            wire_text(w, 2, "n");
        else if (dims[i] != -1)
            wire_int(w, 1, dims[i]);
        wire_end(w);
    }
    wire_end(w);
    wire_end(w);
    wire_end(w);
    wire_end(w);
}

void wire_names(wire *w, uint32_t field, const char *names)
{
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        wire_bytes(w, field, names, length);
        names += length + (names[length] == ',' ? 1 : 0);
    }
}

void wire_node_begin_in(wire *w, uint32_t field, const char *op_type, const char *name,
                        const char *inputs, const char *outputs)
{
    wire_begin(w, field);
    wire_names(w, NODE_INPUT, inputs);
    wire_names(w, NODE_OUTPUT, outputs);
    if (name[0] != '\0')
        wire_text(w, NODE_NAME, name);
    wire_text(w, NODE_OP_TYPE, op_type);
}

void wire_node_begin(wire *w, const char *op_type, const char *name, const char *inputs,
                     const char *outputs)
{
    wire_node_begin_in(w, GRAPH_NODE, op_type, name, inputs, outputs);
}

void wire_node(wire *w, const char *op_type, const char *name, const char *inputs,
               const char *outputs)
{
    wire_node_begin(w, op_type, name, inputs, outputs);
    wire_end(w);
}

void wire_tensor_header(wire *w, const char *name, int32_t dtype, size_t rank, const int64_t *dims)
{
    for (size_t i = 0; i < rank; i++)
        wire_int(w, TENSOR_DIMS, dims[i]);
    wire_int(w, TENSOR_DATA_TYPE, dtype);
    if (name[0] != '\0')
        wire_text(w, TENSOR_NAME, name);
}

void wire_raw_initializer(wire *w, const char *name, int32_t dtype, size_t rank,
                          const int64_t *dims, const void *data, size_t size)
{
    wire_begin(w, GRAPH_INITIALIZER);
    wire_tensor_header(w, name, dtype, rank, dims);
    wire_bytes(w, TENSOR_RAW_DATA, data, size);
    wire_end(w);
}

void wire_external(wire *w, const char *key, const char *value)
{
    wire_begin(w, TENSOR_EXTERNAL_DATA);
    wire_text(w, 1, key);
    wire_text(w, 2, value);
    wire_end(w);
}

void wire_attribute_int(wire *w, const char *name, int64_t value)
{
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, name);
    wire_int(w, ATTRIBUTE_I, value);
    wire_int(w, ATTRIBUTE_TYPE, 2);
    wire_end(w);
}

void wire_small_model(wire *w)
{
    static const int64_t dims[1] = {2};
    static const float weights[2] = {1.0f, 2.0f};
    wire_model_begin(w);
    wire_value_info(w, GRAPH_INPUT, "x", 1, 1, dims);
    wire_raw_initializer(w, "w", 1, 1, dims, weights, sizeof(weights));
    wire_node(w, "Add", "sum", "x,w", "s");
    wire_node(w, "Identity", "", "s", "y");
    wire_value_info(w, GRAPH_OUTPUT, "y", 1, 1, dims);
    wire_model_end(w);
}

/*
 * Writes protobuf's wire format, and ONNX models in it, one field at a time: enough to make both
 * sound models and broken ones without a protobuf library.
 */
#ifndef ONNXD_TESTS_GRAPH_WIRE_H
#define ONNXD_TESTS_GRAPH_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Field numbers of ModelProto and GraphProto that tests name. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET_IMPORT = 8,
    MODEL_TRAINING_INFO = 20,
    MODEL_FUNCTIONS = 25,
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_ATTRIBUTE = 6,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET_IMPORT = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTRIBUTE_PROTO = 11,
    FUNCTION_VALUE_INFO = 12,
    FUNCTION_OVERLOAD = 13,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE_INITIALIZER = 15,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TP = 14,
    ATTRIBUTE_TYPE_PROTOS = 15,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REF = 21,
    ATTRIBUTE_SPARSE_TENSOR = 22,
    ATTRIBUTE_SPARSE_TENSORS = 23,
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_FLOAT_DATA = 4,
    TENSOR_INT32_DATA = 5,
    TENSOR_STRING_DATA = 6,
    TENSOR_INT64_DATA = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_DOUBLE_DATA = 10,
    TENSOR_UINT64_DATA = 11,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14
};

#define WIRE_MAX_OPEN 400

typedef struct wire {
    onnxd_strbuf bytes;
    size_t open[WIRE_MAX_OPEN]; /* where the bodies of unfinished messages start */
    size_t depth;
} wire;

void wire_init(wire *w);
void wire_deinit(wire *w);
const uint8_t *wire_data(const wire *w);
size_t wire_size(const wire *w);

void wire_varint(wire *w, uint64_t value);
void wire_tag(wire *w, uint32_t field, uint32_t wire_type);
void wire_int(wire *w, uint32_t field, int64_t value);
void wire_bytes(wire *w, uint32_t field, const void *data, size_t size);
void wire_text(wire *w, uint32_t field, const char *text);
/* A nested message; its length is put in front at the end. */
void wire_begin(wire *w, uint32_t field);
void wire_end(wire *w);

/* IR version 8 and ai.onnx of opset 13, then an unfinished graph called "g". */
void wire_model_begin(wire *w);
void wire_model_end(wire *w);
void wire_opset(wire *w, const char *domain, int64_t version);
/* A ValueInfoProto in `field`; a dimension of -2 is the symbol "n", -1 is left empty. */
void wire_value_info(wire *w, uint32_t field, const char *name, int32_t dtype, size_t rank,
                     const int64_t *dims);
/* An unfinished node in `field`; names are separated by commas. */
void wire_node_begin_in(wire *w, uint32_t field, const char *op_type, const char *name,
                        const char *inputs, const char *outputs);
/* An unfinished node of a graph, for attributes. */
void wire_node_begin(wire *w, const char *op_type, const char *name, const char *inputs,
                     const char *outputs);
void wire_node(wire *w, const char *op_type, const char *name, const char *inputs,
               const char *outputs);
/* `field` once for each of the names, which are separated by commas. */
void wire_names(wire *w, uint32_t field, const char *names);
/* Name, type and dimensions of a TensorProto under way. */
void wire_tensor_header(wire *w, const char *name, int32_t dtype, size_t rank, const int64_t *dims);
/* A whole initializer with raw data. */
void wire_raw_initializer(wire *w, const char *name, int32_t dtype, size_t rank,
                          const int64_t *dims, const void *data, size_t size);
/* An external_data entry of a TensorProto under way. */
void wire_external(wire *w, const char *key, const char *value);
/* An INT attribute of a node under way. */
void wire_attribute_int(wire *w, const char *name, int64_t value);

/* x: float[2], w: float[2] = {1, 2}, y = Identity(Add(x, w)). */
void wire_small_model(wire *w);

#endif

/*
 * Small ONNX files for tests: a builder that appends protobuf fields. Failures fail the test.
 *
 *   onnx_file file = onnx_file_begin();
 *   onnx_input(&file, "x", ONNXD_FLOAT, "N,3");
 *   onnx_node(&file, "Relu", "x", "y");
 *   onnx_output(&file, "y", ONNXD_FLOAT, "N,3");
 *   onnx_file_write(&file, path);    // ends it
 */
#ifndef ONNXD_TESTS_MODEL_ONNX_FILE_H
#define ONNXD_TESTS_MODEL_ONNX_FILE_H

#include "base/dtype.h"
#include "base/strbuf.h"

typedef struct onnx_file {
    onnxd_strbuf graph;
    onnxd_strbuf node; /* open until the next node, input or the end: attributes go here */
    bool has_node;
} onnx_file;

onnx_file onnx_file_begin(void);
/* Dims are separated by commas; a number or a symbol's name; "" is a scalar. */
void onnx_input(onnx_file *file, const char *name, onnxd_dtype dtype, const char *dims);
void onnx_output(onnx_file *file, const char *name, onnxd_dtype dtype, const char *dims);
/* Names are separated by commas. The node's own name is `outputs`, or none. */
void onnx_node(onnx_file *file, const char *op_type, const char *inputs, const char *outputs);
void onnx_unnamed_node(onnx_file *file, const char *op_type, const char *inputs,
                       const char *outputs);
/* Attributes of the node added last. */
void onnx_attribute_int(onnx_file *file, const char *name, int64_t value);
void onnx_attribute_text(onnx_file *file, const char *name, const char *text);
void onnx_attribute_ints(onnx_file *file, const char *name, size_t count, const int64_t *values);
/* A constant with these dims. */
void onnx_floats(onnx_file *file, const char *name, const char *dims, size_t count,
                 const float *values);
void onnx_int64s(onnx_file *file, const char *name, const char *dims, size_t count,
                 const int64_t *values);
/* A constant whose values are the bytes of a file beside the model. */
void onnx_external_floats(onnx_file *file, const char *name, const char *dims,
                          const char *location);
void onnx_file_write(onnx_file *file, const char *path);

#endif

/*
 * Tensor data as JSON: text straight to elements and back, one row per data type.
 *
 * Strict: BOOL takes true and false only; integers take integer literals within the type's range;
 * floats take any number, NaN, Infinity and -Infinity, but no decimal beyond their range; FP16 and
 * BF16 are numbers too, rounded once; BYTES takes strings. Output is flat, floats in the shortest
 * form that reads back as the same value.
 *
 * Threads: any.
 */
#ifndef ONNXD_HTTP_TENSOR_JSON_H
#define ONNXD_HTTP_TENSOR_JSON_H

#include "base/json_reader.h"
#include "base/strbuf.h"
#include "base/tensor.h"
#include "http/fault.h"

typedef struct onnxd_http_tensor_target {
    onnxd_http_span name; /* of the input, for messages */
    onnxd_dtype dtype;
    onnxd_shape shape; /* static */
    size_t count;
    void *data; /* room for `count` elements */
    uint64_t max_string_bytes;
} onnxd_http_tensor_target;

/* Whether `count` elements can be written in `bytes` of JSON: what is checked before memory is
 * taken for them. */
bool onnxd_http_json_can_hold(onnxd_dtype dtype, size_t count, size_t bytes);

/* Reads the value that starts with `first`: nested to the shape, or flat. Strings are decoded in
 * place: elements point into the reader's text, which must be writable and outlive them.
 * Errors: INVALID_ARGUMENT naming the input and the element. */
ONNXD_NODISCARD onnxd_status *onnxd_http_tensor_from_json(onnxd_json_reader *reader,
                                                          const onnxd_json_token *first,
                                                          const onnxd_http_tensor_target *target);

/* Appends the elements of a contiguous host view as a flat JSON array.
 * Errors: PAYLOAD_TOO_LARGE beyond the buffer's maximum, OUT_OF_MEMORY, INVALID_ARGUMENT for
 * strings that are not UTF-8, UNIMPLEMENTED for types that the protocol has no name for. */
ONNXD_NODISCARD onnxd_status *onnxd_http_tensor_to_json(const onnxd_tensor_view *view,
                                                        const char *name, onnxd_strbuf *out);
/* What became of the appends to a JSON response: NULL, PAYLOAD_TOO_LARGE or OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_http_json_check(const onnxd_strbuf *out);

#endif

/*
 * Tensor data in the binary form of the protocol: little-endian elements without gaps; BOOL is one
 * byte, 0 or 1; a BYTES element is a four-byte length and that many bytes.
 *
 * Threads: any.
 */
#ifndef ONNXD_HTTP_TENSOR_BINARY_H
#define ONNXD_HTTP_TENSOR_BINARY_H

#include "base/strbuf.h"
#include "http/tensor_json.h"

/* Whether `count` elements can lie in `bytes`: exactly, but for BYTES, which need at least their
 * lengths. Checked before memory is taken for them. */
bool onnxd_http_binary_can_hold(onnxd_dtype dtype, size_t count, size_t bytes);

/* `blob` holds exactly the tensor. Strings point into it.
 * Errors: INVALID_ARGUMENT naming the input and the element. */
ONNXD_NODISCARD onnxd_status *onnxd_http_tensor_from_binary(const onnxd_http_tensor_target *target,
                                                            onnxd_http_span blob);

/* Bytes of a contiguous host view in binary form. False when that does not fit. */
ONNXD_NODISCARD bool onnxd_http_binary_bytes(const onnxd_tensor_view *view, size_t *out_bytes);
/* Appends the strings of a contiguous BYTES view. A string beyond 2^32 - 1 bytes, or memory short:
 * the buffer has failed. */
void onnxd_http_strings_to_binary(const onnxd_tensor_view *view, onnxd_strbuf *out);

#endif

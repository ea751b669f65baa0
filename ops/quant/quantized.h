/*
 * Elements of quantised tensors, a chunk at a time: reading any type as floats or integers, and
 * rounding floats to a quantised type.
 */
#ifndef ONNXD_OPS_QUANT_QUANTIZED_H
#define ONNXD_OPS_QUANT_QUANTIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/convert.h"

/* Elements per call; every chunk of a packed type begins at a byte. */
#define ONNXD_QUANT_CHUNK ONNXD_WIDE_CHUNK

/* Integers of at most 16 bits that hold quantised values, packed ones among them. */
bool onnxd_quant_is_integer(onnxd_dtype dtype);

/* Elements [first, first + count) of `data`, count <= ONNXD_QUANT_CHUNK. Floats: every type of at
 * most 32 bits, of which int32 and uint32 are rounded. Integers: the types of
 * onnxd_quant_is_integer() and int32. */
void onnxd_quant_read_floats(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                             float *out);
void onnxd_quant_read_integers(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                               int32_t *out);

/* values[i] + zero_points[i] as elements [first, first + count) of `data`, count <=
 * ONNXD_QUANT_CHUNK and for packed types `first` a multiple of 8. Integer types: the value is
 * rounded to nearest, ties to even, and the sum saturates; NaN gives the lowest number.
 * Floating-point types of at most 8 bits: the sum is rounded, and saturates by `saturates`. */
void onnxd_quant_store(onnxd_dtype dtype, const float *values, const float *zero_points,
                       size_t count, bool saturates, void *data, size_t first);
/* The same from sums of products: values are sums[i] * scales[i], in float. */
void onnxd_quant_store_sums(onnxd_dtype dtype, const int32_t *sums, const float *scales,
                            const float *zero_points, size_t count, bool saturates, void *data,
                            size_t first);

/* values[i] / scale + zero_point for a whole array. */
void onnxd_quant_store_all(onnxd_dtype dtype, const float *values, size_t count, float scale,
                           float zero_point, void *data);

/* The scale and zero point that spread the range of the values, to which 0 belongs, over that of
 * uint8, by the formulas of ONNX's DynamicQuantizeLinear. */
void onnxd_quant_choose(const float *values, size_t count, float *out_scale,
                        uint8_t *out_zero_point);

#endif

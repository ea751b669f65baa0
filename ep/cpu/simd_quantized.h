/*
 * Scales and zero points of quantised tensors, as inputs of operators have them. Files of this
 * folder only.
 */
#ifndef ONNXD_EP_CPU_SIMD_QUANTIZED_H
#define ONNXD_EP_CPU_SIMD_QUANTIZED_H

#include "ep/cpu/compute/integer_product.h"
#include "ep/cpu/simd.h"

/* Where an operator has an input that it lacks. */
#define ONNXD_ABSENT UINT32_MAX

/* The inputs of a product of quantised factors, by position. */
typedef struct onnxd_quantized_inputs {
    uint32_t a, a_scale, a_zero;
    uint32_t b, b_scale, b_zero;
    uint32_t y_scale, y_zero;
    uint32_t bias; /* INT32, added to the sums; FLOAT where the result is FLOAT */
} onnxd_quantized_inputs;

bool onnxd_is_bytes(onnxd_dtype dtype);
/* Whether the input is absent, or a tensor of one element and the type; with `columns` other than 0
 * it may be one for each of them too. */
bool onnxd_quantized_is_parameter(const onnxd_cpu_case *c, uint32_t index, onnxd_dtype dtype,
                                  int64_t columns);
/* Whether the kernels take the scales and zero points of a product of so many columns. */
bool onnxd_quantized_takes(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at,
                           int64_t columns);

/* What of an argument is given; NULL for an absent one. */
const onnxd_tensor_view *onnxd_quantized_view(const onnxd_kernel_args *args, uint32_t index);
/* A scale; 1 where it is absent. */
float onnxd_quantized_scale(const onnxd_kernel_args *args, uint32_t index);
/* The zero point of one element of a tensor of the type; 0 where it is absent. */
onnxd_simd_zero onnxd_quantized_zero(const onnxd_kernel_args *args, uint32_t index,
                                     onnxd_dtype dtype);
/* The byte itself. */
uint8_t onnxd_quantized_zero_byte(const onnxd_kernel_args *args, uint32_t index);
/* The range of a type less the zero point. */
onnxd_simd_range onnxd_quantized_range(const onnxd_kernel_args *args, uint32_t index,
                                       onnxd_dtype dtype);

/* Parameters of the columns of a product, of whole panels, in groups of equal length. */
typedef struct onnxd_quantized_columns {
    size_t groups, count, padded; /* columns of a group, and rounded up to whole panels */
    float *factors, *bias;
    int32_t *addends;
    int16_t *zeros; /* of B, each twice */
} onnxd_quantized_columns;

/* Elements of each array. False when they do not fit. */
bool onnxd_quantized_columns_bytes(const onnxd_simd *simd, size_t groups, size_t count,
                                   size_t *out_bytes);
/* In scratch of so many bytes; fills in the arrays by the arguments. `alpha` is one factor more.
 * Those that are not needed are NULL, factors of INT32 results too. `column_sums` of B,
 * [groups][count], where the zero point `a_zero` is to be taken off the sums; else NULL. */
onnxd_quantized_columns
onnxd_quantized_columns_of(const onnxd_simd *simd, const onnxd_kernel_args *args,
                           const onnxd_quantized_inputs *at, size_t groups, size_t count,
                           float alpha, const int32_t *column_sums, uint8_t a_zero, void *scratch);
/* Whether weights may be multiplied as fours of bytes (compute/integer_product.h): A is UINT8, B
 * INT8 without zero points, as far as types and constants tell. */
bool onnxd_quantized_allows_fours(const onnxd_cpu_case *c, const onnxd_quantized_inputs *at);
/* What the columns make of sums. */
onnxd_simd_integer_post onnxd_quantized_post(const onnxd_quantized_columns *columns,
                                             const onnxd_kernel_args *args,
                                             const onnxd_quantized_inputs *at);

#endif

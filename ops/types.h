/*
 * Element types for operator definitions and kernels.
 *
 * Type sets follow the opset in which ONNX admitted a type: ..._1 is what opset 1 had, and so on.
 * The EACH macros make one kernel per type from one body; a kernel macro is
 *
 *   #define KERNEL(op, id, T, C, LOAD, STORE) ...
 *   ONNXD_EACH_FLOAT(KERNEL, exp)
 *
 * with T the type in memory, C the type computed in, LOAD(C, x) from T to C and STORE(T, x) back.
 */
#ifndef ONNXD_OPS_TYPES_H
#define ONNXD_OPS_TYPES_H

#include <stdint.h>

#include "base/dtype.h"

#define ONNXD_SET_FLOATS_1 (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE) | ONNXD_SET(FLOAT16))
#define ONNXD_SET_NUMBERS_1 (ONNXD_SET_FLOATS_1 | ONNXD_SET_INTEGERS)
#define ONNXD_SET_INDEX (ONNXD_SET(INT32) | ONNXD_SET(INT64))
#define ONNXD_SET_WIDE_INTEGERS (ONNXD_SET_INDEX | ONNXD_SET(UINT32) | ONNXD_SET(UINT64))
#define ONNXD_SET_FLOAT8                                                                           \
    (ONNXD_SET(FLOAT8E4M3FN) | ONNXD_SET(FLOAT8E4M3FNUZ) | ONNXD_SET(FLOAT8E5M2) |                 \
     ONNXD_SET(FLOAT8E5M2FNUZ))
#define ONNXD_SET_FLOAT6 (ONNXD_SET(FLOAT6E2M3) | ONNXD_SET(FLOAT6E3M2))
/* Types with less than a byte per element; ops/move.h has how kernels address them. */
#define ONNXD_SET_PACKED                                                                           \
    (ONNXD_SET(INT4) | ONNXD_SET(UINT4) | ONNXD_SET(FLOAT4E2M1) | ONNXD_SET(INT2) |                \
     ONNXD_SET(UINT2) | ONNXD_SET_FLOAT6)

/* "Any tensor", as the operators that move elements list it. */
#define ONNXD_SET_ANY_1                                                                            \
    (ONNXD_SET_NUMBERS_1 | ONNXD_SET(BOOL) | ONNXD_SET(STRING) | ONNXD_SET(COMPLEX64) |            \
     ONNXD_SET(COMPLEX128))
#define ONNXD_SET_ANY_13 (ONNXD_SET_ANY_1 | ONNXD_SET(BFLOAT16))
#define ONNXD_SET_ANY_19 (ONNXD_SET_ANY_13 | ONNXD_SET_FLOAT8)
#define ONNXD_SET_ANY_21 (ONNXD_SET_ANY_19 | ONNXD_SET(INT4) | ONNXD_SET(UINT4))
#define ONNXD_SET_ANY_23 (ONNXD_SET_ANY_21 | ONNXD_SET(FLOAT4E2M1))
#define ONNXD_SET_ANY_24 (ONNXD_SET_ANY_23 | ONNXD_SET(FLOAT8E8M0))
#define ONNXD_SET_ANY_25 (ONNXD_SET_ANY_24 | ONNXD_SET(INT2) | ONNXD_SET(UINT2))

/* The rows ROW(since, until, types) of an operator that takes any tensor, from opset 21 on. */
#define ONNXD_ROWS_ANY_21(ROW)                                                                     \
    ROW(21, 22, ONNXD_SET_ANY_21), ROW(23, 23, ONNXD_SET_ANY_23), ROW(24, 24, ONNXD_SET_ANY_24),   \
        ROW(25, ONNXD_OPSET_MAX, ONNXD_SET_ANY_25)

#define ONNXD_LOAD_PLAIN(C, x) ((C)(x))
#define ONNXD_STORE_PLAIN(T, x) ((T)(x))
#define ONNXD_LOAD_FLOAT16(C, x) onnxd_float16_to_float(x)
#define ONNXD_STORE_FLOAT16(T, x) onnxd_float_to_float16(x)
#define ONNXD_LOAD_BFLOAT16(C, x) onnxd_bfloat16_to_float(x)
#define ONNXD_STORE_BFLOAT16(T, x) onnxd_float_to_bfloat16(x)

#define ONNXD_EACH_FLOAT(X, op)                                                                    \
    X(op, FLOAT, float, float, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                                \
    X(op, DOUBLE, double, double, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                             \
    X(op, FLOAT16, uint16_t, float, ONNXD_LOAD_FLOAT16, ONNXD_STORE_FLOAT16)                       \
    X(op, BFLOAT16, uint16_t, float, ONNXD_LOAD_BFLOAT16, ONNXD_STORE_BFLOAT16)
#define ONNXD_EACH_SIGNED(X, op)                                                                   \
    X(op, INT8, int8_t, int8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                               \
    X(op, INT16, int16_t, int16_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, INT32, int32_t, int32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, INT64, int64_t, int64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define ONNXD_EACH_UNSIGNED(X, op)                                                                 \
    X(op, UINT8, uint8_t, uint8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                            \
    X(op, UINT16, uint16_t, uint16_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT32, uint32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT64, uint64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define ONNXD_EACH_INTEGER(X, op) ONNXD_EACH_SIGNED(X, op) ONNXD_EACH_UNSIGNED(X, op)
#define ONNXD_EACH_NUMBER(X, op) ONNXD_EACH_FLOAT(X, op) ONNXD_EACH_INTEGER(X, op)

/* Integers computed modulo 2^32 or 2^64 and cut to their width: sums, differences, products and
 * negations that wrap instead of being undefined. */
#define ONNXD_EACH_SIGNED_WRAPPING(X, op)                                                          \
    X(op, INT8, int8_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                             \
    X(op, INT16, int16_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                           \
    X(op, INT32, int32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                           \
    X(op, INT64, int64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
#define ONNXD_EACH_INTEGER_WRAPPING(X, op)                                                         \
    ONNXD_EACH_SIGNED_WRAPPING(X, op)                                                              \
    X(op, UINT8, uint8_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                           \
    X(op, UINT16, uint16_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT32, uint32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT64, uint64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)

/* An entry of a kernel table indexed by dtype: `static const kernel t[ONNXD_DTYPE_COUNT] = {
 * ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, exp)};` */
#define ONNXD_KERNEL_ENTRY(op, id, T, C, LOAD, STORE) [ONNXD_##id] = op##_##id,

/* Movement by element size; strings and complex128 are two words. */
typedef struct onnxd_words2 {
    uint64_t word[2];
} onnxd_words2;
#define ONNXD_EACH_SIZE(X)                                                                         \
    X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, onnxd_words2)

/* Before a loop whose iterations are independent, although pointers may be equal. clang has no hint
 * that does not warn where it cannot vectorise; it tests for overlap at run time instead. */
#if defined(__clang__)
#define ONNXD_VECTORIZE
#else
#define ONNXD_VECTORIZE _Pragma("GCC ivdep")
#endif

#endif

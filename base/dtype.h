/*
 * Tensor element types. The enumerators carry the numbers of ONNX's TensorProto.DataType, the
 * protocol names are those of the Open Inference Protocol v2 (NULL where it has none).
 */
#ifndef ONNXD_BASE_DTYPE_H
#define ONNXD_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* X(identifier, ONNX number, bits per element, ONNX name, protocol name) */
#define ONNXD_DTYPE_TABLE(X)                                                                       \
    X(UNDEFINED, 0, 0, "undefined", NULL)                                                          \
    X(FLOAT, 1, 32, "float", "FP32")                                                               \
    X(UINT8, 2, 8, "uint8", "UINT8")                                                               \
    X(INT8, 3, 8, "int8", "INT8")                                                                  \
    X(UINT16, 4, 16, "uint16", "UINT16")                                                           \
    X(INT16, 5, 16, "int16", "INT16")                                                              \
    X(INT32, 6, 32, "int32", "INT32")                                                              \
    X(INT64, 7, 64, "int64", "INT64")                                                              \
    X(STRING, 8, 128, "string", "BYTES")                                                           \
    X(BOOL, 9, 8, "bool", "BOOL")                                                                  \
    X(FLOAT16, 10, 16, "float16", "FP16")                                                          \
    X(DOUBLE, 11, 64, "double", "FP64")                                                            \
    X(UINT32, 12, 32, "uint32", "UINT32")                                                          \
    X(UINT64, 13, 64, "uint64", "UINT64")                                                          \
    X(COMPLEX64, 14, 64, "complex64", NULL)                                                        \
    X(COMPLEX128, 15, 128, "complex128", NULL)                                                     \
    X(BFLOAT16, 16, 16, "bfloat16", "BF16")                                                        \
    X(FLOAT8E4M3FN, 17, 8, "float8e4m3fn", NULL)                                                   \
    X(FLOAT8E4M3FNUZ, 18, 8, "float8e4m3fnuz", NULL)                                               \
    X(FLOAT8E5M2, 19, 8, "float8e5m2", NULL)                                                       \
    X(FLOAT8E5M2FNUZ, 20, 8, "float8e5m2fnuz", NULL)                                               \
    X(UINT4, 21, 4, "uint4", NULL)                                                                 \
    X(INT4, 22, 4, "int4", NULL)                                                                   \
    X(FLOAT4E2M1, 23, 4, "float4e2m1", NULL)                                                       \
    X(FLOAT8E8M0, 24, 8, "float8e8m0", NULL)                                                       \
    X(UINT2, 25, 2, "uint2", NULL)                                                                 \
    X(INT2, 26, 2, "int2", NULL)                                                                   \
    X(FLOAT6E2M3, 27, 6, "float6e2m3", NULL)                                                       \
    X(FLOAT6E3M2, 28, 6, "float6e3m2", NULL)

typedef enum onnxd_dtype {
#define ONNXD_DTYPE_ENUM(id, number, bits, onnx, protocol) ONNXD_##id = number,
    ONNXD_DTYPE_TABLE(ONNXD_DTYPE_ENUM)
#undef ONNXD_DTYPE_ENUM
        ONNXD_DTYPE_COUNT
} onnxd_dtype;

/* A set of types, bit n = the type with ONNX number n. */
typedef uint32_t onnxd_dtype_set;
#define ONNXD_SET(id) ((onnxd_dtype_set)1u << ONNXD_##id)

#define ONNXD_SET_FLOATS                                                                           \
    (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE) | ONNXD_SET(FLOAT16) | ONNXD_SET(BFLOAT16))
#define ONNXD_SET_SIGNED (ONNXD_SET(INT8) | ONNXD_SET(INT16) | ONNXD_SET(INT32) | ONNXD_SET(INT64))
#define ONNXD_SET_UNSIGNED                                                                         \
    (ONNXD_SET(UINT8) | ONNXD_SET(UINT16) | ONNXD_SET(UINT32) | ONNXD_SET(UINT64))
#define ONNXD_SET_INTEGERS (ONNXD_SET_SIGNED | ONNXD_SET_UNSIGNED)
#define ONNXD_SET_NUMBERS (ONNXD_SET_FLOATS | ONNXD_SET_INTEGERS)
/* Every type that the protocol can carry: the numbers, BOOL and BYTES. */
#define ONNXD_SET_PROTOCOL (ONNXD_SET_NUMBERS | ONNXD_SET(BOOL) | ONNXD_SET(STRING))
/* Every type of at least one whole byte per element, strings included. */
#define ONNXD_SET_WHOLE_BYTES                                                                      \
    (ONNXD_SET_PROTOCOL | ONNXD_SET(COMPLEX64) | ONNXD_SET(COMPLEX128) | ONNXD_SET(FLOAT8E4M3FN) | \
     ONNXD_SET(FLOAT8E4M3FNUZ) | ONNXD_SET(FLOAT8E5M2) | ONNXD_SET(FLOAT8E5M2FNUZ) |               \
     ONNXD_SET(FLOAT8E8M0))

/* One element of a STRING tensor in host memory: bytes, not necessarily UTF-8, no NUL at the end.
 * The bytes are borrowed: from the request body, a model constant or the run's string arena. An
 * element with size 0 may have a NULL data pointer. */
typedef struct onnxd_string {
    const char *data;
    size_t size;
} onnxd_string;

/* 0 for UNDEFINED and for numbers that are no type. */
unsigned onnxd_dtype_bits(onnxd_dtype dtype);
/* Whole bytes per element, 0 for the packed types (int4, int2, float4, float6) and UNDEFINED. */
size_t onnxd_dtype_size(onnxd_dtype dtype);
/* Bytes of `count` elements. Packed types are a stream of bits, the first element lowest, rounded
 * up to a byte. False on overflow or a bad type. */
ONNXD_NODISCARD bool onnxd_dtype_bytes(onnxd_dtype dtype, size_t count, size_t *out_bytes);
/* ONNX's name ("float"); "invalid" for a number that is no type. */
const char *onnxd_dtype_name(onnxd_dtype dtype);
/* "float, double": the names of a set's types into `buffer`, as many as fit; returns `buffer`. */
#define ONNXD_DTYPE_SET_TEXT 512 /* room for all */
const char *onnxd_dtype_set_format(onnxd_dtype_set set, char *buffer, size_t capacity);
/* The protocol's name ("FP32"), NULL where it has none. */
const char *onnxd_dtype_protocol_name(onnxd_dtype dtype);
/* ONNXD_UNDEFINED when unknown; exact, case matters. */
onnxd_dtype onnxd_dtype_from_protocol_name(const char *name, size_t length);
/* ONNXD_UNDEFINED when out of range. */
onnxd_dtype onnxd_dtype_from_onnx(int64_t number);

/* IEEE 754 binary16 and bfloat16 as raw bits. Rounds to nearest, ties to even; NaN stays NaN. */
float onnxd_float16_to_float(uint16_t bits);
uint16_t onnxd_float_to_float16(float value);
uint16_t onnxd_double_to_float16(double value); /* one rounding, not two */
static inline float onnxd_bfloat16_to_float(uint16_t bits)
{
    union {
        uint32_t u;
        float f;
    } word = {.u = (uint32_t)bits << 16};
    return word.f;
}
uint16_t onnxd_float_to_bfloat16(float value);

#endif

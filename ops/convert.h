/*
 * Conversion between element types by way of a wide form that holds every number of every type: a
 * double, an int64 or a uint64. Kernels convert a chunk at a time, so a pair of types needs no code
 * of its own.
 *
 * Numbers that the target cannot hold: integers keep their low bits. A floating-point number that
 * is out of range or NaN becomes what x86's conversion instructions make of it, which is what other
 * runtimes return: the smallest int32 or int64, and the low bits of that for narrower types.
 */
#ifndef ONNXD_OPS_CONVERT_H
#define ONNXD_OPS_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "graph/op.h"

typedef enum onnxd_wide_kind {
    ONNXD_WIDE_FLOAT,
    ONNXD_WIDE_SIGNED,
    ONNXD_WIDE_UNSIGNED
} onnxd_wide_kind;

typedef union onnxd_wide {
    double f;
    int64_t i;
    uint64_t u;
} onnxd_wide;

/* Elements per chunk; a multiple of 8, so that in every packed type each begins at a byte. */
#define ONNXD_WIDE_CHUNK 256

/* How to round to the types of a byte or less that cannot hold most numbers. */
typedef struct onnxd_rounding {
    bool saturates; /* float8: beyond the largest number is that number, not infinity or NaN */
    enum { ONNXD_ROUND_UP, ONNXD_ROUND_DOWN, ONNXD_ROUND_NEAREST } scale_mode; /* float8e8m0 */
} onnxd_rounding;

/* Every type but STRING, complex and UNDEFINED has a wide form. */
bool onnxd_wide_has(onnxd_dtype dtype);
onnxd_wide_kind onnxd_wide_kind_of(onnxd_dtype dtype);
/* Elements [first, first + count) of `data`; of types of a byte or less at most a chunk. */
void onnxd_wide_load(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                     onnxd_wide *out);
/* The reverse; `kind` says what `in` holds. In packed types the rest of the last byte becomes 0. */
void onnxd_wide_store(onnxd_dtype dtype, onnxd_wide_kind kind, const onnxd_wide *in, size_t count,
                      const onnxd_rounding *rounding, void *data, size_t first);

/* A number as text: integers in decimal, floating-point numbers with up to 8 significant digits
 * ("%.8g"), NaN, INF and -INF. Returns the length; `buffer` holds ONNXD_WIDE_TEXT bytes. */
#define ONNXD_WIDE_TEXT 32
size_t onnxd_wide_format(onnxd_wide_kind kind, onnxd_wide value, char *buffer);
/* The reverse, with blanks around the number allowed: a decimal number with or without fraction and
 * exponent, or "inf", "infinity" or "nan" in any case, with or without a sign. `kind` in: the kind
 * wanted; out: what it is, since a number with a fraction stays a float for the store to cut.
 * False when the text is no number, or one beyond the range of the wide form. */
bool onnxd_wide_parse(const onnxd_string *text, onnxd_wide_kind *inout_kind, onnxd_wide *out_value);

/* A small floating-point format: sign, exponent and fraction bits as raw number, in both
 * directions. For FLOAT8..., FLOAT6..., FLOAT4E2M1 and FLOAT8E8M0. */
double onnxd_small_float_load(onnxd_dtype dtype, uint8_t bits);
uint8_t onnxd_small_float_store(onnxd_dtype dtype, double value, const onnxd_rounding *rounding);

#endif

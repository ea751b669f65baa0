/*
 * Numbers as text, strict and exact. Grammar: RFC 8259's number, plus the tokens NaN, Infinity and
 * -Infinity for floats (what Triton's JSON accepts and emits).
 *
 * All parsers read text[0..length) and need all of it to match; false otherwise, *out unchanged.
 */
#ifndef ONNXD_BASE_NUMBER_H
#define ONNXD_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Decimal digits with an optional '-' (signed only); no '+', no leading zeros, no fraction. Out of
 * range is false. */
ONNXD_NODISCARD bool onnxd_parse_i64(const char *text, size_t length, int64_t *out);
ONNXD_NODISCARD bool onnxd_parse_u64(const char *text, size_t length, uint64_t *out);
/* Correctly rounded. A finite decimal beyond the type's range is false (1e400 is an error, not
 * infinity); underflow goes to the nearest denormal or zero. */
ONNXD_NODISCARD bool onnxd_parse_f64(const char *text, size_t length, double *out);
ONNXD_NODISCARD bool onnxd_parse_f32(const char *text, size_t length, float *out);

/* The shortest decimal that reads back as the same value, as JSON ("1.1", "1e-45", "-0.0", "NaN").
 * Returns the length; no NUL. `buffer` holds at least ONNXD_NUMBER_TEXT bytes. */
#define ONNXD_NUMBER_TEXT 32
size_t onnxd_format_f64(char *buffer, double value);
size_t onnxd_format_f32(char *buffer, float value);
size_t onnxd_format_i64(char *buffer, int64_t value);
size_t onnxd_format_u64(char *buffer, uint64_t value);

#endif

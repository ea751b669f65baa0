/*
 * The correctly rounded conversions behind number.c, from C++'s <charconv>. Callers check the
 * grammar: text[0..length) is a finite number after RFC 8259.
 */
#ifndef ONNXD_BASE_NUMBER_CONVERT_H
#define ONNXD_BASE_NUMBER_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* False, *out unchanged, when the value overflows or rounds to zero. */
bool onnxd_convert_to_f64(const char *text, size_t length, double *out);
bool onnxd_convert_to_f32(const char *text, size_t length, float *out);

/* The shortest digits that read back as `value`, which is finite; returns the length, at most
 * `capacity`. `capacity` is at least 24 (17 digits, sign, point and exponent). */
size_t onnxd_convert_from_f64(char *buffer, size_t capacity, double value);
size_t onnxd_convert_from_f32(char *buffer, size_t capacity, float value);

#ifdef __cplusplus
}
#endif

#endif

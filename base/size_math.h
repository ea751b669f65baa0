/* Checked arithmetic for sizes. All size computations on input go through these; false means the
 * result does not fit and *out is unchanged. */
#ifndef ONNXD_BASE_SIZE_MATH_H
#define ONNXD_BASE_SIZE_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

ONNXD_NODISCARD static inline bool onnxd_size_add(size_t a, size_t b, size_t *out)
{
    size_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *out = result;
    return true;
}

ONNXD_NODISCARD static inline bool onnxd_size_mul(size_t a, size_t b, size_t *out)
{
    size_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *out = result;
    return true;
}

/* Rounds up to a multiple of `alignment`, which must be a power of two (false otherwise). */
ONNXD_NODISCARD static inline bool onnxd_size_align(size_t size, size_t alignment, size_t *out)
{
    size_t sum;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        return false;
    if (__builtin_add_overflow(size, alignment - 1, &sum))
        return false;
    *out = sum & ~(alignment - 1);
    return true;
}

ONNXD_NODISCARD static inline bool onnxd_i64_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *out = result;
    return true;
}

ONNXD_NODISCARD static inline bool onnxd_i64_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *out = result;
    return true;
}

#endif

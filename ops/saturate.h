/*
 * Floating-point numbers as integers: cut towards zero, the nearest number of the type where they
 * are out of range, 0 for NaN. onnxd_saturate_<type>, so that a macro with the type at hand finds
 * its function.
 */
#ifndef ONNXD_OPS_SATURATE_H
#define ONNXD_OPS_SATURATE_H

#include <stdint.h>

/* `high` is the smallest double beyond the range. A NaN fails both comparisons. */
#define ONNXD_SATURATE(T, lowest, highest, high)                                                   \
    static inline T onnxd_saturate_##T(double value)                                               \
    {                                                                                              \
        if (!(value < (high)))                                                                     \
            return value >= (high) ? (highest) : 0;                                                \
        return value > (double)(lowest) ? (T)value : (lowest);                                     \
    }
ONNXD_SATURATE(int32_t, INT32_MIN, INT32_MAX, 0x1p31)
ONNXD_SATURATE(int64_t, INT64_MIN, INT64_MAX, 0x1p63)
ONNXD_SATURATE(uint32_t, 0, UINT32_MAX, 0x1p32)
ONNXD_SATURATE(uint64_t, 0, UINT64_MAX, 0x1p64)
#undef ONNXD_SATURATE

#endif

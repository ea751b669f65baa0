/* Elements of a resampling to the type that sums are made in, and back. */
#include <math.h>
#include <string.h>

#include "ops/image/resample.h"
#include "ops/real.h"

bool onnxd_resample_is_wide(onnxd_dtype dtype)
{
    return dtype == ONNXD_DOUBLE || dtype == ONNXD_COMPLEX128 || dtype == ONNXD_INT32 ||
           dtype == ONNXD_INT64 || dtype == ONNXD_UINT32 || dtype == ONNXD_UINT64;
}

/* X(id, type in memory, type of sums, least, largest, largest + 1) */
#define EACH_INTEGER(X)                                                                            \
    X(INT8, int8_t, float, INT8_MIN, INT8_MAX, 0x1p7f)                                             \
    X(UINT8, uint8_t, float, 0, UINT8_MAX, 0x1p8f)                                                 \
    X(INT16, int16_t, float, INT16_MIN, INT16_MAX, 0x1p15f)                                        \
    X(UINT16, uint16_t, float, 0, UINT16_MAX, 0x1p16f)                                             \
    X(INT32, int32_t, double, INT32_MIN, INT32_MAX, 0x1p31)                                        \
    X(UINT32, uint32_t, double, 0, UINT32_MAX, 0x1p32)                                             \
    X(INT64, int64_t, double, INT64_MIN, INT64_MAX, 0x1p63)                                        \
    X(UINT64, uint64_t, double, 0, UINT64_MAX, 0x1p64)

#define CONVERT_INTEGER(id, T, C, least, largest, beyond)                                          \
    static void load_##id(const void *data, size_t count, void *out)                               \
    {                                                                                              \
        const T *in = data;                                                                        \
        C *values = out;                                                                           \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = (C)in[i];                                                                  \
    }                                                                                              \
    static void store_##id(const void *values, size_t count, bool rounds, void *out_data)          \
    {                                                                                              \
        const C *in = values;                                                                      \
        T *out = out_data;                                                                         \
        for (size_t i = 0; i < count; i++) {                                                       \
            C value = rounds ? (C)rint((double)in[i]) : in[i];                                     \
            out[i] =                                                                               \
                value >= (beyond) ? (T)(largest) : (value > (C)(least) ? (T)value : (T)(least));   \
        }                                                                                          \
    }
EACH_INTEGER(CONVERT_INTEGER)

static void store_BOOL(const void *values, size_t count, bool rounds, void *out_data)
{
    const float *in = values;
    uint8_t *out = out_data;
    (void)rounds;
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] != 0;
}

typedef struct conversion {
    void (*load)(const void *data, size_t count, void *out);
    void (*store)(const void *values, size_t count, bool rounds, void *out_data);
} conversion;

#define CONVERSION(id, T, C, least, largest, beyond) [ONNXD_##id] = {load_##id, store_##id},
static const conversion conversions[ONNXD_DTYPE_COUNT] = {
    EACH_INTEGER(CONVERSION)[ONNXD_BOOL] = {load_UINT8, store_BOOL},
};

void onnxd_resample_load(onnxd_dtype dtype, const void *data, size_t count, void *out)
{
    if (onnxd_real_is_half(dtype))
        onnxd_real_widen(dtype, data, count, out);
    else
        conversions[dtype].load(data, count, out);
}

void onnxd_resample_store(onnxd_dtype dtype, const void *values, size_t count, bool rounds,
                          void *out_data)
{
    if (onnxd_real_is_half(dtype))
        onnxd_real_narrow(dtype, values, count, out_data);
    else
        conversions[dtype].store(values, count, rounds, out_data);
}

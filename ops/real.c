#include "ops/real.h"

double onnxd_real_load(onnxd_dtype dtype, const void *data, size_t index)
{
    switch (dtype) {
    case ONNXD_FLOAT:
        return (double)((const float *)data)[index];
    case ONNXD_DOUBLE:
        return ((const double *)data)[index];
    case ONNXD_FLOAT16:
        return (double)onnxd_float16_to_float(((const uint16_t *)data)[index]);
    default:
        return (double)onnxd_bfloat16_to_float(((const uint16_t *)data)[index]);
    }
}

void onnxd_real_store(onnxd_dtype dtype, void *data, size_t index, double value)
{
    switch (dtype) {
    case ONNXD_FLOAT:
        ((float *)data)[index] = (float)value;
        break;
    case ONNXD_DOUBLE:
        ((double *)data)[index] = value;
        break;
    case ONNXD_FLOAT16:
        ((uint16_t *)data)[index] = onnxd_double_to_float16(value);
        break;
    default:
        ((uint16_t *)data)[index] = onnxd_float_to_bfloat16((float)value);
        break;
    }
}

void onnxd_real_widen(onnxd_dtype dtype, const void *data, size_t count, float *out)
{
    const uint16_t *bits = data;
    if (dtype == ONNXD_FLOAT16) {
        for (size_t i = 0; i < count; i++)
            out[i] = onnxd_float16_to_float(bits[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = onnxd_bfloat16_to_float(bits[i]);
    }
}

void onnxd_real_narrow(onnxd_dtype dtype, const float *values, size_t count, void *out_data)
{
    uint16_t *bits = out_data;
    if (dtype == ONNXD_FLOAT16) {
        for (size_t i = 0; i < count; i++)
            bits[i] = onnxd_float_to_float16(values[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            bits[i] = onnxd_float_to_bfloat16(values[i]);
    }
}

#define COPY(to, to_at, to_type, from, from_at, from_type, convert)                                \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++)                                                         \
            ((to_type *)(to))[(to_at) + i] =                                                       \
                (to_type)convert(((const from_type *)(from))[(from_at) + i]);                      \
        return;                                                                                    \
    } while (0)

#define ROW_FUNCTIONS(T, narrow_to_float16, narrow_to_bfloat16)                                    \
    void onnxd_real_read_##T(onnxd_dtype dtype, const void *data, size_t first, size_t count,      \
                             T *out)                                                               \
    {                                                                                              \
        switch (dtype) {                                                                           \
        case ONNXD_FLOAT:                                                                          \
            COPY(out, 0, T, data, first, float, );                                                 \
        case ONNXD_DOUBLE:                                                                         \
            COPY(out, 0, T, data, first, double, );                                                \
        case ONNXD_FLOAT16:                                                                        \
            COPY(out, 0, T, data, first, uint16_t, onnxd_float16_to_float);                        \
        default:                                                                                   \
            COPY(out, 0, T, data, first, uint16_t, onnxd_bfloat16_to_float);                       \
        }                                                                                          \
    }                                                                                              \
    void onnxd_real_write_##T(onnxd_dtype dtype, const T *values, size_t count, void *out_data,    \
                              size_t first)                                                        \
    {                                                                                              \
        switch (dtype) {                                                                           \
        case ONNXD_FLOAT:                                                                          \
            COPY(out_data, first, float, values, 0, T, );                                          \
        case ONNXD_DOUBLE:                                                                         \
            COPY(out_data, first, double, values, 0, T, );                                         \
        case ONNXD_FLOAT16:                                                                        \
            COPY(out_data, first, uint16_t, values, 0, T, narrow_to_float16);                      \
        default:                                                                                   \
            COPY(out_data, first, uint16_t, values, 0, T, narrow_to_bfloat16);                     \
        }                                                                                          \
    }

static uint16_t double_to_bfloat16(double value)
{
    return onnxd_float_to_bfloat16((float)value);
}

ROW_FUNCTIONS(float, onnxd_float_to_float16, onnxd_float_to_bfloat16)
ROW_FUNCTIONS(double, onnxd_double_to_float16, double_to_bfloat16)

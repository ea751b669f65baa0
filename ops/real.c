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

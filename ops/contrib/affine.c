#include "ops/contrib/affine.h"

#include <inttypes.h>

#include "ops/quant/quantized.h"
#include "ops/support.h"

onnxd_status *onnxd_affine_check_input(const onnxd_infer *infer, uint32_t index)
{
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    const onnxd_shape *shape = &infer->inputs[index].shape;
    bool is_single = shape->rank <= 1;
    if (shape->rank == 1)
        is_single = !onnxd_dim_is_static(shape->dims[0]) || shape->dims[0] == 1;
    if (is_single)
        return NULL;
    char text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node, "input %" PRIu32 " has shape %s, it must be one element",
                          index, onnxd_shape_format(shape, text, sizeof(text)));
}

onnxd_status *onnxd_affine_check(const onnxd_infer *infer, uint32_t scale_index)
{
    ONNXD_TRY(onnxd_affine_check_input(infer, scale_index));
    return onnxd_affine_check_input(infer, scale_index + 1);
}

onnxd_affine onnxd_affine_of(const onnxd_compute *compute, uint32_t scale_index)
{
    const onnxd_tensor_view *scale = onnxd_compute_input(compute, scale_index);
    const onnxd_tensor_view *zero = onnxd_compute_input(compute, scale_index + 1);
    onnxd_affine affine = {.scale = 1};
    if (scale != NULL)
        onnxd_quant_read_floats(scale->dtype, onnxd_tensor_view_data(scale), 0, 1, &affine.scale);
    if (zero != NULL)
        onnxd_quant_read_integers(zero->dtype, onnxd_tensor_view_data(zero), 0, 1, &affine.zero);
    return affine;
}

#define READ_LOOP(T)                                                                               \
    {                                                                                              \
        const T *in = (const T *)data + first;                                                     \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (float)((int32_t)in[i * stride] - zero);                                      \
    }

void onnxd_affine_read(onnxd_dtype dtype, const onnxd_affine *affine, const void *data,
                       size_t first, size_t stride, size_t count, float *out)
{
    int32_t zero = affine->zero;
    if (dtype == ONNXD_INT8)
        READ_LOOP(int8_t)
    else
        READ_LOOP(uint8_t)
}

void onnxd_affine_write(onnxd_dtype dtype, const onnxd_affine *affine, const float *values,
                        size_t count, void *data, size_t first)
{
    onnxd_quant_store_all(dtype, values, count, affine->scale, (float)affine->zero,
                          (uint8_t *)data + first);
}

void onnxd_affine_zeros(const onnxd_affine *affine, float *zeros)
{
    for (size_t i = 0; i < ONNXD_QUANT_CHUNK; i++)
        zeros[i] = (float)affine->zero;
}

void onnxd_affine_map(onnxd_dtype from_dtype, const onnxd_affine *from, onnxd_dtype to_dtype,
                      const onnxd_affine *to, float (*function)(float x, const void *context),
                      const void *context, uint8_t map[256])
{
    uint8_t bits[256];
    float values[256];
    for (size_t i = 0; i < 256; i++)
        bits[i] = (uint8_t)i;
    onnxd_affine_read(from_dtype, from, bits, 0, 1, 256, values);
    for (size_t i = 0; i < 256; i++) {
        values[i] *= from->scale;
        if (function != NULL)
            values[i] = function(values[i], context);
    }
    onnxd_affine_write(to_dtype, to, values, 256, map, 0);
}

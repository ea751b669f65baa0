/*
 * Tensors of int8 or uint8 that are quantised as a whole: one scale and one zero point, inputs of
 * one element each,
 *
 *   real number = scale * (element - zero point).
 */
#ifndef ONNXD_OPS_CONTRIB_AFFINE_H
#define ONNXD_OPS_CONTRIB_AFFINE_H

#include "graph/op.h"

#define ONNXD_CONTRIB_BYTES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))

typedef struct onnxd_affine {
    float scale;
    int32_t zero; /* 0 where the input is absent */
} onnxd_affine;

/* INVALID_ARGUMENT when an input is not one element; and the same for a scale and the zero point
 * behind it. The inputs of a quantised tensor follow one another: data, scale, zero point; those of
 * an output are the last two. */
ONNXD_NODISCARD onnxd_status *onnxd_affine_check_input(const onnxd_infer *infer, uint32_t index);
ONNXD_NODISCARD onnxd_status *onnxd_affine_check(const onnxd_infer *infer, uint32_t scale_index);
onnxd_affine onnxd_affine_of(const onnxd_compute *compute, uint32_t scale_index);

/* element - zero point of `count` elements `stride` apart, as floats. */
void onnxd_affine_read(onnxd_dtype dtype, const onnxd_affine *affine, const void *data,
                       size_t first, size_t stride, size_t count, float *out);
/* Real numbers as elements [first, first + count) of `data`. */
void onnxd_affine_write(onnxd_dtype dtype, const onnxd_affine *affine, const float *values,
                        size_t count, void *data, size_t first);
/* The zero point ONNXD_QUANT_CHUNK times, as onnxd_quant_store() takes it. */
void onnxd_affine_zeros(const onnxd_affine *affine, float *zeros);

/* What becomes of each of the 256 elements of type `from_dtype`, by its bits, when its real number
 * goes through `function` (NULL: stays as it is) and is quantised again. */
void onnxd_affine_map(onnxd_dtype from_dtype, const onnxd_affine *from, onnxd_dtype to_dtype,
                      const onnxd_affine *to, float (*function)(float x, const void *context),
                      const void *context, uint8_t map[256]);

#endif

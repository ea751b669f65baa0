/*
 * Quantising whole tensors and the reverse, with a team.
 *
 * Threads: run by one thread and its team. Neither allocates nor fails.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_QUANTIZE_H
#define ONNXD_EP_CPU_COMPUTE_QUANTIZE_H

#include "ep/cpu/compute/team.h"
#include "ep/cpu/simd/simd.h"

/* What a loop over elements goes by; members as the kernels of simd.h take them. */
typedef struct onnxd_quantization {
    const onnxd_simd *simd;
    size_t count;
    float scale;
    onnxd_simd_range range; /* to quantise */
    onnxd_simd_zero zero;   /* to dequantise */
} onnxd_quantization;

void onnxd_quantize(const onnxd_quantization *quantization, onnxd_team *team, const float *in,
                    uint8_t *out);
void onnxd_dequantize(const onnxd_quantization *quantization, onnxd_team *team, const uint8_t *in,
                      float *out);

/* To UINT8, with the scale and zero point that ONNX's DynamicQuantizeLinear chooses. */
void onnxd_quantize_dynamically(const onnxd_simd *simd, onnxd_team *team, const float *in,
                                size_t count, uint8_t *out, float *out_scale,
                                uint8_t *out_zero_point);

/* sum->out of sum->a and sum->b. */
void onnxd_quantized_sum(const onnxd_simd *simd, onnxd_team *team,
                         const onnxd_simd_quantized_sum *sum);

#endif

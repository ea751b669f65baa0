/* What the implementations on the provider's own vector kernels share. Files of this folder only.
 */
#ifndef ONNXD_EP_CPU_SIMD_H
#define ONNXD_EP_CPU_SIMD_H

#include "ep/cpu/compute/window.h"
#include "ep/cpu/internal.h"
#include "ops/contrib/fused_activation.h"
#include "ops/window.h"

/* The vector kernels are switched on and every present tensor is FLOAT. */
bool onnxd_simd_takes(const onnxd_cpu_case *c);
/* The activation as the vector kernels have it. False when they lack it. */
bool onnxd_simd_activation_of(const onnxd_fused_activation *from, onnxd_simd_activation *out);
/* A window of static dims over images [N, D1 ... Dk, C]. `kernel` as for onnxd_window_resolve(). */
onnxd_image_window onnxd_simd_window_of(const onnxd_shape *image, const onnxd_window *window,
                                        const int64_t *kernel);
/* Whether the factors of a product of so many rows and constant weights are rounded to bfloat16. */
bool onnxd_simd_rounds(const onnxd_cpu_runtime *runtime, size_t rows, const onnxd_tensor *weights);
/* Names the kernel "simd:<what>:<level>". */
void onnxd_simd_name(onnxd_cpu_kernel *kernel, const char *what);
/* The same, with "_bf16" behind <what> where factors are rounded. */
void onnxd_simd_name_product(onnxd_cpu_kernel *kernel, const char *what, bool is_bf16);
/* The data of an argument; NULL for an absent one. */
float *onnxd_simd_input(const onnxd_kernel_args *args, uint32_t index);
float *onnxd_simd_output(const onnxd_kernel_args *args, uint32_t index);
/* The same of images channels-last whose pixels may have gaps between them. */
onnxd_pixels_in onnxd_simd_pixels_in(const onnxd_kernel_args *args, uint32_t index);
onnxd_pixels_out onnxd_simd_pixels_out(const onnxd_kernel_args *args, uint32_t index);

#endif

#include "ep/cpu/simd.h"

#include <stdio.h>

bool onnxd_simd_takes(const onnxd_cpu_case *c)
{
    if (!c->runtime->uses_vector_kernels)
        return false;
    for (uint32_t i = 0; i < c->query->input_count; i++)
        if (onnxd_cpu_has_input(c, i) && c->query->inputs[i].dtype != ONNXD_FLOAT)
            return false;
    for (uint32_t i = 0; i < c->query->output_count; i++)
        if (onnxd_cpu_has_output(c, i) && c->outputs[i].dtype != ONNXD_FLOAT)
            return false;
    return true;
}

/* A function of the recurrent operators. */
static bool scaled_of(const onnxd_activation *from, onnxd_simd_activation *out)
{
    *out = (onnxd_simd_activation){ONNXD_SIMD_IDENTITY, from->alpha, from->beta};
    switch (from->kind) {
    case ONNXD_ACTIVATION_RELU:
        out->function = ONNXD_SIMD_RELU;
        return true;
    case ONNXD_ACTIVATION_LEAKY_RELU:
        out->function = ONNXD_SIMD_LEAKY_RELU;
        return true;
    case ONNXD_ACTIVATION_HARD_SIGMOID:
        out->function = ONNXD_SIMD_HARD_SIGMOID;
        return true;
    case ONNXD_ACTIVATION_SIGMOID:
        out->function = ONNXD_SIMD_SIGMOID;
        return true;
    case ONNXD_ACTIVATION_TANH:
        out->function = ONNXD_SIMD_TANH;
        return true;
    default:
        return false;
    }
}

bool onnxd_simd_activation_of(const onnxd_fused_activation *from, onnxd_simd_activation *out)
{
    switch (from->kind) {
    case ONNXD_FUSED_NONE:
        *out = (onnxd_simd_activation){.function = ONNXD_SIMD_IDENTITY};
        return true;
    case ONNXD_FUSED_CLIP:
        *out = (onnxd_simd_activation){ONNXD_SIMD_CLIP, from->low, from->high};
        return true;
    case ONNXD_FUSED_HARD_SWISH:
        *out = (onnxd_simd_activation){ONNXD_SIMD_HARD_SWISH, 1.0f / 6, 0.5f};
        return true;
    case ONNXD_FUSED_SCALED_HARD_SWISH:
        *out = (onnxd_simd_activation){ONNXD_SIMD_SCALED_HARD_SWISH, from->function.alpha,
                                       from->function.beta};
        return true;
    case ONNXD_FUSED_SWISH:
        *out = (onnxd_simd_activation){ONNXD_SIMD_SILU, from->function.alpha, 0};
        return true;
    case ONNXD_FUSED_GELU:
        *out = (onnxd_simd_activation){.function = ONNXD_SIMD_GELU};
        return true;
    case ONNXD_FUSED_SCALED:
        return from->before == 1 && from->after == 1 && scaled_of(&from->function, out);
    }
    return false;
}

onnxd_image_window onnxd_simd_window_of(const onnxd_shape *image, const onnxd_window *window,
                                        const int64_t *kernel)
{
    const int32_t spatial = image->rank - 2;
    const onnxd_window_geometry g = onnxd_window_resolve(window, spatial, image->dims + 1, kernel);
    onnxd_image_window result = {.batch = (size_t)image->dims[0],
                                 .channels = (size_t)image->dims[image->rank - 1]};
    for (int d = 0; d < 3; d++) {
        result.in[d] = g.in[d];
        result.out[d] = g.out[d];
        result.kernel[d] = g.kernel[d];
        result.stride[d] = g.stride[d];
        result.dilation[d] = g.dilation[d];
        result.pad_begin[d] = g.pad_begin[d];
        result.pad_end[d] = g.pad_end[d];
    }
    return result;
}

bool onnxd_simd_rounds(const onnxd_cpu_runtime *runtime, size_t rows, const onnxd_tensor *weights)
{
    return rows > 0 && rows <= runtime->bf16.rows && weights->count / rows >= runtime->bf16.weights;
}

void onnxd_simd_name_product(onnxd_cpu_kernel *kernel, const char *what, bool is_bf16)
{
    snprintf(kernel->name, sizeof(kernel->name), "simd:%s%s:%s", what, is_bf16 ? "_bf16" : "",
             onnxd_simd_level_name(kernel->runtime->simd->level));
    kernel->base.implementation = kernel->name;
}

void onnxd_simd_name(onnxd_cpu_kernel *kernel, const char *what)
{
    onnxd_simd_name_product(kernel, what, false);
}

float *onnxd_simd_input(const onnxd_kernel_args *args, uint32_t index)
{
    if (index >= args->input_count || !onnxd_tensor_view_is_present(&args->inputs[index]))
        return NULL;
    return onnxd_tensor_view_data(&args->inputs[index]);
}

float *onnxd_simd_output(const onnxd_kernel_args *args, uint32_t index)
{
    return onnxd_tensor_view_data(&args->outputs[index]);
}

/* The kernel's check of its arguments has found one. */
static size_t pitch_of(const onnxd_tensor_view *view)
{
    size_t pitch = 0;
    return onnxd_tensor_view_pitch(view, &pitch) ? pitch : 0;
}

onnxd_pixels_in onnxd_simd_pixels_in(const onnxd_kernel_args *args, uint32_t index)
{
    return (onnxd_pixels_in){onnxd_simd_input(args, index), pitch_of(&args->inputs[index])};
}

onnxd_pixels_out onnxd_simd_pixels_out(const onnxd_kernel_args *args, uint32_t index)
{
    return (onnxd_pixels_out){onnxd_simd_output(args, index), pitch_of(&args->outputs[index])};
}

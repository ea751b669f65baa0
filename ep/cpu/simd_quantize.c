/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of whole tensors, and QLinearAdd of
 * tensors of one shape. */
#include <string.h>

#include "ep/cpu/compute/quantize.h"
#include "ep/cpu/simd_quantized.h"
#include "ops/quant/scales.h"

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

/* The kernels go by the shapes of their arguments. */
static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    (void)c;
    onnxd_simd_name(kernel, "quantize");
    return NULL;
}

/* ---- from and to real numbers ---------------------------------------------------------------- */

enum { INPUT, SCALE, ZERO };

/* One scale for all, and no numbers of other precisions. */
static bool takes_scale(const onnxd_cpu_case *c, onnxd_dtype bytes)
{
    const onnxd_scale_params *params = c->node->params;
    return c->runtime->uses_vector_kernels && onnxd_is_bytes(bytes) && params->block_size == 0 &&
           (params->precision == ONNXD_UNDEFINED || params->precision == ONNXD_FLOAT) &&
           onnxd_quantized_is_parameter(c, SCALE, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, ZERO, bytes, 0);
}

static bool takes_quantize(const onnxd_cpu_case *c)
{
    return c->query->inputs[INPUT].dtype == ONNXD_FLOAT && takes_scale(c, c->outputs[0].dtype);
}

static bool takes_dequantize(const onnxd_cpu_case *c)
{
    return c->outputs[0].dtype == ONNXD_FLOAT && takes_scale(c, c->query->inputs[INPUT].dtype);
}

static onnxd_status *enqueue_quantize(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const onnxd_tensor_view *output = &args->outputs[0];
    const onnxd_quantization q = {.simd = kernel->runtime->simd,
                                  .count = onnxd_tensor_view_count(output),
                                  .scale = onnxd_quantized_scale(args, SCALE),
                                  .range = onnxd_quantized_range(args, ZERO, output->dtype)};
    onnxd_quantize(&q, kernel->runtime->team, onnxd_simd_input(args, INPUT),
                   onnxd_tensor_view_data(output));
    return NULL;
}

static onnxd_status *enqueue_dequantize(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const onnxd_tensor_view *input = &args->inputs[INPUT];
    const onnxd_quantization q = {.simd = kernel->runtime->simd,
                                  .count = onnxd_tensor_view_count(input),
                                  .scale = onnxd_quantized_scale(args, SCALE),
                                  .zero = onnxd_quantized_zero(args, ZERO, input->dtype)};
    onnxd_dequantize(&q, kernel->runtime->team, onnxd_tensor_view_data(input),
                     onnxd_simd_output(args, 0));
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_quantize = {
    .name = "simd:quantize",
    .takes = takes_quantize,
    .make = make,
    .enqueue = enqueue_quantize,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

const onnxd_cpu_implementation onnxd_cpu_simd_dequantize = {
    .name = "simd:quantize",
    .takes = takes_dequantize,
    .make = make,
    .enqueue = enqueue_dequantize,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- by the data ----------------------------------------------------------------------------- */

static bool takes_dynamic(const onnxd_cpu_case *c)
{
    return c->runtime->uses_vector_kernels;
}

static void *output_data(const onnxd_kernel_args *args, uint32_t index)
{
    const onnxd_tensor_view *view = &args->outputs[index];
    return onnxd_tensor_view_is_present(view) ? onnxd_tensor_view_data(view) : NULL;
}

static onnxd_status *enqueue_dynamic(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    float scale;
    uint8_t zero;
    void *out_scale = output_data(args, 1), *out_zero = output_data(args, 2);
    onnxd_quantize_dynamically(
        kernel->runtime->simd, kernel->runtime->team, onnxd_simd_input(args, INPUT),
        onnxd_tensor_view_count(&args->inputs[INPUT]), output_data(args, 0), &scale, &zero);
    if (out_scale != NULL)
        memcpy(out_scale, &scale, sizeof(scale));
    if (out_zero != NULL)
        memcpy(out_zero, &zero, sizeof(zero));
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_dynamic_quantize = {
    .name = "simd:quantize",
    .takes = takes_dynamic,
    .make = make,
    .enqueue = enqueue_dynamic,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- sums ------------------------------------------------------------------------------------ */

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };

static bool are_equal(const onnxd_shape *a, const onnxd_shape *b)
{
    if (!onnxd_shape_is_static(a) || !onnxd_shape_is_static(b) || a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

static bool takes_sum(const onnxd_cpu_case *c)
{
    const onnxd_tensor_type *inputs = c->query->inputs;
    const onnxd_dtype dtype = inputs[A].dtype;
    return c->runtime->uses_vector_kernels && onnxd_is_bytes(dtype) &&
           are_equal(&inputs[A].shape, &inputs[B].shape) &&
           onnxd_quantized_is_parameter(c, A_SCALE, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, A_ZERO, dtype, 0) &&
           onnxd_quantized_is_parameter(c, B_SCALE, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, B_ZERO, dtype, 0) &&
           onnxd_quantized_is_parameter(c, C_SCALE, ONNXD_FLOAT, 0) &&
           onnxd_quantized_is_parameter(c, C_ZERO, dtype, 0);
}

static onnxd_status *enqueue_sum(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const onnxd_dtype dtype = args->inputs[A].dtype;
    const float c_scale = onnxd_quantized_scale(args, C_SCALE);
    const onnxd_simd_quantized_sum sum = {
        .a = onnxd_tensor_view_data(&args->inputs[A]),
        .b = onnxd_tensor_view_data(&args->inputs[B]),
        .out = onnxd_tensor_view_data(&args->outputs[0]),
        .count = onnxd_tensor_view_count(&args->outputs[0]),
        .a_zero = onnxd_quantized_zero(args, A_ZERO, dtype),
        .b_zero = onnxd_quantized_zero(args, B_ZERO, dtype),
        .a_factor = onnxd_quantized_scale(args, A_SCALE) / c_scale,
        .b_factor = onnxd_quantized_scale(args, B_SCALE) / c_scale,
        .range = onnxd_quantized_range(args, C_ZERO, dtype),
    };
    onnxd_quantized_sum(kernel->runtime->simd, kernel->runtime->team, &sum);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_quantized_sum = {
    .name = "simd:quantize",
    .takes = takes_sum,
    .make = make,
    .enqueue = enqueue_sum,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

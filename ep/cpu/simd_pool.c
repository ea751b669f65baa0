/* The pools of the domain onnxd: channels-last. */
#include <string.h>

#include "ep/cpu/simd_quantized.h"
#include "ops/layout/channels_last.h"

typedef struct pool_state {
    onnxd_image_window window;
    onnxd_pool_kind kind;
} pool_state;

static bool is_global(const onnxd_cpu_case *c)
{
    return strncmp(c->def->op_type, "Global", strlen("Global")) == 0;
}

static bool is_maximum(const onnxd_cpu_case *c)
{
    return strcmp(c->def->op_type, "MaxPool") == 0 || strcmp(c->def->op_type, "GlobalMaxPool") == 0;
}

/* One window that is the whole image. */
static onnxd_image_window whole_image(const onnxd_shape *image)
{
    const onnxd_window window = {.spatial = 0, .strides = {1, 1, 1}, .dilations = {1, 1, 1}};
    return onnxd_simd_window_of(image, &window, image->dims + 1);
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *image = &c->query->inputs[0].shape;
    const onnxd_pool_params *params = c->node->params;
    pool_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a pool", sizeof(*state), UINT64_MAX);
    state->window =
        is_global(c) ? whole_image(image) : onnxd_simd_window_of(image, &params->window, NULL);
    if (is_maximum(c))
        state->kind = ONNXD_POOL_MAXIMUM;
    else if (!is_global(c) && params->counts_pads)
        state->kind = ONNXD_POOL_AVERAGE_PADDED;
    else
        state->kind = ONNXD_POOL_AVERAGE;
    kernel->state = state;
    kernel->base.pitched_inputs = kernel->base.pitched_outputs = c->outputs[0].dtype == ONNXD_FLOAT;
    onnxd_simd_name(kernel, "pool");
    return NULL;
}

/* FLOAT, and the maximum of bytes. */
static bool takes(const onnxd_cpu_case *c)
{
    return onnxd_simd_takes(c) || (c->runtime->uses_vector_kernels && is_maximum(c) &&
                                   onnxd_is_bytes(c->query->inputs[0].dtype));
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const pool_state *state = kernel->state;
    const onnxd_tensor_view *in = &args->inputs[0];
    if (onnxd_is_bytes(in->dtype)) {
        onnxd_quantized_maximum_run(kernel->runtime->simd, kernel->runtime->team, &state->window,
                                    onnxd_integer_zero(in->dtype == ONNXD_INT8, 0).flip,
                                    onnxd_tensor_view_data(in),
                                    onnxd_tensor_view_data(&args->outputs[0]));
        return NULL;
    }
    onnxd_pool_run(kernel->runtime->simd, kernel->runtime->team, &state->window, state->kind,
                   onnxd_simd_pixels_in(args, 0), onnxd_simd_pixels_out(args, 0));
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_pool = {
    .name = "simd:pool",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* Conv of the domain onnxd: channels-last, with an addition and an activation. */
#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/compute/convolution.h"
#include "ep/cpu/simd.h"
#include "ops/layout/channels_last.h"

enum { X, W, B, Z };

typedef struct convolution_state {
    onnxd_convolution *convolution;
    onnxd_cpu_packed *packed;
} convolution_state;

static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_fused_conv_params *params = c->node->params;
    onnxd_simd_activation activation;
    return onnxd_simd_takes(c) && onnxd_cpu_constant(c, W) != NULL &&
           (!onnxd_cpu_has_input(c, B) || onnxd_cpu_constant(c, B) != NULL) &&
           onnxd_simd_activation_of(&params->activation, &activation);
}

static onnxd_convolution_shape shape_of(const onnxd_cpu_case *c)
{
    const onnxd_fused_conv_params *params = c->node->params;
    const onnxd_shape *weights = &c->query->inputs[W].shape;
    onnxd_convolution_shape shape = {
        .window = onnxd_simd_window_of(&c->query->inputs[X].shape, &params->conv.window,
                                       weights->dims + 2),
        .groups = (size_t)params->conv.group,
        .maps = (size_t)weights->dims[0],
    };
    shape.is_bf16 =
        onnxd_simd_rounds(c->runtime, onnxd_image_window_pixels(&shape.window),
                          onnxd_cpu_constant(c, W)) &&
        onnxd_convolution_choose(c->runtime->simd, &shape, false) != ONNXD_CONVOLUTION_DEPTHWISE;
    return shape;
}

/* ---- weights --------------------------------------------------------------------------------- */

typedef struct pack_context {
    const onnxd_simd *simd;
    const onnxd_convolution_shape *shape;
    onnxd_convolution_method method;
    size_t bytes; /* of the weights */
} pack_context;

/* Behind Winograd's weights stands how much they err, so that it is found out once for all shapes
 * of the image. */
static double *error_of(const pack_context *p, const void *packed)
{
    return (double *)(void *)((char *)(uintptr_t)packed + p->bytes);
}

static void pack(const void *context, const onnxd_tensor *tensor, void *out)
{
    const pack_context *p = context;
    onnxd_convolution_pack(p->simd, p->shape, p->method, tensor->data, out);
    if (onnxd_convolution_is_winograd(p->method))
        *error_of(p, out) =
            onnxd_convolution_winograd_error(p->simd, p->shape, p->method, tensor->data, out);
}

static onnxd_status *acquire_weights(onnxd_cpu_kernel *kernel, pack_context *context,
                                     onnxd_cpu_packed **out_packed)
{
    onnxd_cpu_packing packing = {.form = onnxd_convolution_method_name(context->method),
                                 .parameters = {context->shape->groups, context->shape->is_bf16},
                                 .pack = pack,
                                 .context = context};
    if (!onnxd_convolution_packed_bytes(context->simd, context->shape, context->method,
                                        &context->bytes) ||
        !onnxd_size_add(context->bytes, sizeof(double), &packing.bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "the weights of this convolution are too large");
    return onnxd_cpu_packed_acquire(&kernel->runtime->packed, kernel->constants[W], &packing,
                                    out_packed);
}

/* Weights for the method that is likely the fastest of those that err little enough. */
static onnxd_status *choose_weights(onnxd_cpu_kernel *kernel, const onnxd_convolution_shape *shape,
                                    onnxd_convolution_method *out_method,
                                    onnxd_cpu_packed **out_packed)
{
    onnxd_cpu_runtime *runtime = kernel->runtime;
    pack_context context = {
        .simd = runtime->simd,
        .shape = shape,
        .method = onnxd_convolution_choose(runtime->simd, shape, runtime->uses_winograd)};
    ONNXD_TRY(acquire_weights(kernel, &context, out_packed));
    if (onnxd_convolution_is_winograd(context.method) &&
        !(*error_of(&context, onnxd_cpu_packed_data(*out_packed)) <= runtime->winograd_error)) {
        onnxd_cpu_packed_release(&runtime->packed, *out_packed);
        *out_packed = NULL;
        context.method = onnxd_convolution_choose(runtime->simd, shape, false);
        ONNXD_TRY(acquire_weights(kernel, &context, out_packed));
    }
    *out_method = context.method;
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void unmake(onnxd_cpu_kernel *kernel)
{
    convolution_state *state = kernel->state;
    if (state == NULL)
        return;
    onnxd_convolution_destroy(state->convolution);
    if (state->packed != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->packed);
    onnxd_free(state);
    kernel->state = NULL;
}

static onnxd_status *build(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel,
                           convolution_state *state)
{
    const onnxd_fused_conv_params *params = c->node->params;
    const onnxd_convolution_shape shape = shape_of(c);
    const onnxd_tensor *bias = onnxd_cpu_has_input(c, B) ? onnxd_cpu_constant(c, B) : NULL;
    onnxd_simd_activation activation = {.function = ONNXD_SIMD_IDENTITY};
    onnxd_simd_activation_of(&params->activation, &activation);
    onnxd_convolution_method method;
    ONNXD_TRY(choose_weights(kernel, &shape, &method, &state->packed));
    ONNXD_TRY(onnxd_convolution_create(c->runtime->simd, &shape, method,
                                       onnxd_cpu_packed_data(state->packed),
                                       bias == NULL ? NULL : bias->data, &activation,
                                       onnxd_team_threads(c->runtime->team), &state->convolution));
    kernel->base.workspace_bytes = onnxd_convolution_workspace_bytes(state->convolution);
    kernel->base.pitched_inputs =
        onnxd_convolution_takes_pitch_in(state->convolution) ? 1u << X : 0;
    kernel->base.pitched_outputs =
        onnxd_convolution_takes_pitch_out(state->convolution) && !onnxd_cpu_has_input(c, Z);
    onnxd_simd_name_product(kernel, onnxd_convolution_method_name(method), shape.is_bf16);
    return NULL;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    convolution_state *state = onnxd_alloc_zero(1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a convolution", sizeof(*state), UINT64_MAX);
    kernel->state = state;
    onnxd_status *status = build(c, kernel, state);
    if (status != NULL)
        unmake(kernel);
    return status;
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const convolution_state *state = kernel->state;
    onnxd_convolution_run(state->convolution, kernel->runtime->team, onnxd_simd_pixels_in(args, X),
                          onnxd_simd_input(args, Z), onnxd_simd_pixels_out(args, 0),
                          args->workspace);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_convolution = {
    .name = "simd:convolution",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 90e3,
};

/* Conv: 1 to 3 spatial dimensions, groups, dilations, automatic padding, optional bias. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

onnxd_status *onnxd_conv_parse_params(const onnxd_node *node, onnxd_conv_params *params)
{
    params->group = 1;
    ONNXD_TRY(onnxd_attribute_int(node, "group", 1, ONNXD_WINDOW_MAX_VALUE, &params->group));
    return onnxd_window_parse(node, &params->window);
}

onnxd_status *onnxd_conv_parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {"auto_pad", "dilations", "group", "kernel_shape",
                                        "pads",     "strides",   NULL};
    (void)opset;
    (void)arena;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_conv_parse_params(node, out);
}

static onnxd_status *check_channels(const onnxd_node *node, const onnxd_conv_params *params,
                                    const onnxd_shape *input, const onnxd_shape *weights)
{
    int64_t channels = input->dims[1], maps = weights->dims[0], depth = weights->dims[1];
    if (onnxd_dim_is_static(maps) && maps % params->group != 0)
        return onnxd_op_error(node,
                              "the weights have %" PRId64
                              " output channels, not a multiple of the %" PRId64 " groups",
                              maps, params->group);
    if (!onnxd_dim_is_static(channels) || !onnxd_dim_is_static(depth))
        return NULL;
    if (channels % params->group != 0 || channels / params->group != depth)
        return onnxd_op_error(node,
                              "the input has %" PRId64 " channels, the weights take %" PRId64
                              " for each of %" PRId64 " groups",
                              channels, depth, params->group);
    return NULL;
}

onnxd_status *onnxd_conv_infer_shape(const onnxd_node *node, const onnxd_conv_params *params,
                                     const onnxd_shape *given_input,
                                     const onnxd_shape *given_weights, onnxd_shape *out_shape)
{
    onnxd_shape input = *given_input, weights = *given_weights;
    int32_t rank = input.rank != ONNXD_RANK_UNKNOWN ? input.rank : weights.rank;
    if (rank == ONNXD_RANK_UNKNOWN) {
        *out_shape = onnxd_shape_unknown();
        return NULL;
    }
    if (rank < 3 || rank > 2 + ONNXD_WINDOW_MAX_SPATIAL)
        return onnxd_op_error(node,
                              "the input or the weights have rank %" PRId32 ", allowed are 3 to %d",
                              rank, 2 + ONNXD_WINDOW_MAX_SPATIAL);
    if (input.rank == ONNXD_RANK_UNKNOWN)
        input = onnxd_shape_of_rank(rank);
    if (weights.rank == ONNXD_RANK_UNKNOWN)
        weights = onnxd_shape_of_rank(rank);
    if (weights.rank != rank)
        return onnxd_op_error(node, "the input has rank %" PRId32 ", the weights have %" PRId32,
                              rank, weights.rank);
    ONNXD_TRY(check_channels(node, params, &input, &weights));
    onnxd_shape shape = onnxd_shape_of_rank(rank);
    shape.dims[0] = input.dims[0];
    shape.dims[1] = weights.dims[0];
    ONNXD_TRY(onnxd_window_infer(&params->window, node, rank - 2, input.dims + 2, weights.dims + 2,
                                 shape.dims + 2));
    *out_shape = shape;
    return NULL;
}

onnxd_status *onnxd_conv_infer(onnxd_infer *context)
{
    onnxd_tensor_type *output = &context->outputs[0];
    output->dtype = context->inputs[0].dtype;
    onnxd_shape shape;
    ONNXD_TRY(onnxd_conv_infer_shape(context->node, context->params, &context->inputs[0].shape,
                                     &context->inputs[1].shape, &shape));
    int64_t maps = shape.rank == ONNXD_RANK_UNKNOWN ? ONNXD_DIM_UNKNOWN : shape.dims[1];
    ONNXD_TRY(onnxd_infer_check_dims(context, 2, 1, &maps));
    output->shape = shape;
    return NULL;
}

typedef struct conv_extent {
    onnxd_window_geometry geometry;
    size_t batch, maps, groups, maps_per_group, channels_per_group;
    size_t in_plane, out_plane, kernel_plane;
} conv_extent;

static conv_extent extent_of(const onnxd_compute *context)
{
    const onnxd_conv_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape, *weights = &context->inputs[1].shape;
    conv_extent extent = {
        .geometry = onnxd_window_resolve(&params->window, input->rank - 2, input->dims + 2,
                                         weights->dims + 2),
        .batch = (size_t)input->dims[0],
        .maps = (size_t)weights->dims[0],
        .groups = (size_t)params->group,
        .maps_per_group = (size_t)(weights->dims[0] / params->group),
        .channels_per_group = (size_t)weights->dims[1],
    };
    extent.in_plane = onnxd_window_volume(extent.geometry.in);
    extent.out_plane = onnxd_window_volume(extent.geometry.out);
    extent.kernel_plane = onnxd_window_volume(extent.geometry.kernel);
    return extent;
}

#define KERNEL_FILE "ops/conv_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

/* Half types are calculated in float: one widened copy of every tensor. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    size_t count = onnxd_tensor_view_count(&context->outputs[0]);
    if (!onnxd_real_is_half(context->inputs[0].dtype) || count == 0)
        return 0;
    for (uint32_t i = 0; i < context->input_count; i++) {
        if (!onnxd_size_add(count, onnxd_tensor_view_count(&context->inputs[i]), &count))
            return SIZE_MAX;
    }
    return onnxd_size_mul(count, sizeof(float), &count) ? count : SIZE_MAX;
}

static void compute_half(const onnxd_compute *context, const conv_extent *extent)
{
    const onnxd_tensor_view *output = &context->outputs[0];
    float *next = context->workspace;
    const float *widened[3] = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < 3; i++) {
        const onnxd_tensor_view *input = &context->inputs[i];
        if (i == 2 && (context->input_count < 3 || !onnxd_tensor_view_is_present(input)))
            break;
        size_t count = onnxd_tensor_view_count(input);
        onnxd_real_widen(input->dtype, onnxd_tensor_view_data(input), count, next);
        widened[i] = next;
        next += count;
    }
    convolve_float(extent, widened[0], widened[1], widened[2], next);
    onnxd_real_narrow(output->dtype, next, onnxd_tensor_view_count(output),
                      onnxd_tensor_view_data(output));
}

onnxd_status *onnxd_conv_compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    conv_extent extent = extent_of(context);
    const void *in = onnxd_tensor_view_data(&inputs[0]);
    const void *weights = onnxd_tensor_view_data(&inputs[1]);
    bool has_bias = context->input_count > 2 && onnxd_tensor_view_is_present(&inputs[2]);
    const void *bias = has_bias ? onnxd_tensor_view_data(&inputs[2]) : NULL;
    void *out = onnxd_tensor_view_data(&context->outputs[0]);
    if (inputs[0].dtype == ONNXD_FLOAT)
        convolve_float(&extent, in, weights, bias, out);
    else if (inputs[0].dtype == ONNXD_DOUBLE)
        convolve_double(&extent, in, weights, bias, out);
    else
        compute_half(context, &extent);
    return NULL;
}

#define CONV(first, last, set)                                                                     \
    {                                                                                              \
        .op_type = "Conv", .domain = "", .since = first, .until = last, .min_inputs = 2,           \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1, .is_optional = true}},                       \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_conv_params), .parse = onnxd_conv_parse,                      \
        .infer = onnxd_conv_infer, .workspace_bytes = workspace_bytes,                             \
        .compute = onnxd_conv_compute, .batch_inputs = 1u                                          \
    }

const onnxd_op_def onnxd_op_conv[] = {
    CONV(1, 10, ONNXD_SET_FLOATS_1),
    CONV(11, 21, ONNXD_SET_FLOATS_1),
    CONV(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

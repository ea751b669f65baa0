/* ConvTranspose: for each group a matrix product of the weights and the input, whose rows are then
 * added where the taps of the window put them. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/gemm_core.h"
#include "ops/image/conv_transpose.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"
#include "ops/window.h"

typedef struct conv_transpose_params {
    onnxd_window window;
    int64_t group; /* at least 1 */
    int64_t output_padding[ONNXD_WINDOW_MAX_SPATIAL];
    size_t output_shape_count; /* 0: follows from the rest */
    int64_t output_shape[ONNXD_WINDOW_MAX_SPATIAL];
    uint32_t pads_input; /* 0: they are an attribute */
    uint32_t bias_input;
} conv_transpose_params;

/* ---- attributes and shapes ------------------------------------------------------------------- */

static onnxd_status *parse_list(const onnxd_node *node, const char *name, int64_t minimum,
                                onnxd_window *window, int64_t *values, size_t *out_count)
{
    size_t count = 0;
    ONNXD_TRY(onnxd_attribute_ints(node, name, 0, ONNXD_WINDOW_MAX_SPATIAL, minimum,
                                   ONNXD_WINDOW_MAX_VALUE, values, &count));
    if (count != 0 && window->spatial != 0 && window->spatial != count)
        return onnxd_op_error(node, "attribute '%s' has %zu values for %zu spatial dimensions",
                              name, count, window->spatial);
    if (count != 0)
        window->spatial = count;
    *out_count = count;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {"auto_pad",     "dilations", "group",
                                        "kernel_shape", "pads",      "output_padding",
                                        "output_shape", "strides",   NULL};
    conv_transpose_params *params = out;
    size_t ignored;
    (void)opset;
    (void)arena;
    params->group = 1;
    params->bias_input = 2;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "group", 1, ONNXD_WINDOW_MAX_VALUE, &params->group));
    ONNXD_TRY(onnxd_window_parse(node, &params->window));
    ONNXD_TRY(
        parse_list(node, "output_padding", 0, &params->window, params->output_padding, &ignored));
    return parse_list(node, "output_shape", 1, &params->window, params->output_shape,
                      &params->output_shape_count);
}

static onnxd_status *parse_dynamic(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *out)
{
    static const char *const names[] = {"auto_pad",       "dilations", "group", "kernel_shape",
                                        "output_padding", "strides",   NULL};
    conv_transpose_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(parse(node, opset, arena, out));
    params->pads_input = 2;
    params->bias_input = 3;
    return NULL;
}

/* Sets the pads of `params` to those of the view of an input. */
static onnxd_status *read_pads(const onnxd_node *node, const onnxd_tensor_view *view,
                               size_t spatial, conv_transpose_params *params)
{
    size_t count = 0;
    ONNXD_TRY(onnxd_op_read_ints(node, params->pads_input, view,
                                 (size_t)2 * ONNXD_WINDOW_MAX_SPATIAL, params->window.pads,
                                 &count));
    if (count != 2 * spatial)
        return onnxd_op_error(node, "input %" PRIu32 " has %zu elements, needed are %zu",
                              params->pads_input, count, 2 * spatial);
    for (size_t i = 0; i < count; i++)
        if (params->window.pads[i] < 0 || params->window.pads[i] > ONNXD_WINDOW_MAX_VALUE)
            return onnxd_op_error(
                node, "element %zu of input %" PRIu32 " is %" PRId64 ", allowed are 0 to %" PRId32,
                i, params->pads_input, params->window.pads[i], ONNXD_WINDOW_MAX_VALUE);
    return NULL;
}

typedef struct transpose_axis {
    int64_t out, pad_begin;
} transpose_axis;

/* The padding between the extent that the taps reach and `out`, which is shared between both ends.
 */
static void set_pads(const conv_transpose_params *params, int64_t reach, int64_t out,
                     transpose_axis *axis)
{
    int64_t total = reach > out ? reach - out : 0;
    axis->out = out;
    axis->pad_begin =
        params->window.auto_pad == ONNXD_AUTO_PAD_SAME_UPPER ? total / 2 : total - total / 2;
}

/* Formulas: ONNX's ConvTranspose. */
static onnxd_status *resolve_axis(const conv_transpose_params *params, const onnxd_node *node,
                                  size_t spatial, size_t i, int64_t in, int64_t kernel,
                                  transpose_axis *out_axis)
{
    const onnxd_window *window = &params->window;
    int64_t stride = window->strides[i], taps = (kernel - 1) * window->dilations[i] + 1, reach;
    bool is_same = window->auto_pad == ONNXD_AUTO_PAD_SAME_UPPER ||
                   window->auto_pad == ONNXD_AUTO_PAD_SAME_LOWER;
    transpose_axis axis = {0, 0};
    if (!onnxd_i64_mul(stride, in - 1, &reach) ||
        !onnxd_i64_add(reach, taps + params->output_padding[i], &reach) || reach > INT64_MAX / 4)
        return onnxd_op_error(
            node, "spatial dimension %zu of %" PRId64 " is too large for stride %" PRId64, i, in,
            stride);
    if (params->output_shape_count != 0) {
        int64_t out = params->output_shape[i];
        if (out > reach && out > reach - params->output_padding[i] + stride - 1)
            return onnxd_op_error(node,
                                  "output_shape has %" PRId64
                                  " in dimension %zu, an input of %" PRId64
                                  " gives at most %" PRId64,
                                  out, i, in, reach - params->output_padding[i] + stride - 1);
        set_pads(params, reach, out, &axis);
    } else if (is_same) {
        set_pads(params, reach, in * stride, &axis);
    } else if (window->auto_pad == ONNXD_AUTO_PAD_VALID) {
        axis.out = reach;
    } else {
        axis.pad_begin = window->pads[i];
        axis.out = reach - window->pads[i] - window->pads[spatial + i];
    }
    if (axis.out < 0)
        return onnxd_op_error(node,
                              "spatial dimension %zu of %" PRId64 " gives an output of %" PRId64, i,
                              in, axis.out);
    *out_axis = axis;
    return NULL;
}

static onnxd_status *check_channels(const onnxd_infer *context, const onnxd_shape *input,
                                    const onnxd_shape *weights, int64_t *out_maps)
{
    const conv_transpose_params *params = context->params;
    int64_t channels = input->dims[1] >= 0 ? input->dims[1] : weights->dims[0];
    int64_t maps = ONNXD_DIM_UNKNOWN;
    if (input->dims[1] >= 0 && weights->dims[0] >= 0 && input->dims[1] != weights->dims[0])
        return onnxd_op_error(context->node,
                              "the input has %" PRId64 " channels, the weights take %" PRId64,
                              input->dims[1], weights->dims[0]);
    if (channels >= 0 && channels % params->group != 0)
        return onnxd_op_error(context->node,
                              "%" PRId64 " channels are no multiple of the %" PRId64 " groups",
                              channels, params->group);
    if (weights->dims[1] >= 0 && !onnxd_i64_mul(weights->dims[1], params->group, &maps))
        return onnxd_op_error(context->node, "%" PRId64 " groups of %" PRId64 " maps are too many",
                              params->group, weights->dims[1]);
    *out_maps = maps;
    return onnxd_infer_check_dims(context, params->bias_input, 1, &maps);
}

/* The output's extent is left unknown where `has_pads` is false: they are an input whose value is
 * not known. */
static onnxd_status *infer_axis(const onnxd_infer *context, const conv_transpose_params *params,
                                bool has_pads, size_t spatial, size_t i, int64_t in, int64_t kernel,
                                int64_t *out_dim)
{
    const onnxd_window *window = &params->window;
    if (window->kernel_count != 0 && kernel >= 0 && kernel != window->kernel[i])
        return onnxd_op_error(context->node,
                              "attribute 'kernel_shape' has %" PRId64 " in dimension %zu, the "
                              "weights have %" PRId64,
                              window->kernel[i], i, kernel);
    if (window->kernel_count != 0)
        kernel = window->kernel[i];
    *out_dim = params->output_shape_count != 0 ? params->output_shape[i] : ONNXD_DIM_UNKNOWN;
    if (in < 0 || kernel < 0)
        return NULL;
    if (kernel < 1 || kernel > ONNXD_WINDOW_MAX_VALUE)
        return onnxd_op_error(context->node,
                              "kernel dimension %zu is %" PRId64 ", allowed are 1 to %" PRId32, i,
                              kernel, ONNXD_WINDOW_MAX_VALUE);
    if (!has_pads)
        return NULL;
    transpose_axis axis = {0};
    ONNXD_TRY(resolve_axis(params, context->node, spatial, i, in, kernel, &axis));
    *out_dim = axis.out;
    return NULL;
}

/* Pads that are an input replace those of `params`. */
static onnxd_status *infer_pads(const onnxd_infer *context, size_t spatial,
                                conv_transpose_params *params, bool *out_is_known)
{
    onnxd_tensor_view view;
    *out_is_known =
        params->pads_input == 0 || !onnxd_op_has_input(context->node, params->pads_input);
    if (*out_is_known || !onnxd_infer_known(context, params->pads_input, &view))
        return NULL;
    *out_is_known = true;
    return read_pads(context->node, &view, spatial, params);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const conv_transpose_params *params = context->params;
    conv_transpose_params own = *params;
    bool has_pads;
    onnxd_shape input = context->inputs[0].shape, weights = context->inputs[1].shape;
    int32_t rank = input.rank != ONNXD_RANK_UNKNOWN ? input.rank : weights.rank;
    context->outputs[0].dtype = context->inputs[0].dtype;
    if (rank == ONNXD_RANK_UNKNOWN && params->window.spatial == 0)
        return NULL;
    if (rank == ONNXD_RANK_UNKNOWN)
        rank = (int32_t)params->window.spatial + 2;
    if (rank < 3 || rank > 2 + ONNXD_WINDOW_MAX_SPATIAL)
        return onnxd_op_error(context->node,
                              "the input or the weights have rank %" PRId32 ", allowed are 3 to %d",
                              rank, 2 + ONNXD_WINDOW_MAX_SPATIAL);
    size_t spatial = (size_t)rank - 2;
    if (input.rank == ONNXD_RANK_UNKNOWN)
        input = onnxd_shape_of_rank(rank);
    if (weights.rank == ONNXD_RANK_UNKNOWN)
        weights = onnxd_shape_of_rank(rank);
    if (weights.rank != rank || (params->window.spatial != 0 && params->window.spatial != spatial))
        return onnxd_op_error(context->node,
                              "the input has rank %" PRId32 ", the weights have %" PRId32
                              ", the attributes %zu spatial dimensions",
                              rank, weights.rank, params->window.spatial);
    onnxd_shape shape = onnxd_shape_of_rank(rank);
    shape.dims[0] = input.dims[0];
    ONNXD_TRY(check_channels(context, &input, &weights, &shape.dims[1]));
    ONNXD_TRY(infer_pads(context, spatial, &own, &has_pads));
    for (size_t i = 0; i < spatial; i++)
        ONNXD_TRY(infer_axis(context, &own, has_pads, spatial, i, input.dims[2 + i],
                             weights.dims[2 + i], &shape.dims[2 + i]));
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* What the rows of a matrix product may take before they are added up: they should stay in cache.
 */
#define BLOCK_BYTES ((size_t)1 << 20)

onnxd_status *onnxd_transpose_extent_of(const onnxd_node *node, onnxd_dtype dtype,
                                        const onnxd_shape *input, const onnxd_shape *weights,
                                        const onnxd_tensor_view *pads,
                                        onnxd_transpose_extent *out_extent)
{
    conv_transpose_params own = *(const conv_transpose_params *)node->params;
    const conv_transpose_params *params = &own;
    size_t spatial = (size_t)input->rank - 2, inputs = 0;
    onnxd_transpose_extent e = {.batch = (size_t)input->dims[0],
                                .groups = (size_t)params->group,
                                .channels_per_group = (size_t)(input->dims[1] / params->group),
                                .maps_per_group = (size_t)weights->dims[1]};
    if (pads != NULL)
        ONNXD_TRY(read_pads(node, pads, spatial, &own));
    for (size_t i = 0; i < 3 - spatial; i++)
        e.in[i] = e.out[i] = e.kernel[i] = e.stride[i] = e.dilation[i] = 1;
    for (size_t i = 0; i < spatial; i++) {
        size_t to = 3 - spatial + i;
        transpose_axis axis = {0};
        ONNXD_TRY(resolve_axis(params, node, spatial, i, input->dims[2 + i], weights->dims[2 + i],
                               &axis));
        e.in[to] = input->dims[2 + i];
        e.out[to] = axis.out;
        e.kernel[to] = weights->dims[2 + i];
        e.stride[to] = params->window.strides[i];
        e.dilation[to] = params->window.dilations[i];
        e.pad_begin[to] = axis.pad_begin;
    }
    /* Beside a zero among batch and channels the plane's extents may be huge; then only the bias is
     * left of the result. */
    e.in_plane = onnxd_shape_count(input, &inputs) && inputs == 0 ? 0 : onnxd_window_volume(e.in);
    e.out_plane = onnxd_window_volume(e.out);
    e.kernel_plane = onnxd_window_volume(e.kernel);
    size_t map_bytes;
    e.block = 1;
    if (onnxd_size_mul(e.in_plane, e.kernel_plane, &map_bytes) &&
        onnxd_size_mul(map_bytes, onnxd_dtype_size(dtype), &map_bytes) && map_bytes > 0 &&
        map_bytes < BLOCK_BYTES)
        e.block = BLOCK_BYTES / map_bytes;
    if (e.block > e.maps_per_group)
        e.block = e.maps_per_group;
    *out_extent = e;
    return NULL;
}

static onnxd_status *extent_of(const onnxd_compute *context, const onnxd_tensor_view *pads,
                               onnxd_transpose_extent *out_extent)
{
    return onnxd_transpose_extent_of(context->node, context->inputs[0].dtype,
                                     &context->inputs[0].shape, &context->inputs[1].shape, pads,
                                     out_extent);
}

#define KERNEL_FILE "ops/image/conv_transpose_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

void onnxd_transpose_add(const onnxd_transpose_extent *extent, const float *rows, size_t count,
                         float *out)
{
    add_maps_float(extent, rows, count, out);
}

/* The rows of one matrix product; for half types also one widened copy of every tensor. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    onnxd_transpose_extent e;
    size_t count, outputs = onnxd_tensor_view_count(&context->outputs[0]);
    /* Pads decide only on the output, and as an input have no value yet. */
    onnxd_status *status = extent_of(context, NULL, &e);
    if (status != NULL || outputs == 0) {
        onnxd_status_free(status);
        return 0;
    }
    if (!onnxd_size_mul(e.block, e.kernel_plane, &count) ||
        !onnxd_size_mul(count, e.in_plane, &count))
        return SIZE_MAX;
    if (onnxd_real_is_half(context->inputs[0].dtype)) {
        if (!onnxd_size_add(count, outputs, &count))
            return SIZE_MAX;
        for (uint32_t i = 0; i < context->input_count; i++)
            if (!onnxd_size_add(count, onnxd_tensor_view_count(&context->inputs[i]), &count))
                return SIZE_MAX;
    }
    size_t element = context->inputs[0].dtype == ONNXD_DOUBLE ? sizeof(double) : sizeof(float);
    return onnxd_size_mul(count, element, &count) ? count : SIZE_MAX;
}

static const onnxd_tensor_view *bias_of(const onnxd_compute *context)
{
    const conv_transpose_params *params = context->params;
    return onnxd_compute_input(context, params->bias_input);
}

static void compute_half(const onnxd_compute *context, const onnxd_transpose_extent *extent)
{
    const onnxd_tensor_view *output = &context->outputs[0];
    float *next = context->workspace;
    const float *widened[3] = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < 3; i++) {
        const onnxd_tensor_view *input = i < 2 ? &context->inputs[i] : bias_of(context);
        if (input == NULL)
            continue;
        size_t count = onnxd_tensor_view_count(input);
        onnxd_real_widen(input->dtype, onnxd_tensor_view_data(input), count, next);
        widened[i] = next;
        next += count;
    }
    size_t count = onnxd_tensor_view_count(output);
    transpose_float(extent, widened[0], widened[1], widened[2], next, next + count);
    onnxd_real_narrow(output->dtype, next, count, onnxd_tensor_view_data(output));
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const conv_transpose_params *params = context->params;
    const onnxd_tensor_view *inputs = context->inputs;
    onnxd_transpose_extent extent;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    ONNXD_TRY(extent_of(
        context, params->pads_input != 0 ? onnxd_compute_input(context, params->pads_input) : NULL,
        &extent));
    const void *in = onnxd_tensor_view_data(&inputs[0]);
    const void *weights = onnxd_tensor_view_data(&inputs[1]);
    const void *bias = bias_of(context) != NULL ? onnxd_tensor_view_data(bias_of(context)) : NULL;
    void *out = onnxd_tensor_view_data(&context->outputs[0]);
    if (inputs[0].dtype == ONNXD_FLOAT)
        transpose_float(&extent, in, weights, bias, out, context->workspace);
    else if (inputs[0].dtype == ONNXD_DOUBLE)
        transpose_double(&extent, in, weights, bias, out, context->workspace);
    else
        compute_half(context, &extent);
    return NULL;
}

#define CONV_TRANSPOSE(first, last, set)                                                           \
    {                                                                                              \
        .op_type = "ConvTranspose", .domain = "", .since = first, .until = last, .min_inputs = 2,  \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1, .is_optional = true}},                       \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(conv_transpose_params), .parse = parse, .infer = infer,             \
        .workspace_bytes = workspace_bytes, .compute = compute, .batch_inputs = 1u                 \
    }

const onnxd_op_def onnxd_op_conv_transpose[] = {
    CONV_TRANSPOSE(1, 10, ONNXD_SET_FLOATS_1),
    CONV_TRANSPOSE(11, 21, ONNXD_SET_FLOATS_1),
    CONV_TRANSPOSE(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = "ConvTransposeWithDynamicPads",
     .domain = "com.microsoft",
     .since = 1,
     .until = 1,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS_1, .type_variable = 1},
                {.types = ONNXD_SET(INT64), .is_optional = true},
                {.types = ONNXD_SET_FLOATS_1, .type_variable = 1, .is_optional = true}},
     .outputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1}},
     .params_bytes = sizeof(conv_transpose_params),
     .parse = parse_dynamic,
     .infer = infer,
     .shape_inputs = 1u << 2,
     .workspace_bytes = workspace_bytes,
     .compute = compute,
     .batch_inputs = 1u},
    {.op_type = NULL},
};

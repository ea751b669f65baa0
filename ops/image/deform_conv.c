/* DeformConv: a convolution whose taps are moved by an offset of their own, and weighted by a mask.
 * The moved elements are gathered into a matrix, which the weights are multiplied with. */
#include <inttypes.h>
#include <math.h>

#include "base/size_math.h"
#include "ops/gemm_core.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct deform_conv_params {
    onnxd_conv_params conv;
    int64_t offset_group; /* at least 1 */
} deform_conv_params;

enum { INPUT_X, INPUT_WEIGHTS, INPUT_OFFSET, INPUT_BIAS, INPUT_MASK, INPUT_COUNT };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {
        "dilations", "group", "kernel_shape", "offset_group", "pads", "strides", NULL};
    deform_conv_params *params = out;
    (void)opset;
    (void)arena;
    params->conv.group = params->offset_group = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "group", 1, ONNXD_WINDOW_MAX_VALUE, &params->conv.group));
    ONNXD_TRY(onnxd_attribute_int(node, "offset_group", 1, ONNXD_WINDOW_MAX_VALUE,
                                  &params->offset_group));
    return onnxd_window_parse(node, &params->conv.window);
}

static bool has_input(const onnxd_infer *context, uint32_t index)
{
    return index < context->input_count && context->inputs[index].dtype != ONNXD_UNDEFINED;
}

/* Offsets and masks have the output's shape but for the channels, `channels` of them (negative: not
 * known). */
static onnxd_status *check_field(const onnxd_infer *context, uint32_t index, const char *what,
                                 int64_t channels, const onnxd_shape *output)
{
    const onnxd_shape *shape = &context->inputs[index].shape;
    char text[2][ONNXD_SHAPE_TEXT];
    onnxd_shape needed = *output;
    if (shape->rank == ONNXD_RANK_UNKNOWN || output->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    needed.dims[1] = channels;
    bool fits = shape->rank == needed.rank;
    for (int32_t i = 0; fits && i < shape->rank; i++)
        fits = shape->dims[i] < 0 || needed.dims[i] < 0 || shape->dims[i] == needed.dims[i];
    if (fits)
        return NULL;
    return onnxd_op_error(context->node, "the %s has shape %s, needed is %s", what,
                          onnxd_shape_format(shape, text[0], sizeof(text[0])),
                          onnxd_shape_format(&needed, text[1], sizeof(text[1])));
}

/* Taps of the kernel times the groups of offsets; -1 when not known. */
static onnxd_status *count_fields(const onnxd_infer *context, int64_t *out_count)
{
    const deform_conv_params *params = context->params;
    const onnxd_shape *weights = &context->inputs[INPUT_WEIGHTS].shape;
    int64_t count = params->offset_group;
    *out_count = -1;
    if (weights->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    for (int32_t i = 2; i < weights->rank; i++) {
        if (weights->dims[i] < 0)
            return NULL;
        if (!onnxd_i64_mul(count, weights->dims[i], &count) || count > INT64_MAX / 4)
            return onnxd_op_error(context->node,
                                  "the kernel has too many taps for %" PRId64 " groups of offsets",
                                  params->offset_group);
    }
    *out_count = count;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const deform_conv_params *params = context->params;
    const onnxd_shape *input = &context->inputs[INPUT_X].shape;
    onnxd_shape shape;
    int64_t fields, maps;
    context->outputs[0].dtype = context->inputs[INPUT_X].dtype;
    ONNXD_TRY(onnxd_conv_infer_shape(context->node, &params->conv, input,
                                     &context->inputs[INPUT_WEIGHTS].shape, &shape));
    if (input->rank > 1 && input->dims[1] >= 0 && input->dims[1] % params->offset_group != 0)
        return onnxd_op_error(context->node,
                              "%" PRId64 " channels are no multiple of the %" PRId64
                              " groups of offsets",
                              input->dims[1], params->offset_group);
    ONNXD_TRY(count_fields(context, &fields));
    ONNXD_TRY(check_field(context, INPUT_OFFSET, "offset",
                          fields < 0 ? -1 : fields * (shape.rank - 2), &shape));
    maps = shape.rank > 1 ? shape.dims[1] : ONNXD_DIM_UNKNOWN;
    ONNXD_TRY(onnxd_infer_check_dims(context, INPUT_BIAS, 1, &maps));
    if (has_input(context, INPUT_MASK))
        ONNXD_TRY(check_field(context, INPUT_MASK, "mask", fields, &shape));
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

typedef struct deform_extent {
    onnxd_window_geometry geometry;
    size_t batch, groups, offset_groups, channels_per_group, channels_per_offset, maps_per_group;
    size_t in_plane, out_plane, kernel_plane;
} deform_extent;

static deform_extent extent_of(const onnxd_compute *context)
{
    const deform_conv_params *params = context->params;
    const onnxd_shape *input = &context->inputs[INPUT_X].shape;
    const onnxd_shape *weights = &context->inputs[INPUT_WEIGHTS].shape;
    deform_extent e = {
        .geometry = onnxd_window_resolve(&params->conv.window, input->rank - 2, input->dims + 2,
                                         weights->dims + 2),
        .batch = (size_t)input->dims[0],
        .groups = (size_t)params->conv.group,
        .offset_groups = (size_t)params->offset_group,
        .channels_per_group = (size_t)weights->dims[1],
        .channels_per_offset = (size_t)(input->dims[1] / params->offset_group),
        .maps_per_group = (size_t)(weights->dims[0] / params->conv.group),
    };
    e.in_plane = onnxd_window_volume(e.geometry.in);
    e.out_plane = onnxd_window_volume(e.geometry.out);
    e.kernel_plane = onnxd_window_volume(e.geometry.kernel);
    return e;
}

/* The elements around a position, at most two along each axis, and their weights. */
typedef struct corners {
    size_t count, offset[8];
    double weight[8];
} corners;

/* Elements outside count nothing. */
static corners corners_at(const onnxd_window_geometry *g, const double *position)
{
    corners c = {.count = 1, .offset = {0}, .weight = {1}};
    for (int axis = 0; axis < 3; axis++) {
        double x = position[axis], extent = (double)g->in[axis];
        if (!(x > -1 && x < extent))
            return (corners){.count = 0};
        double low = floor(x), part = x - low;
        corners next = {.count = 0};
        for (size_t i = 0; i < 2 * c.count; i++) {
            double at = low + (double)(i % 2), weight = i % 2 == 0 ? 1 - part : part;
            if (at < 0 || at >= extent || weight == 0)
                continue;
            next.offset[next.count] = c.offset[i / 2] * (size_t)g->in[axis] + (size_t)at;
            next.weight[next.count++] = c.weight[i / 2] * weight;
        }
        c = next;
    }
    return c;
}

#define KERNEL_FILE "ops/image/deform_conv_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

/* The matrix of one group; for half types also one widened copy of every tensor. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    size_t count, outputs = onnxd_tensor_view_count(&context->outputs[0]);
    if (outputs == 0)
        return 0;
    deform_extent e = extent_of(context);
    if (!onnxd_size_mul(e.channels_per_group, e.kernel_plane, &count) ||
        !onnxd_size_mul(count, e.out_plane, &count))
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

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *output = &context->outputs[0];
    const void *inputs[INPUT_COUNT] = {NULL};
    size_t count = onnxd_tensor_view_count(output);
    float *next = context->workspace;
    if (count == 0)
        return NULL;
    deform_extent extent = extent_of(context);
    bool is_half = onnxd_real_is_half(output->dtype);
    for (uint32_t i = 0; i < INPUT_COUNT; i++) {
        const onnxd_tensor_view *input = &context->inputs[i];
        bool is_optional = i > INPUT_OFFSET;
        if (is_optional && (i >= context->input_count || !onnxd_tensor_view_is_present(input)))
            continue;
        inputs[i] = onnxd_tensor_view_data(input);
        if (!is_half)
            continue;
        onnxd_real_widen(input->dtype, inputs[i], onnxd_tensor_view_count(input), next);
        inputs[i] = next;
        next += onnxd_tensor_view_count(input);
    }
    if (is_half) {
        convolve_float(&extent, inputs, next, next + count);
        onnxd_real_narrow(output->dtype, next, count, onnxd_tensor_view_data(output));
    } else if (output->dtype == ONNXD_FLOAT) {
        convolve_float(&extent, inputs, onnxd_tensor_view_data(output), context->workspace);
    } else {
        convolve_double(&extent, inputs, onnxd_tensor_view_data(output), context->workspace);
    }
    return NULL;
}

#define DEFORM_CONV(first, last, set)                                                              \
    {                                                                                              \
        .op_type = "DeformConv", .domain = "", .since = first, .until = last, .min_inputs = 3,     \
        .max_inputs = INPUT_COUNT, .min_outputs = 1, .max_outputs = 1,                             \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1, .is_optional = true},                        \
                   {.types = set, .type_variable = 1, .is_optional = true}},                       \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(deform_conv_params), .parse = parse, .infer = infer,                \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_deform_conv[] = {
    DEFORM_CONV(19, 21, ONNXD_SET_FLOATS_1),
    DEFORM_CONV(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

/* ConvInteger and QLinearConv: convolution of quantised tensors, with sums as they are or quantised
 * again. For each image and group a product of the weights, a vector for each output channel, with
 * the windows, a vector for each output position. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/quant/integer_gemm.h"
#include "ops/quant/quantized.h"
#include "ops/support.h"
#include "ops/types.h"

/* Positions of the inputs; NONE where an operator has none. */
#define NONE UINT32_MAX
typedef struct positions {
    uint32_t x, x_zero, w, w_zero;
    uint32_t x_scale, w_scale, y_scale, y_zero, bias;
} positions;

static const positions integer = {.x = 0,
                                  .w = 1,
                                  .x_zero = 2,
                                  .w_zero = 3,
                                  .x_scale = NONE,
                                  .w_scale = NONE,
                                  .y_scale = NONE,
                                  .y_zero = NONE,
                                  .bias = NONE};
static const positions quantized = {.x = 0,
                                    .x_scale = 1,
                                    .x_zero = 2,
                                    .w = 3,
                                    .w_scale = 4,
                                    .w_zero = 5,
                                    .y_scale = 6,
                                    .y_zero = 7,
                                    .bias = 8};

/* ---- inference ---- */

/* A scalar or a vector of one element. With `maps` other than 0 a vector of so many is allowed too;
 * a symbolic number may be anything. */
static onnxd_status *check_parameter(const onnxd_infer *infer, uint32_t index, int64_t maps)
{
    if (index == NONE || !onnxd_op_has_input(infer->node, index))
        return NULL;
    const onnxd_shape *shape = &infer->inputs[index].shape;
    if (shape->rank <= 0)
        return NULL;
    int64_t count = shape->dims[0];
    bool is_open = !onnxd_dim_is_static(count) || (maps != 0 && !onnxd_dim_is_static(maps));
    if (shape->rank == 1 && (is_open || count == 1 || (maps != 0 && count == maps)))
        return NULL;
    char text[ONNXD_SHAPE_TEXT];
    onnxd_shape_format(shape, text, sizeof(text));
    if (maps == 0)
        return onnxd_op_error(infer->node, "input %" PRIu32 " has shape %s, must be a scalar",
                              index, text);
    return onnxd_op_error(infer->node,
                          "input %" PRIu32 " has shape %s, must be a scalar or a vector with a "
                          "value for each output channel",
                          index, text);
}

static onnxd_status *check_bias(const onnxd_infer *infer, uint32_t index, int64_t maps)
{
    if (index == NONE || !onnxd_op_has_input(infer->node, index))
        return NULL;
    const onnxd_shape *bias = &infer->inputs[index].shape;
    if (bias->rank < 0)
        return NULL;
    if (bias->rank != 1)
        return onnxd_op_error(infer->node, "the bias has rank %" PRId32 ", allowed is 1",
                              bias->rank);
    if (onnxd_dim_is_static(maps) && onnxd_dim_is_static(bias->dims[0]) && bias->dims[0] != maps)
        return onnxd_op_error(infer->node,
                              "the bias has %" PRId64 " values for %" PRId64 " output channels",
                              bias->dims[0], maps);
    return NULL;
}

static onnxd_status *infer_at(onnxd_infer *infer, const positions *at)
{
    onnxd_shape shape;
    ONNXD_TRY(onnxd_conv_infer_shape(infer->node, infer->params, &infer->inputs[at->x].shape,
                                     &infer->inputs[at->w].shape, &shape));
    int64_t maps = shape.rank < 0 ? ONNXD_DIM_UNKNOWN : shape.dims[1];
    ONNXD_TRY(check_parameter(infer, at->x_zero, 0));
    ONNXD_TRY(check_parameter(infer, at->x_scale, 0));
    ONNXD_TRY(check_parameter(infer, at->w_zero, maps));
    ONNXD_TRY(check_parameter(infer, at->w_scale, maps));
    ONNXD_TRY(check_parameter(infer, at->y_scale, 0));
    ONNXD_TRY(check_parameter(infer, at->y_zero, 0));
    ONNXD_TRY(check_bias(infer, at->bias, maps));
    infer->outputs[0].shape = shape;
    return NULL;
}

static onnxd_status *infer_integer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_INT32;
    return infer_at(infer, &integer);
}

static onnxd_status *infer_quantized(onnxd_infer *infer)
{
    infer->outputs[0].dtype = infer->inputs[quantized.y_zero].dtype;
    return infer_at(infer, &quantized);
}

/* ---- windows as vectors ---- */

typedef struct windows {
    onnxd_integer_side side;
    const onnxd_window_geometry *geometry;
    const uint8_t *data; /* the group's first channel */
    size_t in_plane;
    uint8_t flip, zero; /* as onnxd_integer_less_zero() takes them */
} windows;

/* A tap of a window. */
typedef struct tap {
    size_t channel;
    int64_t at[3];
} tap;

static tap tap_of(const onnxd_window_geometry *g, size_t k)
{
    size_t width = (size_t)g->kernel[2], height = (size_t)g->kernel[1];
    size_t depth = (size_t)g->kernel[0];
    return (tap){k / (width * height * depth),
                 {(int64_t)(k / (width * height) % depth), (int64_t)(k / width % height),
                  (int64_t)(k % width)}};
}

/* The first tap of the next row of the kernel. */
static void next_row(const onnxd_window_geometry *g, tap *t)
{
    t->at[2] = 0;
    if (++t->at[1] < g->kernel[1])
        return;
    t->at[1] = 0;
    if (++t->at[0] < g->kernel[0])
        return;
    t->at[0] = 0;
    t->channel++;
}

/* The part of a row of the kernel that begins at `t`: `count` taps. */
static void pack_row(const windows *w, const int64_t *start, const tap *t, size_t count,
                     int16_t *to)
{
    const onnxd_window_geometry *g = w->geometry;
    int64_t z = start[0] + t->at[0] * g->dilation[0], y = start[1] + t->at[1] * g->dilation[1];
    int64_t x = start[2] + t->at[2] * g->dilation[2];
    bool is_inside = z >= 0 && z < g->in[0] && y >= 0 && y < g->in[1];
    const uint8_t *row = w->data;
    if (is_inside)
        row += t->channel * w->in_plane + (size_t)((z * g->in[1] + y) * g->in[2]);
    for (size_t i = 0; i < count; i++, x += g->dilation[2]) {
        to[i] = 0;
        if (is_inside && x >= 0 && x < g->in[2])
            to[i] = onnxd_integer_less_zero(row[x], w->zero, w->flip);
    }
}

static void pack_windows(const onnxd_integer_side *side, size_t first, size_t count, size_t first_k,
                         size_t depth, int16_t *to, size_t pitch)
{
    /* `side` is the first member. */
    const windows *w = (const windows *)(const void *)side;
    const onnxd_window_geometry *g = w->geometry;
    const tap first_tap = tap_of(g, first_k);
    for (size_t i = 0; i < count; i++) {
        int64_t position = (int64_t)(first + i);
        const int64_t out[3] = {position / (g->out[1] * g->out[2]),
                                position / g->out[2] % g->out[1], position % g->out[2]};
        int64_t start[3];
        for (int axis = 0; axis < 3; axis++)
            start[axis] = out[axis] * g->stride[axis] - g->pad_begin[axis];
        tap t = first_tap;
        for (size_t k = 0; k < depth; next_row(g, &t)) {
            size_t in_row = (size_t)(g->kernel[2] - t.at[2]);
            size_t part = in_row < depth - k ? in_row : depth - k;
            pack_row(w, start, &t, part, to + i * pitch + k);
            k += part;
        }
    }
}

/* ---- sums ---- */

typedef struct extent {
    onnxd_window_geometry geometry;
    size_t batch, groups, maps, channels; /* the last two of one group */
    size_t in_plane, out_plane, depth;
} extent;

static extent extent_of(const onnxd_compute *compute, const positions *at)
{
    const onnxd_conv_params *params = compute->params;
    const onnxd_shape *input = &compute->inputs[at->x].shape;
    const onnxd_shape *weights = &compute->inputs[at->w].shape;
    extent e = {.geometry = onnxd_window_resolve(&params->window, input->rank - 2, input->dims + 2,
                                                 weights->dims + 2),
                .batch = (size_t)input->dims[0],
                .groups = (size_t)params->group,
                .maps = (size_t)(weights->dims[0] / params->group),
                .channels = (size_t)weights->dims[1]};
    e.in_plane = onnxd_window_volume(e.geometry.in);
    e.out_plane = onnxd_window_volume(e.geometry.out);
    e.depth = e.channels * onnxd_window_volume(e.geometry.kernel);
    return e;
}

static const uint8_t *bytes_of(const onnxd_compute *compute, uint32_t index)
{
    const onnxd_tensor_view *view = onnxd_compute_input(compute, index);
    return view == NULL ? NULL : onnxd_tensor_view_data(view);
}

static onnxd_integer_vectors weights_of(const onnxd_compute *compute, const positions *at,
                                        const extent *e, size_t group)
{
    const onnxd_tensor_view *view = &compute->inputs[at->w];
    const uint8_t *zeros = bytes_of(compute, at->w_zero);
    onnxd_integer_vectors weights = {.data = (const uint8_t *)onnxd_tensor_view_data(view) +
                                             group * e->maps * e->depth,
                                     .is_signed = view->dtype == ONNXD_INT8,
                                     .vector_stride = e->depth,
                                     .element_stride = 1};
    if (zeros != NULL) {
        weights.zero_step = onnxd_tensor_view_count(&compute->inputs[at->w_zero]) > 1;
        weights.zero_points = zeros + weights.zero_step * group * e->maps;
    }
    onnxd_integer_vectors_init(&weights);
    return weights;
}

/* Windows of one element that meet every element are the input as it lies. */
static bool is_pointwise(const extent *e)
{
    const onnxd_window_geometry *g = &e->geometry;
    for (int i = 0; i < 3; i++)
        if (g->kernel[i] != 1 || g->stride[i] != 1 || g->pad_begin[i] != 0 || g->out[i] != g->in[i])
            return false;
    return true;
}

/* The sums of one image and group, [maps, out_plane]. */
static void convolve(const onnxd_compute *compute, const positions *at, const extent *e,
                     size_t image, size_t group, void *workspace, int32_t *sums)
{
    const onnxd_tensor_view *input = &compute->inputs[at->x];
    const uint8_t *zero = bytes_of(compute, at->x_zero);
    const uint8_t *data = (const uint8_t *)onnxd_tensor_view_data(input) +
                          (image * e->groups + group) * e->channels * e->in_plane;
    bool is_signed = input->dtype == ONNXD_INT8;
    onnxd_integer_vectors weights = weights_of(compute, at, e, group);
    if (is_pointwise(e)) {
        onnxd_integer_vectors points = {.data = data,
                                        .is_signed = is_signed,
                                        .vector_stride = 1,
                                        .element_stride = e->in_plane,
                                        .zero_points = zero};
        onnxd_integer_vectors_init(&points);
        onnxd_integer_product(e->maps, e->out_plane, e->depth, &weights.side, &points.side,
                              workspace, sums, e->out_plane);
        return;
    }
    windows w = {.side = {pack_windows},
                 .geometry = &e->geometry,
                 .data = data,
                 .in_plane = e->in_plane,
                 .flip = is_signed ? 0x80 : 0,
                 .zero = zero == NULL ? 0 : *zero};
    onnxd_integer_product(e->maps, e->out_plane, e->depth, &weights.side, &w.side, workspace, sums,
                          e->out_plane);
}

static size_t workspace_integer(const onnxd_compute *compute)
{
    (void)compute;
    return ONNXD_INTEGER_PRODUCT_WORKSPACE;
}

static onnxd_status *compute_integer(const onnxd_compute *compute)
{
    int32_t *out = onnxd_tensor_view_data(&compute->outputs[0]);
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    extent e = extent_of(compute, &integer);
    for (size_t image = 0; image < e.batch; image++)
        for (size_t group = 0; group < e.groups; group++, out += e.maps * e.out_plane)
            convolve(compute, &integer, &e, image, group, compute->workspace, out);
    return NULL;
}

/* ---- quantising the sums ---- */

/* The sums of a group come first, then what the product needs. */
static size_t workspace_quantized(const onnxd_compute *compute)
{
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return 0;
    extent e = extent_of(compute, &quantized);
    size_t total;
    return onnxd_size_mul(e.maps, e.out_plane, &total) &&
                   onnxd_size_mul(total, sizeof(int32_t), &total) &&
                   onnxd_size_add(total, ONNXD_INTEGER_PRODUCT_WORKSPACE, &total)
               ? total
               : SIZE_MAX;
}

static float scale_at(const onnxd_compute *compute, uint32_t index, size_t map)
{
    const float *scales = onnxd_tensor_view_data(&compute->inputs[index]);
    return scales[onnxd_tensor_view_count(&compute->inputs[index]) > 1 ? map : 0];
}

/* Output channel `map` of the whole output, from its sums to elements `start` and following. */
static void requantize(const onnxd_compute *compute, const extent *e, size_t map, int32_t *sums,
                       size_t start)
{
    const onnxd_tensor_view *output = &compute->outputs[0];
    const onnxd_tensor_view *zero_view = &compute->inputs[quantized.y_zero];
    const int32_t *bias = (const int32_t *)(const void *)bytes_of(compute, quantized.bias);
    float factors[ONNXD_QUANT_CHUNK], zeros[ONNXD_QUANT_CHUNK], zero;
    onnxd_quant_read_floats(zero_view->dtype, onnxd_tensor_view_data(zero_view), 0, 1, &zero);
    /* These operations, in this order, are those of other runtimes. */
    float factor = scale_at(compute, quantized.x_scale, 0) *
                   scale_at(compute, quantized.w_scale, map) /
                   scale_at(compute, quantized.y_scale, 0);
    for (size_t i = 0; i < ONNXD_QUANT_CHUNK; i++) {
        factors[i] = factor;
        zeros[i] = zero;
    }
    if (bias != NULL)
        for (size_t i = 0; i < e->out_plane; i++)
            sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)bias[map]);
    for (size_t i = 0; i < e->out_plane; i += ONNXD_QUANT_CHUNK) {
        size_t part = e->out_plane - i < ONNXD_QUANT_CHUNK ? e->out_plane - i : ONNXD_QUANT_CHUNK;
        onnxd_quant_store_sums(output->dtype, sums + i, factors, zeros, part, true,
                               onnxd_tensor_view_data(output), start + i);
    }
}

static onnxd_status *compute_quantized(const onnxd_compute *compute)
{
    if (onnxd_tensor_view_count(&compute->outputs[0]) == 0)
        return NULL;
    extent e = extent_of(compute, &quantized);
    int32_t *sums = compute->workspace;
    size_t start = 0;
    for (size_t image = 0; image < e.batch; image++) {
        for (size_t group = 0; group < e.groups; group++) {
            convolve(compute, &quantized, &e, image, group, sums + e.maps * e.out_plane, sums);
            for (size_t map = 0; map < e.maps; map++, start += e.out_plane)
                requantize(compute, &e, group * e.maps + map, sums + map * e.out_plane, start);
        }
    }
    return NULL;
}

/* ---- definitions ---- */

#define BYTES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))

const onnxd_op_def onnxd_op_integer_conv[] = {
    {.op_type = "ConvInteger",
     .domain = "",
     .since = 10,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = BYTES, .type_variable = 1},
                {.types = BYTES, .type_variable = 2},
                {.types = BYTES, .type_variable = 1, .is_optional = true},
                {.types = BYTES, .type_variable = 2, .is_optional = true}},
     .outputs = {{.types = ONNXD_SET(INT32)}},
     .params_bytes = sizeof(onnxd_conv_params),
     .parse = onnxd_conv_parse,
     .infer = infer_integer,
     .workspace_bytes = workspace_integer,
     .compute = compute_integer,
     .batch_inputs = 1u},
    {.op_type = "QLinearConv",
     .domain = "",
     .since = 10,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 8,
     .max_inputs = 9,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = BYTES, .type_variable = 1},
                {.types = ONNXD_SET(FLOAT)},
                {.types = BYTES, .type_variable = 1},
                {.types = BYTES, .type_variable = 2},
                {.types = ONNXD_SET(FLOAT)},
                {.types = BYTES, .type_variable = 2},
                {.types = ONNXD_SET(FLOAT)},
                {.types = BYTES, .type_variable = 3},
                {.types = ONNXD_SET(INT32), .is_optional = true}},
     .outputs = {{.types = BYTES, .type_variable = 3}},
     .params_bytes = sizeof(onnxd_conv_params),
     .parse = onnxd_conv_parse,
     .infer = infer_quantized,
     .workspace_bytes = workspace_quantized,
     .compute = compute_quantized,
     .batch_inputs = 1u},
    {.op_type = NULL},
};

/* GridSample: elements of an image at the positions of a grid, for any number of axes. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/choice.h"
#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef enum sample_mode { MODE_LINEAR, MODE_NEAREST, MODE_CUBIC } sample_mode;

typedef enum sample_padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION } sample_padding;

typedef struct grid_sample_params {
    sample_mode mode;
    sample_padding padding;
    bool aligns_corners;
    /* com.microsoft's border for mode cubic: taps, not positions, are moved into the input. */
    bool keeps_positions;
} grid_sample_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {"align_corners", "mode", "padding_mode", NULL};
    static const char *const modes_16[] = {"bilinear", "nearest", "bicubic"};
    static const char *const modes_20[] = {"linear", "nearest", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    grid_sample_params *params = out;
    size_t mode = MODE_LINEAR, padding = PADDING_ZEROS;
    int64_t aligns_corners = 0;
    (void)arena;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_choice(node, "mode", opset < 20 ? modes_16 : modes_20, 3, &mode));
    ONNXD_TRY(onnxd_op_choice(node, "padding_mode", paddings, 3, &padding));
    ONNXD_TRY(onnxd_attribute_int(node, "align_corners", 0, 1, &aligns_corners));
    params->mode = (sample_mode)mode;
    params->padding = (sample_padding)padding;
    params->aligns_corners = aligns_corners != 0;
    return NULL;
}

static onnxd_status *parse_contrib(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *out)
{
    grid_sample_params *params = out;
    ONNXD_TRY(parse(node, opset, arena, out));
    params->keeps_positions = params->mode == MODE_CUBIC && params->padding == PADDING_BORDER;
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static onnxd_status *check_shapes(const onnxd_infer *context)
{
    const onnxd_shape *input = &context->inputs[0].shape, *grid = &context->inputs[1].shape;
    int32_t rank = input->rank != ONNXD_RANK_UNKNOWN ? input->rank : grid->rank;
    if (rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (rank < 3 || (context->opset < 20 && rank != 4))
        return onnxd_op_error(context->node, "the rank is %" PRId32 ", %s", rank,
                              context->opset < 20 ? "needed is 4" : "allowed are 3 and more");
    if (input->rank != ONNXD_RANK_UNKNOWN && grid->rank != ONNXD_RANK_UNKNOWN) {
        if (input->rank != grid->rank)
            return onnxd_op_error(context->node,
                                  "the input has rank %" PRId32 ", the grid %" PRId32, input->rank,
                                  grid->rank);
        if (input->dims[0] >= 0 && grid->dims[0] >= 0 && input->dims[0] != grid->dims[0])
            return onnxd_op_error(context->node,
                                  "the input has %" PRId64 " images, the grid %" PRId64,
                                  input->dims[0], grid->dims[0]);
    }
    if (grid->rank != ONNXD_RANK_UNKNOWN && grid->dims[rank - 1] >= 0 &&
        grid->dims[rank - 1] != rank - 2)
        return onnxd_op_error(context->node,
                              "the grid has %" PRId64 " coordinates, needed are %" PRId32,
                              grid->dims[rank - 1], rank - 2);
    for (int32_t i = 2; i < input->rank; i++)
        if (input->dims[i] == 0)
            return onnxd_op_error(context->node, "the input is empty in dimension %" PRId32, i);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const grid_sample_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape, *grid = &context->inputs[1].shape;
    int32_t rank = input->rank != ONNXD_RANK_UNKNOWN ? input->rank : grid->rank;
    context->outputs[0].dtype = context->inputs[0].dtype;
    if (context->inputs[0].dtype == ONNXD_STRING && params->mode != MODE_NEAREST)
        return onnxd_op_error(context->node, "strings can only be sampled by mode nearest");
    ONNXD_TRY(check_shapes(context));
    if (rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    onnxd_shape shape = onnxd_shape_of_rank(rank);
    if (input->rank != ONNXD_RANK_UNKNOWN) {
        shape.dims[0] = input->dims[0];
        shape.dims[1] = input->dims[1];
    }
    if (grid->rank != ONNXD_RANK_UNKNOWN) {
        if (onnxd_dim_is_static(grid->dims[0]) || shape.dims[0] == ONNXD_DIM_UNKNOWN)
            shape.dims[0] = grid->dims[0];
        for (int32_t i = 2; i < rank; i++)
            shape.dims[i] = grid->dims[i - 1];
    }
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- positions to taps ----------------------------------------------------------------------- */

/* Elements along one axis that make a sample: offsets in the plane, and weights. */
typedef struct axis_taps {
    size_t count, offset[4];
    double weight[4];
} axis_taps;

/* Combinations of taps that are summed at a time. */
#define MAX_TAPS 64

typedef struct sampler {
    const grid_sample_params *params;
    onnxd_dtype dtype, grid_dtype;
    int32_t spatial;
    int64_t dims[ONNXD_MAX_RANK];
    size_t strides[ONNXD_MAX_RANK];
    size_t channels, plane, out_plane;
    axis_taps axes[ONNXD_MAX_RANK];
} sampler;

/* From [-1, 1] to elements, with the roundings of the grid's type: which element is the nearest may
 * hang on them. */
static double denormalize(const sampler *s, double n, int64_t length)
{
#define STEP(value) (s->grid_dtype == ONNXD_DOUBLE ? (value) : (double)(float)(value))
    double extent = (double)length;
    if (s->params->aligns_corners)
        return STEP(STEP(n + 1) / 2 * (extent - 1));
    return STEP(STEP(STEP(n + 1) * extent) - 1) / 2;
#undef STEP
}

/* Mirrors x at the borders until it lies between them; what is no number goes to the lower one. */
static double reflect(double x, double low, double high)
{
    double range = high - low, past;
    if (x >= low && x <= high)
        return x;
    if (!(range > 0) || !isfinite(x))
        return low;
    past = fmod(fabs(x - low), 2 * range);
    return past <= range ? low + past : high - (past - range);
}

/* The element that stands for `at`, -1 for none. */
static int64_t pad(const sampler *s, int64_t at, int64_t length)
{
    if (at >= 0 && at < length)
        return at;
    if (s->params->padding == PADDING_ZEROS)
        return -1;
    if (s->params->padding == PADDING_REFLECTION) {
        bool aligns = s->params->aligns_corners;
        at = (int64_t)reflect((double)at, aligns ? 0 : -0.5, (double)length - (aligns ? 1 : 0.5));
    }
    return at < 0 ? 0 : at >= length ? length - 1 : at;
}

static void add_tap(const sampler *s, int32_t axis, int64_t at, double weight, axis_taps *taps)
{
    int64_t from = pad(s, at, s->dims[axis]);
    if (from < 0 || weight == 0)
        return;
    size_t offset = (size_t)from * s->strides[axis];
    for (size_t i = 0; i < taps->count; i++) {
        if (taps->offset[i] == offset) {
            taps->weight[i] += weight;
            return;
        }
    }
    taps->offset[taps->count] = offset;
    taps->weight[taps->count++] = weight;
}

/* Where padding reads the input, x comes to lie in it. False: the sample is zero. */
static bool place(const sampler *s, int64_t length, double *inout_x)
{
    bool aligns = s->params->aligns_corners;
    double low = aligns ? 0 : -0.5, high = (double)length - (aligns ? 1 : 0.5), x = *inout_x;
    bool is_near = x > -3 && x < (double)length + 2;
    if (s->params->padding == PADDING_ZEROS)
        return is_near;
    if (s->params->keeps_positions && is_near)
        return true;
    if (s->params->padding == PADDING_REFLECTION)
        *inout_x = reflect(x, low, high);
    else if (!(x >= low && x <= high))
        *inout_x = x > 0 ? (double)(length - 1) : 0;
    return true;
}

/* R. Keys' cubic convolution with a = -0.75, at a distance of at most 2. */
static double cubic(double x)
{
    const double a = -0.75;
    x = fabs(x);
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static void set_taps(const sampler *s, int32_t axis, double n, axis_taps *taps)
{
    double x = denormalize(s, n, s->dims[axis]);
    taps->count = 0;
    if (s->params->mode == MODE_NEAREST)
        x = rint(x);
    if (!place(s, s->dims[axis], &x))
        return;
    int64_t base = (int64_t)floor(x);
    double part = x - (double)base;
    switch (s->params->mode) {
    case MODE_NEAREST:
        add_tap(s, axis, (int64_t)x, 1, taps);
        break;
    case MODE_CUBIC:
        for (int64_t i = -1; i <= 2; i++)
            add_tap(s, axis, base + i, cubic((double)i - part), taps);
        break;
    case MODE_LINEAR:
    default:
        add_tap(s, axis, base, 1 - part, taps);
        add_tap(s, axis, base + 1, part, taps);
        break;
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* sums[c] += sum over k of weight[k] * in[c * plane + offset[k]]; `step` elements make one of the
 * tensor's (2 for complex numbers, one part at a time). */
#define SUM(op, id, T, C, LOAD, STORE)                                                             \
    static void sum_##id(const sampler *s, const void *data, size_t step, const size_t *offset,    \
                         const double *weight, size_t count, onnxd_wide *sums)                     \
    {                                                                                              \
        const T *in = data;                                                                        \
        for (size_t c = 0; c < s->channels; c++, in += s->plane * step) {                          \
            double sum = 0;                                                                        \
            for (size_t k = 0; k < count; k++)                                                     \
                sum += weight[k] * (double)LOAD(C, in[offset[k] * step]);                          \
            sums[c].f += sum;                                                                      \
        }                                                                                          \
    }
ONNXD_EACH_NUMBER(SUM, sum)
SUM(sum, BOOL, uint8_t, uint8_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)

typedef void (*sum_function)(const sampler *s, const void *data, size_t step, const size_t *offset,
                             const double *weight, size_t count, onnxd_wide *sums);

#define ENTRY(op, id, T, C, LOAD, STORE) [ONNXD_##id] = sum_##id,
static const sum_function sum_functions[ONNXD_DTYPE_COUNT] = {
    ONNXD_EACH_NUMBER(ENTRY, sum)[ONNXD_BOOL] = sum_BOOL,
    [ONNXD_COMPLEX64] = sum_FLOAT,
    [ONNXD_COMPLEX128] = sum_DOUBLE,
};

/* Sums one sample over every combination of the axes' taps. */
static void sum_taps(const sampler *s, const void *in, size_t step, onnxd_wide *sums)
{
    size_t index[ONNXD_MAX_RANK] = {0}, offset[MAX_TAPS], count = 0;
    double weight[MAX_TAPS];
    int32_t axis;
    for (int32_t i = 0; i < s->spatial; i++)
        if (s->axes[i].count == 0)
            return;
    do {
        offset[count] = 0;
        weight[count] = 1;
        for (int32_t i = 0; i < s->spatial; i++) {
            offset[count] += s->axes[i].offset[index[i]];
            weight[count] *= s->axes[i].weight[index[i]];
        }
        if (++count == MAX_TAPS) {
            sum_functions[s->dtype](s, in, step, offset, weight, count, sums);
            count = 0;
        }
        for (axis = s->spatial - 1; axis >= 0 && ++index[axis] == s->axes[axis].count; axis--)
            index[axis] = 0;
    } while (axis >= 0);
    sum_functions[s->dtype](s, in, step, offset, weight, count, sums);
}

static void store_sums(const sampler *s, onnxd_dtype dtype, const onnxd_wide *sums, size_t step,
                       char *out)
{
    const onnxd_rounding rounding = {.saturates = true};
    if (dtype == ONNXD_FLOAT) {
        for (size_t c = 0; c < s->channels; c++)
            ((float *)(void *)out)[c * s->out_plane * step] = (float)sums[c].f;
        return;
    }
    size_t stride = onnxd_dtype_size(dtype) * s->out_plane * step;
    for (size_t c = 0; c < s->channels; c++)
        onnxd_wide_store(dtype, ONNXD_WIDE_FLOAT, &sums[c], 1, &rounding, out + c * stride, 0);
}

static void sample_sums(const sampler *s, const char *in, char *out, onnxd_wide *sums)
{
    bool is_complex = s->dtype == ONNXD_COMPLEX64 || s->dtype == ONNXD_COMPLEX128;
    size_t parts = is_complex ? 2 : 1, part = onnxd_dtype_size(s->dtype) / parts;
    onnxd_dtype dtype = s->dtype == ONNXD_COMPLEX64    ? ONNXD_FLOAT
                        : s->dtype == ONNXD_COMPLEX128 ? ONNXD_DOUBLE
                                                       : s->dtype;
    for (size_t i = 0; i < parts; i++) {
        for (size_t c = 0; c < s->channels; c++)
            sums[c].f = 0;
        sum_taps(s, in + i * part, parts, sums);
        store_sums(s, dtype, sums, parts, out + i * part);
    }
}

static void sample_nearest(const sampler *s, const char *in, char *out)
{
    size_t element = onnxd_dtype_size(s->dtype), offset = 0;
    bool is_inside = true;
    for (int32_t i = 0; i < s->spatial; i++) {
        is_inside = is_inside && s->axes[i].count > 0;
        offset += is_inside ? s->axes[i].offset[0] : 0;
    }
    for (size_t c = 0; c < s->channels; c++, out += s->out_plane * element) {
        if (is_inside)
            memcpy(out, in + (c * s->plane + offset) * element, element);
        else
            memset(out, 0, element);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static size_t workspace_bytes(const onnxd_compute *context)
{
    const grid_sample_params *params = context->params;
    size_t bytes;
    if (params->mode == MODE_NEAREST || onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return 0;
    return onnxd_size_mul((size_t)context->inputs[0].shape.dims[1], sizeof(onnxd_wide), &bytes)
               ? bytes
               : SIZE_MAX;
}

static sampler sampler_of(const onnxd_compute *context)
{
    const onnxd_shape *input = &context->inputs[0].shape, *output = &context->outputs[0].shape;
    sampler s = {.params = context->params,
                 .dtype = context->inputs[0].dtype,
                 .grid_dtype = context->inputs[1].dtype,
                 .spatial = input->rank - 2,
                 .channels = (size_t)input->dims[1],
                 .plane = 1,
                 .out_plane = 1};
    for (int32_t i = s.spatial; i-- > 0;) {
        s.dims[i] = input->dims[2 + i];
        s.strides[i] = s.plane;
        s.plane *= (size_t)input->dims[2 + i];
        s.out_plane *= (size_t)output->dims[2 + i];
    }
    return s;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    sampler s = sampler_of(context);
    const char *in = onnxd_tensor_view_data(&context->inputs[0]);
    const void *grid = onnxd_tensor_view_data(&context->inputs[1]);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    size_t batch = (size_t)context->inputs[0].shape.dims[0], spatial = (size_t)s.spatial;
    size_t element = onnxd_dtype_size(s.dtype), next = 0;
    for (size_t n = 0; n < batch; n++) {
        for (size_t at = 0; at < s.out_plane; at++, next += spatial) {
            /* Coordinates are listed from the innermost axis on. */
            for (size_t i = 0; i < spatial; i++)
                set_taps(&s, (int32_t)(spatial - 1 - i),
                         onnxd_real_load(s.grid_dtype, grid, next + i), &s.axes[spatial - 1 - i]);
            if (s.params->mode == MODE_NEAREST)
                sample_nearest(&s, in, out + at * element);
            else
                sample_sums(&s, in, out + at * element, context->workspace);
        }
        in += s.channels * s.plane * element;
        out += s.channels * s.out_plane * element;
    }
    return NULL;
}

#define GRID_SAMPLE(first, last, set, grid_set) IN_DOMAIN("", parse, first, last, set, grid_set, 2)
/* grid_variable: 1 where the grid must have the input's type. */
#define IN_DOMAIN(name, parse_function, first, last, set, grid_set, grid_variable)                 \
    {                                                                                              \
        .op_type = "GridSample", .domain = name, .since = first, .until = last, .min_inputs = 2,   \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = grid_set, .type_variable = grid_variable}},                           \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(grid_sample_params), .parse = parse_function, .infer = infer,       \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_grid_sample[] = {
    GRID_SAMPLE(16, 19, ONNXD_SET_ANY_1, ONNXD_SET_FLOATS_1),
    GRID_SAMPLE(20, 21, ONNXD_SET_ANY_1, ONNXD_SET_FLOATS_1),
    GRID_SAMPLE(22, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, ONNXD_SET_FLOATS),
    /* By opset 1's names; its result is of a floating-point type, and so are therefore its inputs.
     */
    IN_DOMAIN("com.microsoft", parse_contrib, 1, 1, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, 1),
    {.op_type = NULL},
};

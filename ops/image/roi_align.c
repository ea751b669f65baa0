/* RoiAlign: samples between elements, at a grid of points in each bin of each region. */
#include <inttypes.h>
#include <math.h>

#include "base/size_math.h"
#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"
#include "ops/window.h"

/* The most points along a side of a bin; models use 0 to 4. */
#define MAX_SAMPLING_RATIO 1024

typedef struct roi_align_params {
    bool is_maximum;
    bool shifts; /* coordinates by half an element */
    int64_t height, width, sampling_ratio;
    float spatial_scale;
} roi_align_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names_10[] = {"mode",           "output_height", "output_width",
                                           "sampling_ratio", "spatial_scale", NULL};
    static const char *const names_16[] = {"coordinate_transformation_mode",
                                           "mode",
                                           "output_height",
                                           "output_width",
                                           "sampling_ratio",
                                           "spatial_scale",
                                           NULL};
    static const char *const modes[] = {"avg", "max"};
    static const char *const transformations[] = {"half_pixel", "output_half_pixel"};
    roi_align_params *params = out;
    size_t mode = 0, transformation = opset < 16 ? 1 : 0;
    (void)arena;
    params->height = params->width = 1;
    params->spatial_scale = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 16 ? names_10 : names_16));
    ONNXD_TRY(onnxd_op_choice(node, "mode", modes, 2, &mode));
    ONNXD_TRY(onnxd_op_choice(node, "coordinate_transformation_mode", transformations, 2,
                              &transformation));
    ONNXD_TRY(
        onnxd_attribute_int(node, "output_height", 1, ONNXD_WINDOW_MAX_VALUE, &params->height));
    ONNXD_TRY(onnxd_attribute_int(node, "output_width", 1, ONNXD_WINDOW_MAX_VALUE, &params->width));
    ONNXD_TRY(onnxd_attribute_int(node, "sampling_ratio", 0, MAX_SAMPLING_RATIO,
                                  &params->sampling_ratio));
    params->is_maximum = mode == 1;
    params->shifts = transformation == 0;
    return onnxd_attribute_float(node, "spatial_scale", &params->spatial_scale);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const roi_align_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape, *rois = &context->inputs[1].shape;
    const onnxd_shape *images = &context->inputs[2].shape;
    onnxd_shape shape = onnxd_shape_of_rank(4);
    char text[ONNXD_SHAPE_TEXT];
    context->outputs[0].dtype = context->inputs[0].dtype;
    if (input->rank != ONNXD_RANK_UNKNOWN) {
        if (input->rank != 4)
            return onnxd_op_error(context->node, "the input has rank %" PRId32 ", needed is 4",
                                  input->rank);
        if (input->dims[2] == 0 || input->dims[3] == 0)
            return onnxd_op_error(context->node,
                                  "the images are of %" PRId64 " by %" PRId64
                                  " elements, allowed are 1 by 1 and more",
                                  input->dims[2], input->dims[3]);
        shape.dims[1] = input->dims[1];
    }
    if (rois->rank != ONNXD_RANK_UNKNOWN) {
        if (rois->rank != 2 || (rois->dims[1] >= 0 && rois->dims[1] != 4))
            return onnxd_op_error(context->node, "the regions have shape %s, needed is [n,4]",
                                  onnxd_shape_format(rois, text, sizeof(text)));
        shape.dims[0] = rois->dims[0];
    }
    if (images->rank != ONNXD_RANK_UNKNOWN) {
        if (images->rank != 1)
            return onnxd_op_error(context->node,
                                  "the batch indices have rank %" PRId32 ", needed is 1",
                                  images->rank);
        if (images->dims[0] >= 0 && shape.dims[0] >= 0 && images->dims[0] != shape.dims[0])
            return onnxd_op_error(context->node,
                                  "%" PRId64 " batch indices for %" PRId64 " regions",
                                  images->dims[0], shape.dims[0]);
        if (shape.dims[0] < 0)
            shape.dims[0] = images->dims[0];
    }
    shape.dims[2] = params->height;
    shape.dims[3] = params->width;
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* One point along one side: between element `low` and the next, or on the last one. */
typedef struct roi_point {
    size_t low, high;
    double low_weight, high_weight;
} roi_point;

/* The points of one side of a region that lie in the image, bin after bin. */
typedef struct roi_side {
    double start, bin;
    int64_t grid;      /* points in a bin, those outside included; none when not above 0 */
    size_t *ends;      /* [bins]: of each bin's points */
    roi_point *points; /* [capacity] */
    size_t capacity;
} roi_side;

/* Points of all bins that can lie in an image of `extent`. Without a ratio there is one to a bin or
 * they are at least half an element apart. */
static bool count_points(const roi_align_params *params, int64_t bins, int64_t extent,
                         size_t *out_count)
{
    size_t count, ratio = (size_t)params->sampling_ratio;
    if (ratio > 0)
        return onnxd_size_mul((size_t)bins, ratio, out_count);
    return onnxd_size_mul((size_t)extent, 2, &count) && onnxd_size_add(count, 8, &count) &&
           onnxd_size_add(count, (size_t)bins, out_count);
}

/* Edges beyond this are cut: exact enough there to keep points apart, and far outside. */
#define ROI_LIMIT 0x1p30

/* Edges, extents and bins are rounded to the type that the tensors are calculated in, since the
 * number of points hangs on them. A region without an extent, or with edges that are no numbers,
 * has no points. */
static void set_side(const roi_align_params *params, bool is_double, double first, double last,
                     int64_t bins, roi_side *side)
{
#define STEP(value) (is_double ? (value) : (double)(float)(value))
    double shift = params->shifts ? 0.5 : 0, scale = (double)params->spatial_scale;
    double start = STEP(STEP(first * scale) - shift), end = STEP(STEP(last * scale) - shift);
    bool is_number = !isnan(start) && !isnan(end);
    start = fmin(fmax(start, -ROI_LIMIT), ROI_LIMIT);
    end = fmin(fmax(end, -ROI_LIMIT), ROI_LIMIT);
    double extent = STEP(end - start);
    if (!params->shifts)
        extent = fmax(extent, 1);
    side->start = start;
    side->bin = STEP(extent / (double)bins);
    side->grid = params->sampling_ratio > 0 ? params->sampling_ratio : (int64_t)ceil(side->bin);
    if (!is_number)
        side->grid = 0;
#undef STEP
}

/* The points of a bin that may lie in the image, found without visiting the others. */
static void bound_points(const roi_side *side, double base, double step, int64_t extent,
                         int64_t *out_first, int64_t *out_last)
{
    double grid = (double)side->grid, first = 0, last = grid;
    if (step > 0) {
        first = floor((-1 - base) / step) - 2;
        last = ceil(((double)extent - base) / step) + 2;
    }
    *out_first = (int64_t)fmin(fmax(first, 0), grid);
    *out_last = (int64_t)fmin(fmax(last, 0), grid);
}

static void set_points(roi_side *side, int64_t bins, int64_t extent)
{
    size_t used = 0;
    double step = side->grid > 0 ? side->bin / (double)side->grid : 0;
    for (int64_t i = 0; i < bins; i++) {
        double base = side->start + (double)i * side->bin;
        int64_t first = 0, last = 0;
        if (side->grid > 0)
            bound_points(side, base, step, extent, &first, &last);
        for (int64_t k = first; k < last && used < side->capacity; k++) {
            double x = base + ((double)k + 0.5) * step;
            if (!(x >= -1 && x <= (double)extent))
                continue;
            roi_point point = {.low = (size_t)fmax(x, 0)};
            if (point.low >= (size_t)extent - 1) {
                point.low = point.high = (size_t)extent - 1;
                point.low_weight = 1;
            } else {
                point.high = point.low + 1;
                point.high_weight = fmax(x, 0) - (double)point.low;
                point.low_weight = 1 - point.high_weight;
            }
            side->points[used++] = point;
        }
        side->ends[i] = used;
    }
}

#define KERNEL_FILE "ops/image/roi_align_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

/* ---- the kernel ------------------------------------------------------------------------------ */

static bool add_side(const roi_align_params *params, int64_t bins, int64_t extent,
                     size_t *inout_bytes)
{
    size_t points, bytes;
    return count_points(params, bins, extent, &points) &&
           onnxd_size_mul(points, sizeof(roi_point), &bytes) &&
           onnxd_size_add(*inout_bytes, bytes, inout_bytes) &&
           onnxd_size_mul((size_t)bins, sizeof(size_t), &bytes) &&
           onnxd_size_add(*inout_bytes, bytes, inout_bytes);
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    const roi_align_params *params = context->params;
    const int64_t *dims = context->inputs[0].shape.dims;
    size_t bytes = 0;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return 0;
    if (!add_side(params, params->height, dims[2], &bytes) ||
        !add_side(params, params->width, dims[3], &bytes))
        return SIZE_MAX;
    return bytes;
}

static void *place_side(const roi_align_params *params, int64_t bins, int64_t extent, void *memory,
                        roi_side *side)
{
    (void)count_points(params, bins, extent, &side->capacity);
    side->points = memory;
    side->ends = (size_t *)(side->points + side->capacity);
    return side->ends + bins;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const roi_align_params *params = context->params;
    const onnxd_tensor_view *input = &context->inputs[0], *rois = &context->inputs[1];
    const int64_t *dims = input->shape.dims, *images = onnxd_tensor_view_data(&context->inputs[2]);
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    size_t element = onnxd_dtype_size(input->dtype);
    size_t image = (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[3] * element;
    size_t region = (size_t)dims[1] * (size_t)params->height * (size_t)params->width * element;
    const char *in = onnxd_tensor_view_data(input);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    const void *edges = onnxd_tensor_view_data(rois);
    roi_side sides[2] = {{0}};
    void *rest = place_side(params, params->height, dims[2], context->workspace, &sides[0]);
    (void)place_side(params, params->width, dims[3], rest, &sides[1]);
    for (size_t i = 0; i < (size_t)rois->shape.dims[0]; i++, out += region) {
        double values[4];
        if (images[i] < 0 || images[i] >= dims[0])
            return onnxd_op_error(context->node,
                                  "batch index %zu is %" PRId64 ", allowed are 0 to %" PRId64, i,
                                  images[i], dims[0] - 1);
        for (size_t k = 0; k < 4; k++)
            values[k] = onnxd_real_load(rois->dtype, edges, i * 4 + k);
        bool is_double = input->dtype == ONNXD_DOUBLE;
        set_side(params, is_double, values[1], values[3], params->height, &sides[0]);
        set_side(params, is_double, values[0], values[2], params->width, &sides[1]);
        set_points(&sides[0], params->height, dims[2]);
        set_points(&sides[1], params->width, dims[3]);
        ONNXD_FOR_FLOAT(input->dtype, align_region)
        (params, sides, dims + 1, in + (size_t)images[i] * image, out);
    }
    return NULL;
}

#define ROI_ALIGN(first, last, set)                                                                \
    {                                                                                              \
        .op_type = "RoiAlign", .domain = "", .since = first, .until = last, .min_inputs = 3,       \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET(INT64)}},                                                   \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(roi_align_params), \
        .parse = parse, .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute     \
    }

const onnxd_op_def onnxd_op_roi_align[] = {
    ROI_ALIGN(10, 15, ONNXD_SET_FLOATS_1),
    ROI_ALIGN(16, 21, ONNXD_SET_FLOATS_1),
    ROI_ALIGN(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

/* MaxRoiPool: the largest element of each bin of each region, regions rounded to whole elements. */
#include <inttypes.h>
#include <math.h>

#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"
#include "ops/window.h"

typedef struct max_roi_pool_params {
    float spatial_scale;
    int64_t height, width;
} max_roi_pool_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {"pooled_shape", "spatial_scale", NULL};
    max_roi_pool_params *params = out;
    int64_t pooled[2] = {0, 0};
    size_t count = 0;
    (void)opset;
    (void)arena;
    params->spatial_scale = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "pooled_shape"));
    ONNXD_TRY(onnxd_attribute_ints(node, "pooled_shape", 2, 2, 1, ONNXD_WINDOW_MAX_VALUE, pooled,
                                   &count));
    params->height = pooled[0];
    params->width = pooled[1];
    return onnxd_attribute_float(node, "spatial_scale", &params->spatial_scale);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const max_roi_pool_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape, *rois = &context->inputs[1].shape;
    onnxd_shape shape = onnxd_shape_of_rank(4);
    char text[ONNXD_SHAPE_TEXT];
    context->outputs[0].dtype = context->inputs[0].dtype;
    if (input->rank != ONNXD_RANK_UNKNOWN) {
        if (input->rank != 4)
            return onnxd_op_error(context->node, "the input has rank %" PRId32 ", needed is 4",
                                  input->rank);
        shape.dims[1] = input->dims[1];
    }
    if (rois->rank != ONNXD_RANK_UNKNOWN) {
        if (rois->rank != 2 || (rois->dims[1] >= 0 && rois->dims[1] != 5))
            return onnxd_op_error(context->node, "the regions have shape %s, needed is [n,5]",
                                  onnxd_shape_format(rois, text, sizeof(text)));
        shape.dims[0] = rois->dims[0];
    }
    shape.dims[2] = params->height;
    shape.dims[3] = params->width;
    context->outputs[0].shape = shape;
    return NULL;
}

/* One side of a region: its bins begin at start + floor(i * bin), the product rounded to float as
 * other runtimes do, since an edge may hang on that. */
typedef struct roi_side {
    double start;
    float bin;
} roi_side;

/* Far beyond any tensor, and small enough for exact integers. */
#define ROI_LIMIT 0x1p40

static double round_edge(double edge, float scale)
{
    double x = round((double)((float)edge * scale));
    return fmin(fmax(x, -ROI_LIMIT), ROI_LIMIT);
}

static roi_side side_of(double first, double last, float scale, int64_t bins)
{
    double start = round_edge(first, scale), end = round_edge(last, scale);
    /* Regions that end before they begin count one element. */
    double extent = fmax(end - start + 1, 1);
    return (roi_side){start, (float)extent / (float)bins};
}

static void bin_of(const roi_side *side, int64_t at, int64_t extent, int64_t *out_first,
                   int64_t *out_last)
{
    double first = side->start + (double)floorf((float)at * side->bin);
    double last = side->start + (double)ceilf((float)(at + 1) * side->bin);
    *out_first = (int64_t)fmin(fmax(first, 0), (double)extent);
    *out_last = (int64_t)fmin(fmax(last, 0), (double)extent);
}

#define KERNEL_FILE "ops/image/max_roi_pool_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

static onnxd_status *compute(const onnxd_compute *context)
{
    const max_roi_pool_params *params = context->params;
    const onnxd_tensor_view *input = &context->inputs[0], *rois = &context->inputs[1];
    const int64_t *dims = input->shape.dims;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    size_t element = onnxd_dtype_size(input->dtype);
    size_t image = (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[3] * element;
    size_t region = (size_t)dims[1] * (size_t)params->height * (size_t)params->width * element;
    const char *in = onnxd_tensor_view_data(input);
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    const void *edges = onnxd_tensor_view_data(rois);
    for (size_t i = 0; i < (size_t)rois->shape.dims[0]; i++) {
        double values[5];
        for (size_t k = 0; k < 5; k++)
            values[k] = onnxd_real_load(rois->dtype, edges, i * 5 + k);
        if (!(values[0] >= 0 && values[0] < (double)dims[0]))
            return onnxd_op_error(context->node,
                                  "region %zu is of image %g, allowed are 0 to %" PRId64, i,
                                  values[0], dims[0] - 1);
        roi_side sides[2] = {side_of(values[2], values[4], params->spatial_scale, params->height),
                             side_of(values[1], values[3], params->spatial_scale, params->width)};
        ONNXD_FOR_FLOAT(input->dtype, pool_region)
        (params, sides, dims + 1, in + (size_t)values[0] * image, out + i * region);
    }
    return NULL;
}

#define MAX_ROI_POOL(first, last, set)                                                             \
    {                                                                                              \
        .op_type = "MaxRoiPool", .domain = "", .since = first, .until = last, .min_inputs = 2,     \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}, {.types = set, .type_variable = 1}},        \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(max_roi_pool_params), .parse = parse, .infer = infer,               \
        .compute = compute                                                                         \
    }

const onnxd_op_def onnxd_op_max_roi_pool[] = {
    MAX_ROI_POOL(1, 21, ONNXD_SET_FLOATS_1),
    MAX_ROI_POOL(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

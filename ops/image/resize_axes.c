/* Scales, sizes and regions to axes. */
#include <inttypes.h>
#include <math.h>

#include "ops/image/resize.h"
#include "ops/real.h"

static onnxd_status *check_length(const onnxd_resize_request *r, const char *what,
                                  const onnxd_tensor_view *view, int64_t per_axis)
{
    int64_t axes = r->params->axes.is_given ? (int64_t)r->params->axes.count : r->input->rank;
    if (view->shape.rank != 1 || view->shape.dims[0] != axes * per_axis)
        return onnxd_op_error(
            r->node, "input '%s' has %zu values (rank %" PRId32 "), needed are %" PRId64, what,
            onnxd_tensor_view_count(view), view->shape.rank, axes * per_axis);
    return NULL;
}

/* The axis that value `i` of a list is for. */
static int32_t axis_of(const onnxd_resize_request *r, size_t i)
{
    if (!r->params->axes.is_given)
        return (int32_t)i;
    int64_t axis = r->params->axes.values[i];
    return (int32_t)(axis < 0 ? axis + r->input->rank : axis);
}

static size_t axis_count(const onnxd_resize_request *r)
{
    return r->params->axes.is_given ? r->params->axes.count : (size_t)r->input->rank;
}

#define MAX_EXTENT (INT64_MAX / 4)

static onnxd_status *set_by_scale(const onnxd_resize_request *r, int32_t i, double scale,
                                  onnxd_resample_axis *axis)
{
    double least = r->params->is_upsample ? 1 : 0;
    if (!(scale > 0) || scale < least || !isfinite(scale))
        return onnxd_op_error(r->node,
                              "the scale of axis %" PRId32 " is %g, allowed are finite numbers %s",
                              i, scale, r->params->is_upsample ? "of at least 1" : "above 0");
    axis->scale = scale;
    if (axis->in < 0) {
        axis->out = scale == 1 ? axis->in : ONNXD_DIM_UNKNOWN;
        return NULL;
    }
    /* In float, as ONNX's shape inference has it: 10 times 0.7f is 7. */
    float extent = floorf((float)axis->in * (float)scale);
    if (!(extent < (float)MAX_EXTENT))
        return onnxd_op_error(
            r->node, "axis %" PRId32 " of extent %" PRId64 " is too large when scaled by %g", i,
            axis->in, scale);
    axis->out = scale == 1 ? axis->in : (int64_t)extent;
    axis->length = scale * (double)axis->in;
    return NULL;
}

static onnxd_status *apply_scales(const onnxd_resize_request *r, onnxd_resample_axis *axes)
{
    const float *scales = onnxd_tensor_view_data(r->scales);
    ONNXD_TRY(check_length(r, "scales", r->scales, 1));
    for (size_t i = 0; i < axis_count(r); i++) {
        int32_t at = axis_of(r, i);
        ONNXD_TRY(set_by_scale(r, at, (double)scales[i], &axes[at]));
    }
    return NULL;
}

static onnxd_status *set_by_size(const onnxd_resize_request *r, int32_t i, int64_t size,
                                 onnxd_resample_axis *axis)
{
    if (size < 0 || size > MAX_EXTENT)
        return onnxd_op_error(
            r->node, "the size of axis %" PRId32 " is %" PRId64 ", allowed are 0 to %" PRId64, i,
            size, MAX_EXTENT);
    if (axis->in == 0 && size != 0)
        return onnxd_op_error(r->node, "axis %" PRId32 " is empty, its size %" PRId64 " must be 0",
                              i, size);
    axis->out = size;
    axis->length = (double)size;
    if (axis->in > 0)
        axis->scale = (double)size / (double)axis->in;
    return NULL;
}

/* Every listed axis by one factor, the least or the greatest of those that the sizes ask for. */
static onnxd_status *keep_aspect(const onnxd_resize_request *r, onnxd_resample_axis *axes)
{
    double scale = -1;
    for (size_t i = 0; i < axis_count(r); i++) {
        const onnxd_resample_axis *axis = &axes[axis_of(r, i)];
        if (axis->in == 0)
            return onnxd_op_error(r->node, "axis %" PRId32 " is empty and has no aspect ratio",
                                  axis_of(r, i));
        if (axis->in < 0)
            scale = (double)NAN;
        bool is_better = r->params->policy == ONNXD_RESIZE_NOT_LARGER ? axis->scale < scale
                                                                      : axis->scale > scale;
        if (i == 0 || is_better)
            scale = isnan(scale) ? scale : axis->scale;
    }
    for (size_t i = 0; i < axis_count(r); i++) {
        onnxd_resample_axis *axis = &axes[axis_of(r, i)];
        double extent = floor(scale * (double)axis->in + 0.5);
        axis->scale = scale;
        axis->length = scale * (double)axis->in;
        if (isnan(scale)) {
            axis->out = ONNXD_DIM_UNKNOWN;
            continue;
        }
        if (!(extent < (double)MAX_EXTENT))
            return onnxd_op_error(r->node, "axis %" PRId32 " is too large when scaled by %g",
                                  axis_of(r, i), scale);
        axis->out = (int64_t)extent;
    }
    return NULL;
}

static onnxd_status *apply_sizes(const onnxd_resize_request *r, onnxd_resample_axis *axes)
{
    ONNXD_TRY(check_length(r, "sizes", r->sizes, 1));
    for (size_t i = 0; i < axis_count(r); i++) {
        int32_t at = axis_of(r, i);
        ONNXD_TRY(set_by_size(r, at, onnxd_op_int_at(r->sizes, i), &axes[at]));
    }
    return r->params->policy == ONNXD_RESIZE_STRETCH ? NULL : keep_aspect(r, axes);
}

static onnxd_status *apply_roi(const onnxd_resize_request *r, onnxd_resample_axis *axes)
{
    size_t count = axis_count(r);
    if (r->params->how.coordinates != ONNXD_RESAMPLE_TF_CROP_AND_RESIZE || !r->roi_is_known)
        return NULL;
    if (r->roi == NULL)
        return onnxd_op_error(r->node, "input 'roi' is needed by mode tf_crop_and_resize");
    ONNXD_TRY(check_length(r, "roi", r->roi, 2));
    const void *data = onnxd_tensor_view_data(r->roi);
    for (size_t i = 0; i < count; i++) {
        onnxd_resample_axis *axis = &axes[axis_of(r, i)];
        axis->roi_start = onnxd_real_load(r->roi->dtype, data, i);
        axis->roi_end = onnxd_real_load(r->roi->dtype, data, count + i);
    }
    return NULL;
}

onnxd_status *onnxd_resize_resolve(const onnxd_resize_request *r, onnxd_resample_axis *axes)
{
    bool selected[ONNXD_MAX_RANK];
    for (int32_t i = 0; i < r->input->rank; i++)
        axes[i] = (onnxd_resample_axis){.in = r->input->dims[i],
                                        .out = r->input->dims[i],
                                        .scale = 1,
                                        .length = (double)r->input->dims[i],
                                        .roi_end = 1};
    if (r->params->axes.is_given)
        ONNXD_TRY(onnxd_op_axes(r->node, r->params->axes.values, r->params->axes.count,
                                r->input->rank, selected));
    if (r->scales != NULL)
        ONNXD_TRY(apply_scales(r, axes));
    else
        ONNXD_TRY(apply_sizes(r, axes));
    return apply_roi(r, axes);
}

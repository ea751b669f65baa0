/*
 * The attributes of Resize and Upsample, and what they and the inputs make of each axis.
 */
#ifndef ONNXD_OPS_IMAGE_RESIZE_H
#define ONNXD_OPS_IMAGE_RESIZE_H

#include "ops/image/resample.h"
#include "ops/support.h"

typedef enum onnxd_resize_policy {
    ONNXD_RESIZE_STRETCH,
    ONNXD_RESIZE_NOT_LARGER,
    ONNXD_RESIZE_NOT_SMALLER
} onnxd_resize_policy;

typedef struct onnxd_resize_params {
    onnxd_resample how;
    onnxd_axes axes;
    onnxd_resize_policy policy;
    bool is_upsample;         /* scales are at least 1 */
    bool has_scales;          /* as an attribute: Upsample before opset 9 */
    onnxd_tensor_view scales; /* of scale_values, when has_scales */
    float scale_values[ONNXD_MAX_RANK];
} onnxd_resize_params;

/* One call. `input` has a rank; one of `scales` and `sizes` is there, the other is NULL. */
typedef struct onnxd_resize_request {
    const onnxd_node *node;
    const onnxd_resize_params *params;
    const onnxd_shape *input;
    const onnxd_tensor_view *scales, *sizes, *roi;
    bool roi_is_known; /* else regions are taken to be the whole input */
} onnxd_resize_request;

/* What happens to each axis; extents may be symbolic or unknown. Errors: INVALID_ARGUMENT naming
 * the axis and its value. */
ONNXD_NODISCARD onnxd_status *onnxd_resize_resolve(const onnxd_resize_request *request,
                                                   onnxd_resample_axis *axes);

#endif

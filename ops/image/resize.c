/* Resize, and Upsample as it was before. Opset 10 knows scales and two modes; 11 adds regions,
 * sizes and coordinates; 18 adds axes, antialiasing and keeping the aspect ratio. */
#include <inttypes.h>
#include <string.h>

#include "ops/choice.h"
#include "ops/image/resize.h"
#include "ops/ops.h"
#include "ops/support.h"

/* ---- attributes ------------------------------------------------------------------------------ */

/* Versions without coordinates have no mode cubic. */
static onnxd_status *parse_mode(const onnxd_node *node, onnxd_resample *how)
{
    static const char *const names[] = {"nearest", "linear", "cubic"};
    size_t mode = ONNXD_RESAMPLE_NEAREST, count = ONNXD_COUNT(names);
    if (how->rounding == ONNXD_RESAMPLE_SIMPLE)
        count--;
    ONNXD_TRY(onnxd_op_choice(node, "mode", names, count, &mode));
    how->mode = (onnxd_resample_mode)mode;
    return NULL;
}

/* Names by enumerator; the last one came after the one before it had gone. */
static onnxd_status *parse_coordinates(const onnxd_node *node, int64_t opset, onnxd_resample *how)
{
    const char *const names[] = {
        [ONNXD_RESAMPLE_HALF_PIXEL] = "half_pixel",
        [ONNXD_RESAMPLE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
        [ONNXD_RESAMPLE_ALIGN_CORNERS] = "align_corners",
        [ONNXD_RESAMPLE_ASYMMETRIC] = "asymmetric",
        [ONNXD_RESAMPLE_TF_CROP_AND_RESIZE] = "tf_crop_and_resize",
        [ONNXD_RESAMPLE_TF_HALF_PIXEL_FOR_NN] =
            opset < 13 ? "tf_half_pixel_for_nn" : "half_pixel_symmetric",
    };
    size_t count = opset >= 13 && opset < 19 ? ONNXD_COUNT(names) - 1 : ONNXD_COUNT(names);
    static const char *const roundings[] = {
        [ONNXD_RESAMPLE_ROUND_PREFER_FLOOR] = "round_prefer_floor",
        [ONNXD_RESAMPLE_ROUND_PREFER_CEIL] = "round_prefer_ceil",
        [ONNXD_RESAMPLE_FLOOR] = "floor",
        [ONNXD_RESAMPLE_CEIL] = "ceil",
    };
    size_t coordinates = ONNXD_RESAMPLE_HALF_PIXEL, rounding = ONNXD_RESAMPLE_ROUND_PREFER_FLOOR;
    ONNXD_TRY(onnxd_op_choice(node, "coordinate_transformation_mode", names, count, &coordinates));
    ONNXD_TRY(onnxd_op_choice(node, "nearest_mode", roundings, ONNXD_COUNT(roundings), &rounding));
    how->coordinates = (onnxd_resample_coordinates)coordinates;
    if (coordinates == ONNXD_RESAMPLE_TF_HALF_PIXEL_FOR_NN && opset >= 19)
        how->coordinates = ONNXD_RESAMPLE_HALF_PIXEL_SYMMETRIC;
    how->rounding = (onnxd_resample_rounding)rounding;
    return NULL;
}

static onnxd_status *parse_18(const onnxd_node *node, onnxd_resize_params *params)
{
    static const char *const policies[] = {
        [ONNXD_RESIZE_STRETCH] = "stretch",
        [ONNXD_RESIZE_NOT_LARGER] = "not_larger",
        [ONNXD_RESIZE_NOT_SMALLER] = "not_smaller",
    };
    size_t policy = ONNXD_RESIZE_STRETCH;
    ONNXD_TRY(onnxd_op_parse_axes(node, "axes", &params->axes));
    ONNXD_TRY(onnxd_op_flag(node, "antialias", &params->how.is_antialiased));
    ONNXD_TRY(onnxd_op_choice(node, "keep_aspect_ratio_policy", policies, ONNXD_COUNT(policies),
                              &policy));
    params->policy = (onnxd_resize_policy)policy;
    if (params->how.is_antialiased && params->how.mode == ONNXD_RESAMPLE_NEAREST)
        return onnxd_op_error(node, "attribute 'antialias' is 1, mode nearest allows 0");
    return NULL;
}

static onnxd_status *parse_resize(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                  void *out)
{
    static const char *const names_11[] = {"coordinate_transformation_mode",
                                           "cubic_coeff_a",
                                           "exclude_outside",
                                           "extrapolation_value",
                                           "mode",
                                           "nearest_mode",
                                           NULL};
    static const char *const names_18[] = {"antialias",
                                           "axes",
                                           "coordinate_transformation_mode",
                                           "cubic_coeff_a",
                                           "exclude_outside",
                                           "extrapolation_value",
                                           "keep_aspect_ratio_policy",
                                           "mode",
                                           "nearest_mode",
                                           NULL};
    onnxd_resize_params *params = out;
    (void)arena;
    params->how.cubic_a = -0.75f;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 18 ? names_11 : names_18));
    ONNXD_TRY(parse_mode(node, &params->how));
    ONNXD_TRY(parse_coordinates(node, opset, &params->how));
    ONNXD_TRY(onnxd_op_flag(node, "exclude_outside", &params->how.excludes_outside));
    ONNXD_TRY(onnxd_attribute_float(node, "cubic_coeff_a", &params->how.cubic_a));
    ONNXD_TRY(onnxd_attribute_float(node, "extrapolation_value", &params->how.extrapolation));
    return opset < 18 ? NULL : parse_18(node, params);
}

/* Resize of opset 10 and Upsample say nothing of coordinates: x / scale. */
static onnxd_status *parse_resize_10(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *out)
{
    static const char *const names[] = {"mode", NULL};
    onnxd_resize_params *params = out;
    (void)opset;
    (void)arena;
    params->how.coordinates = ONNXD_RESAMPLE_ASYMMETRIC;
    params->how.rounding = ONNXD_RESAMPLE_SIMPLE;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return parse_mode(node, &params->how);
}

static void set_scales(onnxd_resize_params *params, size_t count)
{
    onnxd_shape shape = onnxd_shape_from(1, &(int64_t){(int64_t)count});
    params->has_scales = true;
    params->scales = onnxd_tensor_view_of(params->scale_values, ONNXD_FLOAT, &shape);
}

static onnxd_status *parse_upsample_1(const onnxd_node *node, onnxd_resize_params *params)
{
    static const char *const names[] = {"height_scale", "mode", "width_scale", NULL};
    static const char *const modes[] = {"nearest", "bilinear"};
    size_t mode = ONNXD_RESAMPLE_NEAREST;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "height_scale"));
    ONNXD_TRY(onnxd_attribute_require(node, "width_scale"));
    params->scale_values[0] = params->scale_values[1] = 1;
    ONNXD_TRY(onnxd_attribute_float(node, "height_scale", &params->scale_values[2]));
    ONNXD_TRY(onnxd_attribute_float(node, "width_scale", &params->scale_values[3]));
    ONNXD_TRY(onnxd_op_choice(node, "mode", modes, ONNXD_COUNT(modes), &mode));
    params->how.mode = (onnxd_resample_mode)mode;
    set_scales(params, 4);
    return NULL;
}

static onnxd_status *parse_upsample_7(const onnxd_node *node, onnxd_resize_params *params)
{
    static const char *const names[] = {"mode", "scales", NULL};
    const onnxd_attribute *scales = onnxd_node_attribute(node, "scales");
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "scales"));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "scales", ONNXD_ATTRIBUTE_FLOATS));
    if (scales->count > ONNXD_MAX_RANK)
        return onnxd_op_error(node, "attribute 'scales' has %zu elements, at most %d are allowed",
                              scales->count, ONNXD_MAX_RANK);
    if (scales->count > 0)
        memcpy(params->scale_values, scales->value.floats, scales->count * sizeof(float));
    set_scales(params, scales->count);
    return parse_mode(node, &params->how);
}

static onnxd_status *parse_upsample(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *out)
{
    onnxd_resize_params *params = out;
    params->is_upsample = true;
    if (opset >= 9)
        return parse_resize_10(node, opset, arena, out);
    params->how.coordinates = ONNXD_RESAMPLE_ASYMMETRIC;
    params->how.rounding = ONNXD_RESAMPLE_SIMPLE;
    return opset < 7 ? parse_upsample_1(node, params) : parse_upsample_7(node, params);
}

/* ---- inference ------------------------------------------------------------------------------- */

/* Where an opset has its inputs. */
static uint32_t scales_at(const onnxd_resize_params *params, int64_t opset)
{
    return params->how.rounding == ONNXD_RESAMPLE_SIMPLE || opset < 11 ? 1 : 2;
}

/* Whether a list input is there: 1, or 0 when absent or empty, -1 when that is not known. */
static onnxd_status *is_given(const onnxd_infer *context, uint32_t index, int *out)
{
    int64_t length = 0;
    if (onnxd_op_has_input(context->node, index)) {
        length = -1;
        if (context->inputs[index].dtype != ONNXD_UNDEFINED)
            ONNXD_TRY(onnxd_op_list_length(context, index, &length));
    }
    *out = length < 0 ? -1 : length > 0;
    return NULL;
}

static onnxd_status *check_inputs(const onnxd_infer *context, int *out_scales, int *out_sizes)
{
    const onnxd_resize_params *params = context->params;
    uint32_t at = scales_at(params, context->opset);
    *out_scales = params->has_scales;
    *out_sizes = 0;
    if (params->has_scales)
        return NULL;
    ONNXD_TRY(is_given(context, at, out_scales));
    if (at == 2)
        ONNXD_TRY(is_given(context, 3, out_sizes));
    const onnxd_shape *input = &context->inputs[0].shape;
    if (input->rank == 0 && *out_scales == 0 && *out_sizes == 0)
        return NULL; /* a scalar has an empty list of scales */
    if (*out_scales == 1 && *out_sizes == 1)
        return onnxd_op_error(context->node, "inputs 'scales' and 'sizes' are both given");
    if (*out_scales == 0 && *out_sizes == 0)
        return onnxd_op_error(context->node, "one of inputs 'scales' and 'sizes' is needed");
    return NULL;
}

static onnxd_status *check_mode(const onnxd_infer *context)
{
    const onnxd_resize_params *params = context->params;
    onnxd_dtype dtype = context->inputs[0].dtype;
    if (params->how.mode == ONNXD_RESAMPLE_NEAREST || dtype == ONNXD_UNDEFINED ||
        (ONNXD_RESAMPLE_SUMS & ((onnxd_dtype_set)1u << dtype)) != 0)
        return NULL;
    return onnxd_op_error(context->node, "elements of type %s can only be resized by mode nearest",
                          onnxd_dtype_name(dtype));
}

/* What happens to each axis of an input with a rank, where it is known; axes are left alone where
 * it is not, and of a scalar. */
static onnxd_status *find_axes(const onnxd_infer *context, onnxd_resample_axis *axes,
                               bool *out_is_known)
{
    const onnxd_resize_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    uint32_t at = scales_at(params, context->opset);
    onnxd_tensor_view scales, sizes, roi;
    int has_scales, has_sizes;
    *out_is_known = false;
    ONNXD_TRY(check_inputs(context, &has_scales, &has_sizes));
    onnxd_resize_request r = {.node = context->node, .params = params, .input = input};
    if (params->has_scales)
        r.scales = &params->scales;
    else if (has_scales == 1 && onnxd_infer_known(context, at, &scales))
        r.scales = &scales;
    else if (has_sizes == 1 && onnxd_infer_known(context, 3, &sizes))
        r.sizes = &sizes;
    else if (input->rank > 0)
        return NULL;
    if (at == 2 && onnxd_op_has_input(context->node, 1))
        r.roi_is_known = onnxd_infer_known(context, 1, &roi);
    else
        r.roi_is_known = true;
    if (at == 2 && r.roi_is_known && onnxd_op_has_input(context->node, 1) &&
        onnxd_tensor_view_count(&roi) > 0)
        r.roi = &roi;
    if (r.scales != NULL || r.sizes != NULL)
        ONNXD_TRY(onnxd_resize_resolve(&r, axes));
    *out_is_known = true;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *input = &context->inputs[0].shape;
    onnxd_resample_axis axes[ONNXD_MAX_RANK];
    bool is_known;
    context->outputs[0].dtype = context->inputs[0].dtype;
    ONNXD_TRY(check_mode(context));
    if (input->rank == ONNXD_RANK_UNKNOWN) {
        int has_scales, has_sizes;
        return check_inputs(context, &has_scales, &has_sizes);
    }
    ONNXD_TRY(find_axes(context, axes, &is_known));
    context->outputs[0].shape = onnxd_shape_of_rank(input->rank);
    for (int32_t i = 0; i < input->rank && is_known; i++)
        context->outputs[0].shape.dims[i] = axes[i].out;
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static const onnxd_tensor_view *list_input(const onnxd_compute *context, uint32_t index)
{
    if (context->input_count <= index || !onnxd_tensor_view_is_present(&context->inputs[index]) ||
        onnxd_tensor_view_count(&context->inputs[index]) == 0)
        return NULL;
    return &context->inputs[index];
}

/* What can be told from the shapes alone. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    const onnxd_resize_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    onnxd_resample_axis axes[ONNXD_MAX_RANK];
    for (int32_t i = 0; i < input->rank; i++)
        axes[i] =
            (onnxd_resample_axis){.in = input->dims[i], .out = context->outputs[0].shape.dims[i]};
    return onnxd_resample_workspace(&params->how, context->inputs[0].dtype, input->rank, axes);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_resize_params *params = context->params;
    const onnxd_tensor_view *input = &context->inputs[0];
    uint32_t at = scales_at(params, context->opset);
    onnxd_resample_axis axes[ONNXD_MAX_RANK];
    onnxd_shape shape = input->shape;
    onnxd_resize_request r = {.node = context->node,
                              .params = params,
                              .input = &input->shape,
                              .scales =
                                  params->has_scales ? &params->scales : list_input(context, at),
                              .roi_is_known = true};
    if (at == 2) {
        r.sizes = list_input(context, 3);
        r.roi = list_input(context, 1);
    }
    if (r.scales == NULL && r.sizes == NULL)
        return onnxd_op_compute_copy(context); /* a scalar */
    ONNXD_TRY(onnxd_resize_resolve(&r, axes));
    for (int32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = axes[i].out;
    ONNXD_TRY(onnxd_op_check_output(context, 0, &shape));
    onnxd_resample_run(&params->how, input->dtype, shape.rank, axes, onnxd_tensor_view_data(input),
                       onnxd_tensor_view_data(&context->outputs[0]), context->workspace);
    return NULL;
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* The first axis can be resampled without a change of its extent: scales a little above 1, regions
 * of interest. */
static bool has_batch(const onnxd_infer *context)
{
    const onnxd_resize_params *params = context->params;
    onnxd_resample_axis axes[ONNXD_MAX_RANK];
    bool is_known = false;
    onnxd_status_free(find_axes(context, axes, &is_known));
    return is_known && context->inputs[0].shape.rank > 0 &&
           onnxd_resample_keeps(&params->how, &axes[0]);
}

#define COMMON(name, first, last, set, parse_function)                                             \
    .op_type = name, .domain = "", .since = first, .until = last, .min_outputs = 1,                \
    .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}},                             \
    .params_bytes = sizeof(onnxd_resize_params), .parse = parse_function, .infer = infer,          \
    .batch_inputs = 1u, .has_batch = has_batch, .workspace_bytes = workspace_bytes,                \
    .compute = compute

/* X and scales. */
#define SCALED(name, first, last, parse_function)                                                  \
    {                                                                                              \
        COMMON(name, first, last, ONNXD_SET_ANY_1, parse_function),                                \
            .min_inputs = 2, .max_inputs = 2, .shape_inputs = 1u << 1, .inputs = {                 \
                {.types = ONNXD_SET_ANY_1, .type_variable = 1},                                    \
                {.types = ONNXD_SET(FLOAT)}                                                        \
            }                                                                                      \
    }
/* X alone. */
#define UPSAMPLE(first, last, set)                                                                 \
    {                                                                                              \
        COMMON("Upsample", first, last, set, parse_upsample),                                      \
            .min_inputs = 1, .max_inputs = 1, .inputs = {                                          \
                {.types = set, .type_variable = 1}                                                 \
            }                                                                                      \
    }
#define RESIZE(first, last, set, least, optional)                                                  \
    {                                                                                              \
        COMMON("Resize", first, last, set, parse_resize),                                          \
            .min_inputs = least, .max_inputs = 4, .shape_inputs = 1u << 2 | 1u << 3, .inputs = {   \
                {.types = set, .type_variable = 1},                                                \
                {.types = ONNXD_SET_FLOATS_1, .is_optional = optional},                            \
                {.types = ONNXD_SET(FLOAT), .is_optional = optional},                              \
                {.types = ONNXD_SET(INT64), .is_optional = true}                                   \
            }                                                                                      \
    }

#define UPSAMPLE_SET_1 (ONNXD_SET_FLOATS_1 | ONNXD_SET(BOOL) | ONNXD_SET(INT32) | ONNXD_SET(INT64))

const onnxd_op_def onnxd_op_resize[] = {
    SCALED("Resize", 10, 10, parse_resize_10),
    RESIZE(11, 12, ONNXD_SET_ANY_1, 3, false),
    RESIZE(13, 17, ONNXD_SET_ANY_13, 1, true),
    RESIZE(18, 18, ONNXD_SET_ANY_13, 1, true),
    RESIZE(19, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, 1, true),
    UPSAMPLE(1, 6, UPSAMPLE_SET_1),
    UPSAMPLE(7, 8, ONNXD_SET_ANY_1),
    SCALED("Upsample", 9, ONNXD_OPSET_MAX, parse_upsample),
    {.op_type = NULL},
};

/* AffineGrid: positions of a grid over [-1, 1], moved by one affine matrix for each image. */
#include <inttypes.h>

#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct affine_grid_params {
    bool aligns_corners;
} affine_grid_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names[] = {"align_corners", NULL};
    affine_grid_params *params = out;
    int64_t aligns_corners = 0;
    (void)opset;
    (void)arena;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "align_corners", 0, 1, &aligns_corners));
    params->aligns_corners = aligns_corners != 0;
    return NULL;
}

/* theta is [N, spatial, spatial + 1]; `size` is [N, C, ...], its rank unknown where nothing tells.
 */
static onnxd_status *check_theta(const onnxd_infer *context, const onnxd_shape *size)
{
    const onnxd_shape *theta = &context->inputs[0].shape;
    char text[ONNXD_SHAPE_TEXT];
    if (theta->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    bool fits = theta->rank == 3;
    int64_t rows = fits ? theta->dims[1] : -1, columns = fits ? theta->dims[2] : -1;
    if (rows >= 0)
        fits = fits && (rows == 2 || rows == 3);
    if (rows >= 0 && columns >= 0)
        fits = fits && columns == rows + 1;
    if (!fits)
        return onnxd_op_error(context->node, "theta has shape %s, allowed are [N,2,3] and [N,3,4]",
                              onnxd_shape_format(theta, text, sizeof(text)));
    if (size->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (rows >= 0 && rows != size->rank - 2)
        return onnxd_op_error(context->node,
                              "theta has shape %s, the size has %" PRId32 " elements",
                              onnxd_shape_format(theta, text, sizeof(text)), size->rank);
    if (theta->dims[0] >= 0 && size->dims[0] >= 0 && theta->dims[0] != size->dims[0])
        return onnxd_op_error(context->node,
                              "theta is for %" PRId64 " images, the size for %" PRId64,
                              theta->dims[0], size->dims[0]);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *theta = &context->inputs[0].shape;
    onnxd_shape size, shape;
    bool is_known;
    context->outputs[0].dtype = context->inputs[0].dtype;
    ONNXD_TRY(onnxd_infer_shape_list(context, 1, 0, &size, &is_known));
    if (size.rank != ONNXD_RANK_UNKNOWN && size.rank != 4 && size.rank != 5)
        return onnxd_op_error(context->node,
                              "the size has %" PRId32 " elements, allowed are 4 and 5", size.rank);
    ONNXD_TRY(check_theta(context, &size));
    int32_t rank = size.rank;
    if (rank == ONNXD_RANK_UNKNOWN && theta->rank == 3 && theta->dims[1] >= 0)
        rank = (int32_t)theta->dims[1] + 2;
    if (rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    shape = onnxd_shape_of_rank(rank);
    if (size.rank == rank) {
        shape.dims[0] = size.dims[0];
        for (int32_t i = 2; i < rank; i++)
            shape.dims[i - 1] = size.dims[i];
    }
    if (!onnxd_dim_is_static(shape.dims[0]) && theta->rank == 3)
        shape.dims[0] = theta->dims[0];
    shape.dims[rank - 1] = rank - 2;
    context->outputs[0].shape = shape;
    return NULL;
}

/* Depth, height and width; depth 1 for images. */
typedef struct grid_extent {
    int64_t batch, dims[3];
    int32_t spatial;
    bool aligns_corners;
} grid_extent;

/* Where position `at` of an axis lies in [-1, 1]. An axis of one position that aligns corners has
 * it at -1. */
static double place(const grid_extent *extent, int axis, int64_t at)
{
    double length = (double)extent->dims[axis], x = (double)at;
    if (!extent->aligns_corners)
        return (2 * x + 1) / length - 1;
    return length > 1 ? 2 * x / (length - 1) - 1 : -1;
}

#define KERNEL_FILE "ops/image/affine_grid_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

static onnxd_status *compute(const onnxd_compute *context)
{
    const affine_grid_params *params = context->params;
    const onnxd_shape *shape = &context->outputs[0].shape;
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    grid_extent extent = {.batch = shape->dims[0],
                          .dims = {1, 1, 1},
                          .spatial = shape->rank - 2,
                          .aligns_corners = params->aligns_corners};
    for (int32_t i = 0; i < extent.spatial; i++)
        extent.dims[3 - extent.spatial + i] = shape->dims[1 + i];
    ONNXD_FOR_FLOAT(context->inputs[0].dtype, transform)
    (&extent, onnxd_tensor_view_data(&context->inputs[0]),
     onnxd_tensor_view_data(&context->outputs[0]));
    return NULL;
}

const onnxd_op_def onnxd_op_affine_grid[] = {
    {.op_type = "AffineGrid",
     .domain = "",
     .since = 20,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},
     .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1}},
     .params_bytes = sizeof(affine_grid_params),
     .parse = parse,
     .infer = infer,
     .shape_inputs = 1u << 1,
     .compute = compute},
    {.op_type = NULL},
};

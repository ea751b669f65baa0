/* LayerNormalization and RMSNormalization: over the dimensions from an axis on. */
#include <inttypes.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/loop.h"
#include "ops/move.h"
#include "ops/norm/rows.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, SCALE, BIAS };
enum { Y, MEAN, INVERSE };

typedef struct layer_params {
    int64_t axis;
    float epsilon;
    onnxd_dtype stash_type;
} layer_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "epsilon", "stash_type", NULL};
    layer_params *params = out;
    *params = (layer_params){-1, 1e-5f, ONNXD_FLOAT};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(
        onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &params->axis));
    ONNXD_TRY(onnxd_attribute_float(node, "epsilon", &params->epsilon));
    return onnxd_op_float_type(node, "stash_type", &params->stash_type);
}

/* Scale and bias broadcast to X in one direction. */
static onnxd_status *check_affine(const onnxd_infer *context, uint32_t index)
{
    const onnxd_shape *x = &context->inputs[X].shape;
    if (!onnxd_op_has_input(context->node, index) || x->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    const onnxd_shape *shape = &context->inputs[index].shape;
    bool fits = shape->rank <= x->rank;
    for (int32_t i = 1; fits && i <= shape->rank; i++) {
        int64_t dim = shape->dims[shape->rank - i], whole = x->dims[x->rank - i];
        fits = dim == 1 || !onnxd_dim_is_static(dim) || !onnxd_dim_is_static(whole) || dim == whole;
    }
    if (fits)
        return NULL;
    char found[ONNXD_SHAPE_TEXT], allowed[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(context->node,
                          "input %" PRIu32 " has shape %s, which does not broadcast to %s", index,
                          onnxd_shape_format(shape, found, sizeof(found)),
                          onnxd_shape_format(x, allowed, sizeof(allowed)));
}

static onnxd_status *infer(onnxd_infer *context)
{
    const layer_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    int32_t axis = 0;
    if (x->rank != ONNXD_RANK_UNKNOWN)
        ONNXD_TRY(onnxd_op_axis(context->node, "attribute 'axis'", params->axis, x->rank, &axis));
    ONNXD_TRY(check_affine(context, SCALE));
    ONNXD_TRY(check_affine(context, BIAS));
    context->outputs[Y] = context->inputs[X];
    for (uint32_t i = MEAN; i <= INVERSE; i++) {
        if (!onnxd_op_has_output(context->node, i))
            continue;
        if (params->stash_type != ONNXD_FLOAT && params->stash_type != ONNXD_BFLOAT16)
            return onnxd_op_error(context->node,
                                  "attribute 'stash_type' is %d (%s), but the type of output "
                                  "%" PRIu32 " is 1 (float) or 16 (bfloat16)",
                                  (int)params->stash_type, onnxd_dtype_name(params->stash_type), i);
        context->outputs[i].dtype = params->stash_type;
        context->outputs[i].shape = *x;
        for (int32_t d = axis; d < x->rank; d++)
            context->outputs[i].shape.dims[d] = 1;
    }
    return NULL;
}

static onnxd_status *infer_root_mean_square(onnxd_infer *context)
{
    ONNXD_TRY(infer(context));
    context->outputs[Y].dtype = context->inputs[SCALE].dtype;
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static int32_t axis_of(const onnxd_compute *context)
{
    const layer_params *params = context->params;
    return (int32_t)(params->axis < 0 ? params->axis + context->inputs[X].shape.rank
                                      : params->axis);
}

/* The shape to which scale or bias must be repeated: that of one row if all rows have the same,
 * else X's. Rank 0 when it has that shape already. */
static onnxd_shape repeated_shape(const onnxd_compute *context, const onnxd_shape *shape)
{
    const onnxd_shape *x = &context->inputs[X].shape;
    int32_t axis = axis_of(context), first = x->rank - shape->rank;
    onnxd_shape row = onnxd_shape_from(x->rank - axis, x->dims + axis);
    for (int32_t i = first; i < axis; i++)
        if (shape->dims[i - first] != 1)
            return *x;
    return row;
}

static size_t count_of(const onnxd_shape *shape)
{
    size_t count = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

/* Bytes of the copy in which scale or bias is repeated; 0 when none is needed. */
static size_t repeated_bytes(const onnxd_compute *context, uint32_t index)
{
    const onnxd_tensor_view *view = onnxd_compute_input(context, index);
    if (view == NULL)
        return 0;
    onnxd_shape shape = repeated_shape(context, &view->shape);
    size_t count = count_of(&shape);
    if (count == onnxd_tensor_view_count(view))
        return 0;
    size_t bytes;
    if (onnxd_dtype_bytes(view->dtype, count, &bytes) && onnxd_size_add(bytes, 15, &bytes))
        return bytes & ~(size_t)15;
    return SIZE_MAX;
}

static onnxd_norm_affine affine_of(const onnxd_compute *context, uint32_t index, void *scratch)
{
    const onnxd_tensor_view *view = onnxd_compute_input(context, index);
    if (view == NULL)
        return (onnxd_norm_affine){.data = NULL};
    const onnxd_shape *x = &context->inputs[X].shape;
    onnxd_shape row = onnxd_shape_from(x->rank - axis_of(context), x->dims + axis_of(context));
    onnxd_shape shape = repeated_shape(context, &view->shape);
    onnxd_norm_affine affine = {onnxd_tensor_view_data(view), view->dtype, count_of(&row),
                                count_of(&shape)};
    if (repeated_bytes(context, index) == 0)
        return affine;
    onnxd_loop loop;
    int64_t strides[2][ONNXD_LOOP_MAX_RANK] = {{0}}, natural[ONNXD_MAX_RANK];
    onnxd_strides_of(&view->shape, natural);
    onnxd_strides_of(&shape, strides[0]);
    /* Leading dimensions of extent 1 may exceed the row's rank. */
    for (int32_t i = 1; i <= shape.rank && i <= view->shape.rank; i++)
        if (view->shape.dims[view->shape.rank - i] != 1)
            strides[1][shape.rank - i] = natural[view->shape.rank - i];
    onnxd_loop_init(&loop, shape.rank, shape.dims, 2,
                    (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    onnxd_move(&loop, onnxd_dtype_size(view->dtype), scratch, affine.data);
    affine.data = scratch;
    return affine;
}

static onnxd_norm_rows norm_of(const onnxd_compute *context)
{
    const layer_params *params = context->params;
    const onnxd_tensor_view *x = &context->inputs[X], *y = &context->outputs[Y];
    onnxd_norm_rows norm = {.rows = 1,
                            .columns = 1,
                            .input = onnxd_tensor_view_data(x),
                            .output = onnxd_tensor_view_data(y),
                            .input_dtype = x->dtype,
                            .output_dtype = y->dtype,
                            .epsilon = (double)params->epsilon};
    for (int32_t i = 0; i < x->shape.rank; i++)
        *(i < axis_of(context) ? &norm.rows : &norm.columns) *= (size_t)x->shape.dims[i];
    return norm;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    onnxd_norm_rows norm = norm_of(context);
    if (norm.rows == 0 || norm.columns == 0)
        return 0;
    size_t bytes = onnxd_norm_rows_workspace_bytes(&norm);
    if (onnxd_size_add(bytes, repeated_bytes(context, SCALE), &bytes) &&
        onnxd_size_add(bytes, repeated_bytes(context, BIAS), &bytes))
        return bytes;
    return SIZE_MAX;
}

static void *wanted(const onnxd_compute *context, uint32_t output, onnxd_dtype *out_dtype)
{
    const onnxd_tensor_view *view = onnxd_compute_output(context, output);
    if (view == NULL)
        return NULL;
    *out_dtype = view->dtype;
    return onnxd_tensor_view_data(view);
}

static onnxd_status *run(const onnxd_compute *context, bool is_root_mean_square)
{
    onnxd_norm_rows norm = norm_of(context);
    if (norm.rows == 0)
        return NULL;
    char *scratch = context->workspace;
    norm.is_root_mean_square = is_root_mean_square;
    if (norm.columns != 0) {
        norm.scale = affine_of(context, SCALE, scratch);
        scratch += repeated_bytes(context, SCALE);
        norm.bias = affine_of(context, BIAS, scratch);
        scratch += repeated_bytes(context, BIAS);
    }
    norm.means = wanted(context, MEAN, &norm.statistics_dtype);
    norm.inverses = wanted(context, INVERSE, &norm.statistics_dtype);
    /* Rows without elements may be very many; only statistics, where wanted, bound their number. */
    if (norm.columns == 0 && norm.means == NULL && norm.inverses == NULL)
        return NULL;
    onnxd_norm_rows_run(&norm, scratch);
    return NULL;
}

static onnxd_status *compute_layer(const onnxd_compute *context)
{
    return run(context, false);
}

static onnxd_status *compute_root_mean_square(const onnxd_compute *context)
{
    return run(context, true);
}

/* From axis 0 on the whole tensor is one row. */
static bool has_batch(const onnxd_infer *context)
{
    const layer_params *params = context->params;
    return params->axis != 0 && params->axis != -context->inputs[X].shape.rank;
}

#define STATISTICS (ONNXD_SET(FLOAT) | ONNXD_SET(BFLOAT16))

const onnxd_op_def onnxd_op_layer_normalization[] = {
    {.op_type = "LayerNormalization",
     .domain = "",
     .since = 17,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 3,
     .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 1, .is_optional = true}},
     .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},
                 {.types = STATISTICS, .type_variable = 2, .is_optional = true},
                 {.types = STATISTICS, .type_variable = 2, .is_optional = true}},
     .params_bytes = sizeof(layer_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute_layer,
     .batch_inputs = 1u,
     .has_batch = has_batch},
    {.op_type = "RMSNormalization",
     .domain = "",
     .since = 23,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 2}},
     .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 2}},
     .params_bytes = sizeof(layer_params),
     .parse = parse,
     .infer = infer_root_mean_square,
     .workspace_bytes = workspace_bytes,
     .compute = compute_root_mean_square,
     .batch_inputs = 1u,
     .has_batch = has_batch},
    {.op_type = NULL},
};

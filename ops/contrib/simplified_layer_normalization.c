/* SimplifiedLayerNormalization: root mean square normalisation over the dimensions from an axis on.
 * Exporters write it in the domain ai.onnx as well, where the standard has RMSNormalization. */
#include <inttypes.h>

#include "ops/norm/rows.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, SCALE };
enum { Y, INVERSE };

typedef struct simplified_params {
    int64_t axis, stash_type;
    float epsilon;
} simplified_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "epsilon", "stash_type", NULL};
    simplified_params *params = out;
    *params = (simplified_params){-1, ONNXD_FLOAT, 1e-5f};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(
        onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &params->axis));
    ONNXD_TRY(onnxd_attribute_float(node, "epsilon", &params->epsilon));
    ONNXD_TRY(
        onnxd_attribute_int(node, "stash_type", 1, ONNXD_DTYPE_COUNT - 1, &params->stash_type));
    if (params->stash_type != ONNXD_FLOAT && params->stash_type != ONNXD_DOUBLE)
        return onnxd_op_error(
            node, "attribute 'stash_type' is %" PRId64 ", allowed are 1 (float) and 11 (double)",
            params->stash_type);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const simplified_params *params = context->params;
    const onnxd_shape *x = &context->inputs[X].shape;
    int32_t axis = 0;
    if (x->rank != ONNXD_RANK_UNKNOWN) {
        ONNXD_TRY(onnxd_op_axis(context->node, "attribute 'axis'", params->axis, x->rank, &axis));
        ONNXD_TRY(onnxd_infer_check_dims(context, SCALE, x->rank - axis, x->dims + axis));
    }
    context->outputs[Y] = (onnxd_tensor_type){.dtype = context->inputs[SCALE].dtype, .shape = *x};
    if (!onnxd_op_has_output(context->node, INVERSE))
        return NULL;
    onnxd_tensor_type *inverse = &context->outputs[INVERSE];
    *inverse = (onnxd_tensor_type){.dtype = (onnxd_dtype)params->stash_type, .shape = *x};
    for (int32_t i = axis; i < x->rank; i++)
        inverse->shape.dims[i] = 1;
    return NULL;
}

static onnxd_norm_rows norm_of(const onnxd_compute *context)
{
    const simplified_params *params = context->params;
    const onnxd_tensor_view *x = &context->inputs[X], *scale = &context->inputs[SCALE];
    const onnxd_tensor_view *y = &context->outputs[Y];
    int64_t axis = params->axis < 0 ? params->axis + x->shape.rank : params->axis;
    onnxd_norm_rows norm = {.rows = 1,
                            .columns = 1,
                            .input = onnxd_tensor_view_data(x),
                            .output = onnxd_tensor_view_data(y),
                            .input_dtype = x->dtype,
                            .output_dtype = y->dtype,
                            .is_root_mean_square = true,
                            .epsilon = (double)params->epsilon};
    for (int32_t i = 0; i < x->shape.rank; i++)
        *(i < axis ? &norm.rows : &norm.columns) *= (size_t)x->shape.dims[i];
    norm.scale = (onnxd_norm_affine){onnxd_tensor_view_data(scale), scale->dtype, norm.columns,
                                     norm.columns};
    return norm;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[X]) == 0)
        return 0;
    onnxd_norm_rows norm = norm_of(context);
    return onnxd_norm_rows_workspace_bytes(&norm);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_tensor_view *inverse = onnxd_compute_output(context, INVERSE);
    onnxd_norm_rows norm = norm_of(context);
    /* Rows without elements may be very many; only statistics bound their number. */
    if (norm.rows == 0 || (norm.columns == 0 && inverse == NULL))
        return NULL;
    if (norm.columns == 0)
        norm.scale = (onnxd_norm_affine){.data = NULL};
    if (inverse != NULL) {
        norm.inverses = onnxd_tensor_view_data(inverse);
        norm.statistics_dtype = inverse->dtype;
    }
    onnxd_norm_rows_run(&norm, context->workspace);
    return NULL;
}

#define ROW(home, last)                                                                            \
    {                                                                                              \
        .op_type = "SimplifiedLayerNormalization", .domain = home, .since = 1, .until = last,      \
        .min_inputs = 2, .max_inputs = 2, .min_outputs = 1, .max_outputs = 2,                      \
        .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},                                \
                   {.types = ONNXD_SET_FLOATS, .type_variable = 2}},                               \
        .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 2},                               \
                    {.types = ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE), .is_optional = true}},         \
        .params_bytes = sizeof(simplified_params), .parse = parse, .infer = infer,                 \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_contrib_simplified_layer_normalization[] = {
    ROW("", ONNXD_OPSET_MAX),
    ROW("com.microsoft", 1),
    {.op_type = NULL},
};

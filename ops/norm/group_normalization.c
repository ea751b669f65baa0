/* GroupNormalization and InstanceNormalization: over groups of channels of each batch entry. */
#include <inttypes.h>

#include "graph/attributes.h"
#include "ops/norm/rows.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct group_params {
    float epsilon;
    int64_t groups;     /* 0: as many as channels */
    bool scales_groups; /* opset 18: scale and bias have an element per group, not per channel */
} group_params;

static onnxd_status *parse_group(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *out)
{
    (void)arena;
    static const char *const names_18[] = {"epsilon", "num_groups", NULL};
    static const char *const names_21[] = {"epsilon", "num_groups", "stash_type", NULL};
    group_params *params = out;
    onnxd_dtype stash_type = ONNXD_FLOAT;
    params->epsilon = 1e-5f;
    params->scales_groups = opset < 21;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 21 ? names_18 : names_21));
    ONNXD_TRY(onnxd_attribute_require(node, "num_groups"));
    ONNXD_TRY(onnxd_attribute_int(node, "num_groups", 1, INT32_MAX, &params->groups));
    ONNXD_TRY(onnxd_attribute_float(node, "epsilon", &params->epsilon));
    /* Statistics are calculated in float or better whatever it says. */
    return onnxd_op_float_type(node, "stash_type", &stash_type);
}

static onnxd_status *parse_instance(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *out)
{
    (void)arena;
    static const char *const names_1[] = {"consumed_inputs", "epsilon", NULL};
    static const char *const names_6[] = {"epsilon", NULL};
    group_params *params = out;
    params->epsilon = 1e-5f;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 6 ? names_1 : names_6));
    return onnxd_attribute_float(node, "epsilon", &params->epsilon);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const group_params *params = context->params;
    const onnxd_shape *x = &context->inputs[0].shape;
    int64_t channels = ONNXD_DIM_UNKNOWN;
    if (x->rank != ONNXD_RANK_UNKNOWN) {
        if (x->rank < 2)
            return onnxd_op_error(context->node,
                                  "input 0 has rank %" PRId32 ", needed is at least 2", x->rank);
        channels = x->dims[1];
    }
    if (params->groups != 0 && onnxd_dim_is_static(channels) && channels % params->groups != 0)
        return onnxd_op_error(context->node,
                              "%" PRId64 " groups do not divide %" PRId64 " channels",
                              params->groups, channels);
    int64_t expected = params->scales_groups ? params->groups : channels;
    for (uint32_t i = 1; i <= 2; i++) {
        const onnxd_shape *shape = &context->inputs[i].shape;
        if (shape->rank == ONNXD_RANK_UNKNOWN)
            continue;
        if (shape->rank != 1)
            return onnxd_op_error(context->node,
                                  "input %" PRIu32 " has rank %" PRId32 ", but 1 is needed", i,
                                  shape->rank);
        if (onnxd_dim_is_static(shape->dims[0]) && onnxd_dim_is_static(expected) &&
            shape->dims[0] != expected)
            return onnxd_op_error(context->node,
                                  "input %" PRIu32 " has %" PRId64 " elements, needed are %" PRId64,
                                  i, shape->dims[0], expected);
    }
    context->outputs[0] = context->inputs[0];
    return NULL;
}

static onnxd_norm_rows norm_of(const onnxd_compute *context)
{
    const group_params *params = context->params;
    const onnxd_tensor_view *inputs = context->inputs, *output = &context->outputs[0];
    const onnxd_shape *x = &inputs[0].shape;
    size_t channels = (size_t)x->dims[1];
    size_t groups = params->groups == 0 ? channels : (size_t)params->groups;
    size_t per_group = channels / (groups == 0 ? 1 : groups);
    size_t runs = params->scales_groups ? 1 : per_group;
    onnxd_norm_rows norm = {.rows = (size_t)x->dims[0] * groups,
                            .columns = per_group,
                            .input = onnxd_tensor_view_data(&inputs[0]),
                            .output = onnxd_tensor_view_data(output),
                            .input_dtype = inputs[0].dtype,
                            .output_dtype = output->dtype,
                            .epsilon = (double)params->epsilon};
    for (int32_t i = 2; i < x->rank; i++)
        norm.columns *= (size_t)x->dims[i];
    size_t period = runs * groups;
    norm.scale =
        (onnxd_norm_affine){onnxd_tensor_view_data(&inputs[1]), inputs[1].dtype, runs, period};
    norm.bias =
        (onnxd_norm_affine){onnxd_tensor_view_data(&inputs[2]), inputs[2].dtype, runs, period};
    return norm;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[0]) == 0)
        return 0;
    onnxd_norm_rows norm = norm_of(context);
    return onnxd_norm_rows_workspace_bytes(&norm);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->inputs[0]) == 0)
        return NULL;
    onnxd_norm_rows norm = norm_of(context);
    onnxd_norm_rows_run(&norm, context->workspace);
    return NULL;
}

#define ROW(name, parse_function, first, last, set)                                                \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 3,             \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(group_params),     \
        .parse = parse_function, .infer = infer, .workspace_bytes = workspace_bytes,               \
        .compute = compute, .batch_inputs = 1u                                                     \
    }

const onnxd_op_def onnxd_op_group_normalization[] = {
    ROW("GroupNormalization", parse_group, 18, 20, ONNXD_SET_FLOATS),
    ROW("GroupNormalization", parse_group, 21, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    ROW("InstanceNormalization", parse_instance, 1, 5, ONNXD_SET_FLOATS_1),
    ROW("InstanceNormalization", parse_instance, 6, 21, ONNXD_SET_FLOATS_1),
    ROW("InstanceNormalization", parse_instance, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

/* BatchNormalization, inference and training. */
#include <inttypes.h>
#include <math.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse_spatial(const onnxd_node *node, onnxd_batch_normalization_params *params)
{
    int64_t spatial = 1;
    ONNXD_TRY(onnxd_attribute_int(node, "spatial", 0, 1, &spatial));
    params->is_spatial = spatial != 0;
    return NULL;
}

/* Opset 1 to 6: is_test is 0 unless given. Opset 7 to 13: outputs beyond Y exist in training only.
 */
static onnxd_status *parse_training(const onnxd_node *node, int64_t opset,
                                    onnxd_batch_normalization_params *params)
{
    int64_t is_test = 0, training = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "is_test", INT64_MIN, INT64_MAX, &is_test));
    ONNXD_TRY(onnxd_attribute_int(node, "training_mode", 0, 1, &training));
    params->is_training = opset < 7 ? is_test == 0 : training != 0;
    for (uint32_t i = 1; opset >= 7 && opset < 14 && i < node->output_count; i++)
        params->is_training = params->is_training || onnxd_op_has_output(node, i);
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    static const char *const names_1[] = {"consumed_inputs", "epsilon", "is_test",
                                          "momentum",        "spatial", NULL};
    static const char *const names_6[] = {"epsilon", "is_test", "momentum", "spatial", NULL};
    static const char *const names_7[] = {"epsilon", "momentum", "spatial", NULL};
    static const char *const names_9[] = {"epsilon", "momentum", NULL};
    static const char *const names_14[] = {"epsilon", "momentum", "training_mode", NULL};
    onnxd_batch_normalization_params *params = out;
    (void)arena;
    params->epsilon = 1e-5f;
    params->momentum = 0.9f;
    params->is_spatial = true;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 6    ? names_1
                                           : opset < 7  ? names_6
                                           : opset < 9  ? names_7
                                           : opset < 14 ? names_9
                                                        : names_14));
    ONNXD_TRY(onnxd_attribute_float(node, "epsilon", &params->epsilon));
    ONNXD_TRY(onnxd_attribute_float(node, "momentum", &params->momentum));
    ONNXD_TRY(parse_spatial(node, params));
    return parse_training(node, opset, params);
}

static onnxd_status *check_outputs(const onnxd_infer *context, bool is_training)
{
    for (uint32_t i = 1; i < context->output_count && !is_training; i++) {
        if (onnxd_op_has_output(context->node, i))
            return onnxd_op_error(
                context->node,
                "output %" PRIu32 " exists in training only, which this node does not ask for", i);
    }
    return NULL;
}

/* The shape of scale, bias, mean and variance; of unknown rank when it cannot be told. */
static onnxd_shape statistic_shape(const onnxd_shape *input, bool is_spatial)
{
    onnxd_shape shape = onnxd_shape_unknown();
    if (is_spatial) {
        shape = onnxd_shape_of_rank(1);
        if (input->rank == 1)
            shape.dims[0] = 1;
        else if (input->rank > 1)
            shape.dims[0] = input->dims[1];
    } else if (input->rank > 1) {
        shape = onnxd_shape_from(input->rank - 1, input->dims + 1);
    }
    return shape;
}

static onnxd_status *check_statistic(const onnxd_infer *context, const onnxd_shape *expected,
                                     const onnxd_shape *actual, uint32_t index)
{
    if (expected->rank == ONNXD_RANK_UNKNOWN || actual->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    bool fits = expected->rank == actual->rank;
    for (int32_t i = 0; fits && i < actual->rank; i++)
        fits = !onnxd_dim_is_static(expected->dims[i]) || !onnxd_dim_is_static(actual->dims[i]) ||
               expected->dims[i] == actual->dims[i];
    if (fits)
        return NULL;
    char found[ONNXD_SHAPE_TEXT], allowed[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(context->node, "input %" PRIu32 " has shape %s, allowed is %s", index,
                          onnxd_shape_format(actual, found, sizeof(found)),
                          onnxd_shape_format(expected, allowed, sizeof(allowed)));
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_batch_normalization_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    if (input->rank == 0 || (!params->is_spatial && input->rank == 1))
        return onnxd_op_error(context->node,
                              "the input has rank %" PRId32 ", needed is at "
                              "least %d",
                              input->rank, params->is_spatial ? 1 : 2);
    ONNXD_TRY(check_outputs(context, params->is_training));
    onnxd_shape statistic = statistic_shape(input, params->is_spatial);
    for (uint32_t i = 1; i < 5; i++)
        ONNXD_TRY(check_statistic(context, &statistic, &context->inputs[i].shape, i));
    context->outputs[0] = context->inputs[0];
    for (uint32_t i = 1; i < context->output_count; i++) {
        if (onnxd_op_has_output(context->node, i)) {
            /* Both means are followed by their variance. */
            context->outputs[i].dtype = context->inputs[i % 2 == 1 ? 3 : 4].dtype;
            context->outputs[i].shape = statistic;
        }
    }
    return NULL;
}

/* The input as [batch][channels][inner]; a statistic has one value per channel. Without `spatial`
 * every position is a channel of its own. */
typedef struct extent {
    size_t batch, channels, inner;
} extent;

static extent extent_of(const onnxd_shape *shape, bool is_spatial)
{
    extent e = {.batch = (size_t)shape->dims[0], .channels = 1, .inner = 1};
    for (int32_t i = 1; i < shape->rank; i++) {
        if (i == 1 || !is_spatial)
            e.channels *= (size_t)shape->dims[i];
        else
            e.inner *= (size_t)shape->dims[i];
    }
    /* Without elements the other extents may be huge; nothing should step through them. */
    if (e.inner == 0)
        e.batch = 0;
    return e;
}

#define KERNEL_FILE "ops/batch_normalization_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

typedef void (*statistics_function)(const void *input, const extent *e, double *mean,
                                    double *variance);
typedef void (*apply_function)(const void *input, const extent *e, const double *factor,
                               const double *offset, void *output);

static void load_statistic(const onnxd_tensor_view *view, size_t count, double *out)
{
    const void *data = onnxd_tensor_view_data(view);
    for (size_t i = 0; i < count; i++)
        out[i] = onnxd_real_load(view->dtype, data, i);
}

/* running = input * momentum + batch statistic * (1 - momentum), where the output is wanted. */
static void store_running(const onnxd_compute *context, uint32_t output, size_t count,
                          const double *batch)
{
    const onnxd_batch_normalization_params *params = context->params;
    if (output >= context->output_count || !onnxd_tensor_view_is_present(&context->outputs[output]))
        return;
    const onnxd_tensor_view *old = &context->inputs[2 + output];
    const onnxd_tensor_view *view = &context->outputs[output];
    double momentum = (double)params->momentum;
    for (size_t i = 0; i < count; i++) {
        double value = onnxd_real_load(old->dtype, onnxd_tensor_view_data(old), i);
        onnxd_real_store(view->dtype, onnxd_tensor_view_data(view), i,
                         value * momentum + batch[i] * (1 - momentum));
    }
}

/* The statistics of the batch themselves, where the output is wanted. */
static void store_saved(const onnxd_compute *context, uint32_t output, size_t count,
                        const double *batch)
{
    if (output >= context->output_count || !onnxd_tensor_view_is_present(&context->outputs[output]))
        return;
    const onnxd_tensor_view *view = &context->outputs[output];
    for (size_t i = 0; i < count; i++)
        onnxd_real_store(view->dtype, onnxd_tensor_view_data(view), i, batch[i]);
}

/* Two doubles per channel. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    const onnxd_batch_normalization_params *params = context->params;
    size_t bytes = extent_of(&context->inputs[0].shape, params->is_spatial).channels;
    return onnxd_size_mul(bytes, 2 * sizeof(double), &bytes) ? bytes : SIZE_MAX;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_batch_normalization_params *params = context->params;
    const onnxd_tensor_view *inputs = context->inputs;
    extent e = extent_of(&inputs[0].shape, params->is_spatial);
    if (e.channels == 0)
        return NULL;
    double *mean = context->workspace, *variance = mean + e.channels;
    const void *input = onnxd_tensor_view_data(&inputs[0]);
    if (params->is_training) {
        statistics_function statistics = ONNXD_FOR_FLOAT(inputs[0].dtype, statistics);
        statistics(input, &e, mean, variance);
        store_running(context, 1, e.channels, mean);
        store_running(context, 2, e.channels, variance);
        store_saved(context, 3, e.channels, mean);
        store_saved(context, 4, e.channels, variance);
    } else {
        load_statistic(&inputs[3], e.channels, mean);
        load_statistic(&inputs[4], e.channels, variance);
    }
    /* y = factor * x + offset; the two take the places of variance and mean. */
    const void *scales = onnxd_tensor_view_data(&inputs[1]);
    const void *biases = onnxd_tensor_view_data(&inputs[2]);
    for (size_t c = 0; c < e.channels; c++) {
        double scale = onnxd_real_load(inputs[1].dtype, scales, c);
        double bias = onnxd_real_load(inputs[2].dtype, biases, c);
        variance[c] = scale / sqrt(variance[c] + (double)params->epsilon);
        mean[c] = bias - mean[c] * variance[c];
    }
    apply_function apply = ONNXD_FOR_FLOAT(inputs[0].dtype, apply);
    apply(input, &e, variance, mean, onnxd_tensor_view_data(&context->outputs[0]));
    return NULL;
}

/* Training takes the statistics of the whole batch. */
static bool has_batch(const onnxd_infer *context)
{
    const onnxd_batch_normalization_params *params = context->params;
    return !params->is_training;
}

/* scale_type and mean_type: the type variables of scale and bias, of mean and variance. */
#define BATCH_NORMALIZATION(first, last, set, outputs_max, scale_type, mean_type)                  \
    {                                                                                              \
        .op_type = "BatchNormalization", .domain = "", .since = first, .until = last,              \
        .min_inputs = 5, .max_inputs = 5, .min_outputs = 1, .max_outputs = outputs_max,            \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = set, .type_variable = scale_type},                                    \
                   {.types = set, .type_variable = scale_type},                                    \
                   {.types = set, .type_variable = mean_type},                                     \
                   {.types = set, .type_variable = mean_type}},                                    \
        .outputs = {{.types = set, .type_variable = 1},                                            \
                    {.types = set, .type_variable = mean_type, .is_optional = true},               \
                    {.types = set, .type_variable = mean_type, .is_optional = true},               \
                    {.types = set, .type_variable = mean_type, .is_optional = true},               \
                    {.types = set, .type_variable = mean_type, .is_optional = true}},              \
        .params_bytes = sizeof(onnxd_batch_normalization_params), .parse = parse, .infer = infer,  \
        .workspace_bytes = workspace_bytes, .compute = compute, .batch_inputs = 1u,                \
        .has_batch = has_batch                                                                     \
    }

const onnxd_op_def onnxd_op_batch_normalization[] = {
    BATCH_NORMALIZATION(1, 5, ONNXD_SET_FLOATS_1, 5, 1, 1),
    BATCH_NORMALIZATION(6, 6, ONNXD_SET_FLOATS_1, 5, 1, 1),
    BATCH_NORMALIZATION(7, 8, ONNXD_SET_FLOATS_1, 5, 1, 1),
    BATCH_NORMALIZATION(9, 13, ONNXD_SET_FLOATS_1, 5, 1, 1),
    BATCH_NORMALIZATION(14, 14, ONNXD_SET_FLOATS, 3, 1, 2),
    BATCH_NORMALIZATION(15, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS, 3, 2, 3),
    {.op_type = NULL},
};

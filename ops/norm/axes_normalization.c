/* MeanVarianceNormalization and LpNormalization: over any axes, without scale and bias.
 *
 * The elements that share a statistic need not be neighbours, so the data are walked once per
 * statistic in the order in which they lie, next to the statistic that each belongs to. */
#include <inttypes.h>
#include <math.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/loop.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct axes_params {
    onnxd_axes axes;
    int64_t order; /* LpNormalization: 1 or 2 */
} axes_params;

static onnxd_status *parse_mean_variance(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                         void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axes", NULL};
    axes_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_parse_axes(node, "axes", &params->axes));
    if (!params->axes.is_given)
        params->axes = (onnxd_axes){.is_given = true, .count = 3, .values = {0, 2, 3}};
    return NULL;
}

static onnxd_status *parse_lp(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "p", NULL};
    axes_params *params = out;
    params->order = 2;
    params->axes = (onnxd_axes){.is_given = true, .count = 1, .values = {-1}};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1,
                                  &params->axes.values[0]));
    return onnxd_attribute_int(node, "p", 1, 2, &params->order);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const axes_params *params = context->params;
    const onnxd_shape *x = &context->inputs[0].shape;
    bool selected[ONNXD_MAX_RANK];
    if (x->rank != ONNXD_RANK_UNKNOWN)
        ONNXD_TRY(onnxd_op_axes(context->node, params->axes.values, params->axes.count, x->rank,
                                selected));
    context->outputs[0] = context->inputs[0];
    return NULL;
}

/* How the elements (operand 0) go with the statistics (operand 1), and how many of each. */
typedef struct extent {
    onnxd_loop loop;
    size_t statistics, reduced;
} extent;

static onnxd_status *extent_of(const onnxd_compute *context, extent *out)
{
    const axes_params *params = context->params;
    const onnxd_shape *x = &context->inputs[0].shape;
    bool selected[ONNXD_MAX_RANK];
    int64_t strides[2][ONNXD_LOOP_MAX_RANK] = {{0}};
    ONNXD_TRY(
        onnxd_op_axes(context->node, params->axes.values, params->axes.count, x->rank, selected));
    onnxd_strides_of(x, strides[0]);
    out->statistics = out->reduced = 1;
    for (int32_t i = x->rank; i-- > 0;) {
        strides[1][i] = selected[i] ? 0 : (int64_t)out->statistics;
        *(selected[i] ? &out->reduced : &out->statistics) *= (size_t)x->dims[i];
    }
    onnxd_loop_init(&out->loop, x->rank, x->dims, 2,
                    (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    return NULL;
}

/* Two numbers per statistic. */
static size_t workspace_bytes(const onnxd_compute *context)
{
    extent e;
    size_t bytes;
    if (onnxd_tensor_view_count(&context->inputs[0]) == 0)
        return 0;
    onnxd_status *status = extent_of(context, &e);
    if (status != NULL) {
        onnxd_status_free(status);
        return 0;
    }
    return onnxd_size_mul(e.statistics, 2 * sizeof(double), &bytes) ? bytes : SIZE_MAX;
}

#define KERNEL_FILE "ops/norm/axes_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

typedef void (*sum_function)(const onnxd_loop *loop, const void *input, const double *centers,
                             int64_t order, double *sums);
typedef void (*apply_function)(const onnxd_loop *loop, const void *input, const double *centers,
                               const double *divisors, void *output);

/* y = (x - mean) / (standard deviation + 1e-9), as the operator's function body has it. */
static onnxd_status *compute_mean_variance(const onnxd_compute *context)
{
    const onnxd_tensor_view *input = &context->inputs[0];
    extent e;
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    ONNXD_TRY(extent_of(context, &e));
    double *means = context->workspace, *deviations = means + e.statistics;
    sum_function sum = ONNXD_FOR_FLOAT(input->dtype, sum);
    apply_function apply = ONNXD_FOR_FLOAT(input->dtype, apply);
    const void *data = onnxd_tensor_view_data(input);
    for (size_t i = 0; i < e.statistics; i++)
        means[i] = deviations[i] = 0;
    sum(&e.loop, data, NULL, 0, means);
    for (size_t i = 0; i < e.statistics; i++)
        means[i] /= (double)e.reduced;
    sum(&e.loop, data, means, 2, deviations);
    for (size_t i = 0; i < e.statistics; i++)
        deviations[i] = sqrt(deviations[i] / (double)e.reduced) + 1e-9;
    apply(&e.loop, data, means, deviations, onnxd_tensor_view_data(&context->outputs[0]));
    return NULL;
}

/* Where the norm is 0, so are all elements, and the result is 0: division by infinity. */
static onnxd_status *compute_lp(const onnxd_compute *context)
{
    const axes_params *params = context->params;
    const onnxd_tensor_view *input = &context->inputs[0];
    extent e;
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    ONNXD_TRY(extent_of(context, &e));
    double *centers = context->workspace, *norms = centers + e.statistics;
    sum_function sum = ONNXD_FOR_FLOAT(input->dtype, sum);
    apply_function apply = ONNXD_FOR_FLOAT(input->dtype, apply);
    const void *data = onnxd_tensor_view_data(input);
    for (size_t i = 0; i < e.statistics; i++)
        centers[i] = norms[i] = 0;
    sum(&e.loop, data, centers, params->order, norms);
    for (size_t i = 0; i < e.statistics; i++) {
        double norm = params->order == 2 ? sqrt(norms[i]) : norms[i];
        norms[i] = norm == 0 ? (double)INFINITY : norm;
    }
    apply(&e.loop, data, centers, norms, onnxd_tensor_view_data(&context->outputs[0]));
    return NULL;
}

#define ROW(name, op, first, last, set)                                                            \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(axes_params),      \
        .parse = parse_##op, .infer = infer, .workspace_bytes = workspace_bytes,                   \
        .compute = compute_##op                                                                    \
    }

const onnxd_op_def onnxd_op_axes_normalization[] = {
    ROW("LpNormalization", lp, 1, 21, ONNXD_SET_FLOATS_1),
    ROW("LpNormalization", lp, 22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    ROW("MeanVarianceNormalization", mean_variance, 9, 12, ONNXD_SET_FLOATS_1),
    ROW("MeanVarianceNormalization", mean_variance, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

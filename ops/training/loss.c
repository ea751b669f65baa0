/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: minus the (log-)probability [N, C, d...]
 * of each target [N, d...], weighted by class, and reduced. The second operator takes the logarithm
 * of the softmax over the classes first. A target of ignore_index counts for nothing. */
#include <inttypes.h>
#include <tgmath.h>

#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { SCORES, TARGET, WEIGHT };

typedef enum reduction { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN } reduction;

typedef struct loss_params {
    reduction reduction;
    bool has_ignored;
    int64_t ignored;
} loss_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"ignore_index", "reduction", NULL};
    static const char *const choices[] = {"none", "sum", "mean"};
    loss_params *p = params;
    size_t choice = REDUCE_MEAN;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_choice(node, "reduction", choices, ONNXD_COUNT(choices), &choice));
    p->reduction = (reduction)choice;
    p->has_ignored = onnxd_node_attribute(node, "ignore_index") != NULL;
    return onnxd_attribute_int(node, "ignore_index", INT64_MIN, INT64_MAX, &p->ignored);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The shape of one loss per sample: the scores' without the classes, made as static as the target
 * can tell. */
static onnxd_status *sample_shape(const onnxd_infer *infer, onnxd_shape *out_shape)
{
    const onnxd_shape *scores = &infer->inputs[SCORES].shape;
    const onnxd_shape *target = &infer->inputs[TARGET].shape;
    if (scores->rank >= 0 && scores->rank < 2)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", needed is 2 or more",
                              scores->rank);
    *out_shape = *target;
    if (scores->rank < 0)
        return NULL;
    onnxd_shape shape = onnxd_shape_of_rank(scores->rank - 1);
    for (int32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = scores->dims[i == 0 ? 0 : i + 1];
    bool fits = target->rank < 0 || target->rank == shape.rank;
    for (int32_t i = 0; fits && i < shape.rank && target->rank >= 0; i++) {
        if (!onnxd_dim_is_static(shape.dims[i]))
            shape.dims[i] = target->dims[i];
        else
            fits = !onnxd_dim_is_static(target->dims[i]) || target->dims[i] == shape.dims[i];
    }
    *out_shape = shape;
    if (fits)
        return NULL;
    char text[ONNXD_SHAPE_TEXT], target_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(infer->node, "input 1 has shape %s, input 0 without its classes has %s",
                          onnxd_shape_format(target, target_text, sizeof(target_text)),
                          onnxd_shape_format(&shape, text, sizeof(text)));
}

static onnxd_status *check_weight(const onnxd_infer *infer)
{
    const onnxd_shape *scores = &infer->inputs[SCORES].shape;
    if (!onnxd_op_has_input(infer->node, WEIGHT))
        return NULL;
    const onnxd_shape *weight = &infer->inputs[WEIGHT].shape;
    if (weight->rank >= 0 && weight->rank != 1)
        return onnxd_op_error(infer->node, "input 2 has rank %" PRId32 ", allowed is 1",
                              weight->rank);
    if (scores->rank >= 2 && weight->rank == 1 && onnxd_dim_is_static(scores->dims[1]) &&
        onnxd_dim_is_static(weight->dims[0]) && scores->dims[1] != weight->dims[0])
        return onnxd_op_error(infer->node,
                              "input 2 has %" PRId64 " weights for %" PRId64 " classes",
                              weight->dims[0], scores->dims[1]);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const loss_params *p = infer->params;
    onnxd_shape shape;
    ONNXD_TRY(sample_shape(infer, &shape));
    ONNXD_TRY(check_weight(infer));
    infer->outputs[0].dtype = infer->inputs[SCORES].dtype;
    infer->outputs[0].shape = p->reduction == REDUCE_NONE ? shape : (onnxd_shape){.rank = 0};
    if (onnxd_op_has_output(infer->node, 1))
        infer->outputs[1] = infer->inputs[SCORES];
    return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Scores [outer, classes, inner]. */
typedef struct extent {
    size_t outer, classes, inner;
} extent;

static extent extent_of(const onnxd_shape *scores)
{
    extent e = {(size_t)scores->dims[0], (size_t)scores->dims[1], 1};
    for (int32_t i = 2; i < scores->rank; i++)
        e.inner *= (size_t)scores->dims[i];
    return e;
}

/* What a sample's class is; false for one that is ignored. */
static onnxd_status *class_of(const onnxd_compute *compute, size_t sample, size_t classes,
                              bool *out_counts, size_t *out_class)
{
    const loss_params *p = compute->params;
    int64_t target = onnxd_op_int_at(&compute->inputs[TARGET], sample);
    *out_counts = !p->has_ignored || target != p->ignored;
    *out_class = 0;
    if (!*out_counts)
        return NULL;
    if (target < 0 || (uint64_t)target >= classes)
        return onnxd_op_error(compute->node,
                              "element %zu of input 1 is %" PRId64 ", allowed are 0 to %" PRId64,
                              sample, target, (int64_t)classes - 1);
    *out_class = (size_t)target;
    return NULL;
}

/* The losses of log-probabilities of the scores' type, into output 0. */
static onnxd_status *reduce_losses(const onnxd_compute *compute, const void *log_probs)
{
    const loss_params *p = compute->params;
    const onnxd_tensor_view *scores = &compute->inputs[SCORES], *output = &compute->outputs[0];
    const onnxd_tensor_view *weight = NULL;
    if (compute->input_count > WEIGHT && onnxd_tensor_view_is_present(&compute->inputs[WEIGHT]))
        weight = &compute->inputs[WEIGHT];
    size_t count = onnxd_tensor_view_count(&compute->inputs[TARGET]);
    extent e = count == 0 ? (extent){0, 0, 0} : extent_of(&scores->shape);
    void *out = onnxd_tensor_view_data(output);
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        bool counts;
        size_t class;
        ONNXD_TRY(class_of(compute, i, e.classes, &counts, &class));
        size_t at = (i / e.inner * e.classes + class) * e.inner + i % e.inner;
        double factor = weight != NULL && counts
                            ? onnxd_real_load(weight->dtype, onnxd_tensor_view_data(weight), class)
                            : 1;
        double loss = counts ? -onnxd_real_load(scores->dtype, log_probs, at) * factor : 0;
        if (p->reduction == REDUCE_NONE)
            onnxd_real_store(output->dtype, out, i, loss);
        sum += loss;
        weights += counts ? factor : 0;
    }
    if (p->reduction != REDUCE_NONE)
        onnxd_real_store(output->dtype, out, 0, p->reduction == REDUCE_MEAN ? sum / weights : sum);
    return NULL;
}

static onnxd_status *compute_likelihood(const onnxd_compute *compute)
{
    return reduce_losses(compute, onnxd_tensor_view_data(&compute->inputs[SCORES]));
}

#define SOFTMAX_RUN 64
#define KERNEL_FILE "ops/softmax_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

/* Room for the log-probabilities when they are no output. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    if (compute->output_count > 1 && onnxd_tensor_view_is_present(&compute->outputs[1]))
        return 0;
    return onnxd_tensor_view_bytes(&compute->inputs[SCORES]);
}

static onnxd_status *compute_cross_entropy(const onnxd_compute *compute)
{
    const onnxd_tensor_view *scores = &compute->inputs[SCORES];
    const void *in = onnxd_tensor_view_data(scores);
    void *log_probs = compute->workspace;
    void (*soften)(const void *, size_t, size_t, size_t, size_t, bool, void *) =
        ONNXD_FOR_FLOAT(scores->dtype, soften);
    if (compute->output_count > 1 && onnxd_tensor_view_is_present(&compute->outputs[1]))
        log_probs = onnxd_tensor_view_data(&compute->outputs[1]);
    if (onnxd_tensor_view_count(scores) != 0) {
        extent e = extent_of(&scores->shape);
        for (size_t o = 0; o < e.outer; o++) {
            for (size_t i = 0; i < e.inner; i += SOFTMAX_RUN) {
                size_t count = e.inner - i < SOFTMAX_RUN ? e.inner - i : SOFTMAX_RUN;
                soften(in, o * e.classes * e.inner + i, e.classes, e.inner, count, true, log_probs);
            }
        }
    }
    return reduce_losses(compute, log_probs);
}

#define COMMON(name, first, last, set, outputs_max)                                                \
    .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 2,                 \
    .max_inputs = 3, .min_outputs = 1, .max_outputs = outputs_max,                                 \
    .inputs = {{.types = set, .type_variable = 1},                                                 \
               {.types = ONNXD_SET_INDEX},                                                         \
               {.types = set, .type_variable = 1, .is_optional = true}},                           \
    .outputs = {{.types = set, .type_variable = 1},                                                \
                {.types = set, .type_variable = 1, .is_optional = true}},                          \
    .params_bytes = sizeof(loss_params), .parse = parse, .infer = infer
#define LIKELIHOOD(first, last, set)                                                               \
    {                                                                                              \
        COMMON("NegativeLogLikelihoodLoss", first, last, set, 1), .compute = compute_likelihood    \
    }
#define CROSS_ENTROPY(first, last, set)                                                            \
    {                                                                                              \
        COMMON("SoftmaxCrossEntropyLoss", first, last, set, 2),                                    \
            .workspace_bytes = workspace_bytes, .compute = compute_cross_entropy                   \
    }

const onnxd_op_def onnxd_op_loss[] = {
    LIKELIHOOD(12, 21, ONNXD_SET_FLOATS_1),
    LIKELIHOOD(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    CROSS_ENTROPY(12, 12, ONNXD_SET_FLOATS_1),
    CROSS_ENTROPY(13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

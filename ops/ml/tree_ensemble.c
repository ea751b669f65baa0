/* TreeEnsembleRegressor and TreeEnsembleClassifier. */
#include "ops/ml/tree_ensemble.h"

#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/choice.h"
#include "ops/ops.h"

/* ---- shared -------------------------------------------------------------------------------- */

size_t onnxd_tree_scratch_bytes(const onnxd_trees *trees, const onnxd_shape *input)
{
    const size_t per_target = sizeof(double) + sizeof(float) + sizeof(bool);
    size_t row, scores, total;
    if (!onnxd_size_mul(onnxd_ml_rows_of(input).width, sizeof(double), &row) ||
        !onnxd_size_mul((size_t)trees->target_count + 2, per_target, &scores) ||
        !onnxd_size_add(row, scores, &total))
        return SIZE_MAX;
    return total;
}

onnxd_tree_scratch onnxd_tree_scratch_of(const onnxd_trees *trees, const onnxd_shape *input,
                                         void *workspace)
{
    const size_t targets = (size_t)trees->target_count + 2;
    onnxd_tree_scratch scratch = {.row = workspace};
    scratch.scores = scratch.row + onnxd_ml_rows_of(input).width;
    scratch.results = (float *)(scratch.scores + targets);
    scratch.has_score = (bool *)(scratch.results + targets);
    return scratch;
}

onnxd_status *onnxd_tree_check_features(const onnxd_infer *infer, const onnxd_trees *trees)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    if (input->rank < 0)
        return NULL;
    const int64_t width = input->rank == 0 ? 1 : input->dims[input->rank - 1];
    if (width >= 0 && width < (int64_t)trees->feature_count)
        return onnxd_op_error(infer->node,
                              "the input has %" PRId64 " features in a row, the trees ask for "
                              "%" PRIu32,
                              width, trees->feature_count);
    return NULL;
}

#define TREE_ATTRIBUTES                                                                            \
    "base_values", "nodes_falsenodeids", "nodes_featureids", "nodes_hitrates",                     \
        "nodes_missing_value_tracks_true", "nodes_modes", "nodes_nodeids", "nodes_treeids",        \
        "nodes_truenodeids", "nodes_values", "post_transform"
#define TREE_ATTRIBUTES_3                                                                          \
    TREE_ATTRIBUTES, "base_values_as_tensor", "nodes_hitrates_as_tensor", "nodes_values_as_tensor"

/* ---- regressor ----------------------------------------------------------------------------- */

typedef struct regressor_params {
    onnxd_trees trees;
    const double *base;
    size_t base_count;
    onnxd_ml_transform transform;
} regressor_params;

static onnxd_status *parse_aggregate(const onnxd_node *node, onnxd_tree_aggregate *out_aggregate)
{
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    size_t aggregate = 1;
    ONNXD_TRY(onnxd_op_choice(node, "aggregate_function", names, ONNXD_COUNT(names), &aggregate));
    *out_aggregate = (onnxd_tree_aggregate)aggregate;
    return NULL;
}

static onnxd_status *parse_regressor(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *params)
{
    static const char *const names_1[] = {
        TREE_ATTRIBUTES,  "aggregate_function", "n_targets",      "target_ids",
        "target_nodeids", "target_treeids",     "target_weights", NULL};
    static const char *const names_3[] = {
        TREE_ATTRIBUTES_3, "aggregate_function",       "n_targets",
        "target_ids",      "target_nodeids",           "target_treeids",
        "target_weights",  "target_weights_as_tensor", NULL};
    regressor_params *p = params;
    int64_t targets = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 3 ? names_1 : names_3));
    ONNXD_TRY(onnxd_attribute_int(node, "n_targets", 1, 1 << 20, &targets));
    ONNXD_TRY(onnxd_trees_parse(node, "target", targets, arena, &p->trees));
    ONNXD_TRY(parse_aggregate(node, &p->trees.aggregate));
    ONNXD_TRY(onnxd_ml_parse_transform(node, &p->transform));
    ONNXD_TRY(onnxd_tree_numbers(node, "base_values", arena, &p->base, &p->base_count));
    if (p->base_count != 0 && p->base_count != (size_t)targets)
        return onnxd_op_error(node,
                              "attribute 'base_values' has %zu elements for %" PRId64 " targets",
                              p->base_count, targets);
    return NULL;
}

static onnxd_status *infer_regressor(onnxd_infer *infer)
{
    const regressor_params *p = infer->params;
    ONNXD_TRY(onnxd_tree_check_features(infer, &p->trees));
    return onnxd_ml_infer_rows(infer, -1, 0, ONNXD_FLOAT, p->trees.target_count);
}

static size_t workspace_regressor(const onnxd_compute *compute)
{
    const regressor_params *p = compute->params;
    return onnxd_tree_scratch_bytes(&p->trees, &compute->inputs[0].shape);
}

static onnxd_status *compute_regressor(const onnxd_compute *compute)
{
    const regressor_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&input->shape);
    const onnxd_tree_scratch s =
        onnxd_tree_scratch_of(&p->trees, &input->shape, compute->workspace);
    const uint32_t targets = p->trees.target_count;
    float *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t r = 0; r < rows.count; r++, out += targets) {
        onnxd_ml_load_doubles(input, r * rows.width, rows.width, s.row);
        onnxd_trees_evaluate(&p->trees, s.row, s.scores, s.has_score);
        for (uint32_t t = 0; t < targets; t++)
            out[t] = (float)(s.scores[t] + (p->base_count != 0 ? p->base[t] : 0.0));
        /* One score by itself has no other transform. */
        if (targets > 1 || p->transform == ONNXD_ML_PROBIT)
            onnxd_ml_transform_row(p->transform, out, targets);
    }
    return NULL;
}

/* ---- classifier ---------------------------------------------------------------------------- */

typedef struct classifier_params {
    onnxd_trees trees;
    onnxd_ml_labels labels;
    const double *base;
    size_t base_count;
    onnxd_ml_transform transform;
    bool is_binary; /* two labels, and all votes are for one of them */
    bool are_weights_positive;
} classifier_params;

/* What the votes tell of the classes. */
static void survey_votes(classifier_params *p)
{
    bool is_one_target = p->trees.vote_count > 0;
    p->are_weights_positive = true;
    for (uint32_t i = 0; i < p->trees.vote_count; i++) {
        is_one_target &= p->trees.votes[i].target == p->trees.votes[0].target;
        p->are_weights_positive &= p->trees.votes[i].weight >= 0.0;
    }
    p->is_binary = p->labels.count == 2 && is_one_target;
    /* The one score is that of the first. */
    for (uint32_t i = 0; p->is_binary && i < p->trees.vote_count; i++)
        p->trees.votes[i].target = 0;
}

static onnxd_status *parse_classifier(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                      void *params)
{
    static const char *const names_1[] = {
        TREE_ATTRIBUTES, "class_ids",          "class_nodeids",       "class_treeids",
        "class_weights", "classlabels_int64s", "classlabels_strings", NULL};
    static const char *const names_3[] = {TREE_ATTRIBUTES_3,
                                          "class_ids",
                                          "class_nodeids",
                                          "class_treeids",
                                          "class_weights",
                                          "classlabels_int64s",
                                          "classlabels_strings",
                                          "class_weights_as_tensor",
                                          NULL};
    classifier_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 3 ? names_1 : names_3));
    ONNXD_TRY(
        onnxd_ml_parse_labels(node, "classlabels_int64s", "classlabels_strings", true, &p->labels));
    if (p->labels.count == 0 || p->labels.count > (size_t)1 << 20)
        return onnxd_op_error(node, "there are %zu class labels, allowed are 1 to %d",
                              p->labels.count, 1 << 20);
    ONNXD_TRY(onnxd_trees_parse(node, "class", (int64_t)p->labels.count, arena, &p->trees));
    ONNXD_TRY(onnxd_ml_parse_transform(node, &p->transform));
    ONNXD_TRY(onnxd_tree_numbers(node, "base_values", arena, &p->base, &p->base_count));
    if (p->base_count != 0 && p->base_count != p->labels.count &&
        !(p->base_count == 1 && p->labels.count == 2))
        return onnxd_op_error(node, "attribute 'base_values' has %zu elements for %zu classes",
                              p->base_count, p->labels.count);
    survey_votes(p);
    return NULL;
}

static onnxd_status *infer_classifier(onnxd_infer *infer)
{
    const classifier_params *p = infer->params;
    ONNXD_TRY(onnxd_tree_check_features(infer, &p->trees));
    ONNXD_TRY(onnxd_ml_infer_rows(infer, -1, 1, ONNXD_FLOAT, (int64_t)p->labels.count));
    infer->outputs[0].dtype = onnxd_ml_label_dtype(&p->labels);
    infer->outputs[0].shape = onnxd_shape_of_rank(1);
    infer->outputs[0].shape.dims[0] = infer->outputs[1].shape.dims[0];
    return NULL;
}

static size_t workspace_classifier(const onnxd_compute *compute)
{
    const classifier_params *p = compute->params;
    return onnxd_tree_scratch_bytes(&p->trees, &compute->inputs[0].shape);
}

/* Two classes told by one score: the label, and both scores. */
static size_t classify_pair(const classifier_params *p, float *scores)
{
    const bool is_positive = scores[0] > (p->are_weights_positive ? 0.5f : 0.0f);
    onnxd_ml_transform_pair(
        p->transform, p->are_weights_positive ? ONNXD_ML_COMPLEMENT : ONNXD_ML_OPPOSITE, scores);
    return is_positive;
}

static size_t classify(const classifier_params *p, const onnxd_tree_scratch *s)
{
    const size_t count = p->labels.count;
    float *scores = s->results;
    size_t best = 0;
    if (p->is_binary) {
        /* Of two base values the second is that of the positive class. */
        const double base = p->base_count == 0 ? 0.0 : p->base[p->base_count - 1];
        scores[0] = (float)(s->scores[0] + base);
        return classify_pair(p, scores);
    }
    for (size_t i = 0; i < count; i++) {
        const double base = i < p->base_count ? p->base[i] : 0.0;
        scores[i] = (float)(s->scores[i] + base);
        if (scores[i] > scores[best])
            best = i;
    }
    onnxd_ml_transform_row(p->transform, scores, count);
    return best;
}

static onnxd_status *compute_classifier(const onnxd_compute *compute)
{
    const classifier_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&input->shape);
    const onnxd_tree_scratch s =
        onnxd_tree_scratch_of(&p->trees, &input->shape, compute->workspace);
    const size_t count = p->labels.count;
    void *labels = onnxd_tensor_view_data(&compute->outputs[0]);
    float *out = compute->output_count > 1 && onnxd_tensor_view_is_present(&compute->outputs[1])
                     ? onnxd_tensor_view_data(&compute->outputs[1])
                     : NULL;
    for (size_t r = 0; r < rows.count; r++) {
        onnxd_ml_load_doubles(input, r * rows.width, rows.width, s.row);
        onnxd_trees_evaluate(&p->trees, s.row, s.scores, s.has_score);
        onnxd_ml_write_label(&p->labels, classify(p, &s), labels, r);
        if (out != NULL)
            memcpy(out + r * count, s.results, count * sizeof(float));
    }
    return NULL;
}

/* ---- definitions --------------------------------------------------------------------------- */

#define REGRESSOR(first, last)                                                                     \
    {                                                                                              \
        .op_type = "TreeEnsembleRegressor", .domain = ONNXD_ML_DOMAIN, .since = first,             \
        .until = last, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,       \
        .inputs = {{.types = ONNXD_SET_ML_NUMBERS}}, .outputs = {{.types = ONNXD_SET(FLOAT)}},     \
        .params_bytes = sizeof(regressor_params), .parse = parse_regressor,                        \
        .infer = infer_regressor, .workspace_bytes = workspace_regressor,                          \
        .compute = compute_regressor                                                               \
    }
#define CLASSIFIER(first, last)                                                                    \
    {                                                                                              \
        .op_type = "TreeEnsembleClassifier", .domain = ONNXD_ML_DOMAIN, .since = first,            \
        .until = last, .min_inputs = 1, .max_inputs = 1, .min_outputs = 2, .max_outputs = 2,       \
        .inputs = {{.types = ONNXD_SET_ML_NUMBERS}},                                               \
        .outputs = {{.types = ONNXD_SET(STRING) | ONNXD_SET(INT64)}, {.types = ONNXD_SET(FLOAT)}}, \
        .params_bytes = sizeof(classifier_params), .parse = parse_classifier,                      \
        .infer = infer_classifier, .workspace_bytes = workspace_classifier,                        \
        .compute = compute_classifier                                                              \
    }

const onnxd_op_def onnxd_op_tree_ensemble[] = {
    REGRESSOR(1, 2),   REGRESSOR(3, ONNXD_ML_OPSET_MAX),
    CLASSIFIER(1, 2),  CLASSIFIER(3, ONNXD_ML_OPSET_MAX),
    {.op_type = NULL},
};

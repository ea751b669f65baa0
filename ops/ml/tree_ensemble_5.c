/*
 * TreeEnsemble, since version 5: inner nodes and leaves are numbered apart, and a node may ask
 * whether the feature is one of a set of members.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ml/tree_ensemble.h"
#include "ops/ops.h"
#include "ops/real.h"

#define TYPES (ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE) | ONNXD_SET(FLOAT16))

typedef struct ensemble_params {
    onnxd_trees trees;
    onnxd_ml_transform transform;
} ensemble_params;

typedef struct ensemble_lists {
    const int64_t *features, *if_true, *if_false, *true_leaves, *false_leaves, *missing;
    const onnxd_tensor *splits, *modes, *weights, *members;
    const int64_t *targets, *roots;
    size_t node_count, leaf_count, root_count, missing_count;
} ensemble_lists;

/* ---- lists --------------------------------------------------------------------------------- */

/* `count` elements, or where it is SIZE_MAX any number, into *out_count. */
static onnxd_status *read_list(const onnxd_node *node, const char *name, size_t count,
                               const int64_t **out_values, size_t *out_count)
{
    size_t found = 0;
    ONNXD_TRY(onnxd_attribute_require(node, name));
    ONNXD_TRY(onnxd_attribute_int_list(node, name, out_values, &found));
    if (count != SIZE_MAX && found != count)
        return onnxd_op_error(node, "attribute '%s' has %zu elements, %zu are needed", name, found,
                              count);
    if (out_count != NULL)
        *out_count = found;
    return NULL;
}

static onnxd_status *read_tensor(const onnxd_node *node, const char *name, onnxd_dtype_set types,
                                 size_t count, const onnxd_tensor **out_tensor)
{
    ONNXD_TRY(onnxd_attribute_require(node, name));
    ONNXD_TRY(onnxd_attribute_tensor(node, name, out_tensor));
    if (((types >> (*out_tensor)->dtype) & 1) == 0) {
        char allowed[ONNXD_DTYPE_SET_TEXT];
        return onnxd_op_error(node, "attribute '%s' has type %s, allowed are %s", name,
                              onnxd_dtype_name((*out_tensor)->dtype),
                              onnxd_dtype_set_format(types, allowed, sizeof(allowed)));
    }
    if (count != SIZE_MAX && (*out_tensor)->count != count)
        return onnxd_op_error(node, "attribute '%s' has %zu elements, %zu are needed", name,
                              (*out_tensor)->count, count);
    return NULL;
}

static onnxd_status *read_lists(const onnxd_node *node, ensemble_lists *l)
{
    ONNXD_TRY(read_list(node, "nodes_featureids", SIZE_MAX, &l->features, &l->node_count));
    ONNXD_TRY(read_list(node, "nodes_truenodeids", l->node_count, &l->if_true, NULL));
    ONNXD_TRY(read_list(node, "nodes_falsenodeids", l->node_count, &l->if_false, NULL));
    ONNXD_TRY(read_list(node, "nodes_trueleafs", l->node_count, &l->true_leaves, NULL));
    ONNXD_TRY(read_list(node, "nodes_falseleafs", l->node_count, &l->false_leaves, NULL));
    ONNXD_TRY(read_tensor(node, "nodes_splits", TYPES, l->node_count, &l->splits));
    ONNXD_TRY(read_tensor(node, "nodes_modes", ONNXD_SET(UINT8), l->node_count, &l->modes));
    ONNXD_TRY(read_list(node, "leaf_targetids", SIZE_MAX, &l->targets, &l->leaf_count));
    ONNXD_TRY(read_tensor(node, "leaf_weights", TYPES, l->leaf_count, &l->weights));
    ONNXD_TRY(read_list(node, "tree_roots", SIZE_MAX, &l->roots, &l->root_count));
    if (onnxd_node_attribute(node, "membership_values") != NULL)
        ONNXD_TRY(read_tensor(node, "membership_values", TYPES, SIZE_MAX, &l->members));
    if (onnxd_node_attribute(node, "nodes_missing_value_tracks_true") != NULL)
        ONNXD_TRY(read_list(node, "nodes_missing_value_tracks_true", SIZE_MAX, &l->missing,
                            &l->missing_count));
    if (l->missing_count != 0 && l->missing_count != l->node_count)
        return onnxd_op_error(node,
                              "attribute 'nodes_missing_value_tracks_true' has %zu elements, %zu "
                              "are needed",
                              l->missing_count, l->node_count);
    return NULL;
}

/* ---- trees --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The next members up to a NaN belong to this node. */
static onnxd_status *take_members(const onnxd_node *node, const ensemble_lists *l, size_t *next,
                                  onnxd_trees *trees, onnxd_tree_node *out)
{
    out->first = trees->member_count;
    for (;; (*next)++) {
        if (l->members == NULL || *next == l->members->count)
            return onnxd_op_error(node, "attribute 'membership_values' has no set for every node "
                                        "whose mode is MEMBER");
        const double value = onnxd_real_load(l->members->dtype, l->members->data, *next);
        if (isnan(value))
            break;
        trees->members[trees->member_count++] = value;
        out->count++;
    }
    (*next)++;
    if (out->count > 1)
        qsort(trees->members + out->first, out->count, sizeof(double), compare);
    return NULL;
}

/* Leaves follow the inner nodes. */
static onnxd_status *child_of(const onnxd_node *node, const ensemble_lists *l, const char *name,
                              size_t index, int64_t id, bool is_leaf, uint32_t *out_child)
{
    const size_t count = is_leaf ? l->leaf_count : l->node_count;
    if (id < 0 || (uint64_t)id >= count)
        return onnxd_op_error(
            node, "attribute '%s': element %zu is %" PRId64 ", it must be one of %zu %s", name,
            index, id, count, is_leaf ? "leaves" : "nodes");
    *out_child = (uint32_t)((size_t)id + (is_leaf ? l->node_count : 0));
    return NULL;
}

static onnxd_status *make_node(const onnxd_node *node, const ensemble_lists *l, size_t i,
                               size_t *next_member, onnxd_trees *trees)
{
    onnxd_tree_node *out = &trees->nodes[i];
    out->mode = ((const uint8_t *)l->modes->data)[i];
    if (out->mode > ONNXD_TREE_MEMBER)
        return onnxd_op_error(
            node, "attribute 'nodes_modes': element %zu is %u, allowed are 0 to 6", i, out->mode);
    if (l->features[i] < 0 || l->features[i] >= INT32_MAX)
        return onnxd_op_error(node,
                              "attribute 'nodes_featureids': element %zu is %" PRId64
                              ", it must not be negative",
                              i, l->features[i]);
    out->feature = (uint32_t)l->features[i];
    out->value = onnxd_real_load(l->splits->dtype, l->splits->data, i);
    out->is_true_for_missing = l->missing_count != 0 && l->missing[i] != 0;
    ONNXD_TRY(child_of(node, l, "nodes_truenodeids", i, l->if_true[i], l->true_leaves[i] != 0,
                       &out->if_true));
    ONNXD_TRY(child_of(node, l, "nodes_falsenodeids", i, l->if_false[i], l->false_leaves[i] != 0,
                       &out->if_false));
    return out->mode == ONNXD_TREE_MEMBER ? take_members(node, l, next_member, trees, out) : NULL;
}

static onnxd_status *make_leaf(const onnxd_node *node, const ensemble_lists *l, size_t i,
                               onnxd_trees *trees)
{
    if (l->targets[i] < 0 || l->targets[i] >= trees->target_count)
        return onnxd_op_error(node,
                              "attribute 'leaf_targetids': element %zu is %" PRId64
                              ", allowed are 0 to %" PRId64,
                              i, l->targets[i], (int64_t)trees->target_count - 1);
    trees->nodes[l->node_count + i] =
        (onnxd_tree_node){.mode = ONNXD_TREE_LEAF, .first = (uint32_t)i, .count = 1};
    trees->votes[i] = (onnxd_tree_vote){(uint32_t)l->targets[i],
                                        onnxd_real_load(l->weights->dtype, l->weights->data, i)};
    return NULL;
}

/* A root is a node; one whose two children are the same leaf is how a tree of a single leaf is
 * written. */
static onnxd_status *make_trees(const onnxd_node *node, const ensemble_lists *l, onnxd_arena *arena,
                                onnxd_trees *trees)
{
    size_t next_member = 0;
    ONNXD_TRY(onnxd_trees_reserve(trees, node, l->node_count + l->leaf_count, l->leaf_count,
                                  l->members == NULL ? 0 : l->members->count, l->root_count,
                                  arena));
    for (size_t i = 0; i < l->node_count; i++)
        ONNXD_TRY(make_node(node, l, i, &next_member, trees));
    for (size_t i = 0; i < l->leaf_count; i++)
        ONNXD_TRY(make_leaf(node, l, i, trees));
    trees->node_count = (uint32_t)(l->node_count + l->leaf_count);
    trees->vote_count = (uint32_t)l->leaf_count;
    for (size_t i = 0; i < l->root_count; i++) {
        ONNXD_TRY(child_of(node, l, "tree_roots", i, l->roots[i], false,
                           &trees->roots[trees->root_count]));
        onnxd_tree_node *root = &trees->nodes[trees->roots[trees->root_count++]];
        if (root->if_true == root->if_false && root->if_true >= l->node_count)
            *root = trees->nodes[root->if_true];
    }
    return onnxd_trees_check(trees, node, arena);
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset;
    static const char *const names[] = {"aggregate_function",
                                        "leaf_targetids",
                                        "leaf_weights",
                                        "membership_values",
                                        "n_targets",
                                        "nodes_falseleafs",
                                        "nodes_falsenodeids",
                                        "nodes_featureids",
                                        "nodes_hitrates",
                                        "nodes_missing_value_tracks_true",
                                        "nodes_modes",
                                        "nodes_splits",
                                        "nodes_trueleafs",
                                        "nodes_truenodeids",
                                        "post_transform",
                                        "tree_roots",
                                        NULL};
    ensemble_params *p = params;
    ensemble_lists lists = {.node_count = 0};
    int64_t aggregate = ONNXD_TREE_SUM, transform = ONNXD_ML_NONE, targets = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "aggregate_function", 0, 3, &aggregate));
    ONNXD_TRY(onnxd_attribute_int(node, "post_transform", 0, 4, &transform));
    ONNXD_TRY(onnxd_attribute_int(node, "n_targets", 1, 1 << 20, &targets));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "nodes_hitrates", ONNXD_ATTRIBUTE_TENSOR));
    p->trees.aggregate = (onnxd_tree_aggregate)aggregate;
    p->trees.target_count = (uint32_t)targets;
    p->transform = (onnxd_ml_transform)transform;
    ONNXD_TRY(read_lists(node, &lists));
    return make_trees(node, &lists, arena, &p->trees);
}

/* ---- running ------------------------------------------------------------------------------- */

static onnxd_status *infer(onnxd_infer *infer)
{
    const ensemble_params *p = infer->params;
    ONNXD_TRY(onnxd_tree_check_features(infer, &p->trees));
    return onnxd_ml_infer_rows(infer, -1, 0, infer->inputs[0].dtype, p->trees.target_count);
}

static size_t workspace_bytes(const onnxd_compute *compute)
{
    const ensemble_params *p = compute->params;
    return onnxd_tree_scratch_bytes(&p->trees, &compute->inputs[0].shape);
}

/* Transforms are for floats; without one a double keeps its digits. */
static void write_scores(const ensemble_params *p, const onnxd_tree_scratch *s, onnxd_dtype dtype,
                         void *out, size_t first)
{
    const uint32_t targets = p->trees.target_count;
    const bool is_transformed = targets > 1 || p->transform == ONNXD_ML_PROBIT;
    for (uint32_t t = 0; t < targets; t++)
        s->results[t] = (float)s->scores[t];
    if (is_transformed)
        onnxd_ml_transform_row(p->transform, s->results, targets);
    for (uint32_t t = 0; t < targets; t++)
        onnxd_real_store(dtype, out, first + t,
                         p->transform == ONNXD_ML_NONE || !is_transformed ? s->scores[t]
                                                                          : (double)s->results[t]);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const ensemble_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_ml_rows rows = onnxd_ml_rows_of(&input->shape);
    const onnxd_tree_scratch s =
        onnxd_tree_scratch_of(&p->trees, &input->shape, compute->workspace);
    const void *in = onnxd_tensor_view_data(input);
    void *out = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t r = 0; r < rows.count; r++) {
        for (size_t i = 0; i < rows.width; i++)
            s.row[i] = onnxd_real_load(input->dtype, in, r * rows.width + i);
        onnxd_trees_evaluate(&p->trees, s.row, s.scores, s.has_score);
        write_scores(p, &s, input->dtype, out, r * p->trees.target_count);
    }
    return NULL;
}

const onnxd_op_def onnxd_op_tree_ensemble_5[] = {
    {.op_type = "TreeEnsemble",
     .domain = ONNXD_ML_DOMAIN,
     .since = 5,
     .until = ONNXD_ML_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = TYPES, .type_variable = 1}},
     .outputs = {{.types = TYPES, .type_variable = 1}},
     .params_bytes = sizeof(ensemble_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};

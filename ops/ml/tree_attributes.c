/*
 * Decision trees as versions 1 and 3 of the domain describe them: every node has a number within a
 * tree, children and votes refer to such pairs of numbers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ml/trees.h"
#include "ops/real.h"

#define NAME_BYTES 64

/* ---- lists --------------------------------------------------------------------------------- */

onnxd_status *onnxd_tree_numbers(const onnxd_node *node, const char *name, onnxd_arena *arena,
                                 const double **out_values, size_t *out_count)
{
    char tensor_name[NAME_BYTES];
    const onnxd_tensor *tensor = NULL;
    const float *floats = NULL;
    size_t count = 0;
    (void)snprintf(tensor_name, sizeof(tensor_name), "%s_as_tensor", name);
    ONNXD_TRY(onnxd_attribute_tensor(node, tensor_name, &tensor));
    ONNXD_TRY(onnxd_attribute_float_list(node, name, &floats, &count));
    if (tensor != NULL && tensor->count > 0) {
        if (tensor->dtype != ONNXD_FLOAT && tensor->dtype != ONNXD_DOUBLE)
            return onnxd_op_error(node, "attribute '%s' has type %s, allowed are float and double",
                                  tensor_name, onnxd_dtype_name(tensor->dtype));
        count = tensor->count;
    } else {
        tensor = NULL;
    }
    double *values = onnxd_arena_alloc_zero(arena, count + 1, sizeof(double));
    if (values == NULL)
        return onnxd_error_out_of_memory(name, count * sizeof(double), UINT64_MAX);
    for (size_t i = 0; i < count; i++)
        values[i] =
            tensor != NULL ? onnxd_real_load(tensor->dtype, tensor->data, i) : (double)floats[i];
    *out_values = count == 0 ? NULL : values;
    *out_count = count;
    return NULL;
}

typedef struct node_lists {
    const int64_t *trees, *ids, *features, *if_true, *if_false, *missing;
    const onnxd_text *modes;
    const double *values;
    size_t count, missing_count;
} node_lists;

static onnxd_status *read_integers(const onnxd_node *node, const char *name, size_t count,
                                   const int64_t **out_values)
{
    size_t found = 0;
    ONNXD_TRY(onnxd_attribute_int_list(node, name, out_values, &found));
    if (found == count)
        return NULL;
    return onnxd_op_error(node, "attribute '%s' has %zu elements, %zu are needed", name, found,
                          count);
}

static onnxd_status *read_nodes(const onnxd_node *node, onnxd_arena *arena, node_lists *lists)
{
    size_t count = 0;
    ONNXD_TRY(onnxd_attribute_int_list(node, "nodes_treeids", &lists->trees, &lists->count));
    ONNXD_TRY(read_integers(node, "nodes_nodeids", lists->count, &lists->ids));
    ONNXD_TRY(read_integers(node, "nodes_featureids", lists->count, &lists->features));
    ONNXD_TRY(read_integers(node, "nodes_truenodeids", lists->count, &lists->if_true));
    ONNXD_TRY(read_integers(node, "nodes_falsenodeids", lists->count, &lists->if_false));
    ONNXD_TRY(onnxd_attribute_string_list(node, "nodes_modes", &lists->modes, &count));
    if (count != lists->count)
        return onnxd_op_error(node, "attribute 'nodes_modes' has %zu elements, %zu are needed",
                              count, lists->count);
    ONNXD_TRY(onnxd_tree_numbers(node, "nodes_values", arena, &lists->values, &count));
    if (count != lists->count)
        return onnxd_op_error(node, "attribute 'nodes_values' has %zu elements, %zu are needed",
                              count, lists->count);
    ONNXD_TRY(onnxd_attribute_int_list(node, "nodes_missing_value_tracks_true", &lists->missing,
                                       &lists->missing_count));
    if (lists->missing_count != 0 && lists->missing_count != lists->count)
        return onnxd_op_error(node,
                              "attribute 'nodes_missing_value_tracks_true' has %zu elements, %zu "
                              "are needed",
                              lists->missing_count, lists->count);
    return NULL;
}

/* ---- pairs of numbers ---------------------------------------------------------------------- */

typedef struct place {
    int64_t tree, id;
    uint32_t index;
} place;

static int compare_pairs(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static onnxd_status *index_nodes(const onnxd_node *node, const node_lists *lists,
                                 onnxd_arena *arena, place **out_places)
{
    place *places = onnxd_arena_alloc_zero(arena, lists->count + 1, sizeof(places[0]));
    if (places == NULL)
        return onnxd_error_out_of_memory("decision trees", lists->count * sizeof(places[0]),
                                         UINT64_MAX);
    for (size_t i = 0; i < lists->count; i++)
        places[i] = (place){lists->trees[i], lists->ids[i], (uint32_t)i};
    if (lists->count > 1)
        qsort(places, lists->count, sizeof(places[0]), compare_pairs);
    for (size_t i = 1; i < lists->count; i++)
        if (compare_pairs(&places[i - 1], &places[i]) == 0)
            return onnxd_op_error(node, "tree %" PRId64 " has two nodes %" PRId64, places[i].tree,
                                  places[i].id);
    *out_places = places;
    return NULL;
}

static onnxd_status *find(const onnxd_node *node, const place *places, size_t count, int64_t tree,
                          int64_t id, uint32_t *out_index)
{
    const place key = {tree, id, 0};
    const place *found =
        count == 0 ? NULL : bsearch(&key, places, count, sizeof(key), compare_pairs);
    if (found == NULL)
        return onnxd_op_error(node, "tree %" PRId64 " has no node %" PRId64, tree, id);
    *out_index = found->index;
    return NULL;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static onnxd_status *parse_mode(const onnxd_node *node, const onnxd_text *text, uint8_t *out_mode)
{
    static const struct {
        const char *name;
        onnxd_tree_mode mode;
    } modes[] = {
        {"BRANCH_LEQ", ONNXD_TREE_LEQ}, {"BRANCH_LT", ONNXD_TREE_LT},
        {"BRANCH_GTE", ONNXD_TREE_GTE}, {"BRANCH_GT", ONNXD_TREE_GT},
        {"BRANCH_EQ", ONNXD_TREE_EQ},   {"BRANCH_NEQ", ONNXD_TREE_NEQ},
        {"LEAF", ONNXD_TREE_LEAF},
    };
    for (size_t i = 0; i < ONNXD_COUNT(modes); i++)
        if (strcmp(text->data, modes[i].name) == 0) {
            *out_mode = (uint8_t)modes[i].mode;
            return NULL;
        }
    return onnxd_op_error(node,
                          "attribute 'nodes_modes' holds '%.32s', allowed are BRANCH_LEQ, "
                          "BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ and LEAF",
                          text->data);
}

static onnxd_status *make_node(const onnxd_node *node, const node_lists *lists, const place *places,
                               size_t i, onnxd_tree_node *out)
{
    ONNXD_TRY(parse_mode(node, &lists->modes[i], &out->mode));
    if (out->mode == ONNXD_TREE_LEAF)
        return NULL;
    if (lists->features[i] < 0 || lists->features[i] >= INT32_MAX)
        return onnxd_op_error(node,
                              "attribute 'nodes_featureids': element %zu is %" PRId64
                              ", it must not be negative",
                              i, lists->features[i]);
    out->feature = (uint32_t)lists->features[i];
    out->value = lists->values[i];
    out->is_true_for_missing = lists->missing_count != 0 && lists->missing[i] != 0;
    ONNXD_TRY(find(node, places, lists->count, lists->trees[i], lists->if_true[i], &out->if_true));
    return find(node, places, lists->count, lists->trees[i], lists->if_false[i], &out->if_false);
}

/* The root of a tree is the one of its nodes that is listed first. */
static void list_roots(const node_lists *lists, const place *places, onnxd_trees *trees)
{
    for (size_t i = 0; i < lists->count; i++) {
        const bool is_new = i == 0 || places[i].tree != places[i - 1].tree;
        uint32_t *last = &trees->roots[is_new ? trees->root_count : trees->root_count - 1];
        if (is_new || places[i].index < *last)
            *last = places[i].index;
        trees->root_count += is_new;
    }
}

/* ---- votes --------------------------------------------------------------------------------- */

typedef struct vote_lists {
    const int64_t *trees, *nodes, *targets;
    const double *weights;
    size_t count;
} vote_lists;

static onnxd_status *read_votes(const onnxd_node *node, const char *prefix, onnxd_arena *arena,
                                vote_lists *lists)
{
    char name[NAME_BYTES];
    size_t count = 0;
    (void)snprintf(name, sizeof(name), "%s_treeids", prefix);
    ONNXD_TRY(onnxd_attribute_int_list(node, name, &lists->trees, &lists->count));
    (void)snprintf(name, sizeof(name), "%s_nodeids", prefix);
    ONNXD_TRY(read_integers(node, name, lists->count, &lists->nodes));
    (void)snprintf(name, sizeof(name), "%s_ids", prefix);
    ONNXD_TRY(read_integers(node, name, lists->count, &lists->targets));
    (void)snprintf(name, sizeof(name), "%s_weights", prefix);
    ONNXD_TRY(onnxd_tree_numbers(node, name, arena, &lists->weights, &count));
    if (count != lists->count)
        return onnxd_op_error(node, "attribute '%s' has %zu elements, %zu are needed", name, count,
                              lists->count);
    return NULL;
}

/* Votes lie together by leaf: counted, then placed. Those of nodes that are no leaves count
 * nothing.
 */
static onnxd_status *make_votes(const onnxd_node *node, const vote_lists *lists,
                                const place *places, size_t node_count, onnxd_trees *trees,
                                onnxd_arena *arena)
{
    uint32_t *leaf_of = onnxd_arena_alloc_zero(arena, lists->count + 1, sizeof(uint32_t));
    uint32_t first = 0;
    if (leaf_of == NULL)
        return onnxd_error_out_of_memory("decision trees", lists->count * sizeof(uint32_t),
                                         UINT64_MAX);
    for (size_t i = 0; i < lists->count; i++) {
        ONNXD_TRY(find(node, places, node_count, lists->trees[i], lists->nodes[i], &leaf_of[i]));
        if (lists->targets[i] < 0 || lists->targets[i] >= trees->target_count)
            return onnxd_op_error(node, "vote %zu is for target %" PRId64 ", there are %" PRIu32, i,
                                  lists->targets[i], trees->target_count);
        trees->nodes[leaf_of[i]].count++;
    }
    for (size_t n = 0; n < node_count; n++) {
        trees->nodes[n].first = first;
        first += trees->nodes[n].count;
        trees->nodes[n].count = 0;
    }
    for (size_t i = 0; i < lists->count; i++) {
        onnxd_tree_node *leaf = &trees->nodes[leaf_of[i]];
        trees->votes[leaf->first + leaf->count++] =
            (onnxd_tree_vote){(uint32_t)lists->targets[i], lists->weights[i]};
    }
    trees->vote_count = (uint32_t)lists->count;
    return NULL;
}

onnxd_status *onnxd_trees_parse(const onnxd_node *node, const char *prefix, int64_t target_count,
                                onnxd_arena *arena, onnxd_trees *out_trees)
{
    node_lists nodes = {.count = 0};
    vote_lists votes = {.count = 0};
    place *places = NULL;
    onnxd_trees trees = {.aggregate = ONNXD_TREE_SUM, .target_count = (uint32_t)target_count};
    /* How often a node was met in training decides nothing. */
    ONNXD_TRY(onnxd_attribute_check_kind(node, "nodes_hitrates", ONNXD_ATTRIBUTE_FLOATS));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "nodes_hitrates_as_tensor", ONNXD_ATTRIBUTE_TENSOR));
    ONNXD_TRY(read_nodes(node, arena, &nodes));
    ONNXD_TRY(read_votes(node, prefix, arena, &votes));
    ONNXD_TRY(onnxd_trees_reserve(&trees, node, nodes.count, votes.count, 0, nodes.count, arena));
    ONNXD_TRY(index_nodes(node, &nodes, arena, &places));
    for (size_t i = 0; i < nodes.count; i++)
        ONNXD_TRY(make_node(node, &nodes, places, i, &trees.nodes[i]));
    trees.node_count = (uint32_t)nodes.count;
    list_roots(&nodes, places, &trees);
    ONNXD_TRY(make_votes(node, &votes, places, nodes.count, &trees, arena));
    ONNXD_TRY(onnxd_trees_check(&trees, node, arena));
    *out_trees = trees;
    return NULL;
}

#include "ops/ml/trees.h"

#include <inttypes.h>
#include <math.h>

/* ---- making -------------------------------------------------------------------------------- */

onnxd_status *onnxd_trees_reserve(onnxd_trees *trees, const onnxd_node *node, size_t nodes,
                                  size_t votes, size_t members, size_t roots, onnxd_arena *arena)
{
    if (nodes > INT32_MAX || votes > INT32_MAX || members > INT32_MAX)
        return onnxd_op_error(node,
                              "%zu nodes, %zu votes and %zu members, at most 2^31 are allowed",
                              nodes, votes, members);
    trees->nodes = onnxd_arena_alloc_zero(arena, nodes + 1, sizeof(trees->nodes[0]));
    trees->votes = onnxd_arena_alloc_zero(arena, votes + 1, sizeof(trees->votes[0]));
    trees->members = onnxd_arena_alloc_zero(arena, members + 1, sizeof(trees->members[0]));
    trees->roots = onnxd_arena_alloc_zero(arena, roots + 1, sizeof(trees->roots[0]));
    if (trees->nodes == NULL || trees->votes == NULL || trees->members == NULL ||
        trees->roots == NULL)
        return onnxd_error_out_of_memory("decision trees", nodes * sizeof(trees->nodes[0]),
                                         UINT64_MAX);
    return NULL;
}

static onnxd_status *check_child(const onnxd_trees *trees, const onnxd_node *node, uint32_t parent,
                                 uint32_t child, bool *has_parent)
{
    if (child >= trees->node_count)
        return onnxd_op_error(node, "tree node %" PRIu32 " has a child that does not exist",
                              parent);
    if (has_parent[child])
        return onnxd_op_error(node, "tree node %" PRIu32 " is the child of two nodes", child);
    has_parent[child] = true;
    return NULL;
}

onnxd_status *onnxd_trees_check(onnxd_trees *trees, const onnxd_node *node, onnxd_arena *arena)
{
    bool *has_parent = onnxd_arena_alloc_zero(arena, (size_t)trees->node_count + 1, sizeof(bool));
    if (has_parent == NULL)
        return onnxd_error_out_of_memory("decision trees", trees->node_count, UINT64_MAX);
    for (uint32_t i = 0; i < trees->node_count; i++) {
        const onnxd_tree_node *n = &trees->nodes[i];
        if (n->mode == ONNXD_TREE_LEAF)
            continue;
        ONNXD_TRY(check_child(trees, node, i, n->if_true, has_parent));
        ONNXD_TRY(check_child(trees, node, i, n->if_false, has_parent));
        if (n->feature >= trees->feature_count)
            trees->feature_count = n->feature + 1;
    }
    for (uint32_t i = 0; i < trees->root_count; i++)
        if (has_parent[trees->roots[i]])
            return onnxd_op_error(
                node, "tree %" PRIu32 " begins at node %" PRIu32 ", which is the child of another",
                i, trees->roots[i]);
    for (uint32_t i = 0; i < trees->vote_count; i++)
        if (trees->votes[i].target >= trees->target_count)
            return onnxd_op_error(node,
                                  "vote %" PRIu32 " is for target %" PRIu32 ", there are %" PRIu32,
                                  i, trees->votes[i].target, trees->target_count);
    return NULL;
}

/* ---- evaluating ---------------------------------------------------------------------------- */

static bool is_member(const onnxd_trees *trees, const onnxd_tree_node *n, double value)
{
    uint32_t low = n->first, high = n->first + n->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (trees->members[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->first + n->count && trees->members[low] == value;
}

static bool is_hit(const onnxd_trees *trees, const onnxd_tree_node *n, double value)
{
    if (n->is_true_for_missing && isnan(value))
        return true;
    switch ((onnxd_tree_mode)n->mode) {
    case ONNXD_TREE_LEQ:
        return value <= n->value;
    case ONNXD_TREE_LT:
        return value < n->value;
    case ONNXD_TREE_GTE:
        return value >= n->value;
    case ONNXD_TREE_GT:
        return value > n->value;
    case ONNXD_TREE_EQ:
        return value == n->value;
    case ONNXD_TREE_NEQ:
        return value != n->value;
    case ONNXD_TREE_MEMBER:
        return is_member(trees, n, value);
    case ONNXD_TREE_LEAF:
        break;
    }
    return false;
}

static const onnxd_tree_node *find_leaf(const onnxd_trees *trees, uint32_t root, const double *row)
{
    const onnxd_tree_node *n = &trees->nodes[root];
    while (n->mode != ONNXD_TREE_LEAF) {
        /* Nearly all trees have no other mode. */
        const bool hit = n->mode == ONNXD_TREE_LEQ && !n->is_true_for_missing
                             ? row[n->feature] <= n->value
                             : is_hit(trees, n, row[n->feature]);
        n = &trees->nodes[hit ? n->if_true : n->if_false];
    }
    return n;
}

static void add_vote(onnxd_tree_aggregate aggregate, const onnxd_tree_vote *vote, double *scores,
                     bool *has_score)
{
    double *score = &scores[vote->target];
    if (!has_score[vote->target])
        *score = vote->weight;
    else if (aggregate == ONNXD_TREE_MIN)
        *score = vote->weight < *score ? vote->weight : *score;
    else if (aggregate == ONNXD_TREE_MAX)
        *score = vote->weight > *score ? vote->weight : *score;
    else
        *score += vote->weight;
    has_score[vote->target] = true;
}

void onnxd_trees_evaluate(const onnxd_trees *trees, const double *row, double *scores,
                          bool *has_score)
{
    for (uint32_t t = 0; t < trees->target_count; t++) {
        scores[t] = 0.0;
        has_score[t] = false;
    }
    for (uint32_t i = 0; i < trees->root_count; i++) {
        const onnxd_tree_node *leaf = find_leaf(trees, trees->roots[i], row);
        for (uint32_t v = leaf->first; v < leaf->first + leaf->count; v++)
            add_vote(trees->aggregate, &trees->votes[v], scores, has_score);
    }
    if (trees->aggregate == ONNXD_TREE_AVERAGE && trees->root_count > 0)
        for (uint32_t t = 0; t < trees->target_count; t++)
            scores[t] /= trees->root_count;
}

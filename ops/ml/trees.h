/*
 * An ensemble of decision trees: compiled once from a node's attributes, evaluated row by row.
 *
 * A tree is walked from its root; at a node the value of one feature decides which child follows,
 * at a leaf each vote adds its weight to a target. Everything is computed in double, so that inputs
 * and thresholds of every type compare exactly.
 *
 * Everything lies in the arena that it was made in. Threads: any, once made.
 */
#ifndef ONNXD_OPS_ML_TREES_H
#define ONNXD_OPS_ML_TREES_H

#include "graph/op.h"
#include "ops/ml/ml.h"

typedef enum onnxd_tree_mode {
    ONNXD_TREE_LEQ,
    ONNXD_TREE_LT,
    ONNXD_TREE_GTE,
    ONNXD_TREE_GT,
    ONNXD_TREE_EQ,
    ONNXD_TREE_NEQ,
    ONNXD_TREE_MEMBER,
    ONNXD_TREE_LEAF
} onnxd_tree_mode;

typedef enum onnxd_tree_aggregate {
    ONNXD_TREE_AVERAGE,
    ONNXD_TREE_SUM,
    ONNXD_TREE_MIN,
    ONNXD_TREE_MAX
} onnxd_tree_aggregate;

typedef struct onnxd_tree_vote {
    uint32_t target;
    double weight;
} onnxd_tree_vote;

typedef struct onnxd_tree_node {
    double value;               /* threshold */
    uint32_t if_true, if_false; /* nodes */
    uint32_t feature;
    uint32_t first, count;    /* LEAF: votes; MEMBER: members, sorted */
    uint8_t mode;             /* onnxd_tree_mode */
    bool is_true_for_missing; /* NaN goes where a hit goes */
} onnxd_tree_node;

typedef struct onnxd_trees {
    onnxd_tree_node *nodes;
    onnxd_tree_vote *votes;
    double *members;
    uint32_t *roots;
    uint32_t node_count, vote_count, member_count, root_count;
    uint32_t feature_count; /* features that a row must have */
    uint32_t target_count;
    onnxd_tree_aggregate aggregate;
} onnxd_trees;

/* Room in `arena` for these counts; the counts themselves start at 0 and the maker's fills raise
 * them. Errors: OUT_OF_MEMORY, INVALID_ARGUMENT when there are more than 2^31. */
ONNXD_NODISCARD onnxd_status *onnxd_trees_reserve(onnxd_trees *trees, const onnxd_node *node,
                                                  size_t nodes, size_t votes, size_t members,
                                                  size_t roots, onnxd_arena *arena);
/* After filling: every child and vote in range, no node with two parents (so no walk goes on for
 * ever), counts features. Errors: INVALID_ARGUMENT naming the node of the tree. */
ONNXD_NODISCARD onnxd_status *onnxd_trees_check(onnxd_trees *trees, const onnxd_node *node,
                                                onnxd_arena *arena);
/* Aggregates the votes of all trees for one row of at least feature_count values into
 * scores[target_count]; has_score[target] tells whether any tree voted. */
void onnxd_trees_evaluate(const onnxd_trees *trees, const double *row, double *scores,
                          bool *has_score);

/* The attributes nodes_* of versions 1 and 3, and the votes <prefix>_treeids, _nodeids, _ids and
 * _weights. */
ONNXD_NODISCARD onnxd_status *onnxd_trees_parse(const onnxd_node *node, const char *prefix,
                                                int64_t target_count, onnxd_arena *arena,
                                                onnxd_trees *out_trees);
/* A list of floats, or where the node has <name>_as_tensor its elements, as doubles in the arena;
 * NULL and 0 when it has neither. */
ONNXD_NODISCARD onnxd_status *onnxd_tree_numbers(const onnxd_node *node, const char *name,
                                                 onnxd_arena *arena, const double **out_values,
                                                 size_t *out_count);

#endif

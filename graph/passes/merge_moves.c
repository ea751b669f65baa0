/*
 * Nodes that only move elements, one behind the other, are one:
 *
 *   Transpose(Transpose(x))                                          Transpose(x)
 *   Reshape, Flatten, Squeeze or Unsqueeze of another one of them    Reshape(x)
 *
 * where the shape that comes out can be told from that of x. What undoes itself so becomes a node
 * that changes nothing. The first of the two stays for others that read it.
 */
#include <string.h>

#include "graph/internal.h"
#include "graph/moves.h"
#include "graph/passes.h"
#include "graph/reshape_target.h"
#include "graph/rewrite.h"

/* The opset that made the shape an input of Reshape. */
#define RESHAPE_INPUT_SINCE 5

typedef struct merger {
    onnxd_graph *graph;
    const onnxd_pass_env *env;
    onnxd_derivation types;
    uint32_t changes;
} merger;

static const onnxd_node *producer_of(const merger *m, onnxd_value_id value)
{
    const onnxd_node_id id = value == ONNXD_NONE ? ONNXD_NONE : m->graph->values[value].producer;
    return id == ONNXD_NONE ? NULL : &m->graph->nodes[id];
}

/* ---- Transpose ------------------------------------------------------------------------------- */

static bool read_perm(const merger *m, const onnxd_node *node, int64_t *perm, int32_t *out_rank)
{
    return onnxd_node_read_perm(node, &m->types.types[node->inputs[0]].shape, perm, out_rank);
}

static onnxd_status *merge_transposes(merger *m, onnxd_node *node)
{
    const onnxd_node *before = producer_of(m, node->inputs[0]);
    int64_t first[ONNXD_MAX_RANK], second[ONNXD_MAX_RANK], perm[ONNXD_MAX_RANK];
    int32_t first_rank, rank;
    onnxd_attribute attribute;
    if (before == NULL || !onnxd_node_is(before, "", "Transpose") ||
        !read_perm(m, before, first, &first_rank) || !read_perm(m, node, second, &rank) ||
        first_rank != rank)
        return NULL;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = first[second[i]];
    ONNXD_TRY(onnxd_graph_ints(m->graph, "perm", perm, (size_t)rank, &attribute));
    ONNXD_TRY(onnxd_graph_set_attributes(m->graph, node, &attribute, 1));
    ONNXD_TRY(onnxd_graph_set_node_inputs(m->graph, node, before->inputs, 1));
    m->changes++;
    return onnxd_op_resolve(m->env->registry, m->graph, node);
}

/* ---- views ----------------------------------------------------------------------------------- */

static onnxd_status *merge_views(merger *m, onnxd_node *node)
{
    const onnxd_node *before = producer_of(m, node->inputs[0]);
    int64_t target[ONNXD_MAX_RANK];
    const onnxd_shape *shape = &m->types.types[node->outputs[0]].shape;
    if (before == NULL || !onnxd_node_is_reshape(before) ||
        !onnxd_reshape_target(&m->types.types[before->inputs[0]].shape, shape, target))
        return NULL;
    onnxd_value_id inputs[2] = {before->inputs[0], ONNXD_NONE};
    ONNXD_TRY(onnxd_graph_derive_ints(m->graph, node->outputs[0], "shape", target,
                                      (size_t)shape->rank, &inputs[1]));
    node->op_type = "Reshape";
    if (node->opset < RESHAPE_INPUT_SINCE)
        node->opset = RESHAPE_INPUT_SINCE;
    ONNXD_TRY(onnxd_graph_set_node_inputs(m->graph, node, inputs, 2));
    ONNXD_TRY(onnxd_graph_set_attributes(m->graph, node, NULL, 0));
    m->changes++;
    return onnxd_op_resolve(m->env->registry, m->graph, node);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static onnxd_status *visit(merger *m, onnxd_node *node)
{
    if (node->input_count == 0 || node->inputs[0] == ONNXD_NONE || node->output_count != 1 ||
        node->outputs[0] == ONNXD_NONE)
        return NULL;
    if (onnxd_node_is(node, "", "Transpose"))
        return merge_transposes(m, node);
    return onnxd_node_is_reshape(node) ? merge_views(m, node) : NULL;
}

/* Before types are derived, which takes longer. */
static bool has_pair(const merger *m)
{
    for (uint32_t n = 0; n < m->graph->node_count; n++) {
        const onnxd_node *node = &m->graph->nodes[n];
        const onnxd_node *before = node->input_count > 0 ? producer_of(m, node->inputs[0]) : NULL;
        const bool is_transpose = onnxd_node_is(node, "", "Transpose");
        if (before != NULL && ((is_transpose && onnxd_node_is(before, "", "Transpose")) ||
                               (onnxd_node_is_reshape(node) && onnxd_node_is_reshape(before))))
            return true;
    }
    return false;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    merger m = {.graph = graph, .env = env};
    *out_changes = 0;
    if (!has_pair(&m))
        return NULL;
    onnxd_status *status = onnxd_derivation_run(&m.types, graph);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = visit(&m, &graph->nodes[n]);
    onnxd_derivation_deinit(&m.types);
    if (status == NULL)
        *out_changes = m.changes;
    return status;
}

const onnxd_pass onnxd_pass_merge_moves = {
    .name = "merge_moves",
    .summary = "make one of transposes and of reshapes that follow each other",
    .run = run,
};

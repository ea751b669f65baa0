/*
 * Constants that a subgraph captures become constants there too, so that what depends on them alone
 * is computed once and shapes that follow from them are known. They are captured nevertheless.
 */
#include "graph/internal.h"
#include "graph/passes.h"

typedef struct giver {
    const onnxd_graph *graph;
    const onnxd_node *node;
    uint32_t changes;
} giver;

static void hand_down(onnxd_graph *subgraph, void *context)
{
    giver *g = context;
    for (uint32_t i = 0; i < subgraph->capture_count; i++) {
        const onnxd_capture *capture = &subgraph->captures[i];
        onnxd_tensor *constant = g->graph->values[g->node->inputs[capture->input]].constant;
        if (constant == NULL || subgraph->values[capture->value].constant != NULL)
            continue;
        onnxd_graph_set_constant(subgraph, capture->value, constant);
        g->changes++;
    }
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    giver g = {.graph = graph};
    for (uint32_t n = 0; n < graph->node_count; n++) {
        g.node = &graph->nodes[n];
        if (!g.node->is_removed)
            onnxd_node_subgraphs(g.node, hand_down, &g);
    }
    *out_changes = g.changes;
    return NULL;
}

const onnxd_pass onnxd_pass_hand_down_constants = {
    .name = "hand_down_constants",
    .summary = "tell subgraphs the constants that they use from around them",
    .run = run,
};

/* Nodes that no graph output depends on, and constants that nothing uses. */
#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

/* live[v]: a graph output or a live node uses v, or the enclosing graph gives it. Marks dead nodes
 * removed. */
static uint32_t sweep(onnxd_graph *graph, bool *live)
{
    uint32_t removed = 0;
    for (uint32_t i = 0; i < graph->output_count; i++)
        live[graph->outputs[i]] = true;
    for (uint32_t i = 0; i < graph->capture_count; i++)
        live[graph->captures[i].value] = true;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        onnxd_node *node = &graph->nodes[n];
        bool is_live = false;
        for (uint32_t i = 0; i < node->output_count; i++)
            is_live |= node->outputs[i] != ONNXD_NONE && live[node->outputs[i]];
        if (!is_live) {
            node->is_removed = true;
            removed++;
            continue;
        }
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ONNXD_NONE)
                live[node->inputs[i]] = true;
    }
    return removed;
}

static uint32_t drop_constants(onnxd_graph *graph, const bool *live)
{
    uint32_t dropped = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        onnxd_value *value = &graph->values[v];
        if (value->constant == NULL || live[v])
            continue;
        onnxd_tensor_release(value->constant);
        value->constant = NULL;
        dropped++;
    }
    return dropped;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    bool *live = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*live));
    if (live == NULL)
        return onnxd_error_out_of_memory("live values", graph->value_count, UINT64_MAX);
    uint32_t changes = sweep(graph, live);
    changes += drop_constants(graph, live);
    onnxd_status *status = onnxd_graph_compact(graph);
    onnxd_free(live);
    if (status == NULL)
        *out_changes = changes;
    return status;
}

const onnxd_pass onnxd_pass_remove_dead = {
    .name = "remove_dead",
    .summary = "drop nodes and constants that no output depends on",
    .run = run,
};

#include "model/usage.h"

#include "base/alloc.h"

static bool is_known(const onnxd_graph *graph, onnxd_tensor *const *known, onnxd_value_id value)
{
    return graph->values[value].constant != NULL || (known != NULL && known[value] != NULL);
}

/* Whether the value at this input is found before the run. */
static bool decides_shapes(const onnxd_node *node, uint32_t input)
{
    return node->def != NULL && input < 32 && ((node->def->shape_inputs >> input) & 1u) != 0;
}

/* How many of the node's outputs have to be made; *out_only_first: output 0 and no other. */
static uint32_t count_wanted(const onnxd_graph *graph, const onnxd_node *node,
                             onnxd_tensor *const *known, const bool *is_needed,
                             bool *out_only_first)
{
    uint32_t wanted = 0;
    *out_only_first = false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const onnxd_value_id value = node->outputs[i];
        if (value == ONNXD_NONE || !is_needed[value] || is_known(graph, known, value))
            continue;
        wanted++;
        *out_only_first = i == 0 && wanted == 1;
    }
    return wanted;
}

static void need_input(const onnxd_node *node, uint32_t input, onnxd_tensor *const *known,
                       bool *is_needed)
{
    if (node->inputs[input] == ONNXD_NONE)
        return;
    if (known == NULL && decides_shapes(node, input))
        return;
    is_needed[node->inputs[input]] = true;
}

static onnxd_node_role visit(const onnxd_graph *graph, const onnxd_node *node, bool is_dynamic,
                             onnxd_tensor *const *known, bool *is_needed)
{
    bool only_first;
    if (count_wanted(graph, node, known, is_needed, &only_first) == 0)
        return ONNXD_NODE_SKIPPED;
    if (is_dynamic) {
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ONNXD_NONE)
                is_needed[node->inputs[i]] = true;
        return ONNXD_NODE_DYNAMIC;
    }
    if (only_first && node->def != NULL && node->def->is_view && node->input_count > 0 &&
        node->inputs[0] != ONNXD_NONE) {
        is_needed[node->inputs[0]] = true;
        return ONNXD_NODE_VIEW;
    }
    for (uint32_t i = 0; i < node->input_count; i++)
        need_input(node, i, known, is_needed);
    return ONNXD_NODE_RUN;
}

onnxd_status *onnxd_usage_find(const onnxd_graph *graph, const bool *is_dynamic,
                               onnxd_tensor *const *known, onnxd_usage *out_usage)
{
    onnxd_usage usage = {
        .is_needed = onnxd_alloc_zero(graph->value_count, sizeof(bool)),
        .roles = onnxd_alloc_zero(graph->node_count, sizeof(onnxd_node_role)),
    };
    if (usage.is_needed == NULL || usage.roles == NULL) {
        onnxd_usage_deinit(&usage);
        return onnxd_error_out_of_memory(
            "a graph's usage", graph->value_count + graph->node_count * sizeof(onnxd_node_role),
            UINT64_MAX);
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        usage.is_needed[graph->outputs[i]] = true;
    for (uint32_t i = graph->node_count; i > 0; i--)
        usage.roles[i - 1] =
            visit(graph, &graph->nodes[i - 1], is_dynamic[i - 1], known, usage.is_needed);
    *out_usage = usage;
    return NULL;
}

void onnxd_usage_deinit(onnxd_usage *usage)
{
    onnxd_free(usage->is_needed);
    onnxd_free(usage->roles);
    *usage = (onnxd_usage){NULL, NULL};
}

/*
 * Which nodes are run one by one on the host, and so are left out of plans.
 */
#include "graph/internal.h"
#include "graph/passes.h"

static bool is_tensor(const onnxd_graph *graph, onnxd_value_id value)
{
    return value == ONNXD_NONE || graph->values[value].type.kind == ONNXD_VALUE_TENSOR;
}

/* Whether the node's own definition or the kinds of its values say so. */
static bool is_dynamic_itself(const onnxd_graph *graph, const onnxd_node *node)
{
    if (node->def != NULL && node->def->run != NULL && node->def->compute == NULL)
        return true;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!is_tensor(graph, node->inputs[i]))
            return true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!is_tensor(graph, node->outputs[i]))
            return true;
    return false;
}

onnxd_status *onnxd_graph_mark_dynamic(const onnxd_graph *graph, bool *is_dynamic)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        bool dynamic = is_dynamic_itself(graph, node);
        for (uint32_t i = 0; i < node->input_count; i++) {
            onnxd_node_id producer = ONNXD_NONE;
            if (node->inputs[i] != ONNXD_NONE)
                producer = graph->values[node->inputs[i]].producer;
            if (producer == ONNXD_NONE)
                continue;
            if (producer >= n)
                return onnxd_node_context(graph, node,
                                          onnxd_error(ONNXD_INVALID_ARGUMENT,
                                                      "it comes before what its input %u needs",
                                                      i));
            dynamic |= is_dynamic[producer];
        }
        is_dynamic[n] = dynamic;
    }
    return NULL;
}

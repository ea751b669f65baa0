/* The provider's own rewrite: a Relu of a Relu is one Relu. */
#include <string.h>

#include "base/alloc.h"
#include "ep/sim/sim.h"

static bool is_relu(const onnxd_node *node)
{
    return !node->is_removed && node->domain[0] == '\0' && strcmp(node->op_type, "Relu") == 0;
}

/* Values used by nodes and as outputs; false when subgraphs may use more by name. */
static bool count_uses(const onnxd_graph *graph, uint32_t *uses)
{
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->attribute_count; i++)
            if (node->attributes[i].kind == ONNXD_ATTRIBUTE_GRAPH ||
                node->attributes[i].kind == ONNXD_ATTRIBUTE_GRAPHS)
                return false;
        for (uint32_t i = 0; i < node->input_count && !node->is_removed; i++)
            if (node->inputs[i] != ONNXD_NONE)
                uses[node->inputs[i]]++;
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        uses[graph->outputs[i]]++;
    return true;
}

static onnxd_status *fuse_relus(onnxd_graph *graph, const onnxd_pass_env *env ONNXD_UNUSED,
                                uint32_t *out_changes)
{
    uint32_t changes = 0;
    size_t count = graph->value_count;
    uint32_t *uses = onnxd_alloc_zero(count + 1, sizeof(*uses));
    if (uses == NULL)
        return onnxd_error_out_of_memory("a pass", count * sizeof(*uses), UINT64_MAX);
    bool is_plain = count_uses(graph, uses);
    for (onnxd_node_id n = 0; is_plain && n < graph->node_count; n++) {
        onnxd_node *outer = &graph->nodes[n];
        if (!is_relu(outer) || graph->values[outer->inputs[0]].producer == ONNXD_NONE)
            continue;
        onnxd_value_id between = outer->inputs[0];
        onnxd_node *inner = &graph->nodes[graph->values[between].producer];
        if (!is_relu(inner))
            continue;
        outer->inputs[0] = inner->inputs[0];
        uses[inner->inputs[0]]++;
        changes++;
        if (--uses[between] > 0)
            continue;
        uses[inner->inputs[0]]--;
        inner->is_removed = true;
    }
    onnxd_free(uses);
    *out_changes = changes;
    return NULL;
}

static const onnxd_pass fusion = {
    .name = "sim_fuse_relus", .summary = "make a Relu of a Relu one", .run = fuse_relus};

const onnxd_pass *const *onnxd_sim_custom_passes(const onnxd_ep *ep)
{
    static const onnxd_pass *const passes[] = {&fusion, NULL};
    const onnxd_sim *sim = (const onnxd_sim *)(const void *)ep;
    return sim->options.has_private_pass ? passes : &passes[1];
}

const char *const *onnxd_sim_context_source_keys(const onnxd_ep *ep)
{
    return ((const onnxd_sim *)(const void *)ep)->context_sources;
}

#include "graph/bypass.h"

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct rewrite {
    onnxd_graph *graph;
    onnxd_bypass_test test;
    const void *context;
    onnxd_value_id *replacement; /* what each value has become; itself while unchanged */
    uint32_t changes;
} rewrite;

/* The producer of `input` makes `output` instead, if nothing fixes the name of `input`. */
static bool move_output(rewrite *r, onnxd_value_id input, onnxd_value_id output)
{
    onnxd_value *source = &r->graph->values[input];
    if (source->producer == ONNXD_NONE || source->is_output)
        return false;
    onnxd_node *producer = &r->graph->nodes[source->producer];
    for (uint32_t i = 0; i < producer->output_count; i++)
        if (producer->outputs[i] == input)
            producer->outputs[i] = output;
    r->graph->values[output].producer = source->producer;
    source->producer = ONNXD_NONE;
    /* Whatever reads the input reads the output; that includes values mapped to it earlier. */
    r->replacement[input] = output;
    return true;
}

static void visit(rewrite *r, onnxd_node *node)
{
    uint32_t index = 0;
    if (node->is_removed || node->output_count == 0 || node->outputs[0] == ONNXD_NONE ||
        !r->test(r->context, node, &index) || node->inputs[index] == ONNXD_NONE)
        return;
    onnxd_value_id output = node->outputs[0];
    onnxd_value_id input = r->replacement[node->inputs[index]];
    bool is_named = r->graph->values[output].is_output;
    if (is_named && !move_output(r, input, output))
        return;
    if (!is_named)
        r->replacement[output] = input;
    node->is_removed = true;
    r->changes++;
}

/* A value may have become one that has moved since. */
static void settle(rewrite *r)
{
    for (uint32_t v = 0; v < r->graph->value_count; v++)
        while (r->replacement[v] != r->replacement[r->replacement[v]])
            r->replacement[v] = r->replacement[r->replacement[v]];
}

static onnxd_status *rewrite_all(rewrite *r)
{
    onnxd_graph *graph = r->graph;
    for (uint32_t v = 0; v < graph->value_count; v++)
        r->replacement[v] = v;
    for (uint32_t n = 0; n < graph->node_count; n++)
        visit(r, &graph->nodes[n]);
    settle(r);
    onnxd_graph_replace_all(graph, r->replacement);
    return onnxd_graph_compact(graph);
}

onnxd_status *onnxd_graph_bypass(onnxd_graph *graph, onnxd_bypass_test test, const void *context,
                                 uint32_t *out_changes)
{
    rewrite r = {.graph = graph, .test = test, .context = context};
    size_t count = (size_t)graph->value_count + 1;
    onnxd_status *status = NULL;
    r.replacement = onnxd_alloc_zero(count, sizeof(*r.replacement));
    if (r.replacement == NULL)
        status = onnxd_error_out_of_memory("replacement of values", count * sizeof(*r.replacement),
                                           UINT64_MAX);
    if (status == NULL)
        status = rewrite_all(&r);
    onnxd_free(r.replacement);
    if (status == NULL)
        *out_changes = r.changes;
    return status;
}

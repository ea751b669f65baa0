#include "ep/cpu/passes/quantized.h"

#include "base/alloc.h"
#include "graph/attributes.h"

static onnxd_status *init(onnxd_quantized_search *s, onnxd_graph *graph, const onnxd_pass_env *env)
{
    const size_t count = (size_t)graph->value_count + 1;
    *s = (onnxd_quantized_search){.graph = graph, .registry = env->registry};
    ONNXD_TRY(onnxd_graph_count_uses(graph, &s->uses));
    s->reader = onnxd_alloc_zero(count, sizeof(s->reader[0]));
    if (s->reader == NULL)
        return onnxd_error_out_of_memory("readers of values", count * sizeof(s->reader[0]),
                                         UINT64_MAX);
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] != ONNXD_NONE)
                s->reader[graph->nodes[n].inputs[i]] = n;
    return NULL;
}

onnxd_status *onnxd_quantized_search_run(onnxd_graph *graph, const onnxd_pass_env *env,
                                         onnxd_status *(*visit)(onnxd_quantized_search *s,
                                                                onnxd_node *node),
                                         uint32_t *out_changes)
{
    onnxd_quantized_search s;
    onnxd_status *status = init(&s, graph, env);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = visit(&s, &graph->nodes[n]);
    onnxd_free(s.uses);
    onnxd_free(s.reader);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = s.changes;
    return status;
}

onnxd_node *onnxd_quantized_only_reader(const onnxd_quantized_search *s, onnxd_value_id value)
{
    if (s->uses[value] != 1 || s->graph->values[value].is_output)
        return NULL;
    onnxd_node *node = &s->graph->nodes[s->reader[value]];
    return node->is_removed ? NULL : node;
}

static bool is_quantized_type(onnxd_dtype dtype)
{
    return dtype == ONNXD_INT8 || dtype == ONNXD_UINT8 || dtype == ONNXD_INT32;
}

/* `elements` is the quantised side of the node. */
static bool read(const onnxd_quantized_search *s, const onnxd_node *node, onnxd_value_id elements,
                 onnxd_quantized *out)
{
    const onnxd_graph *graph = s->graph;
    const onnxd_attribute *block = onnxd_node_attribute(node, "block_size");
    const onnxd_attribute *axis = onnxd_node_attribute(node, "axis");
    *out = (onnxd_quantized){.elements = elements,
                             .scale = node->inputs[1],
                             .zero = node->input_count > 2 ? node->inputs[2] : ONNXD_NONE,
                             .dtype = graph->values[elements].type.dtype,
                             .axis = axis == NULL ? 1 : axis->value.i};
    out->scales = onnxd_node_float_constant(graph, node, 1);
    if (out->zero != ONNXD_NONE) {
        out->zeros = graph->values[out->zero].constant;
        if (out->zeros == NULL || out->zeros->dtype != out->dtype)
            return false;
    }
    return is_quantized_type(out->dtype) && (block == NULL || block->value.i == 0) &&
           onnxd_node_attribute(node, "precision") == NULL && out->scales != NULL &&
           out->scales->shape.rank <= 1 && out->scales->count > 0 &&
           (out->zeros == NULL || out->zeros->count == out->scales->count);
}

static bool is_either(const onnxd_node *node, const char *op_type)
{
    return onnxd_node_is(node, "", op_type) || onnxd_node_is(node, "com.microsoft", op_type);
}

bool onnxd_quantized_of(const onnxd_quantized_search *s, onnxd_value_id value, onnxd_quantized *out)
{
    const onnxd_value *v = &s->graph->values[value];
    if (v->producer == ONNXD_NONE || v->type.dtype != ONNXD_FLOAT)
        return false;
    const onnxd_node *node = &s->graph->nodes[v->producer];
    return is_either(node, "DequantizeLinear") && read(s, node, node->inputs[0], out);
}

bool onnxd_quantized_by(const onnxd_quantized_search *s, const onnxd_node *node,
                        onnxd_quantized *out)
{
    return is_either(node, "QuantizeLinear") && read(s, node, node->outputs[0], out) &&
           out->dtype != ONNXD_INT32;
}

bool onnxd_quantized_is_whole(const onnxd_quantized *q)
{
    return q->scales->count == 1;
}

int32_t onnxd_quantized_zero_at(const onnxd_quantized *q, size_t i)
{
    if (q->zeros == NULL)
        return 0;
    switch (q->dtype) {
    case ONNXD_INT8:
        return ((const int8_t *)q->zeros->data)[i];
    case ONNXD_UINT8:
        return ((const uint8_t *)q->zeros->data)[i];
    default:
        return ((const int32_t *)q->zeros->data)[i];
    }
}

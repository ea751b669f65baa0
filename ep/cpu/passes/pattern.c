#include "ep/cpu/passes/pattern.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/attributes.h"

#define TOLERANCE 1e-4f

/* The opset that made the bounds of Clip inputs. */
#define CLIP_INPUTS_SINCE 11

static bool read_bound(const onnxd_graph *graph, const onnxd_node *clip, uint32_t index,
                       const char *name, float *inout_bound)
{
    if (clip->opset < CLIP_INPUTS_SINCE) {
        onnxd_status *status = onnxd_attribute_float(clip, name, inout_bound);
        const bool is_read = status == NULL;
        onnxd_status_free(status);
        return is_read;
    }
    if (index >= clip->input_count || clip->inputs[index] == ONNXD_NONE)
        return true;
    const onnxd_tensor *constant = onnxd_node_float_constant(graph, clip, index);
    if (constant == NULL || constant->count != 1)
        return false;
    *inout_bound = *(const float *)constant->data;
    return true;
}

bool onnxd_pattern_clip_bounds(const onnxd_graph *graph, const onnxd_node *clip, float *inout_low,
                               float *inout_high)
{
    return read_bound(graph, clip, 1, "min", inout_low) &&
           read_bound(graph, clip, 2, "max", inout_high);
}

bool onnxd_pattern_read_scalar(const onnxd_pattern *pattern, const onnxd_node *node, uint32_t index,
                               float *out_scalar)
{
    const onnxd_tensor *constant = onnxd_node_float_constant(pattern->graph, node, index);
    const onnxd_value_id other = node->inputs[1 - index];
    if (constant == NULL || constant->count != 1 || other == ONNXD_NONE ||
        (constant->shape.rank > 0 &&
         constant->shape.rank > pattern->graph->values[other].type.shape.rank))
        return false;
    *out_scalar = *(const float *)constant->data;
    return true;
}

bool onnxd_pattern_has_scalar(const onnxd_pattern *pattern, const onnxd_node *node,
                              const char *op_type, float scalar, onnxd_value_id *out_other)
{
    if (!onnxd_node_is(node, "", op_type) || node->input_count != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        float constant;
        if (!onnxd_pattern_read_scalar(pattern, node, 1 - i, &constant) ||
            fabsf(constant - scalar) > TOLERANCE)
            continue;
        if (strcmp(op_type, "Div") == 0 && i != 0)
            continue;
        *out_other = node->inputs[i];
        return true;
    }
    return false;
}

onnxd_node *onnxd_pattern_producer(const onnxd_pattern *pattern, onnxd_value_id value)
{
    return onnxd_graph_only_producer(pattern->graph, pattern->uses, value);
}

onnxd_node *onnxd_pattern_reader(const onnxd_pattern *pattern, onnxd_value_id value)
{
    if (pattern->uses[value] != 1 || pattern->graph->values[value].is_output)
        return NULL;
    return &pattern->graph->nodes[pattern->reader[value]];
}

static onnxd_node *if_it_is(onnxd_node *node, const char *op_type)
{
    return node != NULL && onnxd_node_is(node, "", op_type) ? node : NULL;
}

onnxd_node *onnxd_pattern_producer_of(const onnxd_pattern *pattern, onnxd_value_id value,
                                      const char *op_type)
{
    return if_it_is(onnxd_pattern_producer(pattern, value), op_type);
}

onnxd_node *onnxd_pattern_reader_of(const onnxd_pattern *pattern, onnxd_value_id value,
                                    const char *op_type)
{
    return if_it_is(onnxd_pattern_reader(pattern, value), op_type);
}

onnxd_node *onnxd_pattern_source_of(const onnxd_pattern *pattern, onnxd_value_id value,
                                    const char *op_type)
{
    const onnxd_node_id id =
        value == ONNXD_NONE ? ONNXD_NONE : pattern->graph->values[value].producer;
    return id == ONNXD_NONE ? NULL : if_it_is(&pattern->graph->nodes[id], op_type);
}

onnxd_value_id onnxd_pattern_other(const onnxd_node *node, onnxd_value_id input)
{
    return node->inputs[0] == input ? node->inputs[1] : node->inputs[0];
}

/* Nodes of a pattern that end in one value, one behind the other. */
#define MAX_DEPTH 8

/* One reader of the value has gone, and with the last one goes what made it, so that passes that
 * come later see readers which are there. */
static void release(onnxd_pattern *pattern, onnxd_value_id value, int depth)
{
    if (value == ONNXD_NONE || pattern->uses[value] == 0 || --pattern->uses[value] > 0)
        return;
    const onnxd_node_id id = pattern->graph->values[value].producer;
    onnxd_node *node = id == ONNXD_NONE ? NULL : &pattern->graph->nodes[id];
    if (node == NULL || node->output_count != 1 || depth == MAX_DEPTH)
        return;
    node->is_removed = true;
    for (uint32_t i = 0; i < node->input_count; i++)
        release(pattern, node->inputs[i], depth + 1);
}

onnxd_status *onnxd_pattern_put(onnxd_pattern *pattern, onnxd_node *end, const char *op_type,
                                int64_t opset, const onnxd_value_id *inputs, uint32_t input_count,
                                const onnxd_attribute *attributes, uint32_t attribute_count)
{
    const onnxd_value_id *former = end->inputs;
    const uint32_t former_count = end->input_count;
    end->op_type = op_type;
    end->opset = opset;
    ONNXD_TRY(onnxd_graph_set_node_inputs(pattern->graph, end, inputs, input_count));
    ONNXD_TRY(onnxd_graph_set_attributes(pattern->graph, end, attributes, attribute_count));
    ONNXD_TRY(onnxd_op_resolve(pattern->registry, pattern->graph, end));
    for (uint32_t i = 0; i < input_count; i++) {
        pattern->uses[inputs[i]]++;
        pattern->reader[inputs[i]] = (onnxd_node_id)(end - pattern->graph->nodes);
    }
    for (uint32_t i = 0; i < former_count; i++)
        release(pattern, former[i], 0);
    pattern->changes++;
    return NULL;
}

onnxd_status *onnxd_pattern_replace(onnxd_pattern *pattern, onnxd_node *end, const char *op_type,
                                    int64_t opset, onnxd_value_id x,
                                    const onnxd_attribute *attributes, uint32_t attribute_count)
{
    return onnxd_pattern_put(pattern, end, op_type, opset, &x, 1, attributes, attribute_count);
}

static void find_readers(onnxd_pattern *pattern)
{
    const onnxd_graph *graph = pattern->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] != ONNXD_NONE)
                pattern->reader[graph->nodes[n].inputs[i]] = n;
}

onnxd_status *onnxd_pattern_run(onnxd_graph *graph, const onnxd_pass_env *env,
                                onnxd_status *(*visit)(onnxd_pattern *pattern, onnxd_node *node),
                                uint32_t *out_changes)
{
    onnxd_pattern pattern = {.graph = graph, .registry = env->registry};
    onnxd_status *status = onnxd_graph_count_uses(graph, &pattern.uses);
    pattern.reader = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(pattern.reader[0]));
    if (status == NULL && pattern.reader == NULL)
        status = onnxd_error_out_of_memory(
            "readers of values", graph->value_count * sizeof(pattern.reader[0]), UINT64_MAX);
    if (status == NULL)
        find_readers(&pattern);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        if (!graph->nodes[n].is_removed && graph->nodes[n].domain[0] == '\0')
            status = visit(&pattern, &graph->nodes[n]);
    onnxd_free(pattern.uses);
    onnxd_free(pattern.reader);
    if (status == NULL && pattern.changes > 0)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = pattern.changes;
    return status;
}

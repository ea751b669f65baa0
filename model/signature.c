/*
 * What a model shows to callers: its inputs and outputs.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "model/internal.h"

/* ---- names --------------------------------------------------------------------------------- */

/* The node that makes the output, when it is a ZipMap. */
static const onnxd_node *zip_map_of(const onnxd_graph *graph, onnxd_value_id output)
{
    const onnxd_node_id producer = graph->values[output].producer;
    if (producer == ONNXD_NONE)
        return NULL;
    const onnxd_node *node = &graph->nodes[producer];
    const bool is_zip_map =
        strcmp(node->domain, "ai.onnx.ml") == 0 && strcmp(node->op_type, "ZipMap") == 0;
    return is_zip_map && node->input_count > 0 && node->inputs[0] != ONNXD_NONE ? node : NULL;
}

/* Classifiers end in a ZipMap, a sequence of maps from label to score, which the protocol cannot
 * carry. The tensor of scores that it would take apart is shown in its place, under its name. */
static onnxd_status *unwrap_zip_maps(onnxd_model *model)
{
    onnxd_graph *graph = model->graph;
    onnxd_value_id *ids = onnxd_alloc_zero(graph->output_count, sizeof(onnxd_value_id));
    onnxd_status *status = NULL;
    if (ids == NULL)
        return onnxd_error_out_of_memory("a model's signature",
                                         graph->output_count * sizeof(onnxd_value_id), UINT64_MAX);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const onnxd_node *zip_map = zip_map_of(graph, graph->outputs[i]);
        ids[i] = graph->outputs[i];
        if (zip_map != NULL && !graph->values[zip_map->inputs[0]].is_output)
            ids[i] = zip_map->inputs[0];
    }
    status = onnxd_graph_set_outputs(graph, ids, graph->output_count);
    onnxd_free(ids);
    return status;
}

onnxd_status *onnxd_model_name_ports(onnxd_model *model)
{
    const onnxd_graph *graph = model->graph;
    model->inputs = onnxd_alloc_zero(graph->input_count, sizeof(onnxd_model_port));
    model->outputs = onnxd_alloc_zero(graph->output_count, sizeof(onnxd_model_port));
    if (model->inputs == NULL || model->outputs == NULL)
        return onnxd_error_out_of_memory("a model's signature",
                                         ((uint64_t)graph->input_count + graph->output_count) *
                                             sizeof(onnxd_model_port),
                                         UINT64_MAX);
    for (uint32_t i = 0; i < graph->input_count; i++)
        model->inputs[i].name = graph->values[graph->inputs[i]].name;
    for (uint32_t i = 0; i < graph->output_count; i++)
        model->outputs[i].name = graph->values[graph->outputs[i]].name;
    return model->options.allows_datums ? NULL : unwrap_zip_maps(model);
}

/* ---- types --------------------------------------------------------------------------------- */

static onnxd_status *type_port(const onnxd_model *model, onnxd_value_id id, const char *what,
                               onnxd_model_port *port)
{
    const onnxd_value *value = &model->graph->values[id];
    const bool is_tensor = value->type.kind == ONNXD_VALUE_TENSOR;
    if (!is_tensor && !model->options.allows_datums)
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "%s '%s' is not a tensor, which the protocol cannot carry", what,
                           port->name);
    if (is_tensor && value->type.dtype == ONNXD_UNDEFINED)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s '%s' has no type", what, port->name);
    port->type = value->type;
    return NULL;
}

static onnxd_status *mark_shape_inputs(onnxd_model *model)
{
    const uint32_t count = model->graph->input_count;
    bool *needs_value = onnxd_alloc_zero(count, sizeof(bool));
    if (needs_value == NULL)
        return onnxd_error_out_of_memory("a model's signature", count, UINT64_MAX);
    onnxd_status *status = onnxd_shape_value_inputs(model->graph, model->is_dynamic, needs_value);
    for (uint32_t i = 0; i < count && status == NULL; i++)
        model->inputs[i].value_decides_shapes = needs_value[i];
    onnxd_free(needs_value);
    return status;
}

onnxd_status *onnxd_model_type_ports(onnxd_model *model)
{
    const onnxd_graph *graph = model->graph;
    for (uint32_t i = 0; i < graph->input_count; i++)
        ONNXD_TRY(type_port(model, graph->inputs[i], "input", &model->inputs[i]));
    for (uint32_t i = 0; i < graph->output_count; i++)
        ONNXD_TRY(type_port(model, graph->outputs[i], "output", &model->outputs[i]));
    return mark_shape_inputs(model);
}

/* ---- subgraphs ----------------------------------------------------------------------------- */

/* As deep as subgraphs nest, which the loader bounds. */
static onnxd_status *check_subgraph(const onnxd_op_registry *registry, // NOLINT(misc-no-recursion)
                                    const onnxd_graph *graph)
{
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        if (node->def == NULL && graph->parent != NULL)
            return onnxd_node_context(
                graph, node, onnxd_op_missing(registry, node->domain, node->op_type, node->opset));
        for (uint32_t a = 0; a < node->attribute_count; a++) {
            const onnxd_attribute *attribute = &node->attributes[a];
            if (attribute->kind == ONNXD_ATTRIBUTE_GRAPH)
                ONNXD_TRY(check_subgraph(registry, attribute->value.graph));
            for (size_t i = 0; attribute->kind == ONNXD_ATTRIBUTE_GRAPHS && i < attribute->count;
                 i++)
                ONNXD_TRY(check_subgraph(registry, attribute->value.graphs[i]));
        }
    }
    return NULL;
}

onnxd_status *onnxd_model_check_subgraphs(const onnxd_model *model)
{
    return check_subgraph(model->runtime->registry, model->graph);
}

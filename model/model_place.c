/*
 * Placing a model: its nodes on instances, then its constants in their memories. An instance whose
 * memory is too small is left out, and the rest is placed again without it.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "graph/passes.h"
#include "model/internal.h"

/* ---- constants ----------------------------------------------------------------------------- */

/* Exchanges every constant for the equal one that some model has already. Before anybody else, a
 * kernel above all, has kept a reference to this model's own. */
onnxd_status *onnxd_model_share_weights(onnxd_model *model)
{
    onnxd_graph *graph = model->graph;
    model->weights = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_weight *));
    if (model->weights == NULL)
        return onnxd_error_out_of_memory("a model's weights",
                                         graph->value_count * sizeof(onnxd_weight *), UINT64_MAX);
    for (onnxd_value_id v = 0; v < graph->value_count; v++) {
        if (graph->values[v].constant == NULL)
            continue;
        ONNXD_TRY(onnxd_weights_acquire(model->runtime->weights, graph->values[v].constant,
                                        &model->weights[v]));
        onnxd_graph_set_constant(graph, v, onnxd_weight_tensor(model->weights[v]));
    }
    return NULL;
}

void onnxd_model_drop_weights(onnxd_model *model)
{
    for (onnxd_value_id v = 0; model->weights != NULL && v < model->graph->value_count; v++)
        onnxd_weights_release(model->runtime->weights, model->weights[v]);
    onnxd_free(model->weights);
    model->weights = NULL;
}

/* roots[v]: the value whose memory v shares, v itself mostly. */
static void find_roots(const onnxd_model *model, onnxd_value_id *roots)
{
    const onnxd_graph *graph = model->graph;
    for (onnxd_value_id v = 0; v < graph->value_count; v++)
        roots[v] = v;
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        if (model->placement.nodes[n].is_free && node->def != NULL && node->def->is_view &&
            node->input_count > 0 && node->inputs[0] != ONNXD_NONE && node->output_count > 0 &&
            node->outputs[0] != ONNXD_NONE)
            roots[node->outputs[0]] = roots[node->inputs[0]];
    }
}

static onnxd_status *upload_inputs(onnxd_model *model, onnxd_node_id id,
                                   const onnxd_value_id *roots)
{
    const onnxd_node *node = &model->graph->nodes[id];
    const uint32_t ep = model->placement.nodes[id].ep;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_value_id value = node->inputs[i] == ONNXD_NONE ? 0 : roots[node->inputs[i]];
        onnxd_buffer buffer;
        if (node->inputs[i] == ONNXD_NONE || model->weights[value] == NULL)
            continue;
        onnxd_status *status = onnxd_weights_on(model->runtime->weights, model->weights[value],
                                                model->ep_indices[ep], &buffer);
        if (status != NULL)
            return onnxd_status_context(status, "constant '%s' on %s",
                                        model->graph->values[value].name,
                                        onnxd_ep_label(model->eps[ep]));
    }
    return NULL;
}

/* Uploads what nodes on devices read of the model's constants. *out_ep: where it failed. */
static onnxd_status *upload_constants(onnxd_model *model, uint32_t *out_ep)
{
    const onnxd_graph *graph = model->graph;
    onnxd_status *status = NULL;
    onnxd_value_id *roots = onnxd_alloc_zero(graph->value_count, sizeof(roots[0]));
    *out_ep = ONNXD_NONE;
    if (roots == NULL)
        return onnxd_error_out_of_memory("a model's constants",
                                         graph->value_count * sizeof(roots[0]), UINT64_MAX);
    find_roots(model, roots);
    for (onnxd_node_id n = 0; n < graph->node_count && status == NULL; n++) {
        const onnxd_placement_node *node = &model->placement.nodes[n];
        if (node->is_free || model->ep_spaces[node->ep] == ONNXD_HOST_SPACE)
            continue;
        status = upload_inputs(model, n, roots);
        if (status != NULL)
            *out_ep = node->ep;
    }
    onnxd_free(roots);
    return status;
}

/* ---- instances without memory -------------------------------------------------------------- */

/* Gives back what the instance holds of the model, unless another model needs it there, too. */
static onnxd_status *leave_out(onnxd_model *model, uint32_t ep, const onnxd_status *shortage)
{
    onnxd_log(ONNXD_LOG_WARN, "model",
              "placed without an instance that lacks memory: model=%s version=%lld instance=%s "
              "reason=%s",
              model->name, (long long)model->version, onnxd_ep_label(model->eps[ep]),
              onnxd_status_message(shortage));
    model->is_left_out[ep] = true;
    onnxd_placement_deinit(&model->placement);
    onnxd_model_drop_weights(model);
    return onnxd_model_share_weights(model);
}

/* After every placement, which renumbers the nodes. */
static onnxd_status *mark_dynamic(onnxd_model *model)
{
    onnxd_free(model->is_dynamic);
    model->is_dynamic = onnxd_alloc_zero(model->graph->node_count, sizeof(bool));
    if (model->is_dynamic == NULL)
        return onnxd_error_out_of_memory("a model", model->graph->node_count, UINT64_MAX);
    return onnxd_graph_mark_dynamic(model->graph, model->is_dynamic);
}

static onnxd_status *place_nodes(onnxd_model *model)
{
    const onnxd_placement_options options = {
        .max_shape_value_bytes = model->options.max_shape_value_bytes,
        .is_left_out = model->is_left_out,
    };
    ONNXD_TRY(onnxd_place(model->graph, model->eps, model->ep_count, &options, &model->placement));
    return mark_dynamic(model);
}

/* Each round leaves out one instance more. */
static onnxd_status *place(onnxd_model *model, uint32_t short_ep, onnxd_status *shortage)
{
    onnxd_status *status = NULL;
    for (;;) {
        if (shortage != NULL)
            status = leave_out(model, short_ep, shortage);
        if (status == NULL)
            status = place_nodes(model);
        if (status != NULL && shortage != NULL)
            return onnxd_status_join(shortage, status);
        onnxd_status_free(shortage);
        if (status == NULL)
            status = upload_constants(model, &short_ep);
        if (onnxd_status_code(status) != ONNXD_OUT_OF_MEMORY || short_ep == ONNXD_NONE)
            return status;
        shortage = status;
        status = NULL;
    }
}

onnxd_status *onnxd_model_place(onnxd_model *model)
{
    return place(model, ONNXD_NONE, NULL);
}

/* The device listed last of those that run something. */
static uint32_t find_device(const onnxd_model *model)
{
    uint32_t found = ONNXD_NONE;
    for (uint32_t p = 0; p < model->placement.partition_count; p++) {
        const uint32_t ep = model->placement.partitions[p].ep;
        if (model->ep_spaces[ep] != ONNXD_HOST_SPACE && (found == ONNXD_NONE || ep > found))
            found = ep;
    }
    return found;
}

onnxd_status *onnxd_model_place_again(onnxd_model *model, onnxd_status *shortage)
{
    const uint32_t ep = find_device(model);
    return ep == ONNXD_NONE ? shortage : place(model, ep, shortage);
}

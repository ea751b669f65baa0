#include "model/tail.h"

#include "base/alloc.h"

/* ---- building ------------------------------------------------------------------------------ */

bool onnxd_builder_is_in_tail(const onnxd_plan_builder *b, onnxd_value_id value)
{
    const onnxd_node_id producer = b->graph->values[value].producer;
    return producer != ONNXD_NONE && b->usage.roles[producer] == ONNXD_NODE_DYNAMIC;
}

static onnxd_status *add_input(onnxd_plan_builder *b, onnxd_value_id value, bool *is_listed)
{
    onnxd_plan_tail *tail = &b->plan->tail;
    if (is_listed[value] || b->graph->values[value].constant != NULL ||
        onnxd_builder_is_in_tail(b, value))
        return NULL;
    is_listed[value] = true;
    tail->inputs[tail->input_count++] = value;
    return onnxd_builder_require(b, value, ONNXD_HOST_SPACE, tail->stage, b->now);
}

static onnxd_status *add_inputs(onnxd_plan_builder *b)
{
    const onnxd_graph *graph = b->graph;
    onnxd_status *status = NULL;
    bool *is_listed = onnxd_alloc_zero(graph->value_count, sizeof(bool));
    if (is_listed == NULL)
        return onnxd_error_out_of_memory("a plan", graph->value_count, UINT64_MAX);
    for (onnxd_node_id n = 0; n < graph->node_count && status == NULL; n++) {
        const onnxd_node *node = &graph->nodes[n];
        if (!b->plan->tail.selected[n])
            continue;
        for (uint32_t i = 0; i < node->input_count && status == NULL; i++)
            if (node->inputs[i] != ONNXD_NONE)
                status = add_input(b, node->inputs[i], is_listed);
    }
    onnxd_free(is_listed);
    return status;
}

static onnxd_status *select_nodes(onnxd_plan_builder *b)
{
    onnxd_plan_tail *tail = &b->plan->tail;
    tail->selected = onnxd_alloc_zero(b->graph->node_count, sizeof(bool));
    tail->inputs = onnxd_alloc_zero(b->graph->value_count, sizeof(onnxd_value_id));
    if (tail->selected == NULL || tail->inputs == NULL)
        return onnxd_error_out_of_memory("a plan", b->graph->value_count * sizeof(onnxd_value_id),
                                         UINT64_MAX);
    for (onnxd_node_id n = 0; n < b->graph->node_count; n++)
        tail->selected[n] = b->usage.roles[n] == ONNXD_NODE_DYNAMIC;
    return NULL;
}

static bool has_dynamic_nodes(const onnxd_plan_builder *b)
{
    for (onnxd_node_id n = 0; n < b->graph->node_count; n++)
        if (b->usage.roles[n] == ONNXD_NODE_DYNAMIC)
            return true;
    return false;
}

onnxd_status *onnxd_builder_add_tail(onnxd_plan_builder *b)
{
    onnxd_plan *plan = b->plan;
    plan->tail.stage = ONNXD_NONE;
    if (!has_dynamic_nodes(b))
        return NULL;
    const uint32_t ep = onnxd_model_host_ep(b->model);
    if (ep == ONNXD_NONE)
        return onnxd_error(ONNXD_NO_EP_FOR_OP,
                           "model '%s' has shapes that follow from data, for which an execution "
                           "provider in host memory, such as cpu_ep, must be configured",
                           b->model->name);
    plan->tail.stage = plan->stage_count++;
    plan->stages[plan->tail.stage] =
        (onnxd_stage){.ep = ep, .space = ONNXD_HOST_SPACE, .first_step = plan->step_count};
    b->ticks[plan->tail.stage].uploads = b->now++;
    ONNXD_TRY(select_nodes(b));
    ONNXD_TRY(add_inputs(b));
    b->now++;
    b->ticks[plan->tail.stage].downloads = b->now++;
    /* The tail may hand on what it was given without a copy, so its inputs live as long as the
     * outputs do. */
    for (uint32_t i = 0; i < plan->tail.input_count; i++)
        ONNXD_TRY(onnxd_builder_require(b, plan->tail.inputs[i], ONNXD_HOST_SPACE,
                                        plan->stage_count, b->now));
    return NULL;
}

/* ---- running ------------------------------------------------------------------------------- */

onnxd_status *onnxd_tail_create(const onnxd_plan *plan, onnxd_interpreter **out_interpreter)
{
    const onnxd_model *model = plan->model;
    return onnxd_interpreter_create(model->graph, plan->tail.selected, model->runtime,
                                    model->eps[plan->stages[plan->tail.stage].ep],
                                    model->options.max_tensor_bytes, out_interpreter);
}

static onnxd_status *show_outputs(const onnxd_plan *plan, const onnxd_interpreter *interpreter,
                                  onnxd_tensor_view *views)
{
    const onnxd_graph *graph = plan->model->graph;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const onnxd_value *value = &graph->values[graph->outputs[i]];
        if (value->producer == ONNXD_NONE || !plan->tail.selected[value->producer])
            continue;
        const onnxd_datum *datum = onnxd_interpreter_get(interpreter, graph->outputs[i]);
        if (datum == NULL || datum->kind != ONNXD_VALUE_TENSOR)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "output '%s' of model '%s' is no tensor",
                               value->name, plan->model->name);
        if (datum->dtype != plan->model->outputs[i].type.dtype)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "output '%s' of model '%s' has type %s, declared is %s", value->name,
                               plan->model->name, onnxd_dtype_name(datum->dtype),
                               onnxd_dtype_name(plan->model->outputs[i].type.dtype));
        views[plan->first_output_view + i] = onnxd_tensor_as_view(datum->tensor);
    }
    return NULL;
}

onnxd_status *onnxd_tail_run(const onnxd_plan *plan, onnxd_interpreter *interpreter,
                             onnxd_tensor_view *views, const onnxd_run_control *control)
{
    const onnxd_plan_tail *tail = &plan->tail;
    for (uint32_t i = 0; i < tail->input_count; i++)
        ONNXD_TRY(
            onnxd_interpreter_set_view(interpreter, tail->inputs[i], &views[tail->first_view + i]));
    ONNXD_TRY(onnxd_interpreter_run(interpreter, control));
    return show_outputs(plan, interpreter, views);
}

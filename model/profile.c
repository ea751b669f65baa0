#include "model/profile.h"

#include "base/alloc.h"
#include "model/internal.h"
#include "model/query.h"

uint32_t onnxd_plan_profile_length(const onnxd_plan *plan)
{
    return plan->step_count + (plan->tail.stage != ONNXD_NONE ? 1 : 0);
}

/* The types of a step's values under the plan, by value. */
static void take_types(const onnxd_plan *plan, const onnxd_step *step, onnxd_tensor_type *types)
{
    const onnxd_node *node = &plan->model->graph->nodes[step->node];
    for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
        const onnxd_value_id value =
            i < step->input_count ? node->inputs[i] : node->outputs[i - step->input_count];
        const onnxd_tensor_view *view = &plan->views[step->first_view + i];
        if (value == ONNXD_NONE)
            continue;
        types[value].dtype = view->dtype;
        types[value].shape = view->shape;
    }
}

/* How often a run takes the step. */
static uint32_t times_of(const onnxd_plan *plan, uint32_t step)
{
    for (uint32_t i = 0; i < plan->section_count; i++)
        if (step - plan->sections[i].first_step < plan->sections[i].step_count)
            return plan->sections[i].parts;
    return 1;
}

static double bytes_of(const onnxd_plan *plan, const onnxd_step *step)
{
    double bytes = 0;
    for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
        const onnxd_tensor_view *view = &plan->views[step->first_view + i];
        if (onnxd_tensor_view_is_present(view))
            bytes += (double)onnxd_tensor_view_bytes(view);
    }
    return bytes;
}

static void describe(const onnxd_plan *plan, onnxd_query_maker *queries, onnxd_tensor_type *types,
                     uint32_t index, onnxd_step_facts *out_facts)
{
    const onnxd_model *model = plan->model;
    const onnxd_step *step = &plan->steps[index];
    const onnxd_node *node = &model->graph->nodes[step->node];
    onnxd_ep *ep = model->eps[plan->stages[step->stage].ep];
    onnxd_kernel_match match = {.is_supported = false};
    const uint32_t times = times_of(plan, index);
    take_types(plan, step, types);
    const onnxd_op_query query = onnxd_query_make(queries, node, types, NULL);
    onnxd_ep_supports_op(ep, &query, &match);
    *out_facts = (onnxd_step_facts){
        .node = node,
        .ep = onnxd_ep_label(ep),
        .implementation = step->kernel->implementation,
        .flops = match.is_supported && match.cost.is_known ? match.cost.flops * times : 0,
        .bytes = bytes_of(plan, step) * times,
    };
}

onnxd_status *onnxd_plan_step_facts(const onnxd_plan *plan, onnxd_step_facts *out_facts)
{
    const onnxd_graph *graph = plan->model->graph;
    onnxd_query_maker queries = {.graph = graph};
    onnxd_tensor_type *types = onnxd_alloc_zero(graph->value_count, sizeof(types[0]));
    onnxd_status *status =
        types == NULL ? onnxd_error_out_of_memory("types of values",
                                                  graph->value_count * sizeof(types[0]), UINT64_MAX)
                      : onnxd_query_maker_init(&queries, graph);
    if (status == NULL) {
        for (onnxd_value_id v = 0; v < graph->value_count; v++)
            types[v] = graph->values[v].type;
        for (uint32_t i = 0; i < plan->step_count; i++)
            describe(plan, &queries, types, i, &out_facts[i]);
        if (plan->tail.stage != ONNXD_NONE)
            out_facts[plan->step_count] = (onnxd_step_facts){
                .ep = onnxd_ep_label(plan->model->eps[plan->stages[plan->tail.stage].ep]),
                .implementation = "one by one"};
    }
    onnxd_query_maker_deinit(&queries);
    onnxd_free(types);
    return status;
}

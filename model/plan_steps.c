#include "base/alloc.h"
#include "model/plan_parts.h"
#include "model/tail.h"

/* ---- stages -------------------------------------------------------------------------------- */

static void close_stage(onnxd_plan_builder *b)
{
    if (b->plan->stage_count > 0)
        b->ticks[b->plan->stage_count - 1].downloads = b->now++;
}

/* The stage that runs a node on this instance: the last one, or a new one after it. */
static uint32_t stage_for(onnxd_plan_builder *b, uint32_t ep)
{
    onnxd_plan *plan = b->plan;
    if (plan->stage_count > 0 && plan->stages[plan->stage_count - 1].ep == ep)
        return plan->stage_count - 1;
    close_stage(b);
    b->ticks[plan->stage_count].uploads = b->now++;
    plan->stages[plan->stage_count] =
        (onnxd_stage){.ep = ep, .space = b->model->ep_spaces[ep], .first_step = plan->step_count};
    return plan->stage_count++;
}

/* ---- steps --------------------------------------------------------------------------------- */

static onnxd_status *add_workspace(onnxd_plan_builder *b, uint32_t step, uint32_t space)
{
    const size_t bytes = b->plan->steps[step].kernel->workspace_bytes;
    b->workspace_ranges[step] = ONNXD_NONE;
    if (bytes == 0)
        return NULL;
    return onnxd_builder_add_range(b, space, bytes, &b->workspace_ranges[step]);
}

/* The kernel of the instance on which the node was placed. Placement asked with the declared types;
 * an instance may still refuse these concrete ones, and then the first other one that takes them
 * runs the node. */
static onnxd_status *find_kernel(onnxd_plan_builder *b, const onnxd_node *node, uint32_t *inout_ep,
                                 onnxd_kernel **out_kernel)
{
    const onnxd_op_query query = onnxd_builder_query(b, node);
    onnxd_status *refusal = onnxd_ep_get_kernel(b->model->eps[*inout_ep], &query, out_kernel);
    if (onnxd_status_code(refusal) != ONNXD_NO_EP_FOR_OP)
        return refusal;
    const bool is_host_only = onnxd_query_has_strings(&query);
    for (uint32_t ep = 0; ep < b->model->ep_count; ep++) {
        if (ep == *inout_ep || b->model->is_left_out[ep] ||
            (is_host_only && b->model->ep_spaces[ep] != ONNXD_HOST_SPACE))
            continue;
        onnxd_status *status = onnxd_ep_get_kernel(b->model->eps[ep], &query, out_kernel);
        if (status == NULL) {
            onnxd_status_free(refusal);
            *inout_ep = ep;
            return NULL;
        }
        refusal = onnxd_status_join(refusal, status);
    }
    return refusal;
}

static void note_tick(onnxd_plan_builder *b, const onnxd_node *node)
{
    const uint32_t section = onnxd_builder_section(b, node);
    if (section == ONNXD_NONE)
        return;
    onnxd_tick_span *span = &b->section_ticks[section];
    if (span->first == 0)
        span->first = b->now;
    span->last = b->now;
}

static onnxd_status *add_step(onnxd_plan_builder *b, onnxd_node_id id)
{
    const onnxd_node *node = &b->graph->nodes[id];
    uint32_t ep = b->model->placement.nodes[id].ep;
    onnxd_kernel *kernel;
    ONNXD_TRY(find_kernel(b, node, &ep, &kernel));
    const uint32_t stage = stage_for(b, ep);
    const uint32_t space = b->plan->stages[stage].space;
    const uint32_t index = b->plan->step_count++;
    b->plan->steps[index] = (onnxd_step){
        .node = id,
        .kernel = kernel,
        .stage = stage,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .workspace_offset = ONNXD_NO_WORKSPACE,
    };
    b->plan->stages[stage].step_count++;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != ONNXD_NONE)
            ONNXD_TRY(onnxd_builder_require(b, node->inputs[i], space, stage, b->now));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE)
            ONNXD_TRY(onnxd_builder_define(b, node->outputs[i], stage));
    ONNXD_TRY(add_workspace(b, index, space));
    note_tick(b, node);
    b->now++;
    return NULL;
}

static onnxd_status *allocate(onnxd_plan_builder *b)
{
    size_t steps = 0;
    for (onnxd_node_id n = 0; n < b->graph->node_count; n++)
        steps += b->usage.roles[n] == ONNXD_NODE_RUN;
    const size_t stages = steps + 1; /* the tail's, too */
    b->plan->steps = onnxd_alloc_zero(steps, sizeof(onnxd_step));
    b->plan->stages = onnxd_alloc_zero(stages, sizeof(onnxd_stage));
    b->ticks = onnxd_alloc_zero(stages, sizeof(onnxd_stage_ticks));
    b->workspace_ranges = onnxd_alloc_zero(steps, sizeof(uint32_t));
    if (b->plan->steps == NULL || b->plan->stages == NULL || b->ticks == NULL ||
        b->workspace_ranges == NULL)
        return onnxd_error_out_of_memory("steps of a plan", steps * sizeof(onnxd_step), UINT64_MAX);
    return NULL;
}

onnxd_status *onnxd_builder_make_steps(onnxd_plan_builder *b)
{
    char label[ONNXD_NODE_LABEL];
    ONNXD_TRY(allocate(b));
    for (onnxd_node_id n = 0; n < b->graph->node_count; n++) {
        if (b->usage.roles[n] != ONNXD_NODE_RUN)
            continue;
        onnxd_status *status = add_step(b, n);
        if (status != NULL)
            return onnxd_status_context(
                status, "%s",
                onnxd_node_label(b->graph, &b->graph->nodes[n], label, sizeof(label)));
    }
    close_stage(b);
    ONNXD_TRY(onnxd_builder_add_tail(b));
    for (uint32_t i = 0; i < b->graph->output_count; i++)
        if (!onnxd_builder_is_in_tail(b, b->graph->outputs[i]))
            ONNXD_TRY(onnxd_builder_require(b, b->graph->outputs[i], ONNXD_HOST_SPACE,
                                            b->plan->stage_count, b->now));
    onnxd_builder_extend_over_sections(b);
    return NULL;
}

#include <inttypes.h>

#include "graph/print.h"
#include "model/internal.h"

/* ---- signature ----------------------------------------------------------------------------- */

static void describe_ports(const onnxd_model *model, const char *what,
                           const onnxd_model_port *ports, uint32_t count, onnxd_strbuf *out)
{
    for (uint32_t i = 0; i < count; i++) {
        onnxd_strbuf_printf(out, "%s %s: ", what, ports[i].name);
        onnxd_print_type(model->graph, &ports[i].type, out);
        onnxd_strbuf_puts(out,
                          ports[i].value_decides_shapes ? " (its value decides shapes)\n" : "\n");
    }
}

/* ---- placement ----------------------------------------------------------------------------- */

static void describe_cost(const onnxd_cost *cost, onnxd_strbuf *out)
{
    if (!cost->is_known) {
        onnxd_strbuf_printf(out, "cost unknown, taken as %.0f us", ONNXD_UNKNOWN_NODE_COST_US);
        return;
    }
    onnxd_strbuf_printf(
        out, "%.2f us (compute %.2f, memory %.2f, transfer %.2f, launch %.2f; %" PRIu64 " bytes)",
        onnxd_cost_total_us(cost), cost->compute_us, cost->memory_us, cost->transfer_us,
        cost->launch_us, cost->bytes_moved);
}

/* One line for the choice, one for each other instance and what it said. */
static void describe_node(const onnxd_model *model, onnxd_node_id id, onnxd_strbuf *out)
{
    const onnxd_placement *placement = &model->placement;
    const onnxd_placement_node *node = &placement->nodes[id];
    const onnxd_placement_match *matches = &placement->matches[(size_t)id * model->ep_count];
    char label[ONNXD_NODE_LABEL];
    onnxd_strbuf_printf(
        out,
        "  %s: ", onnxd_node_label(model->graph, &model->graph->nodes[id], label, sizeof(label)));
    if (node->is_dynamic) {
        onnxd_strbuf_puts(out, "in the tail: its shapes follow from data\n");
        return;
    }
    if (node->is_free) {
        onnxd_strbuf_puts(out, "no kernel: a view, or needed for shapes only\n");
        return;
    }
    onnxd_strbuf_printf(out, "%s %s, ", onnxd_ep_label(model->eps[node->ep]),
                        matches[node->ep].reason);
    describe_cost(&node->cost, out);
    onnxd_strbuf_puts(out, node->is_claimed ? ", claimed\n" : "\n");
    for (uint32_t ep = 0; ep < model->ep_count; ep++) {
        if (ep == node->ep)
            continue;
        onnxd_strbuf_printf(out, "    not %s: ", onnxd_ep_label(model->eps[ep]));
        if (!matches[ep].is_supported)
            onnxd_strbuf_printf(out, "%s\n", matches[ep].reason);
        else if (node->is_claimed)
            onnxd_strbuf_printf(out, "claimed by %s\n", onnxd_ep_label(model->eps[node->ep]));
        else {
            onnxd_strbuf_puts(out, "the whole costs more; this node ");
            describe_cost(&matches[ep].cost, out);
            onnxd_strbuf_puts(out, "\n");
        }
    }
}

static void describe_placement(const onnxd_model *model, onnxd_strbuf *out)
{
    const onnxd_placement *placement = &model->placement;
    onnxd_strbuf_printf(out, "nodes: %" PRIu32 ", partitions: %" PRIu32 "\n",
                        model->graph->node_count, placement->partition_count);
    if (placement->is_nominal)
        onnxd_strbuf_puts(out, "costs are for extents of 1 where only a request tells them\n");
    for (uint32_t p = 0; p < placement->partition_count; p++) {
        const onnxd_partition *partition = &placement->partitions[p];
        onnxd_strbuf_printf(out, "partition %" PRIu32 " on %s: nodes %" PRIu32 " to %" PRIu32 "\n",
                            p, onnxd_ep_label(model->eps[partition->ep]), partition->first_node,
                            partition->last_node);
        for (onnxd_node_id n = partition->first_node; n <= partition->last_node; n++)
            describe_node(model, n, out);
    }
}

/* ---- plans --------------------------------------------------------------------------------- */

static void describe_transfer(const onnxd_plan *plan, const char *what,
                              const onnxd_transfer *transfer, onnxd_strbuf *out)
{
    onnxd_strbuf_printf(out, "  %s %s: %zu bytes, device offset %zu", what,
                        plan->model->graph->values[transfer->value].name, transfer->bytes,
                        transfer->device_offset);
    if (transfer->input != ONNXD_NONE)
        onnxd_strbuf_puts(out, ", from the request\n");
    else
        onnxd_strbuf_printf(out, ", host offset %zu\n", transfer->host_offset);
}

static void describe_view(const onnxd_plan *plan, uint32_t view, onnxd_value_id value,
                          onnxd_strbuf *out)
{
    char shape[ONNXD_SHAPE_TEXT];
    const onnxd_tensor_view *v = &plan->views[view];
    if (value == ONNXD_NONE)
        return;
    if (v->dtype == ONNXD_UNDEFINED) {
        onnxd_strbuf_printf(out, "      %s: its shape follows from data\n",
                            plan->model->graph->values[value].name);
        return;
    }
    onnxd_strbuf_printf(out, "      %s %s%s", plan->model->graph->values[value].name,
                        onnxd_dtype_name(v->dtype),
                        onnxd_shape_format(&v->shape, shape, sizeof(shape)));
    if (v->data != NULL)
        onnxd_strbuf_puts(out, " constant\n");
    else
        onnxd_strbuf_printf(out, " at %zu, %zu bytes\n", v->byte_offset,
                            onnxd_tensor_view_bytes(v));
}

static void describe_step(const onnxd_plan *plan, const onnxd_step *step, onnxd_strbuf *out)
{
    const onnxd_graph *graph = plan->model->graph;
    const onnxd_node *node = &graph->nodes[step->node];
    char label[ONNXD_NODE_LABEL];
    onnxd_strbuf_printf(out, "    %s: %s", onnxd_node_label(graph, node, label, sizeof(label)),
                        step->kernel->implementation);
    if (step->workspace_offset != ONNXD_NO_WORKSPACE)
        onnxd_strbuf_printf(out, ", workspace %zu bytes at %zu", step->kernel->workspace_bytes,
                            step->workspace_offset);
    onnxd_strbuf_puts(out, "\n");
    for (uint32_t i = 0; i < step->output_count; i++)
        describe_view(plan, step->first_view + step->input_count + i, node->outputs[i], out);
}

static void describe_tail(const onnxd_plan *plan, onnxd_strbuf *out)
{
    const onnxd_graph *graph = plan->model->graph;
    char label[ONNXD_NODE_LABEL];
    for (onnxd_node_id n = 0; n < graph->node_count; n++)
        if (plan->tail.selected[n])
            onnxd_strbuf_printf(out, "    %s: one by one, on shapes as they come\n",
                                onnxd_node_label(graph, &graph->nodes[n], label, sizeof(label)));
}

static void describe_stage(const onnxd_plan *plan, uint32_t index, onnxd_strbuf *out)
{
    const onnxd_stage *stage = &plan->stages[index];
    onnxd_strbuf_printf(out, "stage %" PRIu32 " on %s: %" PRIu32 " steps\n", index,
                        onnxd_ep_label(plan->model->eps[stage->ep]), stage->step_count);
    for (uint32_t i = 0; i < stage->upload_count; i++)
        describe_transfer(plan, "upload", &plan->uploads[stage->first_upload + i], out);
    for (uint32_t i = 0; i < stage->section_count; i++) {
        const onnxd_plan_section *section = &plan->sections[stage->first_section + i];
        onnxd_strbuf_printf(out,
                            "  section: %" PRIu32 " steps from %" PRIu32 " on, for each of %" PRIu32
                            " parts of the batch\n",
                            section->step_count, section->first_step - stage->first_step,
                            section->parts);
    }
    for (uint32_t i = 0; i < stage->step_count; i++)
        describe_step(plan, &plan->steps[stage->first_step + i], out);
    if (index == plan->tail.stage)
        describe_tail(plan, out);
    for (uint32_t i = 0; i < stage->download_count; i++)
        describe_transfer(plan, "download", &plan->downloads[stage->first_download + i], out);
}

void onnxd_plan_describe(const onnxd_plan *plan, onnxd_strbuf *out)
{
    const onnxd_model *model = plan->model;
    for (uint32_t s = 0; s < model->space_count; s++) {
        const onnxd_plan_space *space = &plan->spaces[s];
        onnxd_strbuf_printf(out, "arena of %s: %zu bytes, at most %zu live at once\n",
                            s == ONNXD_HOST_SPACE ? "the host"
                                                  : onnxd_ep_label(model->spaces[s].ep),
                            space->arena_bytes, space->peak_bytes);
    }
    for (uint32_t i = 0; i < plan->stage_count; i++)
        describe_stage(plan, i, out);
    for (uint32_t i = 0; i < model->graph->output_count; i++)
        describe_view(plan, plan->first_output_view + i, model->graph->outputs[i], out);
}

void onnxd_model_describe(onnxd_model *model, onnxd_strbuf *out)
{
    onnxd_strbuf_printf(out, "model %s version %" PRId64 "\n", model->name, model->version);
    describe_ports(model, "input", model->inputs, model->graph->input_count, out);
    describe_ports(model, "output", model->outputs, model->graph->output_count, out);
    describe_placement(model, out);
    onnxd_plan *plan = onnxd_plan_cache_newest(&model->plans);
    if (plan == NULL) {
        onnxd_strbuf_puts(
            out,
            "no memory plan: the shapes of the inputs are not fixed, give them with --shape\n");
        return;
    }
    onnxd_plan_describe(plan, out);
    onnxd_plan_release(plan);
}

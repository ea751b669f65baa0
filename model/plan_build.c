#include "model/plan_build.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "model/plan_parts.h"

/* ---- types --------------------------------------------------------------------------------- */

static onnxd_status *take_inputs(onnxd_plan_builder *b, const onnxd_tensor_view *inputs)
{
    for (uint32_t i = 0; i < b->graph->input_count; i++) {
        const onnxd_tensor_view *input = &inputs[i];
        const onnxd_value_id value = b->graph->inputs[i];
        ONNXD_TRY(onnxd_model_check_input(b->model, i, input->dtype, &input->shape));
        if (!onnxd_tensor_view_is_contiguous(input))
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "input '%s' for model '%s' is not contiguous",
                               b->model->inputs[i].name, b->model->name);
        b->types[value] = (onnxd_tensor_type){.dtype = input->dtype, .shape = input->shape};
        b->input_of[value] = i;
        b->plan->input_types[i] = b->types[value];
    }
    return NULL;
}

/* The values of inputs that decide shapes, copied: the plan outlives the request. */
static onnxd_status *take_input_values(onnxd_plan_builder *b, const onnxd_tensor_view *inputs)
{
    for (uint32_t i = 0; i < b->graph->input_count; i++) {
        const onnxd_value_id value = b->graph->inputs[i];
        const size_t bytes = onnxd_tensor_view_bytes(&inputs[i]);
        if (!b->model->inputs[i].value_decides_shapes || inputs[i].dtype == ONNXD_STRING)
            continue;
        if (bytes > b->model->options.max_shape_value_bytes)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "input '%s' for model '%s' decides shapes and may have at most %llu "
                               "bytes, got %zu",
                               b->model->inputs[i].name, b->model->name,
                               (unsigned long long)b->model->options.max_shape_value_bytes, bytes);
        ONNXD_TRY(onnxd_tensor_create(inputs[i].dtype, &inputs[i].shape, &b->known[value]));
        if (bytes > 0)
            memcpy(b->known[value]->data, onnxd_tensor_view_data(&inputs[i]), bytes);
    }
    return NULL;
}

static onnxd_status *find_types(onnxd_plan_builder *b, const onnxd_tensor_view *inputs)
{
    for (onnxd_value_id v = 0; v < b->graph->value_count; v++) {
        b->types[v] = (onnxd_tensor_type){.dtype = ONNXD_UNDEFINED, .shape = onnxd_shape_unknown()};
        b->roots[v] = v;
        b->input_of[v] = ONNXD_NONE;
        b->made_in[v] = ONNXD_NONE;
    }
    ONNXD_TRY(take_inputs(b, inputs));
    ONNXD_TRY(take_input_values(b, inputs));
    return onnxd_specialize(b->graph, b->model->options.max_shape_value_bytes, b->model->is_dynamic,
                            b->types, b->known);
}

/* ---- views of values ----------------------------------------------------------------------- */

static onnxd_status *find_roots(onnxd_plan_builder *b)
{
    for (onnxd_node_id n = 0; n < b->graph->node_count; n++) {
        const onnxd_node *node = &b->graph->nodes[n];
        char label[ONNXD_NODE_LABEL];
        size_t from_bytes, to_bytes;
        if (b->usage.roles[n] != ONNXD_NODE_VIEW)
            continue;
        ONNXD_TRY(onnxd_builder_bytes(b, node->inputs[0], &from_bytes));
        ONNXD_TRY(onnxd_builder_bytes(b, node->outputs[0], &to_bytes));
        if (from_bytes != to_bytes)
            return onnxd_error(ONNXD_INTERNAL, "%s makes %zu bytes of %zu",
                               onnxd_node_label(b->graph, node, label, sizeof(label)), to_bytes,
                               from_bytes);
        b->roots[node->outputs[0]] = b->roots[node->inputs[0]];
    }
    return NULL;
}

/* ---- what the plan keeps ------------------------------------------------------------------- */

static void keep_known(onnxd_plan_builder *b)
{
    uint32_t kept = 0;
    for (onnxd_value_id v = 0; v < b->graph->value_count; v++)
        if (b->known[v] != NULL)
            b->known[kept++] = b->known[v];
    onnxd_tensor **shrunk = onnxd_realloc_array(b->known, kept, sizeof(b->known[0]));
    b->plan->known = shrunk != NULL ? shrunk : b->known;
    b->plan->known_count = kept;
    b->known = NULL;
}

static void keep_output_types(onnxd_plan_builder *b)
{
    for (uint32_t i = 0; i < b->graph->output_count; i++)
        b->plan->output_types[i] = b->types[b->graph->outputs[i]];
}

/* ---- the builder --------------------------------------------------------------------------- */

static onnxd_status *builder_init(onnxd_plan_builder *b)
{
    const onnxd_graph *graph = b->graph;
    const size_t values = graph->value_count;
    b->plan = onnxd_alloc_zero(1, sizeof(*b->plan));
    if (b->plan == NULL)
        return onnxd_error_out_of_memory("a plan", sizeof(*b->plan), UINT64_MAX);
    atomic_init(&b->plan->references, 1);
    pthread_mutex_init(&b->plan->runs_mutex, NULL);
    b->plan->model = b->model;
    b->plan->tail.stage = ONNXD_NONE;
    b->plan->input_types = onnxd_alloc_zero(graph->input_count, sizeof(onnxd_tensor_type));
    b->plan->output_types = onnxd_alloc_zero(graph->output_count, sizeof(onnxd_tensor_type));
    b->types = onnxd_alloc_zero(values, sizeof(onnxd_tensor_type));
    b->known = onnxd_alloc_zero(values, sizeof(onnxd_tensor *));
    b->roots = onnxd_alloc_zero(values, sizeof(onnxd_value_id));
    b->input_of = onnxd_alloc_zero(values, sizeof(uint32_t));
    b->made_in = onnxd_alloc_zero(values, sizeof(uint32_t));
    b->locations = onnxd_alloc_zero(values * b->model->space_count, sizeof(onnxd_location));
    if (b->plan->input_types == NULL || b->plan->output_types == NULL || b->types == NULL ||
        b->known == NULL || b->roots == NULL || b->input_of == NULL || b->made_in == NULL ||
        b->locations == NULL)
        return onnxd_error_out_of_memory("a plan", values * sizeof(onnxd_tensor_type), UINT64_MAX);
    return NULL;
}

static void builder_deinit(onnxd_plan_builder *b)
{
    if (b->known != NULL)
        for (onnxd_value_id v = 0; v < b->graph->value_count; v++)
            onnxd_tensor_release(b->known[v]);
    onnxd_usage_deinit(&b->usage);
    onnxd_free(b->types);
    onnxd_free(b->known);
    onnxd_free(b->roots);
    onnxd_free(b->input_of);
    onnxd_free(b->made_in);
    onnxd_free(b->locations);
    onnxd_free(b->ranges);
    onnxd_free(b->uploads.items);
    onnxd_free(b->downloads.items);
    onnxd_free(b->ticks);
    onnxd_free(b->workspace_ranges);
    onnxd_builder_drop_sections(b);
    onnxd_query_maker_deinit(&b->queries);
}

static onnxd_status *build(onnxd_plan_builder *b, const onnxd_tensor_view *inputs)
{
    ONNXD_TRY(builder_init(b));
    ONNXD_TRY(find_types(b, inputs));
    ONNXD_TRY(onnxd_usage_find(b->graph, b->model->is_dynamic, b->known, &b->usage));
    ONNXD_TRY(find_roots(b));
    ONNXD_TRY(onnxd_query_maker_init(&b->queries, b->graph));
    ONNXD_TRY(onnxd_builder_find_sections(b));
    ONNXD_TRY(onnxd_builder_make_steps(b));
    ONNXD_TRY(onnxd_builder_share_memory(b));
    ONNXD_TRY(onnxd_builder_lay_out(b));
    ONNXD_TRY(onnxd_builder_make_views(b));
    keep_known(b);
    keep_output_types(b);
    return NULL;
}

onnxd_status *onnxd_plan_build(onnxd_model *model, const onnxd_tensor_view *inputs,
                               onnxd_plan **out_plan)
{
    onnxd_plan_builder b = {.model = model, .graph = model->graph};
    onnxd_status *status = build(&b, inputs);
    builder_deinit(&b);
    if (status != NULL) {
        onnxd_plan_release(b.plan);
        return status;
    }
    *out_plan = b.plan;
    return NULL;
}

#include "base/alloc.h"
#include "graph/internal.h"

void onnxd_derivation_deinit(onnxd_derivation *d)
{
    onnxd_free(d->types);
    d->types = NULL;
    onnxd_infer_scratch_deinit(&d->scratch);
    d->scratch = (onnxd_infer_scratch){0};
}

onnxd_status *onnxd_derivation_init(onnxd_derivation *d, const onnxd_graph *graph)
{
    *d = (onnxd_derivation){.graph = graph};
    d->capacity = (size_t)graph->value_count + graph->node_count + 1;
    ONNXD_TRY(onnxd_infer_scratch_init(&d->scratch, graph));
    d->types = onnxd_alloc_zero(d->capacity, sizeof(*d->types));
    if (d->types == NULL)
        return onnxd_error_out_of_memory("types of values", d->capacity * sizeof(*d->types),
                                         UINT64_MAX);
    for (uint32_t v = 0; v < graph->value_count; v++)
        d->types[v] = onnxd_type_without_symbols(&graph->values[v].type);
    /* A subgraph is run many times, on inputs of which only the declared types are the same. */
    for (uint32_t i = 0; graph->parent == NULL && i < graph->input_count; i++)
        d->types[graph->inputs[i]] = graph->values[graph->inputs[i]].type;
    return NULL;
}

static bool gather(onnxd_derivation *d, const onnxd_node *node)
{
    const uint32_t formals = node->input_count - node->capture_count;
    bool is_known = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_value_id value = node->inputs[i];
        d->scratch.inputs[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        d->scratch.constants[i] = NULL;
        if (value == ONNXD_NONE)
            continue;
        d->scratch.inputs[i] = d->types[value];
        d->scratch.constants[i] = d->graph->values[value].constant;
        is_known &= d->types[value].dtype != ONNXD_UNDEFINED || i >= formals;
    }
    return is_known;
}

/* What was inferred at load holds every static extent. */
static void take(onnxd_tensor_type *type, const onnxd_tensor_type *inferred)
{
    const onnxd_shape *shape = &inferred->shape;
    if (type->dtype == ONNXD_UNDEFINED) {
        type->dtype = inferred->dtype;
        type->kind = inferred->kind;
    }
    if (type->shape.rank == ONNXD_RANK_UNKNOWN)
        type->shape = *shape;
    for (int32_t i = 0; i < shape->rank && shape->rank == type->shape.rank; i++)
        if (!onnxd_dim_is_static(type->shape.dims[i]))
            type->shape.dims[i] = shape->dims[i];
}

onnxd_status *onnxd_derivation_step(onnxd_derivation *d, const onnxd_node *node)
{
    if (node->is_removed || node->def == NULL || !gather(d, node))
        return NULL;
    onnxd_status *status =
        onnxd_op_infer(node, d->scratch.inputs, d->scratch.constants, d->scratch.outputs);
    if (onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY)
        return status;
    for (uint32_t i = 0; status == NULL && i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE)
            take(&d->types[node->outputs[i]], &d->scratch.outputs[i]);
    /* What contradicts itself has been refused, or is in a subgraph that may never be run. */
    onnxd_status_free(status);
    return NULL;
}

onnxd_status *onnxd_derivation_run(onnxd_derivation *d, const onnxd_graph *graph)
{
    onnxd_status *status = onnxd_derivation_init(d, graph);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = onnxd_derivation_step(d, &graph->nodes[n]);
    return status;
}

#include "graph/subgraph.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

/* Owners of subgraphs ask here for the types of what they own, and some ask more than once, so that
 * the work grows by a factor with each level. */
#define MAX_DEPTH 3

typedef struct inference {
    const onnxd_graph *graph;
    onnxd_tensor_type *types; /* of all values */
    onnxd_infer_scratch scratch;
} inference;

onnxd_tensor_type onnxd_type_without_symbols(const onnxd_tensor_type *type)
{
    onnxd_tensor_type plain = *type;
    for (int32_t i = 0; i < plain.shape.rank; i++)
        if (!onnxd_dim_is_static(plain.shape.dims[i]))
            plain.shape.dims[i] = ONNXD_DIM_UNKNOWN;
    return plain;
}

void onnxd_node_subgraphs(const onnxd_node *node,
                          void (*visit)(onnxd_graph *subgraph, void *context), void *context)
{
    for (uint32_t a = 0; a < node->attribute_count; a++) {
        const onnxd_attribute *attribute = &node->attributes[a];
        if (attribute->kind == ONNXD_ATTRIBUTE_GRAPH)
            visit(attribute->value.graph, context);
        for (size_t i = 0; attribute->kind == ONNXD_ATTRIBUTE_GRAPHS && i < attribute->count; i++)
            visit(attribute->value.graphs[i], context);
    }
}

static uint32_t depth_of(const onnxd_graph *graph)
{
    uint32_t depth = 0;
    for (const onnxd_graph *outer = graph->parent; outer != NULL; outer = outer->parent)
        depth++;
    return depth;
}

static void take_declared(inference *in)
{
    for (uint32_t v = 0; v < in->graph->value_count; v++)
        in->types[v] = onnxd_type_without_symbols(&in->graph->values[v].type);
}

static void take_given(inference *in, const onnxd_tensor_type *node_inputs,
                       const onnxd_tensor_type *inputs)
{
    const onnxd_graph *graph = in->graph;
    for (uint32_t i = 0; i < graph->capture_count; i++) {
        const onnxd_tensor_type *given = &node_inputs[graph->captures[i].input];
        if (given->dtype != ONNXD_UNDEFINED)
            in->types[graph->captures[i].value] = *given;
    }
    for (uint32_t i = 0; inputs != NULL && i < graph->input_count; i++)
        if (inputs[i].dtype != ONNXD_UNDEFINED)
            in->types[graph->inputs[i]] = inputs[i];
}

/* What was inferred, and what is declared where that says nothing. */
static onnxd_tensor_type complete(const onnxd_tensor_type *inferred,
                                  const onnxd_tensor_type *declared)
{
    onnxd_tensor_type type = *inferred;
    if (type.dtype == ONNXD_UNDEFINED)
        return *declared;
    if (type.kind != declared->kind || declared->shape.rank == ONNXD_RANK_UNKNOWN)
        return type;
    if (type.shape.rank == ONNXD_RANK_UNKNOWN)
        type.shape = declared->shape;
    if (type.shape.rank != declared->shape.rank)
        return type;
    for (int32_t i = 0; i < type.shape.rank; i++)
        if (type.shape.dims[i] == ONNXD_DIM_UNKNOWN)
            type.shape.dims[i] = declared->shape.dims[i];
    return type;
}

/* Whether what the definition looks at is known. */
static bool gather(inference *in, const onnxd_node *node)
{
    const uint32_t formals = node->input_count - node->capture_count;
    for (uint32_t i = 0; i < node->input_count; i++) {
        in->scratch.inputs[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        in->scratch.constants[i] = NULL;
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        in->scratch.inputs[i] = in->types[node->inputs[i]];
        in->scratch.constants[i] = in->graph->values[node->inputs[i]].constant;
        if (in->scratch.inputs[i].dtype == ONNXD_UNDEFINED && i < formals)
            return false;
    }
    return true;
}

static onnxd_status *infer_node(inference *in, const onnxd_node *node)
{
    if (node->def == NULL || node->is_removed || !gather(in, node))
        return NULL;
    onnxd_status *status =
        onnxd_op_infer(node, in->scratch.inputs, in->scratch.constants, in->scratch.outputs);
    if (onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY)
        return status;
    for (uint32_t i = 0; i < node->output_count && status == NULL; i++)
        if (node->outputs[i] != ONNXD_NONE)
            in->types[node->outputs[i]] =
                complete(&in->scratch.outputs[i], &in->types[node->outputs[i]]);
    onnxd_status_free(status);
    return NULL;
}

static onnxd_status *infer_all(inference *in, const onnxd_tensor_type *node_inputs,
                               const onnxd_tensor_type *inputs)
{
    const onnxd_graph *graph = in->graph;
    in->types = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*in->types));
    if (in->types == NULL)
        return onnxd_error_out_of_memory(
            "types of a subgraph", (uint64_t)graph->value_count * sizeof(*in->types), UINT64_MAX);
    take_declared(in);
    if (depth_of(graph) > MAX_DEPTH)
        return NULL;
    take_given(in, node_inputs, inputs);
    ONNXD_TRY(onnxd_infer_scratch_init(&in->scratch, graph));
    for (uint32_t n = 0; n < graph->node_count; n++)
        ONNXD_TRY(infer_node(in, &graph->nodes[n]));
    return NULL;
}

onnxd_status *onnxd_graph_infer_outputs(const onnxd_graph *subgraph,
                                        const onnxd_tensor_type *node_inputs,
                                        const onnxd_tensor_type *inputs,
                                        onnxd_tensor_type *out_outputs)
{
    inference in = {.graph = subgraph};
    onnxd_status *status = infer_all(&in, node_inputs, inputs);
    for (uint32_t i = 0; i < subgraph->output_count && status == NULL; i++)
        out_outputs[i] = in.types[subgraph->outputs[i]];
    onnxd_infer_scratch_deinit(&in.scratch);
    onnxd_free(in.types);
    return status;
}

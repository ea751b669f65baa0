#include "model/query.h"

#include "base/alloc.h"

onnxd_status *onnxd_query_maker_init(onnxd_query_maker *maker, const onnxd_graph *graph)
{
    uint32_t inputs, outputs;
    onnxd_graph_widest(graph, &inputs, &outputs);
    const size_t widest = (size_t)inputs + outputs;
    *maker = (onnxd_query_maker){
        .graph = graph,
        .types = onnxd_alloc_zero(widest, sizeof(onnxd_tensor_type)),
        .constants = onnxd_alloc_zero(widest, sizeof(onnxd_tensor *)),
    };
    if (maker->types == NULL || maker->constants == NULL)
        return onnxd_error_out_of_memory("queries", widest * sizeof(onnxd_tensor_type), UINT64_MAX);
    return NULL;
}

void onnxd_query_maker_deinit(onnxd_query_maker *maker)
{
    onnxd_free(maker->types);
    onnxd_free(maker->constants);
    *maker = (onnxd_query_maker){.graph = NULL};
}

static onnxd_tensor_type type_of(const onnxd_query_maker *maker, onnxd_value_id value,
                                 const onnxd_tensor_type *types)
{
    if (value == ONNXD_NONE)
        return (onnxd_tensor_type){.dtype = ONNXD_UNDEFINED, .shape = onnxd_shape_unknown()};
    return types != NULL ? types[value] : maker->graph->values[value].type;
}

static onnxd_tensor *constant_of(const onnxd_query_maker *maker, onnxd_value_id value,
                                 onnxd_tensor *const *known)
{
    if (value == ONNXD_NONE)
        return NULL;
    onnxd_tensor *constant = maker->graph->values[value].constant;
    return constant != NULL || known == NULL ? constant : known[value];
}

onnxd_op_query onnxd_query_make(onnxd_query_maker *maker, const onnxd_node *node,
                                const onnxd_tensor_type *types, onnxd_tensor *const *known)
{
    onnxd_tensor_type *outputs = maker->types + node->input_count;
    for (uint32_t i = 0; i < node->input_count; i++) {
        maker->types[i] = type_of(maker, node->inputs[i], types);
        maker->constants[i] = constant_of(maker, node->inputs[i], known);
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        outputs[i] = type_of(maker, node->outputs[i], types);
    const onnxd_op_query query = {
        .node = node,
        .opset = node->opset,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = maker->types,
        .outputs = outputs,
        .constants = maker->constants,
    };
    return query;
}

bool onnxd_query_has_strings(const onnxd_op_query *query)
{
    for (uint32_t i = 0; i < query->input_count; i++)
        if (query->inputs[i].dtype == ONNXD_STRING)
            return true;
    for (uint32_t i = 0; i < query->output_count; i++)
        if (query->outputs[i].dtype == ONNXD_STRING)
            return true;
    return false;
}

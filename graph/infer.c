/*
 * Types of all values from the types of the inputs, merged with what the model declares.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

static onnxd_status *contradiction(const onnxd_value *value, const onnxd_tensor_type *inferred)
{
    char name[ONNXD_NAME_TEXT];
    char declared_text[ONNXD_SHAPE_TEXT];
    char inferred_text[ONNXD_SHAPE_TEXT];
    return onnxd_error(
        ONNXD_INVALID_ARGUMENT, "value '%s' is declared %s%s, but its node makes %s%s",
        onnxd_name_text(value->name, name, sizeof(name)), onnxd_dtype_name(value->type.dtype),
        onnxd_shape_format(&value->type.shape, declared_text, sizeof(declared_text)),
        onnxd_dtype_name(inferred->dtype),
        onnxd_shape_format(&inferred->shape, inferred_text, sizeof(inferred_text)));
}

/* What is known of a dimension from both sides; false when they contradict. A symbol that was
 * inferred follows from the inputs and so says more than a declared one. */
static bool merge_dim(int64_t declared, int64_t inferred, int64_t *out_dim)
{
    if (onnxd_dim_is_static(declared) && onnxd_dim_is_static(inferred) && declared != inferred)
        return false;
    if (onnxd_dim_is_static(declared) || inferred == ONNXD_DIM_UNKNOWN)
        *out_dim = declared;
    else
        *out_dim = inferred;
    return true;
}

static onnxd_status *merge(onnxd_value *value, const onnxd_tensor_type *inferred)
{
    onnxd_tensor_type *declared = &value->type;
    if (inferred->dtype == ONNXD_UNDEFINED)
        return NULL;
    if (value->type.kind != ONNXD_VALUE_TENSOR ||
        (declared->dtype != ONNXD_UNDEFINED && declared->dtype != inferred->dtype))
        return contradiction(value, inferred);
    onnxd_shape merged = inferred->shape;
    if (inferred->shape.rank == ONNXD_RANK_UNKNOWN) {
        merged = declared->shape;
    } else if (declared->shape.rank != ONNXD_RANK_UNKNOWN) {
        if (declared->shape.rank != inferred->shape.rank)
            return contradiction(value, inferred);
        for (int32_t i = 0; i < merged.rank; i++)
            if (!merge_dim(declared->shape.dims[i], inferred->shape.dims[i], &merged.dims[i]))
                return contradiction(value, inferred);
    }
    declared->dtype = inferred->dtype;
    declared->shape = merged;
    return NULL;
}

typedef struct scratch {
    onnxd_tensor_type *inputs;
    onnxd_tensor_type *outputs;
    const onnxd_tensor **constants;
} scratch;

static void scratch_deinit(scratch *s)
{
    union {
        const onnxd_tensor **typed;
        void *memory;
    } constants = {.typed = s->constants};
    onnxd_free(s->inputs);
    onnxd_free(s->outputs);
    onnxd_free(constants.memory);
}

static onnxd_status *scratch_init(scratch *s, const onnxd_graph *graph)
{
    memset(s, 0, sizeof(*s));
    uint32_t inputs;
    uint32_t outputs;
    onnxd_graph_widest(graph, &inputs, &outputs);
    s->inputs = onnxd_alloc_zero(inputs, sizeof(*s->inputs));
    s->outputs = onnxd_alloc_zero(outputs, sizeof(*s->outputs));
    s->constants = onnxd_alloc_zero(inputs, sizeof(*s->constants));
    if (s->inputs == NULL || s->outputs == NULL || s->constants == NULL)
        return onnxd_error_out_of_memory("shape inference", inputs * sizeof(*s->inputs),
                                         UINT64_MAX);
    return NULL;
}

/* Whether the node's inputs are known well enough to ask its definition. */
static bool gather_inputs(const onnxd_graph *graph, const onnxd_node *node, scratch *s)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        s->inputs[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        s->constants[i] = NULL;
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        const onnxd_value *value = &graph->values[node->inputs[i]];
        if (value->type.dtype == ONNXD_UNDEFINED || value->type.kind != ONNXD_VALUE_TENSOR)
            return false;
        s->inputs[i] = value->type;
        s->constants[i] = value->constant;
    }
    return true;
}

static onnxd_status *infer_node(onnxd_graph *graph, const onnxd_node *node, scratch *s)
{
    if (node->def == NULL || node->is_removed || !gather_inputs(graph, node, s))
        return NULL;
    onnxd_status *status = onnxd_op_infer(node, s->inputs, s->constants, s->outputs);
    if (status != NULL)
        return node->name[0] == '\0' ? onnxd_node_context(graph, node, status) : status;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        status = merge(&graph->values[node->outputs[i]], &s->outputs[i]);
        if (status != NULL)
            return onnxd_node_context(graph, node, status);
    }
    return NULL;
}

onnxd_status *onnxd_infer_shapes(onnxd_graph *graph)
{
    scratch s;
    onnxd_status *status = scratch_init(&s, graph);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = infer_node(graph, &graph->nodes[n], &s);
    scratch_deinit(&s);
    return status;
}

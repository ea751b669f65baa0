/*
 * Types of all values from the types of the inputs, merged with what the model declares.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

/* "float[2]", "sequence of float[2]". */
#define TYPE_TEXT (ONNXD_SHAPE_TEXT + 64)
static const char *type_text(const onnxd_tensor_type *type, char *buffer, size_t capacity)
{
    char shape[ONNXD_SHAPE_TEXT];
    bool is_tensor = type->kind == ONNXD_VALUE_TENSOR;
    (void)snprintf(buffer, capacity, "%s%s%s%s", is_tensor ? "" : onnxd_value_kind_name(type->kind),
                   is_tensor ? "" : " of ", onnxd_dtype_name(type->dtype),
                   onnxd_shape_format(&type->shape, shape, sizeof(shape)));
    return buffer;
}

static onnxd_status *contradiction(const onnxd_value *value, const onnxd_tensor_type *inferred)
{
    char name[ONNXD_NAME_TEXT];
    char declared[TYPE_TEXT];
    char made[TYPE_TEXT];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "value '%s' is declared %s, but its node makes %s",
                       onnxd_name_text(value->name, name, sizeof(name)),
                       type_text(&value->type, declared, sizeof(declared)),
                       type_text(inferred, made, sizeof(made)));
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

static bool merge_shape(const onnxd_shape *declared, const onnxd_shape *inferred,
                        onnxd_shape *out_shape)
{
    onnxd_shape merged = *inferred;
    if (inferred->rank == ONNXD_RANK_UNKNOWN) {
        merged = *declared;
    } else if (declared->rank != ONNXD_RANK_UNKNOWN) {
        if (declared->rank != inferred->rank)
            return false;
        for (int32_t i = 0; i < merged.rank; i++)
            if (!merge_dim(declared->dims[i], inferred->dims[i], &merged.dims[i]))
                return false;
    }
    *out_shape = merged;
    return true;
}

/* An optional may be declared where a node makes what it holds. */
static bool merge_kind(const onnxd_tensor_type *declared, onnxd_value_kind inferred,
                       onnxd_value_kind *out_kind)
{
    *out_kind = declared->kind;
    if (declared->kind == inferred ||
        (declared->kind == ONNXD_VALUE_OPTIONAL && inferred == ONNXD_VALUE_TENSOR) ||
        (declared->kind == ONNXD_VALUE_OPTIONAL_SEQUENCE &&
         (inferred == ONNXD_VALUE_SEQUENCE || inferred == ONNXD_VALUE_OPTIONAL)))
        return true;
    *out_kind = inferred;
    return declared->kind == ONNXD_VALUE_TENSOR && declared->dtype == ONNXD_UNDEFINED;
}

static onnxd_status *merge(onnxd_value *value, const onnxd_tensor_type *inferred)
{
    const onnxd_tensor_type *declared = &value->type;
    onnxd_tensor_type merged = *inferred;
    if (inferred->dtype == ONNXD_UNDEFINED && inferred->kind == ONNXD_VALUE_TENSOR)
        return NULL;
    bool fits = merge_kind(declared, inferred->kind, &merged.kind) &&
                merge_shape(&declared->shape, &inferred->shape, &merged.shape);
    if (inferred->dtype == ONNXD_UNDEFINED)
        merged.dtype = declared->dtype;
    else if (declared->dtype != ONNXD_UNDEFINED && declared->dtype != inferred->dtype)
        fits = false;
    if (!fits)
        return contradiction(value, inferred);
    value->type = merged;
    return NULL;
}

void onnxd_infer_scratch_deinit(onnxd_infer_scratch *s)
{
    union {
        const onnxd_tensor **typed;
        void *memory;
    } constants = {.typed = s->constants};
    onnxd_free(s->inputs);
    onnxd_free(s->outputs);
    onnxd_free(constants.memory);
}

onnxd_status *onnxd_infer_scratch_init(onnxd_infer_scratch *s, const onnxd_graph *graph)
{
    uint32_t inputs;
    uint32_t outputs;
    memset(s, 0, sizeof(*s));
    onnxd_graph_widest(graph, &inputs, &outputs);
    s->inputs = onnxd_alloc_zero(inputs, sizeof(*s->inputs));
    s->outputs = onnxd_alloc_zero(outputs, sizeof(*s->outputs));
    s->constants = onnxd_alloc_zero(inputs, sizeof(*s->constants));
    if (s->inputs == NULL || s->outputs == NULL || s->constants == NULL)
        return onnxd_error_out_of_memory("shape inference", inputs * sizeof(*s->inputs),
                                         UINT64_MAX);
    return NULL;
}

/* Whether the node's inputs are known well enough to ask its definition, which does not look at
 * captures. */
static bool gather_inputs(const onnxd_graph *graph, const onnxd_node *node, onnxd_infer_scratch *s)
{
    const uint32_t formals = node->input_count - node->capture_count;
    bool is_known = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        s->inputs[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        s->constants[i] = NULL;
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        const onnxd_value *value = &graph->values[node->inputs[i]];
        is_known &= value->type.dtype != ONNXD_UNDEFINED || i >= formals;
        s->inputs[i] = value->type;
        s->constants[i] = value->constant;
    }
    return is_known;
}

typedef struct visit_context {
    const onnxd_infer_scratch *owner; /* what its inputs are */
    onnxd_status *status;
} visit_context;

/* A subgraph's own inference, for its passes: captures have the types of what is captured. Values
 * may turn out to be no tensors, which nothing declared. Recursion ends at the loader's limit on
 * nested subgraphs. */
static void infer_subgraph(onnxd_graph *subgraph, void *context) // NOLINT(misc-no-recursion)
{
    visit_context *c = context;
    for (uint32_t i = 0; i < subgraph->capture_count; i++) {
        onnxd_value *value = &subgraph->values[subgraph->captures[i].value];
        const onnxd_tensor_type *outer = &c->owner->inputs[subgraph->captures[i].input];
        if (value->constant == NULL && outer->dtype != ONNXD_UNDEFINED)
            value->type = onnxd_type_without_symbols(outer);
    }
    if (c->status == NULL)
        c->status = onnxd_infer_shapes(subgraph);
}

static onnxd_status *infer_subgraphs(const onnxd_node *node, const onnxd_infer_scratch *s)
{
    visit_context context = {.owner = s};
    onnxd_node_subgraphs(node, infer_subgraph, &context);
    return context.status;
}

static onnxd_status *infer_outputs(onnxd_graph *graph, const onnxd_node *node,
                                   onnxd_infer_scratch *s)
{
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

static onnxd_status *infer_node(onnxd_graph *graph, const onnxd_node *node, onnxd_infer_scratch *s)
{
    if (node->is_removed)
        return NULL;
    bool is_known = gather_inputs(graph, node, s);
    ONNXD_TRY(infer_subgraphs(node, s));
    if (node->def == NULL || !is_known)
        return NULL;
    onnxd_status *status = infer_outputs(graph, node, s);
    /* What a subgraph does is wrong only when it is run, and a branch may never be. */
    if (graph->parent == NULL || onnxd_status_code(status) == ONNXD_OUT_OF_MEMORY)
        return status;
    onnxd_status_free(status);
    return NULL;
}

onnxd_status *onnxd_infer_shapes(onnxd_graph *graph)
{
    onnxd_infer_scratch s;
    onnxd_status *status = onnxd_infer_scratch_init(&s, graph);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = infer_node(graph, &graph->nodes[n], &s);
    onnxd_infer_scratch_deinit(&s);
    return status;
}

/*
 * Nodes whose inputs are all known become constants, computed by the portable kernels. Bounded
 * three ways: bytes of one result, bytes of all results, and work, since a small model can describe
 * long computations.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

typedef struct fold {
    onnxd_graph *graph;
    onnxd_graph *root; /* the outermost graph, whose budget all share */
    const onnxd_pass_env *env;
    const onnxd_tensor **inputs;
    onnxd_tensor_type *types;
    onnxd_tensor_type *output_types;
    onnxd_tensor **outputs;
    uint32_t changes;
} fold;

static void notice(onnxd_graph *subgraph, void *context)
{
    bool *has_any = context;
    (void)subgraph;
    *has_any = true;
}

static bool has_subgraph(const onnxd_node *node)
{
    bool has_any = false;
    onnxd_node_subgraphs(node, notice, &has_any);
    return has_any;
}

/* Whether all inputs are known, at least as far as the operator looks at them. */
static bool gather(fold *f, const onnxd_node *node)
{
    bool types_only = onnxd_node_needs_types_only(node);
    for (uint32_t i = 0; i < node->input_count; i++) {
        f->inputs[i] = NULL;
        f->types[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        const onnxd_value *value = &f->graph->values[node->inputs[i]];
        f->inputs[i] = value->constant;
        f->types[i] = value->type;
        bool is_static =
            value->type.dtype != ONNXD_UNDEFINED && onnxd_shape_is_static(&value->type.shape);
        if (value->constant == NULL && (!types_only || !is_static))
            return false;
    }
    return true;
}

/* False when the result would pass a budget: the node then stays. */
static bool charge(fold *f, const onnxd_node *node)
{
    onnxd_evaluation_cost cost = onnxd_node_evaluation_cost(node, f->inputs, f->output_types);
    uint64_t bytes = onnxd_saturating_add(cost.bytes, f->root->folded_bytes);
    uint64_t work = onnxd_saturating_add(cost.work, f->root->folding_work);
    if (cost.largest_bytes > f->env->fold_max_node_bytes || bytes > f->env->fold_max_total_bytes ||
        work > ONNXD_EVALUATION_MAX_WORK)
        return false;
    f->root->folded_bytes = bytes;
    f->root->folding_work = work;
    return true;
}

/* How long strings are shows when they are there, and so do sizes that follow from data. */
static void charge_made(fold *f, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (f->outputs[i] == NULL)
            continue;
        uint64_t bytes = onnxd_tensor_string_bytes(f->outputs[i]);
        if (!onnxd_shape_is_static(&f->output_types[i].shape))
            bytes = onnxd_saturating_add(bytes, f->outputs[i]->bytes);
        f->root->folded_bytes = onnxd_saturating_add(f->root->folded_bytes, bytes);
    }
}

static void replace(fold *f, onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != ONNXD_NONE)
            onnxd_graph_set_constant(f->graph, node->outputs[i], f->outputs[i]);
        onnxd_tensor_release(f->outputs[i]);
    }
    node->is_removed = true;
    f->changes++;
}

/* A constant's tensor is there already, whatever its size. */
static bool take_constant(fold *f, onnxd_node *node)
{
    if (strcmp(node->op_type, "Constant") != 0 || node->output_count != 1 ||
        node->outputs[0] == ONNXD_NONE)
        return false;
    const onnxd_attribute *attribute = node->attributes;
    if (node->attribute_count != 1 || (attribute->kind != ONNXD_ATTRIBUTE_TENSOR &&
                                       attribute->kind != ONNXD_ATTRIBUTE_SPARSE_TENSOR))
        return false;
    union {
        const onnxd_tensor *shared;
        onnxd_tensor *counted;
    } tensor = {.shared = attribute->value.tensor};
    f->outputs[0] = onnxd_tensor_retain(tensor.counted);
    replace(f, node);
    return true;
}

static bool makes_tensors(const fold *f, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (f->output_types[i].kind != ONNXD_VALUE_TENSOR)
            return false;
    return true;
}

static bool is_kept(const fold *f, const onnxd_node *node)
{
    return f->env->keeps_quantized && strcmp(node->op_type, "DequantizeLinear") == 0;
}

static onnxd_status *fold_node(fold *f, onnxd_node *node)
{
    const onnxd_op_def *def = node->def;
    if (def == NULL || is_kept(f, node) || node->is_removed || def->is_nondeterministic ||
        (def->compute == NULL && def->run == NULL) || has_subgraph(node) || !gather(f, node))
        return NULL;
    if (node->domain[0] == '\0' && take_constant(f, node))
        return NULL;
    onnxd_status *status = onnxd_op_infer(node, f->types, f->inputs, f->output_types);
    if (status == NULL && (!makes_tensors(f, node) || !charge(f, node)))
        return NULL;
    if (status == NULL) {
        memset(f->outputs, 0, node->output_count * sizeof(onnxd_tensor *));
        status = onnxd_op_evaluate_types(node, f->types, f->inputs,
                                         (size_t)f->env->fold_max_node_bytes, f->outputs);
    }
    onnxd_code code = onnxd_status_code(status);
    if (code == ONNXD_OK) {
        charge_made(f, node);
        replace(f, node);
    } else if (code == ONNXD_UNIMPLEMENTED || code == ONNXD_RESOURCE_EXHAUSTED ||
               (f->root != f->graph && code != ONNXD_OUT_OF_MEMORY)) {
        /* Beyond the portable kernel: a provider may still run the node. And what is wrong in a
         * subgraph is wrong only when that is run. */
        onnxd_status_free(status);
        status = NULL;
    }
    return node->name[0] == '\0' ? onnxd_node_context(f->graph, node, status) : status;
}

static void *scratch(size_t count, size_t element_bytes, onnxd_status **status)
{
    void *memory = onnxd_alloc_zero(count, element_bytes);
    if (memory == NULL && *status == NULL)
        *status = onnxd_error_out_of_memory("constant folding", count * element_bytes, UINT64_MAX);
    return memory;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    fold f = {.graph = graph, .root = graph, .env = env};
    while (f.root->parent != NULL)
        f.root = f.root->parent;
    uint32_t inputs;
    uint32_t outputs;
    onnxd_graph_widest(graph, &inputs, &outputs);
    onnxd_status *status = NULL;
    void *input_tensors = scratch(inputs, sizeof(onnxd_tensor *), &status);
    f.inputs = input_tensors;
    f.types = scratch(inputs, sizeof(*f.types), &status);
    f.output_types = scratch(outputs, sizeof(*f.output_types), &status);
    f.outputs = scratch(outputs, sizeof(onnxd_tensor *), &status);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = fold_node(&f, &graph->nodes[n]);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    onnxd_free(input_tensors);
    onnxd_free(f.types);
    onnxd_free(f.output_types);
    onnxd_free(f.outputs);
    if (status == NULL)
        *out_changes = f.changes;
    return status;
}

const onnxd_pass onnxd_pass_fold_constants = {
    .name = "fold_constants",
    .summary = "compute nodes whose inputs are all constant at load",
    .run = run,
};

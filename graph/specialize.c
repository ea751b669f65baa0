/*
 * Concrete types of all values for one set of input shapes. Values that shapes depend on are
 * evaluated on the way; which ones those are follows from the graph alone.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

/* needed[v]: some shape depends on the value of v. One sweep from the last node to the first. */
static void mark_needed(const onnxd_graph *graph, bool *needed)
{
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const onnxd_node *node = &graph->nodes[n];
        if (node->def == NULL)
            continue;
        bool is_needed = false;
        for (uint32_t i = 0; i < node->output_count; i++)
            is_needed |= node->outputs[i] != ONNXD_NONE && needed[node->outputs[i]];
        bool all_inputs = is_needed && !onnxd_node_needs_types_only(node);
        for (uint32_t i = 0; i < node->input_count; i++) {
            bool is_shape_input = i < 32 && ((node->def->shape_inputs >> i) & 1) != 0;
            if (node->inputs[i] != ONNXD_NONE && (all_inputs || is_shape_input))
                needed[node->inputs[i]] = true;
        }
    }
}

typedef struct specializer {
    const onnxd_graph *graph;
    size_t max_bytes;
    onnxd_tensor_type *types;
    onnxd_tensor **known;
    bool *needed;
    onnxd_tensor_type *input_types;
    const onnxd_tensor **input_values;
    onnxd_tensor_type *output_types;
    onnxd_tensor **outputs;
} specializer;

static const onnxd_tensor *value_of(const specializer *s, onnxd_value_id value)
{
    const onnxd_tensor *constant = s->graph->values[value].constant;
    return constant != NULL ? constant : s->known[value];
}

static onnxd_status *gather(specializer *s, const onnxd_node *node, bool *out_all_known)
{
    bool all_known = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        s->input_types[i] = (onnxd_tensor_type){.shape = onnxd_shape_unknown()};
        s->input_values[i] = NULL;
        onnxd_value_id input = node->inputs[i];
        if (input == ONNXD_NONE)
            continue;
        const onnxd_value *value = &s->graph->values[input];
        if (value->kind != ONNXD_VALUE_TENSOR || s->types[input].dtype == ONNXD_UNDEFINED)
            return onnxd_error(ONNXD_UNIMPLEMENTED, "the type of input %u is not known", i);
        s->input_types[i] = s->types[input];
        s->input_values[i] = value_of(s, input);
        all_known &= s->input_values[i] != NULL;
    }
    *out_all_known = all_known || onnxd_node_needs_types_only(node);
    return NULL;
}

static onnxd_status *set_output_types(specializer *s, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        const onnxd_tensor_type *type = &s->output_types[i];
        if (type->dtype == ONNXD_UNDEFINED || !onnxd_shape_is_static(&type->shape)) {
            char label[ONNXD_NODE_LABEL];
            return onnxd_error(ONNXD_UNIMPLEMENTED,
                               "%s: the shape of output %u depends on data that only running the "
                               "model could tell",
                               onnxd_node_label(s->graph, node, label, sizeof(label)), i);
        }
        s->types[node->outputs[i]] = *type;
    }
    return NULL;
}

static bool is_needed(const specializer *s, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE && s->needed[node->outputs[i]])
            return true;
    return false;
}

static onnxd_status *evaluate(specializer *s, const onnxd_node *node)
{
    memset(s->outputs, 0, node->output_count * sizeof(onnxd_tensor *));
    ONNXD_TRY(
        onnxd_op_evaluate_types(node, s->input_types, s->input_values, s->max_bytes, s->outputs));
    for (uint32_t i = 0; i < node->output_count; i++) {
        onnxd_value_id output = node->outputs[i];
        if (output == ONNXD_NONE || s->known[output] != NULL)
            onnxd_tensor_release(s->outputs[i]);
        else
            s->known[output] = s->outputs[i];
    }
    return NULL;
}

static onnxd_status *specialize_node(specializer *s, const onnxd_node *node)
{
    bool all_known;
    onnxd_status *status = gather(s, node, &all_known);
    if (status != NULL)
        return onnxd_node_context(s->graph, node, status);
    status = onnxd_op_infer(node, s->input_types, s->input_values, s->output_types);
    if (status == NULL)
        status = set_output_types(s, node);
    if (status == NULL && all_known && is_needed(s, node) && node->def->compute != NULL &&
        !node->def->is_nondeterministic)
        status = evaluate(s, node);
    return status;
}

static onnxd_status *specializer_init(specializer *s)
{
    const onnxd_graph *graph = s->graph;
    size_t inputs = 1;
    size_t outputs = 1;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].input_count > inputs)
            inputs = graph->nodes[n].input_count;
        if (graph->nodes[n].output_count > outputs)
            outputs = graph->nodes[n].output_count;
    }
    s->needed = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*s->needed));
    s->input_types = onnxd_alloc_zero(inputs, sizeof(*s->input_types));
    s->input_values = onnxd_alloc_zero(inputs, sizeof(onnxd_tensor *));
    s->output_types = onnxd_alloc_zero(outputs, sizeof(*s->output_types));
    s->outputs = onnxd_alloc_zero(outputs, sizeof(onnxd_tensor *));
    if (s->needed == NULL || s->input_types == NULL || s->input_values == NULL ||
        s->output_types == NULL || s->outputs == NULL)
        return onnxd_error_out_of_memory("specialization", graph->value_count, UINT64_MAX);
    return NULL;
}

static void specializer_deinit(specializer *s)
{
    union {
        const onnxd_tensor **typed;
        void *memory;
    } values = {.typed = s->input_values};
    onnxd_free(s->needed);
    onnxd_free(s->input_types);
    onnxd_free(values.memory);
    onnxd_free(s->output_types);
    onnxd_free(s->outputs);
}

static onnxd_status *check_inputs(const specializer *s)
{
    const onnxd_graph *graph = s->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        onnxd_value_id input = graph->inputs[i];
        if (s->types[input].dtype != ONNXD_UNDEFINED &&
            onnxd_shape_is_static(&s->types[input].shape))
            continue;
        char name[ONNXD_NAME_TEXT];
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "graph input '%s' has no static shape",
                           onnxd_name_text(graph->values[input].name, name, sizeof(name)));
    }
    return NULL;
}

onnxd_status *onnxd_specialize(const onnxd_graph *graph, size_t max_bytes, onnxd_tensor_type *types,
                               onnxd_tensor **known)
{
    specializer s = {.graph = graph, .max_bytes = max_bytes, .types = types, .known = known};
    onnxd_status *status = specializer_init(&s);
    if (status == NULL)
        status = check_inputs(&s);
    if (status == NULL)
        mark_needed(graph, s.needed);
    for (uint32_t v = 0; v < graph->value_count && status == NULL; v++)
        if (graph->values[v].constant != NULL)
            types[v] = graph->values[v].type;
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = specialize_node(&s, &graph->nodes[n]);
    specializer_deinit(&s);
    return status;
}

onnxd_status *onnxd_shape_value_inputs(const onnxd_graph *graph, bool *needs_value)
{
    bool *needed = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*needed));
    if (needed == NULL)
        return onnxd_error_out_of_memory("shape inputs", graph->value_count, UINT64_MAX);
    mark_needed(graph, needed);
    for (uint32_t i = 0; i < graph->input_count; i++)
        needs_value[i] = needed[graph->inputs[i]];
    onnxd_free(needed);
    return NULL;
}

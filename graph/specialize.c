/*
 * Concrete types of all values for one set of input shapes. Values that shapes depend on are
 * evaluated on the way; which ones those are follows from the graph alone.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

static bool is_left_out(const bool *is_dynamic, onnxd_node_id node)
{
    return is_dynamic != NULL && is_dynamic[node];
}

/* needed[v]: some shape depends on the value of v. One sweep from the last node to the first. */
static void mark_needed(const onnxd_graph *graph, const bool *is_dynamic, bool *needed)
{
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const onnxd_node *node = &graph->nodes[n];
        if (node->def == NULL || is_left_out(is_dynamic, n))
            continue;
        bool is_needed = false;
        for (uint32_t i = 0; i < node->output_count; i++)
            is_needed |= node->outputs[i] != ONNXD_NONE && needed[node->outputs[i]];
        bool all_inputs = is_needed && !onnxd_node_needs_types_only(node);
        uint32_t formals = node->input_count - node->capture_count;
        for (uint32_t i = 0; i < node->input_count; i++) {
            bool is_shape_input =
                i < 32 && i < formals && ((node->def->shape_inputs >> i) & 1) != 0;
            if (node->inputs[i] != ONNXD_NONE && (all_inputs || is_shape_input))
                needed[node->inputs[i]] = true;
        }
    }
}

/* Evaluated values that are alive together may take this many times what one may. */
#define MAX_LIVE_FACTOR 16

typedef struct specializer {
    const onnxd_graph *graph;
    const bool *is_dynamic;
    size_t max_bytes;
    uint64_t live_bytes, max_live_bytes; /* of evaluated values */
    uint64_t work;
    onnxd_tensor_type *types;
    onnxd_tensor **known;
    bool *needed;
    uint32_t *readers; /* nodes that may still ask for a value; others that need it count too */
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
        if (value->type.kind != ONNXD_VALUE_TENSOR || s->types[input].dtype == ONNXD_UNDEFINED)
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

/* Before a node is evaluated. */
static onnxd_status *charge(specializer *s, const onnxd_node *node)
{
    char label[ONNXD_NODE_LABEL];
    onnxd_evaluation_cost cost = onnxd_node_evaluation_cost(node, s->input_values, s->output_types);
    s->work = onnxd_saturating_add(s->work, cost.work);
    if (s->work > ONNXD_EVALUATION_MAX_WORK)
        return onnxd_error(
            ONNXD_RESOURCE_EXHAUSTED,
            "%s: the values that shapes depend on take more than %" PRIu64 " elements to evaluate",
            onnxd_node_label(s->graph, node, label, sizeof(label)), ONNXD_EVALUATION_MAX_WORK);
    if (onnxd_saturating_add(s->live_bytes, cost.bytes) > s->max_live_bytes)
        return onnxd_error(
            ONNXD_RESOURCE_EXHAUSTED,
            "%s: the values that shapes depend on take more than %" PRIu64 " bytes together",
            onnxd_node_label(s->graph, node, label, sizeof(label)), s->max_live_bytes);
    return NULL;
}

static uint64_t bytes_of(const onnxd_tensor *tensor)
{
    return onnxd_saturating_add(tensor->bytes, onnxd_tensor_string_bytes(tensor));
}

static void forget(specializer *s, onnxd_value_id value)
{
    s->live_bytes -= bytes_of(s->known[value]);
    onnxd_tensor_release(s->known[value]);
    s->known[value] = NULL;
}

/* The node needs its inputs no more; values that nobody else reads end. */
static void drop_inputs(specializer *s, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        onnxd_value_id input = node->inputs[i];
        if (input == ONNXD_NONE)
            continue;
        s->readers[input]--;
        if (s->readers[input] == 0 && s->known[input] != NULL)
            forget(s, input);
    }
}

static onnxd_status *evaluate(specializer *s, const onnxd_node *node)
{
    ONNXD_TRY(charge(s, node));
    memset(s->outputs, 0, node->output_count * sizeof(onnxd_tensor *));
    ONNXD_TRY(
        onnxd_op_evaluate_types(node, s->input_types, s->input_values, s->max_bytes, s->outputs));
    for (uint32_t i = 0; i < node->output_count; i++) {
        onnxd_value_id output = node->outputs[i];
        if (output == ONNXD_NONE || s->known[output] != NULL || s->readers[output] == 0) {
            onnxd_tensor_release(s->outputs[i]);
            continue;
        }
        s->known[output] = s->outputs[i];
        s->live_bytes = onnxd_saturating_add(s->live_bytes, bytes_of(s->outputs[i]));
    }
    drop_inputs(s, node);
    return NULL;
}

static onnxd_status *specialize_node(specializer *s, const onnxd_node *node)
{
    bool all_known;
    onnxd_status *status = gather(s, node, &all_known);
    if (status == NULL)
        status = onnxd_op_infer(node, s->input_types, s->input_values, s->output_types);
    if (status == NULL)
        status = set_output_types(s, node);
    if (status == NULL && all_known && is_needed(s, node) && node->def->compute != NULL &&
        !node->def->is_nondeterministic)
        status = evaluate(s, node);
    return onnxd_node_context(s->graph, node, status);
}

static onnxd_status *specializer_init(specializer *s)
{
    const onnxd_graph *graph = s->graph;
    uint32_t inputs;
    uint32_t outputs;
    onnxd_graph_widest(graph, &inputs, &outputs);
    s->max_live_bytes = UINT64_MAX;
    if (s->max_bytes < UINT64_MAX / MAX_LIVE_FACTOR)
        s->max_live_bytes = (uint64_t)s->max_bytes * MAX_LIVE_FACTOR;
    s->needed = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*s->needed));
    s->readers = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*s->readers));
    s->input_types = onnxd_alloc_zero(inputs, sizeof(*s->input_types));
    s->input_values = onnxd_alloc_zero(inputs, sizeof(onnxd_tensor *));
    s->output_types = onnxd_alloc_zero(outputs, sizeof(*s->output_types));
    s->outputs = onnxd_alloc_zero(outputs, sizeof(onnxd_tensor *));
    if (s->needed == NULL || s->readers == NULL || s->input_types == NULL ||
        s->input_values == NULL || s->output_types == NULL || s->outputs == NULL)
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
    onnxd_free(s->readers);
    onnxd_free(s->input_types);
    onnxd_free(values.memory);
    onnxd_free(s->output_types);
    onnxd_free(s->outputs);
}

/* Counts who needs which value. What a graph output or the caller holds is never dropped, nor what
 * a node reads that is left out. */
static void count_readers(specializer *s)
{
    const onnxd_graph *graph = s->graph;
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].is_output || s->known[v] != NULL)
            s->readers[v] = 1;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] != ONNXD_NONE)
                s->readers[graph->nodes[n].inputs[i]]++;
}

static onnxd_status *check_inputs(const specializer *s)
{
    const onnxd_graph *graph = s->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        onnxd_value_id input = graph->inputs[i];
        if (s->types[input].dtype != ONNXD_UNDEFINED &&
            onnxd_shape_is_static(&s->types[input].shape))
            continue;
        if (s->is_dynamic != NULL && graph->values[input].type.kind != ONNXD_VALUE_TENSOR)
            continue;
        char name[ONNXD_NAME_TEXT];
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "graph input '%s' has no static shape",
                           onnxd_name_text(graph->values[input].name, name, sizeof(name)));
    }
    return NULL;
}

static void take_inferred_types(specializer *s, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE)
            s->types[node->outputs[i]] = s->graph->values[node->outputs[i]].type;
}

static onnxd_status *specialize_all(specializer *s)
{
    const onnxd_graph *graph = s->graph;
    mark_needed(graph, s->is_dynamic, s->needed);
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].constant != NULL)
            s->types[v] = graph->values[v].type;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (is_left_out(s->is_dynamic, n))
            take_inferred_types(s, &graph->nodes[n]);
        else
            ONNXD_TRY(specialize_node(s, &graph->nodes[n]));
    }
    return NULL;
}

onnxd_status *onnxd_specialize(const onnxd_graph *graph, size_t max_bytes, const bool *is_dynamic,
                               onnxd_tensor_type *types, onnxd_tensor **known)
{
    specializer s = {.graph = graph,
                     .is_dynamic = is_dynamic,
                     .max_bytes = max_bytes,
                     .types = types,
                     .known = known};
    onnxd_status *status = specializer_init(&s);
    if (status == NULL)
        status = check_inputs(&s);
    if (status == NULL) {
        count_readers(&s);
        status = specialize_all(&s);
    }
    specializer_deinit(&s);
    return status;
}

onnxd_status *onnxd_shape_value_inputs(const onnxd_graph *graph, const bool *is_dynamic,
                                       bool *needs_value)
{
    bool *needed = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*needed));
    if (needed == NULL)
        return onnxd_error_out_of_memory("shape inputs", graph->value_count, UINT64_MAX);
    mark_needed(graph, is_dynamic, needed);
    for (uint32_t i = 0; i < graph->input_count; i++)
        needs_value[i] = needed[graph->inputs[i]];
    onnxd_free(needed);
    return NULL;
}

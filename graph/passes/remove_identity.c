/*
 * Nodes that hand their input on unchanged: Identity, and Dropout as it is in inference. The names
 * of graph outputs stay: where a node's output is one, its input's producer makes that output.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/passes.h"

/* Opset 12 made training an input; before 7 an attribute said that it is inference. */
#define DROPOUT_TRAINING_INPUT_SINCE 12
#define DROPOUT_TEST_ATTRIBUTE_UNTIL 6

static bool is_false(const onnxd_tensor *tensor)
{
    return tensor->dtype == ONNXD_BOOL && tensor->count == 1 &&
           *(const unsigned char *)tensor->data == 0;
}

static bool is_inference_dropout(const onnxd_graph *graph, const onnxd_node *node)
{
    if (node->output_count > 1 && node->outputs[1] != ONNXD_NONE)
        return false;
    if (node->opset <= DROPOUT_TEST_ATTRIBUTE_UNTIL) {
        const onnxd_attribute *is_test = onnxd_node_attribute(node, "is_test");
        return is_test != NULL && is_test->kind == ONNXD_ATTRIBUTE_INT && is_test->value.i != 0;
    }
    if (node->opset < DROPOUT_TRAINING_INPUT_SINCE || node->input_count < 3 ||
        node->inputs[2] == ONNXD_NONE)
        return true;
    const onnxd_tensor *training = graph->values[node->inputs[2]].constant;
    return training != NULL && is_false(training);
}

static bool hands_on(const onnxd_graph *graph, const onnxd_node *node)
{
    if (node->def == NULL || node->domain[0] != '\0' || node->input_count == 0 ||
        node->output_count == 0 || node->inputs[0] == ONNXD_NONE || node->outputs[0] == ONNXD_NONE)
        return false;
    if (strcmp(node->op_type, "Identity") == 0)
        return true;
    return strcmp(node->op_type, "Dropout") == 0 && is_inference_dropout(graph, node);
}

typedef struct rewrite {
    onnxd_graph *graph;
    onnxd_value_id *replacement; /* what each value has become; itself while unchanged */
    uint32_t changes;
} rewrite;

/* The producer of `input` makes `output` instead, if nothing fixes the name of `input`. */
static bool move_output(rewrite *r, onnxd_value_id input, onnxd_value_id output)
{
    onnxd_value *source = &r->graph->values[input];
    if (source->producer == ONNXD_NONE || source->is_output)
        return false;
    onnxd_node *producer = &r->graph->nodes[source->producer];
    for (uint32_t i = 0; i < producer->output_count; i++)
        if (producer->outputs[i] == input)
            producer->outputs[i] = output;
    r->graph->values[output].producer = source->producer;
    source->producer = ONNXD_NONE;
    /* Whatever reads the input reads the output; that includes values mapped to it earlier. */
    r->replacement[input] = output;
    return true;
}

static void visit(rewrite *r, onnxd_node *node)
{
    if (!hands_on(r->graph, node))
        return;
    onnxd_value_id output = node->outputs[0];
    onnxd_value_id input = r->replacement[node->inputs[0]];
    bool is_named = r->graph->values[output].is_output;
    if (is_named && !move_output(r, input, output))
        return;
    if (!is_named)
        r->replacement[output] = input;
    node->is_removed = true;
    r->changes++;
}

/* A value may have become one that has moved since. */
static void settle(rewrite *r)
{
    for (uint32_t v = 0; v < r->graph->value_count; v++)
        while (r->replacement[v] != r->replacement[r->replacement[v]])
            r->replacement[v] = r->replacement[r->replacement[v]];
}

static onnxd_status *rewrite_all(rewrite *r)
{
    onnxd_graph *graph = r->graph;
    for (uint32_t v = 0; v < graph->value_count; v++)
        r->replacement[v] = v;
    for (uint32_t n = 0; n < graph->node_count; n++)
        visit(r, &graph->nodes[n]);
    settle(r);
    onnxd_graph_replace_all(graph, r->replacement);
    return onnxd_graph_compact(graph);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    rewrite r = {.graph = graph};
    size_t count = (size_t)graph->value_count + 1;
    onnxd_status *status = NULL;
    r.replacement = onnxd_alloc_zero(count, sizeof(*r.replacement));
    if (r.replacement == NULL)
        status = onnxd_error_out_of_memory("replacement of values", count * sizeof(*r.replacement),
                                           UINT64_MAX);
    if (status == NULL)
        status = rewrite_all(&r);
    onnxd_free(r.replacement);
    if (status == NULL)
        *out_changes = r.changes;
    return status;
}

const onnxd_pass onnxd_pass_remove_identity = {
    .name = "remove_identity",
    .summary = "drop nodes that hand their input on unchanged",
    .run = run,
};

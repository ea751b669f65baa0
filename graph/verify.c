#include "graph/graph.h"

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/name_map.h"

static onnxd_status *node_error(const onnxd_graph *graph, const onnxd_node *node, const char *what,
                                onnxd_value_id value)
{
    char label[ONNXD_NODE_LABEL];
    char name[ONNXD_NAME_TEXT];
    const char *text = value < graph->value_count
                           ? onnxd_name_text(graph->values[value].name, name, sizeof(name))
                           : "?";
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: value '%s' %s",
                       onnxd_node_label(graph, node, label, sizeof(label)), text, what);
}

/* Whether something says what the value is: a node, the caller, a constant, the enclosing graph. */
static bool is_given(const onnxd_graph *graph, onnxd_value_id id, const bool *produced)
{
    const onnxd_value *value = &graph->values[id];
    return value->producer != ONNXD_NONE || value->is_input || value->constant != NULL ||
           produced[id];
}

typedef struct capture_check {
    const onnxd_graph *graph; /* of the node */
    const onnxd_node *node;
    onnxd_status *status;
    uint32_t used; /* captures of all subgraphs together, each input counted once or more */
} capture_check;

/* The captures of one subgraph, seen from the node that owns it. */
static void verify_subgraph(onnxd_graph *subgraph, void *context)
{
    capture_check *check = context;
    const onnxd_node *node = check->node;
    char label[ONNXD_NODE_LABEL];
    onnxd_node_label(check->graph, node, label, sizeof(label));
    if (check->status == NULL && subgraph->parent != check->graph)
        check->status =
            onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: a subgraph belongs to another graph", label);
    for (uint32_t i = 0; i < subgraph->capture_count && check->status == NULL; i++) {
        uint32_t input = subgraph->captures[i].input;
        if (input < node->input_count - node->capture_count || input >= node->input_count)
            check->status = onnxd_error(
                ONNXD_INVALID_ARGUMENT, "%s: a subgraph captures input %u, captures are %u to %u",
                label, input, node->input_count - node->capture_count, node->input_count - 1);
        else if (node->inputs[input] == ONNXD_NONE)
            check->status =
                onnxd_error(ONNXD_INVALID_ARGUMENT,
                            "%s: a subgraph captures input %u, which is absent", label, input);
    }
    check->used += subgraph->capture_count;
}

static onnxd_status *verify_captures(const onnxd_graph *graph, const onnxd_node *node)
{
    char label[ONNXD_NODE_LABEL];
    capture_check check = {.graph = graph, .node = node};
    if (node->capture_count <= node->input_count)
        onnxd_node_subgraphs(node, verify_subgraph, &check);
    if (check.status == NULL &&
        (node->capture_count > node->input_count || check.used < node->capture_count))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s: %u inputs, %u captures, %u uses of them",
                           onnxd_node_label(graph, node, label, sizeof(label)), node->input_count,
                           node->capture_count, check.used);
    return check.status;
}

/* `produced` marks captured values and the outputs met so far. */
static onnxd_status *verify_node(const onnxd_graph *graph, onnxd_node_id id, bool *produced)
{
    const onnxd_node *node = &graph->nodes[id];
    ONNXD_TRY(verify_captures(graph, node));
    for (uint32_t i = 0; i < node->input_count; i++) {
        onnxd_value_id input = node->inputs[i];
        if (input == ONNXD_NONE)
            continue;
        if (input >= graph->value_count)
            return node_error(graph, node, "has an id out of range", input);
        const onnxd_value *value = &graph->values[input];
        if (value->producer != ONNXD_NONE && value->producer >= id)
            return node_error(graph, node, "is used before it is produced", input);
        if (!is_given(graph, input, produced))
            return node_error(graph, node, "is produced by nothing", input);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        onnxd_value_id output = node->outputs[i];
        if (output == ONNXD_NONE)
            continue;
        if (output >= graph->value_count)
            return node_error(graph, node, "has an id out of range", output);
        if (graph->values[output].producer != id || produced[output])
            return node_error(graph, node, "is produced twice", output);
        produced[output] = true;
    }
    return NULL;
}

static onnxd_status *value_error(const onnxd_value *value, const char *what)
{
    char name[ONNXD_NAME_TEXT];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "value '%s' %s",
                       onnxd_name_text(value->name, name, sizeof(name)), what);
}

static onnxd_status *verify_value(const onnxd_graph *graph, onnxd_value_id id, const bool *produced)
{
    const onnxd_value *value = &graph->values[id];
    if (value->name == NULL || value->name[0] == '\0')
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "value #%u has no name", id);
    if (value->producer == ONNXD_NONE)
        return NULL;
    if (!produced[id])
        return value_error(value, "names a producer that does not produce it");
    if (value->is_input)
        return value_error(value, "is an input and the output of a node");
    if (value->constant != NULL)
        return value_error(value, "is a constant and the output of a node");
    return NULL;
}

static onnxd_status *verify_signature(const onnxd_graph *graph, const bool *produced)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i] >= graph->value_count)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "graph input #%u has an id out of range", i);
        if (!graph->values[graph->inputs[i]].is_input)
            return value_error(&graph->values[graph->inputs[i]], "is not marked as graph input");
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i] >= graph->value_count)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "graph output #%u has an id out of range",
                               i);
        const onnxd_value *value = &graph->values[graph->outputs[i]];
        if (!value->is_output)
            return value_error(value, "is not marked as graph output");
        if (!is_given(graph, graph->outputs[i], produced))
            return value_error(value, "is a graph output that nothing produces");
    }
    return NULL;
}

static onnxd_status *verify_names(const onnxd_graph *graph)
{
    onnxd_name_map map;
    onnxd_name_map_init(&map);
    onnxd_status *status = NULL;
    for (uint32_t v = 0; v < graph->value_count && status == NULL; v++) {
        uint32_t id;
        bool added = true;
        status = onnxd_name_map_add(&map, graph->values[v].name, v, &id, &added);
        if (status == NULL && !added)
            status = value_error(&graph->values[v], "is defined twice");
    }
    onnxd_name_map_deinit(&map);
    return status;
}

/* Captures seen from the subgraph itself. */
static onnxd_status *mark_captures(const onnxd_graph *graph, bool *produced)
{
    for (uint32_t i = 0; i < graph->capture_count; i++) {
        onnxd_value_id id = graph->captures[i].value;
        if (id >= graph->value_count)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "capture #%u has an id out of range", i);
        if (graph->values[id].producer != ONNXD_NONE || graph->values[id].is_input || produced[id])
            return value_error(&graph->values[id], "is captured and has another source too");
        produced[id] = true;
    }
    return NULL;
}

static onnxd_status *verify_production(const onnxd_graph *graph, bool *produced)
{
    ONNXD_TRY(mark_captures(graph, produced));
    for (uint32_t n = 0; n < graph->node_count; n++)
        ONNXD_TRY(verify_node(graph, n, produced));
    for (uint32_t v = 0; v < graph->value_count; v++)
        ONNXD_TRY(verify_value(graph, v, produced));
    return verify_signature(graph, produced);
}

onnxd_status *onnxd_graph_verify(const onnxd_graph *graph)
{
    bool *produced = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(*produced));
    if (produced == NULL)
        return onnxd_error_out_of_memory("graph verifier", graph->value_count, UINT64_MAX);
    onnxd_status *status = verify_production(graph, produced);
    onnxd_free(produced);
    ONNXD_TRY(status);
    return verify_names(graph);
}

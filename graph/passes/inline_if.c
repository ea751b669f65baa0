/*
 * An If whose condition is constant becomes the nodes of the branch that is taken. Exporters write
 * such tests of shapes and options, and a branch that is not there costs nothing and leaves the
 * shapes behind it known.
 *
 * The branch's graph stays as `absorbed`: names, attributes and parsed parameters of its nodes lie
 * in its arena.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/name_map.h"
#include "graph/passes.h"

typedef struct inliner {
    onnxd_graph *graph;
    const onnxd_pass_env *env;
    onnxd_name_map names; /* of the graph's values; filled when the first branch moves */
    bool has_names;
    uint32_t changes;
} inliner;

/* One branch that moves. */
typedef struct move {
    onnxd_node node; /* the If, whose attributes are the graph's still */
    onnxd_graph *branch;
    onnxd_value_id *values; /* what each value of the branch has become */
    bool *is_taken;         /* of each output of the node: its value is made by a moved node */
} move;

/* The branch that the constant condition takes, or NULL. */
static onnxd_attribute *taken_branch(const onnxd_graph *graph, const onnxd_node *node)
{
    if (node->is_removed || node->def == NULL || node->domain[0] != '\0' ||
        strcmp(node->op_type, "If") != 0 || node->input_count == 0 || node->inputs[0] == ONNXD_NONE)
        return NULL;
    const onnxd_tensor *condition = graph->values[node->inputs[0]].constant;
    if (condition == NULL || condition->dtype != ONNXD_BOOL || condition->count != 1)
        return NULL;
    const char *name = *(const unsigned char *)condition->data != 0 ? "then_branch" : "else_branch";
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        onnxd_attribute *attribute = &node->attributes[i];
        if (strcmp(attribute->name, name) != 0 || attribute->kind != ONNXD_ATTRIBUTE_GRAPH)
            continue;
        const onnxd_graph *branch = attribute->value.graph;
        return branch->input_count == 0 && branch->output_count >= node->output_count ? attribute
                                                                                      : NULL;
    }
    return NULL;
}

static onnxd_status *learn_names(inliner *in)
{
    const onnxd_graph *graph = in->graph;
    for (uint32_t v = 0; v < graph->value_count && !in->has_names; v++) {
        uint32_t id;
        bool added;
        ONNXD_TRY(onnxd_name_map_add(&in->names, graph->values[v].name, v, &id, &added));
    }
    in->has_names = true;
    return NULL;
}

/* A value for the branch's `source`, under its name or one like it. */
static onnxd_status *add_value(inliner *in, const onnxd_value *source, onnxd_value_id *out_value)
{
    size_t capacity = strlen(source->name) + sizeof("#4294967295");
    char *name = onnxd_alloc(capacity);
    if (name == NULL)
        return onnxd_error_out_of_memory("name of a value", capacity, UINT64_MAX);
    memcpy(name, source->name, strlen(source->name) + 1);
    for (uint32_t number = 1; onnxd_name_map_find(&in->names, name) != ONNXD_NONE; number++)
        (void)snprintf(name, capacity, "%s#%" PRIu32, source->name, number);
    onnxd_value_id value;
    onnxd_status *status = onnxd_graph_add_value(in->graph, name, &value);
    onnxd_free(name);
    ONNXD_TRY(status);
    in->graph->values[value].type = onnxd_type_without_symbols(&source->type);
    bool added;
    return onnxd_name_map_add(&in->names, in->graph->values[value].name, value, out_value, &added);
}

/* Captures are what they stand for. Values that are made for an output of the If become that
 * output; a value that is several outputs becomes the first. */
static void map_known(const move *m)
{
    const onnxd_graph *branch = m->branch;
    for (uint32_t v = 0; v < branch->value_count; v++)
        m->values[v] = ONNXD_NONE;
    for (uint32_t i = 0; i < branch->capture_count; i++)
        m->values[branch->captures[i].value] = m->node.inputs[branch->captures[i].input];
    for (uint32_t i = 0; i < m->node.output_count; i++) {
        onnxd_value_id inner = branch->outputs[i];
        if (m->node.outputs[i] == ONNXD_NONE || branch->values[inner].producer == ONNXD_NONE ||
            m->values[inner] != ONNXD_NONE)
            continue;
        m->values[inner] = m->node.outputs[i];
        m->is_taken[i] = true;
    }
}

static onnxd_status *map_others(inliner *in, const move *m)
{
    const onnxd_graph *branch = m->branch;
    for (uint32_t v = 0; v < branch->value_count; v++) {
        const onnxd_value *value = &branch->values[v];
        if (m->values[v] != ONNXD_NONE ||
            (value->producer == ONNXD_NONE && value->constant == NULL))
            continue;
        ONNXD_TRY(add_value(in, value, &m->values[v]));
        if (value->constant != NULL)
            onnxd_graph_set_constant(in->graph, m->values[v], value->constant);
    }
    return NULL;
}

static void adopt(onnxd_graph *subgraph, void *context)
{
    subgraph->parent = context;
}

static void rename_ids(onnxd_value_id *ids, uint32_t count, const onnxd_value_id *values)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] != ONNXD_NONE)
            ids[i] = values[ids[i]];
}

/* Moves the branch's nodes one by one; those that have moved are the graph's, also on failure. */
static onnxd_status *move_nodes(inliner *in, const move *m)
{
    onnxd_graph *branch = m->branch;
    while (branch->node_count > 0) {
        onnxd_node *node = &branch->nodes[branch->node_count - 1];
        onnxd_node_id id;
        rename_ids(node->inputs, node->input_count, m->values);
        rename_ids(node->outputs, node->output_count, m->values);
        onnxd_status *status = onnxd_graph_add_node(in->graph, node, &id);
        if (status != NULL)
            return status;
        onnxd_node_subgraphs(node, adopt, in->graph);
        branch->node_count--;
    }
    return NULL;
}

/* Outputs of the If that no moved node makes: what was captured or constant, or is another output
 * already. */
static onnxd_status *make_output(inliner *in, onnxd_value_id source, onnxd_value_id output)
{
    onnxd_graph *graph = in->graph;
    if (graph->values[source].constant != NULL) {
        onnxd_graph_set_constant(graph, output, graph->values[source].constant);
        return NULL;
    }
    onnxd_node_id id;
    ONNXD_TRY(onnxd_graph_add_identity(graph, source, output, &id));
    return onnxd_op_resolve(in->env->registry, graph, &graph->nodes[id]);
}

static onnxd_status *make_outputs(inliner *in, const move *m)
{
    for (uint32_t i = 0; i < m->node.output_count; i++)
        if (m->node.outputs[i] != ONNXD_NONE && !m->is_taken[i])
            ONNXD_TRY(make_output(in, m->values[m->branch->outputs[i]], m->node.outputs[i]));
    return NULL;
}

static onnxd_status *move_branch(inliner *in, move *m)
{
    size_t values = (size_t)m->branch->value_count + 1;
    m->values = onnxd_alloc_zero(values, sizeof(*m->values));
    m->is_taken = onnxd_alloc_zero((size_t)m->node.output_count + 1, sizeof(*m->is_taken));
    if (m->values == NULL || m->is_taken == NULL)
        return onnxd_error_out_of_memory("inlining of a branch", values * sizeof(*m->values),
                                         UINT64_MAX);
    ONNXD_TRY(learn_names(in));
    map_known(m);
    ONNXD_TRY(map_others(in, m));
    ONNXD_TRY(move_nodes(in, m));
    return make_outputs(in, m);
}

/* The branch may have absorbed others before. */
static void absorb(onnxd_graph *graph, onnxd_graph *branch)
{
    onnxd_graph *last = branch;
    while (last->absorbed != NULL)
        last = last->absorbed;
    last->absorbed = graph->absorbed;
    graph->absorbed = branch;
}

static void drop_constants(onnxd_graph *branch)
{
    for (uint32_t v = 0; v < branch->value_count; v++) {
        onnxd_tensor_release(branch->values[v].constant);
        branch->values[v].constant = NULL;
    }
}

/* The If ends and its branch becomes part of the graph, which is broken if that fails. */
static onnxd_status *inline_node(inliner *in, onnxd_node_id id, onnxd_attribute *attribute)
{
    onnxd_graph *graph = in->graph;
    move m = {.node = graph->nodes[id], .branch = attribute->value.graph};
    onnxd_node *node = &graph->nodes[id];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE)
            graph->values[node->outputs[i]].producer = ONNXD_NONE;
    node->is_removed = true;
    attribute->kind = ONNXD_ATTRIBUTE_UNDEFINED;
    absorb(graph, m.branch);
    onnxd_status *status = move_branch(in, &m);
    drop_constants(m.branch);
    onnxd_free(m.values);
    onnxd_free(m.is_taken);
    in->changes++;
    return status;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    inliner in = {.graph = graph, .env = env};
    onnxd_status *status = NULL;
    onnxd_name_map_init(&in.names);
    /* Nodes that have moved here come behind these; another run takes the Ifs among them. */
    const uint32_t count = graph->node_count;
    for (uint32_t n = 0; n < count && status == NULL; n++) {
        onnxd_attribute *branch = taken_branch(graph, &graph->nodes[n]);
        if (branch != NULL)
            status = inline_node(&in, n, branch);
    }
    onnxd_name_map_deinit(&in.names);
    if (status == NULL && in.changes > 0)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = in.changes;
    return status;
}

const onnxd_pass onnxd_pass_inline_if = {
    .name = "inline_if",
    .summary = "put the taken branch in place of an If whose condition is constant",
    .run = run,
};

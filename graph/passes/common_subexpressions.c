/*
 * Nodes that do the same to the same values: the later ones go, and those who read them read the
 * first. Nodes whose results are no function of their inputs, that own subgraphs, or that make
 * other values than tensors stay, and so does a later one whose output is the graph's.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "graph/internal.h"
#include "graph/passes.h"

/* Places of the table that are looked at for one node: hashes may be made to collide. */
#define MOST_PROBES 64

typedef struct sharing {
    onnxd_graph *graph;
    onnxd_value_id *replacement; /* what each value has become; itself while unchanged */
    onnxd_node_id *table;        /* nodes by hash; ONNXD_NONE: free */
    size_t mask;                 /* the table's size, a power of two, minus one */
    uint32_t changes;
} sharing;

/* ---- attributes ------------------------------------------------------------------------------ */

static bool is_same_text(const onnxd_text *a, const onnxd_text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static bool is_same_tensor(const onnxd_tensor *a, const onnxd_tensor *b)
{
    return a == b || (a->dtype == b->dtype && a->dtype != ONNXD_STRING && a->bytes == b->bytes &&
                      onnxd_shape_equal(&a->shape, &b->shape) &&
                      (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0));
}

static bool is_same_list(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

/* Numbers by their bits: -0 is not 0. Kinds that few operators have are not looked into. */
static bool is_same_attribute(const onnxd_attribute *a, const onnxd_attribute *b)
{
    if (a->kind != b->kind || a->count != b->count || strcmp(a->name, b->name) != 0)
        return false;
    switch (a->kind) {
    case ONNXD_ATTRIBUTE_FLOAT:
        return is_same_list(&a->value.f, &b->value.f, sizeof(a->value.f));
    case ONNXD_ATTRIBUTE_INT:
        return a->value.i == b->value.i;
    case ONNXD_ATTRIBUTE_STRING:
        return is_same_text(&a->value.s, &b->value.s);
    case ONNXD_ATTRIBUTE_TENSOR:
        return is_same_tensor(a->value.tensor, b->value.tensor);
    case ONNXD_ATTRIBUTE_FLOATS:
        return is_same_list(a->value.floats, b->value.floats, a->count * sizeof(float));
    case ONNXD_ATTRIBUTE_INTS:
        return is_same_list(a->value.ints, b->value.ints, a->count * sizeof(int64_t));
    case ONNXD_ATTRIBUTE_STRINGS:
        for (size_t i = 0; i < a->count; i++)
            if (!is_same_text(&a->value.strings[i], &b->value.strings[i]))
                return false;
        return true;
    default:
        return false;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void note(onnxd_graph *subgraph, void *context)
{
    (void)subgraph;
    *(bool *)context = true;
}

static bool is_shareable(const onnxd_node *node)
{
    bool has_subgraph = false;
    if (node->is_removed || node->def == NULL || node->def->is_nondeterministic ||
        node->def->run != NULL || node->output_count == 0)
        return false;
    onnxd_node_subgraphs(node, note, &has_subgraph);
    return !has_subgraph;
}

/* Inputs are those that the node's have become. */
static uint64_t hash_of(const sharing *s, const onnxd_node *node)
{
    uint64_t hash = onnxd_hash_bytes(ONNXD_HASH_SEED, node->op_type, strlen(node->op_type));
    hash = onnxd_hash_word(hash, node->attribute_count);
    for (uint32_t i = 0; i < node->input_count; i++)
        hash = onnxd_hash_word(
            hash, node->inputs[i] == ONNXD_NONE ? ONNXD_NONE : s->replacement[node->inputs[i]]);
    return hash;
}

/* Whether `a` makes what `b` does; `a` has every output that `b` has. */
static bool is_same_node(const sharing *s, const onnxd_node *a, const onnxd_node *b)
{
    if (a->def != b->def || a->opset != b->opset || a->input_count != b->input_count ||
        a->output_count != b->output_count || a->attribute_count != b->attribute_count)
        return false;
    for (uint32_t i = 0; i < a->input_count; i++) {
        const onnxd_value_id left = a->inputs[i], right = b->inputs[i];
        if ((left == ONNXD_NONE) != (right == ONNXD_NONE) ||
            (left != ONNXD_NONE && s->replacement[left] != s->replacement[right]))
            return false;
    }
    for (uint32_t i = 0; i < a->output_count; i++)
        if ((a->outputs[i] == ONNXD_NONE) != (b->outputs[i] == ONNXD_NONE))
            return false;
    for (uint32_t i = 0; i < a->attribute_count; i++)
        if (!is_same_attribute(&a->attributes[i], &b->attributes[i]))
            return false;
    return true;
}

static bool makes_output(const sharing *s, const onnxd_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE && s->graph->values[node->outputs[i]].is_output)
            return true;
    return false;
}

/* Takes the node for one like it that came before, or keeps it for those that come. */
static void visit(sharing *s, onnxd_node_id id)
{
    onnxd_node *node = &s->graph->nodes[id];
    if (!is_shareable(node))
        return;
    size_t slot = hash_of(s, node) & s->mask;
    for (int probe = 0; s->table[slot] != ONNXD_NONE; slot = (slot + 1) & s->mask, probe++) {
        if (probe == MOST_PROBES)
            return;
        const onnxd_node *first = &s->graph->nodes[s->table[slot]];
        if (!is_same_node(s, first, node))
            continue;
        if (makes_output(s, node))
            return;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != ONNXD_NONE)
                s->replacement[node->outputs[i]] = first->outputs[i];
        node->is_removed = true;
        s->changes++;
        return;
    }
    s->table[slot] = id;
}

static onnxd_status *share_all(sharing *s)
{
    for (uint32_t v = 0; v < s->graph->value_count; v++)
        s->replacement[v] = v;
    for (size_t i = 0; i <= s->mask; i++)
        s->table[i] = ONNXD_NONE;
    for (uint32_t n = 0; n < s->graph->node_count; n++)
        visit(s, n);
    if (s->changes == 0)
        return NULL;
    onnxd_graph_replace_all(s->graph, s->replacement);
    return onnxd_graph_compact(s->graph);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    const size_t values = (size_t)graph->value_count + 1;
    size_t slots = 2;
    while (slots < 2 * (size_t)graph->node_count)
        slots *= 2;
    sharing s = {.graph = graph, .mask = slots - 1};
    onnxd_status *status = NULL;
    s.replacement = onnxd_alloc_zero(values, sizeof(*s.replacement));
    s.table = onnxd_alloc_zero(slots, sizeof(*s.table));
    if (s.replacement == NULL || s.table == NULL)
        status = onnxd_error_out_of_memory("tables of nodes", values * sizeof(*s.replacement),
                                           UINT64_MAX);
    if (status == NULL)
        status = share_all(&s);
    onnxd_free(s.replacement);
    onnxd_free(s.table);
    if (status == NULL)
        *out_changes = s.changes;
    return status;
}

const onnxd_pass onnxd_pass_common_subexpressions = {
    .name = "common_subexpressions",
    .summary = "do once what several nodes do to the same values",
    .run = run,
};

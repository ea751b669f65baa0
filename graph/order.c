/*
 * The order of nodes: topological sorting, dropping of removed nodes. What subgraphs capture is
 * among the inputs of their node.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"

/*
 * Kahn's algorithm. Edges are stored once, grouped by producer (first[p] .. first[p + 1]), so the
 * work is linear in nodes and inputs.
 */
typedef struct sorter {
    const onnxd_graph *graph;
    size_t *first;       /* node_count + 1 */
    uint32_t *consumers; /* edges */
    uint32_t *waiting;   /* producers that are not placed yet */
    uint32_t *order;     /* the result: old ids */
    uint32_t placed;
    onnxd_node_id consumer; /* of the edge visit under way */
} sorter;

static void visit_edges(sorter *s, void (*edge)(sorter *s, onnxd_node_id producer))
{
    for (uint32_t n = 0; n < s->graph->node_count; n++) {
        const onnxd_node *node = &s->graph->nodes[n];
        s->consumer = n;
        for (uint32_t i = 0; i < node->input_count; i++) {
            onnxd_node_id producer = ONNXD_NONE;
            if (node->inputs[i] != ONNXD_NONE)
                producer = s->graph->values[node->inputs[i]].producer;
            if (producer != ONNXD_NONE)
                edge(s, producer);
        }
    }
}

static void count_edge(sorter *s, onnxd_node_id producer)
{
    s->first[producer + 1]++;
    s->waiting[s->consumer]++;
}

static void store_edge(sorter *s, onnxd_node_id producer)
{
    s->consumers[s->first[producer]++] = s->consumer;
}

static void run_queue(sorter *s)
{
    uint32_t next = 0;
    for (uint32_t n = 0; n < s->graph->node_count; n++)
        if (s->waiting[n] == 0)
            s->order[s->placed++] = n;
    while (next < s->placed) {
        onnxd_node_id producer = s->order[next++];
        size_t begin = producer == 0 ? 0 : s->first[producer - 1];
        for (size_t e = begin; e < s->first[producer]; e++)
            if (--s->waiting[s->consumers[e]] == 0)
                s->order[s->placed++] = s->consumers[e];
    }
}

/* A node that still waits has a producer that waits; following those ends on the cycle. */
static void find_waiting(sorter *s, onnxd_node_id producer)
{
    if (s->waiting[producer] > 0)
        s->order[s->consumer] = producer;
}

static onnxd_status *cycle_error(sorter *s)
{
    visit_edges(s, find_waiting);
    onnxd_node_id at = 0;
    while (s->waiting[at] == 0)
        at++;
    for (uint32_t step = 0; step < s->graph->node_count; step++)
        at = s->order[at];
    char label[ONNXD_NODE_LABEL];
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "%s is on a cycle: its inputs depend on its outputs",
                       onnxd_node_label(s->graph, &s->graph->nodes[at], label, sizeof(label)));
}

static void sorter_deinit(sorter *s)
{
    onnxd_free(s->first);
    onnxd_free(s->consumers);
    onnxd_free(s->waiting);
    onnxd_free(s->order);
}

/* On success s->order holds all nodes, producers first. */
static onnxd_status *sort(sorter *s, const onnxd_graph *graph)
{
    memset(s, 0, sizeof(*s));
    s->graph = graph;
    size_t count = graph->node_count;
    s->first = onnxd_alloc_zero(count + 2, sizeof(*s->first));
    s->waiting = onnxd_alloc_zero(count + 1, sizeof(*s->waiting));
    s->order = onnxd_alloc_zero(count + 1, sizeof(*s->order));
    if (s->first == NULL || s->waiting == NULL || s->order == NULL)
        return onnxd_error_out_of_memory("node order", count * sizeof(*s->first), UINT64_MAX);
    visit_edges(s, count_edge);
    for (size_t n = 0; n < count; n++)
        s->first[n + 1] += s->first[n];
    size_t edges = s->first[count];
    s->consumers = onnxd_alloc_zero(edges + 1, sizeof(*s->consumers));
    if (s->consumers == NULL)
        return onnxd_error_out_of_memory("node order", edges * sizeof(uint32_t), UINT64_MAX);
    /* Afterwards first[p] is the end of p's edges, which is where those of p + 1 begin. */
    visit_edges(s, store_edge);
    run_queue(s);
    return s->placed == count ? NULL : cycle_error(s);
}

/* Whether every producer comes before its consumers already. */
static bool is_sorted(const onnxd_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++) {
            onnxd_value_id input = node->inputs[i];
            if (input == ONNXD_NONE)
                continue;
            onnxd_node_id producer = graph->values[input].producer;
            if (producer != ONNXD_NONE && producer >= n)
                return false;
        }
    }
    return true;
}

static void renumber(onnxd_graph *graph)
{
    for (uint32_t v = 0; v < graph->value_count; v++)
        graph->values[v].producer = ONNXD_NONE;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != ONNXD_NONE && graph->values[node->outputs[i]].constant == NULL)
                graph->values[node->outputs[i]].producer = n;
    }
}

static void drop_removed(onnxd_graph *graph)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].is_removed)
            onnxd_node_release_attributes(&graph->nodes[n]);
        else
            graph->nodes[kept++] = graph->nodes[n];
    }
    graph->node_count = kept;
    renumber(graph);
}

onnxd_status *onnxd_graph_compact(onnxd_graph *graph)
{
    drop_removed(graph);
    if (is_sorted(graph))
        return NULL;
    sorter s;
    onnxd_node *sorted = NULL;
    onnxd_status *status = sort(&s, graph);
    if (status != NULL)
        goto done;
    sorted = onnxd_alloc_zero((size_t)graph->node_count + 1, sizeof(*sorted));
    if (sorted == NULL) {
        status = onnxd_error_out_of_memory("sorted nodes", graph->node_count * sizeof(*sorted),
                                           UINT64_MAX);
        goto done;
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        sorted[n] = graph->nodes[s.order[n]];
    memcpy(graph->nodes, sorted, graph->node_count * sizeof(*sorted));
    renumber(graph);
done:
    onnxd_free(sorted);
    sorter_deinit(&s);
    return status;
}

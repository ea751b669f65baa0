#include "model/placement_order.h"

#include <string.h>

#include "base/alloc.h"

/* Of nodes whose producers all have their place; the lowest number comes out first. */
typedef struct heap {
    onnxd_ep_set set;
    onnxd_node_id *nodes; /* a part of sorter.ready */
    uint32_t count, capacity;
} heap;

/* Sets beyond this many leave the order as it is. */
#define MAX_SETS 64
/* heaps[0] is that of ONNXD_EP_SET_ANY. */
#define ANY 0

typedef struct sorter {
    const onnxd_graph *graph;
    uint32_t *heap_of; /* [node_count] */
    heap heaps[MAX_SETS];
    uint32_t heap_count;
    onnxd_node_id *ready;
    uint32_t *waiting; /* [node_count]: inputs whose producer has no place yet */
    /* Consumers of each node: consumers[first[n] .. first[n + 1]]. */
    size_t *first;
    onnxd_node_id *consumers;
} sorter;

/* ---- heaps --------------------------------------------------------------------------------- */

static void heap_push(heap *h, onnxd_node_id node)
{
    uint32_t at = h->count++;
    while (at > 0 && h->nodes[(at - 1) / 2] > node) {
        h->nodes[at] = h->nodes[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->nodes[at] = node;
}

static onnxd_node_id heap_pop(heap *h)
{
    const onnxd_node_id lowest = h->nodes[0], last = h->nodes[--h->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < h->count && h->nodes[child + 1] < h->nodes[child])
            child++;
        if (child >= h->count || h->nodes[child] >= last)
            break;
        h->nodes[at] = h->nodes[child];
        at = child;
    }
    h->nodes[at] = last;
    return lowest;
}

/* ---- sets ---------------------------------------------------------------------------------- */

/* False when there are too many. */
static bool find_heap(sorter *s, onnxd_ep_set set, uint32_t *out_heap)
{
    uint32_t i = 0;
    while (i < s->heap_count && s->heaps[i].set != set)
        i++;
    if (i == MAX_SETS)
        return false;
    if (i == s->heap_count)
        s->heaps[s->heap_count++] = (heap){.set = set};
    *out_heap = i;
    return true;
}

/* False when the order has to stay as it is. */
static bool sort_by_set(sorter *s, const onnxd_ep_set *sets)
{
    onnxd_node_id *next = s->ready;
    s->heaps[ANY] = (heap){.set = ONNXD_EP_SET_ANY};
    s->heap_count = 1;
    for (onnxd_node_id n = 0; n < s->graph->node_count; n++) {
        if (!find_heap(s, sets[n], &s->heap_of[n]))
            return false;
        s->heaps[s->heap_of[n]].capacity++;
    }
    for (uint32_t i = 0; i < s->heap_count; i++) {
        s->heaps[i].nodes = next;
        next += s->heaps[i].capacity;
    }
    return s->heap_count > 2;
}

/* ---- edges --------------------------------------------------------------------------------- */

static onnxd_node_id producer_of(const onnxd_graph *graph, onnxd_value_id value)
{
    return value == ONNXD_NONE ? ONNXD_NONE : graph->values[value].producer;
}

static onnxd_status *list_consumers(sorter *s)
{
    const onnxd_graph *graph = s->graph;
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            const onnxd_node_id producer = producer_of(graph, graph->nodes[n].inputs[i]);
            if (producer == ONNXD_NONE)
                continue;
            s->first[producer + 2]++;
            s->waiting[n]++;
        }
    }
    /* first[n + 1] is where the consumers of n start; filling moves it to their end. */
    for (onnxd_node_id n = 0; n < graph->node_count; n++)
        s->first[n + 2] += s->first[n + 1];
    const size_t edges = s->first[(size_t)graph->node_count + 1];
    s->consumers = onnxd_alloc_zero(edges, sizeof(onnxd_node_id));
    if (s->consumers == NULL)
        return onnxd_error_out_of_memory("the order of nodes", edges * sizeof(onnxd_node_id),
                                         UINT64_MAX);
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            const onnxd_node_id producer = producer_of(graph, graph->nodes[n].inputs[i]);
            if (producer != ONNXD_NONE)
                s->consumers[s->first[producer + 1]++] = n;
        }
    }
    return NULL;
}

/* ---- the order ----------------------------------------------------------------------------- */

/* The set that has the lowest node; ANY when none has one. */
static uint32_t lowest_set(const sorter *s)
{
    uint32_t lowest = ANY;
    for (uint32_t i = ANY + 1; i < s->heap_count; i++)
        if (s->heaps[i].count > 0 &&
            (lowest == ANY || s->heaps[i].nodes[0] < s->heaps[lowest].nodes[0]))
            lowest = i;
    return lowest;
}

/* The heap of the next node: that of the set in hand for as long as it has one. */
static heap *choose(sorter *s, uint32_t *current)
{
    heap *any = &s->heaps[ANY], *own = &s->heaps[*current];
    if (any->count > 0 && (own->count == 0 || any->nodes[0] <= own->nodes[0]))
        return any;
    if (own->count == 0)
        *current = lowest_set(s);
    return &s->heaps[*current];
}

static void place_all(sorter *s, onnxd_node_id *order)
{
    uint32_t current = ANY;
    for (onnxd_node_id n = 0; n < s->graph->node_count; n++)
        if (s->waiting[n] == 0)
            heap_push(&s->heaps[s->heap_of[n]], n);
    for (uint32_t i = 0; i < s->graph->node_count; i++) {
        const onnxd_node_id node = heap_pop(choose(s, &current));
        order[i] = node;
        for (size_t e = s->first[node]; e < s->first[node + 1]; e++)
            if (--s->waiting[s->consumers[e]] == 0)
                heap_push(&s->heaps[s->heap_of[s->consumers[e]]], s->consumers[e]);
    }
}

static onnxd_status *sort(sorter *s, const onnxd_ep_set *sets, onnxd_node_id *order)
{
    const size_t count = s->graph->node_count;
    s->heap_of = onnxd_alloc_zero(count, sizeof(uint32_t));
    s->ready = onnxd_alloc_zero(count, sizeof(onnxd_node_id));
    s->waiting = onnxd_alloc_zero(count, sizeof(uint32_t));
    s->first = onnxd_alloc_zero(count + 2, sizeof(size_t));
    if (s->heap_of == NULL || s->ready == NULL || s->waiting == NULL || s->first == NULL)
        return onnxd_error_out_of_memory("the order of nodes", count * sizeof(size_t), UINT64_MAX);
    for (onnxd_node_id n = 0; n < count; n++)
        order[n] = n;
    if (!sort_by_set(s, sets))
        return NULL;
    ONNXD_TRY(list_consumers(s));
    place_all(s, order);
    return NULL;
}

onnxd_status *onnxd_placement_order(const onnxd_graph *graph, const onnxd_ep_set *sets,
                                    onnxd_node_id *order)
{
    sorter s = {.graph = graph};
    onnxd_status *status = sort(&s, sets, order);
    onnxd_free(s.heap_of);
    onnxd_free(s.ready);
    onnxd_free(s.waiting);
    onnxd_free(s.first);
    onnxd_free(s.consumers);
    return status;
}

onnxd_status *onnxd_placement_renumber(onnxd_graph *graph, const onnxd_node_id *order)
{
    const size_t count = graph->node_count;
    onnxd_node *nodes = onnxd_alloc_zero(count, sizeof(nodes[0]));
    onnxd_node_id *numbers = onnxd_alloc_zero(count, sizeof(numbers[0]));
    if (nodes == NULL || numbers == NULL) {
        onnxd_free(nodes);
        onnxd_free(numbers);
        return onnxd_error_out_of_memory("the order of nodes", count * sizeof(nodes[0]),
                                         UINT64_MAX);
    }
    for (onnxd_node_id n = 0; n < count; n++) {
        nodes[n] = graph->nodes[order[n]];
        numbers[order[n]] = n;
    }
    if (count > 0)
        memcpy(graph->nodes, nodes, count * sizeof(nodes[0]));
    for (onnxd_value_id v = 0; v < graph->value_count; v++)
        if (graph->values[v].producer != ONNXD_NONE)
            graph->values[v].producer = numbers[graph->values[v].producer];
    onnxd_free(nodes);
    onnxd_free(numbers);
    return NULL;
}

#include "model/placement_search.h"

#include <math.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "model/placement.h"

/* How far back a path is followed, in runs, before the choice of an earlier node is taken to be
 * that of the oldest run reached. Keeps the search near linear on graphs that change instance at
 * every node and read values from far away. */
#define MAX_RUNS_BACK 16
/* How many earlier readers of a value are asked whether they brought it along already. */
#define MAX_READERS_BACK 4

typedef struct search {
    const onnxd_placement_problem *problem;
    const onnxd_graph *graph;
    uint32_t ep_count;
    uint32_t *spaces; /* [ep_count]; 0 is the host */
    /* [node_count * ep_count]: the best path that ends with this node on this instance */
    double *best_us;
    uint32_t *previous;  /* instance of the node before */
    uint32_t *run_start; /* first node of the run of this instance on that path */
    /* Readers of each value in graph order: readers[first_reader[v] ...], of which seen[v] come
     * before the node in hand. */
    uint32_t *first_reader, *readers, *seen;
    uint64_t *steps;
} search;

bool onnxd_placement_reads(const onnxd_graph *graph, const onnxd_usage *usage, onnxd_node_id node,
                           uint32_t input)
{
    const onnxd_value_id value = graph->nodes[node].inputs[input];
    if (value == ONNXD_NONE || graph->values[value].constant != NULL || !usage->is_needed[value])
        return false;
    if (usage->roles[node] == ONNXD_NODE_VIEW)
        return input == 0;
    return usage->roles[node] == ONNXD_NODE_RUN;
}

/* ---- bytes and copies ---------------------------------------------------------------------- */

/* Extents that are still unknown count as 1 and unknown ranks as one element. Saturates. */
static double value_bytes(const onnxd_tensor_type *type)
{
    const unsigned bits = onnxd_dtype_bits(type->dtype);
    double bytes = bits == 0 ? 4.0 : bits / 8.0;
    for (int32_t i = 0; i < type->shape.rank; i++)
        if (onnxd_dim_is_static(type->shape.dims[i]))
            bytes *= (double)type->shape.dims[i];
    return bytes;
}

static double copy_us(const onnxd_ep_info *info, double bytes)
{
    if (info->is_host_addressable)
        return 0.0;
    const double rate_us = info->copy_bytes_per_us > 0.0 ? bytes / info->copy_bytes_per_us : 0.0;
    return info->copy_latency_us + rate_us;
}

/* ---- paths --------------------------------------------------------------------------------- */

/* The instance of node `wanted` on the best path that ends with `node` on `ep`. */
static uint32_t choice_at(const search *s, uint32_t node, uint32_t ep, uint32_t wanted)
{
    for (uint32_t i = 0; i < MAX_RUNS_BACK; i++) {
        ++*s->steps;
        const uint32_t start = s->run_start[(size_t)node * s->ep_count + ep];
        if (start <= wanted || start == 0)
            break;
        ep = s->previous[(size_t)start * s->ep_count + ep];
        node = start - 1;
    }
    return ep;
}

typedef struct arrivals {
    bool in_space; /* an earlier reader brought the value to the space asked for */
    bool on_host;  /* it was downloaded for somebody */
} arrivals;

static arrivals find_arrivals(const search *s, onnxd_value_id value, uint32_t last_node,
                              uint32_t last_ep, uint32_t from_space, uint32_t to_space)
{
    arrivals found = {false, s->graph->values[value].is_output};
    const uint32_t seen = s->seen[value];
    const uint32_t back = seen < MAX_READERS_BACK ? seen : MAX_READERS_BACK;
    for (uint32_t i = seen - back; i < seen; i++) {
        ++*s->steps;
        const uint32_t reader = s->readers[s->first_reader[value] + i];
        const uint32_t space = s->spaces[choice_at(s, last_node, last_ep, reader)];
        found.in_space |= space == to_space;
        found.on_host |= space != from_space;
    }
    found.in_space |= to_space == 0 && found.on_host;
    return found;
}

/* What it costs to have one input on `to_ep` when the path so far ends on `last_ep`. */
static double input_us(const search *s, onnxd_node_id node, onnxd_value_id value, uint32_t to_ep,
                       uint32_t last_ep)
{
    const onnxd_value *record = &s->graph->values[value];
    const onnxd_ep_info *infos = s->problem->infos;
    const uint32_t to_space = s->spaces[to_ep];
    uint32_t from_ep = 0, from_space = 0;
    if (record->producer != ONNXD_NONE) {
        from_ep = choice_at(s, node - 1, last_ep, record->producer);
        from_space = s->spaces[from_ep];
    }
    if (from_space == to_space)
        return 0.0;
    arrivals found = {false, false};
    if (node > 0)
        found = find_arrivals(s, value, node - 1, last_ep, from_space, to_space);
    if (found.in_space)
        return 0.0;
    const double bytes = value_bytes(&s->problem->types[value]);
    double cost_us = to_space != 0 ? copy_us(&infos[to_ep], bytes) : 0.0;
    if (from_space != 0 && !found.on_host)
        cost_us += copy_us(&infos[from_ep], bytes);
    return cost_us;
}

static double inputs_us(const search *s, onnxd_node_id node, uint32_t to_ep, uint32_t last_ep)
{
    const onnxd_node *record = &s->graph->nodes[node];
    double cost_us = 0.0;
    for (uint32_t i = 0; i < record->input_count; i++) {
        const bool is_repeated = i > 0 && record->inputs[i] == record->inputs[i - 1];
        if (!is_repeated && onnxd_placement_reads(s->graph, s->problem->usage, node, i))
            cost_us += input_us(s, node, record->inputs[i], to_ep, last_ep);
    }
    return cost_us;
}

/* Downloads of what the node makes for the caller. */
static double outputs_us(const search *s, onnxd_node_id node, uint32_t ep)
{
    const onnxd_node *record = &s->graph->nodes[node];
    double cost_us = 0.0;
    if (s->problem->usage->roles[node] == ONNXD_NODE_SKIPPED)
        return 0.0;
    for (uint32_t i = 0; i < record->output_count; i++) {
        if (record->outputs[i] == ONNXD_NONE)
            continue;
        const onnxd_value_id value = record->outputs[i];
        if (s->graph->values[value].is_output)
            cost_us += copy_us(&s->problem->infos[ep], value_bytes(&s->problem->types[value]));
    }
    return cost_us;
}

/* ---- the dynamic program ------------------------------------------------------------------- */

static void relax_first(search *s)
{
    for (uint32_t ep = 0; ep < s->ep_count; ep++) {
        s->previous[ep] = ep;
        s->run_start[ep] = 0;
        s->best_us[ep] = s->problem->costs_us[ep] + inputs_us(s, 0, ep, ep) + outputs_us(s, 0, ep);
    }
}

static void relax(search *s, onnxd_node_id node, uint32_t ep)
{
    const size_t at = (size_t)node * s->ep_count + ep;
    const size_t before = at - ep - s->ep_count;
    double best_us = INFINITY;
    uint32_t best_ep = 0;
    if (s->problem->costs_us[at] < INFINITY) {
        for (uint32_t last = 0; last < s->ep_count; last++) {
            ++*s->steps;
            if (s->best_us[before + last] == INFINITY)
                continue;
            const double cost_us = s->best_us[before + last] +
                                   (last != ep ? ONNXD_STAGE_COST_US : 0.0) +
                                   inputs_us(s, node, ep, last);
            if (cost_us < best_us) {
                best_us = cost_us;
                best_ep = last;
            }
        }
        best_us += s->problem->costs_us[at] + outputs_us(s, node, ep);
    }
    s->best_us[at] = best_us;
    s->previous[at] = best_ep;
    s->run_start[at] = best_ep == ep ? s->run_start[before + ep] : node;
}

static void mark_seen(search *s, onnxd_node_id node)
{
    const onnxd_node *record = &s->graph->nodes[node];
    for (uint32_t i = 0; i < record->input_count; i++)
        if (onnxd_placement_reads(s->graph, s->problem->usage, node, i))
            s->seen[record->inputs[i]]++;
}

static void trace_back(const search *s, uint32_t *choices)
{
    const uint32_t count = s->graph->node_count;
    const size_t last = (size_t)(count - 1) * s->ep_count;
    uint32_t ep = 0;
    for (uint32_t i = 1; i < s->ep_count; i++)
        if (s->best_us[last + i] < s->best_us[last + ep])
            ep = i;
    for (uint32_t node = count; node > 0; node--) {
        choices[node - 1] = ep;
        ep = s->previous[(size_t)(node - 1) * s->ep_count + ep];
    }
}

/* ---- set up -------------------------------------------------------------------------------- */

static void number_spaces(search *s)
{
    uint32_t next = 1;
    for (uint32_t i = 0; i < s->ep_count; i++)
        s->spaces[i] = s->problem->infos[i].is_host_addressable ? 0 : next++;
}

/* first_reader[v + 1] counts the readers of v, then becomes where those of v + 1 start. */
static bool list_readers(search *s)
{
    const onnxd_graph *graph = s->graph;
    size_t total = 0;
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            if (onnxd_placement_reads(graph, s->problem->usage, n, i)) {
                s->first_reader[graph->nodes[n].inputs[i] + 1]++;
                total++;
            }
        }
    }
    if (total > UINT32_MAX)
        return false;
    for (uint32_t v = 0; v < graph->value_count; v++)
        s->first_reader[v + 1] += s->first_reader[v];
    s->readers = onnxd_alloc_zero(total, sizeof(uint32_t));
    if (s->readers == NULL)
        return false;
    for (onnxd_node_id n = 0; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            const onnxd_value_id value = graph->nodes[n].inputs[i];
            if (onnxd_placement_reads(graph, s->problem->usage, n, i))
                s->readers[s->first_reader[value] + s->seen[value]++] = n;
        }
    }
    for (uint32_t v = 0; v < graph->value_count; v++)
        s->seen[v] = 0;
    return true;
}

static void search_deinit(search *s)
{
    onnxd_free(s->spaces);
    onnxd_free(s->best_us);
    onnxd_free(s->previous);
    onnxd_free(s->run_start);
    onnxd_free(s->first_reader);
    onnxd_free(s->readers);
    onnxd_free(s->seen);
}

static bool search_init(search *s)
{
    size_t states;
    if (!onnxd_size_mul(s->graph->node_count, s->ep_count, &states))
        return false;
    s->spaces = onnxd_alloc_zero(s->ep_count, sizeof(uint32_t));
    s->best_us = onnxd_alloc_zero(states, sizeof(double));
    s->previous = onnxd_alloc_zero(states, sizeof(uint32_t));
    s->run_start = onnxd_alloc_zero(states, sizeof(uint32_t));
    s->first_reader = onnxd_alloc_zero((size_t)s->graph->value_count + 1, sizeof(uint32_t));
    s->seen = onnxd_alloc_zero((size_t)s->graph->value_count + 1, sizeof(uint32_t));
    if (s->spaces == NULL || s->best_us == NULL || s->previous == NULL || s->run_start == NULL ||
        s->first_reader == NULL || s->seen == NULL)
        return false;
    number_spaces(s);
    return list_readers(s);
}

onnxd_status *onnxd_placement_search(const onnxd_placement_problem *problem, uint32_t *choices,
                                     uint64_t *out_steps)
{
    uint64_t steps = 0;
    search s = {.problem = problem,
                .graph = problem->graph,
                .ep_count = (uint32_t)problem->ep_count,
                .steps = &steps};
    if (problem->graph->node_count == 0) {
        *out_steps = 0;
        return NULL;
    }
    if (!search_init(&s)) {
        search_deinit(&s);
        return onnxd_error_out_of_memory(
            "placement", (uint64_t)problem->graph->node_count * problem->ep_count * sizeof(double),
            UINT64_MAX);
    }
    relax_first(&s);
    mark_seen(&s, 0);
    for (onnxd_node_id node = 1; node < s.graph->node_count; node++) {
        for (uint32_t ep = 0; ep < s.ep_count; ep++)
            relax(&s, node, ep);
        mark_seen(&s, node);
    }
    trace_back(&s, choices);
    search_deinit(&s);
    *out_steps = steps;
    return NULL;
}

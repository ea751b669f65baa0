#include "model/plan_parts.h"

#include "base/alloc.h"
#include "graph/batch.h"

/* What starting a step again costs, as the part of the fast memory that could be filled meanwhile.
 */
#define LAUNCH_SHARE 32
/* Indices of a part, and parts, up to which all are tried. */
#define MOST_TRIED 16u

typedef struct search {
    onnxd_plan_builder *b;
    uint32_t ep; /* index into the model's of the instance that runs sections */
    double near_bytes, launch_bytes;
    bool *is_divisible; /* [node_count] */
    /* [value_count], of roots: the node that makes it, ONNXD_NONE for others. */
    onnxd_node_id *makers;
    /* Of the division in hand. */
    uint32_t parts;
    bool marks; /* notes sections in b, instead of only their worth */
} search;

/* ---- what a batch is ------------------------------------------------------------------------- */

/* The first dimension of the largest input, 0 when there is none worth dividing. */
static uint32_t batch_extent(const onnxd_plan_builder *b)
{
    size_t most = 0;
    int64_t extent = 0;
    for (uint32_t i = 0; i < b->graph->input_count; i++) {
        const onnxd_tensor_type *type = &b->types[b->graph->inputs[i]];
        size_t count;
        if (type->shape.rank > 0 && onnxd_shape_count(&type->shape, &count) && count > most) {
            most = count;
            extent = type->shape.dims[0];
        }
    }
    return extent > 1 && extent <= UINT32_MAX ? (uint32_t)extent : 0;
}

static double bytes_of(const onnxd_plan_builder *b, onnxd_value_id value)
{
    const onnxd_tensor_type *type = &b->types[value];
    size_t count, bytes;
    if (type->dtype == ONNXD_UNDEFINED || !onnxd_shape_is_static(&type->shape) ||
        !onnxd_shape_count(&type->shape, &count) || !onnxd_dtype_bytes(type->dtype, count, &bytes))
        return 0;
    return (double)bytes;
}

/* Bytes of a value that come from afar when it is read or written whole, but not in parts. */
static double saved_bytes(const search *s, onnxd_value_id value)
{
    const double beyond = bytes_of(s->b, value) - s->near_bytes;
    const double most = (s->parts - 1) * s->near_bytes;
    return beyond < 0 ? 0 : beyond < most ? beyond : most;
}

static bool is_cut(const onnxd_plan_builder *b, const onnxd_node *node, uint32_t input)
{
    return (b->cut_inputs[node - b->graph->nodes] >> input & 1) != 0;
}

static bool check_node(search *s, onnxd_node_id id)
{
    onnxd_plan_builder *b = s->b;
    const onnxd_node *node = &b->graph->nodes[id];
    if (b->usage.roles[id] != ONNXD_NODE_RUN || b->model->placement.nodes[id].ep != s->ep)
        return false;
    const onnxd_op_query query = onnxd_query_make(&b->queries, node, b->types, b->known);
    return onnxd_batch_is_divisible(node, query.inputs,
                                    (const onnxd_tensor *const *)query.constants, query.outputs,
                                    s->parts, &b->cut_inputs[id]);
}

static void check_nodes(search *s)
{
    for (onnxd_node_id id = 0; id < s->b->graph->node_count; id++)
        s->is_divisible[id] = check_node(s, id);
}

/* ---- where sections begin and end ------------------------------------------------------------ */

static bool is_made_since(const search *s, onnxd_value_id value, onnxd_node_id first)
{
    const onnxd_node_id maker = s->makers[s->b->roots[value]];
    return maker != ONNXD_NONE && maker >= first;
}

/* Whether the node can go on a section that begins at `first`. */
static bool can_follow(const search *s, onnxd_node_id id, onnxd_node_id first)
{
    const onnxd_node *node = &s->b->graph->nodes[id];
    if (s->b->usage.roles[id] == ONNXD_NODE_VIEW)
        return onnxd_batch_has_parts(&s->b->types[node->inputs[0]], s->parts) &&
               onnxd_batch_has_parts(&s->b->types[node->outputs[0]], s->parts);
    if (!s->is_divisible[id])
        return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != ONNXD_NONE && !is_cut(s->b, node, i) &&
            is_made_since(s, node->inputs[i], first))
            return false;
    return true;
}

/* What the node gains by what it reads in a section that begins at `first`: values that were made a
 * moment ago, less what is read and started once more per part. */
static double worth_of_inputs(const search *s, onnxd_node_id id, onnxd_node_id first)
{
    const onnxd_node *node = &s->b->graph->nodes[id];
    const double again = s->parts - 1;
    double saved = -again * s->launch_bytes;
    if (s->b->usage.roles[id] == ONNXD_NODE_VIEW)
        return 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_value_id value = node->inputs[i];
        if (value == ONNXD_NONE)
            continue;
        if (!is_cut(s->b, node, i)) {
            saved -= again * bytes_of(s->b, value);
        } else if (is_made_since(s, value, first)) {
            saved += saved_bytes(s, value);
        }
    }
    return saved;
}

/* And by what it writes, if the section goes on. */
static double worth_of_outputs(const search *s, onnxd_node_id id)
{
    const onnxd_node *node = &s->b->graph->nodes[id];
    double saved = 0;
    for (uint32_t i = 0; i < node->output_count && s->b->usage.roles[id] == ONNXD_NODE_RUN; i++)
        if (node->outputs[i] != ONNXD_NONE)
            saved += saved_bytes(s, node->outputs[i]);
    return saved;
}

static void mark(search *s, onnxd_node_id first, onnxd_node_id last)
{
    onnxd_plan_builder *b = s->b;
    for (onnxd_node_id id = first; id <= last; id++)
        if (b->usage.roles[id] == ONNXD_NODE_RUN || b->usage.roles[id] == ONNXD_NODE_VIEW)
            b->section_of[id] = b->section_count;
    b->section_count++;
}

/* A section that may still grow: the nodes from `first` on, up to `last` where it is worth most. */
typedef struct growth {
    onnxd_node_id first, last;
    double worth, best;
} growth;

static void weigh(const search *s, onnxd_node_id id, growth *g)
{
    g->worth += worth_of_inputs(s, id, g->first);
    if (g->worth > g->best) {
        g->best = g->worth;
        g->last = id;
    }
    g->worth += worth_of_outputs(s, id);
}

/* Ends the section; the next one begins at `next`. Returns what it is worth. */
static double end_section(search *s, growth *g, onnxd_node_id next)
{
    const double best = g->best;
    if (best > 0 && s->marks)
        mark(s, g->first, g->last);
    *g = (growth){.first = next};
    return best;
}

/* One pass over the nodes: each section is as long as it is worth more for it. */
static double divide(search *s)
{
    const onnxd_plan_builder *b = s->b;
    growth g = {.first = 0};
    double total = 0;
    for (onnxd_node_id id = 0; id < b->graph->node_count; id++) {
        if (b->usage.roles[id] != ONNXD_NODE_RUN && b->usage.roles[id] != ONNXD_NODE_VIEW)
            continue;
        /* What cannot go on a section may begin one. */
        if (!can_follow(s, id, g.first))
            total += end_section(s, &g, id);
        if (!can_follow(s, id, g.first)) {
            g.first = id + 1;
            continue;
        }
        weigh(s, id, &g);
        if (g.worth <= 0)
            total += end_section(s, &g, id + 1);
    }
    return total + end_section(s, &g, b->graph->node_count);
}

static void try_parts(search *s, uint32_t parts, double *inout_most, uint32_t *inout_best)
{
    s->parts = parts;
    const double worth = parts < 2 ? 0 : divide(s);
    if (worth > *inout_most) {
        *inout_most = worth;
        *inout_best = parts;
    }
}

/* Into how many parts to divide, 0: better none. Few indices in each are tried, and few parts: a
 * batch can be anything that a client sends. */
static uint32_t best_parts(search *s, uint32_t extent)
{
    uint32_t best = 0;
    double most = 0;
    for (uint32_t few = 1; few <= MOST_TRIED; few++) {
        if (extent % few != 0)
            continue;
        try_parts(s, extent / few, &most, &best);
        try_parts(s, few, &most, &best);
    }
    return best;
}

/* ---- what lives within a section ------------------------------------------------------------- */

static uint32_t section_of_value(const search *s, onnxd_value_id value)
{
    const onnxd_node_id maker = s->makers[s->b->roots[value]];
    return maker == ONNXD_NONE ? ONNXD_NONE : s->b->section_of[maker];
}

/* is_part of roots first says that the value must be whole. */
static void find_whole(search *s)
{
    onnxd_plan_builder *b = s->b;
    for (onnxd_node_id id = 0; id < b->graph->node_count; id++) {
        const onnxd_node *node = &b->graph->nodes[id];
        for (uint32_t i = 0; i < node->input_count && b->usage.roles[id] != ONNXD_NODE_SKIPPED; i++)
            if (node->inputs[i] != ONNXD_NONE &&
                b->section_of[id] != section_of_value(s, node->inputs[i]))
                b->is_part[b->roots[node->inputs[i]]] = true;
    }
    for (uint32_t i = 0; i < b->graph->output_count; i++)
        b->is_part[b->roots[b->graph->outputs[i]]] = true;
}

static void take_parts(search *s)
{
    onnxd_plan_builder *b = s->b;
    find_whole(s);
    for (onnxd_value_id v = 0; v < b->graph->value_count; v++)
        if (b->roots[v] == v)
            b->is_part[v] = section_of_value(s, v) != ONNXD_NONE && !b->is_part[v];
    for (onnxd_value_id v = 0; v < b->graph->value_count; v++) {
        b->is_part[v] = b->is_part[b->roots[v]];
        if (b->is_part[v])
            b->types[v] = onnxd_batch_part(&b->types[v], b->parts);
    }
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Whether instances have kernels for a part. Nodes of sections only. */
static bool has_kernels(onnxd_plan_builder *b)
{
    for (onnxd_node_id id = 0; id < b->graph->node_count; id++) {
        onnxd_kernel_match match = {.is_supported = false};
        if (b->usage.roles[id] != ONNXD_NODE_RUN || b->section_of[id] == ONNXD_NONE)
            continue;
        const onnxd_op_query query = onnxd_builder_query(b, &b->graph->nodes[id]);
        onnxd_ep_supports_op(b->model->eps[b->model->placement.nodes[id].ep], &query, &match);
        if (!match.is_supported)
            return false;
    }
    return true;
}

/* The first instance in host memory that would have batches divided, and its fast memory; 0: there
 * is none. Parts begin at any element, which every instance in that memory has to take. */
static uint64_t near_bytes(const onnxd_model *model, uint32_t *out_ep)
{
    for (uint32_t ep = 0; ep < model->ep_count; ep++) {
        const uint64_t bytes = onnxd_ep_get_info(model->eps[ep]).batch_cache_bytes;
        *out_ep = ep;
        if (bytes > 0 && !model->is_left_out[ep] && model->ep_spaces[ep] == ONNXD_HOST_SPACE)
            return model->spaces[ONNXD_HOST_SPACE].piece_alignment == 1 ? bytes : 0;
    }
    return 0;
}

static bool is_any_far(const onnxd_plan_builder *b, double near)
{
    for (onnxd_value_id v = 0; v < b->graph->value_count; v++)
        if (b->usage.is_needed[v] && onnxd_builder_constant(b, v) == NULL && bytes_of(b, v) > near)
            return true;
    return false;
}

static onnxd_status *allocate(search *s)
{
    onnxd_plan_builder *b = s->b;
    const size_t nodes = b->graph->node_count, values = b->graph->value_count;
    b->section_of = onnxd_alloc_zero(nodes, sizeof(b->section_of[0]));
    b->cut_inputs = onnxd_alloc_zero(nodes, sizeof(b->cut_inputs[0]));
    b->is_part = onnxd_alloc_zero(values, sizeof(b->is_part[0]));
    s->is_divisible = onnxd_alloc_zero(nodes, sizeof(s->is_divisible[0]));
    s->makers = onnxd_alloc_zero(values, sizeof(s->makers[0]));
    if (b->section_of == NULL || b->cut_inputs == NULL || b->is_part == NULL ||
        s->is_divisible == NULL || s->makers == NULL)
        return onnxd_error_out_of_memory("sections of a plan", nodes * sizeof(b->cut_inputs[0]),
                                         UINT64_MAX);
    for (onnxd_node_id id = 0; id < nodes; id++)
        b->section_of[id] = ONNXD_NONE;
    for (onnxd_value_id v = 0; v < values; v++)
        s->makers[v] = ONNXD_NONE;
    for (onnxd_node_id id = 0; id < nodes; id++)
        for (uint32_t i = 0; i < b->graph->nodes[id].output_count; i++)
            if (b->usage.roles[id] == ONNXD_NODE_RUN &&
                b->graph->nodes[id].outputs[i] != ONNXD_NONE)
                s->makers[b->graph->nodes[id].outputs[i]] = id;
    return NULL;
}

static onnxd_status *find(search *s, uint32_t extent)
{
    onnxd_plan_builder *b = s->b;
    ONNXD_TRY(allocate(s));
    s->parts = extent;
    check_nodes(s);
    b->parts = s->parts = best_parts(s, extent);
    if (b->parts == 0)
        return NULL;
    /* What is divisible into single indices need not be so into larger parts. */
    check_nodes(s);
    s->marks = true;
    divide(s);
    if (b->section_count == 0 || !has_kernels(b)) {
        b->section_count = 0;
        return NULL;
    }
    take_parts(s);
    b->section_ticks = onnxd_alloc_zero(b->section_count, sizeof(b->section_ticks[0]));
    if (b->section_ticks == NULL)
        return onnxd_error_out_of_memory(
            "sections of a plan", b->section_count * sizeof(b->section_ticks[0]), UINT64_MAX);
    return NULL;
}

onnxd_status *onnxd_builder_find_sections(onnxd_plan_builder *b)
{
    search s = {.b = b};
    const uint64_t near = near_bytes(b->model, &s.ep);
    const uint32_t extent = near == 0 ? 0 : batch_extent(b);
    if (extent == 0 || !is_any_far(b, (double)near))
        return NULL;
    s.near_bytes = (double)near;
    s.launch_bytes = (double)near / LAUNCH_SHARE;
    onnxd_status *status = find(&s, extent);
    onnxd_free(s.is_divisible);
    onnxd_free(s.makers);
    return status;
}

void onnxd_builder_drop_sections(onnxd_plan_builder *b)
{
    onnxd_free(b->section_of);
    onnxd_free(b->cut_inputs);
    onnxd_free(b->is_part);
    onnxd_free(b->section_ticks);
}

/* ---- for those who build the plan ------------------------------------------------------------ */

uint32_t onnxd_builder_section(const onnxd_plan_builder *b, const onnxd_node *node)
{
    return b->section_count == 0 ? ONNXD_NONE : b->section_of[node - b->graph->nodes];
}

bool onnxd_builder_is_part(const onnxd_plan_builder *b, onnxd_value_id value)
{
    return b->section_count > 0 && b->is_part[value];
}

bool onnxd_builder_takes_part(const onnxd_plan_builder *b, const onnxd_node *node, uint32_t operand)
{
    if (onnxd_builder_section(b, node) == ONNXD_NONE)
        return false;
    const bool is_input = operand < node->input_count;
    const onnxd_value_id value =
        is_input ? node->inputs[operand] : node->outputs[operand - node->input_count];
    return value != ONNXD_NONE && !b->is_part[value] && (!is_input || is_cut(b, node, operand));
}

onnxd_op_query onnxd_builder_query(onnxd_plan_builder *b, const onnxd_node *node)
{
    const onnxd_op_query query = onnxd_query_make(&b->queries, node, b->types, b->known);
    for (uint32_t i = 0; i < node->input_count + node->output_count; i++)
        if (onnxd_builder_takes_part(b, node, i))
            b->queries.types[i] = onnxd_batch_part(&b->queries.types[i], b->parts);
    return query;
}

static void extend_range(onnxd_plan_builder *b, onnxd_value_id value, const onnxd_tick_span *span)
{
    const onnxd_location *location = onnxd_builder_location(b, ONNXD_HOST_SPACE, value);
    if (location->kind != ONNXD_IN_ARENA)
        return;
    onnxd_live_range *range = &b->ranges[location->index];
    if (range->first_tick > span->first)
        range->first_tick = span->first;
    if (range->last_tick < span->last)
        range->last_tick = span->last;
}

void onnxd_builder_extend_over_sections(onnxd_plan_builder *b)
{
    for (onnxd_node_id id = 0; id < b->graph->node_count && b->section_count > 0; id++) {
        const onnxd_node *node = &b->graph->nodes[id];
        if (b->usage.roles[id] != ONNXD_NODE_RUN || b->section_of[id] == ONNXD_NONE)
            continue;
        const onnxd_tick_span *span = &b->section_ticks[b->section_of[id]];
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ONNXD_NONE && !b->is_part[node->inputs[i]])
                extend_range(b, node->inputs[i], span);
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != ONNXD_NONE && !b->is_part[node->outputs[i]])
                extend_range(b, node->outputs[i], span);
    }
}

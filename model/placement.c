#include "model/placement.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "base/strbuf.h"
#include "model/nominal.h"
#include "model/placement_order.h"
#include "model/placement_search.h"
#include "model/query.h"

/* Reasons repeat from node to node, so they are kept once where one of the last few was the same.
 */
#define RECENT_REASONS 8
#define REASON_BLOCK_BYTES ((size_t)16 << 10)
#define REASON_MAX_BYTES ((size_t)256 << 20)
/* How many operators the error of an impossible placement names. */
#define MAX_NAMED_NODES 16
#define MAX_MESSAGE_BYTES ((size_t)8 << 10)

typedef struct placer {
    onnxd_graph *graph;
    onnxd_ep *const *eps;
    size_t ep_count;
    const onnxd_placement_options *options;
    onnxd_placement *placement;
    onnxd_usage usage;
    onnxd_nominal nominal;
    onnxd_ep_info *infos;
    double *costs_us; /* [node_count * ep_count] */
    uint32_t *choices;
    onnxd_query_maker queries;
    const char *recent[RECENT_REASONS];
    uint32_t recent_next;
} placer;

static double node_us(const onnxd_cost *cost)
{
    if (!cost->is_known)
        return ONNXD_UNKNOWN_NODE_COST_US;
    const double sum = onnxd_cost_total_us(cost);
    return sum >= 0.0 && sum < INFINITY ? sum : ONNXD_UNKNOWN_NODE_COST_US;
}

/* ---- what the instances say ---------------------------------------------------------------- */

static const char *keep_reason(placer *p, const char *reason)
{
    for (uint32_t i = 0; i < RECENT_REASONS; i++)
        if (p->recent[i] != NULL && strcmp(p->recent[i], reason) == 0)
            return p->recent[i];
    const char *copy = onnxd_arena_strndup(&p->placement->reasons, reason, strlen(reason));
    if (copy == NULL)
        return "";
    p->recent[p->recent_next++ % RECENT_REASONS] = copy;
    return copy;
}

static void ask(placer *p, const onnxd_op_query *query, size_t ep, onnxd_placement_match *out)
{
    onnxd_kernel_match match = {.is_supported = false};
    if (p->options->is_left_out != NULL && p->options->is_left_out[ep]) {
        out->reason = "its memory is too small for the model";
        return;
    }
    if (!p->infos[ep].is_host_addressable && onnxd_query_has_strings(query)) {
        out->reason = "strings stay in host memory";
        return;
    }
    onnxd_ep_supports_op(p->eps[ep], query, &match);
    match.reason[sizeof(match.reason) - 1] = '\0';
    /* The executor keeps every value row-major, so a kernel that needs another layout cannot be
     * fed. */
    if (match.is_supported && !onnxd_kernel_match_is_row_major(&match)) {
        out->reason = "needs a layout other than row-major";
        return;
    }
    out->is_supported = match.is_supported;
    out->cost = match.cost;
    out->reason = keep_reason(p, match.reason);
}

static void ask_refusers(placer *p, const onnxd_op_query *query, onnxd_placement_match *matches)
{
    for (size_t ep = 0; ep < p->ep_count; ep++)
        if (!matches[ep].is_supported)
            ask(p, query, ep, &matches[ep]);
}

/* An instance that refuses the nominal types may still take those that requests bring. */
static void ask_node(placer *p, const onnxd_node *node, onnxd_placement_match *matches)
{
    for (size_t ep = 0; ep < p->ep_count; ep++)
        matches[ep] = (onnxd_placement_match){.reason = "", .is_supported = false};
    onnxd_op_query query = onnxd_query_make(&p->queries, node, p->nominal.types, p->nominal.known);
    ask_refusers(p, &query, matches);
    if (p->nominal.is_assumed) {
        query = onnxd_query_make(&p->queries, node, NULL, NULL);
        ask_refusers(p, &query, matches);
    }
}

static void ask_all(placer *p)
{
    for (onnxd_node_id n = 0; n < p->graph->node_count; n++) {
        const size_t row = (size_t)n * p->ep_count;
        onnxd_placement_match *matches = &p->placement->matches[row];
        const onnxd_node_role role = p->usage.roles[n];
        /* An unknown operator is asked for, so that somebody refuses it by name. */
        const bool is_dynamic = role == ONNXD_NODE_DYNAMIC && p->graph->nodes[n].def != NULL;
        const bool is_free = is_dynamic || role == ONNXD_NODE_SKIPPED || role == ONNXD_NODE_VIEW;
        p->placement->nodes[n].is_free = is_free;
        p->placement->nodes[n].is_dynamic = is_dynamic;
        ask_node(p, &p->graph->nodes[n], matches);
        for (size_t ep = 0; ep < p->ep_count; ep++) {
            if (is_free)
                p->costs_us[row + ep] = 0.0;
            else
                p->costs_us[row + ep] =
                    matches[ep].is_supported ? node_us(&matches[ep].cost) : INFINITY;
        }
    }
}

/* ---- claims -------------------------------------------------------------------------------- */

/* A claimed node is impossible everywhere else. The first instance that claims a node and supports
 * it has it; a claim on what the instance does not support is no claim. */
static onnxd_status *apply_claims(placer *p)
{
    const uint32_t count = p->graph->node_count;
    bool *claimed = onnxd_alloc_zero(count, sizeof(bool));
    if (claimed == NULL)
        return onnxd_error_out_of_memory("placement claims", count, UINT64_MAX);
    for (size_t ep = 0; ep < p->ep_count; ep++) {
        memset(claimed, 0, count * sizeof(bool));
        onnxd_ep_claim_nodes(p->eps[ep], p->graph, claimed);
        for (onnxd_node_id n = 0; n < count; n++) {
            onnxd_placement_node *node = &p->placement->nodes[n];
            const size_t row = (size_t)n * p->ep_count;
            if (!claimed[n] || node->is_claimed || node->is_free ||
                !p->placement->matches[row + ep].is_supported)
                continue;
            node->is_claimed = true;
            for (size_t other = 0; other < p->ep_count; other++)
                if (other != ep)
                    p->costs_us[row + other] = INFINITY;
        }
    }
    onnxd_free(claimed);
    return NULL;
}

/* ---- nodes that nobody runs ---------------------------------------------------------------- */

static bool is_possible(const placer *p, onnxd_node_id node)
{
    for (size_t ep = 0; ep < p->ep_count; ep++)
        if (p->costs_us[(size_t)node * p->ep_count + ep] < INFINITY)
            return true;
    return false;
}

/* Nodes that fail for the same reasons, with one operator: named once. */
typedef struct refusal {
    onnxd_node_id node; /* the first of them */
    uint32_t count;
} refusal;

static bool is_same_refusal(const placer *p, onnxd_node_id a, onnxd_node_id b)
{
    const onnxd_node *x = &p->graph->nodes[a], *y = &p->graph->nodes[b];
    if (strcmp(x->op_type, y->op_type) != 0 || strcmp(x->domain, y->domain) != 0)
        return false;
    for (size_t ep = 0; ep < p->ep_count; ep++)
        if (strcmp(p->placement->matches[(size_t)a * p->ep_count + ep].reason,
                   p->placement->matches[(size_t)b * p->ep_count + ep].reason) != 0)
            return false;
    return true;
}

/* False when there are MAX_NAMED_NODES others already. */
static bool count_refusal(const placer *p, onnxd_node_id node, refusal *refusals, uint32_t *count)
{
    for (uint32_t i = 0; i < *count; i++)
        if (is_same_refusal(p, refusals[i].node, node)) {
            refusals[i].count++;
            return true;
        }
    if (*count == MAX_NAMED_NODES)
        return false;
    refusals[(*count)++] = (refusal){.node = node, .count = 1};
    return true;
}

static void name_refusal(const placer *p, const refusal *r, onnxd_strbuf *out)
{
    char label[ONNXD_NODE_LABEL];
    const onnxd_node *node = &p->graph->nodes[r->node];
    onnxd_strbuf_printf(out, "%s%s", out->length == 0 ? "" : "; ",
                        onnxd_node_label(p->graph, node, label, sizeof(label)));
    if (r->count > 1)
        onnxd_strbuf_printf(out, " and %" PRIu32 " more", r->count - 1);
    onnxd_strbuf_puts(out, " (");
    for (size_t ep = 0; ep < p->ep_count; ep++)
        onnxd_strbuf_printf(out, "%s%s: %s", ep == 0 ? "" : ", ", onnxd_ep_label(p->eps[ep]),
                            p->placement->matches[(size_t)r->node * p->ep_count + ep].reason);
    onnxd_strbuf_puts(out, ")");
}

static onnxd_status *check_possible(const placer *p)
{
    uint32_t missing = 0, unnamed = 0, count = 0;
    refusal refusals[MAX_NAMED_NODES];
    onnxd_strbuf text;
    onnxd_status *status = NULL;
    for (onnxd_node_id n = 0; n < p->graph->node_count; n++) {
        if (is_possible(p, n))
            continue;
        missing++;
        unnamed += !count_refusal(p, n, refusals, &count);
    }
    if (missing == 0)
        return NULL;
    onnxd_strbuf_init(&text, MAX_MESSAGE_BYTES);
    for (uint32_t i = 0; i < count; i++)
        name_refusal(p, &refusals[i], &text);
    if (unnamed > 0)
        onnxd_strbuf_printf(&text, "; and %" PRIu32 " other nodes", unnamed);
    status = onnxd_error(ONNXD_NO_EP_FOR_OP,
                         "no provider can run %" PRIu32 " of the graph's %" PRIu32 " nodes: %s",
                         missing, p->graph->node_count, text.data != NULL ? text.data : "");
    onnxd_strbuf_deinit(&text);
    return status;
}

/* ---- the order of the nodes ---------------------------------------------------------------- */

static void list_sets(const placer *p, onnxd_ep_set *sets)
{
    for (onnxd_node_id n = 0; n < p->graph->node_count; n++) {
        sets[n] = 0;
        for (size_t ep = 0; ep < p->ep_count; ep++)
            if (p->costs_us[(size_t)n * p->ep_count + ep] < INFINITY)
                sets[n] |= (onnxd_ep_set)1 << ep;
        if (p->placement->nodes[n].is_free)
            sets[n] = ONNXD_EP_SET_ANY;
    }
}

/* Brings a table of `count` entries into the new order. */
static onnxd_status *permute(void *table, size_t entry_bytes, const onnxd_node_id *order,
                             uint32_t count)
{
    unsigned char *entries = table;
    unsigned char *old = onnxd_alloc_zero(count, entry_bytes);
    if (old == NULL)
        return onnxd_error_out_of_memory("the order of nodes", count * entry_bytes, UINT64_MAX);
    memcpy(old, entries, count * entry_bytes);
    for (uint32_t i = 0; i < count; i++)
        memcpy(entries + i * entry_bytes, old + order[i] * entry_bytes, entry_bytes);
    onnxd_free(old);
    return NULL;
}

/* The graph last: on failure the tables go, the graph stays. */
static onnxd_status *apply_order(placer *p, const onnxd_node_id *order)
{
    const uint32_t count = p->graph->node_count;
    onnxd_placement *placement = p->placement;
    ONNXD_TRY(permute(placement->nodes, sizeof(placement->nodes[0]), order, count));
    ONNXD_TRY(
        permute(placement->matches, p->ep_count * sizeof(placement->matches[0]), order, count));
    ONNXD_TRY(permute(p->costs_us, p->ep_count * sizeof(p->costs_us[0]), order, count));
    ONNXD_TRY(permute(p->usage.roles, sizeof(p->usage.roles[0]), order, count));
    return onnxd_placement_renumber(p->graph, order);
}

static onnxd_status *order_nodes(placer *p)
{
    const uint32_t count = p->graph->node_count;
    onnxd_status *status = NULL;
    if (count == 0 || p->ep_count < 2 || p->ep_count > ONNXD_EP_SET_MAX)
        return NULL;
    onnxd_ep_set *sets = onnxd_alloc_zero(count, sizeof(sets[0]));
    onnxd_node_id *order = onnxd_alloc_zero(count, sizeof(order[0]));
    if (sets == NULL || order == NULL) {
        status =
            onnxd_error_out_of_memory("the order of nodes", count * sizeof(sets[0]), UINT64_MAX);
        goto done;
    }
    list_sets(p, sets);
    status = onnxd_placement_order(p->graph, sets, order);
    if (status != NULL)
        goto done;
    status = apply_order(p, order);
done:
    onnxd_free(sets);
    onnxd_free(order);
    return status;
}

/* ---- the result ---------------------------------------------------------------------------- */

static onnxd_status *write_result(placer *p)
{
    onnxd_placement *placement = p->placement;
    const uint32_t count = p->graph->node_count;
    uint32_t partitions = 0;
    for (onnxd_node_id n = 0; n < count; n++) {
        onnxd_placement_node *node = &placement->nodes[n];
        node->ep = p->choices[n];
        if (!node->is_free)
            node->cost = placement->matches[(size_t)n * p->ep_count + node->ep].cost;
        partitions += n == 0 || p->choices[n] != p->choices[n - 1];
    }
    placement->partitions = onnxd_alloc_zero(partitions, sizeof(placement->partitions[0]));
    if (placement->partitions == NULL)
        return onnxd_error_out_of_memory("placement partitions",
                                         partitions * sizeof(placement->partitions[0]), UINT64_MAX);
    for (onnxd_node_id n = 0; n < count; n++) {
        if (n == 0 || p->choices[n] != p->choices[n - 1])
            placement->partitions[placement->partition_count++] =
                (onnxd_partition){p->choices[n], n, n};
        placement->partitions[placement->partition_count - 1].last_node = n;
    }
    return NULL;
}

static onnxd_status *placer_init(placer *p)
{
    const onnxd_graph *graph = p->graph;
    size_t states;
    if (!onnxd_size_mul(graph->node_count, p->ep_count, &states))
        return onnxd_error_out_of_memory("placement", SIZE_MAX, UINT64_MAX);
    p->infos = onnxd_alloc_zero(p->ep_count, sizeof(p->infos[0]));
    p->costs_us = onnxd_alloc_zero(states, sizeof(double));
    p->choices = onnxd_alloc_zero(graph->node_count, sizeof(uint32_t));
    p->placement->nodes = onnxd_alloc_zero(graph->node_count, sizeof(onnxd_placement_node));
    p->placement->matches = onnxd_alloc_zero(states, sizeof(onnxd_placement_match));
    if (p->infos == NULL || p->costs_us == NULL || p->choices == NULL ||
        p->placement->nodes == NULL || p->placement->matches == NULL)
        return onnxd_error_out_of_memory("placement", states * sizeof(onnxd_placement_match),
                                         UINT64_MAX);
    for (size_t ep = 0; ep < p->ep_count; ep++)
        p->infos[ep] = onnxd_ep_get_info(p->eps[ep]);
    ONNXD_TRY(onnxd_query_maker_init(&p->queries, graph));
    ONNXD_TRY(onnxd_nominal_find(graph, p->options->max_shape_value_bytes, &p->nominal));
    p->placement->is_nominal = p->nominal.is_assumed;
    return onnxd_usage_find(graph, p->nominal.is_dynamic, NULL, &p->usage);
}

static void placer_deinit(placer *p)
{
    onnxd_usage_deinit(&p->usage);
    onnxd_nominal_deinit(&p->nominal);
    onnxd_query_maker_deinit(&p->queries);
    onnxd_free(p->infos);
    onnxd_free(p->costs_us);
    onnxd_free(p->choices);
}

static onnxd_status *place(placer *p)
{
    ONNXD_TRY(placer_init(p));
    ask_all(p);
    ONNXD_TRY(apply_claims(p));
    ONNXD_TRY(check_possible(p));
    ONNXD_TRY(order_nodes(p));
    const onnxd_placement_problem problem = {
        .graph = p->graph,
        .usage = &p->usage,
        .types = p->nominal.types,
        .infos = p->infos,
        .ep_count = p->ep_count,
        .costs_us = p->costs_us,
    };
    ONNXD_TRY(onnxd_placement_search(&problem, p->choices, &p->placement->search_steps));
    return write_result(p);
}

onnxd_status *onnxd_place(onnxd_graph *graph, onnxd_ep *const *eps, size_t ep_count,
                          const onnxd_placement_options *options, onnxd_placement *out_placement)
{
    onnxd_placement placement = {.nodes = NULL};
    placer p = {.graph = graph,
                .eps = eps,
                .ep_count = ep_count,
                .options = options,
                .placement = &placement};
    onnxd_arena_init(&placement.reasons, REASON_BLOCK_BYTES, REASON_MAX_BYTES);
    onnxd_status *status = place(&p);
    placer_deinit(&p);
    if (status != NULL) {
        onnxd_placement_deinit(&placement);
        return status;
    }
    *out_placement = placement;
    return NULL;
}

void onnxd_placement_deinit(onnxd_placement *placement)
{
    onnxd_free(placement->nodes);
    onnxd_free(placement->partitions);
    onnxd_free(placement->matches);
    onnxd_arena_deinit(&placement->reasons);
    *placement = (onnxd_placement){.nodes = NULL};
}

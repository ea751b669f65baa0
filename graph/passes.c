#include "graph/passes.h"

#include <string.h>

#include "graph/internal.h"

#define ONNXD_PASS(name) extern const onnxd_pass onnxd_pass_##name;
#include "graph/passes.inc"
#undef ONNXD_PASS

const onnxd_pass *const onnxd_passes[] = {
#define ONNXD_PASS(name) &onnxd_pass_##name,
#include "graph/passes.inc"
#undef ONNXD_PASS
    NULL};

/* Each round makes the graph smaller or more constant; real models settle in two or three. */
#define MAX_ROUNDS 16

bool onnxd_pass_is_disabled(const onnxd_pass_env *env, const char *name)
{
    for (const char *const *disabled = env->disabled; disabled != NULL && *disabled != NULL;
         disabled++)
        if (strcmp(*disabled, name) == 0)
            return true;
    return false;
}

static bool is_listed(const onnxd_pass *const *const *lists, const char *name)
{
    for (; *lists != NULL; lists++)
        for (const onnxd_pass *const *pass = *lists; *pass != NULL; pass++)
            if (strcmp((*pass)->name, name) == 0)
                return true;
    return false;
}

onnxd_status *onnxd_pass_check_disabled(const onnxd_pass_env *env,
                                        const onnxd_pass *const *const *lists)
{
    for (const char *const *name = env->disabled; name != NULL && *name != NULL; name++)
        if (!is_listed(lists, *name))
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "'%.128s' is no graph pass", *name);
    return NULL;
}

typedef struct round_context {
    const onnxd_pass_env *env;
    uint32_t changes;
    onnxd_status *status;
} round_context;

static void visit_subgraph(onnxd_graph *subgraph, void *context);

/* All passes once over one graph, whose types are inferred, and then over its subgraphs. Recursion
 * ends at the loader's limit on nested subgraphs. */
static onnxd_status *run_round(onnxd_graph *graph,
                               round_context *round) // NOLINT(misc-no-recursion)
{
    bool is_inferred = true;
    for (const onnxd_pass *const *pass = onnxd_passes; *pass != NULL; pass++) {
        uint32_t changes = 0;
        if (onnxd_pass_is_disabled(round->env, (*pass)->name))
            continue;
        if (!is_inferred)
            ONNXD_TRY(onnxd_infer_shapes(graph));
        ONNXD_TRY((*pass)->run(graph, round->env, &changes));
        ONNXD_TRY(onnxd_graph_verify(graph));
        is_inferred = changes == 0;
        round->changes += changes;
    }
    if (!is_inferred)
        ONNXD_TRY(onnxd_infer_shapes(graph));
    for (uint32_t n = 0; n < graph->node_count && round->status == NULL; n++)
        onnxd_node_subgraphs(&graph->nodes[n], visit_subgraph, round);
    onnxd_status *status = round->status;
    round->status = NULL;
    return status;
}

static void visit_subgraph(onnxd_graph *subgraph, void *context) // NOLINT(misc-no-recursion)
{
    round_context *round = context;
    if (round->status == NULL)
        round->status = run_round(subgraph, round);
}

onnxd_status *onnxd_passes_run(onnxd_graph *graph, const onnxd_pass_env *env)
{
    round_context round = {.env = env, .changes = 1};
    ONNXD_TRY(onnxd_infer_shapes(graph));
    for (int count = 0; count < MAX_ROUNDS && round.changes > 0; count++) {
        round.changes = 0;
        ONNXD_TRY(run_round(graph, &round));
        /* What a subgraph makes may be known better now. */
        ONNXD_TRY(onnxd_infer_shapes(graph));
    }
    return NULL;
}

/* ---- one pass ------------------------------------------------------------------------------ */

typedef struct single {
    const onnxd_pass *pass;
    const onnxd_pass_env *env;
    onnxd_status *status;
} single;

/* A provider's pass is trusted no further than a model file. Verified before the removed nodes go,
 * because dropping them relies on ids and order, and after, because somebody may still use what
 * they made. */
static onnxd_status *run_checked(onnxd_graph *graph, const single *s)
{
    uint32_t changes = 0;
    ONNXD_TRY(s->pass->run(graph, s->env, &changes));
    if (changes == 0)
        return NULL;
    ONNXD_TRY(onnxd_graph_verify(graph));
    ONNXD_TRY(onnxd_graph_compact(graph));
    ONNXD_TRY(onnxd_graph_verify(graph));
    return onnxd_infer_shapes(graph);
}

/* Recursion ends at the loader's limit on nested subgraphs. */
static void run_deep(onnxd_graph *graph, void *context) // NOLINT(misc-no-recursion)
{
    single *s = context;
    if (s->status == NULL)
        s->status = run_checked(graph, s);
    for (uint32_t n = 0; n < graph->node_count && s->status == NULL; n++)
        onnxd_node_subgraphs(&graph->nodes[n], run_deep, s);
}

onnxd_status *onnxd_pass_run(onnxd_graph *graph, const onnxd_pass *pass, const onnxd_pass_env *env)
{
    single s = {.pass = pass, .env = env};
    run_deep(graph, &s);
    return s.status;
}

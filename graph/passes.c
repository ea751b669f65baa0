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

static bool is_disabled(const onnxd_pass_env *env, const char *name)
{
    for (const char *const *disabled = env->disabled; disabled != NULL && *disabled != NULL;
         disabled++)
        if (strcmp(*disabled, name) == 0)
            return true;
    return false;
}

static onnxd_status *check_disabled(const onnxd_pass_env *env)
{
    for (const char *const *name = env->disabled; name != NULL && *name != NULL; name++) {
        const onnxd_pass *const *pass = onnxd_passes;
        while (*pass != NULL && strcmp((*pass)->name, *name) != 0)
            pass++;
        if (*pass == NULL)
            return onnxd_error(ONNXD_INVALID_ARGUMENT, "'%.128s' is no graph pass", *name);
    }
    return NULL;
}

static onnxd_status *run_round(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    *out_changes = 0;
    for (const onnxd_pass *const *pass = onnxd_passes; *pass != NULL; pass++) {
        uint32_t changes = 0;
        if (is_disabled(env, (*pass)->name))
            continue;
        ONNXD_TRY(onnxd_infer_shapes(graph));
        ONNXD_TRY((*pass)->run(graph, env, &changes));
        ONNXD_TRY(onnxd_graph_verify(graph));
        *out_changes += changes;
    }
    return NULL;
}

onnxd_status *onnxd_passes_run(onnxd_graph *graph, const onnxd_pass_env *env)
{
    ONNXD_TRY(check_disabled(env));
    uint32_t changes = 1;
    for (int round = 0; round < MAX_ROUNDS && changes > 0; round++)
        ONNXD_TRY(run_round(graph, env, &changes));
    return onnxd_infer_shapes(graph);
}

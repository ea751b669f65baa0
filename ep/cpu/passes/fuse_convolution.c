/*
 * What follows a channels-last convolution and nobody else reads becomes part of it: an addition of
 * another image of the same shape, then an activation. Each saves a pass over memory.
 *
 *   Conv ─► Add(other) ─► Relu   becomes   Conv(..., other, activation = Relu)
 */
#include "ep/cpu/passes/fusion.h"
#include "ep/cpu/passes/passes.h"
#include "ops/contrib/fused_conv.h"

enum { Z = 3 };

static bool is_open(const onnxd_node *node)
{
    const onnxd_fused_conv_params *params = node->params;
    return params->activation.kind == ONNXD_FUSED_NONE;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    static const onnxd_fusion_rule rule = {"Conv", Z, is_open};
    onnxd_fusion f;
    onnxd_status *status = onnxd_fusion_init(&f, graph, env);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = onnxd_fusion_try(&f, &rule, &graph->nodes[n]);
    onnxd_fusion_deinit(&f);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = f.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_convolution = {
    .name = "fuse_convolution",
    .summary = "make additions and activations part of the convolution before them",
    .run = run,
    .is_private = true,
};

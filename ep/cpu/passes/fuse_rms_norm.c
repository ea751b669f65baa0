/*
 * Normalisation by the root of the mean square as exporters write it is one RMSNormalization:
 *
 *   r = Sqrt(Add(ReduceMean(Pow(x, 2)), epsilon))
 *   y = Mul(scale, n),  n = Div(x, r), Mul(x, Reciprocal(r)) or Mul(x, Div(1, r))
 *
 * over the last dimension; Mul(x, x) in place of Pow is the same.
 */
#include "ep/cpu/passes/norm_parts.h"
#include "ep/cpu/passes/passes.h"

/* The opset that made RMSNormalization an operator of ai.onnx. */
#define SINCE 23

/* r of 1 / r; ONNXD_NONE: `value` is none. */
static onnxd_value_id inverse_of(const onnxd_pattern *p, onnxd_value_id value)
{
    float one = 0;
    const onnxd_node *node = onnxd_pattern_producer_of(p, value, "Reciprocal");
    if (node != NULL)
        return node->inputs[0];
    node = onnxd_pattern_producer_of(p, value, "Div");
    return node != NULL && onnxd_pattern_read_scalar(p, node, 0, &one) && one == 1.0f
               ? node->inputs[1]
               : ONNXD_NONE;
}

/* x of the normalised value that `node` makes; ONNXD_NONE: it makes none. */
static onnxd_value_id argument_of(const onnxd_pattern *p, const onnxd_node *node,
                                  float *out_epsilon)
{
    uint32_t uses = 0;
    if (onnxd_node_is(node, "", "Div"))
        return onnxd_norm_root_of(p, node->inputs[1], out_epsilon, &uses) == node->inputs[0]
                   ? node->inputs[0]
                   : ONNXD_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_value_id root = inverse_of(p, node->inputs[i]);
        if (root != ONNXD_NONE &&
            onnxd_norm_root_of(p, root, out_epsilon, &uses) == node->inputs[1 - i])
            return node->inputs[1 - i];
    }
    return ONNXD_NONE;
}

static onnxd_status *visit(onnxd_pattern *p, onnxd_node *node)
{
    float epsilon = 0;
    if (node->input_count != 2 ||
        (!onnxd_node_is(node, "", "Div") && !onnxd_node_is(node, "", "Mul")))
        return NULL;
    const onnxd_value_id x = argument_of(p, node, &epsilon);
    onnxd_node *end = x == ONNXD_NONE ? NULL : onnxd_pattern_reader_of(p, node->outputs[0], "Mul");
    if (end == NULL || p->graph->values[x].type.dtype != ONNXD_FLOAT)
        return NULL;
    const onnxd_value_id inputs[] = {x, onnxd_norm_row(p, end, node->outputs[0])};
    if (inputs[1] == ONNXD_NONE)
        return NULL;
    const onnxd_attribute attribute = {
        .name = "epsilon", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = epsilon};
    return onnxd_pattern_put(p, end, "RMSNormalization", SINCE, inputs, ONNXD_COUNT(inputs),
                             &attribute, 1);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_pattern_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_rms_norm = {
    .name = "fuse_rms_norm",
    .summary = "make one RMSNormalization of the nodes that exporters write for it",
    .run = run,
    .is_private = true,
};

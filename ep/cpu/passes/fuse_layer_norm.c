/*
 * Layer normalisation as exporters write it for opsets before 17 is one LayerNormalization:
 *
 *   d = Sub(x, ReduceMean(x))
 *   y = Add(Mul(Div(d, Sqrt(Add(ReduceMean(Pow(d, 2)), epsilon))), scale), bias)
 *
 * over the last dimension; Mul(d, d) in place of Pow, and no bias, are the same.
 */
#include "ep/cpu/passes/norm_parts.h"
#include "ep/cpu/passes/passes.h"

/* The opset that made LayerNormalization an operator of ai.onnx. */
#define SINCE 17

/* x of the difference that is divided; ONNXD_NONE: this is no normalisation. */
static onnxd_value_id argument_of(const onnxd_pattern *p, const onnxd_node *quotient,
                                  float *out_epsilon)
{
    uint32_t uses = 0;
    const onnxd_value_id difference = quotient->inputs[0];
    const onnxd_node *sub = onnxd_pattern_source_of(p, difference, "Sub");
    if (sub == NULL || p->graph->values[difference].is_output ||
        onnxd_norm_root_of(p, quotient->inputs[1], out_epsilon, &uses) != difference ||
        p->uses[difference] != uses + 1 || onnxd_norm_mean_of(p, sub->inputs[1]) != sub->inputs[0])
        return ONNXD_NONE;
    return sub->inputs[0];
}

static onnxd_status *visit(onnxd_pattern *p, onnxd_node *quotient)
{
    float epsilon = 0;
    const onnxd_value_id x =
        onnxd_node_is(quotient, "", "Div") ? argument_of(p, quotient, &epsilon) : ONNXD_NONE;
    onnxd_node *end =
        x == ONNXD_NONE ? NULL : onnxd_pattern_reader_of(p, quotient->outputs[0], "Mul");
    if (end == NULL || p->graph->values[x].type.dtype != ONNXD_FLOAT)
        return NULL;
    onnxd_value_id inputs[] = {x, onnxd_norm_row(p, end, quotient->outputs[0]), ONNXD_NONE};
    uint32_t count = 2;
    if (inputs[1] == ONNXD_NONE)
        return NULL;
    onnxd_node *add = onnxd_pattern_reader_of(p, end->outputs[0], "Add");
    const onnxd_value_id bias = add == NULL ? ONNXD_NONE : onnxd_norm_row(p, add, end->outputs[0]);
    if (bias != ONNXD_NONE) {
        end = add;
        inputs[count++] = bias;
    }
    const onnxd_attribute attribute = {
        .name = "epsilon", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = epsilon};
    return onnxd_pattern_put(p, end, "LayerNormalization", SINCE, inputs, count, &attribute, 1);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_pattern_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_layer_norm = {
    .name = "fuse_layer_norm",
    .summary = "make one LayerNormalization of the nodes that exporters write for it",
    .run = run,
    .is_private = true,
};

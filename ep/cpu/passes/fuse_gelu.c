/*
 * GELU as exporters write it, x (1 + erf(x / sqrt(2))) / 2 in five nodes, is one Gelu:
 *
 *   e = Erf(Div(x, 1.4142135)) or Erf(Mul(x, 0.70710678)),  s = Add(e, 1)
 *   Mul(Mul(x, s), 0.5),  Mul(Mul(x, 0.5), s)  or  Mul(x, Mul(s, 0.5))
 */
#include <math.h>

#include "ep/cpu/passes/passes.h"
#include "ep/cpu/passes/pattern.h"

/* The opset that made Gelu an operator of ai.onnx. */
#define GELU_SINCE 20

/* The value that GELU is of, from its Erf; ONNXD_NONE: none. */
static onnxd_value_id argument_of(const onnxd_pattern *p, const onnxd_node *erf)
{
    const onnxd_node *scale = onnxd_pattern_producer(p, erf->inputs[0]);
    onnxd_value_id x = ONNXD_NONE;
    if (scale == NULL || !onnxd_node_is(erf, "", "Erf") ||
        (!onnxd_pattern_has_scalar(p, scale, "Div", (float)M_SQRT2, &x) &&
         !onnxd_pattern_has_scalar(p, scale, "Mul", (float)M_SQRT1_2, &x)))
        return ONNXD_NONE;
    return x;
}

/* The last node of the GELU of `x` whose `sum` is 1 + erf; NULL: none. */
static onnxd_node *end_of(const onnxd_pattern *p, onnxd_value_id sum, onnxd_value_id x)
{
    onnxd_value_id other = ONNXD_NONE;
    onnxd_node *next = onnxd_pattern_reader(p, sum);
    if (next == NULL || !onnxd_node_is(next, "", "Mul"))
        return NULL;
    const onnxd_value_id factor = onnxd_pattern_other(next, sum);
    if (factor == x) {
        onnxd_node *half = onnxd_pattern_reader(p, next->outputs[0]);
        return half != NULL && onnxd_pattern_has_scalar(p, half, "Mul", 0.5f, &other) ? half : NULL;
    }
    if (onnxd_pattern_has_scalar(p, next, "Mul", 0.5f, &other)) {
        onnxd_node *product = onnxd_pattern_reader(p, next->outputs[0]);
        return product != NULL && onnxd_node_is(product, "", "Mul") &&
                       onnxd_pattern_other(product, next->outputs[0]) == x
                   ? product
                   : NULL;
    }
    const onnxd_node *half = onnxd_pattern_producer(p, factor);
    return half != NULL && onnxd_pattern_has_scalar(p, half, "Mul", 0.5f, &other) && other == x
               ? next
               : NULL;
}

static onnxd_status *visit(onnxd_pattern *p, onnxd_node *erf)
{
    onnxd_value_id other = ONNXD_NONE;
    if (!onnxd_node_is(erf, "", "Erf"))
        return NULL;
    const onnxd_value_id x = argument_of(p, erf);
    onnxd_node *sum = x == ONNXD_NONE ? NULL : onnxd_pattern_reader(p, erf->outputs[0]);
    if (sum == NULL || p->graph->values[x].type.dtype != ONNXD_FLOAT ||
        !onnxd_pattern_has_scalar(p, sum, "Add", 1.0f, &other))
        return NULL;
    onnxd_node *end = end_of(p, sum->outputs[0], x);
    if (end == NULL)
        return NULL;
    return onnxd_pattern_replace(p, end, "Gelu", GELU_SINCE, x, NULL, 0);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_pattern_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_gelu = {
    .name = "fuse_gelu",
    .summary = "make one Gelu of the nodes that exporters write for it",
    .run = run,
    .is_private = true,
};

/*
 * Gated activations as exporters write them become one operator:
 *
 *   Mul(x, Sigmoid(x)), Mul(x, Sigmoid(Mul(x, a)))           Swish(x), Swish(x, alpha = a)
 *   Mul(x, HardSigmoid(x, 1 / 6, 1 / 2))                     HardSwish(x)
 *   g = Clip(Add(x, 3), 0, 6):
 *   Div(Mul(x, g), 6), Mul(x, Div(g, 6)), Mul(Div(x, 6), g)  HardSwish(x)
 *   Div(g, 6)                                                HardSigmoid(x, 1 / 6, 1 / 2)
 *
 * where Div by 6 may be Mul by 1 / 6, and factors may stand in any order.
 */
#include <math.h>

#include "ep/cpu/passes/passes.h"
#include "ep/cpu/passes/pattern.h"
#include "graph/attributes.h"

/* The opsets that made them operators of ai.onnx, and from which their constants are inputs. */
#define SWISH_SINCE 24
#define HARD_SWISH_SINCE 14
#define HARD_SIGMOID_SINCE 6
#define BROADCAST_SINCE 7

#define SIXTH (1.0f / 6)
#define TOLERANCE 1e-4f

static bool is_float(const onnxd_pattern *p, onnxd_value_id value)
{
    return p->graph->values[value].type.dtype == ONNXD_FLOAT;
}

static bool is_sixth(const onnxd_pattern *p, const onnxd_node *node, onnxd_value_id *out_of)
{
    return onnxd_pattern_has_scalar(p, node, "Div", 6, out_of) ||
           onnxd_pattern_has_scalar(p, node, "Mul", SIXTH, out_of);
}

/* The Mul that alone reads `gate`; NULL: none. */
static onnxd_node *product_of(const onnxd_pattern *p, onnxd_value_id gate)
{
    onnxd_node *product = onnxd_pattern_reader(p, gate);
    const bool is_product =
        product != NULL && onnxd_node_is(product, "", "Mul") && product->opset >= BROADCAST_SINCE;
    return is_product ? product : NULL;
}

static onnxd_attribute float_attribute(const char *name, float value)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = value};
}

static onnxd_status *put_hard_swish(onnxd_pattern *p, onnxd_node *end, onnxd_value_id x)
{
    return onnxd_pattern_replace(p, end, "HardSwish", HARD_SWISH_SINCE, x, NULL, 0);
}

/* ---- Sigmoid --------------------------------------------------------------------------------- */

/* x of a value that is x times a constant, which becomes *out_alpha. */
static bool is_scaled(const onnxd_pattern *p, onnxd_value_id value, onnxd_value_id x,
                      float *out_alpha)
{
    const onnxd_node *scale = onnxd_pattern_producer(p, value);
    if (scale == NULL || !onnxd_node_is(scale, "", "Mul") || scale->opset < BROADCAST_SINCE)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (scale->inputs[1 - i] == x && onnxd_pattern_read_scalar(p, scale, i, out_alpha))
            return isfinite(*out_alpha) != 0;
    return false;
}

static onnxd_status *visit_sigmoid(onnxd_pattern *p, const onnxd_node *gate)
{
    onnxd_node *product = product_of(p, gate->outputs[0]);
    float alpha = 1;
    if (product == NULL)
        return NULL;
    const onnxd_value_id x = onnxd_pattern_other(product, gate->outputs[0]);
    if (!is_float(p, x) || (gate->inputs[0] != x && !is_scaled(p, gate->inputs[0], x, &alpha)))
        return NULL;
    const onnxd_attribute attribute = float_attribute("alpha", alpha);
    return onnxd_pattern_replace(p, product, "Swish", SWISH_SINCE, x, &attribute,
                                 alpha == 1 ? 0 : 1);
}

/* ---- HardSigmoid ----------------------------------------------------------------------------- */

static onnxd_status *visit_hard_sigmoid(onnxd_pattern *p, const onnxd_node *gate)
{
    onnxd_node *product = product_of(p, gate->outputs[0]);
    float alpha = 0.2f, beta = 0.5f;
    if (product == NULL || onnxd_pattern_other(product, gate->outputs[0]) != gate->inputs[0] ||
        !is_float(p, gate->inputs[0]))
        return NULL;
    ONNXD_TRY(onnxd_attribute_float(gate, "alpha", &alpha));
    ONNXD_TRY(onnxd_attribute_float(gate, "beta", &beta));
    if (fabsf(alpha - SIXTH) > TOLERANCE || fabsf(beta - 0.5f) > TOLERANCE)
        return NULL;
    return put_hard_swish(p, product, gate->inputs[0]);
}

/* ---- Clip ------------------------------------------------------------------------------------ */

/* x of Clip(Add(x, 3), 0, 6); ONNXD_NONE: none. */
static onnxd_value_id argument_of(const onnxd_pattern *p, const onnxd_node *clip)
{
    float low = -INFINITY, high = INFINITY;
    onnxd_value_id x = ONNXD_NONE;
    if (!onnxd_pattern_clip_bounds(p->graph, clip, &low, &high) || fabsf(low) > TOLERANCE ||
        fabsf(high - 6) > TOLERANCE)
        return ONNXD_NONE;
    const onnxd_node *sum = onnxd_pattern_producer(p, clip->inputs[0]);
    if (sum == NULL || sum->opset < BROADCAST_SINCE ||
        !onnxd_pattern_has_scalar(p, sum, "Add", 3, &x) || !is_float(p, x))
        return ONNXD_NONE;
    return x;
}

static onnxd_status *put_hard_sigmoid(onnxd_pattern *p, onnxd_node *end, onnxd_value_id x)
{
    const onnxd_attribute attributes[] = {float_attribute("alpha", SIXTH),
                                          float_attribute("beta", 0.5f)};
    return onnxd_pattern_replace(p, end, "HardSigmoid", HARD_SIGMOID_SINCE, x, attributes, 2);
}

static onnxd_status *visit_clip(onnxd_pattern *p, const onnxd_node *clip)
{
    const onnxd_value_id x = argument_of(p, clip), gate = clip->outputs[0];
    onnxd_node *next = x == ONNXD_NONE ? NULL : onnxd_pattern_reader(p, gate);
    onnxd_value_id of = ONNXD_NONE;
    if (next == NULL || next->opset < BROADCAST_SINCE)
        return NULL;
    if (is_sixth(p, next, &of)) {
        onnxd_node *product = product_of(p, next->outputs[0]);
        if (product != NULL && onnxd_pattern_other(product, next->outputs[0]) == x)
            return put_hard_swish(p, product, x);
        return put_hard_sigmoid(p, next, x);
    }
    if (!onnxd_node_is(next, "", "Mul"))
        return NULL;
    const onnxd_value_id other = onnxd_pattern_other(next, gate);
    if (other == x) {
        onnxd_node *sixth = onnxd_pattern_reader(p, next->outputs[0]);
        return sixth != NULL && is_sixth(p, sixth, &of) ? put_hard_swish(p, sixth, x) : NULL;
    }
    const onnxd_node *sixth = onnxd_pattern_producer(p, other);
    return sixth != NULL && is_sixth(p, sixth, &of) && of == x ? put_hard_swish(p, next, x) : NULL;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static onnxd_status *visit(onnxd_pattern *p, onnxd_node *node)
{
    if (onnxd_node_is(node, "", "Sigmoid"))
        return visit_sigmoid(p, node);
    if (onnxd_node_is(node, "", "HardSigmoid"))
        return visit_hard_sigmoid(p, node);
    return onnxd_node_is(node, "", "Clip") ? visit_clip(p, node) : NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_pattern_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_swish = {
    .name = "fuse_swish",
    .summary = "make one operator of a value and its gate, as Swish and HardSwish have it",
    .run = run,
    .is_private = true,
};

/*
 * GELU as exporters write it, x (1 + erf(x / sqrt(2))) / 2 in five nodes, is one Gelu:
 *
 *   e = Erf(Div(x, 1.4142135)) or Erf(Mul(x, 0.70710678)),  s = Add(e, 1)
 *   Mul(Mul(x, s), 0.5),  Mul(Mul(x, 0.5), s)  or  Mul(x, Mul(s, 0.5))
 */
#include <math.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "graph/rewrite.h"

/* The opset that made Gelu an operator of ai.onnx. */
#define GELU_SINCE 20
/* Constants are often rounded in a file. */
#define TOLERANCE 1e-4f

typedef struct gelu_search {
    onnxd_graph *graph;
    uint32_t *uses;
    onnxd_node_id *reader; /* of each value: the last node that reads it */
} gelu_search;

/* Whether one input of the node is about this constant; *out_other is the other one. */
static bool has_scalar(const gelu_search *s, const onnxd_node *node, const char *op_type,
                       float scalar, onnxd_value_id *out_other)
{
    if (!onnxd_node_is(node, "", op_type) || node->input_count != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_tensor *constant = onnxd_node_float_constant(s->graph, node, 1 - i);
        if (constant == NULL || constant->count != 1 ||
            fabsf(*(const float *)constant->data - scalar) > TOLERANCE)
            continue;
        /* A quotient's constant is the divisor. */
        if (op_type[0] == 'D' && i != 0)
            continue;
        *out_other = node->inputs[i];
        return true;
    }
    return false;
}

/* The node that alone reads a value which nobody else wants. */
static onnxd_node *only_reader(const gelu_search *s, onnxd_value_id value)
{
    if (s->uses[value] != 1 || s->graph->values[value].is_output)
        return NULL;
    return &s->graph->nodes[s->reader[value]];
}

static onnxd_value_id other_input(const onnxd_node *node, onnxd_value_id input)
{
    return node->inputs[0] == input ? node->inputs[1] : node->inputs[0];
}

/* The value that GELU is of, from its Erf; ONNXD_NONE: none. */
static onnxd_value_id argument_of(const gelu_search *s, const onnxd_node *erf)
{
    const onnxd_node *scale = onnxd_graph_only_producer(s->graph, s->uses, erf->inputs[0]);
    onnxd_value_id x = ONNXD_NONE;
    if (scale == NULL || !onnxd_node_is(erf, "", "Erf") ||
        (!has_scalar(s, scale, "Div", (float)M_SQRT2, &x) &&
         !has_scalar(s, scale, "Mul", (float)M_SQRT1_2, &x)))
        return ONNXD_NONE;
    return x;
}

/* The last node of the GELU of `x` whose `sum` is 1 + erf; NULL: none. */
static onnxd_node *end_of(const gelu_search *s, onnxd_value_id sum, onnxd_value_id x)
{
    onnxd_value_id other = ONNXD_NONE;
    onnxd_node *next = only_reader(s, sum);
    if (next == NULL || !onnxd_node_is(next, "", "Mul"))
        return NULL;
    const onnxd_value_id factor = other_input(next, sum);
    if (factor == x) {
        onnxd_node *half = only_reader(s, next->outputs[0]);
        return half != NULL && has_scalar(s, half, "Mul", 0.5f, &other) ? half : NULL;
    }
    if (has_scalar(s, next, "Mul", 0.5f, &other)) {
        onnxd_node *product = only_reader(s, next->outputs[0]);
        return product != NULL && onnxd_node_is(product, "", "Mul") &&
                       other_input(product, next->outputs[0]) == x
                   ? product
                   : NULL;
    }
    const onnxd_node *half = onnxd_graph_only_producer(s->graph, s->uses, factor);
    return half != NULL && has_scalar(s, half, "Mul", 0.5f, &other) && other == x ? next : NULL;
}

static onnxd_status *visit(gelu_search *s, const onnxd_op_registry *registry, onnxd_node *erf,
                           uint32_t *changes)
{
    onnxd_value_id other = ONNXD_NONE;
    const onnxd_value_id x = argument_of(s, erf);
    onnxd_node *sum = x == ONNXD_NONE ? NULL : only_reader(s, erf->outputs[0]);
    if (sum == NULL || s->graph->values[x].type.dtype != ONNXD_FLOAT ||
        !has_scalar(s, sum, "Add", 1.0f, &other))
        return NULL;
    onnxd_node *end = end_of(s, sum->outputs[0], x);
    if (end == NULL)
        return NULL;
    end->op_type = "Gelu";
    end->opset = GELU_SINCE;
    ONNXD_TRY(onnxd_graph_set_node_inputs(s->graph, end, &x, 1));
    ONNXD_TRY(onnxd_op_resolve(registry, s->graph, end));
    ++*changes;
    return NULL;
}

static void find_readers(gelu_search *s)
{
    for (uint32_t n = 0; n < s->graph->node_count; n++)
        for (uint32_t i = 0; i < s->graph->nodes[n].input_count; i++)
            if (s->graph->nodes[n].inputs[i] != ONNXD_NONE)
                s->reader[s->graph->nodes[n].inputs[i]] = n;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    gelu_search s = {.graph = graph};
    uint32_t changes = 0;
    onnxd_status *status = onnxd_graph_count_uses(graph, &s.uses);
    s.reader = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(s.reader[0]));
    if (status == NULL && s.reader == NULL)
        status = onnxd_error_out_of_memory("readers of values",
                                           graph->value_count * sizeof(s.reader[0]), UINT64_MAX);
    if (status == NULL)
        find_readers(&s);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        if (onnxd_node_is(&graph->nodes[n], "", "Erf"))
            status = visit(&s, env->registry, &graph->nodes[n], &changes);
    onnxd_free(s.uses);
    onnxd_free(s.reader);
    if (status == NULL)
        *out_changes = changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_gelu = {
    .name = "fuse_gelu",
    .summary = "make one Gelu of the nodes that exporters write for it",
    .run = run,
    .is_private = true,
};

/*
 * A product with constant weights, the bias that is added to each of its rows, another value of the
 * same shape and an activation are one Dense:
 *
 *   MatMul(x, W) ─► Add(b) ─► Gelu        becomes   Dense(x, W, b, activation = Gelu)
 *   MatMul(x, W) ─► Add(b) ─► Add(other)  becomes   Dense(x, W, b, other)
 */
#include "ep/cpu/passes/fusion.h"
#include "ep/cpu/passes/passes.h"
#include "ops/layout/dense.h"

enum { A, B, BIAS, RESIDUAL };

static bool is_open(const onnxd_node *node)
{
    const onnxd_dense_params *params = node->params;
    return params->activation.kind == ONNXD_FUSED_NONE;
}

static bool is_bias(const onnxd_graph *graph, onnxd_value_id value, int64_t columns)
{
    const onnxd_tensor *constant = graph->values[value].constant;
    return constant != NULL && constant->dtype == ONNXD_FLOAT && constant->shape.rank == 1 &&
           constant->shape.dims[0] == columns;
}

/* The product that makes one input of the Add `after`, whose other input is a bias for it. */
static onnxd_node *product_before(const onnxd_fusion *f, const onnxd_node *after,
                                  onnxd_value_id *out_bias)
{
    for (uint32_t i = 0; i < 2; i++) {
        onnxd_node *product = onnxd_graph_only_producer(f->graph, f->uses, after->inputs[i]);
        if (product == NULL || !onnxd_node_is(product, "", "MatMul"))
            continue;
        const onnxd_tensor *weights = onnxd_node_float_constant(f->graph, product, B);
        if (weights != NULL && weights->shape.rank == 2 &&
            is_bias(f->graph, after->inputs[1 - i], weights->shape.dims[1])) {
            *out_bias = after->inputs[1 - i];
            return product;
        }
    }
    return NULL;
}

static onnxd_status *make_dense(onnxd_fusion *f, onnxd_node *after)
{
    onnxd_value_id bias = ONNXD_NONE;
    onnxd_node *product = product_before(f, after, &bias);
    if (product == NULL)
        return NULL;
    const onnxd_value_id inputs[] = {product->inputs[A], product->inputs[B], bias};
    product->domain = ONNXD_INTERNAL_DOMAIN;
    product->op_type = "Dense";
    product->opset = 1;
    ONNXD_TRY(onnxd_graph_set_node_inputs(f->graph, product, inputs, ONNXD_COUNT(inputs)));
    ONNXD_TRY(onnxd_op_resolve(f->registry, f->graph, product));
    onnxd_fusion_take_over(f, product, after);
    return NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    static const onnxd_fusion_rule rule = {"Dense", RESIDUAL, is_open};
    onnxd_fusion f;
    onnxd_status *status = onnxd_fusion_init(&f, graph, env);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++) {
        onnxd_node *node = &graph->nodes[n];
        if (onnxd_node_is(node, "", "Add"))
            status = make_dense(&f, node);
        if (status == NULL)
            status = onnxd_fusion_try(&f, &rule, node);
    }
    onnxd_fusion_deinit(&f);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = f.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_dense = {
    .name = "fuse_dense",
    .summary = "make one operator of a product, its bias, an addition and an activation",
    .run = run,
    .is_private = true,
};

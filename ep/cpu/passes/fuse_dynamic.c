/*
 * The product of a factor that DynamicQuantizeLinear has quantised, as quantisers write it, is one
 * node:
 *
 *   MatMulInteger(a, B) ─► Cast ─► Mul(Mul(scale of a, scale of B)) ─► Add(bias)
 *   becomes   MatMulIntegerToFloat(a, B, scale of a, scale of B, zero points, bias)
 */
#include "ep/cpu/passes/passes.h"
#include "ep/cpu/passes/quantized.h"

enum { A, B, A_ZERO, B_ZERO };

static onnxd_value_id other_input(const onnxd_node *node, onnxd_value_id input)
{
    return node->inputs[0] == input ? node->inputs[1] : node->inputs[0];
}

static const onnxd_tensor *constant_of(const onnxd_quantized_search *s, onnxd_value_id value)
{
    return value == ONNXD_NONE ? NULL : s->graph->values[value].constant;
}

/* One value, or a vector of so many. */
static bool is_row(const onnxd_tensor *tensor, onnxd_dtype dtype, int64_t columns)
{
    return tensor != NULL && tensor->dtype == dtype && tensor->shape.rank <= 1 &&
           (tensor->count == 1 || tensor->count == (uint64_t)columns);
}

/* The two factors of a Mul: that of one element which no file holds, and a constant. */
static bool scales_of(const onnxd_quantized_search *s, onnxd_value_id product, int64_t columns,
                      onnxd_value_id *out_a, onnxd_value_id *out_b)
{
    const onnxd_value *value = &s->graph->values[product];
    if (value->producer == ONNXD_NONE)
        return false;
    const onnxd_node *mul = &s->graph->nodes[value->producer];
    if (!onnxd_node_is(mul, "", "Mul"))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_tensor_type *a = &s->graph->values[mul->inputs[i]].type;
        size_t count;
        if (is_row(constant_of(s, mul->inputs[1 - i]), ONNXD_FLOAT, columns) &&
            a->dtype == ONNXD_FLOAT && a->shape.rank >= 0 && a->shape.rank <= 1 &&
            onnxd_shape_is_static(&a->shape) && onnxd_shape_count(&a->shape, &count) &&
            count == 1) {
            *out_a = mul->inputs[i];
            *out_b = mul->inputs[1 - i];
            return true;
        }
    }
    return false;
}

/* The zero point of A is absent or of one element. */
static bool has_whole_a(const onnxd_quantized_search *s, const onnxd_node *product)
{
    size_t count;
    if (product->input_count <= A_ZERO || product->inputs[A_ZERO] == ONNXD_NONE)
        return true;
    const onnxd_shape *zero = &s->graph->values[product->inputs[A_ZERO]].type.shape;
    return zero->rank >= 0 && onnxd_shape_is_static(zero) && onnxd_shape_count(zero, &count) &&
           count == 1;
}

static void drop(onnxd_quantized_search *s, onnxd_node *node)
{
    s->graph->values[node->outputs[0]].producer = ONNXD_NONE;
    node->is_removed = true;
}

static onnxd_value_id input_of(const onnxd_node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : ONNXD_NONE;
}

static onnxd_status *visit(onnxd_quantized_search *s, onnxd_node *product)
{
    if (!onnxd_node_is(product, "", "MatMulInteger"))
        return NULL;
    const onnxd_tensor *weights = constant_of(s, product->inputs[B]);
    onnxd_value_id a_scale = ONNXD_NONE, b_scale = ONNXD_NONE, bias = ONNXD_NONE;
    if (weights == NULL || weights->shape.rank != 2 || !has_whole_a(s, product))
        return NULL;
    const int64_t columns = weights->shape.dims[1];
    const onnxd_value_id b_zero = input_of(product, B_ZERO);
    if (b_zero != ONNXD_NONE && !is_row(constant_of(s, b_zero), weights->dtype, columns))
        return NULL;
    onnxd_node *cast = onnxd_quantized_only_reader(s, product->outputs[0]);
    onnxd_node *scale = NULL;
    if (cast != NULL && onnxd_node_is(cast, "", "Cast") &&
        s->graph->values[cast->outputs[0]].type.dtype == ONNXD_FLOAT)
        scale = onnxd_quantized_only_reader(s, cast->outputs[0]);
    if (scale == NULL || !onnxd_node_is(scale, "", "Mul") ||
        !scales_of(s, other_input(scale, cast->outputs[0]), columns, &a_scale, &b_scale))
        return NULL;
    onnxd_node *end = scale, *add = onnxd_quantized_only_reader(s, scale->outputs[0]);
    if (add != NULL && onnxd_node_is(add, "", "Add")) {
        bias = other_input(add, scale->outputs[0]);
        const onnxd_tensor *constant = constant_of(s, bias);
        if (is_row(constant, ONNXD_FLOAT, columns) && constant->shape.rank == 1 &&
            constant->count == (uint64_t)columns)
            end = add;
        else
            bias = ONNXD_NONE;
    }
    /* The last one is there when its inputs are. */
    const onnxd_value_id inputs[] = {product->inputs[A],
                                     product->inputs[B],
                                     a_scale,
                                     b_scale,
                                     input_of(product, A_ZERO),
                                     b_zero,
                                     bias};
    drop(s, product);
    drop(s, cast);
    if (end == add)
        drop(s, scale);
    end->domain = "com.microsoft";
    end->op_type = "MatMulIntegerToFloat";
    end->opset = 1;
    ONNXD_TRY(onnxd_graph_set_node_inputs(s->graph, end, inputs, ONNXD_COUNT(inputs)));
    s->changes++;
    return onnxd_op_resolve(s->registry, s->graph, end);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_quantized_search_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_dynamic = {
    .name = "fuse_dynamic",
    .summary = "make one operator of the product of a dynamically quantised factor",
    .run = run,
    .is_private = true,
};

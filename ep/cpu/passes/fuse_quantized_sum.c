/*
 * A sum of quantised images becomes part of the channels-last convolution that makes one of them
 * for nobody else: it is added where the result is at hand.
 *
 *   QLinearConv ─► QLinearAdd(other)   becomes   QLinearConv(..., other)
 *
 * The sum is the same but where it lies between two steps of the scale: the compiler may contract
 * another one of the two products.
 */
#include <string.h>

#include "ep/cpu/passes/fusion.h"
#include "ep/cpu/passes/passes.h"
#include "graph/attributes.h"

/* Of QLinearAdd. */
enum { A = 0, B = 3, C_SCALE = 6, C_ZERO };
/* Of QLinearConv: weights, and its inputs without and with a sum. */
enum { WEIGHTS = 3, Y_SCALE = 6, Y_ZERO, CONV_INPUTS = 9, SUM_INPUTS = 14 };

/* Depthwise ones are left to the portable kernel, which adds nothing faster. */
static bool is_depthwise(const onnxd_fusion *f, const onnxd_node *node)
{
    const onnxd_attribute *group = onnxd_node_attribute(node, "group");
    const onnxd_tensor *weights = f->graph->values[node->inputs[WEIGHTS]].constant;
    return weights == NULL || (group != NULL && group->value.i > 1 && weights->shape.dims[1] == 1);
}

/* The convolution that makes `value` for one reader alone and adds nothing yet. */
static onnxd_node *open_node(const onnxd_fusion *f, onnxd_value_id value)
{
    onnxd_node *node = onnxd_graph_only_producer(f->graph, f->uses, value);
    if (node == NULL || !onnxd_node_is(node, ONNXD_INTERNAL_DOMAIN, "QLinearConv") ||
        node->input_count > CONV_INPUTS || is_depthwise(f, node))
        return NULL;
    return node;
}

static onnxd_value_id input_of(const onnxd_node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : ONNXD_NONE;
}

/* A scale or a zero point. An absent zero point is 0. */
static bool is_same_parameter(const onnxd_fusion *f, onnxd_value_id a, onnxd_value_id b)
{
    static const uint8_t zeros[sizeof(float)] = {0};
    const onnxd_tensor *left = a == ONNXD_NONE ? NULL : f->graph->values[a].constant;
    const onnxd_tensor *right = b == ONNXD_NONE ? NULL : f->graph->values[b].constant;
    if (a == b)
        return true;
    if ((left == NULL && a != ONNXD_NONE) || (right == NULL && b != ONNXD_NONE))
        return false;
    const size_t bytes = left != NULL ? left->bytes : right->bytes;
    return bytes <= sizeof(zeros) &&
           (left == NULL || right == NULL || left->bytes == right->bytes) &&
           memcmp(left == NULL ? zeros : left->data, right == NULL ? zeros : right->data, bytes) ==
               0;
}

static onnxd_status *take_in(onnxd_fusion *f, onnxd_node *node, onnxd_node *sum, uint32_t other)
{
    onnxd_value_id inputs[SUM_INPUTS];
    uint32_t count = 0;
    while (count < CONV_INPUTS) {
        inputs[count] = input_of(node, count);
        count++;
    }
    /* The operand, its scale and its zero point, and the last two of the sum. */
    const uint32_t taken[] = {other, other + 1, other + 2, C_SCALE, C_ZERO};
    for (size_t i = 0; i < ONNXD_COUNT(taken); i++)
        inputs[count++] = input_of(sum, taken[i]);
    ONNXD_TRY(onnxd_graph_set_node_inputs(f->graph, node, inputs, count));
    ONNXD_TRY(onnxd_op_resolve(f->registry, f->graph, node));
    onnxd_fusion_take_over(f, node, sum);
    return NULL;
}

static onnxd_status *visit(onnxd_fusion *f, onnxd_node *sum)
{
    static const uint32_t operands[] = {B, A};
    if (sum->is_removed || !onnxd_node_is(sum, "com.microsoft", "QLinearAdd"))
        return NULL;
    for (size_t i = 0; i < ONNXD_COUNT(operands); i++) {
        const uint32_t own = operands[i], other = own == A ? B : A;
        onnxd_node *node = open_node(f, sum->inputs[own]);
        if (node == NULL || sum->inputs[own] == sum->inputs[other] ||
            f->graph->values[sum->inputs[other]].constant != NULL ||
            !onnxd_fusion_is_same_type(f, sum->inputs[own], sum->inputs[other]) ||
            !is_same_parameter(f, input_of(node, Y_SCALE), input_of(sum, own + 1)) ||
            !is_same_parameter(f, input_of(node, Y_ZERO), input_of(sum, own + 2)))
            continue;
        return take_in(f, node, sum, other);
    }
    return NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    onnxd_fusion f;
    onnxd_status *status = onnxd_fusion_init(&f, graph, env);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        status = visit(&f, &graph->nodes[n]);
    onnxd_fusion_deinit(&f);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = f.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_quantized_sum = {
    .name = "fuse_quantized_sum",
    .summary = "make additions of quantised images part of the convolution before them",
    .run = run,
    .is_private = true,
};

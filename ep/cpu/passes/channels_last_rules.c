/* How each operator comes over to the other order of dimensions. */
#include "base/alloc.h"
#include "ep/cpu/passes/channels_last.h"
#include "graph/batch_norm.h"

/* How the operators of a row come over to the other order of dimensions. */
typedef enum layout_rule {
    LAYOUT_CONVOLUTION,   /* always: twins of its images are made where there are none */
    LAYOUT_POOL,          /* as the operator of the domain onnxd, where its input has a twin */
    LAYOUT_NORMALIZATION, /* a convolution of 1 x 1, one channel per group */
    LAYOUT_UNARY,         /* goes by element of input 0; other inputs are scalars */
    LAYOUT_BROADCAST,     /* goes by element of all inputs, which are broadcast */
    LAYOUT_CONCAT,
    LAYOUT_AXIS, /* names one dimension */
    LAYOUT_RESIZE,
    LAYOUT_PAD,
    LAYOUT_SLICE,
    LAYOUT_MEAN,
    LAYOUT_SQUEEZE,
    LAYOUT_TRANSPOSE,
    LAYOUT_TRANSPOSED,    /* ConvTranspose */
    LAYOUT_QUANTIZED,     /* a convolution of INT8 or UINT8 */
    LAYOUT_QUANTIZED_SUM, /* goes by element of inputs 0 and 3, images of one shape */
    LAYOUT_QUANTIZE       /* goes by element of input 0, where its scale is for all */
} layout_rule;

static const struct {
    const char *domain, *op_type;
    layout_rule rule;
} rules[] = {
    {"", "Conv", LAYOUT_CONVOLUTION},
    {"com.microsoft", "FusedConv", LAYOUT_CONVOLUTION},
    {"", "MaxPool", LAYOUT_POOL},
    {"", "AveragePool", LAYOUT_POOL},
    {"", "GlobalAveragePool", LAYOUT_POOL},
    {"", "GlobalMaxPool", LAYOUT_POOL},
    {"", "LRN", LAYOUT_POOL},
    {"", "BatchNormalization", LAYOUT_NORMALIZATION},
    {"", "Relu", LAYOUT_UNARY},
    {"", "LeakyRelu", LAYOUT_UNARY},
    {"", "Clip", LAYOUT_UNARY},
    {"", "Sigmoid", LAYOUT_UNARY},
    {"", "HardSigmoid", LAYOUT_UNARY},
    {"", "HardSwish", LAYOUT_UNARY},
    {"", "Swish", LAYOUT_UNARY},
    {"", "Tanh", LAYOUT_UNARY},
    {"", "Elu", LAYOUT_UNARY},
    {"", "Erf", LAYOUT_UNARY},
    {"", "Exp", LAYOUT_UNARY},
    {"", "Gelu", LAYOUT_UNARY},
    {"", "Mish", LAYOUT_UNARY},
    {"", "Softplus", LAYOUT_UNARY},
    {"", "Sqrt", LAYOUT_UNARY},
    {"", "Neg", LAYOUT_UNARY},
    {"", "Add", LAYOUT_BROADCAST},
    {"", "Sub", LAYOUT_BROADCAST},
    {"", "Mul", LAYOUT_BROADCAST},
    {"", "Div", LAYOUT_BROADCAST},
    {"", "Sum", LAYOUT_BROADCAST},
    {"", "Max", LAYOUT_BROADCAST},
    {"", "Min", LAYOUT_BROADCAST},
    {"", "PRelu", LAYOUT_BROADCAST},
    {"", "Pow", LAYOUT_BROADCAST},
    {"", "Concat", LAYOUT_CONCAT},
    {"", "Softmax", LAYOUT_AXIS},
    {"", "LogSoftmax", LAYOUT_AXIS},
    {"", "Split", LAYOUT_AXIS},
    {"", "Resize", LAYOUT_RESIZE},
    {"", "Pad", LAYOUT_PAD},
    {"", "Slice", LAYOUT_SLICE},
    {"", "ReduceMean", LAYOUT_MEAN},
    {"", "Squeeze", LAYOUT_SQUEEZE},
    {"", "Transpose", LAYOUT_TRANSPOSE},
    {"", "ConvTranspose", LAYOUT_TRANSPOSED},
    {"", "QLinearConv", LAYOUT_QUANTIZED},
    {"", "ConvInteger", LAYOUT_QUANTIZED},
    {"com.microsoft", "QLinearAdd", LAYOUT_QUANTIZED_SUM},
    {"", "QuantizeLinear", LAYOUT_QUANTIZE},
    {"", "DequantizeLinear", LAYOUT_QUANTIZE},
};

/* Broadcasting was an attribute before. */
#define BROADCAST_SINCE 7

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The node as an operator of the domain onnxd. */
onnxd_status *onnxd_layout_rename_node(onnxd_layout *l, onnxd_node *node, const char *op_type)
{
    node->domain = ONNXD_INTERNAL_DOMAIN;
    node->op_type = op_type;
    node->opset = 1;
    return onnxd_op_resolve(l->registry, l->graph, node);
}

static onnxd_status *turn_convolution(onnxd_layout *l, onnxd_node_id id)
{
    enum { X, W, B, Z };
    const onnxd_node *node = &l->graph->nodes[id];
    const bool has_bias = node->input_count > B && node->inputs[B] != ONNXD_NONE;
    const bool has_addend = node->input_count > Z && node->inputs[Z] != ONNXD_NONE;
    if (!onnxd_layout_is_image(l, node->inputs[X]) ||
        onnxd_node_float_constant(l->graph, node, W) == NULL ||
        (has_bias && onnxd_node_float_constant(l->graph, node, B) == NULL) ||
        (has_addend && !onnxd_layout_is_image(l, node->inputs[Z])))
        return NULL;
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[X]);
    ONNXD_TRY(onnxd_layout_turn_input(l, id, X, rank));
    if (has_addend)
        ONNXD_TRY(onnxd_layout_turn_input(l, id, Z, rank));
    ONNXD_TRY(onnxd_layout_rename_node(l, &l->graph->nodes[id], "Conv"));
    return onnxd_layout_turn_output(l, &l->graph->nodes[id]);
}

static onnxd_status *turn_pool(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || node->output_count != 1)
        return NULL;
    node->inputs[0] = l->twins[node->inputs[0]];
    ONNXD_TRY(onnxd_layout_rename_node(l, node, node->op_type));
    return onnxd_layout_turn_output(l, node);
}

/* The constants of a convolution that multiplies each channel and adds to it. */
static onnxd_status *add_affine(onnxd_layout *l, const onnxd_node *norm, int32_t rank,
                                onnxd_value_id *out_weights, onnxd_value_id *out_bias)
{
    const size_t channels = onnxd_batch_norm_channels(l->graph, norm);
    const onnxd_value_id base = norm->inputs[1];
    onnxd_shape weights = {.rank = rank, .dims = {(int64_t)channels, 1, 1, 1, 1}};
    const onnxd_shape bias = {.rank = 1, .dims = {(int64_t)channels}};
    float *factors = onnxd_alloc_zero(2 * channels, sizeof(float));
    if (factors == NULL)
        return onnxd_error_out_of_memory("a constant", 2 * channels * sizeof(float), UINT64_MAX);
    onnxd_batch_norm_affine(l->graph, norm, factors, factors + channels);
    onnxd_status *status =
        onnxd_graph_derive_constant(l->graph, base, "factors", &weights, factors, out_weights);
    if (status == NULL)
        status = onnxd_graph_derive_constant(l->graph, base, "addends", &bias, factors + channels,
                                             out_bias);
    onnxd_free(factors);
    return status;
}

static onnxd_status *turn_normalization(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    onnxd_value_id weights = ONNXD_NONE, bias = ONNXD_NONE;
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || !onnxd_batch_norm_is_affine(l->graph, node))
        return NULL;
    ONNXD_TRY(add_affine(l, node, onnxd_layout_rank_of(l, node->inputs[0]), &weights, &bias));
    const onnxd_value_id inputs[] = {l->twins[node->inputs[0]], weights, bias};
    const onnxd_attribute group = {.name = "group",
                                   .kind = ONNXD_ATTRIBUTE_INT,
                                   .count = 1,
                                   .value.i = (int64_t)onnxd_batch_norm_channels(l->graph, node)};
    ONNXD_TRY(onnxd_graph_set_node_inputs(l->graph, node, inputs, ONNXD_COUNT(inputs)));
    ONNXD_TRY(onnxd_graph_set_attributes(l->graph, node, &group, 1));
    node->output_count = 1;
    ONNXD_TRY(onnxd_layout_rename_node(l, node, "Conv"));
    return onnxd_layout_turn_output(l, node);
}

static onnxd_status *turn_unary(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    if (!onnxd_layout_has_twin(l, node->inputs[0]))
        return NULL;
    node->inputs[0] = l->twins[node->inputs[0]];
    return onnxd_layout_turn_output(l, node);
}

bool onnxd_layout_can_turn_all(const onnxd_layout *l, const onnxd_node *node, int32_t rank)
{
    bool has_any = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!onnxd_layout_can_turn(l, node->inputs[i], rank))
            return false;
        has_any = has_any || onnxd_layout_has_twin(l, node->inputs[i]);
    }
    return has_any;
}

static onnxd_status *turn_elementwise(onnxd_layout *l, onnxd_node_id id)
{
    const onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = onnxd_layout_rank_of(l, node->outputs[0]);
    if (!onnxd_layout_is_image(l, node->outputs[0]) || node->opset < BROADCAST_SINCE ||
        !onnxd_layout_can_turn_all(l, node, rank))
        return NULL;
    for (uint32_t i = 0; i < l->graph->nodes[id].input_count; i++)
        ONNXD_TRY(onnxd_layout_turn_input(l, id, i, rank));
    return onnxd_layout_turn_output(l, &l->graph->nodes[id]);
}

onnxd_status *onnxd_layout_visit(onnxd_layout *l, onnxd_node_id id)
{
    const onnxd_node *node = &l->graph->nodes[id];
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (!onnxd_node_is(node, rules[i].domain, rules[i].op_type) || node->capture_count > 0)
            continue;
        switch (rules[i].rule) {
        case LAYOUT_CONVOLUTION:
            return turn_convolution(l, id);
        case LAYOUT_POOL:
            return turn_pool(l, id);
        case LAYOUT_NORMALIZATION:
            return turn_normalization(l, id);
        case LAYOUT_UNARY:
            return turn_unary(l, id);
        case LAYOUT_BROADCAST:
            return turn_elementwise(l, id);
        case LAYOUT_CONCAT:
            return onnxd_layout_turn_concat(l, id);
        case LAYOUT_AXIS:
            return onnxd_layout_turn_axis(l, id);
        case LAYOUT_RESIZE:
            return onnxd_layout_turn_resize(l, id);
        case LAYOUT_PAD:
            return onnxd_layout_turn_pad(l, id);
        case LAYOUT_SLICE:
            return onnxd_layout_turn_slice(l, id);
        case LAYOUT_MEAN:
            return onnxd_layout_turn_mean(l, id);
        case LAYOUT_SQUEEZE:
            return onnxd_layout_turn_squeeze(l, id);
        case LAYOUT_TRANSPOSE:
            return onnxd_layout_turn_transpose(l, id);
        case LAYOUT_TRANSPOSED:
            return onnxd_layout_turn_transposed(l, id);
        case LAYOUT_QUANTIZED:
            return onnxd_layout_turn_quantized(l, id);
        case LAYOUT_QUANTIZED_SUM:
            return onnxd_layout_turn_quantized_sum(l, id);
        case LAYOUT_QUANTIZE:
            return onnxd_layout_turn_quantize(l, id);
        }
    }
    return NULL;
}

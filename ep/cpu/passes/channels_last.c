/*
 * Images channels-last: [N, D1 ... Dk, C] in place of ONNX's [N, C, D1 ... Dk], which is how the
 * kernels for convolutions want them.
 *
 * A convolution becomes one of the domain onnxd, whose input and result are the channels-last twins
 * of the former ones. What stands between convolutions follows where it can: pools, elementwise
 * operators, Concat. A Transpose is added only where a twin meets a node that stayed as it was.
 *
 *   Conv ─► Relu ─► MaxPool ─► Flatten   becomes   T ─► Conv ─► Relu ─► MaxPool ─► T ─► Flatten
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "graph/batch_norm.h"
#include "graph/rewrite.h"
#include "ops/layout/channels_last.h"

typedef struct layout {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    onnxd_value_id *twins; /* of each value that was there before the pass; ONNXD_NONE: none */
    uint32_t count;        /* of them */
    uint32_t changes;
} layout;

/* How the operators of a row come over to the other order of dimensions. */
typedef enum layout_rule {
    LAYOUT_CONVOLUTION,   /* always: twins of its images are made where there are none */
    LAYOUT_POOL,          /* as the operator of the domain onnxd, where its input has a twin */
    LAYOUT_NORMALIZATION, /* a convolution of 1 x 1, one channel per group */
    LAYOUT_UNARY,         /* goes by element of input 0; other inputs are scalars */
    LAYOUT_BROADCAST,     /* goes by element of all inputs, which are broadcast */
    LAYOUT_CONCAT
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
    {"", "Concat", LAYOUT_CONCAT},
};

/* Broadcasting was an attribute before. */
#define BROADCAST_SINCE 7

static const onnxd_tensor_type *type_of(const layout *l, onnxd_value_id value)
{
    return &l->graph->values[value].type;
}

static int32_t rank_of(const layout *l, onnxd_value_id value)
{
    const onnxd_tensor_type *type = type_of(l, value);
    return type->kind == ONNXD_VALUE_TENSOR ? type->shape.rank : ONNXD_RANK_UNKNOWN;
}

static bool is_image(const layout *l, onnxd_value_id value)
{
    return value != ONNXD_NONE && type_of(l, value)->dtype == ONNXD_FLOAT &&
           rank_of(l, value) >= 3 && rank_of(l, value) <= 5;
}

static bool has_twin(const layout *l, onnxd_value_id value)
{
    return value != ONNXD_NONE && l->twins[value] != ONNXD_NONE;
}

/* ---- twins ----------------------------------------------------------------------------------- */

static onnxd_status *add_transpose(layout *l, onnxd_value_id from, onnxd_value_id to, int32_t rank,
                                   bool to_last)
{
    int64_t perm[ONNXD_MAX_RANK];
    onnxd_attribute attribute;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i;
    for (int32_t i = 1; i < rank; i++)
        perm[i] = to_last ? (i + 1 < rank ? i + 1 : 1) : (i == 1 ? rank - 1 : i - 1);
    ONNXD_TRY(onnxd_graph_ints(l->graph, "perm", perm, (size_t)rank, &attribute));
    const onnxd_node node = {.name = "",
                             .domain = "",
                             .op_type = "Transpose",
                             .opset = onnxd_graph_opset(l->graph, ""),
                             .inputs = &from,
                             .outputs = &to,
                             .attributes = &attribute,
                             .input_count = 1,
                             .output_count = 1,
                             .attribute_count = 1};
    return onnxd_graph_add_resolved(l->graph, l->registry, &node);
}

/* The twin of a value; a Transpose makes it where nothing does yet. */
static onnxd_status *require_twin(layout *l, onnxd_value_id value, onnxd_value_id *out_twin)
{
    if (l->twins[value] == ONNXD_NONE) {
        onnxd_value_id twin = ONNXD_NONE;
        ONNXD_TRY(onnxd_graph_derive_value(l->graph, value, "channels_last", &twin));
        ONNXD_TRY(add_transpose(l, value, twin, rank_of(l, value), true));
        l->twins[value] = twin;
    }
    *out_twin = l->twins[value];
    return NULL;
}

/* The node makes the twin of what it made before, whose reader may never come. */
static onnxd_status *turn_output(layout *l, onnxd_node *node)
{
    const onnxd_value_id value = node->outputs[0];
    onnxd_value_id twin = ONNXD_NONE;
    ONNXD_TRY(onnxd_graph_derive_value(l->graph, value, "channels_last", &twin));
    l->graph->values[twin].producer = l->graph->values[value].producer;
    l->graph->values[value].producer = ONNXD_NONE;
    node->outputs[0] = twin;
    l->twins[value] = twin;
    l->changes++;
    return NULL;
}

/* The former values that are read still come from their twins. */
static onnxd_status *restore_values(layout *l)
{
    uint32_t *uses = NULL;
    onnxd_status *status = NULL;
    ONNXD_TRY(onnxd_graph_count_uses(l->graph, &uses));
    for (onnxd_value_id v = 0; v < l->count && status == NULL; v++) {
        const onnxd_value *value = &l->graph->values[v];
        if (l->twins[v] != ONNXD_NONE && uses[v] > 0 && value->producer == ONNXD_NONE &&
            !value->is_input && value->constant == NULL)
            status = add_transpose(l, l->twins[v], v, rank_of(l, v), false);
    }
    onnxd_free(uses);
    return status;
}

/* ---- constants that are broadcast ------------------------------------------------------------ */

static bool is_scalar(const onnxd_tensor *constant)
{
    return constant->count == 1;
}

/* A constant of a shape such as [C, 1, 1] as [1, 1, C], for images of `rank`. */
static onnxd_status *turn_constant(layout *l, onnxd_value_id value, int32_t rank,
                                   onnxd_value_id *out_value)
{
    const onnxd_tensor *constant = l->graph->values[value].constant;
    onnxd_shape first = {.rank = rank}, last;
    const int32_t lacking = rank - constant->shape.rank;
    for (int32_t i = 0; i < rank; i++)
        first.dims[i] = i < lacking ? 1 : constant->shape.dims[i - lacking];
    last = onnxd_channels_last(&first);
    float *elements = onnxd_alloc_zero(constant->count, sizeof(float));
    if (elements == NULL)
        return onnxd_error_out_of_memory("a constant", constant->bytes, UINT64_MAX);
    const size_t channels = (size_t)first.dims[1], batch = (size_t)first.dims[0];
    const size_t inner = constant->count / (batch * channels);
    const float *from = constant->data;
    for (size_t n = 0; n < batch; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < inner; i++)
                elements[(n * inner + i) * channels + c] = from[(n * channels + c) * inner + i];
    onnxd_status *status =
        onnxd_graph_derive_constant(l->graph, value, "channels_last", &last, elements, out_value);
    onnxd_free(elements);
    return status;
}

/* Whether an input of an elementwise node over images of `rank` can be had channels-last. */
static bool can_turn(const layout *l, onnxd_value_id value, int32_t rank)
{
    if (value == ONNXD_NONE)
        return false;
    const onnxd_tensor *constant = l->graph->values[value].constant;
    if (constant != NULL)
        return constant->dtype == ONNXD_FLOAT && constant->count > 0 &&
               constant->shape.rank <= rank;
    return is_image(l, value) && rank_of(l, value) == rank;
}

static onnxd_status *turn_input(layout *l, onnxd_node_id id, uint32_t index, int32_t rank)
{
    const onnxd_value_id value = l->graph->nodes[id].inputs[index];
    const onnxd_tensor *constant = l->graph->values[value].constant;
    onnxd_value_id turned = value;
    if (constant == NULL)
        ONNXD_TRY(require_twin(l, value, &turned));
    else if (!is_scalar(constant))
        ONNXD_TRY(turn_constant(l, value, rank, &turned));
    l->graph->nodes[id].inputs[index] = turned;
    return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The node as an operator of the domain onnxd. */
static onnxd_status *rename_node(layout *l, onnxd_node *node, const char *op_type)
{
    node->domain = ONNXD_INTERNAL_DOMAIN;
    node->op_type = op_type;
    node->opset = 1;
    return onnxd_op_resolve(l->registry, l->graph, node);
}

static onnxd_status *turn_convolution(layout *l, onnxd_node_id id)
{
    enum { X, W, B, Z };
    const onnxd_node *node = &l->graph->nodes[id];
    const bool has_bias = node->input_count > B && node->inputs[B] != ONNXD_NONE;
    const bool has_addend = node->input_count > Z && node->inputs[Z] != ONNXD_NONE;
    if (!is_image(l, node->inputs[X]) || onnxd_node_float_constant(l->graph, node, W) == NULL ||
        (has_bias && onnxd_node_float_constant(l->graph, node, B) == NULL) ||
        (has_addend && !is_image(l, node->inputs[Z])))
        return NULL;
    const int32_t rank = rank_of(l, node->inputs[X]);
    ONNXD_TRY(turn_input(l, id, X, rank));
    if (has_addend)
        ONNXD_TRY(turn_input(l, id, Z, rank));
    ONNXD_TRY(rename_node(l, &l->graph->nodes[id], "Conv"));
    return turn_output(l, &l->graph->nodes[id]);
}

static onnxd_status *turn_pool(layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    if (!has_twin(l, node->inputs[0]) || node->output_count != 1)
        return NULL;
    node->inputs[0] = l->twins[node->inputs[0]];
    ONNXD_TRY(rename_node(l, node, node->op_type));
    return turn_output(l, node);
}

/* The constants of a convolution that multiplies each channel and adds to it. */
static onnxd_status *add_affine(layout *l, const onnxd_node *norm, int32_t rank,
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

static onnxd_status *turn_normalization(layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    onnxd_value_id weights = ONNXD_NONE, bias = ONNXD_NONE;
    if (!has_twin(l, node->inputs[0]) || !onnxd_batch_norm_is_affine(l->graph, node))
        return NULL;
    ONNXD_TRY(add_affine(l, node, rank_of(l, node->inputs[0]), &weights, &bias));
    const onnxd_value_id inputs[] = {l->twins[node->inputs[0]], weights, bias};
    const onnxd_attribute group = {.name = "group",
                                   .kind = ONNXD_ATTRIBUTE_INT,
                                   .count = 1,
                                   .value.i = (int64_t)onnxd_batch_norm_channels(l->graph, node)};
    ONNXD_TRY(onnxd_graph_set_node_inputs(l->graph, node, inputs, ONNXD_COUNT(inputs)));
    ONNXD_TRY(onnxd_graph_set_attributes(l->graph, node, &group, 1));
    node->output_count = 1;
    ONNXD_TRY(rename_node(l, node, "Conv"));
    return turn_output(l, node);
}

static onnxd_status *turn_unary(layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    if (!has_twin(l, node->inputs[0]))
        return NULL;
    node->inputs[0] = l->twins[node->inputs[0]];
    return turn_output(l, node);
}

static bool can_turn_all(const layout *l, const onnxd_node *node, int32_t rank)
{
    bool has_any = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!can_turn(l, node->inputs[i], rank))
            return false;
        has_any = has_any || has_twin(l, node->inputs[i]);
    }
    return has_any;
}

static onnxd_status *turn_elementwise(layout *l, onnxd_node_id id)
{
    const onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = rank_of(l, node->outputs[0]);
    if (!is_image(l, node->outputs[0]) || node->opset < BROADCAST_SINCE ||
        !can_turn_all(l, node, rank))
        return NULL;
    for (uint32_t i = 0; i < l->graph->nodes[id].input_count; i++)
        ONNXD_TRY(turn_input(l, id, i, rank));
    return turn_output(l, &l->graph->nodes[id]);
}

static onnxd_status *turn_concat(layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = rank_of(l, node->outputs[0]);
    const onnxd_attribute *axis = onnxd_node_attribute(node, "axis");
    if (!is_image(l, node->outputs[0]) || axis == NULL || axis->kind != ONNXD_ATTRIBUTE_INT ||
        !can_turn_all(l, node, rank))
        return NULL;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (l->graph->values[node->inputs[i]].constant != NULL)
            return NULL;
    const int64_t first = axis->value.i < 0 ? axis->value.i + rank : axis->value.i;
    for (uint32_t i = 0; i < l->graph->nodes[id].input_count; i++)
        ONNXD_TRY(turn_input(l, id, i, rank));
    node = &l->graph->nodes[id];
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, "axis") == 0)
            node->attributes[i].value.i = first == 0 ? 0 : first == 1 ? rank - 1 : first - 1;
    ONNXD_TRY(onnxd_op_resolve(l->registry, l->graph, node));
    return turn_output(l, node);
}

static onnxd_status *visit(layout *l, onnxd_node_id id)
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
            return turn_concat(l, id);
        }
    }
    return NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    layout l = {.graph = graph, .registry = env->registry, .count = graph->value_count};
    const uint32_t node_count = graph->node_count;
    onnxd_status *status = NULL;
    l.twins = onnxd_alloc_zero((size_t)l.count + 1, sizeof(l.twins[0]));
    if (l.twins == NULL)
        return onnxd_error_out_of_memory("twins of values", l.count * sizeof(l.twins[0]),
                                         UINT64_MAX);
    for (uint32_t v = 0; v < l.count; v++)
        l.twins[v] = ONNXD_NONE;
    for (uint32_t n = 0; n < node_count && status == NULL; n++)
        status = visit(&l, n);
    if (status == NULL && l.changes > 0)
        status = restore_values(&l);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    onnxd_free(l.twins);
    if (status == NULL)
        *out_changes = l.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_channels_last = {
    .name = "channels_last",
    .summary = "keep images channels-last between convolutions",
    .run = run,
    .is_private = true,
};

/*
 * A ConvTranspose whose windows lie side by side, kernel and stride being the same b x b, makes
 * each block of b x b pixels of one pixel: it is a convolution of 1 x 1 with b * b times the maps,
 * and a DepthToSpace.
 */
#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/passes/channels_last.h"
#include "graph/attributes.h"
#include "ops/layout/channels_last.h"

enum { X, W, B };

/* ---- what can follow ------------------------------------------------------------------------- */

static bool has_all(const onnxd_node *node, const char *name, int64_t value)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    if (attribute == NULL)
        return true;
    bool is_so = attribute->kind == ONNXD_ATTRIBUTE_INTS;
    for (size_t i = 0; is_so && i < attribute->count; i++)
        is_so = attribute->value.ints[i] == value;
    return is_so;
}

static bool is_plain(const onnxd_node *node, int64_t block)
{
    const onnxd_attribute *strides = onnxd_node_attribute(node, "strides");
    const onnxd_attribute *group = onnxd_node_attribute(node, "group");
    return strides != NULL && strides->count == 2 && has_all(node, "strides", block) &&
           has_all(node, "pads", 0) && has_all(node, "output_padding", 0) &&
           has_all(node, "dilations", 1) && onnxd_node_attribute(node, "auto_pad") == NULL &&
           onnxd_node_attribute(node, "output_shape") == NULL &&
           (group == NULL || group->value.i == 1);
}

static bool can_follow(const onnxd_layout *l, const onnxd_node *node)
{
    const onnxd_tensor *weights = onnxd_node_float_constant(l->graph, node, W);
    const bool has_bias = node->input_count > B && node->inputs[B] != ONNXD_NONE;
    return onnxd_layout_is_image(l, node->inputs[X]) && weights != NULL && weights->count > 0 &&
           weights->shape.rank == 4 && onnxd_layout_rank_of(l, node->inputs[X]) == 4 &&
           weights->shape.dims[2] == weights->shape.dims[3] &&
           is_plain(node, weights->shape.dims[2]) &&
           (!has_bias || onnxd_node_float_constant(l->graph, node, B) != NULL);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* [channels, maps, b, b] as [b b maps, channels, 1, 1]. */
static onnxd_status *turn_weights(onnxd_layout *l, onnxd_value_id value, onnxd_value_id *out_value)
{
    const onnxd_tensor *weights = l->graph->values[value].constant;
    const size_t channels = (size_t)weights->shape.dims[0], maps = (size_t)weights->shape.dims[1];
    const size_t taps = weights->count / (channels * maps);
    const onnxd_shape shape = {.rank = 4,
                               .dims = {(int64_t)(taps * maps), (int64_t)channels, 1, 1}};
    float *elements = onnxd_alloc_zero(weights->count, sizeof(float));
    if (elements == NULL)
        return onnxd_error_out_of_memory("weights", weights->bytes, UINT64_MAX);
    for (size_t i = 0; i < weights->count; i++) {
        const size_t channel = i / (maps * taps), map = i / taps % maps, tap = i % taps;
        elements[(tap * maps + map) * channels + channel] = ((const float *)weights->data)[i];
    }
    onnxd_status *status =
        onnxd_graph_derive_constant(l->graph, value, "blocks", &shape, elements, out_value);
    onnxd_free(elements);
    return status;
}

/* Once for each pixel of a block. */
static onnxd_status *turn_bias(onnxd_layout *l, onnxd_value_id value, size_t taps,
                               onnxd_value_id *out_value)
{
    const onnxd_tensor *bias = l->graph->values[value].constant;
    const onnxd_shape shape = {.rank = 1, .dims = {(int64_t)(taps * bias->count)}};
    float *elements = onnxd_alloc_zero(taps * bias->count + 1, sizeof(float));
    if (elements == NULL)
        return onnxd_error_out_of_memory("a bias", taps * bias->bytes, UINT64_MAX);
    for (size_t i = 0; i < taps * bias->count; i++)
        elements[i] = ((const float *)bias->data)[i % bias->count];
    onnxd_status *status =
        onnxd_graph_derive_constant(l->graph, value, "blocks", &shape, elements, out_value);
    onnxd_free(elements);
    return status;
}

/* ---- the nodes ------------------------------------------------------------------------------- */

static onnxd_status *add_blocks(onnxd_layout *l, onnxd_node_id id, int64_t block)
{
    const onnxd_value_id value = l->graph->nodes[id].outputs[0];
    onnxd_value_id deep = ONNXD_NONE, twin = ONNXD_NONE;
    const onnxd_attribute size = {
        .name = "blocksize", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = block};
    ONNXD_TRY(onnxd_graph_derive_value(l->graph, value, "blocks", &deep));
    ONNXD_TRY(onnxd_graph_derive_value(l->graph, value, "channels_last", &twin));
    l->graph->values[deep].producer = id;
    l->graph->values[value].producer = ONNXD_NONE;
    l->graph->nodes[id].outputs[0] = deep;
    l->twins[value] = twin;
    l->changes++;
    const onnxd_node node = {.name = "",
                             .domain = ONNXD_INTERNAL_DOMAIN,
                             .op_type = "DepthToSpace",
                             .opset = 1,
                             .inputs = &deep,
                             .outputs = &twin,
                             .attributes = (onnxd_attribute *)&size,
                             .input_count = 1,
                             .output_count = 1,
                             .attribute_count = 1};
    return onnxd_graph_add_resolved(l->graph, l->registry, &node);
}

onnxd_status *onnxd_layout_turn_transposed(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_value_id inputs[] = {ONNXD_NONE, ONNXD_NONE, ONNXD_NONE};
    onnxd_node *node = &l->graph->nodes[id];
    if (!can_follow(l, node))
        return NULL;
    const int64_t block = l->graph->values[node->inputs[W]].constant->shape.dims[2];
    const bool has_bias = node->input_count > B && node->inputs[B] != ONNXD_NONE;
    ONNXD_TRY(turn_weights(l, node->inputs[W], &inputs[W]));
    if (has_bias)
        ONNXD_TRY(turn_bias(l, node->inputs[B], (size_t)(block * block), &inputs[B]));
    ONNXD_TRY(onnxd_layout_require_twin(l, node->inputs[X], &inputs[X]));
    node = &l->graph->nodes[id];
    ONNXD_TRY(onnxd_graph_set_node_inputs(l->graph, node, inputs, has_bias ? 3 : 2));
    ONNXD_TRY(onnxd_graph_set_attributes(l->graph, node, NULL, 0));
    ONNXD_TRY(onnxd_layout_rename_node(l, node, "Conv"));
    return add_blocks(l, id, block);
}

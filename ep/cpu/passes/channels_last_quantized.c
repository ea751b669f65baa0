/* Operators on images of INT8 and UINT8, and those between them and images of FLOAT. */
#include <string.h>

#include "ep/cpu/passes/channels_last.h"

static bool is_quantized_image(const onnxd_layout *l, onnxd_value_id value)
{
    if (value == ONNXD_NONE)
        return false;
    const onnxd_dtype dtype = l->graph->values[value].type.dtype;
    return (dtype == ONNXD_INT8 || dtype == ONNXD_UINT8) && onnxd_layout_rank_of(l, value) >= 3 &&
           onnxd_layout_rank_of(l, value) <= 5;
}

onnxd_status *onnxd_layout_turn_quantized(onnxd_layout *l, onnxd_node_id id)
{
    const onnxd_node *node = &l->graph->nodes[id];
    const uint32_t weights = strcmp(node->op_type, "QLinearConv") == 0 ? 3 : 1;
    onnxd_value_id twin = ONNXD_NONE;
    if (!is_quantized_image(l, node->inputs[0]) ||
        l->graph->values[node->inputs[weights]].constant == NULL)
        return NULL;
    ONNXD_TRY(onnxd_layout_require_twin(l, node->inputs[0], &twin));
    l->graph->nodes[id].inputs[0] = twin;
    ONNXD_TRY(onnxd_layout_rename_node(l, &l->graph->nodes[id], l->graph->nodes[id].op_type));
    return onnxd_layout_turn_output(l, &l->graph->nodes[id]);
}

onnxd_status *onnxd_layout_turn_quantized_sum(onnxd_layout *l, onnxd_node_id id)
{
    enum { A, B = 3 };
    const onnxd_node *node = &l->graph->nodes[id];
    const onnxd_value_id a = node->inputs[A], b = node->inputs[B];
    onnxd_value_id twins[2];
    if (!is_quantized_image(l, a) || !is_quantized_image(l, b) ||
        onnxd_layout_rank_of(l, a) != onnxd_layout_rank_of(l, b) ||
        (!onnxd_layout_has_twin(l, a) && !onnxd_layout_has_twin(l, b)))
        return NULL;
    ONNXD_TRY(onnxd_layout_require_twin(l, a, &twins[0]));
    ONNXD_TRY(onnxd_layout_require_twin(l, b, &twins[1]));
    l->graph->nodes[id].inputs[A] = twins[0];
    l->graph->nodes[id].inputs[B] = twins[1];
    return onnxd_layout_turn_output(l, &l->graph->nodes[id]);
}

/* A scale for each index of an axis is no scalar. */
static bool has_scalars(const onnxd_layout *l, const onnxd_node *node)
{
    for (uint32_t i = 1; i < node->input_count; i++) {
        size_t count;
        if (node->inputs[i] == ONNXD_NONE)
            continue;
        const onnxd_shape *shape = &l->graph->values[node->inputs[i]].type.shape;
        if (!onnxd_shape_is_static(shape) || !onnxd_shape_count(shape, &count) || count != 1)
            return false;
    }
    return true;
}

onnxd_status *onnxd_layout_turn_quantize(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || !has_scalars(l, node))
        return NULL;
    node->inputs[0] = l->twins[node->inputs[0]];
    return onnxd_layout_turn_output(l, node);
}

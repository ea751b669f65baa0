/* Operators that name dimensions: their attributes and constants are put into the other order. */
#include <string.h>

#include "ep/cpu/passes/channels_last.h"
#include "ops/layout/channels_last.h"

int32_t onnxd_layout_axis(int64_t axis, int32_t rank)
{
    const int32_t first = (int32_t)(axis < 0 ? axis + rank : axis);
    return first == 0 ? 0 : first == 1 ? rank - 1 : first - 1;
}

onnxd_status *onnxd_layout_turn_concat(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = onnxd_layout_rank_of(l, node->outputs[0]);
    const onnxd_attribute *axis = onnxd_node_attribute(node, "axis");
    if (!onnxd_layout_is_image(l, node->outputs[0]) || axis == NULL ||
        axis->kind != ONNXD_ATTRIBUTE_INT || !onnxd_layout_can_turn_all(l, node, rank))
        return NULL;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (l->graph->values[node->inputs[i]].constant != NULL)
            return NULL;
    const int32_t turned = onnxd_layout_axis(axis->value.i, rank);
    for (uint32_t i = 0; i < l->graph->nodes[id].input_count; i++)
        ONNXD_TRY(onnxd_layout_turn_input(l, id, i, rank));
    node = &l->graph->nodes[id];
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, "axis") == 0)
            node->attributes[i].value.i = turned;
    ONNXD_TRY(onnxd_op_resolve(l->registry, l->graph, node));
    return onnxd_layout_turn_output(l, node);
}

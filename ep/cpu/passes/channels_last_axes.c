/* Operators that name dimensions: their attributes and constants are put into the other order. */
#include <string.h>

#include "ep/cpu/passes/channels_last.h"
#include "graph/attributes.h"
#include "ops/layout/channels_last.h"

int32_t onnxd_layout_axis(int64_t axis, int32_t rank)
{
    const int32_t first = (int32_t)(axis < 0 ? axis + rank : axis);
    return first == 0 ? 0 : first == 1 ? rank - 1 : first - 1;
}

/* ---- constants and attributes ---------------------------------------------------------------- */

#define MOST_NUMBERS ((size_t)2 * ONNXD_MAX_RANK)

/* What an input or an attribute lists, in INT64. */
typedef struct number_list {
    int64_t values[MOST_NUMBERS];
    size_t count;
    bool is_given;
} number_list;

static bool has_input(const onnxd_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != ONNXD_NONE;
}

/* False when there is an input whose value is not known, or too long. */
static bool read_input(const onnxd_layout *l, const onnxd_node *node, uint32_t index,
                       number_list *out)
{
    *out = (number_list){.is_given = has_input(node, index)};
    if (!out->is_given)
        return true;
    const onnxd_tensor *constant = l->graph->values[node->inputs[index]].constant;
    if (constant == NULL || constant->shape.rank != 1 || constant->count > MOST_NUMBERS ||
        (constant->dtype != ONNXD_INT64 && constant->dtype != ONNXD_INT32))
        return false;
    out->count = constant->count;
    for (size_t i = 0; i < out->count; i++)
        out->values[i] = constant->dtype == ONNXD_INT64 ? ((const int64_t *)constant->data)[i]
                                                        : ((const int32_t *)constant->data)[i];
    return true;
}

static bool read_attribute(const onnxd_node *node, const char *name, number_list *out)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    *out = (number_list){.is_given = attribute != NULL};
    if (attribute == NULL)
        return true;
    if (attribute->kind != ONNXD_ATTRIBUTE_INTS || attribute->count > MOST_NUMBERS)
        return false;
    out->count = attribute->count;
    memcpy(out->values, attribute->value.ints, out->count * sizeof(out->values[0]));
    return true;
}

static bool turn_axes(number_list *axes, int32_t rank)
{
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->values[i] < -rank || axes->values[i] >= rank)
            return false;
        axes->values[i] = onnxd_layout_axis(axes->values[i], rank);
    }
    return true;
}

/* Inputs of the node from `first` on are to be these lists, and those before them as they were. */
static onnxd_status *set_inputs(onnxd_layout *l, onnxd_node *node, uint32_t index,
                                const number_list *list)
{
    enum { MOST = 8 };
    onnxd_value_id inputs[MOST] = {0};
    const uint32_t count = node->input_count > index + 1 ? node->input_count : index + 1;
    if (count > MOST)
        return onnxd_error(ONNXD_INTERNAL, "too many inputs");
    for (uint32_t i = 0; i < count; i++)
        inputs[i] = i < node->input_count ? node->inputs[i] : ONNXD_NONE;
    ONNXD_TRY(onnxd_graph_derive_ints(l->graph, node->inputs[0], "channels_last", list->values,
                                      list->count, &inputs[index]));
    return onnxd_graph_set_node_inputs(l->graph, node, inputs, count);
}

/* The attribute of that name is to be this list. */
static onnxd_status *set_list(onnxd_layout *l, onnxd_node *node, const char *name,
                              const number_list *list)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            ONNXD_TRY(
                onnxd_graph_ints(l->graph, name, list->values, list->count, &node->attributes[i]));
    return NULL;
}

/* The node, which reads the twin of its input 0 and has been changed to fit, makes twins. */
static onnxd_status *turn_node(onnxd_layout *l, onnxd_node *node)
{
    node->inputs[0] = l->twins[node->inputs[0]];
    ONNXD_TRY(onnxd_op_resolve(l->registry, l->graph, node));
    return onnxd_layout_turn_output(l, node);
}

/* ---- one axis -------------------------------------------------------------------------------- */

static void set_axis(onnxd_node *node, int32_t axis)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, "axis") == 0)
            node->attributes[i].value.i = axis;
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
    set_axis(node, turned);
    ONNXD_TRY(onnxd_op_resolve(l->registry, l->graph, node));
    return onnxd_layout_turn_output(l, node);
}

/* Softmax was one of a matrix before. */
#define SOFTMAX_AXIS_SINCE 13

/* Softmax, LogSoftmax and Split, whose attribute may be left out where it is the last one, or
 * the first. */
onnxd_status *onnxd_layout_turn_axis(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const onnxd_attribute *axis = onnxd_node_attribute(node, "axis");
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[0]);
    const bool is_split = onnxd_node_is(node, "", "Split");
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || axis == NULL ||
        axis->kind != ONNXD_ATTRIBUTE_INT || axis->value.i < -rank || axis->value.i >= rank ||
        (!is_split && node->opset < SOFTMAX_AXIS_SINCE))
        return NULL;
    set_axis(node, onnxd_layout_axis(axis->value.i, rank));
    return turn_node(l, node);
}

/* ---- Resize ---------------------------------------------------------------------------------- */

/* The opset that put the regions before the scales. */
#define REGIONS_SINCE 11

static bool is_crop(const onnxd_node *node)
{
    const onnxd_attribute *mode = onnxd_node_attribute(node, "coordinate_transformation_mode");
    return mode != NULL && (mode->kind != ONNXD_ATTRIBUTE_STRING ||
                            strcmp(mode->value.s.data, "tf_crop_and_resize") == 0);
}

static onnxd_status *turn_scales(onnxd_layout *l, onnxd_node *node, uint32_t index)
{
    const onnxd_tensor *scales = onnxd_node_float_constant(l->graph, node, index);
    const size_t rank = scales->count;
    float values[ONNXD_MAX_RANK];
    for (size_t i = 0; i < rank; i++)
        values[onnxd_layout_axis((int64_t)i, (int32_t)rank)] = ((const float *)scales->data)[i];
    return onnxd_graph_derive_constant(l->graph, node->inputs[index], "channels_last",
                                       &scales->shape, values, &node->inputs[index]);
}

static onnxd_status *turn_sizes(onnxd_layout *l, onnxd_node *node, uint32_t index,
                                const number_list *sizes)
{
    number_list turned = *sizes;
    for (size_t i = 0; i < sizes->count; i++)
        turned.values[onnxd_layout_axis((int64_t)i, (int32_t)sizes->count)] = sizes->values[i];
    return set_inputs(l, node, index, &turned);
}

onnxd_status *onnxd_layout_turn_resize(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const uint32_t index = node->opset < REGIONS_SINCE ? 1 : 2;
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[0]);
    number_list sizes = {.count = 0};
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || is_crop(node) ||
        onnxd_node_attribute(node, "axes") != NULL ||
        (index == 2 && !read_input(l, node, 3, &sizes)))
        return NULL;
    const onnxd_tensor *scales =
        has_input(node, index) ? onnxd_node_float_constant(l->graph, node, index) : NULL;
    if (has_input(node, index) && scales == NULL)
        return NULL;
    if (scales != NULL && scales->count == (size_t)rank && sizes.count == 0)
        ONNXD_TRY(turn_scales(l, node, index));
    else if ((scales == NULL || scales->count == 0) && sizes.count == (size_t)rank)
        ONNXD_TRY(turn_sizes(l, node, 3, &sizes));
    else
        return NULL;
    return turn_node(l, node);
}

/* ---- Pad and Slice --------------------------------------------------------------------------- */

/* The opsets that made their lists inputs. */
#define PAD_INPUTS_SINCE 11
#define SLICE_INPUTS_SINCE 10

onnxd_status *onnxd_layout_turn_pad(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[0]);
    const bool has_inputs = node->opset >= PAD_INPUTS_SINCE;
    number_list pads, turned;
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || has_input(node, 3) ||
        !(has_inputs ? read_input(l, node, 1, &pads) : read_attribute(node, "pads", &pads)) ||
        pads.count != 2 * (size_t)rank)
        return NULL;
    turned = pads;
    for (int32_t i = 0; i < rank; i++) {
        const int32_t to = onnxd_layout_axis(i, rank);
        turned.values[to] = pads.values[i];
        turned.values[rank + to] = pads.values[rank + i];
    }
    if (has_inputs)
        ONNXD_TRY(set_inputs(l, node, 1, &turned));
    else
        ONNXD_TRY(set_list(l, node, "pads", &turned));
    return turn_node(l, node);
}

onnxd_status *onnxd_layout_turn_slice(onnxd_layout *l, onnxd_node_id id)
{
    enum { STARTS = 1, AXES = 3 };
    onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[0]);
    const bool has_inputs = node->opset >= SLICE_INPUTS_SINCE;
    number_list starts, axes;
    if (!onnxd_layout_has_twin(l, node->inputs[0]) ||
        !(has_inputs
              ? read_input(l, node, STARTS, &starts) && read_input(l, node, AXES, &axes)
              : read_attribute(node, "starts", &starts) && read_attribute(node, "axes", &axes)) ||
        (!axes.is_given && (!has_inputs || starts.count > (size_t)rank)))
        return NULL;
    for (size_t i = 0; !axes.is_given && i < starts.count; i++)
        axes.values[axes.count++] = (int64_t)i;
    if (!turn_axes(&axes, rank))
        return NULL;
    if (has_inputs)
        ONNXD_TRY(set_inputs(l, node, AXES, &axes));
    else
        ONNXD_TRY(set_list(l, node, "axes", &axes));
    return turn_node(l, node);
}

/* ---- ReduceMean ------------------------------------------------------------------------------ */

/* The opset that made the axes an input. */
#define REDUCE_INPUTS_SINCE 18

static bool is_spatial(const number_list *axes, int32_t rank)
{
    unsigned seen = 0;
    for (size_t i = 0; i < axes->count; i++) {
        const int64_t axis = axes->values[i] < 0 ? axes->values[i] + rank : axes->values[i];
        if (axis < 2 || axis >= rank)
            return false;
        seen |= 1u << axis;
    }
    return seen == (1u << rank) - 4;
}

/* The mean of all pixels is GlobalAveragePool. */
onnxd_status *onnxd_layout_turn_mean(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const onnxd_attribute *keeps = onnxd_node_attribute(node, "keepdims");
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[0]);
    number_list axes;
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || (keeps != NULL && keeps->value.i == 0) ||
        !(node->opset >= REDUCE_INPUTS_SINCE ? read_input(l, node, 1, &axes)
                                             : read_attribute(node, "axes", &axes)) ||
        !is_spatial(&axes, rank))
        return NULL;
    node->inputs[0] = l->twins[node->inputs[0]];
    node->input_count = 1;
    ONNXD_TRY(onnxd_graph_set_attributes(l->graph, node, NULL, 0));
    ONNXD_TRY(onnxd_layout_rename_node(l, node, "GlobalAveragePool"));
    return onnxd_layout_turn_output(l, node);
}

/* ---- other orders and ranks ------------------------------------------------------------------ */

/* The opset that made the axes an input. */
#define SQUEEZE_INPUTS_SINCE 13

/* A Squeeze of spatial dimensions that leaves one. */
onnxd_status *onnxd_layout_turn_squeeze(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const int32_t rank = onnxd_layout_rank_of(l, node->inputs[0]);
    const bool has_inputs = node->opset >= SQUEEZE_INPUTS_SINCE;
    number_list axes;
    if (!onnxd_layout_has_twin(l, node->inputs[0]) || !onnxd_layout_is_image(l, node->outputs[0]) ||
        !(has_inputs ? read_input(l, node, 1, &axes) : read_attribute(node, "axes", &axes)) ||
        axes.count == 0)
        return NULL;
    for (size_t i = 0; i < axes.count; i++)
        if (axes.values[i] < 0 ? axes.values[i] + rank < 2 : axes.values[i] < 2)
            return NULL;
    if (!turn_axes(&axes, rank))
        return NULL;
    if (has_inputs)
        ONNXD_TRY(set_inputs(l, node, 1, &axes));
    else
        ONNXD_TRY(set_list(l, node, "axes", &axes));
    return turn_node(l, node);
}

static bool has_perm(const onnxd_node *node, int32_t rank, bool to_last)
{
    int64_t perm[ONNXD_MAX_RANK];
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "perm");
    if (attribute == NULL || attribute->kind != ONNXD_ATTRIBUTE_INTS ||
        attribute->count != (size_t)rank)
        return false;
    onnxd_layout_perm(rank, to_last, perm);
    return memcmp(attribute->value.ints, perm, (size_t)rank * sizeof(perm[0])) == 0;
}

/* `value` is what was made as the twin `twin`. */
static void rename_twin(onnxd_layout *l, onnxd_value_id twin, onnxd_value_id value)
{
    const onnxd_node_id producer = l->graph->values[twin].producer;
    onnxd_node *node = &l->graph->nodes[producer];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] == twin)
            node->outputs[i] = value;
    for (uint32_t n = 0; n < l->graph->node_count; n++)
        for (uint32_t i = 0; i < l->graph->nodes[n].input_count; i++)
            if (l->graph->nodes[n].inputs[i] == twin)
                l->graph->nodes[n].inputs[i] = value;
    for (onnxd_value_id v = 0; v < l->count; v++)
        if (l->twins[v] == twin)
            l->twins[v] = value;
    l->graph->values[twin].producer = ONNXD_NONE;
    l->graph->values[value].producer = producer;
}

/* A Transpose of the model's own between the two orders: what it makes is a twin, or what it reads
 * is the twin of what it makes. */
onnxd_status *onnxd_layout_turn_transpose(onnxd_layout *l, onnxd_node_id id)
{
    onnxd_node *node = &l->graph->nodes[id];
    const onnxd_value_id from = node->inputs[0], to = node->outputs[0];
    const int32_t rank = onnxd_layout_rank_of(l, from);
    if (!onnxd_layout_is_image(l, from))
        return NULL;
    if (onnxd_layout_has_twin(l, from) && l->twins[from] >= l->count &&
        has_perm(node, rank, true)) {
        node->is_removed = true;
        rename_twin(l, l->twins[from], to);
        l->changes++;
    } else if (rank > 3 && l->twins[to] == ONNXD_NONE && has_perm(node, rank, false)) {
        /* With one spatial dimension it could as well be the other way round. */
        l->twins[to] = from;
    }
    return NULL;
}

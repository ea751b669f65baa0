#include "model/frame.h"

#include <string.h>

#include "base/alloc.h"

static bool is_selected(const onnxd_frame *frame, onnxd_node_id node)
{
    return frame->selected == NULL || frame->selected[node];
}

static void find_last_readers(onnxd_frame *frame)
{
    const onnxd_graph *graph = frame->graph;
    for (onnxd_value_id v = 0; v < graph->value_count; v++)
        frame->last_reader[v] = ONNXD_NONE;
    for (onnxd_node_id n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; is_selected(frame, n) && i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] != ONNXD_NONE)
                frame->last_reader[graph->nodes[n].inputs[i]] = n;
    for (onnxd_value_id v = 0; v < graph->value_count; v++)
        if (graph->values[v].is_output || graph->values[v].constant != NULL)
            frame->last_reader[v] = ONNXD_NONE;
}

static onnxd_status *set_constants(onnxd_frame *frame)
{
    const onnxd_graph *graph = frame->graph;
    for (onnxd_value_id v = 0; v < graph->value_count; v++)
        if (graph->values[v].constant != NULL)
            ONNXD_TRY(onnxd_datum_of_tensor(graph->values[v].constant, &frame->values[v]));
    return NULL;
}

static onnxd_status *allocate(onnxd_frame *frame)
{
    const onnxd_graph *graph = frame->graph;
    uint32_t inputs, outputs;
    onnxd_graph_widest(graph, &inputs, &outputs);
    const size_t widest = (size_t)inputs + outputs;
    frame->values = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_datum *));
    frame->last_reader = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_node_id));
    frame->slots = onnxd_alloc_zero(graph->node_count, sizeof(onnxd_node_slot));
    frame->operands = onnxd_alloc_zero(widest, sizeof(onnxd_datum *));
    frame->types = onnxd_alloc_zero(widest, sizeof(onnxd_tensor_type));
    frame->views = onnxd_alloc_zero(widest, sizeof(onnxd_tensor_view));
    frame->constants = onnxd_alloc_zero(widest, sizeof(onnxd_tensor *));
    frame->known = onnxd_alloc_zero(widest, sizeof(onnxd_tensor *));
    if (frame->values == NULL || frame->last_reader == NULL || frame->slots == NULL ||
        frame->operands == NULL || frame->types == NULL || frame->views == NULL ||
        frame->constants == NULL || frame->known == NULL)
        return onnxd_error_out_of_memory(
            "a frame", graph->value_count * sizeof(void *) + widest * sizeof(onnxd_tensor_type),
            UINT64_MAX);
    return NULL;
}

onnxd_status *onnxd_frame_create(const onnxd_graph *graph, const bool *selected,
                                 onnxd_frame **out_frame)
{
    onnxd_status *status;
    onnxd_frame *frame = onnxd_alloc_zero(1, sizeof(*frame));
    if (frame == NULL)
        return onnxd_error_out_of_memory("a frame", sizeof(*frame), UINT64_MAX);
    frame->graph = graph;
    frame->selected = selected;
    status = allocate(frame);
    if (status != NULL)
        goto fail;
    find_last_readers(frame);
    status = set_constants(frame);
    if (status != NULL)
        goto fail;
    *out_frame = frame;
    return NULL;
fail:
    onnxd_frame_destroy(frame);
    return status;
}

static void free_slots(onnxd_frame *frame)
{
    for (onnxd_node_id n = 0; frame->slots != NULL && n < frame->graph->node_count; n++) {
        onnxd_kernel_release(frame->slots[n].kernel);
        onnxd_free(frame->slots[n].types);
        onnxd_free(frame->slots[n].views);
    }
    onnxd_free(frame->slots);
}

/* As deep as subgraphs nest, which the loader bounds. */
void onnxd_frame_destroy(onnxd_frame *frame) // NOLINT(misc-no-recursion)
{
    if (frame == NULL)
        return;
    while (frame->children != NULL) {
        onnxd_frame *child = frame->children;
        frame->children = child->sibling;
        onnxd_frame_destroy(child);
    }
    for (onnxd_value_id v = 0; frame->values != NULL && v < frame->graph->value_count; v++)
        onnxd_datum_release(frame->values[v]);
    free_slots(frame);
    union {
        const onnxd_tensor **typed;
        void *memory;
    } known = {.typed = frame->known};
    onnxd_free(known.memory);
    onnxd_free(frame->constants);
    onnxd_free(frame->views);
    onnxd_free(frame->types);
    onnxd_free(frame->operands);
    onnxd_free(frame->last_reader);
    onnxd_free(frame->values);
    onnxd_free(frame);
}

onnxd_status *onnxd_frame_child(onnxd_frame *frame, const onnxd_graph *subgraph,
                                onnxd_frame **out_child)
{
    for (onnxd_frame *child = frame->children; child != NULL; child = child->sibling)
        if (child->graph == subgraph) {
            *out_child = child;
            return NULL;
        }
    onnxd_frame *made;
    ONNXD_TRY(onnxd_frame_create(subgraph, NULL, &made));
    made->sibling = frame->children;
    frame->children = made;
    *out_child = made;
    return NULL;
}

void onnxd_frame_set(onnxd_frame *frame, onnxd_value_id value, onnxd_datum *datum)
{
    if (frame->graph->values[value].constant != NULL)
        return;
    onnxd_datum *previous = frame->values[value];
    frame->values[value] = datum == NULL ? NULL : onnxd_datum_retain(datum);
    onnxd_datum_release(previous);
}

void onnxd_frame_drop_after(onnxd_frame *frame, onnxd_node_id node)
{
    const onnxd_node *reader = &frame->graph->nodes[node];
    for (uint32_t i = 0; i < reader->input_count; i++)
        if (reader->inputs[i] != ONNXD_NONE && frame->last_reader[reader->inputs[i]] == node)
            onnxd_frame_set(frame, reader->inputs[i], NULL);
}

void onnxd_frame_clear(onnxd_frame *frame)
{
    for (onnxd_value_id v = 0; v < frame->graph->value_count; v++)
        onnxd_frame_set(frame, v, NULL);
}

static onnxd_status *make_room(onnxd_node_slot *slot, size_t count)
{
    if (slot->types == NULL)
        slot->types = onnxd_alloc_zero(count, sizeof(slot->types[0]));
    if (slot->views == NULL)
        slot->views = onnxd_alloc_zero(count, sizeof(slot->views[0]));
    if (slot->types == NULL || slot->views == NULL)
        return onnxd_error_out_of_memory("a frame", count * sizeof(slot->views[0]), UINT64_MAX);
    return NULL;
}

onnxd_status *onnxd_frame_keep_kernel(onnxd_frame *frame, onnxd_node_id node, onnxd_kernel *kernel)
{
    const onnxd_node *of = &frame->graph->nodes[node];
    const size_t count = (size_t)of->input_count + of->output_count;
    onnxd_node_slot *slot = &frame->slots[node];
    onnxd_status *status = make_room(slot, count);
    if (status != NULL) {
        onnxd_kernel_release(kernel);
        return status;
    }
    memcpy(slot->types, frame->types, count * sizeof(slot->types[0]));
    memcpy(slot->views, frame->views, count * sizeof(slot->views[0]));
    onnxd_kernel_release(slot->kernel);
    slot->kernel = kernel;
    return NULL;
}

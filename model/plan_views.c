#include <string.h>

#include "base/alloc.h"
#include "graph/batch.h"
#include "model/plan_parts.h"
#include "model/tail.h"

/* Views of the host's arenas and inputs carry the host's id; a step's views that of its instance.
 */
static const onnxd_device_id host_device = {ONNXD_DEVICE_CPU, 0};

typedef struct view_maker {
    onnxd_plan_builder *b;
    onnxd_view_patch *pending; /* in the order of the views */
    onnxd_part_move *moves;    /* the same */
    uint32_t pending_count, move_count;
    uint32_t view_count;
} view_maker;

static size_t value_bytes(const onnxd_plan_builder *b, onnxd_value_id value)
{
    size_t count, bytes;
    if (!onnxd_shape_count(&b->types[value].shape, &count) ||
        !onnxd_dtype_bytes(b->types[value].dtype, count, &bytes))
        return 0;
    return bytes;
}

/* Checks the view against what will lie behind it. Arenas and inputs have no address yet; any base
 * with the alignment that the run will have stands in for it. `distance`: how far the view will go
 * at most. */
static onnxd_status *check_view(const view_maker *m, const onnxd_tensor_view *view,
                                onnxd_value_id value, uint32_t space,
                                const onnxd_location *location, size_t distance)
{
    const onnxd_plan_builder *b = m->b;
    const char *name = b->graph->values[value].name;
    onnxd_tensor_view probe = *view;
    probe.byte_offset += distance;
    size_t buffer_bytes = value_bytes(b, b->roots[value]);
    if (location->kind != ONNXD_IN_CONSTANT)
        probe.data = (void *)(uintptr_t)b->model->spaces[space].alignment;
    if (location->kind == ONNXD_IN_ARENA)
        buffer_bytes = b->plan->spaces[space].arena_bytes;
    return onnxd_tensor_view_check(&probe, buffer_bytes, name);
}

static void take_strides(const onnxd_plan_builder *b, const onnxd_live_range *range,
                         onnxd_tensor_view *view)
{
    if (range->strides_of == ONNXD_NONE)
        return;
    const onnxd_tensor_type *whole = &b->types[range->strides_of];
    const onnxd_tensor_view strides = onnxd_tensor_view_of(NULL, whole->dtype, &whole->shape);
    memcpy(view->strides, strides.strides, sizeof(view->strides));
}

/* Of a part of a value: where the next one is. Returns the distance to the last. */
static size_t add_move(view_maker *m, uint32_t index, uint32_t parts)
{
    if (m->moves == NULL)
        return 0; /* there are no sections */
    const onnxd_tensor_view *view = &m->b->plan->views[index];
    const size_t bytes =
        (size_t)view->shape.dims[0] * (size_t)view->strides[0] * onnxd_dtype_size(view->dtype);
    m->moves[m->move_count++] = (onnxd_part_move){index, bytes};
    return bytes * (parts - 1);
}

/* `parts`: 1, or of how many the view is to show the first. */
static onnxd_status *make_view(view_maker *m, onnxd_value_id value, uint32_t space,
                               onnxd_device_id device, uint32_t parts)
{
    const onnxd_plan_builder *b = m->b;
    const uint32_t index = m->view_count++;
    onnxd_tensor_view *view = &b->plan->views[index];
    if (value == ONNXD_NONE) {
        *view = (onnxd_tensor_view){.dtype = ONNXD_UNDEFINED, .device = device};
        return NULL;
    }
    const onnxd_location *location = onnxd_builder_location(b, space, value);
    const onnxd_tensor_type type =
        parts == 1 ? b->types[value] : onnxd_batch_part(&b->types[value], parts);
    *view = onnxd_tensor_view_of(NULL, type.dtype, &type.shape);
    view->device = device;
    switch (location->kind) {
    case ONNXD_IN_ARENA:
        view->byte_offset = b->ranges[location->index].offset;
        take_strides(b, &b->ranges[location->index], view);
        m->pending[m->pending_count++] = (onnxd_view_patch){index, space};
        break;
    case ONNXD_IN_INPUT:
        m->pending[m->pending_count++] =
            (onnxd_view_patch){index, b->model->space_count + location->index};
        break;
    case ONNXD_IN_CONSTANT:
        view->data = location->address;
        break;
    case ONNXD_NOWHERE:
        return onnxd_error(ONNXD_INTERNAL, "value '%s' has no memory",
                           b->graph->values[value].name);
    }
    return check_view(m, view, value, space, location, parts == 1 ? 0 : add_move(m, index, parts));
}

static uint32_t parts_of(const onnxd_plan_builder *b, const onnxd_node *node, uint32_t operand)
{
    return onnxd_builder_takes_part(b, node, operand) ? b->parts : 1;
}

static onnxd_status *make_step_views(view_maker *m, onnxd_step *step)
{
    const onnxd_plan_builder *b = m->b;
    const onnxd_stage *stage = &b->plan->stages[step->stage];
    const onnxd_node *node = &b->graph->nodes[step->node];
    const onnxd_device_id device = onnxd_ep_device_id(b->model->eps[stage->ep]);
    step->first_view = m->view_count;
    for (uint32_t i = 0; i < node->input_count; i++)
        ONNXD_TRY(make_view(m, node->inputs[i], stage->space, device, parts_of(b, node, i)));
    for (uint32_t i = 0; i < node->output_count; i++)
        ONNXD_TRY(make_view(m, node->outputs[i], stage->space, device,
                            parts_of(b, node, node->input_count + i)));
    return NULL;
}

/* Opens a section with a step, or adds the step to the open one. */
static void add_to_section(view_maker *m, uint32_t index, uint32_t *inout_open)
{
    onnxd_plan *plan = m->b->plan;
    const onnxd_step *step = &plan->steps[index];
    const uint32_t id = onnxd_builder_section(m->b, &m->b->graph->nodes[step->node]);
    if (id == ONNXD_NONE)
        return;
    if (id != *inout_open) {
        onnxd_stage *stage = &plan->stages[step->stage];
        if (stage->section_count++ == 0)
            stage->first_section = plan->section_count;
        plan->sections[plan->section_count++] = (onnxd_plan_section){
            .first_step = index, .parts = m->b->parts, .first_move = m->move_count};
        *inout_open = id;
    }
    plan->sections[plan->section_count - 1].step_count++;
}

static onnxd_status *make_all(view_maker *m)
{
    const onnxd_plan_builder *b = m->b;
    uint32_t open = ONNXD_NONE;
    for (uint32_t i = 0; i < b->plan->step_count; i++) {
        add_to_section(m, i, &open);
        ONNXD_TRY(make_step_views(m, &b->plan->steps[i]));
        if (open != ONNXD_NONE) {
            onnxd_plan_section *section = &b->plan->sections[b->plan->section_count - 1];
            section->move_count = m->move_count - section->first_move;
        }
    }
    b->plan->move_count = m->move_count;
    b->plan->tail.first_view = m->view_count;
    for (uint32_t i = 0; i < b->plan->tail.input_count; i++)
        ONNXD_TRY(make_view(m, b->plan->tail.inputs[i], ONNXD_HOST_SPACE, host_device, 1));
    b->plan->first_output_view = m->view_count;
    for (uint32_t i = 0; i < b->graph->output_count; i++) {
        /* What the tail makes is shown when it has run. */
        const onnxd_value_id output = b->graph->outputs[i];
        ONNXD_TRY(make_view(m, onnxd_builder_is_in_tail(b, output) ? ONNXD_NONE : output,
                            ONNXD_HOST_SPACE, host_device, 1));
    }
    return NULL;
}

/* Groups the patches by space, those of inputs last. */
static onnxd_status *sort_patches(view_maker *m)
{
    onnxd_plan *plan = m->b->plan;
    const uint32_t spaces = m->b->model->space_count;
    plan->patches = onnxd_alloc_zero(m->pending_count, sizeof(onnxd_view_patch));
    plan->patch_starts = onnxd_alloc_zero((size_t)spaces + 3, sizeof(uint32_t));
    if (plan->patches == NULL || plan->patch_starts == NULL)
        return onnxd_error_out_of_memory(
            "views of a plan", (uint64_t)m->pending_count * sizeof(onnxd_view_patch), UINT64_MAX);
    /* As for the transfers: counts two places up, then ends that filling moves into starts. */
    uint32_t *starts = plan->patch_starts;
    for (uint32_t i = 0; i < m->pending_count; i++) {
        const uint32_t source = m->pending[i].source;
        starts[(source < spaces ? source : spaces) + 2]++;
    }
    for (uint32_t s = 0; s <= spaces; s++)
        starts[s + 2] += starts[s + 1];
    for (uint32_t i = 0; i < m->pending_count; i++) {
        const uint32_t source = m->pending[i].source;
        plan->patches[starts[(source < spaces ? source : spaces) + 1]++] = m->pending[i];
    }
    return NULL;
}

onnxd_status *onnxd_builder_make_views(onnxd_plan_builder *b)
{
    view_maker m = {.b = b};
    size_t total = (size_t)b->graph->output_count + b->plan->tail.input_count;
    for (uint32_t i = 0; i < b->plan->step_count; i++)
        total += (size_t)b->plan->steps[i].input_count + b->plan->steps[i].output_count;
    if (total > UINT32_MAX)
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "the graph has too many edges: %zu", total);
    onnxd_status *status = NULL;
    m.pending = onnxd_alloc_zero(total, sizeof(onnxd_view_patch));
    b->plan->views = onnxd_alloc_zero(total, sizeof(onnxd_tensor_view));
    if (b->section_count > 0) {
        b->plan->moves = m.moves = onnxd_alloc_zero(total, sizeof(onnxd_part_move));
        b->plan->sections = onnxd_alloc_zero(b->section_count, sizeof(onnxd_plan_section));
    }
    if (m.pending == NULL || b->plan->views == NULL ||
        (b->section_count > 0 && (m.moves == NULL || b->plan->sections == NULL))) {
        status = onnxd_error_out_of_memory("views of a plan", total * sizeof(onnxd_tensor_view),
                                           UINT64_MAX);
        goto done;
    }
    b->plan->view_count = (uint32_t)total;
    status = make_all(&m);
    if (status != NULL)
        goto done;
    status = sort_patches(&m);
done:
    onnxd_free(m.pending);
    return status;
}

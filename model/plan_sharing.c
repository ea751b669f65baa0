/*
 * Values that share memory beyond views of one another (plan_build.c): pieces of Concat, Split and
 * Slice that lie within the whole, and results written over an input that is read no more.
 */
#include "base/alloc.h"
#include "model/plan_parts.h"

/* Of a range. */
enum {
    SHARED = 1, /* holds a piece or is one: what is written to it, others read */
    DENSE = 2   /* somebody needs it without gaps */
};

typedef struct sharing {
    onnxd_plan_builder *b;
    uint8_t *flags; /* [range_count] */
} sharing;

/* The range of a value that is in an arena of the space, or ONNXD_NONE. */
static uint32_t range_of(const sharing *s, uint32_t space, onnxd_value_id value)
{
    if (value == ONNXD_NONE)
        return ONNXD_NONE;
    const onnxd_location *location = onnxd_builder_location(s->b, space, value);
    return location->kind == ONNXD_IN_ARENA ? location->index : ONNXD_NONE;
}

static uint32_t space_of(const sharing *s, const onnxd_step *step)
{
    return s->b->plan->stages[step->stage].space;
}

static const onnxd_node *node_of(const sharing *s, const onnxd_step *step)
{
    return &s->b->graph->nodes[step->node];
}

/* ---- who needs values without gaps --------------------------------------------------------- */

static void need_dense(sharing *s, uint32_t range)
{
    if (range != ONNXD_NONE)
        s->flags[range] |= DENSE;
}

static void need_dense_transfers(sharing *s, const onnxd_pending_transfers *transfers)
{
    for (uint32_t i = 0; i < transfers->count; i++) {
        need_dense(s, transfers->items[i].device_range);
        need_dense(s, transfers->items[i].host_range);
    }
}

static void need_dense_step(sharing *s, const onnxd_step *step)
{
    const onnxd_node *node = node_of(s, step);
    const onnxd_kernel *kernel = step->kernel;
    for (uint32_t i = 0; i < step->input_count; i++)
        if (!onnxd_kernel_allows(kernel->pitched_inputs, i))
            need_dense(s, range_of(s, space_of(s, step), node->inputs[i]));
    for (uint32_t i = 0; i < step->output_count; i++)
        if (!onnxd_kernel_allows(kernel->pitched_outputs, i))
            need_dense(s, range_of(s, space_of(s, step), node->outputs[i]));
}

static void find_dense(sharing *s)
{
    const onnxd_plan_builder *b = s->b;
    for (onnxd_value_id v = 0; v < b->graph->value_count; v++)
        for (uint32_t space = 0; space < b->model->space_count && b->roots[v] != v; space++)
            need_dense(s, range_of(s, space, v));
    for (uint32_t i = 0; i < b->plan->step_count; i++)
        need_dense_step(s, &b->plan->steps[i]);
    need_dense_transfers(s, &b->uploads);
    need_dense_transfers(s, &b->downloads);
    for (uint32_t i = 0; i < b->plan->tail.input_count; i++)
        need_dense(s, range_of(s, ONNXD_HOST_SPACE, b->plan->tail.inputs[i]));
    for (uint32_t i = 0; i < b->graph->output_count; i++)
        need_dense(s, range_of(s, ONNXD_HOST_SPACE, b->graph->outputs[i]));
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* A value that a step makes or reads, and its range. */
typedef struct placed_value {
    onnxd_value_id value;
    uint32_t range;
} placed_value;

/* How far an element of the whole, given by its row-major index, lies behind the first one. */
static size_t offset_of(const onnxd_tensor_view *whole, const onnxd_shape *shape, size_t first)
{
    const onnxd_tensor_view dense = onnxd_tensor_view_of(NULL, whole->dtype, shape);
    size_t offset = 0;
    for (int32_t i = 0; i < shape->rank; i++) {
        offset += first / (size_t)dense.strides[i] * (size_t)whole->strides[i];
        first %= (size_t)dense.strides[i];
    }
    return offset;
}

/* Puts a piece, not empty, into the whole where everybody can use it there. */
static bool put(sharing *s, const placed_value *whole, const placed_value *piece, size_t first)
{
    const onnxd_plan_builder *b = s->b;
    const onnxd_live_range *around = &b->ranges[whole->range];
    onnxd_live_range *range = &b->ranges[piece->range];
    const onnxd_value_id strides_of =
        around->strides_of == ONNXD_NONE ? whole->value : around->strides_of;
    const size_t alignment = b->model->spaces[range->space].piece_alignment;
    const size_t element_bytes = onnxd_dtype_size(b->types[piece->value].dtype);
    size_t pitch = 0;
    if (range->within != ONNXD_NONE || element_bytes == 0)
        return false;
    onnxd_tensor_view view =
        onnxd_tensor_view_of(NULL, b->types[piece->value].dtype, &b->types[strides_of].shape);
    const size_t distance = offset_of(&view, &b->types[whole->value].shape, first) * element_bytes;
    view.shape = b->types[piece->value].shape;
    const bool is_dense = onnxd_tensor_view_is_contiguous(&view);
    if (distance % alignment != 0 || (!is_dense && ((s->flags[piece->range] & DENSE) != 0 ||
                                                    !onnxd_tensor_view_pitch(&view, &pitch) ||
                                                    pitch * element_bytes % alignment != 0)))
        return false;
    range->within = whole->range;
    range->distance = distance;
    range->strides_of = is_dense ? ONNXD_NONE : strides_of;
    return true;
}

static onnxd_infer infer_of(onnxd_plan_builder *b, const onnxd_node *node)
{
    const onnxd_op_query query = onnxd_builder_query(b, node);
    return (onnxd_infer){
        .node = node,
        .params = node->params,
        .opset = node->opset,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = query.inputs,
        .constants = (const onnxd_tensor *const *)query.constants,
        .outputs = (onnxd_tensor_type *)(uintptr_t)query.outputs,
    };
}

/* Nothing is left for the step to do. */
static void take_out(sharing *s, uint32_t index)
{
    onnxd_step *step = &s->b->plan->steps[index];
    onnxd_kernel_release(step->kernel);
    step->kernel = NULL;
    if (s->b->workspace_ranges[index] != ONNXD_NONE)
        s->b->ranges[s->b->workspace_ranges[index]].bytes = 0;
}

static bool has_bytes(const sharing *s, onnxd_value_id value)
{
    size_t count;
    return value != ONNXD_NONE && onnxd_shape_count(&s->b->types[value].shape, &count) && count > 0;
}

/* Puts those pieces into the whole that can be there; where some cannot, only if the kernel leaves
 * the others alone. */
static void put_pieces(sharing *s, uint32_t index, const placed_value *whole,
                       const onnxd_value_id *pieces, uint32_t piece_count)
{
    const onnxd_step *step = &s->b->plan->steps[index];
    const onnxd_node *node = node_of(s, step);
    const onnxd_infer infer = infer_of(s->b, node);
    /* A step of a section sees a part of what is whole outside, whose pieces lie elsewhere in it.
     */
    const bool is_in_section = onnxd_builder_section(s->b, node) != ONNXD_NONE;
    uint32_t put_count = 0, wanted = 0;
    if (is_in_section && !onnxd_builder_is_part(s->b, whole->value))
        return;
    for (uint32_t i = 0; i < piece_count; i++) {
        const placed_value piece = {pieces[i], range_of(s, space_of(s, step), pieces[i])};
        size_t first;
        if (!has_bytes(s, pieces[i]))
            continue;
        wanted++;
        if (is_in_section && !onnxd_builder_is_part(s->b, piece.value))
            continue;
        if (piece.range != ONNXD_NONE && node->def->find_piece(&infer, i, &first) &&
            put(s, whole, &piece, first))
            put_count++;
    }
    const bool is_done = put_count == wanted;
    for (uint32_t i = 0; i < piece_count; i++) {
        const uint32_t range = range_of(s, space_of(s, step), pieces[i]);
        if (range == ONNXD_NONE || s->b->ranges[range].within != whole->range)
            continue;
        if (is_done || step->kernel->skips_placed_inputs) {
            s->flags[range] |= SHARED;
            s->flags[whole->range] |= SHARED;
        } else {
            s->b->ranges[range].within = s->b->ranges[range].strides_of = ONNXD_NONE;
        }
    }
    if (is_done)
        take_out(s, index);
}

static onnxd_op_pieces pieces_of(const sharing *s, const onnxd_step *step)
{
    const onnxd_op_def *def = node_of(s, step)->def;
    return def == NULL ? ONNXD_PIECES_NONE : def->pieces;
}

/* Outputs of Split and Slice stay where their input has them. */
static void cut(sharing *s, uint32_t index)
{
    const onnxd_step *step = &s->b->plan->steps[index];
    const onnxd_node *node = node_of(s, step);
    if (pieces_of(s, step) != ONNXD_PIECES_CUT)
        return;
    const placed_value whole = {node->inputs[0], range_of(s, space_of(s, step), node->inputs[0])};
    if (whole.range == ONNXD_NONE || !has_bytes(s, whole.value))
        return;
    put_pieces(s, index, &whole, node->outputs, node->output_count);
    if (s->b->plan->steps[index].kernel == NULL)
        need_dense(s, whole.range);
}

/* Inputs of Concat are made where its output has them. */
static void join(sharing *s, uint32_t index)
{
    const onnxd_step *step = &s->b->plan->steps[index];
    const onnxd_node *node = node_of(s, step);
    if (step->kernel == NULL || pieces_of(s, step) != ONNXD_PIECES_JOINED)
        return;
    const placed_value whole = {node->outputs[0], range_of(s, space_of(s, step), node->outputs[0])};
    if (whole.range != ONNXD_NONE && has_bytes(s, whole.value))
        put_pieces(s, index, &whole, node->inputs, node->input_count);
}

/* ---- in place ------------------------------------------------------------------------------ */

/* Whether nothing but the step reads the input from now on, and nothing else shares its bytes. */
static bool ends_here(const sharing *s, uint32_t input, uint32_t output)
{
    const onnxd_live_range *in = &s->b->ranges[input], *out = &s->b->ranges[output];
    return in->last_tick == out->first_tick && (s->flags[input] & SHARED) == 0 &&
           in->bytes == out->bytes && in->strides_of == ONNXD_NONE;
}

static void write_in_place(sharing *s, const onnxd_step *step)
{
    const onnxd_plan_builder *b = s->b;
    const onnxd_node *node = node_of(s, step);
    if (step->kernel == NULL || step->kernel->in_place_inputs == 0)
        return;
    const uint32_t output = range_of(s, space_of(s, step), node->outputs[0]);
    if (output == ONNXD_NONE || b->ranges[output].within != ONNXD_NONE ||
        b->ranges[output].bytes == 0)
        return;
    const onnxd_tensor_type *type = &b->types[node->outputs[0]];
    for (uint32_t i = 0; i < step->input_count; i++) {
        const uint32_t input = range_of(s, space_of(s, step), node->inputs[i]);
        if (!onnxd_kernel_allows(step->kernel->in_place_inputs, i) || input == ONNXD_NONE ||
            b->types[node->inputs[i]].dtype != type->dtype ||
            !onnxd_shape_equal(&b->types[node->inputs[i]].shape, &type->shape) ||
            !ends_here(s, input, output))
            continue;
        b->ranges[output].within = input;
        return;
    }
}

/* ---- what is left -------------------------------------------------------------------------- */

static void close_gaps(onnxd_plan_builder *b)
{
    onnxd_plan *plan = b->plan;
    uint32_t kept = 0, next = 0;
    for (uint32_t stage = 0; stage < plan->stage_count; stage++) {
        const uint32_t end = next + plan->stages[stage].step_count;
        plan->stages[stage].first_step = kept;
        for (; next < end; next++) {
            if (plan->steps[next].kernel == NULL)
                continue;
            b->workspace_ranges[kept] = b->workspace_ranges[next];
            plan->steps[kept++] = plan->steps[next];
        }
        plan->stages[stage].step_count = kept - plan->stages[stage].first_step;
    }
    plan->step_count = kept;
}

/* Ranges that lie in one that lies in another are taken to the outermost. */
static void flatten(onnxd_plan_builder *b)
{
    for (uint32_t i = 0; i < b->range_count; i++) {
        onnxd_live_range *range = &b->ranges[i];
        if (range->within == ONNXD_NONE)
            continue;
        onnxd_live_range *outer = &b->ranges[range->within];
        while (outer->within != ONNXD_NONE) {
            range->distance += outer->distance;
            range->within = outer->within;
            outer = &b->ranges[range->within];
        }
        if (range->first_tick < outer->first_tick)
            outer->first_tick = range->first_tick;
        if (range->last_tick > outer->last_tick)
            outer->last_tick = range->last_tick;
    }
}

onnxd_status *onnxd_builder_share_memory(onnxd_plan_builder *b)
{
    sharing s = {.b = b, .flags = onnxd_alloc_zero(b->range_count, sizeof(uint8_t))};
    if (s.flags == NULL)
        return onnxd_error_out_of_memory("lifetimes of a plan", b->range_count, UINT64_MAX);
    find_dense(&s);
    for (uint32_t i = 0; i < b->plan->step_count; i++)
        cut(&s, i);
    /* The last first, so that what is joined to something larger is in its place there. */
    for (uint32_t i = b->plan->step_count; i > 0; i--)
        join(&s, i - 1);
    for (uint32_t i = 0; i < b->plan->step_count; i++)
        write_in_place(&s, &b->plan->steps[i]);
    onnxd_free(s.flags);
    close_gaps(b);
    flatten(b);
    return NULL;
}

#include <string.h>

#include "base/alloc.h"
#include "model/plan_build.h"

/* ---- growing arrays ------------------------------------------------------------------------ */

onnxd_status *onnxd_builder_add_range(onnxd_plan_builder *b, uint32_t space, size_t bytes,
                                      uint32_t *out_range)
{
    if (b->range_count == b->range_capacity) {
        const uint32_t capacity = b->range_capacity == 0 ? 64 : b->range_capacity * 2;
        onnxd_live_range *grown =
            capacity < b->range_capacity
                ? NULL
                : onnxd_realloc_array(b->ranges, capacity, sizeof(b->ranges[0]));
        if (grown == NULL)
            return onnxd_error_out_of_memory("lifetimes of a plan",
                                             (uint64_t)capacity * sizeof(b->ranges[0]), UINT64_MAX);
        b->ranges = grown;
        b->range_capacity = capacity;
    }
    b->ranges[b->range_count] = (onnxd_live_range){.space = space,
                                                   .first_tick = b->now,
                                                   .last_tick = b->now,
                                                   .bytes = bytes,
                                                   .within = ONNXD_NONE,
                                                   .strides_of = ONNXD_NONE};
    *out_range = b->range_count++;
    return NULL;
}

static onnxd_status *add_transfer(onnxd_pending_transfers *list,
                                  const onnxd_pending_transfer *transfer)
{
    if (transfer->transfer.bytes == 0)
        return NULL;
    if (list->count == list->capacity) {
        const uint32_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        onnxd_pending_transfer *grown =
            capacity < list->capacity
                ? NULL
                : onnxd_realloc_array(list->items, capacity, sizeof(list->items[0]));
        if (grown == NULL)
            return onnxd_error_out_of_memory(
                "copies of a plan", (uint64_t)capacity * sizeof(list->items[0]), UINT64_MAX);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *transfer;
    return NULL;
}

static void extend(onnxd_plan_builder *b, uint32_t range, uint32_t tick)
{
    if (b->ranges[range].last_tick < tick)
        b->ranges[range].last_tick = tick;
}

/* ---- values -------------------------------------------------------------------------------- */

onnxd_tensor *onnxd_builder_constant(const onnxd_plan_builder *b, onnxd_value_id value)
{
    onnxd_tensor *constant = b->graph->values[value].constant;
    return constant != NULL ? constant : b->known[value];
}

onnxd_location *onnxd_builder_location(const onnxd_plan_builder *b, uint32_t space,
                                       onnxd_value_id value)
{
    return &b->locations[(size_t)space * b->graph->value_count + b->roots[value]];
}

onnxd_status *onnxd_builder_bytes(const onnxd_plan_builder *b, onnxd_value_id value,
                                  size_t *out_bytes)
{
    const onnxd_tensor_type *type = &b->types[value];
    const char *name = b->graph->values[value].name;
    char shape[ONNXD_SHAPE_TEXT];
    size_t count, bytes;
    if (b->graph->values[value].type.kind != ONNXD_VALUE_TENSOR || type->dtype == ONNXD_UNDEFINED ||
        !onnxd_shape_is_static(&type->shape))
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "value '%s': its type is not known before the model runs", name);
    if (!onnxd_shape_count(&type->shape, &count) ||
        !onnxd_dtype_bytes(type->dtype, count, &bytes) ||
        bytes > b->model->options.max_tensor_bytes)
        return onnxd_error(ONNXD_PAYLOAD_TOO_LARGE,
                           "value '%s' would be %s%s, beyond the limit of %llu bytes for a tensor",
                           name, onnxd_dtype_name(type->dtype),
                           onnxd_shape_format(&type->shape, shape, sizeof(shape)),
                           (unsigned long long)b->model->options.max_tensor_bytes);
    *out_bytes = bytes;
    return NULL;
}

/* Strings are pointers into host memory, which mean nothing elsewhere. */
static onnxd_status *check_space(const onnxd_plan_builder *b, onnxd_value_id value, uint32_t space)
{
    if (space != ONNXD_HOST_SPACE && b->types[value].dtype == ONNXD_STRING)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "value '%s': strings cannot leave host memory",
                           b->graph->values[value].name);
    return NULL;
}

onnxd_status *onnxd_builder_define(onnxd_plan_builder *b, onnxd_value_id value, uint32_t stage)
{
    const uint32_t space = b->plan->stages[stage].space;
    uint32_t range;
    size_t bytes;
    ONNXD_TRY(check_space(b, value, space));
    ONNXD_TRY(onnxd_builder_bytes(b, value, &bytes));
    ONNXD_TRY(onnxd_builder_add_range(b, space, bytes, &range));
    *onnxd_builder_location(b, space, value) =
        (onnxd_location){.kind = ONNXD_IN_ARENA, .index = range};
    b->made_in[value] = stage;
    return NULL;
}

/* ---- bringing a value to a space ----------------------------------------------------------- */

/* A constant of the graph is uploaded once for all plans of the model; one that these shapes
 * brought about belongs to the plan. */
static onnxd_status *place_constant(onnxd_plan_builder *b, onnxd_value_id value, uint32_t space,
                                    onnxd_tensor *tensor, onnxd_location *location)
{
    onnxd_buffer buffer;
    if (space == ONNXD_HOST_SPACE) {
        *location = (onnxd_location){.kind = ONNXD_IN_CONSTANT, .address = tensor->data};
        return NULL;
    }
    if (b->graph->values[value].constant != NULL) {
        ONNXD_TRY(onnxd_weights_on(b->model->runtime->weights, b->model->weights[value],
                                   b->model->spaces[space].ep_index, &buffer));
    } else {
        onnxd_plan *plan = b->plan;
        onnxd_plan_constant *grown = onnxd_realloc_array(
            plan->constants, (size_t)plan->constant_count + 1, sizeof(plan->constants[0]));
        if (grown == NULL)
            return onnxd_error_out_of_memory("constants of a plan", sizeof(grown[0]), UINT64_MAX);
        plan->constants = grown;
        ONNXD_TRY(onnxd_tensor_upload(b->model->spaces[space].ep, tensor, &buffer));
        plan->constants[plan->constant_count++] =
            (onnxd_plan_constant){b->model->spaces[space].ep, buffer};
    }
    *location = (onnxd_location){.kind = ONNXD_IN_CONSTANT, .address = buffer.data};
    return NULL;
}

/* A range of `space` that the transfer fills, and the transfer. host_range is its other end. */
static onnxd_status *place_upload(onnxd_plan_builder *b, onnxd_value_id value, uint32_t space,
                                  uint32_t stage, uint32_t tick, uint32_t host_range,
                                  onnxd_location *location)
{
    onnxd_pending_transfer pending = {
        .transfer = {.value = value, .stage = stage, .input = b->input_of[value]},
        .host_range = host_range,
    };
    ONNXD_TRY(onnxd_builder_bytes(b, value, &pending.transfer.bytes));
    ONNXD_TRY(onnxd_builder_add_range(b, space, pending.transfer.bytes, &pending.device_range));
    b->ranges[pending.device_range].first_tick = b->ticks[stage].uploads;
    b->ranges[pending.device_range].last_tick = tick;
    if (host_range != ONNXD_NONE)
        extend(b, host_range, b->ticks[stage].uploads);
    *location = (onnxd_location){.kind = ONNXD_IN_ARENA, .index = pending.device_range};
    return add_transfer(&b->uploads, &pending);
}

static onnxd_status *place_download(onnxd_plan_builder *b, onnxd_value_id value, uint32_t tick,
                                    onnxd_location *location)
{
    const uint32_t stage = b->made_in[value];
    const uint32_t space = b->plan->stages[stage].space;
    onnxd_pending_transfer pending = {
        .transfer = {.value = value, .stage = stage, .input = ONNXD_NONE},
        .device_range = onnxd_builder_location(b, space, value)->index,
    };
    ONNXD_TRY(onnxd_builder_bytes(b, value, &pending.transfer.bytes));
    ONNXD_TRY(
        onnxd_builder_add_range(b, ONNXD_HOST_SPACE, pending.transfer.bytes, &pending.host_range));
    b->ranges[pending.host_range].first_tick = b->ticks[stage].downloads;
    b->ranges[pending.host_range].last_tick = tick;
    extend(b, pending.device_range, b->ticks[stage].downloads);
    *location = (onnxd_location){.kind = ONNXD_IN_ARENA, .index = pending.host_range};
    return add_transfer(&b->downloads, &pending);
}

static onnxd_status *place_made(onnxd_plan_builder *b, onnxd_value_id value, uint32_t space,
                                uint32_t stage, uint32_t tick, onnxd_location *location)
{
    if (b->made_in[value] == ONNXD_NONE)
        return onnxd_error(ONNXD_INTERNAL, "value '%s' is read before a node makes it",
                           b->graph->values[value].name);
    const onnxd_location *host = onnxd_builder_location(b, ONNXD_HOST_SPACE, value);
    if (space == ONNXD_HOST_SPACE)
        return place_download(b, value, tick, location);
    if (host->kind == ONNXD_NOWHERE)
        ONNXD_TRY(
            onnxd_builder_require(b, value, ONNXD_HOST_SPACE, stage, b->ticks[stage].uploads));
    return place_upload(b, value, space, stage, tick, host->index, location);
}

onnxd_status *onnxd_builder_require(onnxd_plan_builder *b, onnxd_value_id value, uint32_t space,
                                    uint32_t stage, uint32_t tick)
{
    const onnxd_value_id root = b->roots[value];
    onnxd_location *location = onnxd_builder_location(b, space, root);
    if (location->kind == ONNXD_IN_ARENA)
        extend(b, location->index, tick);
    if (location->kind != ONNXD_NOWHERE)
        return NULL;
    ONNXD_TRY(check_space(b, root, space));
    onnxd_tensor *constant = onnxd_builder_constant(b, root);
    if (constant != NULL)
        return place_constant(b, root, space, constant, location);
    if (b->input_of[root] == ONNXD_NONE)
        return place_made(b, root, space, stage, tick, location);
    if (space == ONNXD_HOST_SPACE) {
        *location = (onnxd_location){.kind = ONNXD_IN_INPUT, .index = b->input_of[root]};
        return NULL;
    }
    return place_upload(b, root, space, stage, tick, ONNXD_NONE, location);
}

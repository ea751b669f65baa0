/* TensorScatter: a cache with a block of new entries written along one axis. */
#include <inttypes.h>
#include <string.h>

#include "graph/attributes.h"
#include "ops/choice.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { CACHE, UPDATE, INDICES };

typedef struct scatter_params {
    int64_t axis;
    bool is_circular;
} scatter_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "mode", NULL};
    scatter_params *params = out;
    static const char *const modes[] = {"linear", "circular"};
    size_t mode = 0;
    params->axis = -2;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(
        onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &params->axis));
    ONNXD_TRY(onnxd_op_choice(node, "mode", modes, ONNXD_COUNT(modes), &mode));
    params->is_circular = mode != 0;
    return NULL;
}

static onnxd_status *check_dims(const onnxd_infer *context, int32_t axis)
{
    const onnxd_shape *cache = &context->inputs[CACHE].shape;
    const onnxd_shape *update = &context->inputs[UPDATE].shape;
    if (update->rank != cache->rank)
        return onnxd_op_error(context->node,
                              "inputs 0 and 1 have ranks %" PRId32 " and %" PRId32
                              ", but must have one",
                              cache->rank, update->rank);
    for (int32_t i = 0; i < cache->rank; i++) {
        int64_t whole = cache->dims[i], part = update->dims[i];
        if (!onnxd_dim_is_static(whole) || !onnxd_dim_is_static(part) || part == whole ||
            (i == axis && part < whole))
            continue;
        return onnxd_op_error(
            context->node, "dimension %" PRId32 " of input 1 is %" PRId64 ", allowed is %s%" PRId64,
            i, part, i == axis ? "at most " : "", whole);
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *context)
{
    const scatter_params *params = context->params;
    const onnxd_shape *cache = &context->inputs[CACHE].shape;
    context->outputs[0] = context->inputs[CACHE];
    if (cache->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(context->node, "attribute 'axis'", params->axis, cache->rank, &axis));
    if (axis == 0)
        return onnxd_op_error(context->node, "attribute 'axis' names axis 0, that of the batch");
    if (context->inputs[UPDATE].shape.rank != ONNXD_RANK_UNKNOWN)
        ONNXD_TRY(check_dims(context, axis));
    if (!onnxd_op_has_input(context->node, INDICES))
        return NULL;
    int64_t count = ONNXD_DIM_UNKNOWN;
    const onnxd_shape *indices = &context->inputs[INDICES].shape;
    if (indices->rank != ONNXD_RANK_UNKNOWN && indices->rank != 1)
        return onnxd_op_error(context->node, "input 2 has rank %" PRId32 ", but 1 is needed",
                              indices->rank);
    if (indices->rank == 1)
        count = indices->dims[0];
    if (onnxd_dim_is_static(count) && onnxd_dim_is_static(cache->dims[0]) &&
        count != cache->dims[0])
        return onnxd_op_error(context->node,
                              "input 2 has %" PRId64 " elements for a batch of %" PRId64, count,
                              cache->dims[0]);
    return NULL;
}

/* Where the block of batch entry `batch` starts. */
static onnxd_status *start_of(const onnxd_compute *context, size_t batch, int64_t length,
                              int64_t capacity, size_t *out_start)
{
    const scatter_params *params = context->params;
    int64_t start = 0;
    if (onnxd_compute_input(context, INDICES) != NULL)
        start = onnxd_op_int_at(&context->inputs[INDICES], batch);
    if (params->is_circular && capacity != 0) {
        start %= capacity;
        start += start < 0 ? capacity : 0;
    } else if (start < 0 || start > capacity - length) {
        return onnxd_op_error(context->node,
                              "element %zu of input 2 is %" PRId64 ", allowed is 0 to %" PRId64,
                              batch, start, capacity - length);
    }
    *out_start = (size_t)start;
    return NULL;
}

static onnxd_status *scatter(const onnxd_compute *context)
{
    const scatter_params *params = context->params;
    const onnxd_shape *cache = &context->inputs[CACHE].shape;
    const onnxd_tensor_view *update = &context->inputs[UPDATE];
    int32_t axis = (int32_t)(params->axis < 0 ? params->axis + cache->rank : params->axis);
    int64_t length = update->shape.dims[axis], capacity = cache->dims[axis];
    ONNXD_TRY(onnxd_op_compute_copy(context));
    if (onnxd_tensor_view_count(update) == 0)
        return NULL;
    size_t row = onnxd_dtype_size(update->dtype), per_batch = 1, batches = (size_t)cache->dims[0];
    for (int32_t i = 1; i < cache->rank; i++)
        if (i != axis)
            *(i < axis ? &per_batch : &row) *= (size_t)cache->dims[i];
    char *out = onnxd_tensor_view_data(&context->outputs[0]);
    const char *in = onnxd_tensor_view_data(update);
    for (size_t b = 0; b < batches; b++) {
        size_t start = 0;
        ONNXD_TRY(start_of(context, b, length, capacity, &start));
        size_t straight = (size_t)capacity - start;
        if (straight > (size_t)length)
            straight = (size_t)length;
        for (size_t p = 0; p < per_batch; p++) {
            memcpy(out + start * row, in, straight * row);
            memcpy(out, in + straight * row, ((size_t)length - straight) * row);
            in += (size_t)length * row;
            out += (size_t)capacity * row;
        }
    }
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    return onnxd_packed_is_used(context) ? onnxd_packed_compute(context, scatter)
                                         : scatter(context);
}

const onnxd_op_def onnxd_op_tensor_scatter[] = {
    {.op_type = "TensorScatter",
     .domain = "",
     .since = 24,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ANY_24, .type_variable = 1},
                {.types = ONNXD_SET_ANY_24, .type_variable = 1},
                {.types = ONNXD_SET(INT64), .is_optional = true}},
     .outputs = {{.types = ONNXD_SET_ANY_24, .type_variable = 1}},
     .params_bytes = sizeof(scatter_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = onnxd_packed_workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};

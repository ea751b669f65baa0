/* MaxUnpool: elements back to where a MaxPool found them, zeros elsewhere. Indices count in the
 * shape that the attributes give; a larger output_shape puts that into its first corner. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/loop.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"
#include "ops/window.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    static const char *const names[] = {"kernel_shape", "pads", "strides", NULL};
    onnxd_window *window = params;
    (void)opset;
    (void)arena;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "kernel_shape"));
    ONNXD_TRY(onnxd_window_parse(node, window));
    if (window->kernel_count == 0)
        return onnxd_op_error(node, "attribute 'kernel_shape' is empty");
    return NULL;
}

/* The shape that the attributes give; symbolic extents make unknown ones. */
static onnxd_status *pooled_shape(const onnxd_window *window, const onnxd_node *node,
                                  const onnxd_shape *input, onnxd_shape *out_shape)
{
    onnxd_shape shape = *input;
    if (input->rank != (int32_t)window->spatial + 2)
        return onnxd_op_error(node, "the input has rank %" PRId32 ", kernel_shape needs %zu",
                              input->rank, window->spatial + 2);
    for (size_t i = 0; i < window->spatial; i++) {
        int64_t *dim = &shape.dims[2 + i],
                pads = window->pads[i] + window->pads[window->spatial + i];
        if (!onnxd_dim_is_static(*dim)) {
            *dim = ONNXD_DIM_UNKNOWN;
            continue;
        }
        int64_t extent;
        if (!onnxd_i64_mul(*dim - 1, window->strides[i], &extent) ||
            !onnxd_i64_add(extent, window->kernel[i] - pads, &extent) || extent < 0)
            return onnxd_op_error(node,
                                  "spatial dimension %zu of %" PRId64 " with kernel %" PRId64
                                  ", stride %" PRId64 " and pads of %" PRId64
                                  " gives no extent of at least 0",
                                  i, *dim, window->kernel[i], window->strides[i], pads);
        *dim = extent;
    }
    *out_shape = shape;
    return NULL;
}

static onnxd_status *check_indices(const onnxd_infer *context)
{
    const onnxd_shape *input = &context->inputs[0].shape, *indices = &context->inputs[1].shape;
    char text[2][ONNXD_SHAPE_TEXT];
    bool fits = true;
    if (input->rank == ONNXD_RANK_UNKNOWN || indices->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    fits = input->rank == indices->rank;
    for (int32_t i = 0; fits && i < input->rank; i++)
        fits = input->dims[i] < 0 || indices->dims[i] < 0 || input->dims[i] == indices->dims[i];
    if (fits)
        return NULL;
    return onnxd_op_error(context->node, "the indices have shape %s, the input %s",
                          onnxd_shape_format(indices, text[0], sizeof(text[0])),
                          onnxd_shape_format(input, text[1], sizeof(text[1])));
}

static onnxd_status *check_output_shape(const onnxd_infer *context, const onnxd_shape *shape)
{
    char text[2][ONNXD_SHAPE_TEXT];
    onnxd_shape pooled;
    if (context->inputs[0].shape.rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    ONNXD_TRY(pooled_shape(context->params, context->node, &context->inputs[0].shape, &pooled));
    bool fits = shape->rank == pooled.rank;
    for (int32_t i = 0; fits && i < shape->rank; i++)
        fits = shape->dims[i] < 0 || pooled.dims[i] < 0 || shape->dims[i] >= pooled.dims[i];
    if (fits)
        return NULL;
    return onnxd_op_error(context->node,
                          "output_shape is %s, needed is the rank of and no less than %s",
                          onnxd_shape_format(shape, text[0], sizeof(text[0])),
                          onnxd_shape_format(&pooled, text[1], sizeof(text[1])));
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_window *window = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    onnxd_shape shape = onnxd_shape_of_rank((int32_t)window->spatial + 2);
    bool is_known;
    context->outputs[0].dtype = context->inputs[0].dtype;
    ONNXD_TRY(check_indices(context));
    if (onnxd_op_has_input(context->node, 2)) {
        ONNXD_TRY(onnxd_infer_shape_list(context, 2, 0, &shape, &is_known));
        if (shape.rank != ONNXD_RANK_UNKNOWN)
            ONNXD_TRY(check_output_shape(context, &shape));
    } else if (input->rank != ONNXD_RANK_UNKNOWN) {
        ONNXD_TRY(pooled_shape(window, context->node, input, &shape));
    }
    context->outputs[0].shape = shape;
    return NULL;
}

/* `extent` elements, at least 1. */
#define SCATTER(bytes, T)                                                                          \
    static onnxd_status *scatter_##bytes(const onnxd_node *node, const void *in,                   \
                                         const int64_t *indices, size_t count, size_t extent,      \
                                         void *out)                                                \
    {                                                                                              \
        const T *from = in;                                                                        \
        T *to = out;                                                                               \
        for (size_t i = 0; i < count; i++) {                                                       \
            if ((uint64_t)indices[i] >= extent)                                                    \
                return onnxd_op_error(node, "index %zu is %" PRId64 ", allowed are 0 to %zu", i,   \
                                      indices[i], extent - 1);                                     \
            to[indices[i]] = from[i];                                                              \
        }                                                                                          \
        return NULL;                                                                               \
    }
SCATTER(2, uint16_t)
SCATTER(4, uint32_t)
SCATTER(8, uint64_t)

static onnxd_status *scatter(const onnxd_compute *context, size_t extent, void *out)
{
    const void *in = onnxd_tensor_view_data(&context->inputs[0]);
    const int64_t *indices = onnxd_tensor_view_data(&context->inputs[1]);
    size_t element = onnxd_dtype_size(context->inputs[0].dtype);
    size_t count = onnxd_tensor_view_count(&context->inputs[0]);
    if (extent == 0 && count > 0)
        return onnxd_op_error(context->node,
                              "index 0 is %" PRId64 ", but the pooled tensor has no elements",
                              indices[0]);
    if (extent == 0)
        return NULL;
    memset(out, 0, extent * element);
    return (element == 2   ? scatter_2
            : element == 4 ? scatter_4
                           : scatter_8)(context->node, in, indices, count, extent, out);
}

/* A copy of the shape that the indices count in, where the output is larger. */
static bool needs_corner(const onnxd_compute *context, const onnxd_shape *pooled)
{
    return !onnxd_shape_equal(pooled, &context->outputs[0].shape);
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    onnxd_shape pooled;
    size_t count;
    onnxd_status *status =
        pooled_shape(context->params, context->node, &context->inputs[0].shape, &pooled);
    if (status != NULL) {
        onnxd_status_free(status);
        return 0;
    }
    if (!needs_corner(context, &pooled))
        return 0;
    if (!onnxd_shape_count(&pooled, &count) ||
        !onnxd_size_mul(count, onnxd_dtype_size(context->inputs[0].dtype), &count))
        return SIZE_MAX;
    return count;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    onnxd_tensor_view *output = &context->outputs[0];
    onnxd_shape pooled;
    size_t extent, element = onnxd_dtype_size(output->dtype);
    char text[ONNXD_SHAPE_TEXT];
    ONNXD_TRY(pooled_shape(context->params, context->node, &context->inputs[0].shape, &pooled));
    if (!onnxd_shape_count(&pooled, &extent))
        return onnxd_op_error(context->node,
                              "the pooled tensor's shape, %s, has more elements than %zu, the most "
                              "that fit",
                              onnxd_shape_format(&pooled, text, sizeof(text)), SIZE_MAX);
    if (!needs_corner(context, &pooled))
        return scatter(context, extent, onnxd_tensor_view_data(output));
    ONNXD_TRY(scatter(context, extent, context->workspace));
    memset(onnxd_tensor_view_data(output), 0, onnxd_tensor_view_bytes(output));
    onnxd_loop loop;
    int64_t strides[2][ONNXD_LOOP_MAX_RANK];
    onnxd_strides_of(&output->shape, strides[0]);
    onnxd_strides_of(&pooled, strides[1]);
    onnxd_loop_init(&loop, pooled.rank, pooled.dims, 2, strides);
    onnxd_move(&loop, element, onnxd_tensor_view_data(output), context->workspace);
    return NULL;
}

#define MAX_UNPOOL(first, last, set)                                                               \
    {                                                                                              \
        .op_type = "MaxUnpool", .domain = "", .since = first, .until = last, .min_inputs = 2,      \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET(INT64)},                                                    \
                   {.types = ONNXD_SET(INT64), .is_optional = true}},                              \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(onnxd_window),     \
        .parse = parse, .infer = infer, .shape_inputs = 1u << 2,                                   \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_max_unpool[] = {
    MAX_UNPOOL(9, 10, ONNXD_SET_FLOATS_1),
    MAX_UNPOOL(11, 21, ONNXD_SET_FLOATS_1),
    MAX_UNPOOL(22, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

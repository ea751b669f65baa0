/* Concat: inputs of equal rank side by side along one axis. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/concat.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct concat_params {
    int64_t axis;
} concat_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"axis", NULL};
    concat_params *p = params;
    p->axis = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    if (opset >= 4)
        ONNXD_TRY(onnxd_attribute_require(node, "axis"));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

/* Adds input `index` to the joint shape; `axis` dimensions add up, the others must agree. */
static onnxd_status *join(const onnxd_infer *infer, uint32_t index, int32_t axis,
                          onnxd_shape *shape)
{
    const onnxd_shape *input = &infer->inputs[index].shape;
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t have = shape->dims[i], dim = input->dims[i];
        bool are_static = onnxd_dim_is_static(have) && onnxd_dim_is_static(dim);
        if (i == axis) {
            shape->dims[i] = ONNXD_DIM_UNKNOWN;
            if (are_static && !onnxd_i64_add(have, dim, &shape->dims[i]))
                return onnxd_op_error(infer->node, "axis %" PRId32 " of the output overflows", i);
        } else if (are_static && have != dim) {
            return onnxd_op_error(infer->node,
                                  "input %" PRIu32 " has extent %" PRId64 " at axis %" PRId32
                                  ", the inputs before it %" PRId64,
                                  index, dim, i, have);
        } else if (onnxd_dim_is_static(dim) || have == ONNXD_DIM_UNKNOWN) {
            shape->dims[i] = dim;
        }
    }
    return NULL;
}

onnxd_status *onnxd_concat_infer(const onnxd_infer *infer, int64_t axis_attribute, uint32_t first,
                                 uint32_t step, onnxd_shape *out_shape)
{
    onnxd_shape shape = onnxd_shape_unknown();
    int32_t axis = 0;
    bool has_unknown_rank = false;
    for (uint32_t i = first; i < infer->input_count; i += step) {
        const onnxd_tensor_type *input = &infer->inputs[i];
        if (input->shape.rank < 0) {
            has_unknown_rank = true;
            continue;
        }
        if (shape.rank < 0) {
            ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", axis_attribute,
                                    input->shape.rank, &axis));
            shape = input->shape;
            continue;
        }
        if (input->shape.rank != shape.rank)
            return onnxd_op_error(infer->node,
                                  "input %" PRIu32 " has rank %" PRId32
                                  ", the inputs before it %" PRId32,
                                  i, input->shape.rank, shape.rank);
        ONNXD_TRY(join(infer, i, axis, &shape));
    }
    if (has_unknown_rank && shape.rank >= 0)
        shape.dims[axis] = ONNXD_DIM_UNKNOWN;
    *out_shape = shape;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const concat_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    for (uint32_t i = 0; i < infer->input_count && output->dtype == ONNXD_UNDEFINED; i++)
        output->dtype = infer->inputs[i].dtype;
    return onnxd_concat_infer(infer, p->axis, 0, 1, &output->shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const concat_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0];
    const onnxd_shape *shape = &output->shape;
    int32_t axis;
    size_t outer, inner;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'axis'", p->axis, shape->rank, &axis));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, shape, axis, &outer, &inner));
    inner *= onnxd_dtype_size(output->dtype);
    size_t pitch = (size_t)shape->dims[axis] * inner;
    char *to = onnxd_tensor_view_data(output);
    for (uint32_t i = 0; i < compute->input_count; i++) {
        size_t block = (size_t)compute->inputs[i].shape.dims[axis] * inner;
        if (block == 0)
            continue;
        const char *from = onnxd_tensor_view_data(&compute->inputs[i]);
        for (size_t o = 0; o < outer; o++)
            memcpy(to + o * pitch, from + o * block, block);
        to += block;
    }
    return NULL;
}

static bool find_piece(const onnxd_infer *infer, uint32_t piece, size_t *out_first)
{
    const concat_params *p = infer->params;
    return onnxd_op_part_along(&infer->outputs[0].shape, p->axis, infer->inputs, piece, out_first);
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Concat", .domain = "", .since = first, .until = last, .min_inputs = 1,         \
        .max_inputs = ONNXD_OP_VARIADIC, .min_outputs = 1, .max_outputs = 1,                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(concat_params),    \
        .parse = parse, .infer = infer, .compute = compute, .pieces = ONNXD_PIECES_JOINED,         \
        .find_piece = find_piece, .batch_inputs = ONNXD_OP_ALL_INPUTS                              \
    }

const onnxd_op_def onnxd_op_concat[] = {
    ROW(1, 3, ONNXD_SET_FLOATS_1),
    ROW(4, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

/* CenterCropPad: the middle of the input along some axes, or the input in the middle of zeros. */
#include <inttypes.h>
#include <string.h>

#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct crop_params {
    onnxd_axes axes; /* not given: all */
} crop_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axes", NULL};
    crop_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_op_parse_axes(node, "axes", &p->axes);
}

/* The axes that the target's entries belong to, in its order. */
static onnxd_status *target_axes(const onnxd_node *node, const crop_params *p, int32_t rank,
                                 int32_t target_rank, int32_t *axes)
{
    bool selected[ONNXD_MAX_RANK];
    int32_t count = p->axes.is_given ? (int32_t)p->axes.count : rank;
    if (target_rank >= 0 && target_rank != count)
        return onnxd_op_error(node, "input 1 has %" PRId32 " extents for %" PRId32 " axes",
                              target_rank, count);
    if (p->axes.is_given)
        ONNXD_TRY(onnxd_op_axes(node, p->axes.values, p->axes.count, rank, selected));
    for (int32_t i = 0; i < count; i++) {
        int64_t axis = p->axes.is_given ? p->axes.values[i] : i;
        axes[i] = (int32_t)(axis < 0 ? axis + rank : axis);
    }
    return NULL;
}

/* The input's shape with the extents of `target`, which may be unknown. */
static onnxd_status *cropped_shape(const onnxd_node *node, const crop_params *p,
                                   const onnxd_shape *input, const onnxd_shape *target,
                                   onnxd_shape *out_shape)
{
    int32_t axes[ONNXD_MAX_RANK] = {0};
    onnxd_shape shape = *input;
    ONNXD_TRY(target_axes(node, p, input->rank, target->rank, axes));
    int32_t count = p->axes.is_given ? (int32_t)p->axes.count : input->rank;
    for (int32_t i = 0; i < count; i++)
        shape.dims[axes[i]] = target->rank < 0 ? ONNXD_DIM_UNKNOWN : target->dims[i];
    *out_shape = shape;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const crop_params *p = infer->params;
    onnxd_shape target;
    bool is_known;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    ONNXD_TRY(onnxd_infer_shape_list(infer, 1, 0, &target, &is_known));
    if (infer->inputs[0].shape.rank >= 0)
        return cropped_shape(infer->node, p, &infer->inputs[0].shape, &target,
                             &infer->outputs[0].shape);
    if (!p->axes.is_given && target.rank >= 0)
        infer->outputs[0].shape = target;
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    onnxd_shape target, shape;
    ONNXD_TRY(onnxd_op_read_shape(compute->node, 1, &compute->inputs[1], 0, &target));
    ONNXD_TRY(cropped_shape(compute->node, compute->params, &input->shape, &target, &shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &shape));
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    size_t width = onnxd_dtype_size(input->dtype);
    int64_t strides[2][ONNXD_LOOP_MAX_RANK] = {{0}}, window[ONNXD_MAX_RANK];
    int64_t to = 0, from = 0;
    onnxd_strides_of(&shape, strides[0]);
    onnxd_strides_of(&input->shape, strides[1]);
    bool is_padded = false, is_empty = onnxd_tensor_view_count(input) == 0;
    for (int32_t i = 0; i < shape.rank; i++) {
        int64_t in = input->shape.dims[i], out = shape.dims[i];
        window[i] = in < out ? in : out;
        is_padded = is_padded || in < out;
        /* Beside a zero the other extents may be huge, and their offsets not fit. */
        if (is_empty)
            continue;
        if (in > out)
            from += (in - out) / 2 * strides[1][i];
        else
            to += (out - in) / 2 * strides[0][i];
    }
    /* All bytes zero is the zero of every type, and the empty string. */
    if (is_padded)
        memset(onnxd_tensor_view_data(output), 0, onnxd_tensor_view_bytes(output));
    if (is_empty)
        return NULL;
    onnxd_loop loop;
    onnxd_loop_init(&loop, shape.rank, window, 2, (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
    onnxd_move(&loop, width, (char *)onnxd_tensor_view_data(output) + (size_t)to * width,
               (const char *)onnxd_tensor_view_data(input) + (size_t)from * width);
    return NULL;
}

const onnxd_op_def onnxd_op_center_crop_pad[] = {
    {.op_type = "CenterCropPad",
     .domain = "",
     .since = 18,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_ANY_13, .type_variable = 1},
                {.types = ONNXD_SET_INDEX, .type_variable = 2}},
     .outputs = {{.types = ONNXD_SET_ANY_13, .type_variable = 1}},
     .params_bytes = sizeof(crop_params),
     .parse = parse,
     .infer = infer,
     .compute = compute,
     .shape_inputs = 1u << 1},
    {.op_type = NULL},
};

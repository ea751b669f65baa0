/* ReverseSequence: the first elements of each sequence of a batch in reverse order, as many as its
 * length says. */
#include <inttypes.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct reverse_params {
    int64_t batch_axis, time_axis;
} reverse_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"batch_axis", "time_axis", NULL};
    reverse_params *p = params;
    p->batch_axis = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "batch_axis", 0, 1, &p->batch_axis));
    ONNXD_TRY(onnxd_attribute_int(node, "time_axis", 0, 1, &p->time_axis));
    if (p->batch_axis == p->time_axis)
        return onnxd_op_error(node, "attributes 'batch_axis' and 'time_axis' are both %" PRId64,
                              p->time_axis);
    return NULL;
}

static onnxd_status *check_shapes(const onnxd_node *node, const reverse_params *p,
                                  const onnxd_shape *input, const onnxd_shape *lengths)
{
    if (input->rank >= 0 && input->rank < 2)
        return onnxd_op_error(node, "input 0 has rank %" PRId32 ", must have at least 2",
                              input->rank);
    if (lengths->rank >= 0 && lengths->rank != 1)
        return onnxd_op_error(node, "input 1 has rank %" PRId32 ", must have 1", lengths->rank);
    if (input->rank < 0 || lengths->rank < 0)
        return NULL;
    int64_t batch = input->dims[p->batch_axis], count = lengths->dims[0];
    if (onnxd_dim_is_static(batch) && onnxd_dim_is_static(count) && batch != count)
        return onnxd_op_error(
            node, "input 1 has %" PRId64 " lengths for a batch of %" PRId64 " sequences", count,
            batch);
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    return check_shapes(infer->node, infer->params, &infer->inputs[0].shape,
                        &infer->inputs[1].shape);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const reverse_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    ONNXD_TRY(check_shapes(compute->node, p, &input->shape, &compute->inputs[1].shape));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &input->shape));
    const int64_t *lengths = onnxd_tensor_view_data(&compute->inputs[1]);
    int64_t batch = input->shape.dims[p->batch_axis], time = input->shape.dims[p->time_axis];
    size_t count = onnxd_tensor_view_count(&compute->inputs[1]), unused, block;
    for (size_t i = 0; i < count; i++)
        if (lengths[i] < 0 || lengths[i] > time)
            return onnxd_op_error(compute->node,
                                  "length %" PRId64 " (element %zu of input 1) is outside "
                                  "[0, %" PRId64 "]",
                                  lengths[i], i, time);
    if (onnxd_tensor_view_count(output) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, &input->shape, 1, &unused, &block));
    block *= onnxd_dtype_size(input->dtype);
    size_t batch_stride = (p->batch_axis == 0 ? (size_t)time : 1) * block;
    size_t time_stride = (p->time_axis == 0 ? (size_t)batch : 1) * block;
    const char *from = onnxd_tensor_view_data(input);
    char *to = onnxd_tensor_view_data(output);
    int64_t row_count = p->batch_axis == 0 ? batch : time;
    int64_t inner_count = p->batch_axis == 0 ? time : batch;
    for (int64_t row = 0; row < row_count; row++) {
        for (int64_t i = 0; i < inner_count; i++, to += block) {
            int64_t b = p->batch_axis == 0 ? row : i, t = p->batch_axis == 0 ? i : row;
            size_t source = (size_t)(t < lengths[b] ? lengths[b] - 1 - t : t);
            memcpy(to, from + (size_t)b * batch_stride + source * time_stride, block);
        }
    }
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "ReverseSequence", .domain = "", .since = first, .until = last,                 \
        .min_inputs = 2, .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},               \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(reverse_params),   \
        .parse = parse, .infer = infer, .compute = compute                                         \
    }

const onnxd_op_def onnxd_op_reverse_sequence[] = {
    ROW(10, 27, ONNXD_SET_ANY_1),
    ROW(28, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

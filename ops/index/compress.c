/* Compress: the entries of an axis, or of the flattened input, at which a condition holds. */
#include <inttypes.h>
#include <string.h>

#include "ops/index/output.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

/* Entries between two looks at whether the request still stands. */
#define CHECK_EVERY ((size_t)1 << 13)

typedef struct compress_params {
    bool has_axis;
    int64_t axis;
} compress_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", NULL};
    compress_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    p->has_axis = onnxd_node_attribute(node, "axis") != NULL;
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const compress_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape, *condition = &infer->inputs[1].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = infer->inputs[0].dtype;
    if (condition->rank >= 0 && condition->rank != 1)
        return onnxd_op_error(infer->node,
                              "input 1, the condition, has rank %" PRId32 ", must have 1",
                              condition->rank);
    if (!p->has_axis) {
        output->shape = onnxd_shape_of_rank(1);
    } else if (input->rank >= 0) {
        int32_t axis;
        ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
        output->shape = *input;
        output->shape.dims[axis] = ONNXD_DIM_UNKNOWN;
    }
    return NULL;
}

/* Copies the blocks at which the condition holds, neighbours together; returns the end of what was
 * written. */
static char *copy_selected(const uint8_t *condition, size_t count, size_t block, const char *from,
                           char *to)
{
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && condition[end] != 0)
            end++;
        size_t bytes = (end - i) * block;
        if (bytes != 0)
            memcpy(to, from + i * block, bytes);
        to += bytes;
        for (i = end; i < count && condition[i] == 0;)
            i++;
    }
    return to;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const compress_params *p = dynamic->params;
    const onnxd_tensor *input = dynamic->inputs[0]->tensor;
    const onnxd_tensor *condition = dynamic->inputs[1]->tensor;
    onnxd_shape shape = {.rank = 1};
    int32_t axis = 0;
    size_t outer = 1, dim = input->count, inner = 1;
    if (condition->shape.rank != 1)
        return onnxd_op_error(dynamic->node,
                              "input 1, the condition, has rank %" PRId32 ", must have 1",
                              condition->shape.rank);
    if (p->has_axis) {
        shape = input->shape;
        ONNXD_TRY(onnxd_op_axis(dynamic->node, "attribute 'axis'", p->axis, shape.rank, &axis));
        dim = (size_t)shape.dims[axis];
        ONNXD_TRY(onnxd_op_around_axis(dynamic->node, &shape, axis, &outer, &inner));
    }
    /* What the condition says beyond the axis is ignored. */
    size_t considered = condition->count < dim ? condition->count : dim;
    const uint8_t *selects = condition->data;
    shape.dims[axis] = 0;
    for (size_t i = 0; i < considered; i++)
        shape.dims[axis] += selects[i] != 0;
    onnxd_tensor *output;
    ONNXD_TRY(dynamic->env->allocate(dynamic->env, input->dtype, &shape, &output));
    size_t block = inner * onnxd_dtype_size(input->dtype);
    const char *from = input->data;
    char *to = output->data;
    size_t since_check = 0;
    onnxd_status *status = NULL;
    for (size_t o = 0; status == NULL && o < outer && output->count != 0; o++, from += dim * block)
        for (size_t i = 0; status == NULL && i < considered; i += CHECK_EVERY) {
            const size_t left = considered - i, part = left < CHECK_EVERY ? left : CHECK_EVERY;
            to = copy_selected(selects + i, part, block, from + i * block, to);
            since_check += part;
            if (since_check < CHECK_EVERY)
                continue;
            since_check = 0;
            status = dynamic->env->check(dynamic->env);
        }
    if (status == NULL)
        return onnxd_publish_output(dynamic, 0, output);
    onnxd_tensor_release(output);
    return status;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Compress", .domain = "", .since = first, .until = last, .min_inputs = 2,       \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(BOOL)}},                \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(compress_params),  \
        .parse = parse, .infer = infer, .run = run                                                 \
    }

const onnxd_op_def onnxd_op_compress[] = {
    ROW(9, 27, ONNXD_SET_ANY_1),
    ROW(28, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

/* ConcatFromSequence: the elements of a sequence side by side along an axis of theirs, or a new
 * one.
 */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/control/control.h"
#include "ops/control/pieces.h"
#include "ops/ops.h"

typedef struct concat_params {
    int64_t axis, new_axis;
} concat_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "new_axis", NULL};
    concat_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "axis"));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    return onnxd_attribute_int(node, "new_axis", 0, 1, &p->new_axis);
}

/* The axis of the output, for elements of this rank. */
static onnxd_status *output_axis(const onnxd_node *node, const concat_params *p, int32_t rank,
                                 int32_t *out_axis)
{
    int32_t out_rank = p->new_axis != 0 ? rank + 1 : rank;
    if (out_rank > ONNXD_MAX_RANK)
        return onnxd_op_error(node, "elements of rank %" PRId32 " leave no room for another axis",
                              rank);
    return onnxd_op_axis(node, "attribute 'axis'", p->axis, out_rank, out_axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const concat_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    int32_t axis;
    *output = infer->inputs[0];
    output->kind = ONNXD_VALUE_TENSOR;
    if (output->shape.rank < 0)
        return NULL;
    ONNXD_TRY(output_axis(infer->node, p, output->shape.rank, &axis));
    if (p->new_axis != 0)
        output->shape = onnxd_control_with_axis(&output->shape, axis, ONNXD_DIM_UNKNOWN);
    else
        output->shape.dims[axis] = ONNXD_DIM_UNKNOWN;
    return NULL;
}

/* Element `index` must be like the first, except along `axis`, where extents add up. */
static onnxd_status *add_extent(const onnxd_dynamic *dynamic, size_t index, int32_t axis,
                                const onnxd_shape *first, const onnxd_shape *shape, int64_t *extent)
{
    const concat_params *p = dynamic->params;
    onnxd_shape expected = *first;
    if (p->new_axis == 0 && shape->rank == first->rank)
        expected.dims[axis] = shape->dims[axis];
    if (!onnxd_shape_equal(&expected, shape)) {
        char found[ONNXD_SHAPE_TEXT], wanted[ONNXD_SHAPE_TEXT];
        return onnxd_op_error(dynamic->node, "element %zu of the sequence is %s, element 0 is %s",
                              index, onnxd_shape_format(shape, found, sizeof(found)),
                              onnxd_shape_format(first, wanted, sizeof(wanted)));
    }
    if (!onnxd_i64_add(*extent, p->new_axis != 0 ? 1 : shape->dims[axis], extent))
        return onnxd_op_error(dynamic->node, "axis %" PRId32 " of the output overflows", axis);
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const concat_params *p = dynamic->params;
    const onnxd_datum *sequence = dynamic->inputs[0];
    onnxd_tensor *output = NULL;
    int32_t axis;
    int64_t extent = 0, position = 0;
    if (sequence == NULL || sequence->kind != ONNXD_VALUE_SEQUENCE || sequence->item_count == 0)
        return onnxd_op_error(dynamic->node, "input 0 is not a sequence with elements");
    const onnxd_shape *first = &sequence->items[0]->tensor->shape;
    ONNXD_TRY(output_axis(dynamic->node, p, first->rank, &axis));
    for (size_t i = 0; i < sequence->item_count; i++)
        ONNXD_TRY(add_extent(dynamic, i, axis, first, &sequence->items[i]->tensor->shape, &extent));
    onnxd_shape shape = *first;
    if (p->new_axis != 0)
        shape = onnxd_control_with_axis(first, axis, extent);
    else
        shape.dims[axis] = extent;
    ONNXD_TRY(onnxd_pieces_allocate(dynamic->env, sequence->dtype, &shape, &output));
    for (size_t i = 0; i < sequence->item_count; i++) {
        const onnxd_tensor *item = sequence->items[i]->tensor;
        int64_t step = p->new_axis != 0 ? 1 : item->shape.dims[axis];
        onnxd_pieces_put(output, axis, position, step, item);
        position += step;
    }
    onnxd_status *status = onnxd_pieces_own_strings(dynamic->env, &output);
    if (status != NULL) {
        onnxd_tensor_release(output);
        return status;
    }
    return onnxd_control_datum(output, &dynamic->outputs[0]);
}

const onnxd_op_def onnxd_op_concat_from_sequence[] = {
    {
        .op_type = "ConcatFromSequence",
        .domain = "",
        .since = 11,
        .until = ONNXD_OPSET_MAX,
        .min_inputs = 1,
        .max_inputs = 1,
        .min_outputs = 1,
        .max_outputs = 1,
        .inputs = {{.types = ONNXD_SET_ANY_1, .kinds = ONNXD_KIND(SEQUENCE)}},
        .outputs = {{.types = ONNXD_SET_ANY_1}},
        .params_bytes = sizeof(concat_params),
        .parse = parse,
        .infer = infer,
        .run = run,
    },
    {.op_type = NULL},
};

/* SplitToSequence: cuts an axis of a tensor into the elements of a sequence. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "ops/control/control.h"
#include "ops/control/pieces.h"
#include "ops/ops.h"

#define CHECK_EVERY 1024

typedef struct split_params {
    int64_t axis;
    int64_t keeps_axis; /* of the pieces of extent 1 that there are without input 1 */
} split_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", "keepdims", NULL};
    split_params *p = params;
    p->keeps_axis = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    return onnxd_attribute_int(node, "keepdims", 0, 1, &p->keeps_axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const split_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    bool has_sizes = onnxd_op_has_input(infer->node, 1);
    int32_t axis;
    *output = infer->inputs[0];
    output->kind = ONNXD_VALUE_SEQUENCE;
    if (has_sizes && infer->inputs[1].shape.rank > 1)
        return onnxd_op_error(infer->node,
                              "input 1 has rank %" PRId32 ", a scalar or a list is needed",
                              infer->inputs[1].shape.rank);
    if (input->rank < 0)
        return NULL;
    ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
    if (has_sizes)
        output->shape.dims[axis] = ONNXD_DIM_UNKNOWN;
    else if (p->keeps_axis != 0)
        output->shape.dims[axis] = 1;
    else
        output->shape = onnxd_control_without_axis(input, axis);
    return NULL;
}

/* How an axis is cut. */
typedef struct cuts {
    onnxd_tensor_view sizes; /* a list; absent: all pieces but the last have `size` */
    int64_t size;
    size_t count;
    bool drops_axis;
} cuts;

static int64_t cut_at(const cuts *c, size_t index, int64_t left)
{
    if (onnxd_tensor_view_is_present(&c->sizes))
        return onnxd_op_int_at(&c->sizes, index);
    return c->size < left ? c->size : left;
}

static onnxd_status *check_sizes(const onnxd_node *node, const cuts *c, int64_t dim)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->count; i++) {
        int64_t size = onnxd_op_int_at(&c->sizes, i);
        if (size < 0)
            return onnxd_op_error(node, "size %zu in input 1 is %" PRId64, i, size);
        if (!onnxd_i64_add(sum, size, &sum))
            return onnxd_op_error(node, "the sum of the sizes in input 1 overflows");
    }
    if (sum == dim)
        return NULL;
    return onnxd_op_error(
        node, "the sizes in input 1 add up to %" PRId64 ", the axis has extent %" PRId64, sum, dim);
}

static onnxd_status *read_cuts(const onnxd_dynamic *dynamic, int64_t dim, cuts *c)
{
    const split_params *p = dynamic->params;
    const onnxd_tensor *sizes = NULL;
    *c = (cuts){.size = 1};
    if (!onnxd_op_has_input(dynamic->node, 1)) {
        c->drops_axis = p->keeps_axis == 0;
        c->count = (size_t)dim;
        return NULL;
    }
    ONNXD_TRY(onnxd_control_tensor(dynamic->node, "input 1", dynamic->inputs[1], &sizes));
    if (sizes->shape.rank == 0) {
        ONNXD_TRY(onnxd_control_int(dynamic->node, "input 1", dynamic->inputs[1], &c->size));
        if (c->size <= 0)
            return onnxd_op_error(
                dynamic->node, "the size in input 1 is %" PRId64 ", it must be positive", c->size);
        c->count = (size_t)(dim / c->size) + (dim % c->size != 0 ? 1 : 0);
        return NULL;
    }
    c->sizes = onnxd_tensor_as_view(sizes);
    c->count = sizes->count;
    return check_sizes(dynamic->node, c, dim);
}

static onnxd_status *cut(const onnxd_dynamic *dynamic, const onnxd_tensor *input, int32_t axis,
                         const cuts *c, onnxd_datum **items)
{
    int64_t first = 0, dim = input->shape.dims[axis];
    for (size_t i = 0; i < c->count; i++) {
        onnxd_tensor *piece = NULL;
        onnxd_shape shape = input->shape;
        int64_t extent = cut_at(c, i, dim - first);
        shape.dims[axis] = extent;
        if (c->drops_axis)
            shape = onnxd_control_without_axis(&input->shape, axis);
        if (i % CHECK_EVERY == 0)
            ONNXD_TRY(dynamic->env->check(dynamic->env));
        ONNXD_TRY(onnxd_pieces_take(dynamic->env, input, axis, first, extent, &shape, &piece));
        ONNXD_TRY(onnxd_control_datum(piece, &items[i]));
        first += extent;
    }
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const split_params *p = dynamic->params;
    const onnxd_tensor *input = NULL;
    onnxd_datum **items = NULL;
    int32_t axis;
    cuts c;
    ONNXD_TRY(onnxd_control_tensor(dynamic->node, "input 0", dynamic->inputs[0], &input));
    ONNXD_TRY(onnxd_op_axis(dynamic->node, "attribute 'axis'", p->axis, input->shape.rank, &axis));
    ONNXD_TRY(read_cuts(dynamic, input->shape.dims[axis], &c));
    if (c.count > ONNXD_SEQUENCE_MAX_ITEMS)
        return onnxd_op_error_code(ONNXD_RESOURCE_EXHAUSTED, dynamic->node,
                                   "a sequence of %zu elements, at most %zu are supported", c.count,
                                   ONNXD_SEQUENCE_MAX_ITEMS);
    ONNXD_TRY(onnxd_control_datums(c.count, &items));
    onnxd_status *status = cut(dynamic, input, axis, &c, items);
    if (status == NULL)
        status = onnxd_datum_of_items(ONNXD_VALUE_SEQUENCE, input->dtype, items, c.count,
                                      &dynamic->outputs[0]);
    onnxd_datums_free(items, c.count);
    return status;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "SplitToSequence", .domain = "", .since = first, .until = last,                 \
        .min_inputs = 1, .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = set}, {.types = ONNXD_SET_INDEX, .is_optional = true}},               \
        .outputs = {{.types = set, .kinds = ONNXD_KIND(SEQUENCE)}},                                \
        .params_bytes = sizeof(split_params), .parse = parse, .infer = infer, .run = run           \
    }

const onnxd_op_def onnxd_op_split_to_sequence[] = {
    ROW(11, 23, ONNXD_SET_ANY_1),
    ROW(24, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

/* Flatten: a matrix of the dimensions before `axis` by those from it on. */
#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct flatten_params {
    int64_t axis; /* in [-rank, rank] */
} flatten_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"axis", NULL};
    flatten_params *p = params;
    p->axis = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", opset >= 11 ? -ONNXD_MAX_RANK : 0, ONNXD_MAX_RANK,
                               &p->axis);
}

/* Product of dims[first..last): a lone dimension among ones stays what it is, symbol or not. */
static onnxd_status *product(const onnxd_node *node, const onnxd_shape *shape, int32_t first,
                             int32_t last, int64_t *out_dim)
{
    size_t count = 1;
    bool has_zero = false;
    int32_t open_count = 0;
    int64_t open = ONNXD_DIM_UNKNOWN;
    for (int32_t i = first; i < last; i++) {
        if (!onnxd_dim_is_static(shape->dims[i])) {
            open = shape->dims[i];
            open_count++;
        } else if (shape->dims[i] == 0) {
            has_zero = true;
        }
    }
    for (int32_t i = first; i < last && !has_zero; i++)
        if (onnxd_dim_is_static(shape->dims[i]) &&
            (!onnxd_size_mul(count, (size_t)shape->dims[i], &count) || count > INT64_MAX))
            return onnxd_op_error(node, "the product of dimensions is too large");
    if (has_zero)
        *out_dim = 0;
    else if (open_count == 0)
        *out_dim = (int64_t)count;
    else
        *out_dim = open_count == 1 && count == 1 ? open : ONNXD_DIM_UNKNOWN;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const flatten_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape *output = &infer->outputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    *output = onnxd_shape_of_rank(2);
    if (input->rank < 0)
        return NULL;
    int32_t axis = input->rank;
    if (p->axis != input->rank)
        ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
    ONNXD_TRY(product(infer->node, input, 0, axis, &output->dims[0]));
    return product(infer->node, input, axis, input->rank, &output->dims[1]);
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Flatten", .domain = "", .since = first, .until = last, .min_inputs = 1,        \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(flatten_params),   \
        .parse = parse, .infer = infer, .compute = onnxd_op_compute_copy, .is_view = true          \
    }

const onnxd_op_def onnxd_op_flatten[] = {
    ROW(1, 8, ONNXD_SET_FLOATS_1), ROW(9, 10, ONNXD_SET_ANY_1), ROW(11, 12, ONNXD_SET_ANY_1),
    ROW(13, 20, ONNXD_SET_ANY_13), ONNXD_ROWS_ANY_21(ROW),      {.op_type = NULL},
};

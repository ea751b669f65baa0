/* Shape and Size: the dimensions of the input, and their product. Neither reads the data. */
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct shape_params {
    int64_t start, end;
} shape_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"start", "end", NULL};
    static const char *const no_names[] = {NULL};
    shape_params *p = params;
    p->end = INT64_MAX;
    ONNXD_TRY(onnxd_attributes_allow(node, opset >= 15 ? names : no_names));
    ONNXD_TRY(onnxd_attribute_int(node, "start", INT64_MIN, INT64_MAX, &p->start));
    return onnxd_attribute_int(node, "end", INT64_MIN, INT64_MAX, &p->end);
}

static int64_t clamp_axis(int64_t axis, int32_t rank)
{
    if (axis < 0)
        axis += rank;
    return axis < 0 ? 0 : axis > rank ? rank : axis;
}

/* The dimensions [first, first + count) that the attributes select. */
static void select_dims(const shape_params *p, int32_t rank, int64_t *out_first, int64_t *out_count)
{
    int64_t first = clamp_axis(p->start, rank), end = clamp_axis(p->end, rank);
    *out_first = first;
    *out_count = end > first ? end - first : 0;
}

static onnxd_status *infer_shape(onnxd_infer *infer)
{
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = ONNXD_INT64;
    output->shape = onnxd_shape_of_rank(1);
    int64_t first;
    if (infer->inputs[0].shape.rank >= 0)
        select_dims(infer->params, infer->inputs[0].shape.rank, &first, &output->shape.dims[0]);
    return NULL;
}

static onnxd_status *compute_shape(const onnxd_compute *compute)
{
    const onnxd_shape *shape = &compute->inputs[0].shape;
    int64_t first, count, *to = onnxd_tensor_view_data(&compute->outputs[0]);
    select_dims(compute->params, shape->rank, &first, &count);
    for (int64_t i = 0; i < count; i++)
        to[i] = shape->dims[first + i];
    return NULL;
}

static onnxd_status *infer_size(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_INT64;
    infer->outputs[0].shape = onnxd_shape_of_rank(0);
    return NULL;
}

static onnxd_status *compute_size(const onnxd_compute *compute)
{
    *(int64_t *)onnxd_tensor_view_data(&compute->outputs[0]) =
        (int64_t)onnxd_tensor_view_count(&compute->inputs[0]);
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .domain = "", .since = first, .until = last, .min_inputs = 1, .max_inputs = 1,                 \
    .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},                                \
    .outputs = {{.types = ONNXD_SET(INT64)}}
#define SHAPE_ROW(first, last, set)                                                                \
    {                                                                                              \
        COMMON(first, last, set), .op_type = "Shape", .params_bytes = sizeof(shape_params),        \
                                  .parse = parse, .infer = infer_shape, .compute = compute_shape   \
    }
#define SIZE_ROW(first, last, set)                                                                 \
    {                                                                                              \
        COMMON(first, last, set), .op_type = "Size", .infer = infer_size, .compute = compute_size  \
    }

const onnxd_op_def onnxd_op_shape[] = {
    SHAPE_ROW(1, 12, ONNXD_SET_ANY_1),
    SHAPE_ROW(13, 18, ONNXD_SET_ANY_13),
    SHAPE_ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(SHAPE_ROW),
    SIZE_ROW(1, 12, ONNXD_SET_ANY_1),
    SIZE_ROW(13, 18, ONNXD_SET_ANY_13),
    SIZE_ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(SIZE_ROW),
    {.op_type = NULL},
};

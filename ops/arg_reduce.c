/* ArgMax and ArgMin: the index of the largest or smallest element along one axis. */
#include <inttypes.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct arg_params {
    int64_t axis;
    bool keeps_dims, selects_last;
} arg_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names_1[] = {"axis", "keepdims", NULL};
    static const char *const names_12[] = {"axis", "keepdims", "select_last_index", NULL};
    arg_params *p = params;
    int64_t keeps = 1, last = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 12 ? names_1 : names_12));
    ONNXD_TRY(onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis));
    ONNXD_TRY(onnxd_attribute_int(node, "keepdims", 0, 1, &keeps));
    ONNXD_TRY(onnxd_attribute_int(node, "select_last_index", 0, 1, &last));
    p->keeps_dims = keeps != 0;
    p->selects_last = last != 0;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const arg_params *p = infer->params;
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = ONNXD_INT64;
    if (input->rank < 0)
        return NULL;
    int32_t axis;
    ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, input->rank, &axis));
    if (input->dims[axis] == 0)
        return onnxd_op_error(infer->node, "axis %" PRId32 " has no elements", axis);
    onnxd_shape shape = {.rank = 0};
    for (int32_t i = 0; i < input->rank; i++) {
        if (i != axis)
            shape.dims[shape.rank++] = input->dims[i];
        else if (p->keeps_dims)
            shape.dims[shape.rank++] = 1;
    }
    output->shape = shape;
    return NULL;
}

typedef struct arg_extent {
    size_t outer, dim, inner;
} arg_extent;

typedef void (*arg_kernel)(const void *in, int64_t *out, const arg_extent *extent,
                           bool selects_last);

#define max_IS_BETTER(x, best) ((x) > (best))
#define min_IS_BETTER(x, best) ((x) < (best))

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_##id(const void *in_data, int64_t *out, const arg_extent *extent,             \
                          bool selects_last)                                                       \
    {                                                                                              \
        const T *in = in_data;                                                                     \
        for (size_t o = 0; o < extent->outer; o++, in += extent->dim * extent->inner) {            \
            for (size_t i = 0; i < extent->inner; i++) {                                           \
                C best = LOAD(C, in[i]);                                                           \
                size_t index = 0;                                                                  \
                for (size_t at = 1; at < extent->dim; at++) {                                      \
                    C x = LOAD(C, in[at * extent->inner + i]);                                     \
                    if (op##_IS_BETTER(x, best) || (selects_last && x == best)) {                  \
                        best = x;                                                                  \
                        index = at;                                                                \
                    }                                                                              \
                }                                                                                  \
                *out++ = (int64_t)index;                                                           \
            }                                                                                      \
        }                                                                                          \
    }
ONNXD_EACH_NUMBER(KERNEL, max)
ONNXD_EACH_NUMBER(KERNEL, min)

static onnxd_status *run(const onnxd_compute *compute, const arg_kernel *kernels)
{
    const arg_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_shape *shape = &input->shape;
    int32_t axis;
    arg_extent extent;
    ONNXD_TRY(onnxd_op_axis(compute->node, "attribute 'axis'", p->axis, shape->rank, &axis));
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, shape, axis, &extent.outer, &extent.inner));
    extent.dim = (size_t)shape->dims[axis];
    kernels[input->dtype](onnxd_tensor_view_data(input),
                          onnxd_tensor_view_data(&compute->outputs[0]), &extent, p->selects_last);
    return NULL;
}

#define DEFINE_COMPUTE(op)                                                                         \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const arg_kernel kernels[ONNXD_DTYPE_COUNT] = {                                     \
            ONNXD_EACH_NUMBER(ONNXD_KERNEL_ENTRY, op)};                                            \
        return run(compute, kernels);                                                              \
    }
DEFINE_COMPUTE(max)
DEFINE_COMPUTE(min)

#define ROW(name, op, first, last, set)                                                            \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},           \
        .outputs = {{.types = ONNXD_SET(INT64)}}, .params_bytes = sizeof(arg_params),              \
        .parse = parse, .infer = infer, .compute = compute_##op                                    \
    }
#define ROWS(name, op)                                                                             \
    ROW(name, op, 1, 12, ONNXD_SET_NUMBERS_1), ROW(name, op, 13, ONNXD_OPSET_MAX, ONNXD_SET_NUMBERS)

const onnxd_op_def onnxd_op_arg_reduce[] = {
    ROWS("ArgMax", max),
    ROWS("ArgMin", min),
    {.op_type = NULL},
};

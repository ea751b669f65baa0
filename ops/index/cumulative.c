/* CumSum and CumProd: the sum or product of the elements up to each one along an axis, with or
 * without itself, from either end. float16 and bfloat16 accumulate in float, integers wrap. */
#include <inttypes.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct cumulative_params {
    bool is_reverse, is_exclusive;
} cumulative_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"exclusive", "reverse", NULL};
    cumulative_params *p = params;
    int64_t exclusive = 0, reverse = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "exclusive", 0, 1, &exclusive));
    ONNXD_TRY(onnxd_attribute_int(node, "reverse", 0, 1, &reverse));
    p->is_exclusive = exclusive != 0;
    p->is_reverse = reverse != 0;
    return NULL;
}

static onnxd_status *read_axis(const onnxd_node *node, const onnxd_tensor_view *view, int32_t rank,
                               int32_t *out_axis)
{
    int64_t axis;
    size_t count;
    ONNXD_TRY(onnxd_op_read_ints(node, 1, view, 1, &axis, &count));
    if (count != 1)
        return onnxd_op_error(node, "input 1, the axis, has no element, must have one");
    return onnxd_op_axis(node, "input 1, the axis,", axis, rank, out_axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *shape = &infer->inputs[0].shape;
    infer->outputs[0] = infer->inputs[0];
    int64_t length;
    ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
    if (length >= 0 && length != 1)
        return onnxd_op_error(infer->node,
                              "input 1, the axis, has %" PRId64 " elements, must have one", length);
    onnxd_tensor_view view;
    int32_t axis;
    if (shape->rank >= 0 && onnxd_infer_known(infer, 1, &view))
        return read_axis(infer->node, &view, shape->rank, &axis);
    return NULL;
}

typedef struct extent {
    size_t outer, dim, inner; /* none is 0 */
    bool is_reverse, is_exclusive;
} extent;

typedef void (*cumulative_kernel)(const extent *e, const void *in, void *out);

/* Neighbours whose axes are followed together. */
#define LANES 64

#define sum_START 0
#define product_START 1
#define sum_OF(a, b) ((a) + (b))
#define product_OF(a, b) ((a) * (b))

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_lanes_##id(const extent *e, const T *in, T *out, size_t lanes)                \
    {                                                                                              \
        C totals[LANES];                                                                           \
        for (size_t lane = 0; lane < lanes; lane++)                                                \
            totals[lane] = (C)op##_START;                                                          \
        for (size_t i = 0; i < e->dim; i++) {                                                      \
            size_t at = (e->is_reverse ? e->dim - 1 - i : i) * e->inner;                           \
            for (size_t lane = 0; lane < lanes; lane++) {                                          \
                C before = totals[lane], after = op##_OF(before, LOAD(C, in[at + lane]));          \
                out[at + lane] = STORE(T, e->is_exclusive ? before : after);                       \
                totals[lane] = after;                                                              \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void op##_##id(const extent *e, const void *in_data, void *out_data)                    \
    {                                                                                              \
        const T *in = in_data;                                                                     \
        T *out = out_data;                                                                         \
        size_t block = e->dim * e->inner;                                                          \
        for (size_t o = 0; o < e->outer; o++, in += block, out += block)                           \
            for (size_t i = 0; i < e->inner; i += LANES)                                           \
                op##_lanes_##id(e, in + i, out + i, e->inner - i < LANES ? e->inner - i : LANES);  \
    }
#define EACH(X, op)                                                                                \
    ONNXD_EACH_FLOAT(X, op)                                                                        \
    X(op, INT32, int32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                           \
    X(op, INT64, int64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                           \
    X(op, UINT32, uint32_t, uint32_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)                         \
    X(op, UINT64, uint64_t, uint64_t, ONNXD_LOAD_PLAIN, ONNXD_STORE_PLAIN)
EACH(KERNEL, sum)
EACH(KERNEL, product)

static onnxd_status *run(const onnxd_compute *compute, const cumulative_kernel *kernels)
{
    const cumulative_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_shape *shape = &input->shape;
    extent e = {.is_reverse = p->is_reverse, .is_exclusive = p->is_exclusive};
    int32_t axis;
    ONNXD_TRY(read_axis(compute->node, &compute->inputs[1], shape->rank, &axis));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, shape));
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    ONNXD_TRY(onnxd_op_around_axis(compute->node, shape, axis, &e.outer, &e.inner));
    e.dim = (size_t)shape->dims[axis];
    kernels[input->dtype](&e, onnxd_tensor_view_data(input),
                          onnxd_tensor_view_data(&compute->outputs[0]));
    return NULL;
}

#define DEFINE_COMPUTE(op)                                                                         \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const cumulative_kernel kernels[ONNXD_DTYPE_COUNT] = {                              \
            EACH(ONNXD_KERNEL_ENTRY, op)};                                                         \
        return run(compute, kernels);                                                              \
    }
DEFINE_COMPUTE(sum)
DEFINE_COMPUTE(product)

#define ROW(name, op, first, last, set)                                                            \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 2,             \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET_INDEX, .type_variable = 2}},                                \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(cumulative_params), .parse = parse, .infer = infer,                 \
        .compute = compute_##op                                                                    \
    }
#define TYPES_11 (ONNXD_SET_WIDE_INTEGERS | ONNXD_SET(FLOAT) | ONNXD_SET(DOUBLE))
#define TYPES_14 (ONNXD_SET_WIDE_INTEGERS | ONNXD_SET_FLOATS)

const onnxd_op_def onnxd_op_cumulative[] = {
    ROW("CumSum", sum, 11, 13, TYPES_11),
    ROW("CumSum", sum, 14, ONNXD_OPSET_MAX, TYPES_14),
    ROW("CumProd", product, 26, ONNXD_OPSET_MAX, TYPES_14),
    {.op_type = NULL},
};

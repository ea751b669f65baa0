/* Hardmax: 1 at the first largest element along the axis and 0 elsewhere. Below opset 13 the rows
 * are everything from the axis on. NaN is the largest only where there is nothing else. */
#include "graph/attributes.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"axis", NULL};
    onnxd_softmax_params *p = params;
    p->flattens = opset < 13;
    p->axis = p->flattens ? 1 : -1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK, &p->axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_softmax_params *p = infer->params;
    int32_t rank = infer->inputs[0].shape.rank, axis;
    /* A matrix may be split after the last dimension too: rows of one element. */
    if (rank >= 0 && !(p->flattens && p->axis == rank))
        ONNXD_TRY(onnxd_op_axis(infer->node, "attribute 'axis'", p->axis, rank, &axis));
    infer->outputs[0] = infer->inputs[0];
    return NULL;
}

typedef void (*hardmax_kernel)(const void *in, const onnxd_softmax_extent *extent, void *out);

#define KERNEL(op, id, T, C, LOAD, STORE)                                                          \
    static void op##_##id(const void *in_data, const onnxd_softmax_extent *e, void *out_data)      \
    {                                                                                              \
        const T *in = in_data;                                                                     \
        T *out = out_data;                                                                         \
        const T zero = STORE(T, 0), one = STORE(T, 1);                                             \
        for (size_t o = 0; o < e->outer * e->inner; o++) {                                         \
            size_t at = o / e->inner * e->length * e->inner + o % e->inner, best = at;             \
            C largest = LOAD(C, in[at]);                                                           \
            for (size_t k = 0; k < e->length; k++, at += e->inner) {                               \
                C x = LOAD(C, in[at]);                                                             \
                out[at] = zero;                                                                    \
                /* The second test is true for NaN only. */                                        \
                if (x > largest || (largest != largest && x == x)) {                               \
                    largest = x;                                                                   \
                    best = at;                                                                     \
                }                                                                                  \
            }                                                                                      \
            out[best] = one;                                                                       \
        }                                                                                          \
    }
ONNXD_EACH_FLOAT(KERNEL, hardmax)

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const hardmax_kernel kernels[ONNXD_DTYPE_COUNT] = {
        ONNXD_EACH_FLOAT(ONNXD_KERNEL_ENTRY, hardmax)};
    const onnxd_tensor_view *input = &compute->inputs[0];
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    onnxd_softmax_extent extent = onnxd_softmax_extent_of(compute->params, &input->shape);
    kernels[input->dtype](onnxd_tensor_view_data(input), &extent,
                          onnxd_tensor_view_data(&compute->outputs[0]));
    return NULL;
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Hardmax", .domain = "", .since = first, .until = last, .min_inputs = 1,        \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_softmax_params), .parse = parse, .infer = infer,              \
        .compute = compute                                                                         \
    }

const onnxd_op_def onnxd_op_hardmax[] = {
    ROW(1, 10, ONNXD_SET_FLOATS_1),
    ROW(11, 12, ONNXD_SET_FLOATS_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

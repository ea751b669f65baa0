/* Softmax and LogSoftmax: over a matrix below opset 13, along one axis from there on. */
#include <inttypes.h>
#include <tgmath.h>

#include "graph/attributes.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse_any(const onnxd_node *node, int64_t opset, bool is_log,
                               onnxd_softmax_params *params)
{
    static const char *const names[] = {"axis", NULL};
    params->flattens = opset < 13;
    params->axis = params->flattens ? 1 : -1;
    params->is_log = is_log;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK, &params->axis);
}

static onnxd_status *parse_softmax(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                   void *params)
{
    (void)arena;
    return parse_any(node, opset, false, params);
}

static onnxd_status *parse_log_softmax(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                       void *params)
{
    (void)arena;
    return parse_any(node, opset, true, params);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_softmax_params *params = context->params;
    const onnxd_shape *input = &context->inputs[0].shape;
    int32_t axis;
    /* A matrix may be split after the last dimension too: rows of one element. */
    bool splits_at_end = params->flattens && params->axis == input->rank;
    if (input->rank != ONNXD_RANK_UNKNOWN && !splits_at_end &&
        !onnxd_shape_axis(input->rank, params->axis, &axis))
        return onnxd_op_error(context->node,
                              "attribute 'axis' is %" PRId64 ", out of range for rank %" PRId32,
                              params->axis, input->rank);
    context->outputs[0] = context->inputs[0];
    return NULL;
}

onnxd_softmax_extent onnxd_softmax_extent_of(const onnxd_softmax_params *params,
                                             const onnxd_shape *shape)
{
    onnxd_softmax_extent extent = {1, 1, 1};
    int64_t axis = params->axis < 0 ? params->axis + shape->rank : params->axis;
    for (int32_t i = 0; i < shape->rank; i++) {
        size_t dim = (size_t)shape->dims[i];
        if (i < axis)
            extent.outer *= dim;
        else if (i == axis || params->flattens)
            extent.length *= dim;
        else
            extent.inner *= dim;
    }
    return extent;
}

/* Columns handled at a time. */
#define SOFTMAX_RUN 64

#define KERNEL_FILE "ops/softmax_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

void onnxd_softmax_rows(onnxd_dtype dtype, size_t rows, size_t length, const void *in, void *out)
{
    void (*run)(const void *, size_t, size_t, size_t, size_t, bool, void *) =
        ONNXD_FOR_FLOAT(dtype, soften);
    for (size_t row = 0; row < rows; row++)
        run(in, row * length, length, 1, 1, false, out);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_softmax_params *params = context->params;
    const onnxd_tensor_view *input = &context->inputs[0];
    if (onnxd_tensor_view_count(input) == 0)
        return NULL;
    onnxd_softmax_extent e = onnxd_softmax_extent_of(params, &input->shape);
    const void *in = onnxd_tensor_view_data(input);
    void *out = onnxd_tensor_view_data(&context->outputs[0]);
    void (*run)(const void *, size_t, size_t, size_t, size_t, bool, void *) =
        ONNXD_FOR_FLOAT(input->dtype, soften);
    for (size_t o = 0; o < e.outer; o++) {
        for (size_t i = 0; i < e.inner; i += SOFTMAX_RUN) {
            size_t count = e.inner - i < SOFTMAX_RUN ? e.inner - i : SOFTMAX_RUN;
            run(in, o * e.length * e.inner + i, e.length, e.inner, count, params->is_log, out);
        }
    }
    return NULL;
}

/* An axis of 0 is the batch's own. */
static bool has_batch(const onnxd_infer *context)
{
    const onnxd_softmax_params *params = context->params;
    return params->axis != 0 && params->axis != -context->inputs[0].shape.rank;
}

#define SOFTMAX(name, parse_function, first, last, set)                                            \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 1,             \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(onnxd_softmax_params), .parse = parse_function, .infer = infer,     \
        .compute = compute, .batch_inputs = 1u, .has_batch = has_batch                             \
    }

const onnxd_op_def onnxd_op_softmax[] = {
    SOFTMAX("Softmax", parse_softmax, 1, 10, ONNXD_SET_FLOATS_1),
    SOFTMAX("Softmax", parse_softmax, 11, 12, ONNXD_SET_FLOATS_1),
    SOFTMAX("Softmax", parse_softmax, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    SOFTMAX("LogSoftmax", parse_log_softmax, 1, 10, ONNXD_SET_FLOATS_1),
    SOFTMAX("LogSoftmax", parse_log_softmax, 11, 12, ONNXD_SET_FLOATS_1),
    SOFTMAX("LogSoftmax", parse_log_softmax, 13, ONNXD_OPSET_MAX, ONNXD_SET_FLOATS),
    {.op_type = NULL},
};

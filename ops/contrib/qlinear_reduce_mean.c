/* QLinearReduceMean: ReduceMean of the numbers that a quantised tensor stands for. */
#include "base/size_math.h"
#include "ops/contrib/affine.h"
#include "ops/contrib/contrib.h"
#include "ops/ops.h"
#include "ops/reduce.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    ONNXD_TRY(onnxd_attribute_require(node, "axes"));
    ONNXD_TRY(onnxd_attribute_require(node, "keepdims"));
    return onnxd_reduce_parse_attribute(node, opset, arena, params);
}

/* To ReduceMean the inputs behind the first would be axes. */
static onnxd_node first_input_of(const onnxd_node *node)
{
    onnxd_node own = *node;
    own.input_count = 1;
    return own;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    onnxd_node node = first_input_of(infer->node);
    onnxd_infer inner = *infer;
    inner.node = &node;
    inner.input_count = 1;
    ONNXD_TRY(onnxd_affine_check(infer, X_SCALE));
    ONNXD_TRY(onnxd_affine_check(infer, Y_SCALE));
    return onnxd_reduce_infer(&inner);
}

/* The input, then the output, as floats. */
static size_t workspace_bytes(const onnxd_compute *compute)
{
    size_t bytes;
    return onnxd_size_add(onnxd_tensor_view_count(&compute->inputs[X]),
                          onnxd_tensor_view_count(&compute->outputs[0]), &bytes) &&
                   onnxd_size_mul(bytes, sizeof(float), &bytes)
               ? bytes
               : SIZE_MAX;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const onnxd_tensor_view *input = &compute->inputs[X], *output = &compute->outputs[0];
    onnxd_affine from = onnxd_affine_of(compute, X_SCALE), to = onnxd_affine_of(compute, Y_SCALE);
    size_t count = onnxd_tensor_view_count(input), means = onnxd_tensor_view_count(output);
    float *values = compute->workspace, *results;
    if (means == 0)
        return NULL;
    results = values + count;
    onnxd_affine_read(input->dtype, &from, onnxd_tensor_view_data(input), 0, 1, count, values);
    for (size_t i = 0; i < count; i++)
        values[i] *= from.scale;
    onnxd_node node = first_input_of(compute->node);
    onnxd_tensor_view in = onnxd_tensor_view_of(values, ONNXD_FLOAT, &input->shape);
    onnxd_tensor_view out = onnxd_tensor_view_of(results, ONNXD_FLOAT, &output->shape);
    onnxd_compute inner = *compute;
    inner.node = &node;
    inner.input_count = 1;
    inner.inputs = &in;
    inner.outputs = &out;
    ONNXD_TRY(onnxd_reduce_mean(&inner));
    onnxd_affine_write(output->dtype, &to, results, means, onnxd_tensor_view_data(output), 0);
    return NULL;
}

#define BYTES(optional)                                                                            \
    {                                                                                              \
        .types = ONNXD_CONTRIB_BYTES, .type_variable = 1, .is_optional = optional                  \
    }
#define SCALE                                                                                      \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT)                                                                  \
    }

const onnxd_op_def onnxd_op_qlinear_reduce_mean[] = {
    {ONNXD_CONTRIB_NAME("QLinearReduceMean"), .min_inputs = 4, .max_inputs = 5, .min_outputs = 1,
     .max_outputs = 1, .inputs = {BYTES(false), SCALE, BYTES(true), SCALE, BYTES(true)},
     .outputs = {BYTES(false)}, .params_bytes = sizeof(onnxd_reduce_params), .parse = parse,
     .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};

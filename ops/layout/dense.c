/*
 * Dense: activation(A B + bias + residual). A and B are multiplied as by MatMul; the bias,
 * [columns], is added to each row, the residual has the shape of the result. The attributes are
 * those of com.microsoft's FusedConv.
 */
#include "ops/layout/dense.h"

#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { A, B, BIAS, RESIDUAL };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"activation", "activation_params", NULL};
    onnxd_dense_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_fused_parse_conv(node, &params->activation);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *b = &context->inputs[B].shape;
    onnxd_shape *shape = &context->outputs[0].shape;
    context->outputs[0].dtype = context->inputs[A].dtype;
    ONNXD_TRY(onnxd_matmul_infer_shape(context->node, &context->inputs[A].shape, b, shape));
    if (b->rank >= 2)
        ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 1, &b->dims[b->rank - 1]));
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    return onnxd_infer_check_dims(context, RESIDUAL, shape->rank, shape->dims);
}

static void add_bias(const onnxd_tensor_view *bias, const onnxd_tensor_view *y)
{
    const float *terms = onnxd_tensor_view_data(bias);
    float *values = onnxd_tensor_view_data(y);
    const size_t columns = onnxd_tensor_view_count(bias), count = onnxd_tensor_view_count(y);
    for (size_t i = 0; columns > 0 && i < count; i++)
        values[i] += terms[i % columns];
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_dense_params *params = context->params;
    const onnxd_tensor_view *y = &context->outputs[0];
    const onnxd_tensor_view *bias = onnxd_compute_input(context, BIAS);
    const onnxd_tensor_view *residual = onnxd_compute_input(context, RESIDUAL);
    onnxd_compute product = *context;
    product.input_count = BIAS;
    ONNXD_TRY(onnxd_op_find(onnxd_ops(), "", "MatMul", ONNXD_OPSET_MAX)->compute(&product));
    if (bias != NULL)
        add_bias(bias, y);
    if (residual != NULL)
        onnxd_fused_add(residual, y);
    onnxd_fused_activate(&params->activation, y);
    return NULL;
}

#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT), .type_variable = 1, .is_optional = optional                     \
    }

const onnxd_op_def onnxd_op_dense[] = {
    {.domain = ONNXD_INTERNAL_DOMAIN,
     .op_type = "Dense",
     .since = 1,
     .until = 1,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {FORMAL(false), FORMAL(false), FORMAL(true), FORMAL(true)},
     .outputs = {FORMAL(false)},
     .params_bytes = sizeof(onnxd_dense_params),
     .parse = parse,
     .infer = infer,
     .compute = compute,
     .batch_inputs = 1u << A | 1u << B | 1u << RESIDUAL},
    {.op_type = NULL},
};

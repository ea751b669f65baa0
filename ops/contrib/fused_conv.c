/* FusedConv: Conv, then a tensor added and an activation. */
#include <inttypes.h>

#include "ops/contrib/as_float.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/fused_conv.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, W, B, Z };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"activation", "activation_params", "auto_pad", "dilations",
                                        "group",      "kernel_shape",      "pads",     "strides",
                                        NULL};
    onnxd_fused_conv_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_conv_parse_params(node, &params->conv));
    return onnxd_fused_parse_conv(node, &params->activation);
}

static onnxd_status *infer(onnxd_infer *context)
{
    ONNXD_TRY(onnxd_conv_infer(context));
    const onnxd_shape *shape = &context->outputs[0].shape;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    return onnxd_infer_check_dims(context, Z, shape->rank, shape->dims);
}

static onnxd_status *run(const onnxd_compute *context)
{
    const onnxd_fused_conv_params *params = context->params;
    const onnxd_tensor_view *z = onnxd_compute_input(context, Z), *y = &context->outputs[0];
    onnxd_compute conv = *context;
    if (conv.input_count > Z)
        conv.input_count = Z;
    ONNXD_TRY(onnxd_conv_compute(&conv));
    if (z != NULL)
        onnxd_fused_add(z, y);
    onnxd_fused_activate(&params->activation, y);
    return NULL;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    return onnxd_tensor_view_count(&context->outputs[0]) == 0
               ? 0
               : onnxd_as_float_workspace_bytes(context);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    if (onnxd_tensor_view_count(&context->outputs[0]) == 0)
        return NULL;
    return onnxd_as_float_compute(context, run);
}

#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = ONNXD_SET_FLOATS_1, .type_variable = 1, .is_optional = optional                   \
    }

const onnxd_op_def onnxd_op_contrib_fused_conv[] = {
    {ONNXD_CONTRIB_NAME("FusedConv"), .min_inputs = 2, .max_inputs = 4, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL(false), FORMAL(false), FORMAL(true), FORMAL(true)},
     .outputs = {FORMAL(false)}, .params_bytes = sizeof(onnxd_fused_conv_params), .parse = parse,
     .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute, .batch_inputs = 9u},
    {.op_type = NULL},
};

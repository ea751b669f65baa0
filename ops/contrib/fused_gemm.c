/* FusedGemm: Gemm, then an activation. */
#include "ops/contrib/as_float.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/fused_activation.h"
#include "ops/gemm_core.h"
#include "ops/nn.h"
#include "ops/ops.h"
#include "ops/support.h"

typedef struct fused_params {
    onnxd_gemm_params gemm; /* first: Gemm's own functions read it */
    onnxd_fused_activation activation;
} fused_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"activation",
                                        "activation_alpha",
                                        "activation_beta",
                                        "activation_gamma",
                                        "alpha",
                                        "beta",
                                        "transA",
                                        "transB",
                                        NULL};
    fused_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_gemm_parse_params(node, &params->gemm));
    return onnxd_fused_parse_gemm(node, &params->activation);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const fused_params *params = context->params;
    onnxd_dtype dtype = context->inputs[0].dtype;
    if (dtype != ONNXD_UNDEFINED && (ONNXD_SET_FLOATS >> dtype & 1) == 0 &&
        params->activation.kind != ONNXD_FUSED_NONE)
        return onnxd_op_error(context->node, "input 0 has type %s, but activations are of floats",
                              onnxd_dtype_name(dtype));
    return onnxd_gemm_infer(context);
}

static onnxd_status *run(const onnxd_compute *context)
{
    const fused_params *params = context->params;
    ONNXD_TRY(onnxd_gemm_compute(context));
    onnxd_fused_activate(&params->activation, &context->outputs[0]);
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

#define TYPES (ONNXD_PRODUCT_TYPES & ~ONNXD_SET(BFLOAT16))
#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = TYPES, .type_variable = 1, .is_optional = optional                                \
    }

const onnxd_op_def onnxd_op_contrib_fused_gemm[] = {
    {ONNXD_CONTRIB_NAME("FusedGemm"), .min_inputs = 2, .max_inputs = 3, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL(false), FORMAL(false), FORMAL(true)},
     .outputs = {FORMAL(false)}, .params_bytes = sizeof(fused_params), .parse = parse,
     .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute, .batch_inputs = 5u},
    {.op_type = NULL},
};

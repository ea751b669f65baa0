/*
 * The activation that a fused operator applies to its result.
 */
#ifndef ONNXD_OPS_CONTRIB_FUSED_ACTIVATION_H
#define ONNXD_OPS_CONTRIB_FUSED_ACTIVATION_H

#include "graph/op.h"
#include "ops/recurrent/recurrent.h"

typedef enum onnxd_fused_kind {
    ONNXD_FUSED_NONE,
    ONNXD_FUSED_SCALED, /* after * f(before * x), with f one of the recurrent operators' */
    ONNXD_FUSED_CLIP,   /* to [low, high]; high where they contradict */
    ONNXD_FUSED_HARD_SWISH,
    ONNXD_FUSED_SCALED_HARD_SWISH, /* function.alpha * hard_swish(x) + function.beta */
    ONNXD_FUSED_SWISH,             /* x * sigmoid(function.alpha * x) */
    ONNXD_FUSED_GELU
} onnxd_fused_kind;

typedef struct onnxd_fused_activation {
    onnxd_fused_kind kind;
    onnxd_activation function;
    float before, after;
    float low, high;
} onnxd_fused_activation;

/* FusedGemm's: the attributes activation, activation_alpha, activation_beta and activation_gamma.
 * Errors: INVALID_ARGUMENT for an unknown name or a lacking parameter. */
ONNXD_NODISCARD onnxd_status *onnxd_fused_parse_gemm(const onnxd_node *node,
                                                     onnxd_fused_activation *out_activation);
/* FusedConv's: the attributes activation and activation_params; of its names, Gelu, Swish with its
 * alpha, and ScaledHardSwish with a factor and an addend. */
ONNXD_NODISCARD onnxd_status *onnxd_fused_parse_conv(const onnxd_node *node,
                                                     onnxd_fused_activation *out_activation);

/* In place, on a view of FLOAT or DOUBLE. */
void onnxd_fused_activate(const onnxd_fused_activation *activation, const onnxd_tensor_view *view);
/* Adds `from` to `to`, views of FLOAT or DOUBLE of one shape. */
void onnxd_fused_add(const onnxd_tensor_view *from, const onnxd_tensor_view *to);

#endif

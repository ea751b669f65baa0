/* The parsed attributes of FusedConv, as providers read them through node->params. */
#ifndef ONNXD_OPS_CONTRIB_FUSED_CONV_H
#define ONNXD_OPS_CONTRIB_FUSED_CONV_H

#include "ops/contrib/fused_activation.h"
#include "ops/nn.h"

typedef struct onnxd_fused_conv_params {
    onnxd_conv_params conv; /* first: Conv's own functions read it */
    onnxd_fused_activation activation;
} onnxd_fused_conv_params;

#endif

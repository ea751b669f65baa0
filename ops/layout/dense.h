/* The parsed attributes of Dense, as providers read them through node->params. */
#ifndef ONNXD_OPS_LAYOUT_DENSE_H
#define ONNXD_OPS_LAYOUT_DENSE_H

#include "ops/contrib/fused_activation.h"

typedef struct onnxd_dense_params {
    onnxd_fused_activation activation;
} onnxd_dense_params;

#endif

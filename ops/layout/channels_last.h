/*
 * The orders of dimensions of images. Providers read the attributes of the operators of
 * channels_last.c through node->params, as onnxd_fused_conv_params (Conv), onnxd_conv_params
 * (QLinearConv, ConvInteger), onnxd_pool_params, onnxd_lrn_params and onnxd_depth_params.
 */
#ifndef ONNXD_OPS_LAYOUT_CHANNELS_LAST_H
#define ONNXD_OPS_LAYOUT_CHANNELS_LAST_H

#include "ops/contrib/fused_conv.h"
#include "ops/index/depth_space.h"
#include "ops/nn.h"

/* [N, D1 ... Dk, C] as [N, C, D1 ... Dk], and the reverse. Ranks below 3 and unknown ones stay. */
onnxd_shape onnxd_channels_first(const onnxd_shape *last);
onnxd_shape onnxd_channels_last(const onnxd_shape *first);

#endif

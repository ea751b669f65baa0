/*
 * The graph passes of the CPU provider, in the order in which they run once the generic ones have
 * settled. They put operators of the domain onnxd (ops/layout/) in the place of others.
 * NULL-terminated.
 */
#ifndef ONNXD_EP_CPU_PASSES_PASSES_H
#define ONNXD_EP_CPU_PASSES_PASSES_H

#include "graph/passes.h"

extern const onnxd_pass *const onnxd_cpu_passes[];

extern const onnxd_pass onnxd_cpu_pass_fuse_quantized;
extern const onnxd_pass onnxd_cpu_pass_fuse_dynamic;
extern const onnxd_pass onnxd_cpu_pass_channels_last;
extern const onnxd_pass onnxd_cpu_pass_shuffle_channels;
extern const onnxd_pass onnxd_cpu_pass_fuse_convolution;
extern const onnxd_pass onnxd_cpu_pass_fuse_quantized_sum;
extern const onnxd_pass onnxd_cpu_pass_fuse_dense;
extern const onnxd_pass onnxd_cpu_pass_fuse_elementwise;
extern const onnxd_pass onnxd_cpu_pass_fuse_gelu;
extern const onnxd_pass onnxd_cpu_pass_fuse_swish;
extern const onnxd_pass onnxd_cpu_pass_fuse_layer_norm;
extern const onnxd_pass onnxd_cpu_pass_fuse_rms_norm;
extern const onnxd_pass onnxd_cpu_pass_fuse_attention;

#endif

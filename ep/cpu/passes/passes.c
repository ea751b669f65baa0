#include "ep/cpu/passes/passes.h"

#include <stddef.h>

const onnxd_pass *const onnxd_cpu_passes[] = {
    &onnxd_cpu_pass_fuse_quantized,   &onnxd_cpu_pass_fuse_dynamic,
    &onnxd_cpu_pass_fuse_gelu,        &onnxd_cpu_pass_fuse_swish,
    &onnxd_cpu_pass_fuse_layer_norm,  &onnxd_cpu_pass_fuse_rms_norm,
    &onnxd_cpu_pass_fuse_attention,   &onnxd_cpu_pass_fuse_dense,
    &onnxd_cpu_pass_channels_last,    &onnxd_cpu_pass_shuffle_channels,
    &onnxd_cpu_pass_fuse_convolution, &onnxd_cpu_pass_fuse_quantized_sum,
    &onnxd_cpu_pass_fuse_elementwise, NULL,
};

/*
 * What a ConvTranspose computes, for kernels of providers: for each image and group a product of
 * the weights and the input, whose rows are added where the taps of the window put them.
 */
#ifndef ONNXD_OPS_IMAGE_CONV_TRANSPOSE_H
#define ONNXD_OPS_IMAGE_CONV_TRANSPOSE_H

#include "graph/op.h"

/* Depth, height and width; absent leading ones have extent 1. */
typedef struct onnxd_transpose_extent {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3];
    size_t batch, groups, channels_per_group, maps_per_group;
    size_t in_plane; /* 0 when the input has no elements */
    size_t out_plane, kernel_plane;
    size_t block; /* maps in one matrix product, at least 1 */
} onnxd_transpose_extent;

/* Of static shapes. `pads`: the input that holds them, NULL where there is none or they do not
 * matter. Errors: INVALID_ARGUMENT. */
ONNXD_NODISCARD onnxd_status *onnxd_transpose_extent_of(const onnxd_node *node, onnxd_dtype dtype,
                                                        const onnxd_shape *input,
                                                        const onnxd_shape *weights,
                                                        const onnxd_tensor_view *pads,
                                                        onnxd_transpose_extent *out_extent);
/* Adds the products of `count` maps, [count][kernel_plane][in_plane], to out[count][out_plane]. */
void onnxd_transpose_add(const onnxd_transpose_extent *extent, const float *rows, size_t count,
                         float *out);

#endif

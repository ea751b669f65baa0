/* What the files of the convolution share. */
#ifndef ONNXD_EP_CPU_COMPUTE_CONVOLUTION_INTERNAL_H
#define ONNXD_EP_CPU_COMPUTE_CONVOLUTION_INTERNAL_H

#include "ep/cpu/compute/convolution.h"

struct onnxd_convolution {
    const onnxd_simd *simd;
    onnxd_convolution_shape shape;
    onnxd_convolution_method method;
    bool is_pointwise; /* each output pixel is made of the input pixel at its place */
    onnxd_simd_activation activation;
    uint32_t threads;
    size_t taps, pixels; /* of the window, of all images of the output */
    size_t group_channels, group_maps;
    size_t row_elements; /* of a row of the window: its last extent times group_channels */
    const float *packed;
    const uint16_t *packed_bf16; /* in place of `packed`; or NULL */
    size_t group_packed; /* elements of a group's packed weights; of one of Winograd's matrices */
    float *extras;       /* what the next two point to */
    const float *bias;   /* [groups][group_bias], or NULL */
    size_t group_bias;   /* whole panels */
    const float *zeros;  /* [channels], what padding reads */
};

/* One run. */
typedef struct onnxd_convolution_call {
    const onnxd_convolution *c;
    onnxd_team *team;
    const float *in, *residual;
    onnxd_image_window places; /* the convolution's, its channels the input's pitch */
    float *out;
    size_t out_pitch;
    float *workspace;
} onnxd_convolution_call;

/* convolution_product.c: direct and gathered. */
size_t onnxd_convolution_product_workspace(const onnxd_convolution *c); /* elements */
void onnxd_convolution_product_run(const onnxd_convolution_call *call);

/* convolution_depthwise.c; packed [taps][channels]. */
void onnxd_convolution_depthwise_pack(const onnxd_convolution_shape *shape, const float *weights,
                                      float *packed);
void onnxd_convolution_depthwise_run(const onnxd_convolution_call *call);

/* convolution_winograd.c; packed: the matrices of a product, one after the other. */
/* Pixels of a tile along each axis. */
static inline size_t onnxd_convolution_winograd_tile(onnxd_convolution_method method)
{
    return method == ONNXD_CONVOLUTION_WINOGRAD_2X2 ? 2 : 4;
}
void onnxd_convolution_winograd_pack(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                                     size_t tile, const float *weights, float *packed);
bool onnxd_convolution_winograd_workspace(const onnxd_convolution *c, size_t *out_elements);
void onnxd_convolution_winograd_run(const onnxd_convolution_call *call);

#endif

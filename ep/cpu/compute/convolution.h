/*
 * Convolutions whose tensors lie channels-last: [batch][depth][height][width][channels], FLOAT.
 *
 *   direct      a product per tap of the window: rows of A are the input's own pixels, or zeros
 *   gathered    the window's elements are copied side by side first; for few channels
 *   depthwise   one channel per group: sums of the window's pixels, channel by channel
 *   Winograd    3 x 3 windows, stride 1: F(4x4, 3x3) and F(2x2, 3x3) of Lavin and Gray, "Fast
 *               Algorithms for Convolutional Neural Networks" (2015): a quarter or 4 of 9 of the
 *               multiplications, with 4 times or 16 of 9 times the weights
 *
 * Weights are packed for one of them and one level when a convolution is prepared.
 *
 * Threads: preparing from any; a convolution is run by one thread (and its team) at a time per
 * workspace.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_CONVOLUTION_H
#define ONNXD_EP_CPU_COMPUTE_CONVOLUTION_H

#include "base/status.h"
#include "ep/cpu/compute/product.h"
#include "ep/cpu/compute/window.h"

typedef enum onnxd_convolution_method {
    ONNXD_CONVOLUTION_DIRECT,
    ONNXD_CONVOLUTION_GATHERED,
    ONNXD_CONVOLUTION_DEPTHWISE,
    ONNXD_CONVOLUTION_WINOGRAD,
    ONNXD_CONVOLUTION_WINOGRAD_2X2
} onnxd_convolution_method;

typedef struct onnxd_convolution_shape {
    onnxd_image_window window; /* its channels are those of all groups */
    size_t groups, maps;       /* maps of all groups; both they and the channels are multiples */
    bool is_bf16;              /* direct and gathered: products of bfloat16 */
} onnxd_convolution_shape;

/* The method that is likely the fastest on the level, Winograd's where it is allowed; never for
 * bfloat16. */
onnxd_convolution_method onnxd_convolution_choose(const onnxd_simd *simd,
                                                  const onnxd_convolution_shape *shape,
                                                  bool allows_winograd);
/* Whether it is one of Winograd's. */
bool onnxd_convolution_is_winograd(onnxd_convolution_method method);
/* "direct", "winograd" ... Constant. */
const char *onnxd_convolution_method_name(onnxd_convolution_method method);

/* Bytes of packed weights. False when they do not fit. */
bool onnxd_convolution_packed_bytes(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                                    onnxd_convolution_method method, size_t *out_bytes);
/* `weights` is [maps][channels / groups][taps], as ONNX has it; `packed` is aligned to
 * ONNXD_PACKED_ALIGNMENT. */
void onnxd_convolution_pack(const onnxd_simd *simd, const onnxd_convolution_shape *shape,
                            onnxd_convolution_method method, const float *weights, void *packed);

/* The largest error that Winograd's method shows with weights packed for it, against sums in double
 * and as a part of the largest of them: tried with some maps on an image of random values. INFINITY
 * where a result is not finite, and when there is no memory for trying. Of shapes that
 * onnxd_convolution_choose() chose it for. */
double onnxd_convolution_winograd_error(const onnxd_simd *simd,
                                        const onnxd_convolution_shape *shape,
                                        onnxd_convolution_method method, const float *weights,
                                        const float *packed);

typedef struct onnxd_convolution onnxd_convolution;

/* `packed` is borrowed; `bias` is [maps] or NULL and copied. Errors: OUT_OF_MEMORY, UNIMPLEMENTED
 * when sizes do not fit. */
ONNXD_NODISCARD onnxd_status *onnxd_convolution_create(const onnxd_simd *simd,
                                                       const onnxd_convolution_shape *shape,
                                                       onnxd_convolution_method method,
                                                       const void *packed, const float *bias,
                                                       const onnxd_simd_activation *activation,
                                                       uint32_t threads, onnxd_convolution **out);
void onnxd_convolution_destroy(onnxd_convolution *convolution); /* NULL is fine */

/* Scratch that a run needs, aligned to ONNXD_PACKED_ALIGNMENT. */
size_t onnxd_convolution_workspace_bytes(const onnxd_convolution *convolution);

/* Whether pixels of the input, and of the output where there is no residual, may have gaps between
 * them. */
bool onnxd_convolution_takes_pitch_in(const onnxd_convolution *convolution);
bool onnxd_convolution_takes_pitch_out(const onnxd_convolution *convolution);

/* Reads `in` [batch][in...][channels], adds `residual` (without gaps, or NULL) before the
 * activation and writes `out` [batch][out...][maps]. The team has the threads that the convolution
 * was made for. Neither allocates nor fails. */
void onnxd_convolution_run(const onnxd_convolution *convolution, onnxd_team *team,
                           onnxd_pixels_in in, const float *residual, onnxd_pixels_out out,
                           void *workspace);

#endif

/*
 * Convolutions of INT8 and UINT8 over channels-last images, as products of 8-bit integers
 * (integer_product.h).
 *
 *   gathered  windows of one pixel or of few channels: the rows of the product are put together and
 *             widened block by block
 *   by rows   windows of few channels that are multiplied as bytes: each of a window's rows is read
 *             where it lies in the image, and put together where it reaches beyond
 *   direct    else: the image is widened as a whole, the rows are read where they lie
 *
 * Threads: preparing from any; run by one thread and its team.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_INTEGER_CONVOLUTION_H
#define ONNXD_EP_CPU_COMPUTE_INTEGER_CONVOLUTION_H

#include "ep/cpu/compute/convolution.h"
#include "ep/cpu/compute/integer_product.h"

typedef struct onnxd_integer_convolution {
    const onnxd_simd *simd;
    onnxd_convolution_shape shape;
    uint32_t threads;
    bool is_gathered; /* also by rows */
    bool is_by_rows;
    bool is_fours;       /* multiplied as bytes: the direct method reads the image itself */
    size_t taps, pixels; /* of the window, of all images of the output */
    size_t group_channels, group_maps;
    size_t padded_channels; /* group_channels up to whole pairs */
    size_t padded_maps;     /* group_maps up to whole panels */
    size_t row_taps;        /* taps that are one row of the product: 1, of a window's row, or all */
    size_t steps;           /* of that many taps */
    size_t group_packed;    /* bytes of a group's packed weights */
    /* Bytes of the workspace: all of it, and of a thread's part when gathered. */
    size_t workspace_bytes, thread_bytes;
} onnxd_integer_convolution;

/* `weights` of INT8 that may be multiplied as fours of bytes (integer_product.h), where they fit;
 * else NULL. They are only looked at. False when sizes do not fit. */
bool onnxd_integer_convolution_init(onnxd_integer_convolution *c, const onnxd_simd *simd,
                                    const onnxd_convolution_shape *shape, const uint8_t *weights,
                                    uint32_t threads);

size_t onnxd_integer_convolution_packed_bytes(const onnxd_integer_convolution *c);
/* `weights` is [maps][channels / groups][taps], as ONNX has it; flip as in onnxd_simd_zero.
 * `packed` is aligned to ONNXD_PACKED_ALIGNMENT. */
void onnxd_integer_convolution_pack(const onnxd_integer_convolution *c, const uint8_t *weights,
                                    uint8_t flip, int8_t *packed);
/* The sum of each map's weights, [maps]. */
void onnxd_integer_convolution_sum(const onnxd_integer_convolution *c, const uint8_t *weights,
                                   int32_t *sums);

/* One run. The parameters of maps are [groups][padded_maps]. */
typedef struct onnxd_integer_convolution_call {
    const onnxd_integer_convolution *c;
    onnxd_team *team;  /* of the threads that the convolution was made for */
    const uint8_t *in; /* [batch][in...][channels] */
    uint8_t in_byte;   /* the zero point, as it stands in `in` */
    onnxd_simd_zero in_zero;
    const int8_t *packed;
    const int16_t *zeros; /* of the weights, each twice; NULL: all are 0 */
    onnxd_simd_integer_post post;
    void *out;       /* [batch][out...][maps] */
    void *workspace; /* aligned to ONNXD_PACKED_ALIGNMENT */
} onnxd_integer_convolution_call;

/* Neither allocates nor fails. */
void onnxd_integer_convolution_run(const onnxd_integer_convolution_call *call);

#endif

/*
 * The sliding window that Conv and the pools share: its attributes, the shape rule, and the plain
 * numbers that a kernel of any provider needs.
 *
 *   attributes ─► onnxd_window (parse) ─► output dims, symbolic (infer)
 *                                     └─► onnxd_window_geometry, static (kernels)
 *
 * One to three spatial dimensions.
 */
#ifndef ONNXD_OPS_WINDOW_H
#define ONNXD_OPS_WINDOW_H

#include "graph/graph.h"

#define ONNXD_WINDOW_MAX_SPATIAL 3
/* Bound of every window attribute; keeps all sums of products of two within int64_t. */
#define ONNXD_WINDOW_MAX_VALUE INT32_MAX

typedef enum onnxd_auto_pad {
    ONNXD_AUTO_PAD_NOTSET,
    ONNXD_AUTO_PAD_SAME_UPPER,
    ONNXD_AUTO_PAD_SAME_LOWER,
    ONNXD_AUTO_PAD_VALID
} onnxd_auto_pad;

/* The attributes as given. A count of 0 means absent; present ones agree on `spatial`. */
typedef struct onnxd_window {
    onnxd_auto_pad auto_pad;
    bool is_ceil_mode;
    /* Pools refuse pads as wide as the window, which would average or compare nothing. */
    bool limits_pads;
    size_t spatial; /* 0 when no attribute tells */
    size_t kernel_count;
    int64_t kernel[ONNXD_WINDOW_MAX_SPATIAL];
    int64_t strides[ONNXD_WINDOW_MAX_SPATIAL];   /* 1 when absent */
    int64_t dilations[ONNXD_WINDOW_MAX_SPATIAL]; /* 1 when absent */
    int64_t pads[2 * ONNXD_WINDOW_MAX_SPATIAL];  /* all begins, then all ends; 0 when absent */
} onnxd_window;

/* Always three dimensions, depth, height, width: absent leading ones have extent 1, stride 1. */
typedef struct onnxd_window_geometry {
    int32_t spatial; /* how many of the three are real; they are the last ones */
    int64_t in[3];   /* for kernels to read by: all 0 when one is, absent ones too */
    int64_t out[3], kernel[3], stride[3], dilation[3], pad_begin[3];
    int64_t pad_end[3]; /* as the attributes say; in ceil mode a window may end beyond it */
} onnxd_window_geometry;

/* The product of three dimensions, modulo SIZE_MAX + 1. */
static inline size_t onnxd_window_volume(const int64_t dims[3])
{
    return (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
}

/* Reads kernel_shape, strides, dilations, pads and auto_pad of the node. `is_ceil_mode` and
 * `limits_pads` are the caller's to set before. */
ONNXD_NODISCARD onnxd_status *onnxd_window_parse(const onnxd_node *node, onnxd_window *out_window);

/* Output dims of the spatial part. `in` and `kernel` hold `spatial` dims, symbolic allowed; a
 * kernel of NULL means the attribute's. Errors: INVALID_ARGUMENT with the dimension. */
ONNXD_NODISCARD onnxd_status *onnxd_window_infer(const onnxd_window *window, const onnxd_node *node,
                                                 int32_t spatial, const int64_t *in,
                                                 const int64_t *kernel, int64_t *out_dims);

/* The geometry for static dims that onnxd_window_infer() has accepted. */
onnxd_window_geometry onnxd_window_resolve(const onnxd_window *window, int32_t spatial,
                                           const int64_t *in, const int64_t *kernel);

/* The taps [*out_first, *out_last) of a window of `kernel` taps, `dilation` apart and beginning at
 * `start`, that lie in [0, extent). Empty ranges have first == last. */
void onnxd_window_clip(int64_t start, int64_t kernel, int64_t dilation, int64_t extent,
                       int64_t *out_first, int64_t *out_last);

#endif

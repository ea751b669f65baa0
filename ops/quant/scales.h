/*
 * Which scale and which zero point belong to an element: one for the tensor, one for each index of
 * an axis, or one for each block of neighbours along an axis.
 */
#ifndef ONNXD_OPS_QUANT_SCALES_H
#define ONNXD_OPS_QUANT_SCALES_H

#include "graph/op.h"

/* The tensor as [outer, extent, inner] around the axis. Element (o, a, i) has the scale number
 *   0                                            per tensor,
 *   a                                            per axis,
 *   (o * scale_extent + a / block) * inner + i   blocked. */
typedef struct onnxd_scale_layout {
    enum { ONNXD_SCALES_TENSOR, ONNXD_SCALES_AXIS, ONNXD_SCALES_BLOCKED } kind;
    size_t extent, inner;
    size_t block, scale_extent; /* blocked */
} onnxd_scale_layout;

/* Attributes of QuantizeLinear and DequantizeLinear. */
typedef struct onnxd_scale_params {
    int64_t axis;                        /* as given */
    int64_t block_size;                  /* 0: not blocked */
    onnxd_dtype output_dtype, precision; /* UNDEFINED: not given */
    bool saturates;
} onnxd_scale_params;

/* Reads the attributes of either operator, those that the opset knows. */
ONNXD_NODISCARD onnxd_status *onnxd_scale_params_parse(const onnxd_node *node, int64_t opset,
                                                       onnxd_arena *arena, void *params);

/* The same in the domain com.microsoft: axis and block_size. */
ONNXD_NODISCARD onnxd_status *onnxd_scale_params_parse_contrib(const onnxd_node *node,
                                                               int64_t opset, onnxd_arena *arena,
                                                               void *params);

/* Checks that attribute output_dtype is a type of output 0, and that inputs 1 (scales) and 2 (zero
 * points, may be absent) fit input 0, as far as their shapes are known. */
ONNXD_NODISCARD onnxd_status *onnxd_scales_check(const onnxd_infer *infer);

/* The layout for static shapes that onnxd_scales_check() has accepted. */
onnxd_scale_layout onnxd_scales_layout(const onnxd_scale_params *params, const onnxd_shape *input,
                                       const onnxd_shape *scales);

/* Reads elements [first, first + count) of an array of scales or zero points into 4-byte numbers:
 * onnxd_quant_read_floats or onnxd_quant_read_integers behind a pointer to bytes. */
typedef void (*onnxd_scale_reader)(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                                   void *out);
void onnxd_scale_read_floats(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                             void *out);
void onnxd_scale_read_integers(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                               void *out);
/* The numbers that belong to elements [first, first + count) of the tensor, count <=
 * ONNXD_QUANT_CHUNK; those of an absent view are 0. */
void onnxd_scales_spread(const onnxd_scale_layout *layout, onnxd_scale_reader read,
                         const onnxd_tensor_view *view, size_t first, size_t count, void *out);

#endif

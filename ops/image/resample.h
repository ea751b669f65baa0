/*
 * Resampling a tensor along its axes, which Resize and Upsample share.
 *
 *   mode nearest     every output element is one input element, of any type
 *   linear, cubic    one pass for each axis that changes; an output element is a weighted sum of
 *                    neighbours along that axis, the weights made once for each position
 *
 * The caller has checked scales and sizes; coordinates may be anything, NaN too.
 */
#ifndef ONNXD_OPS_IMAGE_RESAMPLE_H
#define ONNXD_OPS_IMAGE_RESAMPLE_H

#include "base/dtype.h"
#include "base/shape.h"
#include "base/status.h"
#include "ops/types.h"

typedef enum onnxd_resample_mode {
    ONNXD_RESAMPLE_NEAREST,
    ONNXD_RESAMPLE_LINEAR,
    ONNXD_RESAMPLE_CUBIC
} onnxd_resample_mode;

/* How a position in the output becomes one in the input; the names are ONNX's. */
typedef enum onnxd_resample_coordinates {
    ONNXD_RESAMPLE_HALF_PIXEL,
    ONNXD_RESAMPLE_PYTORCH_HALF_PIXEL,
    ONNXD_RESAMPLE_ALIGN_CORNERS,
    ONNXD_RESAMPLE_ASYMMETRIC,
    ONNXD_RESAMPLE_TF_CROP_AND_RESIZE,
    ONNXD_RESAMPLE_TF_HALF_PIXEL_FOR_NN,
    ONNXD_RESAMPLE_HALF_PIXEL_SYMMETRIC
} onnxd_resample_coordinates;

typedef enum onnxd_resample_rounding {
    ONNXD_RESAMPLE_ROUND_PREFER_FLOOR,
    ONNXD_RESAMPLE_ROUND_PREFER_CEIL,
    ONNXD_RESAMPLE_FLOOR,
    ONNXD_RESAMPLE_CEIL,
    ONNXD_RESAMPLE_SIMPLE /* before opset 11: up where the axis shrinks, else down */
} onnxd_resample_rounding;

typedef struct onnxd_resample {
    onnxd_resample_mode mode;
    onnxd_resample_coordinates coordinates;
    onnxd_resample_rounding rounding; /* of mode nearest */
    bool is_antialiased, excludes_outside;
    float cubic_a;
    float extrapolation; /* TF_CROP_AND_RESIZE: what lies outside the input */
} onnxd_resample;

typedef struct onnxd_resample_axis {
    int64_t in, out; /* extents; `out` is 0 where `in` is */
    double scale;    /* finite and above 0; out / scale is at most 2 * in */
    double length;   /* scale * in, of which `out` is the integer part or the nearest integer */
    double roi_start, roi_end;
} onnxd_resample_axis;

/* Types that linear and cubic take; nearest takes every type of whole bytes. */
#define ONNXD_RESAMPLE_SUMS                                                                        \
    (ONNXD_SET_NUMBERS | ONNXD_SET(BOOL) | ONNXD_SET(COMPLEX64) | ONNXD_SET(COMPLEX128))

/* Bytes of workspace for static extents (scales and regions are not looked at); SIZE_MAX when they
 * do not fit. */
size_t onnxd_resample_workspace(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                                const onnxd_resample_axis *axes);
/* Both tensors are contiguous. */
void onnxd_resample_run(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                        const onnxd_resample_axis *axes, const void *in, void *out,
                        void *workspace);

/* ---- parts, for ops/image/resample_*.c ------------------------------------------------------- */

/* Whether the axis is copied as it is. */
bool onnxd_resample_keeps(const onnxd_resample *how, const onnxd_resample_axis *axis);
/* The input element for output `position`, -1 where that is outside (TF_CROP_AND_RESIZE). */
int64_t onnxd_resample_nearest(const onnxd_resample *how, const onnxd_resample_axis *axis,
                               int64_t position);
/* Whether the output at `position` takes the extrapolation value. */
bool onnxd_resample_is_outside(const onnxd_resample *how, const onnxd_resample_axis *axis,
                               int64_t position);

/* The most taps that a position of an axis of these extents has. */
size_t onnxd_resample_max_taps(const onnxd_resample *how, const onnxd_resample_axis *axis);
/* The weights of output `position` over input elements [*out_first, *out_first + *out_count), at
 * least one; `weights` holds max_taps. */
void onnxd_resample_taps(const onnxd_resample *how, const onnxd_resample_axis *axis,
                         int64_t position, size_t max_taps, double *weights, int64_t *out_first,
                         size_t *out_count);

/* Element types of sums: in float, or in double where float cannot hold the numbers. */
bool onnxd_resample_is_wide(onnxd_dtype dtype);
/* `count` elements as floats or doubles, and back: integers are clamped to their range and cut, or
 * rounded to even where `rounds`. */
void onnxd_resample_load(onnxd_dtype dtype, const void *data, size_t count, void *out);
void onnxd_resample_store(onnxd_dtype dtype, const void *values, size_t count, bool rounds,
                          void *out_data);

#endif

/*
 * Floating-point elements of any type: widening to float, narrowing from it, and the dispatch that
 * goes with ops/for_floats.inc.
 */
#ifndef ONNXD_OPS_REAL_H
#define ONNXD_OPS_REAL_H

#include <stddef.h>

#include "base/dtype.h"

/* The instance of a template function for a type in ONNXD_SET_FLOATS. */
#define ONNXD_FOR_FLOAT(dtype, function)                                                           \
    ((dtype) == ONNXD_FLOAT     ? function##_float                                                 \
     : (dtype) == ONNXD_DOUBLE  ? function##_double                                                \
     : (dtype) == ONNXD_FLOAT16 ? function##_float16                                               \
                                : function##_bfloat16)

/* Element `index` of an array of a type in ONNXD_SET_FLOATS. */
double onnxd_real_load(onnxd_dtype dtype, const void *data, size_t index);
void onnxd_real_store(onnxd_dtype dtype, void *data, size_t index, double value);

/* FLOAT16 or BFLOAT16 to float and back, `count` elements. */
void onnxd_real_widen(onnxd_dtype dtype, const void *data, size_t count, float *out);
void onnxd_real_narrow(onnxd_dtype dtype, const float *values, size_t count, void *out_data);

/* Elements [first, first + count) of an array of a type in ONNXD_SET_FLOATS as floats or doubles,
 * and back, rounded once. */
void onnxd_real_read_float(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                           float *out);
void onnxd_real_read_double(onnxd_dtype dtype, const void *data, size_t first, size_t count,
                            double *out);
void onnxd_real_write_float(onnxd_dtype dtype, const float *values, size_t count, void *out_data,
                            size_t first);
void onnxd_real_write_double(onnxd_dtype dtype, const double *values, size_t count, void *out_data,
                             size_t first);

static inline bool onnxd_real_is_half(onnxd_dtype dtype)
{
    return dtype == ONNXD_FLOAT16 || dtype == ONNXD_BFLOAT16;
}

#endif

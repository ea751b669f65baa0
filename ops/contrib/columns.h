/*
 * Parameters of the columns of a matrix: a number for all of them, or one for each.
 */
#ifndef ONNXD_OPS_CONTRIB_COLUMNS_H
#define ONNXD_OPS_CONTRIB_COLUMNS_H

#include "ops/quant/quantized.h"

/* The values for columns [first, first + count), count <= ONNXD_QUANT_CHUNK, as floats. `step` is 1
 * or 0; the value of column 0 is element `start`. */
static inline void onnxd_columns_read(const onnxd_tensor_view *view, size_t start, size_t step,
                                      size_t first, size_t count, float *out)
{
    const void *data = onnxd_tensor_view_data(view);
    onnxd_quant_read_floats(view->dtype, data, start + first * step, step == 0 ? 1 : count, out);
    for (size_t i = 1; step == 0 && i < count; i++)
        out[i] = out[0];
}

#endif

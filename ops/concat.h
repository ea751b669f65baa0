/*
 * The shape rule of Concat, for its relatives.
 */
#ifndef ONNXD_OPS_CONCAT_H
#define ONNXD_OPS_CONCAT_H

#include "graph/op.h"

/* The shape of inputs first, first + step, ... side by side along `axis`, as the attribute says it.
 * Errors: INVALID_ARGUMENT for ranks and extents that differ. */
ONNXD_NODISCARD onnxd_status *onnxd_concat_infer(const onnxd_infer *infer, int64_t axis,
                                                 uint32_t first, uint32_t step,
                                                 onnxd_shape *out_shape);

#endif

/*
 * Inputs that hold one number.
 */
#ifndef ONNXD_OPS_SIGNAL_NUMBER_H
#define ONNXD_OPS_SIGNAL_NUMBER_H

#include "graph/op.h"

/* The number in input `index`, an int32 or int64 of one element.
 * Errors: INVALID_ARGUMENT when there is not one element or the number is outside [minimum,
 * maximum]. */
ONNXD_NODISCARD onnxd_status *onnxd_signal_int(const onnxd_node *node, uint32_t index,
                                               const onnxd_tensor_view *view, int64_t minimum,
                                               int64_t maximum, int64_t *out_value);
/* The same during inference; *out_is_known is false, and *out_value untouched, when the value is
 * not known or the input absent. The shape is checked all the same. */
ONNXD_NODISCARD onnxd_status *onnxd_signal_infer_int(const onnxd_infer *infer, uint32_t index,
                                                     int64_t minimum, int64_t maximum,
                                                     int64_t *out_value, bool *out_is_known);

/* The attribute output_datatype of operators whose output is of type `numbers`; FLOAT by default.
 * Errors: INVALID_ARGUMENT naming the number. */
ONNXD_NODISCARD onnxd_status *onnxd_signal_parse_type(const onnxd_node *node,
                                                      onnxd_dtype *out_dtype);

#endif

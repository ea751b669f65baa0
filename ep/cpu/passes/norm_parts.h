/* The parts of normalisations over the last dimension as exporters write them. */
#ifndef ONNXD_EP_CPU_PASSES_NORM_PARTS_H
#define ONNXD_EP_CPU_PASSES_NORM_PARTS_H

#include "ep/cpu/passes/pattern.h"

/* What a ReduceMean over the last dimension, which stays, is made from; ONNXD_NONE: `value` is
 * made by none, or somebody else reads it. */
onnxd_value_id onnxd_norm_mean_of(const onnxd_pattern *p, onnxd_value_id value);
/* x of sqrt(mean of x^2 over the last dimension + epsilon); ONNXD_NONE: `value` is none, or
 * somebody reads a part of it. x itself may be read by others: *out_uses is by how many of its
 * inputs these nodes do. */
onnxd_value_id onnxd_norm_root_of(const onnxd_pattern *p, onnxd_value_id value, float *out_epsilon,
                                  uint32_t *out_uses);
/* The constant [elements of the last dimension of `value`] that `node` has as its other input, all
 * that is known of the shapes agreeing; ONNXD_NONE: none. */
onnxd_value_id onnxd_norm_row(const onnxd_pattern *p, const onnxd_node *node, onnxd_value_id value);

#endif

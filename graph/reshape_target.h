/* What a Reshape has to be told. */
#ifndef ONNXD_GRAPH_RESHAPE_TARGET_H
#define ONNXD_GRAPH_RESHAPE_TARGET_H

#include "base/shape.h"

/* The elements of Reshape's second input, without allowzero, that make a tensor of shape `from` one
 * of shape `to`: 0 where an extent that is not static stands at the same place of both, -1 for one
 * other. Equal symbols are equal extents. `target` has to->rank entries. False where that leaves
 * something open, or an extent may be 0 beside the -1. */
bool onnxd_reshape_target(const onnxd_shape *from, const onnxd_shape *to, int64_t *target);

/* Whether two shapes of one number of elements are certainly the same. */
bool onnxd_reshape_is_same(const onnxd_shape *from, const onnxd_shape *to);

#endif

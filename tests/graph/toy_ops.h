/* A few operators with the meaning of ONNX's, enough to test graph/ without ops/. */
#ifndef ONNXD_TESTS_GRAPH_TOY_OPS_H
#define ONNXD_TESTS_GRAPH_TOY_OPS_H

#include "graph/op.h"

/* Identity, Dropout, Add, Shape, Constant, Concat (int64, rank 1), Reshape, NonZero, RandomNormal,
 * ConstantOfShape, MatMul (no kernel), Old (opsets 1 to 9), Decode (string to string). */
extern const onnxd_op_registry toy_ops;

#endif

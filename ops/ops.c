#include "ops/ops.h"

#define ONNXD_OPS(file, table) extern const onnxd_op_def onnxd_op_##table[];
#include "ops/ops.inc"
#undef ONNXD_OPS

static const onnxd_op_def *const tables[] = {
#define ONNXD_OPS(file, table) onnxd_op_##table,
#include "ops/ops.inc"
#undef ONNXD_OPS
};

const onnxd_op_registry *onnxd_ops(void)
{
    static const onnxd_op_registry registry = {tables, ONNXD_COUNT(tables)};
    return &registry;
}

/* And, Or, Xor and Not, on booleans. A true is any byte but 0; the results are 0 and 1. */
#include "ops/binary.h"
#include "ops/ops.h"
#include "ops/support.h"

#define and_EXPRESSION(C, x, y) ((x) & (y))
#define or_EXPRESSION(C, x, y) ((x) | (y))
#define xor_EXPRESSION(C, x, y) ((x) ^ (y))
#define LOAD_BOOL(C, x) ((C)((x) != 0))

#define DEFINE(op)                                                                                 \
    ONNXD_BINARY_KERNEL(op, BOOL, uint8_t, uint8_t, LOAD_BOOL, ONNXD_STORE_PLAIN)                  \
    static onnxd_status *compute_##op(const onnxd_compute *compute)                                \
    {                                                                                              \
        static const onnxd_binary_kernel kernels[ONNXD_DTYPE_COUNT] = {[ONNXD_BOOL] = op##_BOOL};  \
        return onnxd_binary_run(compute, kernels);                                                 \
    }
DEFINE(and)
DEFINE(or)
DEFINE(xor)

static onnxd_status *compute_not(const onnxd_compute *compute)
{
    size_t count = onnxd_tensor_view_count(&compute->inputs[0]);
    const uint8_t *from = onnxd_tensor_view_data(&compute->inputs[0]);
    uint8_t *to = onnxd_tensor_view_data(&compute->outputs[0]);
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] == 0;
    return NULL;
}

#define ROW(name, op)                                                                              \
    {                                                                                              \
        ONNXD_BINARY_COMMON(name, 1, ONNXD_OPSET_MAX, ONNXD_SET(BOOL), ONNXD_SET(BOOL)),           \
            .infer = onnxd_binary_infer, .compute = compute_##op                                   \
    }

const onnxd_op_def onnxd_op_logical[] = {
    ROW("And", and),
    ROW("Or", or),
    ROW("Xor", xor),
    {.op_type = "Not",
     .domain = "",
     .since = 1,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(BOOL), .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET(BOOL), .type_variable = 1}},
     .infer = onnxd_op_infer_same,
     .compute = compute_not,
     .batch_inputs = 1u},
    {.op_type = NULL},
};

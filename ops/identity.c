/* Identity: output = input, any tensor type. */
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Identity", .domain = "", .since = first, .until = last, .min_inputs = 1,       \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .infer = onnxd_op_infer_same,             \
        .compute = onnxd_op_compute_copy, .is_view = true                                          \
    }

const onnxd_op_def onnxd_op_identity[] = {
    ROW(1, 12, ONNXD_SET_ANY_1),
    ROW(13, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};

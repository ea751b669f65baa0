/* Identity: output = input, a tensor, a sequence or an optional. */
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

#define SEQUENCE_KINDS (ONNXD_KIND(TENSOR) | ONNXD_KIND(SEQUENCE))
#define ANY_KIND (SEQUENCE_KINDS | ONNXD_KIND(OPTIONAL) | ONNXD_KIND(OPTIONAL_SEQUENCE))

/* For what is no tensor, or an optional that may hold one. */
static onnxd_status *run(onnxd_dynamic *dynamic)
{
    if (dynamic->inputs[0] != NULL)
        dynamic->outputs[0] = onnxd_datum_retain(dynamic->inputs[0]);
    return NULL;
}

#define ROW_OF(first, last, set, set_of_kinds, runner)                                             \
    {                                                                                              \
        .op_type = "Identity", .domain = "", .since = first, .until = last, .min_inputs = 1,       \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1, .kinds = set_of_kinds}},                     \
        .outputs = {{.types = set, .type_variable = 1, .kinds = set_of_kinds}},                    \
        .infer = onnxd_op_infer_same, .compute = onnxd_op_compute_copy, .run = runner,             \
        .is_view = true                                                                            \
    }
#define ROW(first, last, set) ROW_OF(first, last, set, ANY_KIND, run)

const onnxd_op_def onnxd_op_identity[] = {
    ROW_OF(1, 12, ONNXD_SET_ANY_1, ONNXD_KIND(TENSOR), NULL),
    ROW_OF(13, 13, ONNXD_SET_ANY_13, ONNXD_KIND(TENSOR), NULL),
    ROW_OF(14, 15, ONNXD_SET_ANY_13, SEQUENCE_KINDS, run),
    ROW(16, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};

/* BitCast: the input's bits as another type of the same width. */
#include <inttypes.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct bitcast_params {
    onnxd_dtype to;
} bitcast_params;

#define TYPES (ONNXD_SET_ANY_25 & ~ONNXD_SET(STRING))

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"to", NULL};
    bitcast_params *p = params;
    int64_t number = 0;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "to"));
    ONNXD_TRY(onnxd_attribute_int(node, "to", INT64_MIN, INT64_MAX, &number));
    p->to = onnxd_dtype_from_onnx(number);
    if ((TYPES & ((onnxd_dtype_set)1u << p->to)) == 0) {
        char allowed[ONNXD_DTYPE_SET_TEXT];
        return onnxd_op_error(node, "attribute 'to' is %" PRId64 " (%s), allowed are %s", number,
                              onnxd_dtype_name(p->to),
                              onnxd_dtype_set_format(TYPES, allowed, sizeof(allowed)));
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const bitcast_params *p = infer->params;
    onnxd_dtype from = infer->inputs[0].dtype;
    if (from != ONNXD_UNDEFINED && onnxd_dtype_bits(from) != onnxd_dtype_bits(p->to))
        return onnxd_op_error(infer->node,
                              "the input's type %s has %u bits, attribute 'to' names %s with %u",
                              onnxd_dtype_name(from), onnxd_dtype_bits(from),
                              onnxd_dtype_name(p->to), onnxd_dtype_bits(p->to));
    infer->outputs[0].dtype = p->to;
    infer->outputs[0].shape = infer->inputs[0].shape;
    return NULL;
}

const onnxd_op_def onnxd_op_bitcast[] = {
    {.op_type = "BitCast",
     .domain = "",
     .since = 26,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = TYPES}},
     .outputs = {{.types = TYPES}},
     .params_bytes = sizeof(bitcast_params),
     .parse = parse,
     .infer = infer,
     .compute = onnxd_op_compute_copy},
    {.op_type = NULL},
};

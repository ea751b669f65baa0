/* ConstantOfShape: a tensor of the shape that input 0 holds, filled with one value (float 0). */
#include <inttypes.h>
#include <string.h>

#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct fill_params {
    onnxd_dtype dtype;
    const void *value; /* one element, borrowed from the graph; NULL for zero */
} fill_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"value", NULL};
    fill_params *p = params;
    const onnxd_tensor *value = NULL;
    p->dtype = ONNXD_FLOAT;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_tensor(node, "value", &value));
    if (value == NULL)
        return NULL;
    if (value->count != 1)
        return onnxd_op_error(node, "attribute 'value' has %zu elements, must have one",
                              value->count);
    p->dtype = value->dtype;
    p->value = value->data;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const fill_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    onnxd_dtype_set allowed = infer->node->def->outputs[0].types;
    if ((allowed & ((onnxd_dtype_set)1u << p->dtype)) == 0) {
        char text[ONNXD_DTYPE_SET_TEXT];
        return onnxd_op_error(infer->node,
                              "attribute 'value' has type %s, allowed in opset %" PRId64 " are %s",
                              onnxd_dtype_name(p->dtype), infer->opset,
                              onnxd_dtype_set_format(allowed, text, sizeof(text)));
    }
    output->dtype = p->dtype;
    bool is_known;
    return onnxd_infer_shape_list(infer, 0, 0, &output->shape, &is_known);
}

/* Types of 2 or 4 bits: the value repeated through a byte, the bits behind the last element 0. */
static void fill_packed(uint8_t *to, size_t count, unsigned bits, uint8_t value)
{
    size_t per_byte = 8 / bits;
    uint8_t pattern = 0;
    for (unsigned at = 0; at < 8; at += bits)
        pattern = (uint8_t)(pattern | (value & ((1u << bits) - 1)) << at);
    memset(to, pattern, count / per_byte);
    size_t rest = count % per_byte;
    if (rest != 0)
        to[count / per_byte] = (uint8_t)(pattern & ((1u << (rest * bits)) - 1));
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const fill_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0];
    size_t count = onnxd_tensor_view_count(output), width = onnxd_dtype_size(output->dtype);
    void *to = onnxd_tensor_view_data(output);
    if (count == 0)
        return NULL;
    if (p->value == NULL)
        memset(to, 0, onnxd_tensor_view_bytes(output));
    else if (width == 0)
        fill_packed(to, count, onnxd_dtype_bits(output->dtype), *(const uint8_t *)p->value);
    else
        onnxd_fill(to, count, width, p->value);
    return NULL;
}

#define NOT_LISTED (ONNXD_SET(STRING) | ONNXD_SET(COMPLEX64) | ONNXD_SET(COMPLEX128))
#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "ConstantOfShape", .domain = "", .since = first, .until = last,                 \
        .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                      \
        .inputs = {{.types = ONNXD_SET(INT64)}}, .outputs = {{.types = (set) & ~NOT_LISTED}},      \
        .params_bytes = sizeof(fill_params), .parse = parse, .infer = infer, .compute = compute,   \
        .shape_inputs = 1u << 0                                                                    \
    }

const onnxd_op_def onnxd_op_constant_of_shape[] = {
    ROW(9, 19, ONNXD_SET_ANY_1),
    ROW(20, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};

/* Dropout for inference: the output is the input, the mask (where asked for) is all true. A node
 * that would really drop elements is refused. */
#include <string.h>

#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena, (void)params;
    static const char *const names_1[] = {"is_test", "ratio", "consumed_inputs", NULL};
    static const char *const names_7[] = {"ratio", NULL};
    static const char *const names_12[] = {"seed", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 7 ? names_1 : opset < 12 ? names_7 : names_12));
    /* Before opset 7 the default of is_test was 0, which asks for training; a model in a server is
     * always meant for inference, and other runtimes read it so. */
    int64_t unused = 0;
    float ratio = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "is_test", INT64_MIN, INT64_MAX, &unused));
    ONNXD_TRY(onnxd_attribute_int(node, "seed", INT64_MIN, INT64_MAX, &unused));
    return onnxd_attribute_float(node, "ratio", &ratio);
}

/* Training mode drops nothing at ratio 0. `ratio` and `mode` are NULL where absent. */
static onnxd_status *refuse_training(const onnxd_node *node, const onnxd_tensor_view *ratio,
                                     const onnxd_tensor_view *mode)
{
    if (onnxd_tensor_view_count(mode) != 1)
        return onnxd_op_error(node, "input 2 must have one element");
    if (*(const uint8_t *)onnxd_tensor_view_data(mode) == 0)
        return NULL;
    static const uint64_t zero = 0;
    if (ratio != NULL && onnxd_tensor_view_count(ratio) == 1 &&
        memcmp(onnxd_tensor_view_data(ratio), &zero, onnxd_dtype_size(ratio->dtype)) == 0)
        return NULL;
    return onnxd_op_error_code(ONNXD_UNIMPLEMENTED, node,
                               "training mode is not supported unless the ratio is 0");
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0] = infer->inputs[0];
    if (onnxd_op_has_output(infer->node, 1)) {
        infer->outputs[1] = infer->inputs[0];
        if (infer->opset >= 10)
            infer->outputs[1].dtype = ONNXD_BOOL;
    }
    onnxd_tensor_view ratio, mode;
    bool is_ratio_known = onnxd_infer_known(infer, 1, &ratio);
    if (is_ratio_known == onnxd_op_has_input(infer->node, 1) && onnxd_infer_known(infer, 2, &mode))
        return refuse_training(infer->node, is_ratio_known ? &ratio : NULL, &mode);
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    static const uint8_t truth = 1;
    static const float one = 1;
    static const double one_double = 1;
    static const uint16_t one_float16 = 0x3c00;
    const onnxd_tensor_view *inputs = compute->inputs;
    if (compute->input_count > 2 && onnxd_tensor_view_is_present(&inputs[2]))
        ONNXD_TRY(refuse_training(compute->node,
                                  onnxd_tensor_view_is_present(&inputs[1]) ? &inputs[1] : NULL,
                                  &inputs[2]));
    ONNXD_TRY(onnxd_op_compute_copy(compute));
    if (compute->output_count < 2 || !onnxd_tensor_view_is_present(&compute->outputs[1]))
        return NULL;
    const onnxd_tensor_view *mask = &compute->outputs[1];
    const void *value = mask->dtype == ONNXD_FLOAT     ? (const void *)&one
                        : mask->dtype == ONNXD_DOUBLE  ? (const void *)&one_double
                        : mask->dtype == ONNXD_FLOAT16 ? (const void *)&one_float16
                                                       : (const void *)&truth;
    onnxd_fill(onnxd_tensor_view_data(mask), onnxd_tensor_view_count(mask),
               onnxd_dtype_size(mask->dtype), value);
    return NULL;
}

#define ROW(first, last, set, ratio_set, mask_set, input_limit, shape_bits)                        \
    {                                                                                              \
        .op_type = "Dropout", .domain = "", .since = first, .until = last, .min_inputs = 1,        \
        .max_inputs = input_limit, .min_outputs = 1, .max_outputs = 2,                             \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ratio_set, .is_optional = true},                                      \
                   {.types = ONNXD_SET(BOOL), .is_optional = true}},                               \
        .outputs = {{.types = set, .type_variable = 1}, {.types = mask_set, .is_optional = true}}, \
        .parse = parse, .infer = infer, .compute = compute, .shape_inputs = shape_bits,            \
        .is_view = true                                                                            \
    }
#define FLOATS_22 (ONNXD_SET_FLOATS | ONNXD_SET_FLOAT8)

const onnxd_op_def onnxd_op_dropout[] = {
    ROW(1, 9, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, 1, 0),
    ROW(10, 11, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, ONNXD_SET(BOOL), 1, 0),
    ROW(12, 12, ONNXD_SET_FLOATS_1, ONNXD_SET_FLOATS_1, ONNXD_SET(BOOL), 3, 1u << 1 | 1u << 2),
    ROW(13, 21, ONNXD_SET_FLOATS, ONNXD_SET_FLOATS_1, ONNXD_SET(BOOL), 3, 1u << 1 | 1u << 2),
    ROW(22, ONNXD_OPSET_MAX, FLOATS_22, FLOATS_22, ONNXD_SET(BOOL), 3, 1u << 1 | 1u << 2),
    {.op_type = NULL},
};

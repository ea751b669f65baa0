/* Squeeze and Unsqueeze: drop or insert dimensions of extent 1. Axes are an attribute before opset
 * 13 and an input since. */
#include <inttypes.h>

#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axes", NULL};
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_op_parse_axes(node, "axes", params);
}

static onnxd_status *parse_required(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                    void *params)
{
    ONNXD_TRY(parse(node, opset, arena, params));
    return onnxd_attribute_require(node, "axes");
}

/* Every dimension of extent 1 goes; only static shapes tell which those are. */
static void squeeze_ones(const onnxd_shape *input, onnxd_shape *output)
{
    if (!onnxd_shape_is_static(input))
        return;
    output->rank = 0;
    for (int32_t i = 0; i < input->rank; i++)
        if (input->dims[i] != 1)
            output->dims[output->rank++] = input->dims[i];
}

static onnxd_status *infer_squeeze(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape *output = &infer->outputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    if (onnxd_op_has_input(infer->node, 1)) {
        int64_t length;
        ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
        if (length >= 0 && input->rank >= length)
            *output = onnxd_shape_of_rank(input->rank - (int32_t)length);
    }
    onnxd_axes axes;
    bool is_known;
    ONNXD_TRY(onnxd_infer_axes(infer, 1, infer->params, &axes, &is_known));
    if (!is_known || input->rank < 0)
        return NULL;
    if (!axes.is_given) {
        squeeze_ones(input, output);
        return NULL;
    }
    bool drop[ONNXD_MAX_RANK];
    ONNXD_TRY(onnxd_op_axes(infer->node, axes.values, axes.count, input->rank, drop));
    onnxd_shape shape = {.rank = 0};
    for (int32_t i = 0; i < input->rank; i++) {
        if (!drop[i])
            shape.dims[shape.rank++] = input->dims[i];
        else if (onnxd_dim_is_static(input->dims[i]) && input->dims[i] != 1)
            return onnxd_op_error(infer->node,
                                  "axis %" PRId32 " has extent %" PRId64
                                  ", only extent 1 can be squeezed",
                                  i, input->dims[i]);
    }
    *output = shape;
    return NULL;
}

static onnxd_status *infer_unsqueeze(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    onnxd_shape *output = &infer->outputs[0].shape;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    onnxd_axes axes;
    bool is_known;
    int64_t length;
    ONNXD_TRY(onnxd_infer_axes(infer, 1, infer->params, &axes, &is_known));
    if (is_known)
        length = (int64_t)axes.count;
    else
        ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
    if (length < 0 || input->rank < 0)
        return NULL;
    if (length > ONNXD_MAX_RANK - input->rank)
        return onnxd_op_error(infer->node,
                              "%" PRId64 " axes inserted into rank %" PRId32
                              " pass the highest rank, %d",
                              length, input->rank, ONNXD_MAX_RANK);
    int32_t rank = input->rank + (int32_t)length;
    *output = onnxd_shape_of_rank(rank);
    if (!is_known)
        return NULL;
    bool inserted[ONNXD_MAX_RANK];
    ONNXD_TRY(onnxd_op_axes(infer->node, axes.values, axes.count, rank, inserted));
    for (int32_t i = 0, from = 0; i < rank; i++)
        output->dims[i] = inserted[i] ? 1 : input->dims[from++];
    return NULL;
}

#define COMMON(name, first, last, set, infer_function)                                             \
    .op_type = name, .domain = "", .since = first, .until = last, .min_outputs = 1,                \
    .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}}, .infer = infer_function,    \
    .compute = onnxd_op_compute_copy, .is_view = true
#define DATA(set)                                                                                  \
    {                                                                                              \
        .types = set, .type_variable = 1                                                           \
    }
#define AXES(optional)                                                                             \
    {                                                                                              \
        .types = ONNXD_SET(INT64), .is_optional = optional                                         \
    }
#define ATTRIBUTE_ROW(name, set, parse_function, infer_function)                                   \
    {                                                                                              \
        COMMON(name, 1, 12, set, infer_function),                                                  \
            .min_inputs = 1, .max_inputs = 1, .inputs = {DATA(set)},                               \
            .params_bytes = sizeof(onnxd_axes), .parse = parse_function                            \
    }
#define SQUEEZE_ROW(first, last, set)                                                              \
    {                                                                                              \
        COMMON("Squeeze", first, last, set, infer_squeeze), .min_inputs = 1, .max_inputs = 2,      \
                                                            .inputs = {DATA(set), AXES(true)},     \
                                                            .shape_inputs = 1u << 1                \
    }
#define UNSQUEEZE_ROW(first, last, set)                                                            \
    {                                                                                              \
        COMMON("Unsqueeze", first, last, set, infer_unsqueeze),                                    \
            .min_inputs = 2, .max_inputs = 2, .inputs = {DATA(set), AXES(false)},                  \
            .shape_inputs = 1u << 1                                                                \
    }

const onnxd_op_def onnxd_op_squeeze[] = {
    ATTRIBUTE_ROW("Squeeze", ONNXD_SET_ANY_1, parse, infer_squeeze),
    SQUEEZE_ROW(13, 20, ONNXD_SET_ANY_13),
    ONNXD_ROWS_ANY_21(SQUEEZE_ROW),
    ATTRIBUTE_ROW("Unsqueeze", ONNXD_SET_ANY_1, parse_required, infer_unsqueeze),
    UNSQUEEZE_ROW(13, 20, ONNXD_SET_ANY_13),
    ONNXD_ROWS_ANY_21(UNSQUEEZE_ROW),
    {.op_type = NULL},
};

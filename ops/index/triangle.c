/* Trilu, the part of a matrix on one side of a diagonal, and EyeLike, a matrix with ones on a
 * diagonal. */
#include <inttypes.h>
#include <string.h>

#include "ops/convert.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct trilu_params {
    int64_t is_upper;
} trilu_params;

static onnxd_status *parse_trilu(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                 void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"upper", NULL};
    trilu_params *p = params;
    p->is_upper = 1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "upper", 0, 1, &p->is_upper);
}

static onnxd_status *infer_trilu(onnxd_infer *infer)
{
    const onnxd_shape *shape = &infer->inputs[0].shape;
    infer->outputs[0] = infer->inputs[0];
    if (shape->rank >= 0 && shape->rank < 2)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", must have at least 2",
                              shape->rank);
    int64_t length;
    if (!onnxd_op_has_input(infer->node, 1))
        return NULL;
    ONNXD_TRY(onnxd_op_list_length(infer, 1, &length));
    if (length >= 0 && length != 1)
        return onnxd_op_error(infer->node, "input 1, k, has %" PRId64 " elements, must have one",
                              length);
    return NULL;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static onnxd_status *compute_trilu(const onnxd_compute *compute)
{
    const trilu_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0];
    const onnxd_shape *shape = &input->shape;
    int64_t k = 0;
    if (compute->input_count > 1 && onnxd_tensor_view_is_present(&compute->inputs[1])) {
        size_t given;
        ONNXD_TRY(onnxd_op_read_ints(compute->node, 1, &compute->inputs[1], 1, &k, &given));
        if (given != 1)
            return onnxd_op_error(compute->node, "input 1, k, has no element, must have one");
    }
    ONNXD_TRY(onnxd_op_check_output(compute, 0, shape));
    size_t count = onnxd_tensor_view_count(input);
    if (count == 0)
        return NULL;
    int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
    size_t width = onnxd_dtype_size(input->dtype), row_bytes = (size_t)columns * width;
    const char *from = onnxd_tensor_view_data(input);
    char *to = onnxd_tensor_view_data(&compute->outputs[0]);
    size_t row_count = count / (size_t)columns;
    k = clamp(k, -rows, columns);
    for (size_t row = 0; row < row_count; row++, from += row_bytes, to += row_bytes) {
        int64_t diagonal = (int64_t)(row % (size_t)rows) + k;
        int64_t first = p->is_upper != 0 ? clamp(diagonal, 0, columns) : 0;
        int64_t end = p->is_upper != 0 ? columns : clamp(diagonal + 1, 0, columns);
        /* All bytes zero is the zero of every type, and the empty string. */
        memset(to, 0, (size_t)first * width);
        memcpy(to + (size_t)first * width, from + (size_t)first * width,
               (size_t)(end - first) * width);
        memset(to + (size_t)end * width, 0, (size_t)(columns - end) * width);
    }
    return NULL;
}

typedef struct eye_params {
    onnxd_dtype dtype; /* UNDEFINED: that of the input */
    int64_t k;
} eye_params;

#define EYE_TYPES_9 (ONNXD_SET_NUMBERS_1 | ONNXD_SET(BOOL))
#define EYE_TYPES_22 (EYE_TYPES_9 | ONNXD_SET(BFLOAT16))

static onnxd_status *parse_eye(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                               void *params)
{
    (void)arena;
    static const char *const names[] = {"dtype", "k", NULL};
    eye_params *p = params;
    int64_t number = ONNXD_UNDEFINED;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_int(node, "k", INT64_MIN, INT64_MAX, &p->k));
    ONNXD_TRY(onnxd_attribute_int(node, "dtype", 0, ONNXD_DTYPE_COUNT - 1, &number));
    p->dtype = onnxd_dtype_from_onnx(number);
    onnxd_dtype_set allowed = opset < 22 ? EYE_TYPES_9 : EYE_TYPES_22;
    if (p->dtype != ONNXD_UNDEFINED && ((allowed >> p->dtype) & 1) == 0)
        return onnxd_op_error(node,
                              "attribute 'dtype' is %s, which opset %" PRId64 " does not allow",
                              onnxd_dtype_name(p->dtype), opset);
    return NULL;
}

static onnxd_status *infer_eye(onnxd_infer *infer)
{
    const eye_params *p = infer->params;
    const onnxd_shape *shape = &infer->inputs[0].shape;
    infer->outputs[0] = infer->inputs[0];
    if (p->dtype != ONNXD_UNDEFINED)
        infer->outputs[0].dtype = p->dtype;
    if (shape->rank < 0)
        infer->outputs[0].shape = onnxd_shape_of_rank(2);
    else if (shape->rank != 2)
        return onnxd_op_error(infer->node, "input 0 has rank %" PRId32 ", must have 2",
                              shape->rank);
    return NULL;
}

static onnxd_status *compute_eye(const onnxd_compute *compute)
{
    static const onnxd_rounding unused = {.saturates = true};
    const eye_params *p = compute->params;
    const onnxd_tensor_view *output = &compute->outputs[0];
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &compute->inputs[0].shape));
    size_t bytes = onnxd_tensor_view_bytes(output);
    if (bytes == 0)
        return NULL;
    onnxd_wide_kind kind = onnxd_wide_kind_of(output->dtype);
    onnxd_wide one = {.u = 1};
    if (kind == ONNXD_WIDE_FLOAT)
        one.f = 1;
    uint64_t element;
    onnxd_wide_store(output->dtype, kind, &one, 1, &unused, &element, 0);
    size_t width = onnxd_dtype_size(output->dtype);
    int64_t rows = output->shape.dims[0], columns = output->shape.dims[1];
    int64_t k = clamp(p->k, -rows, columns);
    char *out = onnxd_tensor_view_data(output);
    memset(out, 0, bytes);
    for (int64_t row = k < 0 ? -k : 0; row < rows && row + k < columns; row++)
        memcpy(out + (size_t)(row * columns + row + k) * width, &element, width);
    return NULL;
}

#define EYE_ROW(first, last, set)                                                                  \
    {                                                                                              \
        .op_type = "EyeLike", .domain = "", .since = first, .until = last, .min_inputs = 1,        \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .inputs = {{.types = set}},           \
        .outputs = {{.types = set}}, .params_bytes = sizeof(eye_params), .parse = parse_eye,       \
        .infer = infer_eye, .compute = compute_eye                                                 \
    }

#define TRILU_ROW(domain_name, first, last, set)                                                   \
    {                                                                                              \
        .op_type = "Trilu", .domain = domain_name, .since = first, .until = last, .min_inputs = 1, \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET(INT64), .is_optional = true}},                              \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(trilu_params),     \
        .parse = parse_trilu, .infer = infer_trilu, .compute = compute_trilu                       \
    }

const onnxd_op_def onnxd_op_triangle[] = {
    EYE_ROW(9, 21, EYE_TYPES_9),
    EYE_ROW(22, ONNXD_OPSET_MAX, EYE_TYPES_22),
    TRILU_ROW("", 14, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    TRILU_ROW("com.microsoft", 1, 1, ONNXD_SET_NUMBERS | ONNXD_SET(BOOL)),
    {.op_type = NULL},
};

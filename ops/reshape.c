/* Reshape: other dimensions for the same elements. In the target 0 keeps the input's dimension
 * (unless allowzero) and one -1 takes what is left. An attribute in opset 1, an input since 5. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct reshape_params {
    int64_t allow_zero;
    bool is_attribute; /* opset 1 */
    size_t count;
    int64_t target[ONNXD_MAX_RANK];
} reshape_params;

static onnxd_status *parse_attribute(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                                     void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"shape", "consumed_inputs", NULL};
    reshape_params *p = params;
    p->is_attribute = true;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "shape"));
    return onnxd_attribute_ints(node, "shape", 0, ONNXD_MAX_RANK, -1, INT64_MAX, p->target,
                                &p->count);
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)arena;
    static const char *const names[] = {"allowzero", NULL};
    static const char *const no_names[] = {NULL};
    reshape_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, opset >= 14 ? names : no_names));
    return onnxd_attribute_int(node, "allowzero", 0, 1, &p->allow_zero);
}

static onnxd_status *check_target(const onnxd_node *node, bool allow_zero, const int64_t *target,
                                  size_t count)
{
    size_t rests = 0, zeros = 0;
    for (size_t i = 0; i < count; i++) {
        rests += target[i] == -1;
        zeros += target[i] == 0;
    }
    if (rests > 1)
        return onnxd_op_error(node, "the shape has %zu elements -1, at most one is allowed", rests);
    if (rests != 0 && zeros != 0 && allow_zero)
        return onnxd_op_error(node, "with allowzero the shape may not have both 0 and -1");
    return NULL;
}

/* What the -1 stands for: the input's elements over the output's. `is_kept[i]` marks dimensions
 * that the output takes from the same place of the input: those cancel, known or not. Unknown when
 * more than one dimension would have to be. */
static onnxd_status *resolve_rest(const onnxd_node *node, const onnxd_shape *input,
                                  const onnxd_shape *output, int32_t rest, const bool *is_kept,
                                  int64_t *out_dim)
{
    size_t from = 1, to = 1;
    int32_t open_count = 0;
    int64_t open = ONNXD_DIM_UNKNOWN;
    for (int32_t i = 0; i < input->rank; i++) {
        if (is_kept[i])
            continue;
        if (!onnxd_dim_is_static(input->dims[i])) {
            open = input->dims[i];
            open_count++;
        } else if (!onnxd_size_mul(from, (size_t)input->dims[i], &from)) {
            return onnxd_op_error(node, "the input has too many elements");
        }
    }
    for (int32_t i = 0; i < output->rank; i++)
        if (i != rest && !(i < input->rank && is_kept[i]) &&
            !onnxd_size_mul(to, (size_t)output->dims[i], &to))
            return onnxd_op_error(node, "the shape has too many elements");
    *out_dim = ONNXD_DIM_UNKNOWN;
    if (open_count > 1 || (open_count == 1 && from != to))
        return NULL;
    if (open_count == 1)
        *out_dim = open;
    else if (to == 0 || from % to != 0)
        return onnxd_op_error(node, "%zu elements cannot be divided by %zu for the -1", from, to);
    else if (from / to > INT64_MAX)
        return onnxd_op_error(node, "the input has too many elements");
    else
        *out_dim = (int64_t)(from / to);
    return NULL;
}

static onnxd_status *resolve(const onnxd_node *node, const reshape_params *p,
                             const onnxd_shape *input, const int64_t *target, size_t count,
                             onnxd_shape *out_shape)
{
    ONNXD_TRY(check_target(node, p->allow_zero != 0, target, count));
    onnxd_shape shape = onnxd_shape_from((int32_t)count, target);
    bool is_kept[ONNXD_MAX_RANK] = {false};
    int32_t rest = -1;
    for (int32_t i = 0; i < shape.rank; i++) {
        if (target[i] == -1) {
            rest = i;
            shape.dims[i] = ONNXD_DIM_UNKNOWN;
        } else if (target[i] == 0 && p->allow_zero == 0) {
            if (input->rank >= 0 && i >= input->rank)
                return onnxd_op_error(
                    node, "element %" PRId32 " of the shape is 0, but the input has rank %" PRId32,
                    i, input->rank);
            /* Zero extents are not cancelled: nothing can be divided by them. */
            shape.dims[i] = input->rank < 0 ? ONNXD_DIM_UNKNOWN : input->dims[i];
            is_kept[i] = shape.dims[i] != 0;
        }
    }
    if (rest >= 0 && input->rank >= 0)
        ONNXD_TRY(resolve_rest(node, input, &shape, rest, is_kept, &shape.dims[rest]));
    size_t from, to;
    if (onnxd_shape_count(input, &from) && onnxd_shape_is_static(&shape) &&
        (!onnxd_shape_count(&shape, &to) || from != to)) {
        char from_text[ONNXD_SHAPE_TEXT], to_text[ONNXD_SHAPE_TEXT];
        return onnxd_op_error(node, "shape %s cannot become %s: the number of elements differs",
                              onnxd_shape_format(input, from_text, sizeof(from_text)),
                              onnxd_shape_format(&shape, to_text, sizeof(to_text)));
    }
    *out_shape = shape;
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const reshape_params *p = infer->params;
    onnxd_tensor_type *output = &infer->outputs[0];
    const onnxd_shape *input = &infer->inputs[0].shape;
    output->dtype = infer->inputs[0].dtype;
    if (p->is_attribute)
        return resolve(infer->node, p, input, p->target, p->count, &output->shape);
    onnxd_shape target;
    bool is_known;
    ONNXD_TRY(onnxd_infer_shape_list(infer, 1, -1, &target, &is_known));
    if (is_known)
        return resolve(infer->node, p, input, target.dims, (size_t)target.rank, &output->shape);
    output->shape = target;
    return NULL;
}

#define COMMON(first, last, set)                                                                   \
    .op_type = "Reshape", .domain = "", .since = first, .until = last, .min_outputs = 1,           \
    .max_outputs = 1, .outputs = {{.types = set, .type_variable = 1}},                             \
    .params_bytes = sizeof(reshape_params), .infer = infer, .compute = onnxd_op_compute_copy,      \
    .is_view = true
#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        COMMON(first, last, set),                                                                  \
            .parse = parse, .min_inputs = 2, .max_inputs = 2,                                      \
            .inputs = {{.types = set, .type_variable = 1}, {.types = ONNXD_SET(INT64)}},           \
            .shape_inputs = 1u << 1                                                                \
    }

const onnxd_op_def onnxd_op_reshape[] = {
    {COMMON(1, 4, ONNXD_SET_FLOATS_1), .parse = parse_attribute, .min_inputs = 1, .max_inputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS_1, .type_variable = 1}}},
    ROW(5, 12, ONNXD_SET_ANY_1),
    ROW(13, 18, ONNXD_SET_ANY_13),
    ROW(19, 20, ONNXD_SET_ANY_19),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};

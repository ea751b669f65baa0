/*
 * Operators over images whose tensors lie channels-last, [N, D1 ... Dk, C] in place of
 * [N, C, D1 ... Dk]: the same operator, attributes and weights, another order of dimensions. The
 * pass channels_last makes them, since providers run them faster.
 *
 * Conv is com.microsoft's FusedConv, which adds an input and applies an activation. QLinearConv can
 * add an image too, as com.microsoft's QLinearAdd does to its result: inputs 9 to 11 are that
 * image, its scale and its zero point, 12 and 13 those of the sum.
 *
 * The portable kernel puts the dimensions into ONNX's order, runs the operator's own kernel and
 * puts them back.
 */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/contrib/affine.h"
#include "ops/layout/channels_last.h"
#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct original {
    const char *op_type, *domain;
    int64_t opset;
} original;

static const original originals[] = {
    {"Conv", "com.microsoft", 1},           {"MaxPool", "", ONNXD_OPSET_MAX},
    {"AveragePool", "", ONNXD_OPSET_MAX},   {"GlobalAveragePool", "", ONNXD_OPSET_MAX},
    {"GlobalMaxPool", "", ONNXD_OPSET_MAX}, {"LRN", "", ONNXD_OPSET_MAX},
    {"DepthToSpace", "", ONNXD_OPSET_MAX},  {"QLinearConv", "", ONNXD_OPSET_MAX},
    {"ConvInteger", "", ONNXD_OPSET_MAX},
};

static const original *original_of(const onnxd_node *node)
{
    size_t i = 0;
    while (i + 1 < ONNXD_COUNT(originals) && strcmp(originals[i].op_type, node->op_type) != 0)
        i++;
    return &originals[i];
}

static const onnxd_op_def *inner_of(const original *o)
{
    const char *name = o->domain[0] != '\0' ? "FusedConv" : o->op_type;
    return onnxd_op_find(onnxd_ops(), o->domain, name, o->opset);
}

/* What QLinearConv has beside the inputs of its original. */
enum { Y_SCALE = 6, Y_ZERO, OTHER = 9, OTHER_SCALE, OTHER_ZERO, SUM_SCALE, SUM_ZERO };

static uint32_t inner_inputs(const onnxd_op_def *inner, uint32_t count)
{
    return count < inner->max_inputs ? count : inner->max_inputs;
}

/* The others are weights. */
static bool is_image(const onnxd_node *node, uint32_t input)
{
    return (node->def->batch_inputs >> input & 1) != 0;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

onnxd_shape onnxd_channels_first(const onnxd_shape *last)
{
    onnxd_shape first = *last;
    if (last->rank < 3)
        return first;
    first.dims[1] = last->dims[last->rank - 1];
    for (int32_t i = 2; i < last->rank; i++)
        first.dims[i] = last->dims[i - 1];
    return first;
}

onnxd_shape onnxd_channels_last(const onnxd_shape *first)
{
    onnxd_shape last = *first;
    if (first->rank < 3)
        return last;
    last.dims[first->rank - 1] = first->dims[1];
    for (int32_t i = 2; i < first->rank; i++)
        last.dims[i - 1] = first->dims[i];
    return last;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset;
    const original *o = original_of(node);
    static const char *const none[] = {NULL};
    const onnxd_op_def *inner = inner_of(o);
    if (inner->parse == NULL)
        return onnxd_attributes_allow(node, none);
    return inner->parse(node, o->opset, arena, params);
}

static onnxd_status *infer(onnxd_infer *context)
{
    onnxd_tensor_type inputs[ONNXD_OP_MAX_FORMALS];
    const original *o = original_of(context->node);
    onnxd_infer inner = *context;
    inner.input_count = inner_inputs(inner_of(o), context->input_count);
    for (uint32_t i = 0; i < inner.input_count; i++) {
        inputs[i] = context->inputs[i];
        if (!is_image(context->node, i) || inputs[i].dtype == ONNXD_UNDEFINED)
            continue;
        const int32_t rank = inputs[i].shape.rank;
        if (rank != ONNXD_RANK_UNKNOWN && rank < 3)
            return onnxd_op_error(context->node,
                                  "input %u has rank %" PRId32 ", needed is at least 3", i, rank);
        inputs[i].shape = onnxd_channels_first(&inputs[i].shape);
    }
    inner.inputs = inputs;
    inner.opset = o->opset;
    ONNXD_TRY(inner_of(o)->infer(&inner));
    onnxd_shape *shape = &context->outputs[0].shape;
    *shape = onnxd_channels_last(shape);
    if (context->input_count <= OTHER || shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    ONNXD_TRY(onnxd_affine_check(context, OTHER_SCALE));
    ONNXD_TRY(onnxd_affine_check(context, SUM_SCALE));
    return onnxd_infer_check_dims(context, OTHER, shape->rank, shape->dims);
}

/* ---- the portable kernel --------------------------------------------------------------------- */

/* What the inner kernel is given, with the memory that it takes of the workspace. */
typedef struct inner_call {
    onnxd_compute compute;
    onnxd_tensor_view inputs[ONNXD_OP_MAX_FORMALS], output;
    size_t offsets[ONNXD_OP_MAX_FORMALS + 1]; /* of images and of the output in the workspace */
    size_t workspace_offset, bytes;
} inner_call;

static bool reserve(inner_call *call, const onnxd_tensor_view *view, size_t *out_offset)
{
    *out_offset = call->bytes;
    return onnxd_size_add(call->bytes, onnxd_tensor_view_bytes(view), &call->bytes) &&
           onnxd_size_align(call->bytes, 64, &call->bytes);
}

/* Views without data. False when the workspace does not fit. */
static bool lay_out(const onnxd_compute *context, const original *o, inner_call *call)
{
    const onnxd_op_def *def = inner_of(o);
    onnxd_shape shape = onnxd_channels_first(&context->outputs[0].shape);
    size_t inner_bytes = 0;
    call->bytes = 0;
    call->compute = *context;
    call->compute.opset = o->opset;
    call->compute.input_count = inner_inputs(def, context->input_count);
    call->compute.inputs = call->inputs;
    call->compute.outputs = &call->output;
    call->output = onnxd_tensor_view_of(NULL, context->outputs[0].dtype, &shape);
    bool fits = reserve(call, &call->output, &call->offsets[ONNXD_OP_MAX_FORMALS]);
    for (uint32_t i = 0; i < call->compute.input_count && fits; i++) {
        call->inputs[i] = context->inputs[i];
        if (!is_image(context->node, i) || !onnxd_tensor_view_is_present(&context->inputs[i]))
            continue;
        shape = onnxd_channels_first(&context->inputs[i].shape);
        call->inputs[i] = onnxd_tensor_view_of(NULL, context->inputs[i].dtype, &shape);
        fits = reserve(call, &call->inputs[i], &call->offsets[i]);
    }
    if (fits && def->workspace_bytes != NULL)
        inner_bytes = def->workspace_bytes(&call->compute);
    call->workspace_offset = call->bytes;
    return fits && inner_bytes != SIZE_MAX &&
           onnxd_size_add(call->bytes, inner_bytes, &call->bytes);
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    inner_call call;
    return lay_out(context, original_of(context->node), &call) ? call.bytes : SIZE_MAX;
}

/* `to` in channels-first order from `from` in channels-last order, or the reverse. */
static void reorder(const onnxd_tensor_view *from, const onnxd_tensor_view *to, bool to_first)
{
    int64_t natural[ONNXD_MAX_RANK], strides[ONNXD_MAX_RANK];
    const int32_t rank = from->shape.rank;
    onnxd_strides_of(&from->shape, natural);
    memcpy(strides, natural, sizeof(strides));
    for (int32_t i = 2; i < rank; i++)
        strides[to_first ? i : i - 1] = natural[to_first ? i - 1 : i];
    strides[to_first ? 1 : rank - 1] = natural[to_first ? rank - 1 : 1];
    onnxd_move_contiguous(&to->shape, strides, onnxd_dtype_size(from->dtype),
                          onnxd_tensor_view_data(to), onnxd_tensor_view_data(from));
}

/* QLinearAdd works on one element after the other, so that its result may replace an input. */
static onnxd_status *add_other(const onnxd_compute *context)
{
    static const uint32_t positions[] = {Y_SCALE,    Y_ZERO,    OTHER,   OTHER_SCALE,
                                         OTHER_ZERO, SUM_SCALE, SUM_ZERO};
    onnxd_tensor_view inputs[1 + ONNXD_COUNT(positions)] = {context->outputs[0]};
    for (size_t i = 0; i < ONNXD_COUNT(positions); i++) {
        const onnxd_tensor_view *input = onnxd_compute_input(context, positions[i]);
        inputs[1 + i] = input != NULL ? *input : (onnxd_tensor_view){.dtype = ONNXD_UNDEFINED};
    }
    onnxd_compute sum = *context;
    sum.inputs = inputs;
    sum.input_count = ONNXD_COUNT(inputs);
    return onnxd_op_find(onnxd_ops(), "com.microsoft", "QLinearAdd", 1)->compute(&sum);
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const original *o = original_of(context->node);
    char *workspace = context->workspace;
    inner_call call;
    if (!lay_out(context, o, &call))
        return onnxd_op_error_code(ONNXD_INTERNAL, context->node, "its workspace does not fit");
    for (uint32_t i = 0; i < call.compute.input_count; i++) {
        if (!is_image(context->node, i) || !onnxd_tensor_view_is_present(&context->inputs[i]))
            continue;
        call.inputs[i].data = workspace + call.offsets[i];
        reorder(&context->inputs[i], &call.inputs[i], true);
    }
    call.output.data = workspace + call.offsets[ONNXD_OP_MAX_FORMALS];
    call.compute.workspace = workspace + call.workspace_offset;
    ONNXD_TRY(inner_of(o)->compute(&call.compute));
    reorder(&call.output, &context->outputs[0], false);
    return onnxd_compute_input(context, OTHER) == NULL ? NULL : add_other(context);
}

#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT), .type_variable = 1, .is_optional = optional                     \
    }
#define BYTE_TYPES (ONNXD_SET(INT8) | ONNXD_SET(UINT8))
#define BYTES(variable, optional)                                                                  \
    {                                                                                              \
        .types = BYTE_TYPES, .type_variable = variable, .is_optional = optional                    \
    }
#define REAL                                                                                       \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT)                                                                  \
    }
#define OPTIONAL_REAL                                                                              \
    {                                                                                              \
        .types = ONNXD_SET(FLOAT), .is_optional = true                                             \
    }
#define COMMON                                                                                     \
    .domain = ONNXD_INTERNAL_DOMAIN, .since = 1, .until = 1, .min_outputs = 1, .max_outputs = 1,   \
    .parse = parse, .infer = infer, .workspace_bytes = workspace_bytes, .compute = compute
#define ONE_INPUT(name, params)                                                                    \
    {                                                                                              \
        COMMON, .op_type = name, .min_inputs = 1, .max_inputs = 1, .inputs = {FORMAL(false)},      \
                .outputs = {FORMAL(false)}, .params_bytes = params, .batch_inputs = 1u             \
    }

const onnxd_op_def onnxd_op_channels_last[] = {
    {COMMON, .op_type = "Conv", .min_inputs = 2, .max_inputs = 4,
     .inputs = {FORMAL(false), FORMAL(false), FORMAL(true), FORMAL(true)},
     .outputs = {FORMAL(false)}, .params_bytes = sizeof(onnxd_fused_conv_params),
     .batch_inputs = 1u << 0 | 1u << 3},
    {COMMON, .op_type = "MaxPool", .min_inputs = 1, .max_inputs = 1,
     .inputs = {{.types = ONNXD_SET(FLOAT) | BYTE_TYPES, .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET(FLOAT) | BYTE_TYPES, .type_variable = 1}},
     .params_bytes = sizeof(onnxd_pool_params), .batch_inputs = 1u},
    ONE_INPUT("AveragePool", sizeof(onnxd_pool_params)),
    ONE_INPUT("GlobalAveragePool", 0),
    ONE_INPUT("GlobalMaxPool", 0),
    ONE_INPUT("LRN", sizeof(onnxd_lrn_params)),
    ONE_INPUT("DepthToSpace", sizeof(onnxd_depth_params)),
    {COMMON, .op_type = "QLinearConv", .min_inputs = 8, .max_inputs = 14,
     .inputs = {BYTES(1, false),
                REAL,
                BYTES(1, false),
                BYTES(2, false),
                REAL,
                BYTES(2, false),
                REAL,
                BYTES(3, false),
                {.types = ONNXD_SET(INT32), .is_optional = true},
                BYTES(3, true),
                OPTIONAL_REAL,
                BYTES(3, true),
                OPTIONAL_REAL,
                BYTES(3, true)},
     .outputs = {BYTES(3, false)}, .params_bytes = sizeof(onnxd_conv_params),
     .batch_inputs = 1u << 0 | 1u << OTHER},
    {COMMON, .op_type = "ConvInteger", .min_inputs = 2, .max_inputs = 4,
     .inputs = {BYTES(1, false), BYTES(2, false), BYTES(1, true), BYTES(2, true)},
     .outputs = {{.types = ONNXD_SET(INT32)}}, .params_bytes = sizeof(onnxd_conv_params),
     .batch_inputs = 1u},
    {.op_type = NULL},
};

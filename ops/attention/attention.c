/* Attention: scaled dot-product attention with grouped heads, masks and a cache of keys and
 * values. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_core.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, KEY_COUNTS, INPUT_COUNT };
enum { Y, PRESENT_KEY, PRESENT_VALUE, QK };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)arena;
    static const char *const names_23[] = {
        "is_causal", "kv_num_heads",      "q_num_heads", "qk_matmul_output_mode",
        "scale",     "softmax_precision", "softcap",     NULL};
    static const char *const names_25[] = {
        "is_causal",   "kv_num_heads",          "left_window_size",
        "q_num_heads", "qk_matmul_output_mode", "right_window_size",
        "scale",       "softmax_precision",     "softcap",
        NULL};
    onnxd_attention_params *params = out;
    int64_t is_causal = 0;
    params->left_window = params->right_window = -1;
    params->has_scale = onnxd_node_attribute(node, "scale") != NULL;
    ONNXD_TRY(onnxd_attributes_allow(node, opset < 25 ? names_23 : names_25));
    ONNXD_TRY(onnxd_attribute_int(node, "is_causal", 0, 1, &is_causal));
    params->is_causal = is_causal != 0;
    ONNXD_TRY(onnxd_attribute_int(node, "q_num_heads", 1, INT32_MAX, &params->q_heads));
    ONNXD_TRY(onnxd_attribute_int(node, "kv_num_heads", 1, INT32_MAX, &params->kv_heads));
    ONNXD_TRY(onnxd_attribute_int(node, "qk_matmul_output_mode", 0, 3, &params->qk_mode));
    ONNXD_TRY(onnxd_attribute_int(node, "left_window_size", -1, INT64_MAX, &params->left_window));
    ONNXD_TRY(onnxd_attribute_int(node, "right_window_size", -1, INT64_MAX, &params->right_window));
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &params->scale));
    ONNXD_TRY(onnxd_attribute_float(node, "softcap", &params->softcap));
    return onnxd_op_float_type(node, "softmax_precision", &params->softmax_dtype);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* An operand as [batch][heads][length][size]; dimensions may be symbolic or unknown. */
typedef struct operand_dims {
    int64_t batch, heads, length, size;
} operand_dims;

typedef struct attention_dims {
    int32_t rank; /* of Q, K and V: 3, where heads are packed into the last dimension, or 4 */
    operand_dims q, k, v;
    int64_t past_length, total_length;
} attention_dims;

static onnxd_status *unpack(const onnxd_node *node, uint32_t input, const onnxd_shape *shape,
                            int64_t heads, operand_dims *out)
{
    static const int64_t unknown = ONNXD_DIM_UNKNOWN;
    *out = (operand_dims){unknown, unknown, unknown, unknown};
    if (shape->rank == 4) {
        *out = (operand_dims){shape->dims[0], shape->dims[1], shape->dims[2], shape->dims[3]};
        return NULL;
    }
    if (shape->rank != 3)
        return NULL;
    *out = (operand_dims){shape->dims[0], heads, shape->dims[1], unknown};
    if (!onnxd_dim_is_static(shape->dims[2]))
        return NULL;
    if (shape->dims[2] % heads != 0)
        return onnxd_op_error(node,
                              "the last dimension of input %" PRIu32 " is %" PRId64
                              ", which %" PRId64 " heads do not divide",
                              input, shape->dims[2], heads);
    out->size = shape->dims[2] / heads;
    return NULL;
}

/* Two dimensions that must agree; *inout becomes the one that says more. */
static onnxd_status *agree(const onnxd_node *node, const char *what, uint32_t left, uint32_t right,
                           int64_t *inout, int64_t other)
{
    if (!onnxd_dim_is_static(other))
        return NULL;
    if (onnxd_dim_is_static(*inout) && *inout != other)
        return onnxd_op_error(node,
                              "the %s of input %" PRIu32 " is %" PRId64 ", that of input %" PRIu32
                              " is %" PRId64,
                              what, left, *inout, right, other);
    *inout = other;
    return NULL;
}

static onnxd_status *resolve_rank(const onnxd_node *node, const onnxd_attention_params *params,
                                  const onnxd_shape *const *shapes, int32_t *out_rank)
{
    int32_t rank = ONNXD_RANK_UNKNOWN;
    for (uint32_t i = Q; i <= V; i++) {
        int32_t found = shapes[i]->rank;
        if (found == ONNXD_RANK_UNKNOWN)
            continue;
        if (found != 3 && found != 4)
            return onnxd_op_error(
                node, "input %" PRIu32 " has rank %" PRId32 ", allowed are 3 and 4", i, found);
        if (rank != ONNXD_RANK_UNKNOWN && rank != found)
            return onnxd_op_error(node,
                                  "input %" PRIu32 " has rank %" PRId32
                                  ", but Q, K and V must have one rank, and another has %" PRId32,
                                  i, found, rank);
        rank = found;
    }
    if (rank == 3 && (params->q_heads == 0 || params->kv_heads == 0))
        return onnxd_op_error(
            node, "inputs of rank 3 need the attributes 'q_num_heads' and 'kv_num_heads'");
    if (rank == 4 && node->opset >= 25 && (params->q_heads != 0 || params->kv_heads != 0))
        return onnxd_op_error(
            node, "inputs of rank 4 forbid the attributes 'q_num_heads' and 'kv_num_heads'");
    *out_rank = rank;
    return NULL;
}

/* The cache, where there is one, has rank 4 in any case. */
static onnxd_status *resolve_past(const onnxd_node *node, const onnxd_shape *const *shapes,
                                  attention_dims *dims)
{
    dims->past_length = 0;
    dims->total_length = dims->k.length;
    if ((shapes[PAST_KEY] == NULL) != (shapes[PAST_VALUE] == NULL))
        return onnxd_op_error(node, "inputs 4 and 5, past_key and past_value, must be given "
                                    "together");
    if (shapes[PAST_KEY] == NULL)
        return NULL;
    if (shapes[KEY_COUNTS] != NULL)
        return onnxd_op_error(node, "input 6, nonpad_kv_seqlen, must not be given together with "
                                    "past_key and past_value");
    operand_dims past[2];
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_shape *shape = shapes[PAST_KEY + i];
        if (shape->rank != ONNXD_RANK_UNKNOWN && shape->rank != 4)
            return onnxd_op_error(node, "input %" PRIu32 " has rank %" PRId32 ", but 4 is needed",
                                  PAST_KEY + i, shape->rank);
        ONNXD_TRY(unpack(node, PAST_KEY + i, shape, 1, &past[i]));
        operand_dims *fresh = i == 0 ? &dims->k : &dims->v;
        uint32_t left = i == 0 ? K : V;
        ONNXD_TRY(agree(node, "batch size", left, PAST_KEY + i, &fresh->batch, past[i].batch));
        ONNXD_TRY(agree(node, "number of heads", left, PAST_KEY + i, &fresh->heads, past[i].heads));
        ONNXD_TRY(agree(node, "head size", left, PAST_KEY + i, &fresh->size, past[i].size));
    }
    ONNXD_TRY(agree(node, "length", PAST_KEY, PAST_VALUE, &past[0].length, past[1].length));
    dims->past_length = past[0].length;
    dims->total_length = ONNXD_DIM_UNKNOWN;
    if (onnxd_dim_is_static(dims->past_length) && onnxd_dim_is_static(dims->k.length) &&
        __builtin_add_overflow(dims->past_length, dims->k.length, &dims->total_length))
        return onnxd_op_error(node, "past and new keys are too many together");
    return NULL;
}

/* The mask broadcasts to [batch][q heads][q length][keys], but may have fewer keys. */
static onnxd_status *check_mask(const onnxd_node *node, const onnxd_shape *mask,
                                const attention_dims *dims)
{
    const int64_t whole[4] = {dims->q.batch, dims->q.heads, dims->q.length, dims->total_length};
    if (mask == NULL || mask->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (mask->rank < 1 || mask->rank > 4)
        return onnxd_op_error(node, "input 3 has rank %" PRId32 ", allowed are 1 to 4", mask->rank);
    for (int32_t i = 0; i < mask->rank; i++) {
        int64_t dim = mask->dims[i], limit = whole[4 - mask->rank + i];
        if (!onnxd_dim_is_static(dim) || !onnxd_dim_is_static(limit))
            continue;
        if (i == mask->rank - 1 ? dim <= limit : dim == 1 || dim == limit)
            continue;
        return onnxd_op_error(
            node, "dimension %" PRId32 " of input 3 is %" PRId64 ", allowed is %s%" PRId64, i, dim,
            i == mask->rank - 1 ? "at most " : "1 or ", limit);
    }
    return NULL;
}

/* `shapes` has an entry per input, NULL where absent. */
static onnxd_status *resolve(const onnxd_node *node, const onnxd_attention_params *params,
                             const onnxd_shape *const *shapes, attention_dims *out)
{
    attention_dims dims = {.rank = ONNXD_RANK_UNKNOWN};
    ONNXD_TRY(resolve_rank(node, params, shapes, &dims.rank));
    ONNXD_TRY(unpack(node, Q, shapes[Q], params->q_heads, &dims.q));
    ONNXD_TRY(unpack(node, K, shapes[K], params->kv_heads, &dims.k));
    ONNXD_TRY(unpack(node, V, shapes[V], params->kv_heads, &dims.v));
    ONNXD_TRY(resolve_past(node, shapes, &dims));
    ONNXD_TRY(agree(node, "batch size", Q, K, &dims.q.batch, dims.k.batch));
    ONNXD_TRY(agree(node, "batch size", Q, V, &dims.q.batch, dims.v.batch));
    ONNXD_TRY(agree(node, "head size", Q, K, &dims.q.size, dims.k.size));
    ONNXD_TRY(agree(node, "length", K, V, &dims.k.length, dims.v.length));
    ONNXD_TRY(agree(node, "number of heads", K, V, &dims.k.heads, dims.v.heads));
    if (onnxd_dim_is_static(dims.q.heads) && onnxd_dim_is_static(dims.k.heads) &&
        (dims.k.heads == 0 ? dims.q.heads != 0 : dims.q.heads % dims.k.heads != 0))
        return onnxd_op_error(node,
                              "%" PRId64 " heads of Q cannot share %" PRId64 " heads of K and V",
                              dims.q.heads, dims.k.heads);
    ONNXD_TRY(check_mask(node, shapes[MASK], &dims));
    const onnxd_shape *counts = shapes[KEY_COUNTS];
    if (counts != NULL && counts->rank != ONNXD_RANK_UNKNOWN) {
        if (counts->rank != 1)
            return onnxd_op_error(node, "input 6 has rank %" PRId32 ", but 1 is needed",
                                  counts->rank);
        ONNXD_TRY(agree(node, "batch size", Q, KEY_COUNTS, &dims.q.batch, counts->dims[0]));
    }
    *out = dims;
    return NULL;
}

static void set_output(onnxd_infer *context, uint32_t index, onnxd_dtype dtype,
                       const int64_t dims[4])
{
    if (!onnxd_op_has_output(context->node, index))
        return;
    context->outputs[index].dtype = dtype;
    context->outputs[index].shape = onnxd_shape_from(4, dims);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *shapes[INPUT_COUNT] = {&context->inputs[Q].shape, &context->inputs[K].shape,
                                              &context->inputs[V].shape};
    for (uint32_t i = MASK; i < context->input_count; i++)
        if (onnxd_op_has_input(context->node, i))
            shapes[i] = &context->inputs[i].shape;
    attention_dims d = {.rank = ONNXD_RANK_UNKNOWN};
    ONNXD_TRY(resolve(context->node, context->params, shapes, &d));
    context->outputs[Y].dtype = context->inputs[Q].dtype;
    if (d.rank == 4) {
        set_output(context, Y, context->inputs[Q].dtype,
                   (int64_t[]){d.q.batch, d.q.heads, d.q.length, d.v.size});
    } else if (d.rank == 3) {
        int64_t dims[] = {d.q.batch, d.q.length, ONNXD_DIM_UNKNOWN};
        if (onnxd_dim_is_static(d.v.size) && __builtin_mul_overflow(d.q.heads, d.v.size, &dims[2]))
            return onnxd_op_error(context->node,
                                  "%" PRId64 " heads of %" PRId64 " elements are too many",
                                  d.q.heads, d.v.size);
        context->outputs[Y].shape = onnxd_shape_from(3, dims);
    }
    set_output(context, PRESENT_KEY, context->inputs[K].dtype,
               (int64_t[]){d.q.batch, d.k.heads, d.total_length, d.q.size});
    set_output(context, PRESENT_VALUE, context->inputs[V].dtype,
               (int64_t[]){d.q.batch, d.k.heads, d.total_length, d.v.size});
    set_output(context, QK, context->inputs[Q].dtype,
               (int64_t[]){d.q.batch, d.q.heads, d.q.length, d.total_length});
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static onnxd_status *dims_of(const onnxd_compute *context, attention_dims *out)
{
    const onnxd_shape *shapes[INPUT_COUNT] = {&context->inputs[Q].shape, &context->inputs[K].shape,
                                              &context->inputs[V].shape};
    for (uint32_t i = MASK; i < context->input_count; i++)
        if (onnxd_tensor_view_is_present(&context->inputs[i]))
            shapes[i] = &context->inputs[i].shape;
    return resolve(context->node, context->params, shapes, out);
}

static onnxd_attention_operand operand_of(const onnxd_tensor_view *view, int64_t heads)
{
    const int64_t *dims = view->shape.dims;
    onnxd_attention_operand operand = {.data = onnxd_tensor_view_data(view), .dtype = view->dtype};
    if (view->shape.rank == 3) {
        operand.row = (size_t)dims[2];
        operand.head = heads == 0 ? 0 : operand.row / (size_t)heads;
        operand.batch = (size_t)dims[1] * operand.row;
    } else {
        operand.row = (size_t)dims[3];
        operand.head = (size_t)dims[2] * operand.row;
        operand.batch = (size_t)dims[1] * operand.head;
    }
    return operand;
}

static onnxd_attention_result result_of(const onnxd_tensor_view *view, int64_t heads)
{
    onnxd_attention_operand o = operand_of(view, heads);
    return (onnxd_attention_result){onnxd_tensor_view_data(view), o.dtype, o.batch, o.head, o.row};
}

static onnxd_attention_mask mask_of(const onnxd_tensor_view *view)
{
    const onnxd_shape *shape = &view->shape;
    onnxd_attention_mask mask = {.data = onnxd_tensor_view_data(view),
                                 .dtype = view->dtype,
                                 .is_boolean = view->dtype == ONNXD_BOOL,
                                 .filter = -(double)INFINITY,
                                 .length = (size_t)shape->dims[shape->rank - 1]};
    size_t *const strides[] = {&mask.row, &mask.head, &mask.batch};
    size_t stride = mask.length;
    for (int32_t i = shape->rank - 2, s = 0; i >= 0 && s < 3; i--, s++) {
        *strides[s] = shape->dims[i] == 1 ? 0 : stride;
        stride *= (size_t)shape->dims[i];
    }
    return mask;
}

/* Where the keys and values come from: one tensor each, if the present ones are outputs or there is
 * no past, else two. */
static void set_keys(const onnxd_compute *context, const attention_dims *d, onnxd_attention *a)
{
    const onnxd_tensor_view *key = onnxd_compute_output(context, PRESENT_KEY);
    const onnxd_tensor_view *value = onnxd_compute_output(context, PRESENT_VALUE);
    bool is_whole = key != NULL && value != NULL;
    a->k = operand_of(is_whole ? key : &context->inputs[K], d->k.heads);
    a->v = operand_of(is_whole ? value : &context->inputs[V], d->k.heads);
    a->kv_length = (size_t)(is_whole ? d->total_length : d->k.length);
    a->past_length = (size_t)(is_whole ? 0 : d->past_length);
    if (a->past_length != 0) {
        a->past_k = operand_of(&context->inputs[PAST_KEY], d->k.heads);
        a->past_v = operand_of(&context->inputs[PAST_VALUE], d->k.heads);
    }
}

static onnxd_attention attention_of(const onnxd_compute *context, const attention_dims *d)
{
    const onnxd_attention_params *params = context->params;
    onnxd_attention a = {.batch = (size_t)d->q.batch,
                         .q_heads = (size_t)d->q.heads,
                         .kv_heads = (size_t)d->k.heads,
                         .q_length = (size_t)d->q.length,
                         .head_size = (size_t)d->q.size,
                         .v_head_size = (size_t)d->v.size,
                         .is_causal = params->is_causal,
                         .left_window = params->left_window,
                         .right_window = params->right_window,
                         .offset = d->past_length,
                         .scale = params->has_scale ? (double)params->scale
                                                    : 1 / sqrt((double)d->q.size),
                         .softcap = (double)params->softcap,
                         .softmax_dtype = params->softmax_dtype,
                         .qk_mode = (onnxd_attention_qk)params->qk_mode};
    a.q = operand_of(&context->inputs[Q], d->q.heads);
    set_keys(context, d, &a);
    if (onnxd_compute_input(context, MASK) != NULL)
        a.masks[a.mask_count++] = mask_of(&context->inputs[MASK]);
    a.y = result_of(&context->outputs[Y], d->q.heads);
    if (onnxd_compute_output(context, QK) != NULL)
        a.qk = result_of(&context->outputs[QK], d->q.heads);
    return a;
}

/* present = past, then new, per batch entry and head. `size` is a head's in elements. */
static void store_present(const onnxd_compute *context, const attention_dims *d, uint32_t output,
                          int64_t size)
{
    const onnxd_tensor_view *present = onnxd_compute_output(context, output);
    if (present == NULL || onnxd_tensor_view_count(present) == 0)
        return;
    const onnxd_tensor_view *fresh = &context->inputs[output == PRESENT_KEY ? K : V];
    const onnxd_tensor_view *past =
        onnxd_compute_input(context, output == PRESENT_KEY ? PAST_KEY : PAST_VALUE);
    onnxd_attention_operand from = operand_of(fresh, d->k.heads);
    size_t element = onnxd_dtype_size(fresh->dtype), row = (size_t)size * element;
    size_t past_bytes = (size_t)d->past_length * row;
    const char *past_at = past == NULL ? NULL : onnxd_tensor_view_data(past);
    char *to = onnxd_tensor_view_data(present);
    for (size_t b = 0; b < (size_t)d->q.batch; b++)
        for (size_t h = 0; h < (size_t)d->k.heads; h++) {
            if (past_at != NULL && past_bytes != 0) {
                memcpy(to, past_at, past_bytes);
                past_at += past_bytes;
                to += past_bytes;
            }
            const char *source = from.data;
            for (size_t s = 0; s < (size_t)d->k.length; s++, to += row)
                memcpy(to, source + (b * from.batch + h * from.head + s * from.row) * element, row);
        }
}

/* nonpad_kv_seqlen: checked, and the positions of the first queries that follow from it. */
static onnxd_status *set_key_counts(const onnxd_compute *context, const attention_dims *d,
                                    onnxd_attention *a, int64_t *offsets)
{
    const onnxd_tensor_view *view = onnxd_compute_input(context, KEY_COUNTS);
    if (view == NULL)
        return NULL;
    const int64_t *counts = onnxd_tensor_view_data(view);
    for (int64_t b = 0; b < d->q.batch; b++) {
        if (counts[b] < 0 || counts[b] > d->total_length)
            return onnxd_op_error(context->node,
                                  "element %" PRId64 " of input 6 is %" PRId64
                                  ", allowed is 0 to %" PRId64,
                                  b, counts[b], d->total_length);
        offsets[b] = counts[b] - d->q.length;
    }
    a->key_counts = counts;
    a->offsets = offsets;
    return NULL;
}

/* Whether there is a result to make. Without, the other dimensions may be huge. */
static bool has_work(const onnxd_compute *context)
{
    const onnxd_tensor_view *scores = onnxd_compute_output(context, QK);
    return onnxd_tensor_view_count(&context->outputs[Y]) != 0 ||
           (scores != NULL && onnxd_tensor_view_count(scores) != 0);
}

/* How many offsets of batch entries come before the core's scratch memory. */
static size_t offset_count(const onnxd_compute *context, const attention_dims *d)
{
    return onnxd_compute_input(context, KEY_COUNTS) != NULL ? (size_t)d->q.batch : 0;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    attention_dims d = {.rank = ONNXD_RANK_UNKNOWN};
    if (!has_work(context))
        return 0;
    onnxd_status *status = dims_of(context, &d);
    if (status != NULL) {
        onnxd_status_free(status);
        return 0;
    }
    onnxd_attention a = attention_of(context, &d);
    size_t bytes;
    if (onnxd_size_mul(offset_count(context, &d), sizeof(int64_t), &bytes) &&
        onnxd_size_add(bytes, onnxd_attention_workspace_bytes(&a), &bytes))
        return bytes;
    return SIZE_MAX;
}

static onnxd_status *compute(const onnxd_compute *context)
{
    attention_dims d = {.rank = ONNXD_RANK_UNKNOWN};
    ONNXD_TRY(dims_of(context, &d));
    store_present(context, &d, PRESENT_KEY, d.q.size);
    store_present(context, &d, PRESENT_VALUE, d.v.size);
    if (!has_work(context))
        return NULL;
    onnxd_attention a = attention_of(context, &d);
    int64_t *offsets = context->workspace;
    ONNXD_TRY(set_key_counts(context, &d, &a, offsets));
    onnxd_attention_run(&a, offsets + offset_count(context, &d));
    return NULL;
}

#define ATTENTION(first, last, inputs_max)                                                         \
    {                                                                                              \
        .op_type = "Attention", .domain = "", .since = first, .until = last, .min_inputs = 3,      \
        .max_inputs = inputs_max, .min_outputs = 1, .max_outputs = 4,                              \
        .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},                                \
                   {.types = ONNXD_SET_FLOATS, .type_variable = 1},                                \
                   {.types = ONNXD_SET_FLOATS, .type_variable = 2},                                \
                   {.types = ONNXD_SET_NUMBERS | ONNXD_SET(BOOL), .is_optional = true},            \
                   {.types = ONNXD_SET_FLOATS, .type_variable = 1, .is_optional = true},           \
                   {.types = ONNXD_SET_FLOATS, .type_variable = 2, .is_optional = true},           \
                   {.types = ONNXD_SET(INT64), .is_optional = true}},                              \
        .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},                               \
                    {.types = ONNXD_SET_FLOATS, .type_variable = 1, .is_optional = true},          \
                    {.types = ONNXD_SET_FLOATS, .type_variable = 2, .is_optional = true},          \
                    {.types = ONNXD_SET_FLOATS, .type_variable = 1, .is_optional = true}},         \
        .params_bytes = sizeof(onnxd_attention_params), .parse = parse, .infer = infer,            \
        .workspace_bytes = workspace_bytes, .compute = compute                                     \
    }

const onnxd_op_def onnxd_op_attention[] = {
    ATTENTION(23, 23, 6),
    ATTENTION(24, 24, 7),
    ATTENTION(25, ONNXD_OPSET_MAX, 7),
    {.op_type = NULL},
};

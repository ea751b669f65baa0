#include <inttypes.h>

#include "ops/contrib/attention_mask.h"
#include "ops/contrib/multi_head_attention.h"
#include "ops/support.h"

/* An extent is better than a symbol, a symbol than nothing; the first stays. */
static void merge(int64_t *inout, int64_t other)
{
    if (!onnxd_dim_is_static(*inout) && (onnxd_dim_is_static(other) || *inout == ONNXD_DIM_UNKNOWN))
        *inout = other;
}

static onnxd_status *split_hidden(const onnxd_node *node, uint32_t index, int64_t hidden,
                                  int64_t heads, int64_t *inout_size)
{
    if (!onnxd_dim_is_static(hidden))
        return NULL;
    if (hidden % heads != 0)
        return onnxd_op_error(node,
                              "the last dimension of input %" PRIu32 " is %" PRId64
                              ", which %" PRId64 " heads do not divide",
                              index, hidden, heads);
    merge(inout_size, hidden / heads);
    return NULL;
}

/* What Q, K or V, of any form, says; `size` and `length` are its own. */
static onnxd_status *read_operand(const onnxd_node *node, uint32_t index, const onnxd_shape *shape,
                                  int64_t heads, onnxd_mha_dims *d, int64_t *size, int64_t *length)
{
    if (shape == NULL || shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    const int64_t *dims = shape->dims;
    if (shape->rank < 3)
        return NULL; /* refused by check_operands() */
    merge(&d->batch, dims[0]);
    merge(length, dims[shape->rank == 4 ? 2 : 1]);
    if (shape->rank == 3)
        return split_hidden(node, index, dims[2], heads, size);
    merge(size, dims[shape->rank - 1]);
    return NULL;
}

/* `shapes` has an entry per input, NULL where absent. */
static onnxd_status *resolve(const onnxd_node *node, const onnxd_mha_params *params,
                             const onnxd_shape *const *shapes, onnxd_mha_dims *out)
{
    static const int64_t unknown = ONNXD_DIM_UNKNOWN;
    onnxd_mha_dims d = {unknown, unknown, 0, unknown, unknown, unknown, unknown};
    const onnxd_shape *k = shapes[ONNXD_MHA_K], *v = shapes[ONNXD_MHA_V];
    const onnxd_shape *past = shapes[ONNXD_MHA_PAST_KEY];
    ONNXD_TRY(read_operand(node, ONNXD_MHA_Q, shapes[ONNXD_MHA_Q], params->heads, &d, &d.size,
                           &d.queries));
    ONNXD_TRY(read_operand(node, ONNXD_MHA_K, k, params->heads, &d, &d.size, &d.fresh));
    ONNXD_TRY(read_operand(node, ONNXD_MHA_V, v, params->heads, &d, &d.v_size, &d.fresh));
    if (k == NULL)
        d.fresh = d.queries;
    if (v == NULL)
        d.v_size = d.size;
    if (past != NULL)
        d.past = past->rank == 4 ? past->dims[2] : unknown;
    if (past == NULL)
        d.keys = d.fresh;
    else if (onnxd_dim_is_static(d.past) && onnxd_dim_is_static(d.fresh) &&
             __builtin_add_overflow(d.past, d.fresh, &d.keys))
        return onnxd_op_error(node, "past and new keys are too many together");
    *out = d;
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int32_t rank_of(const onnxd_infer *context, uint32_t index)
{
    return onnxd_op_has_input(context->node, index) ? context->inputs[index].shape.rank
                                                    : ONNXD_RANK_UNKNOWN;
}

static onnxd_status *bad_rank(const onnxd_infer *context, uint32_t index, const char *allowed)
{
    return onnxd_op_error(context->node, "input %" PRIu32 " has rank %" PRId32 ", allowed %s",
                          index, rank_of(context, index), allowed);
}

/* heads * size, unknown where the size is. */
static onnxd_status *hidden_of(const onnxd_infer *context, int64_t size, int64_t *out_hidden)
{
    const onnxd_mha_params *params = context->params;
    *out_hidden = ONNXD_DIM_UNKNOWN;
    if (onnxd_dim_is_static(size) && __builtin_mul_overflow(params->heads, size, out_hidden))
        return onnxd_op_error(context->node,
                              "%" PRId64 " heads of %" PRId64 " elements are too many",
                              params->heads, size);
    return NULL;
}

static onnxd_status *check_keys(const onnxd_infer *context, const onnxd_mha_dims *d)
{
    const onnxd_mha_params *params = context->params;
    int32_t rank = rank_of(context, ONNXD_MHA_K), v_rank = rank_of(context, ONNXD_MHA_V);
    bool has_value = onnxd_op_has_input(context->node, ONNXD_MHA_V);
    int64_t hidden, v_hidden;
    ONNXD_TRY(hidden_of(context, d->size, &hidden));
    ONNXD_TRY(hidden_of(context, d->v_size, &v_hidden));
    if (!has_value)
        return onnxd_infer_check_dims(context, ONNXD_MHA_K, 5,
                                      (int64_t[]){d->batch, d->fresh, params->heads, 2, d->size});
    if (rank != ONNXD_RANK_UNKNOWN && rank != 3 && rank != 4)
        return bad_rank(context, ONNXD_MHA_K, "are 3 and 4 with a value");
    if (v_rank == 4 || rank == 4) {
        ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_MHA_K, 4,
                                         (int64_t[]){d->batch, params->heads, d->fresh, d->size}));
        return onnxd_infer_check_dims(context, ONNXD_MHA_V, 4,
                                      (int64_t[]){d->batch, params->heads, d->fresh, d->v_size});
    }
    ONNXD_TRY(
        onnxd_infer_check_dims(context, ONNXD_MHA_K, 3, (int64_t[]){d->batch, d->fresh, hidden}));
    return onnxd_infer_check_dims(context, ONNXD_MHA_V, 3,
                                  (int64_t[]){d->batch, d->fresh, v_hidden});
}

static onnxd_status *check_operands(const onnxd_infer *context, const onnxd_mha_dims *d)
{
    const onnxd_mha_params *params = context->params;
    int64_t hidden;
    ONNXD_TRY(hidden_of(context, d->size, &hidden));
    if (!onnxd_op_has_input(context->node, ONNXD_MHA_K)) {
        if (onnxd_op_has_input(context->node, ONNXD_MHA_V))
            return onnxd_op_error(context->node, "input 2, value, needs input 1, key");
        return onnxd_infer_check_dims(context, ONNXD_MHA_Q, 5,
                                      (int64_t[]){d->batch, d->queries, params->heads, 3, d->size});
    }
    ONNXD_TRY(
        onnxd_infer_check_dims(context, ONNXD_MHA_Q, 3, (int64_t[]){d->batch, d->queries, hidden}));
    return check_keys(context, d);
}

static onnxd_status *check_past(const onnxd_infer *context, const onnxd_mha_dims *d)
{
    const onnxd_mha_params *params = context->params;
    const onnxd_node *node = context->node;
    if (onnxd_op_has_input(node, ONNXD_MHA_PAST_KEY) !=
        onnxd_op_has_input(node, ONNXD_MHA_PAST_VALUE))
        return onnxd_op_error(node, "inputs 6 and 7, past_key and past_value, must be given "
                                    "together");
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_MHA_PAST_KEY, 4,
                                     (int64_t[]){d->batch, params->heads, d->past, d->size}));
    return onnxd_infer_check_dims(context, ONNXD_MHA_PAST_VALUE, 4,
                                  (int64_t[]){d->batch, params->heads, d->past, d->v_size});
}

/* The bias of the projections, the mask, and the bias of the scores. */
static onnxd_status *check_others(const onnxd_infer *context, const onnxd_mha_dims *d)
{
    const onnxd_mha_params *params = context->params;
    int64_t hidden, v_hidden, sum = ONNXD_DIM_UNKNOWN;
    ONNXD_TRY(hidden_of(context, d->size, &hidden));
    ONNXD_TRY(hidden_of(context, d->v_size, &v_hidden));
    if (onnxd_dim_is_static(hidden) && onnxd_dim_is_static(v_hidden) &&
        (__builtin_mul_overflow(hidden, 2, &sum) || __builtin_add_overflow(sum, v_hidden, &sum)))
        return onnxd_op_error(context->node, "the heads have too many elements together");
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_MHA_BIAS, 1, &sum));
    if (onnxd_op_has_input(context->node, ONNXD_MHA_MASK)) {
        onnxd_mask_extent extent = {d->batch, d->queries, d->keys, d->fresh};
        ONNXD_TRY(onnxd_mask_check(context->node, ONNXD_MHA_MASK,
                                   &context->inputs[ONNXD_MHA_MASK].shape, &extent));
    }
    return onnxd_mask_check_bias(context, ONNXD_MHA_ATTENTION_BIAS, d->batch, params->heads,
                                 d->queries, d->keys);
}

static void set_output(onnxd_infer *context, uint32_t index, int32_t rank, const int64_t *dims)
{
    if (!onnxd_op_has_output(context->node, index))
        return;
    context->outputs[index] = (onnxd_tensor_type){.dtype = context->inputs[ONNXD_MHA_Q].dtype,
                                                  .shape = onnxd_shape_from(rank, dims)};
}

onnxd_status *onnxd_mha_infer(onnxd_infer *context)
{
    const onnxd_mha_params *params = context->params;
    const onnxd_shape *shapes[ONNXD_MHA_INPUTS] = {NULL};
    onnxd_mha_dims d;
    int64_t v_hidden;
    for (uint32_t i = 0; i < context->input_count; i++)
        if (onnxd_op_has_input(context->node, i))
            shapes[i] = &context->inputs[i].shape;
    ONNXD_TRY(resolve(context->node, params, shapes, &d));
    ONNXD_TRY(check_operands(context, &d));
    ONNXD_TRY(check_past(context, &d));
    ONNXD_TRY(check_others(context, &d));
    ONNXD_TRY(hidden_of(context, d.v_size, &v_hidden));
    set_output(context, ONNXD_MHA_Y, 3, (int64_t[]){d.batch, d.queries, v_hidden});
    set_output(context, ONNXD_MHA_PRESENT_KEY, 4,
               (int64_t[]){d.batch, params->heads, d.keys, d.size});
    set_output(context, ONNXD_MHA_PRESENT_VALUE, 4,
               (int64_t[]){d.batch, params->heads, d.keys, d.v_size});
    set_output(context, ONNXD_MHA_QK, 4, (int64_t[]){d.batch, params->heads, d.queries, d.keys});
    return NULL;
}

/* ---- for the kernel -------------------------------------------------------------------------- */

onnxd_mha_dims onnxd_mha_dims_of(const onnxd_compute *context)
{
    const onnxd_shape *shapes[ONNXD_MHA_INPUTS] = {NULL};
    onnxd_mha_dims d = {0};
    for (uint32_t i = 0; i < ONNXD_MHA_INPUTS; i++) {
        const onnxd_tensor_view *view = onnxd_compute_input(context, i);
        shapes[i] = view == NULL ? NULL : &view->shape;
    }
    onnxd_status_free(resolve(context->node, context->params, shapes, &d));
    return d;
}

bool onnxd_mha_is_by_head(const onnxd_compute *context)
{
    const onnxd_tensor_view *v = onnxd_compute_input(context, ONNXD_MHA_V);
    return v != NULL && v->shape.rank == 4;
}

#include <inttypes.h>

#include "ops/choice.h"
#include "ops/contrib/attention_mask.h"
#include "ops/contrib/group_query.h"
#include "ops/support.h"

/* ---- attributes ------------------------------------------------------------------------------ */

/* Caches of other types and layouts are what other runtimes' kernels have. */
static onnxd_status *refuse_others(const onnxd_node *node)
{
    static const char *const quantizations[] = {"k_quant_type", "v_quant_type"};
    static const char *const kinds[] = {"NONE", "PER_TENSOR", "PER_CHANNEL"};
    int64_t is_sliding = 0, bits = 0;
    ONNXD_TRY(onnxd_attribute_int(node, "sliding_window_cache", 0, 1, &is_sliding));
    if (is_sliding != 0)
        return onnxd_op_error_code(ONNXD_UNIMPLEMENTED, node,
                                   "attribute 'sliding_window_cache' is 1, supported is 0");
    ONNXD_TRY(onnxd_attribute_int(node, "kv_cache_bit_width", 0, 8, &bits));
    for (size_t i = 0; i < ONNXD_COUNT(quantizations); i++) {
        size_t choice = 0;
        ONNXD_TRY(onnxd_op_choice(node, quantizations[i], kinds, ONNXD_COUNT(kinds), &choice));
        if (choice != 0)
            return onnxd_op_error_code(ONNXD_UNIMPLEMENTED, node,
                                       "attribute '%s' is '%s', supported is 'NONE'",
                                       quantizations[i], kinds[choice]);
    }
    return NULL;
}

static onnxd_status *check_params(const onnxd_node *node, const onnxd_gqa_params *p)
{
    if (p->heads % p->kv_heads != 0)
        return onnxd_op_error(node,
                              "%" PRId64 " heads of Q cannot share %" PRId64 " heads of K and V",
                              p->heads, p->kv_heads);
    if (p->is_causal == 0 && p->window != -1)
        return onnxd_op_error(node,
                              "attribute 'local_window_size' is %" PRId64
                              ", but without 'causal' only -1 is allowed",
                              p->window);
    if (p->qk_output != 0 && !onnxd_op_has_output(node, ONNXD_GQA_QK))
        return onnxd_op_error(node, "attribute 'qk_output' is %" PRId64 ", but output 3 is absent",
                              p->qk_output);
    if (p->qk_output == 0 && onnxd_op_has_output(node, ONNXD_GQA_QK))
        return onnxd_op_error(node, "output 3 needs the attribute 'qk_output' to be 1 or 2");
    return NULL;
}

onnxd_status *onnxd_gqa_parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"causal",
                                        "do_rotary",
                                        "k_norm_epsilon",
                                        "k_quant_type",
                                        "kv_cache_bit_width",
                                        "kv_num_heads",
                                        "local_window_size",
                                        "num_heads",
                                        "q_norm_epsilon",
                                        "qk_norm_epsilon",
                                        "qk_output",
                                        "rotary_interleaved",
                                        "scale",
                                        "sliding_window_cache",
                                        "smooth_softmax",
                                        "softcap",
                                        "v_quant_type",
                                        NULL};
    onnxd_gqa_params *p = out;
    p->is_causal = 1;
    p->window = p->is_smooth = -1;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "num_heads"));
    ONNXD_TRY(onnxd_attribute_require(node, "kv_num_heads"));
    ONNXD_TRY(onnxd_attribute_int(node, "num_heads", 1, INT32_MAX, &p->heads));
    ONNXD_TRY(onnxd_attribute_int(node, "kv_num_heads", 1, INT32_MAX, &p->kv_heads));
    ONNXD_TRY(onnxd_attribute_int(node, "do_rotary", 0, 1, &p->turns));
    ONNXD_TRY(onnxd_attribute_int(node, "rotary_interleaved", 0, 1, &p->is_interleaved));
    ONNXD_TRY(onnxd_attribute_int(node, "causal", 0, 1, &p->is_causal));
    ONNXD_TRY(onnxd_attribute_int(node, "local_window_size", -1, INT32_MAX, &p->window));
    ONNXD_TRY(onnxd_attribute_int(node, "qk_output", 0, 2, &p->qk_output));
    ONNXD_TRY(onnxd_attribute_int(node, "smooth_softmax", -1, 1, &p->is_smooth));
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &p->scale));
    ONNXD_TRY(onnxd_attribute_float(node, "softcap", &p->softcap));
    /* Without the inputs that they go with, which are refused, these mean nothing. */
    ONNXD_TRY(onnxd_attribute_check_kind(node, "k_norm_epsilon", ONNXD_ATTRIBUTE_FLOAT));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "q_norm_epsilon", ONNXD_ATTRIBUTE_FLOAT));
    ONNXD_TRY(onnxd_attribute_check_kind(node, "qk_norm_epsilon", ONNXD_ATTRIBUTE_FLOAT));
    ONNXD_TRY(refuse_others(node));
    return check_params(node, p);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Elements of a head: of packed inputs all heads are Q's. */
static onnxd_status *head_size_of(const onnxd_node *node, const onnxd_gqa_params *p,
                                  const onnxd_shape *q, bool is_packed, int64_t *out_size)
{
    int64_t heads = p->heads + (is_packed ? 2 * p->kv_heads : 0);
    *out_size = ONNXD_DIM_UNKNOWN;
    if (q == NULL || q->rank != 3 || !onnxd_dim_is_static(q->dims[2]))
        return NULL;
    if (q->dims[2] % heads != 0)
        return onnxd_op_error(node,
                              "the last dimension of input 0 is %" PRId64 ", which %" PRId64
                              " heads do not divide",
                              q->dims[2], heads);
    *out_size = q->dims[2] / heads;
    return NULL;
}

/* `total` is the value of the input or unknown. */
static onnxd_status *resolve(const onnxd_node *node, const onnxd_gqa_params *p,
                             const onnxd_shape *q, bool is_packed, const onnxd_shape *past,
                             int64_t total, onnxd_gqa_dims *out)
{
    static const int64_t unknown = ONNXD_DIM_UNKNOWN;
    onnxd_gqa_dims d = {unknown, unknown, unknown, 0, unknown, total, unknown};
    if (q != NULL && q->rank == 3) {
        d.batch = q->dims[0];
        d.length = q->dims[1];
    }
    ONNXD_TRY(head_size_of(node, p, q, is_packed, &d.size));
    if (past != NULL)
        d.past = past->rank == 4 ? past->dims[2] : unknown;
    if (onnxd_dim_is_static(total) && onnxd_dim_is_static(d.past))
        d.capacity = total > d.past ? total : d.past;
    if (onnxd_dim_is_static(d.past) && onnxd_dim_is_static(d.length)) {
        if (__builtin_add_overflow(d.past, d.length, &d.keys))
            return onnxd_op_error(node, "past and new keys are too many together");
        if (onnxd_dim_is_static(total) && total < d.keys)
            d.keys = total;
    }
    *out = d;
    return NULL;
}

static onnxd_status *check_caches(const onnxd_infer *context, const onnxd_gqa_dims *d)
{
    const onnxd_gqa_params *p = context->params;
    const int64_t cache[] = {d->batch, p->kv_heads, d->past, d->size};
    if (onnxd_op_has_input(context->node, ONNXD_GQA_PAST_KEY) !=
        onnxd_op_has_input(context->node, ONNXD_GQA_PAST_VALUE))
        return onnxd_op_error(context->node, "inputs 3 and 4, past_key and past_value, must be "
                                             "given together");
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_PAST_KEY, 4, cache));
    return onnxd_infer_check_dims(context, ONNXD_GQA_PAST_VALUE, 4, cache);
}

static onnxd_status *check_rotary(const onnxd_infer *context, const onnxd_gqa_dims *d)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_shape *cosines = &context->inputs[ONNXD_GQA_COSINES].shape;
    int64_t cache[] = {ONNXD_DIM_UNKNOWN, ONNXD_DIM_UNKNOWN};
    if (!onnxd_op_has_input(context->node, ONNXD_GQA_COSINES) ||
        !onnxd_op_has_input(context->node, ONNXD_GQA_SINES)) {
        if (p->turns != 0)
            return onnxd_op_error(context->node, "attribute 'do_rotary' is 1, which needs inputs 7 "
                                                 "and 8, the caches");
        return NULL;
    }
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_COSINES, 2, cache));
    if (cosines->rank == 2) {
        cache[0] = cosines->dims[0];
        cache[1] = cosines->dims[1];
    }
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_SINES, 2, cache));
    if (onnxd_dim_is_static(cache[1]) && onnxd_dim_is_static(d->size) && cache[1] > d->size / 2)
        return onnxd_op_error(context->node,
                              "input 7 has %" PRId64 " columns, more than half of a head's %" PRId64
                              " elements",
                              cache[1], d->size);
    return onnxd_infer_check_dims(context, ONNXD_GQA_POSITIONS, 2,
                                  (int64_t[]){d->batch, d->length});
}

static onnxd_status *refuse_inputs(const onnxd_infer *context)
{
    static const uint32_t refused[] = {ONNXD_GQA_K_SCALE, ONNXD_GQA_V_SCALE, ONNXD_GQA_Q_NORM,
                                       ONNXD_GQA_K_NORM};
    for (uint32_t i = 0; i < ONNXD_COUNT(refused); i++)
        if (onnxd_op_has_input(context->node, refused[i]))
            return onnxd_op_error_code(ONNXD_UNIMPLEMENTED, context->node,
                                       "input %" PRIu32 " is given, but %s is not supported",
                                       refused[i],
                                       i < 2 ? "a quantized cache" : "a normalisation of heads");
    return NULL;
}

static onnxd_status *check_others(const onnxd_infer *context, const onnxd_gqa_dims *d)
{
    const onnxd_gqa_params *p = context->params;
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_LAST, 1, &d->batch));
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_VALID, 1, &d->batch));
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_SINKS, 1, &p->heads));
    return onnxd_mask_check_bias(context, ONNXD_GQA_ATTENTION_BIAS, d->batch, p->heads, d->length,
                                 d->total);
}

static onnxd_status *check_operands(const onnxd_infer *context, const onnxd_gqa_dims *d)
{
    const onnxd_gqa_params *p = context->params;
    int64_t width = ONNXD_DIM_UNKNOWN;
    if (onnxd_op_has_input(context->node, ONNXD_GQA_K) !=
        onnxd_op_has_input(context->node, ONNXD_GQA_V))
        return onnxd_op_error(context->node, "inputs 1 and 2, key and value, must be given "
                                             "together");
    if (onnxd_dim_is_static(d->size) && __builtin_mul_overflow(p->kv_heads, d->size, &width))
        return onnxd_op_error(context->node,
                              "%" PRId64 " heads of %" PRId64 " elements are too many", p->kv_heads,
                              d->size);
    const int64_t dims[] = {d->batch, d->length, width};
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_Q, 3,
                                     (int64_t[]){d->batch, d->length, ONNXD_DIM_UNKNOWN}));
    ONNXD_TRY(onnxd_infer_check_dims(context, ONNXD_GQA_K, 3, dims));
    return onnxd_infer_check_dims(context, ONNXD_GQA_V, 3, dims);
}

/* Value of total_sequence_length, unknown where inference does not know it. */
static onnxd_status *read_total(const onnxd_infer *context, int64_t length, int64_t *out_total)
{
    onnxd_tensor_view view;
    *out_total = ONNXD_DIM_UNKNOWN;
    if (!onnxd_infer_known(context, ONNXD_GQA_TOTAL, &view))
        return NULL;
    if (onnxd_tensor_view_count(&view) != 1)
        return onnxd_op_error(context->node, "input 6 has %zu elements, needed is 1",
                              onnxd_tensor_view_count(&view));
    int64_t total = onnxd_op_int_at(&view, 0);
    int64_t least = onnxd_dim_is_static(length) ? length : 0;
    if (total < least)
        return onnxd_op_error(context->node,
                              "input 6, total_sequence_length, is %" PRId64
                              ", but at least %" PRId64 " is needed",
                              total, least);
    *out_total = total;
    return NULL;
}

static void set_outputs(onnxd_infer *context, const onnxd_gqa_dims *d)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_node *node = context->node;
    onnxd_dtype dtype = context->inputs[ONNXD_GQA_Q].dtype;
    /* The heads of Q are not more than its last dimension. */
    int64_t width = onnxd_dim_is_static(d->size) ? p->heads * d->size : ONNXD_DIM_UNKNOWN;
    context->outputs[ONNXD_GQA_Y] = (onnxd_tensor_type){
        .dtype = dtype, .shape = onnxd_shape_from(3, (int64_t[]){d->batch, d->length, width})};
    for (uint32_t i = ONNXD_GQA_PRESENT_KEY; i <= ONNXD_GQA_PRESENT_VALUE; i++)
        if (onnxd_op_has_output(node, i))
            context->outputs[i] = (onnxd_tensor_type){
                .dtype = dtype,
                .shape =
                    onnxd_shape_from(4, (int64_t[]){d->batch, p->kv_heads, d->capacity, d->size})};
    if (onnxd_op_has_output(node, ONNXD_GQA_QK))
        context->outputs[ONNXD_GQA_QK] = (onnxd_tensor_type){
            .dtype = dtype,
            .shape = onnxd_shape_from(4, (int64_t[]){d->batch, p->heads, d->length, d->total})};
}

onnxd_status *onnxd_gqa_infer(onnxd_infer *context)
{
    const onnxd_node *node = context->node;
    const onnxd_shape *q = &context->inputs[ONNXD_GQA_Q].shape;
    const onnxd_shape *past = onnxd_op_has_input(node, ONNXD_GQA_PAST_KEY)
                                  ? &context->inputs[ONNXD_GQA_PAST_KEY].shape
                                  : NULL;
    int64_t total, length = q->rank == 3 ? q->dims[1] : ONNXD_DIM_UNKNOWN;
    onnxd_gqa_dims d;
    ONNXD_TRY(refuse_inputs(context));
    ONNXD_TRY(read_total(context, length, &total));
    ONNXD_TRY(
        resolve(node, context->params, q, !onnxd_op_has_input(node, ONNXD_GQA_K), past, total, &d));
    ONNXD_TRY(check_operands(context, &d));
    ONNXD_TRY(check_caches(context, &d));
    ONNXD_TRY(check_rotary(context, &d));
    ONNXD_TRY(check_others(context, &d));
    set_outputs(context, &d);
    return NULL;
}

/* ---- for the kernel -------------------------------------------------------------------------- */

onnxd_gqa_dims onnxd_gqa_dims_of(const onnxd_compute *context, int64_t total)
{
    const onnxd_tensor_view *past = onnxd_compute_input(context, ONNXD_GQA_PAST_KEY);
    const onnxd_tensor_view *present = onnxd_compute_output(context, ONNXD_GQA_PRESENT_KEY);
    onnxd_gqa_dims d = {0};
    if (present == NULL)
        present = onnxd_compute_output(context, ONNXD_GQA_PRESENT_VALUE);
    onnxd_status_free(resolve(context->node, context->params, &context->inputs[ONNXD_GQA_Q].shape,
                              onnxd_compute_input(context, ONNXD_GQA_K) == NULL,
                              past == NULL ? NULL : &past->shape, total, &d));
    d.capacity = present != NULL ? present->shape.dims[2] : d.past + d.length;
    return d;
}

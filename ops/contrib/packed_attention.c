#include "ops/contrib/packed_attention.h"

#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/attention_mask.h"
#include "ops/contrib/attention_pieces.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, WEIGHTS, BIAS };
enum { Y, PRESENT };

/* What only other runtimes' kernels do. */
static onnxd_status *refuse(const onnxd_node *node, const char *name)
{
    int64_t value = 0;
    ONNXD_TRY(onnxd_attribute_int(node, name, 0, 1, &value));
    if (value == 0)
        return NULL;
    return onnxd_op_error_code(ONNXD_UNIMPLEMENTED, node, "attribute '%s' is 1, supported is 0",
                               name);
}

onnxd_status *onnxd_packed_attention_parse(const onnxd_node *node, const char *const *names,
                                           const onnxd_packed_form *form,
                                           onnxd_packed_attention_params *params)
{
    int64_t rotary_size = 0;
    params->form = form;
    params->filter = -10000;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "num_heads"));
    ONNXD_TRY(onnxd_attribute_int(node, "num_heads", 1, INT32_MAX, &params->heads));
    ONNXD_TRY(onnxd_attribute_int(node, "unidirectional", 0, 1, &params->is_unidirectional));
    ONNXD_TRY(onnxd_attribute_int(node, "rotary_embedding_dim", 0, INT32_MAX, &rotary_size));
    ONNXD_TRY(onnxd_attribute_ints(node, "qkv_hidden_sizes", 0, 3, 1, INT32_MAX, params->sizes,
                                   &params->size_count));
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &params->scale));
    ONNXD_TRY(onnxd_attribute_float(node, "mask_filter_value", &params->filter));
    ONNXD_TRY(refuse(node, "do_rotary"));
    ONNXD_TRY(refuse(node, "past_present_share_buffer"));
    if (params->size_count != 0 && params->size_count != 3)
        return onnxd_op_error(node,
                              "attribute 'qkv_hidden_sizes' has %zu values, allowed are 0 and "
                              "3",
                              params->size_count);
    for (size_t i = 0; i < params->size_count; i++)
        if (params->sizes[i] % params->heads != 0 || params->sizes[0] != params->sizes[1])
            return onnxd_op_error(
                node,
                "attribute 'qkv_hidden_sizes' is %" PRId64 ", %" PRId64 ", %" PRId64
                ", but Q and K have one size and %" PRId64 " heads divide all",
                params->sizes[0], params->sizes[1], params->sizes[2], params->heads);
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Unknown ones are below 0 during inference. `hidden` and `v_hidden` are all heads together. */
typedef struct attention_dims {
    int64_t batch, length, width, past, keys;
    int64_t hidden, v_hidden;
} attention_dims;

static onnxd_status *set_hidden(const onnxd_node *node, const onnxd_packed_attention_params *params,
                                int64_t columns, attention_dims *d)
{
    if (params->size_count != 0) {
        d->hidden = params->sizes[0];
        d->v_hidden = params->sizes[2];
        int64_t sum = 2 * d->hidden + d->v_hidden;
        if (onnxd_dim_is_static(columns) && columns != sum)
            return onnxd_op_error(node,
                                  "input 1 has %" PRId64 " columns, but 'qkv_hidden_sizes' sum to "
                                  "%" PRId64,
                                  columns, sum);
        return NULL;
    }
    if (!onnxd_dim_is_static(columns))
        return NULL;
    if (columns % 3 != 0 || columns / 3 % params->heads != 0)
        return onnxd_op_error(node,
                              "input 1 has %" PRId64 " columns, which three times %" PRId64
                              " heads do not divide",
                              columns, params->heads);
    d->hidden = d->v_hidden = columns / 3;
    return NULL;
}

/* Shapes of inputs are NULL where absent. */
static onnxd_status *resolve(const onnxd_node *node, const onnxd_packed_attention_params *params,
                             const onnxd_shape *x, const onnxd_shape *weights,
                             const onnxd_shape *past, attention_dims *out)
{
    static const int64_t unknown = ONNXD_DIM_UNKNOWN;
    attention_dims d = {unknown, unknown, unknown, 0, unknown, unknown, unknown};
    if (x != NULL && x->rank == 3) {
        d.batch = x->dims[0];
        d.length = x->dims[1];
        d.width = x->dims[2];
    }
    int64_t columns = weights != NULL && weights->rank == 2 ? weights->dims[1] : unknown;
    ONNXD_TRY(set_hidden(node, params, columns, &d));
    if (past != NULL)
        d.past = past->rank == 5 ? past->dims[3] : unknown;
    if (onnxd_dim_is_static(d.past) && onnxd_dim_is_static(d.length) &&
        __builtin_add_overflow(d.past, d.length, &d.keys))
        return onnxd_op_error(node, "past and new keys are too many together");
    if (past == NULL)
        d.keys = d.length;
    *out = d;
    return NULL;
}

static onnxd_status *check_cache(const onnxd_infer *context, const attention_dims *d,
                                 int64_t head_size)
{
    const onnxd_packed_attention_params *params = context->params;
    bool has_cache = onnxd_op_has_input(context->node, params->form->past) ||
                     onnxd_op_has_output(context->node, PRESENT);
    if (has_cache && onnxd_dim_is_static(d->hidden) && onnxd_dim_is_static(d->v_hidden) &&
        d->hidden != d->v_hidden)
        return onnxd_op_error(context->node,
                              "with a past or present, K and V have one hidden size, but they have "
                              "%" PRId64 " and %" PRId64,
                              d->hidden, d->v_hidden);
    return onnxd_infer_check_dims(
        context, params->form->past, 5,
        (int64_t[]){2, d->batch, params->heads, ONNXD_DIM_UNKNOWN, head_size});
}

static onnxd_status *check_inputs(const onnxd_infer *context, const attention_dims *d)
{
    const onnxd_packed_attention_params *params = context->params;
    int64_t columns = ONNXD_DIM_UNKNOWN, head_size = ONNXD_DIM_UNKNOWN;
    if (onnxd_dim_is_static(d->hidden)) {
        columns = 2 * d->hidden + d->v_hidden;
        head_size = d->hidden / params->heads;
    }
    ONNXD_TRY(onnxd_infer_check_dims(context, X, 3, (int64_t[]){d->batch, d->length, d->width}));
    ONNXD_TRY(onnxd_infer_check_dims(context, WEIGHTS, 2, (int64_t[]){d->width, columns}));
    ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 1, &columns));
    ONNXD_TRY(check_cache(context, d, head_size));
    const onnxd_packed_form *form = params->form;
    if (form->score_bias != 0)
        ONNXD_TRY(onnxd_mask_check_bias(context, form->score_bias, d->batch, params->heads,
                                        d->length, d->keys));
    if (form->past_length != 0 && onnxd_op_has_input(context->node, form->past_length))
        return onnxd_op_error_code(ONNXD_UNIMPLEMENTED, context->node,
                                   "input %" PRIu32
                                   ", past_sequence_length, belongs to the attribute "
                                   "'past_present_share_buffer', which is not supported",
                                   form->past_length);
    if (!onnxd_op_has_input(context->node, form->mask))
        return NULL;
    onnxd_mask_extent extent = {d->batch, d->length, d->keys, d->length};
    return onnxd_mask_check(context->node, form->mask, &context->inputs[form->mask].shape, &extent);
}

onnxd_status *onnxd_packed_attention_infer(onnxd_infer *context)
{
    const onnxd_packed_attention_params *params = context->params;
    uint32_t past = params->form->past;
    attention_dims d;
    ONNXD_TRY(
        resolve(context->node, params, &context->inputs[X].shape, &context->inputs[WEIGHTS].shape,
                onnxd_op_has_input(context->node, past) ? &context->inputs[past].shape : NULL, &d));
    ONNXD_TRY(check_inputs(context, &d));
    onnxd_dtype dtype = context->inputs[params->form->real].dtype;
    context->outputs[Y] = (onnxd_tensor_type){
        .dtype = dtype, .shape = onnxd_shape_from(3, (int64_t[]){d.batch, d.length, d.v_hidden})};
    if (onnxd_op_has_output(context->node, PRESENT)) {
        int64_t size = onnxd_dim_is_static(d.hidden) ? d.hidden / params->heads : ONNXD_DIM_UNKNOWN;
        context->outputs[PRESENT] = (onnxd_tensor_type){
            .dtype = dtype,
            .shape = onnxd_shape_from(5, (int64_t[]){2, d.batch, params->heads, d.keys, size})};
    }
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* Scratch memory. */
typedef struct pieces {
    float *qkv, *row;
    uint8_t *mask;
    void *product, *core;
} pieces;

/* An input that the operator may not even know. */
static const onnxd_tensor_view *input_at(const onnxd_compute *context, uint32_t index)
{
    return index == 0 ? NULL : onnxd_compute_input(context, index);
}

static attention_dims dims_of(const onnxd_compute *context)
{
    const onnxd_packed_attention_params *params = context->params;
    const onnxd_tensor_view *past = input_at(context, params->form->past);
    attention_dims d = {0};
    /* Inference has accepted the shapes. */
    onnxd_status_free(resolve(context->node, params, &context->inputs[X].shape,
                              &context->inputs[WEIGHTS].shape, past == NULL ? NULL : &past->shape,
                              &d));
    return d;
}

static size_t columns_of(const attention_dims *d)
{
    return 2 * (size_t)d->hidden + (size_t)d->v_hidden;
}

static onnxd_packed_product product_of(const attention_dims *d)
{
    return (onnxd_packed_product){(size_t)d->batch * (size_t)d->length, (size_t)d->width,
                                  columns_of(d)};
}

static onnxd_mask_extent mask_extent_of(const attention_dims *d)
{
    return (onnxd_mask_extent){d->batch, d->length, d->keys, d->length};
}

/* Everything but the masks. */
static onnxd_attention attention_of(const onnxd_compute *context, const attention_dims *d,
                                    const float *qkv)
{
    const onnxd_packed_attention_params *params = context->params;
    const onnxd_tensor_view *past = input_at(context, params->form->past);
    const onnxd_tensor_view *y = &context->outputs[Y];
    size_t heads = (size_t)params->heads, length = (size_t)d->length, columns = columns_of(d);
    size_t size = (size_t)d->hidden / heads, v_size = (size_t)d->v_hidden / heads;
    size_t v_at = 2 * (size_t)d->hidden, k_at = (size_t)d->hidden;
    onnxd_attention a = {.batch = (size_t)d->batch,
                         .q_heads = heads,
                         .kv_heads = heads,
                         .q_length = length,
                         .past_length = (size_t)d->past,
                         .kv_length = length,
                         .head_size = size,
                         .v_head_size = v_size,
                         .is_causal = params->is_unidirectional != 0,
                         .left_window = -1,
                         .right_window = -1,
                         .offset = d->past,
                         .scale = onnxd_attention_scale(params->scale, size)};
    a.q = onnxd_attention_by_row(qkv, ONNXD_FLOAT, length, columns, size);
    a.k =
        onnxd_attention_by_row(qkv == NULL ? NULL : qkv + k_at, ONNXD_FLOAT, length, columns, size);
    a.v = onnxd_attention_by_row(qkv == NULL ? NULL : qkv + v_at, ONNXD_FLOAT, length, columns,
                                 v_size);
    if (past != NULL) {
        size_t half = onnxd_tensor_view_bytes(past) / 2;
        const char *data = onnxd_tensor_view_data(past);
        a.past_k = onnxd_attention_by_head(data, past->dtype, heads, (size_t)d->past, size);
        a.past_v = a.past_k;
        a.past_v.data = half == 0 ? data : data + half;
    }
    onnxd_attention_operand out =
        onnxd_attention_by_row(NULL, y->dtype, length, (size_t)d->v_hidden, v_size);
    a.y =
        (onnxd_attention_result){onnxd_tensor_view_data(y), y->dtype, out.batch, out.head, out.row};
    return a;
}

static void carve(const onnxd_compute *context, const attention_dims *d, onnxd_carver *carver,
                  pieces *out)
{
    const onnxd_packed_attention_params *params = context->params;
    const onnxd_tensor_view *mask = input_at(context, params->form->mask);
    onnxd_attention a = attention_of(context, d, NULL);
    onnxd_mask_extent extent = mask_extent_of(d);
    size_t rows, mask_bytes = 0;
    if (!onnxd_size_mul((size_t)d->batch, (size_t)d->length, &rows) ||
        !onnxd_size_mul(rows, columns_of(d), &rows) ||
        (mask != NULL && !onnxd_mask_bytes(&mask->shape, &extent, &mask_bytes))) {
        carver->used = SIZE_MAX;
        return;
    }
    out->qkv = onnxd_carve(carver, rows, sizeof(float));
    onnxd_packed_product product = product_of(d);
    out->product = onnxd_carve(carver, params->form->scratch_bytes(context, &product), 1);
    out->row = onnxd_carve(carver, columns_of(d), sizeof(float));
    out->mask = onnxd_carve(carver, mask_bytes, 1);
    out->core = onnxd_carve(carver, onnxd_attention_workspace_bytes(&a), 1);
}

size_t onnxd_packed_attention_workspace_bytes(const onnxd_compute *context)
{
    onnxd_carver carver = {.base = NULL};
    pieces p;
    if (!onnxd_compute_has_work(context))
        return 0;
    attention_dims d = dims_of(context);
    carve(context, &d, &carver, &p);
    return carver.used;
}

/* p->qkv = input * weights + bias. */
static void project(const onnxd_compute *context, const attention_dims *d, const pieces *p)
{
    const onnxd_packed_attention_params *params = context->params;
    const onnxd_tensor_view *bias = onnxd_compute_input(context, BIAS);
    onnxd_packed_product product = product_of(d);
    size_t rows = product.rows, columns = product.columns;
    params->form->multiply(context, &product, p->product, p->qkv);
    if (bias == NULL || p->row == NULL)
        return;
    onnxd_real_read_float(bias->dtype, onnxd_tensor_view_data(bias), 0, columns, p->row);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            p->qkv[r * columns + i] += p->row[i];
}

/* present = past, then new, the keys before the values. */
static void store_present(const onnxd_compute *context, const onnxd_attention *a, float *row)
{
    const onnxd_tensor_view *present = onnxd_compute_output(context, PRESENT);
    if (present == NULL || onnxd_tensor_view_count(present) == 0)
        return;
    onnxd_cache cache = {onnxd_tensor_view_data(present), present->dtype, a->batch, a->kv_heads,
                         a->past_length + a->kv_length,   a->head_size};
    for (size_t i = 0; i < 2; i++) {
        for (size_t b = 0; b < a->batch; b++) {
            onnxd_cache_store(&cache, b, 0, a->past_length, i == 0 ? &a->past_k : &a->past_v, row);
            onnxd_cache_store(&cache, b, a->past_length, a->kv_length, i == 0 ? &a->k : &a->v, row);
        }
        cache.data = (char *)cache.data + onnxd_tensor_view_bytes(present) / 2;
    }
}

onnxd_status *onnxd_packed_attention_compute(const onnxd_compute *context)
{
    const onnxd_packed_attention_params *params = context->params;
    const onnxd_packed_form *form = params->form;
    const onnxd_tensor_view *mask = input_at(context, form->mask);
    const onnxd_tensor_view *bias = input_at(context, form->score_bias);
    onnxd_carver carver = {.base = context->workspace};
    pieces p = {.core = NULL};
    if (!onnxd_compute_has_work(context))
        return NULL;
    attention_dims d = dims_of(context);
    onnxd_mask_extent extent = mask_extent_of(&d);
    carve(context, &d, &carver, &p);
    project(context, &d, &p);
    onnxd_attention a = attention_of(context, &d, p.qkv);
    store_present(context, &a, p.row);
    if (mask != NULL)
        ONNXD_TRY(onnxd_mask_make(context->node, form->mask, mask, &extent, params->filter, p.mask,
                                  &a.masks[a.mask_count++]));
    if (bias != NULL)
        a.masks[a.mask_count++] = onnxd_mask_of_bias(bias);
    onnxd_attention_run(&a, p.core);
    return NULL;
}

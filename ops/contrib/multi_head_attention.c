/* MultiHeadAttention: scaled dot-product attention of projected queries, keys and values in several
 * layouts, whose projections' bias may be added here. */
#include <inttypes.h>

#include "base/size_math.h"
#include "ops/contrib/attention_mask.h"
#include "ops/contrib/attention_pieces.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/multi_head_attention.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"mask_filter_value", "num_heads", "scale", "unidirectional",
                                        NULL};
    onnxd_mha_params *params = out;
    params->filter = -10000;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "num_heads"));
    ONNXD_TRY(onnxd_attribute_int(node, "num_heads", 1, INT32_MAX, &params->heads));
    ONNXD_TRY(onnxd_attribute_int(node, "unidirectional", 0, 1, &params->is_unidirectional));
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &params->scale));
    return onnxd_attribute_float(node, "mask_filter_value", &params->filter);
}

/* Scratch memory; copies of q, k and v with the bias added, and a row of a cache. */
typedef struct pieces {
    float *q, *k, *v, *row;
    uint8_t *mask;
    void *core;
} pieces;

/* ---- operands -------------------------------------------------------------------------------- */

/* Part `part` of `parts` of a tensor [batch][length][heads][parts][size]. */
static onnxd_attention_operand packed(const onnxd_tensor_view *view, size_t parts, size_t part)
{
    const int64_t *dims = view->shape.dims;
    size_t size = (size_t)dims[4], head = parts * size, row = (size_t)dims[2] * head;
    size_t skipped = part * size * onnxd_dtype_size(view->dtype);
    return (onnxd_attention_operand){.data = (const char *)onnxd_tensor_view_data(view) + skipped,
                                     .dtype = view->dtype,
                                     .batch = (size_t)dims[1] * row,
                                     .head = head,
                                     .row = row};
}

/* A tensor [batch][length][hidden] or [batch][heads][length][size]. */
static onnxd_attention_operand plain(const onnxd_tensor_view *view, size_t heads)
{
    const int64_t *dims = view->shape.dims;
    const void *data = onnxd_tensor_view_data(view);
    if (view->shape.rank == 4)
        return onnxd_attention_by_head(data, view->dtype, heads, (size_t)dims[2], (size_t)dims[3]);
    return onnxd_attention_by_row(data, view->dtype, (size_t)dims[1], (size_t)dims[2],
                                  (size_t)dims[2] / heads);
}

static void set_operands(const onnxd_compute *context, size_t heads, onnxd_attention *a)
{
    const onnxd_tensor_view *q = &context->inputs[ONNXD_MHA_Q];
    const onnxd_tensor_view *k = onnxd_compute_input(context, ONNXD_MHA_K);
    const onnxd_tensor_view *v = onnxd_compute_input(context, ONNXD_MHA_V);
    if (k == NULL) {
        a->q = packed(q, 3, 0);
        a->k = packed(q, 3, 1);
        a->v = packed(q, 3, 2);
        return;
    }
    a->q = plain(q, heads);
    a->k = v == NULL ? packed(k, 2, 0) : plain(k, heads);
    a->v = v == NULL ? packed(k, 2, 1) : plain(v, heads);
}

static onnxd_attention_result result_of(const onnxd_tensor_view *view,
                                        const onnxd_attention_operand *layout)
{
    return (onnxd_attention_result){onnxd_tensor_view_data(view), view->dtype, layout->batch,
                                    layout->head, layout->row};
}

/* Everything but the masks. */
static onnxd_attention attention_of(const onnxd_compute *context, const onnxd_mha_dims *d)
{
    const onnxd_mha_params *params = context->params;
    const onnxd_tensor_view *y = &context->outputs[ONNXD_MHA_Y];
    const onnxd_tensor_view *qk = onnxd_compute_output(context, ONNXD_MHA_QK);
    const onnxd_tensor_view *past = onnxd_compute_input(context, ONNXD_MHA_PAST_KEY);
    size_t heads = (size_t)params->heads;
    onnxd_attention a = {.batch = (size_t)d->batch,
                         .q_heads = heads,
                         .kv_heads = heads,
                         .q_length = (size_t)d->queries,
                         .past_length = (size_t)d->past,
                         .kv_length = (size_t)d->fresh,
                         .head_size = (size_t)d->size,
                         .v_head_size = (size_t)d->v_size,
                         /* The last query sees all keys, as in ONNX Runtime. */
                         .is_causal = params->is_unidirectional != 0,
                         .leaves_last_free = true,
                         .left_window = -1,
                         .right_window = -1,
                         .offset = d->past,
                         .scale = onnxd_attention_scale(params->scale, (size_t)d->size),
                         .qk_mode = ONNXD_ATTENTION_QK_BIASED};
    set_operands(context, heads, &a);
    if (past != NULL) {
        a.past_k = plain(past, heads);
        a.past_v = plain(&context->inputs[ONNXD_MHA_PAST_VALUE], heads);
    }
    onnxd_attention_operand out = onnxd_attention_by_row(
        NULL, y->dtype, (size_t)d->queries, heads * (size_t)d->v_size, (size_t)d->v_size);
    a.y = result_of(y, &out);
    if (qk != NULL) {
        onnxd_attention_operand scores =
            onnxd_attention_by_head(NULL, qk->dtype, heads, (size_t)d->queries, (size_t)d->keys);
        a.qk = result_of(qk, &scores);
    }
    return a;
}

/* ---- computation ----------------------------------------------------------------------------- */

static onnxd_mask_extent mask_extent_of(const onnxd_mha_dims *d)
{
    return (onnxd_mask_extent){d->batch, d->queries, d->keys, d->fresh};
}

/* Numbers of a copy of an operand; SIZE_MAX beyond size_t. */
static size_t copy_count(const onnxd_attention *a, size_t length, size_t size)
{
    size_t count;
    if (onnxd_size_mul(a->batch, a->q_heads, &count) && onnxd_size_mul(count, length, &count) &&
        onnxd_size_mul(count, size, &count))
        return count;
    return SIZE_MAX;
}

static void carve(const onnxd_compute *context, const onnxd_mha_dims *d, const onnxd_attention *a,
                  onnxd_carver *carver, pieces *out)
{
    const onnxd_tensor_view *mask = onnxd_compute_input(context, ONNXD_MHA_MASK);
    bool has_bias = onnxd_compute_input(context, ONNXD_MHA_BIAS) != NULL;
    /* Keys and values by head have been through their projection before. */
    bool is_fresh = !onnxd_mha_is_by_head(context);
    onnxd_mask_extent extent = mask_extent_of(d);
    size_t mask_bytes = 0, larger = a->head_size > a->v_head_size ? a->head_size : a->v_head_size;
    if (mask != NULL && !onnxd_mask_bytes(&mask->shape, &extent, &mask_bytes)) {
        carver->used = SIZE_MAX;
        return;
    }
    out->q =
        onnxd_carve(carver, has_bias ? copy_count(a, a->q_length, a->head_size) : 0, sizeof(float));
    out->k =
        onnxd_carve(carver, has_bias && is_fresh ? copy_count(a, a->kv_length, a->head_size) : 0,
                    sizeof(float));
    out->v =
        onnxd_carve(carver, has_bias && is_fresh ? copy_count(a, a->kv_length, a->v_head_size) : 0,
                    sizeof(float));
    out->row = onnxd_carve(carver, larger, sizeof(float));
    out->mask = onnxd_carve(carver, mask_bytes, 1);
    out->core = onnxd_carve(carver, onnxd_attention_workspace_bytes(a), 1);
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    onnxd_carver carver = {.base = NULL};
    pieces p;
    if (!onnxd_compute_has_work(context))
        return 0;
    onnxd_mha_dims d = onnxd_mha_dims_of(context);
    onnxd_attention a = attention_of(context, &d);
    carve(context, &d, &a, &carver, &p);
    return carver.used;
}

static void add_bias(const onnxd_compute *context, const pieces *p, onnxd_attention *a)
{
    const onnxd_tensor_view *bias = onnxd_compute_input(context, ONNXD_MHA_BIAS);
    if (bias == NULL)
        return;
    const void *data = onnxd_tensor_view_data(bias);
    size_t hidden = a->q_heads * a->head_size, v_hidden = a->q_heads * a->v_head_size;
    onnxd_attention_add_bias(&a->q, bias->dtype, data, 0, a->batch, a->q_heads, a->q_length,
                             a->head_size, p->q);
    a->q = onnxd_attention_by_row(p->q, ONNXD_FLOAT, a->q_length, hidden, a->head_size);
    if (onnxd_mha_is_by_head(context))
        return;
    onnxd_attention_add_bias(&a->k, bias->dtype, data, hidden, a->batch, a->q_heads, a->kv_length,
                             a->head_size, p->k);
    onnxd_attention_add_bias(&a->v, bias->dtype, data, 2 * hidden, a->batch, a->q_heads,
                             a->kv_length, a->v_head_size, p->v);
    a->k = onnxd_attention_by_row(p->k, ONNXD_FLOAT, a->kv_length, hidden, a->head_size);
    a->v = onnxd_attention_by_row(p->v, ONNXD_FLOAT, a->kv_length, v_hidden, a->v_head_size);
}

/* present = past, then new. */
static void store_present(const onnxd_compute *context, uint32_t output, const onnxd_attention *a,
                          float *row)
{
    const onnxd_tensor_view *present = onnxd_compute_output(context, output);
    bool is_key = output == ONNXD_MHA_PRESENT_KEY;
    if (present == NULL || onnxd_tensor_view_count(present) == 0)
        return;
    onnxd_cache cache = {onnxd_tensor_view_data(present),
                         present->dtype,
                         a->batch,
                         a->kv_heads,
                         a->past_length + a->kv_length,
                         is_key ? a->head_size : a->v_head_size};
    for (size_t b = 0; b < a->batch; b++) {
        onnxd_cache_store(&cache, b, 0, a->past_length, is_key ? &a->past_k : &a->past_v, row);
        onnxd_cache_store(&cache, b, a->past_length, a->kv_length, is_key ? &a->k : &a->v, row);
    }
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_mha_params *params = context->params;
    const onnxd_tensor_view *mask = onnxd_compute_input(context, ONNXD_MHA_MASK);
    const onnxd_tensor_view *bias = onnxd_compute_input(context, ONNXD_MHA_ATTENTION_BIAS);
    onnxd_carver carver = {.base = context->workspace};
    pieces p = {.core = NULL};
    if (!onnxd_compute_has_work(context))
        return NULL;
    onnxd_mha_dims d = onnxd_mha_dims_of(context);
    onnxd_mask_extent extent = mask_extent_of(&d);
    onnxd_attention a = attention_of(context, &d);
    carve(context, &d, &a, &carver, &p);
    add_bias(context, &p, &a);
    store_present(context, ONNXD_MHA_PRESENT_KEY, &a, p.row);
    store_present(context, ONNXD_MHA_PRESENT_VALUE, &a, p.row);
    if (mask != NULL)
        ONNXD_TRY(onnxd_mask_make(context->node, ONNXD_MHA_MASK, mask, &extent, params->filter,
                                  p.mask, &a.masks[a.mask_count++]));
    if (bias != NULL)
        a.masks[a.mask_count++] = onnxd_mask_of_bias(bias);
    onnxd_attention_run(&a, p.core);
    return NULL;
}

#define TYPES (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))
#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = TYPES, .type_variable = 1, .is_optional = optional                                \
    }
#define INDEX                                                                                      \
    {                                                                                              \
        .types = ONNXD_SET(INT32), .is_optional = true                                             \
    }

const onnxd_op_def onnxd_op_contrib_multi_head_attention[] = {
    {ONNXD_CONTRIB_NAME("MultiHeadAttention"), .min_inputs = 1, .max_inputs = 8, .min_outputs = 1,
     .max_outputs = 4,
     .inputs = {FORMAL(false), FORMAL(true), FORMAL(true), FORMAL(true), INDEX, FORMAL(true),
                FORMAL(true), FORMAL(true)},
     .outputs = {FORMAL(false), FORMAL(true), FORMAL(true), {.types = TYPES, .is_optional = true}},
     .params_bytes = sizeof(onnxd_mha_params), .parse = parse, .infer = onnxd_mha_infer,
     .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};

/* GroupQueryAttention: attention of grouped heads over a cache whose entries differ in length, with
 * rotary embedding of new queries and keys.
 *
 * Entry b has T = last[b] + 1 keys after this step. The first Q of its rows are no padding, and
 * P = T - Q keys were there before: row s is at position P + s. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/attention/rotary.h"
#include "ops/contrib/attention_mask.h"
#include "ops/contrib/attention_pieces.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/group_query.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

/* Scratch memory; per entry of the batch T, P and Q, and caches where they are no outputs. */
typedef struct pieces {
    int64_t *keys, *before, *valid;
    float *sinks, *queries, *turned_keys, *turn;
    void *key_cache, *value_cache;
    void *core;
} pieces;

/* ---- operands -------------------------------------------------------------------------------- */

typedef struct operands {
    onnxd_attention_operand q, k, v, past_k, past_v;
} operands;

static operands operands_of(const onnxd_compute *context, const onnxd_gqa_dims *d)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_tensor_view *inputs = context->inputs;
    const onnxd_tensor_view *past = onnxd_compute_input(context, ONNXD_GQA_PAST_KEY);
    onnxd_dtype dtype = inputs[ONNXD_GQA_Q].dtype;
    size_t size = (size_t)d->size, length = (size_t)d->length;
    size_t hidden = (size_t)p->heads * size, kv_hidden = (size_t)p->kv_heads * size;
    const char *q = onnxd_tensor_view_data(&inputs[ONNXD_GQA_Q]);
    operands o = {.q = onnxd_attention_by_row(q, dtype, length, hidden, size)};
    if (onnxd_compute_input(context, ONNXD_GQA_K) == NULL) {
        size_t width = hidden + 2 * kv_hidden, element = onnxd_dtype_size(dtype);
        o.q = onnxd_attention_by_row(q, dtype, length, width, size);
        o.k = o.v = o.q;
        o.k.data = q + hidden * element;
        o.v.data = q + (hidden + kv_hidden) * element;
    } else {
        o.k = onnxd_attention_by_row(onnxd_tensor_view_data(&inputs[ONNXD_GQA_K]), dtype, length,
                                     kv_hidden, size);
        o.v = o.k;
        o.v.data = onnxd_tensor_view_data(&inputs[ONNXD_GQA_V]);
    }
    if (past != NULL) {
        o.past_k = onnxd_attention_by_head(onnxd_tensor_view_data(past), dtype, (size_t)p->kv_heads,
                                           (size_t)d->past, size);
        o.past_v = o.past_k;
        o.past_v.data = onnxd_tensor_view_data(&inputs[ONNXD_GQA_PAST_VALUE]);
    }
    return o;
}

static onnxd_attention attention_of(const onnxd_compute *context, const onnxd_gqa_dims *d,
                                    const pieces *s)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_tensor_view *y = &context->outputs[ONNXD_GQA_Y];
    const onnxd_tensor_view *qk = onnxd_compute_output(context, ONNXD_GQA_QK);
    size_t size = (size_t)d->size, length = (size_t)d->length, heads = (size_t)p->heads;
    onnxd_attention a = {.batch = (size_t)d->batch,
                         .q_heads = heads,
                         .kv_heads = (size_t)p->kv_heads,
                         .q_length = length,
                         .kv_length = (size_t)d->keys,
                         .head_size = size,
                         .v_head_size = size,
                         .is_causal = p->is_causal != 0,
                         .left_window = p->window > 0 ? p->window - 1 : -1,
                         .right_window = -1,
                         .offsets = s->before,
                         .key_counts = s->keys,
                         .sinks = s->sinks,
                         .scale = onnxd_attention_scale(p->scale, size),
                         .softcap = (double)p->softcap,
                         .qk_mode = p->qk_output == 1 ? ONNXD_ATTENTION_QK_BIASED
                                                      : ONNXD_ATTENTION_QK_WEIGHTS};
    a.q = operands_of(context, d).q;
    if (p->turns != 0)
        a.q = onnxd_attention_by_row(s->queries, ONNXD_FLOAT, length, heads * size, size);
    a.k = onnxd_attention_by_head(s->key_cache, y->dtype, a.kv_heads, (size_t)d->capacity, size);
    a.v = a.k;
    a.v.data = s->value_cache;
    a.y = (onnxd_attention_result){onnxd_tensor_view_data(y), y->dtype, length * heads * size, size,
                                   heads * size};
    if (qk != NULL) {
        size_t row = (size_t)qk->shape.dims[3];
        a.qk = (onnxd_attention_result){onnxd_tensor_view_data(qk), qk->dtype, heads * length * row,
                                        length * row, row};
    }
    return a;
}

/* ---- scratch memory -------------------------------------------------------------------------- */

/* batch * length * heads * size, SIZE_MAX beyond size_t. */
static size_t count_of(const onnxd_gqa_dims *d, int64_t length, int64_t heads)
{
    size_t count;
    if (onnxd_size_mul((size_t)d->batch, (size_t)length, &count) &&
        onnxd_size_mul(count, (size_t)heads, &count) &&
        onnxd_size_mul(count, (size_t)d->size, &count))
        return count;
    return SIZE_MAX;
}

static void *carve_cache(const onnxd_compute *context, const onnxd_gqa_dims *d, uint32_t output,
                         onnxd_carver *carver)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_tensor_view *present = onnxd_compute_output(context, output);
    if (present != NULL)
        return onnxd_tensor_view_data(present);
    return onnxd_carve(carver, count_of(d, d->capacity, p->kv_heads),
                       onnxd_dtype_size(context->outputs[ONNXD_GQA_Y].dtype));
}

static void carve(const onnxd_compute *context, const onnxd_gqa_dims *d, onnxd_carver *carver,
                  pieces *out)
{
    const onnxd_gqa_params *p = context->params;
    size_t batch = (size_t)d->batch;
    bool has_sinks = p->is_smooth > 0 || onnxd_compute_input(context, ONNXD_GQA_SINKS) != NULL;
    bool turns = p->turns != 0;
    out->keys = onnxd_carve(carver, batch, sizeof(int64_t));
    out->before = onnxd_carve(carver, batch, sizeof(int64_t));
    out->valid = onnxd_carve(carver, batch, sizeof(int64_t));
    out->sinks = onnxd_carve(carver, has_sinks ? (size_t)p->heads : 0, sizeof(float));
    out->queries = onnxd_carve(carver, turns ? count_of(d, d->length, p->heads) : 0, sizeof(float));
    out->turned_keys =
        onnxd_carve(carver, turns ? count_of(d, d->length, p->kv_heads) : 0, sizeof(float));
    out->turn = onnxd_carve(carver, (size_t)d->size, 3 * sizeof(float));
    out->key_cache = carve_cache(context, d, ONNXD_GQA_PRESENT_KEY, carver);
    out->value_cache = carve_cache(context, d, ONNXD_GQA_PRESENT_VALUE, carver);
    onnxd_attention a = attention_of(context, d, out);
    out->core = onnxd_carve(carver, onnxd_attention_workspace_bytes(&a), 1);
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    onnxd_carver carver = {.base = NULL};
    pieces s;
    if (!onnxd_compute_has_work(context))
        return 0;
    onnxd_gqa_dims d = onnxd_gqa_dims_of(context, INT64_MAX);
    carve(context, &d, &carver, &s);
    return carver.used;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* T, P and Q of each entry. */
static onnxd_status *set_counts(const onnxd_compute *context, const onnxd_gqa_dims *d,
                                const pieces *s)
{
    const int32_t *last = onnxd_tensor_view_data(&context->inputs[ONNXD_GQA_LAST]);
    const onnxd_tensor_view *valid = onnxd_compute_input(context, ONNXD_GQA_VALID);
    for (int64_t b = 0; b < d->batch; b++) {
        int64_t keys = (int64_t)last[b] + 1;
        if (keys < 1 || keys > d->total)
            return onnxd_op_error(context->node,
                                  "element %" PRId64 " of input 5 is %" PRId32
                                  ", allowed is 0 to %" PRId64,
                                  b, last[b], d->total - 1);
        int64_t most = keys < d->length ? keys : d->length, rows = most;
        if (valid != NULL)
            rows = onnxd_op_int_at(valid, (size_t)b);
        if (rows < 0 || rows > most)
            return onnxd_op_error(context->node,
                                  "element %" PRId64 " of input 16 is %" PRId64
                                  ", allowed is 0 to %" PRId64,
                                  b, rows, most);
        if (keys - rows > d->past)
            return onnxd_op_error(context->node,
                                  "entry %" PRId64 " continues %" PRId64
                                  " keys, but the past has room for %" PRId64,
                                  b, keys - rows, d->past);
        s->keys[b] = keys;
        s->valid[b] = rows;
        s->before[b] = keys - rows;
    }
    return NULL;
}

static onnxd_status *position_of(const onnxd_compute *context, const onnxd_gqa_dims *d,
                                 const pieces *s, size_t batch, size_t row, size_t *out_position)
{
    const onnxd_tensor_view *positions = onnxd_compute_input(context, ONNXD_GQA_POSITIONS);
    int64_t limit = context->inputs[ONNXD_GQA_COSINES].shape.dims[0];
    int64_t position = s->before[batch] + (int64_t)row;
    /* In a first prompt the first number is where all entries begin, and the others are not looked
     * at, as the operator's description has it. */
    bool is_first_prompt =
        d->length == d->total && onnxd_compute_input(context, ONNXD_GQA_VALID) == NULL;
    if (positions != NULL && is_first_prompt) {
        if (!onnxd_i64_add(onnxd_op_int_at(positions, 0), (int64_t)row, &position))
            position = INT64_MAX;
    } else if (positions != NULL) {
        position = onnxd_op_int_at(positions, batch * (size_t)d->length + row);
    }
    if (position < 0 || position >= limit)
        return onnxd_op_error(context->node,
                              "row %zu of entry %zu is at position %" PRId64
                              ", but the caches have %" PRId64 " positions",
                              row, batch, position, limit);
    *out_position = (size_t)position;
    return NULL;
}

/* Turned copies of the queries and keys; rows of padding become zero. */
static onnxd_status *turn(const onnxd_compute *context, const onnxd_gqa_dims *d, const pieces *s,
                          const operands *o)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_tensor_view *cosines = &context->inputs[ONNXD_GQA_COSINES];
    size_t size = (size_t)d->size, length = (size_t)d->length;
    onnxd_rotary rotary = {.cosines = onnxd_tensor_view_data(cosines),
                           .sines = onnxd_tensor_view_data(&context->inputs[ONNXD_GQA_SINES]),
                           .dtype = cosines->dtype,
                           .half = (size_t)cosines->shape.dims[1],
                           .size = size,
                           .is_interleaved = p->is_interleaved != 0};
    memset(s->queries, 0, count_of(d, d->length, p->heads) * sizeof(float));
    for (size_t b = 0; b < (size_t)d->batch; b++)
        for (size_t i = 0; i < (size_t)s->valid[b]; i++) {
            size_t row = 0, at = b * length + i;
            ONNXD_TRY(position_of(context, d, s, b, i, &row));
            onnxd_rotary_heads q = {o->q.data, o->q.dtype, b * o->q.batch + i * o->q.row, size};
            onnxd_rotary_heads k = {o->k.data, o->k.dtype, b * o->k.batch + i * o->k.row, size};
            onnxd_rotary_turn(&rotary, row, (size_t)p->heads, &q, ONNXD_FLOAT, s->queries,
                              at * (size_t)p->heads * size, size, s->turn);
            onnxd_rotary_turn(&rotary, row, (size_t)p->kv_heads, &k, ONNXD_FLOAT, s->turned_keys,
                              at * (size_t)p->kv_heads * size, size, s->turn);
        }
    return NULL;
}

/* The past's P keys and values, then the Q new ones, then zeros. */
static void fill_caches(const onnxd_compute *context, const onnxd_gqa_dims *d, const pieces *s,
                        const operands *o)
{
    const onnxd_gqa_params *p = context->params;
    onnxd_dtype dtype = context->outputs[ONNXD_GQA_Y].dtype;
    onnxd_cache cache = {.dtype = dtype,
                         .batch = (size_t)d->batch,
                         .heads = (size_t)p->kv_heads,
                         .capacity = (size_t)d->capacity,
                         .size = (size_t)d->size};
    onnxd_attention_operand fresh = o->k;
    if (p->turns != 0)
        fresh = onnxd_attention_by_row(s->turned_keys, ONNXD_FLOAT, (size_t)d->length,
                                       cache.heads * cache.size, cache.size);
    for (size_t i = 0; i < 2; i++) {
        cache.data = i == 0 ? s->key_cache : s->value_cache;
        memset(cache.data, 0, count_of(d, d->capacity, p->kv_heads) * onnxd_dtype_size(dtype));
        for (size_t b = 0; b < cache.batch; b++) {
            size_t before = (size_t)s->before[b], rows = (size_t)s->valid[b];
            onnxd_cache_store(&cache, b, 0, before, i == 0 ? &o->past_k : &o->past_v, s->turn);
            onnxd_cache_store(&cache, b, before, rows, i == 0 ? &fresh : &o->v, s->turn);
        }
    }
}

static void set_sinks(const onnxd_compute *context, const pieces *s)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_tensor_view *sinks = onnxd_compute_input(context, ONNXD_GQA_SINKS);
    if (sinks != NULL)
        onnxd_real_read_float(sinks->dtype, onnxd_tensor_view_data(sinks), 0, (size_t)p->heads,
                              s->sinks);
    else if (s->sinks != NULL)
        memset(s->sinks, 0, (size_t)p->heads * sizeof(float));
}

/* Scores of keys that a query does not see are given as 0, where the core has -inf or nothing. */
static void clear_unseen(const onnxd_attention *a)
{
    size_t element = onnxd_dtype_size(a->qk.dtype);
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->q_heads; h++)
            for (size_t i = 0; i < a->q_length; i++) {
                int64_t position = a->offsets[b] + (int64_t)i, total = (int64_t)a->qk.row;
                int64_t first = a->left_window < 0 ? 0 : position - a->left_window;
                int64_t end = a->key_counts[b];
                char *row = (char *)a->qk.data +
                            (b * a->qk.batch + h * a->qk.head + i * a->qk.row) * element;
                if (a->is_causal && position + 1 < end)
                    end = position + 1;
                first = first < 0 ? 0 : first > end ? end : first;
                memset(row, 0, (size_t)first * element);
                memset(row + (size_t)end * element, 0, (size_t)(total - end) * element);
            }
}

static onnxd_status *compute(const onnxd_compute *context)
{
    const onnxd_gqa_params *p = context->params;
    const onnxd_tensor_view *bias = onnxd_compute_input(context, ONNXD_GQA_ATTENTION_BIAS);
    onnxd_carver carver = {.base = context->workspace};
    pieces s = {.core = NULL};
    if (!onnxd_compute_has_work(context))
        return NULL;
    int64_t total = onnxd_op_int_at(&context->inputs[ONNXD_GQA_TOTAL], 0);
    onnxd_gqa_dims d = onnxd_gqa_dims_of(context, total);
    operands o = operands_of(context, &d);
    carve(context, &d, &carver, &s);
    ONNXD_TRY(set_counts(context, &d, &s));
    if (d.size != 0) {
        if (p->turns != 0 && d.length != 0)
            ONNXD_TRY(turn(context, &d, &s, &o));
        if (d.capacity != 0)
            fill_caches(context, &d, &s, &o);
    }
    set_sinks(context, &s);
    onnxd_attention a = attention_of(context, &d, &s);
    if (bias != NULL)
        a.masks[a.mask_count++] = onnxd_mask_of_bias(bias);
    onnxd_attention_run(&a, s.core);
    if (a.qk.data != NULL)
        clear_unseen(&a);
    return NULL;
}

#define TYPES (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))
#define FORMAL(optional)                                                                           \
    {                                                                                              \
        .types = TYPES, .type_variable = 1, .is_optional = optional                                \
    }
#define OTHER(set, optional)                                                                       \
    {                                                                                              \
        .types = set, .is_optional = optional                                                      \
    }
#define INT32_SET ONNXD_SET(INT32)

const onnxd_op_def onnxd_op_contrib_group_query_attention[] = {
    {ONNXD_CONTRIB_NAME("GroupQueryAttention"), .min_inputs = 7, .max_inputs = ONNXD_GQA_INPUTS,
     .min_outputs = 1, .max_outputs = 4,
     .inputs = {[ONNXD_GQA_Q] = FORMAL(false),
                [ONNXD_GQA_K] = FORMAL(true),
                [ONNXD_GQA_V] = FORMAL(true),
                [ONNXD_GQA_PAST_KEY] = FORMAL(true),
                [ONNXD_GQA_PAST_VALUE] = FORMAL(true),
                [ONNXD_GQA_LAST] = OTHER(INT32_SET, false),
                [ONNXD_GQA_TOTAL] = OTHER(INT32_SET, false),
                [ONNXD_GQA_COSINES] = FORMAL(true),
                [ONNXD_GQA_SINES] = FORMAL(true),
                [ONNXD_GQA_POSITIONS] = OTHER(ONNXD_SET(INT64), true),
                [ONNXD_GQA_ATTENTION_BIAS] = FORMAL(true),
                [ONNXD_GQA_SINKS] = FORMAL(true),
                [ONNXD_GQA_K_SCALE] = OTHER(ONNXD_SET(FLOAT), true),
                [ONNXD_GQA_V_SCALE] = OTHER(ONNXD_SET(FLOAT), true),
                [ONNXD_GQA_Q_NORM] = FORMAL(true),
                [ONNXD_GQA_K_NORM] = FORMAL(true),
                [ONNXD_GQA_VALID] = OTHER(INT32_SET, true)},
     .outputs = {FORMAL(false), FORMAL(true), FORMAL(true), FORMAL(true)},
     .params_bytes = sizeof(onnxd_gqa_params), .parse = onnxd_gqa_parse, .infer = onnxd_gqa_infer,
     .shape_inputs = 1u << ONNXD_GQA_TOTAL, .workspace_bytes = workspace_bytes, .compute = compute},
    {.op_type = NULL},
};

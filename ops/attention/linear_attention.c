/* LinearAttention: a state matrix per head, updated and read token by token. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "graph/attributes.h"
#include "ops/choice.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct linear_params {
    int64_t q_heads, kv_heads;
    float scale; /* 0: 1 / sqrt(key size) */
    bool decays, corrects;
} linear_params;

static onnxd_status *parse_rule(const onnxd_node *node, linear_params *params)
{
    enum { LINEAR, GATED, DELTA, GATED_DELTA };
    static const char *const rules[] = {
        [LINEAR] = "linear", [GATED] = "gated", [DELTA] = "delta", [GATED_DELTA] = "gated_delta"};
    size_t rule = GATED_DELTA;
    ONNXD_TRY(onnxd_op_choice(node, "update_rule", rules, ONNXD_COUNT(rules), &rule));
    params->decays = rule == GATED || rule == GATED_DELTA;
    params->corrects = rule == DELTA || rule == GATED_DELTA;
    return NULL;
}

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"chunk_size", "kv_num_heads", "q_num_heads",
                                        "scale",      "update_rule",  NULL};
    linear_params *params = out;
    int64_t chunk_size = 64; /* says nothing about the result */
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_attribute_require(node, "q_num_heads"));
    ONNXD_TRY(onnxd_attribute_require(node, "kv_num_heads"));
    ONNXD_TRY(onnxd_attribute_int(node, "q_num_heads", 1, INT32_MAX, &params->q_heads));
    ONNXD_TRY(onnxd_attribute_int(node, "kv_num_heads", 1, INT32_MAX, &params->kv_heads));
    ONNXD_TRY(onnxd_attribute_int(node, "chunk_size", INT64_MIN, INT64_MAX, &chunk_size));
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &params->scale));
    if (params->q_heads % params->kv_heads != 0)
        return onnxd_op_error(node, "%" PRId64 " heads of the query cannot share %" PRId64,
                              params->q_heads, params->kv_heads);
    return parse_rule(node, params);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Input `index` has rank 3 and, where known, the batch and length of the query; its last dimension,
 * divided by `heads`. */
static onnxd_status *check_packed(const onnxd_infer *context, uint32_t index, int64_t heads,
                                  int64_t *out_size)
{
    const onnxd_shape *shape = &context->inputs[index].shape;
    const onnxd_shape *query = &context->inputs[QUERY].shape;
    *out_size = ONNXD_DIM_UNKNOWN;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    if (shape->rank != 3)
        return onnxd_op_error(context->node,
                              "input %" PRIu32 " has rank %" PRId32 ", but 3 is needed", index,
                              shape->rank);
    for (int32_t i = 0; i < 2 && query->rank == 3; i++)
        if (onnxd_dim_is_static(shape->dims[i]) && onnxd_dim_is_static(query->dims[i]) &&
            shape->dims[i] != query->dims[i])
            return onnxd_op_error(context->node,
                                  "dimension %" PRId32 " of input %" PRIu32 " is %" PRId64
                                  ", that of the query is %" PRId64,
                                  i, index, shape->dims[i], query->dims[i]);
    if (!onnxd_dim_is_static(shape->dims[2]))
        return NULL;
    if (shape->dims[2] % heads != 0)
        return onnxd_op_error(context->node,
                              "the last dimension of input %" PRIu32 " is %" PRId64
                              ", which %" PRId64 " heads do not divide",
                              index, shape->dims[2], heads);
    *out_size = shape->dims[2] / heads;
    return NULL;
}

static onnxd_status *check_gates(const onnxd_infer *context, int64_t key_size)
{
    const linear_params *params = context->params;
    const onnxd_node *node = context->node;
    const bool wanted[] = {params->decays, params->corrects};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t index = DECAY + i;
        int64_t size;
        if (onnxd_op_has_input(node, index) != wanted[i])
            return onnxd_op_error(node, "attribute 'update_rule' %s input %" PRIu32,
                                  wanted[i] ? "needs" : "forbids", index);
        if (!wanted[i])
            continue;
        ONNXD_TRY(check_packed(context, index, 1, &size));
        if (size == ONNXD_DIM_UNKNOWN || size == params->kv_heads)
            continue;
        int64_t other = i == 1 ? 1 : ONNXD_DIM_UNKNOWN;
        if (i == 0 && (!onnxd_dim_is_static(key_size) ||
                       __builtin_mul_overflow(key_size, params->kv_heads, &other)))
            continue;
        if (size != other)
            return onnxd_op_error(node,
                                  "the last dimension of input %" PRIu32 " is %" PRId64
                                  ", allowed are %" PRId64 " and %" PRId64,
                                  index, size, params->kv_heads, other);
    }
    return NULL;
}

static onnxd_status *check_past(const onnxd_infer *context, const int64_t *expected)
{
    const onnxd_shape *shape = &context->inputs[PAST].shape;
    if (shape->rank == ONNXD_RANK_UNKNOWN)
        return NULL;
    bool fits = shape->rank == 4;
    for (int32_t i = 0; fits && i < 4; i++)
        fits = !onnxd_dim_is_static(shape->dims[i]) || !onnxd_dim_is_static(expected[i]) ||
               shape->dims[i] == expected[i];
    if (fits)
        return NULL;
    onnxd_shape allowed = onnxd_shape_from(4, expected);
    char found_text[ONNXD_SHAPE_TEXT], allowed_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(context->node, "input 3 has shape %s, but %s is needed",
                          onnxd_shape_format(shape, found_text, sizeof(found_text)),
                          onnxd_shape_format(&allowed, allowed_text, sizeof(allowed_text)));
}

static onnxd_status *infer(onnxd_infer *context)
{
    const linear_params *params = context->params;
    const onnxd_shape *query = &context->inputs[QUERY].shape;
    int64_t q_size, key_size, value_size, width = ONNXD_DIM_UNKNOWN;
    ONNXD_TRY(check_packed(context, QUERY, params->q_heads, &q_size));
    ONNXD_TRY(check_packed(context, KEY, params->kv_heads, &key_size));
    ONNXD_TRY(check_packed(context, VALUE, params->kv_heads, &value_size));
    if (onnxd_dim_is_static(q_size) && onnxd_dim_is_static(key_size) && q_size != key_size)
        return onnxd_op_error(context->node,
                              "heads of the query have %" PRId64 " elements, those of the key "
                              "%" PRId64,
                              q_size, key_size);
    if (!onnxd_dim_is_static(key_size))
        key_size = q_size;
    ONNXD_TRY(check_gates(context, key_size));
    int64_t batch = query->rank == 3 ? query->dims[0] : ONNXD_DIM_UNKNOWN;
    int64_t length = query->rank == 3 ? query->dims[1] : ONNXD_DIM_UNKNOWN;
    const int64_t state[] = {batch, params->kv_heads, key_size, value_size};
    bool has_past = onnxd_op_has_input(context->node, PAST);
    if (has_past)
        ONNXD_TRY(check_past(context, state));
    if (onnxd_dim_is_static(value_size) &&
        __builtin_mul_overflow(value_size, params->q_heads, &width))
        return onnxd_op_error(context->node,
                              "%" PRId64 " heads of %" PRId64 " elements are too many",
                              params->q_heads, value_size);
    context->outputs[0].dtype = context->inputs[QUERY].dtype;
    context->outputs[0].shape = onnxd_shape_from(3, (int64_t[]){batch, length, width});
    context->outputs[1].dtype = context->inputs[has_past ? PAST : QUERY].dtype;
    context->outputs[1].shape = onnxd_shape_from(4, state);
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

typedef struct linear {
    const onnxd_compute *context;
    size_t batch, length, q_heads, kv_heads, key_size, value_size;
    size_t decay_size; /* per head: 1 or key_size */
    bool has_common_beta;
    bool decays, corrects;
    float scale;
    float *state; /* [key_size][value_size] */
    float *key, *query, *decay, *value, *result;
} linear;

static linear linear_of(const onnxd_compute *context)
{
    const linear_params *params = context->params;
    const onnxd_tensor_view *inputs = context->inputs;
    linear l = {.context = context,
                .batch = (size_t)inputs[QUERY].shape.dims[0],
                .length = (size_t)inputs[QUERY].shape.dims[1],
                .q_heads = (size_t)params->q_heads,
                .kv_heads = (size_t)params->kv_heads,
                .decays = params->decays,
                .corrects = params->corrects};
    l.key_size = (size_t)inputs[KEY].shape.dims[2] / l.kv_heads;
    l.value_size = (size_t)inputs[VALUE].shape.dims[2] / l.kv_heads;
    l.scale = params->scale != 0 ? params->scale : 1 / sqrtf((float)l.key_size);
    if (l.decays)
        l.decay_size = (size_t)inputs[DECAY].shape.dims[2] / l.kv_heads;
    if (l.corrects)
        l.has_common_beta = inputs[BETA].shape.dims[2] == 1;
    return l;
}

static size_t workspace_bytes(const onnxd_compute *context)
{
    linear l = linear_of(context);
    size_t state, keys, values, count;
    if (l.key_size == 0 || l.value_size == 0 || !onnxd_compute_has_work(context))
        return 0;
    if (onnxd_size_mul(l.key_size, l.value_size, &state) && onnxd_size_mul(l.key_size, 3, &keys) &&
        onnxd_size_mul(l.value_size, 2, &values) && onnxd_size_add(state, keys, &count) &&
        onnxd_size_add(count, values, &count) && onnxd_size_mul(count, sizeof(float), &count))
        return count;
    return SIZE_MAX;
}

/* `count` elements of head `head` of an input at a token. */
static void read_head(const linear *l, uint32_t index, size_t token, size_t head, size_t count,
                      float *out)
{
    const onnxd_tensor_view *view = &l->context->inputs[index];
    size_t at = token * (size_t)view->shape.dims[2] + head * count;
    onnxd_real_read_float(view->dtype, onnxd_tensor_view_data(view), at, count, out);
}

/* state *= exp(decay), row by row. */
static void fade(const linear *l, size_t token, size_t head)
{
    read_head(l, DECAY, token, head, l->decay_size, l->decay);
    for (size_t d = 0; d < l->key_size; d++) {
        float factor = expf(l->decay[l->decay_size == 1 ? 0 : d]);
        float *row = l->state + d * l->value_size;
        for (size_t m = 0; m < l->value_size; m++)
            row[m] *= factor;
    }
}

/* sum over d of vector[d] * state[d], into `result`. */
static void recall(const linear *l, const float *vector)
{
    memset(l->result, 0, l->value_size * sizeof(float));
    for (size_t d = 0; d < l->key_size; d++) {
        const float *row = l->state + d * l->value_size;
        for (size_t m = 0; m < l->value_size; m++)
            l->result[m] += vector[d] * row[m];
    }
}

/* state += key (x) value, where the delta rules write beta * (value - what the state has). */
static void write_token(const linear *l, size_t token, size_t head)
{
    read_head(l, KEY, token, head, l->key_size, l->key);
    read_head(l, VALUE, token, head, l->value_size, l->value);
    if (l->decays)
        fade(l, token, head);
    if (l->corrects) {
        float beta;
        if (l->has_common_beta)
            read_head(l, BETA, token, 0, 1, &beta);
        else
            read_head(l, BETA, token, head, 1, &beta);
        recall(l, l->key);
        for (size_t m = 0; m < l->value_size; m++)
            l->value[m] = beta * (l->value[m] - l->result[m]);
    }
    for (size_t d = 0; d < l->key_size; d++) {
        float *row = l->state + d * l->value_size;
        for (size_t m = 0; m < l->value_size; m++)
            row[m] += l->key[d] * l->value[m];
    }
}

static void read_token(const linear *l, size_t token, size_t head)
{
    const onnxd_tensor_view *output = &l->context->outputs[0];
    size_t group = l->q_heads / l->kv_heads;
    for (size_t h = head * group; h < (head + 1) * group; h++) {
        read_head(l, QUERY, token, h, l->key_size, l->query);
        recall(l, l->query);
        for (size_t m = 0; m < l->value_size; m++)
            l->result[m] *= l->scale;
        onnxd_real_write_float(output->dtype, l->result, l->value_size,
                               onnxd_tensor_view_data(output),
                               (token * l->q_heads + h) * l->value_size);
    }
}

static onnxd_status *compute(const onnxd_compute *context)
{
    if (!onnxd_compute_has_work(context))
        return NULL;
    linear l = linear_of(context);
    const onnxd_tensor_view *past = &context->inputs[PAST], *present = &context->outputs[1];
    size_t states = l.key_size * l.value_size;
    if (states == 0) {
        memset(onnxd_tensor_view_data(&context->outputs[0]), 0,
               onnxd_tensor_view_bytes(&context->outputs[0]));
        return NULL;
    }
    l.state = context->workspace;
    l.key = l.state + states;
    l.query = l.key + l.key_size;
    l.decay = l.query + l.key_size;
    l.value = l.decay + l.key_size;
    l.result = l.value + l.value_size;
    for (size_t b = 0; b < l.batch; b++)
        for (size_t head = 0; head < l.kv_heads; head++) {
            size_t at = (b * l.kv_heads + head) * states;
            memset(l.state, 0, states * sizeof(float));
            if (onnxd_compute_input(context, PAST) != NULL)
                onnxd_real_read_float(past->dtype, onnxd_tensor_view_data(past), at, states,
                                      l.state);
            for (size_t token = b * l.length; token < (b + 1) * l.length; token++) {
                write_token(&l, token, head);
                read_token(&l, token, head);
            }
            if (onnxd_tensor_view_is_present(present))
                onnxd_real_write_float(present->dtype, l.state, states,
                                       onnxd_tensor_view_data(present), at);
        }
    return NULL;
}

#define FLOATS (ONNXD_SET_FLOATS & ~ONNXD_SET(DOUBLE))

const onnxd_op_def onnxd_op_linear_attention[] = {
    {.op_type = "LinearAttention",
     .domain = "",
     .since = 27,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 3,
     .max_inputs = 6,
     .min_outputs = 2,
     .max_outputs = 2,
     .inputs = {{.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 1},
                {.types = FLOATS, .type_variable = 2, .is_optional = true},
                {.types = FLOATS, .type_variable = 1, .is_optional = true},
                {.types = FLOATS, .type_variable = 1, .is_optional = true}},
     .outputs = {{.types = FLOATS, .type_variable = 1}, {.types = FLOATS, .type_variable = 2}},
     .params_bytes = sizeof(linear_params),
     .parse = parse,
     .infer = infer,
     .workspace_bytes = workspace_bytes,
     .compute = compute},
    {.op_type = NULL},
};

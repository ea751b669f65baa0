/*
 * Attention as exporters write it is one Attention of ai.onnx:
 *
 *   scores = MatMul(q, Transpose(k))      q and k multiplied by numbers, before or after
 *   y = MatMul(Softmax(scores * number + mask), v)
 *
 * with q, k and v [batch, heads, length, size]. Where these are made of [batch, length, heads *
 * size] by Reshape and Transpose, and the result is taken back to it, Attention works on those.
 * Scores that are -infinity for all keys make 0 instead of NaN.
 */
#include <string.h>

#include "ep/cpu/passes/passes.h"
#include "ep/cpu/passes/pattern.h"
#include "graph/attributes.h"

/* The first opset with Attention. */
#define ATTENTION_SINCE 23
#define RANK 4

enum { Q, K, V, OPERANDS };
enum { BATCH, HEADS, LENGTH, SIZE };

typedef struct attention_match {
    onnxd_value_id operands[OPERANDS]; /* [batch, heads, length, size] */
    onnxd_value_id packed[OPERANDS];   /* [batch, length, heads * size]; ONNXD_NONE: not known */
    onnxd_value_id mask;               /* ONNXD_NONE: none */
    double scale;
    onnxd_node *product, *mix; /* of the scores, with the values */
} attention_match;

/* ---- reading the graph ----------------------------------------------------------------------- */

static const onnxd_shape *shape_of(const onnxd_pattern *p, onnxd_value_id value)
{
    return &p->graph->values[value].type.shape;
}

static bool is_known(int64_t dim)
{
    return dim != ONNXD_DIM_UNKNOWN;
}

static bool is_equal(int64_t a, int64_t b)
{
    return a == b && is_known(a);
}

static bool is_float_of_rank(const onnxd_pattern *p, onnxd_value_id value, int32_t rank)
{
    return p->graph->values[value].type.dtype == ONNXD_FLOAT && shape_of(p, value)->rank == rank;
}

static bool has_perm(const onnxd_node *transpose, const int64_t *perm)
{
    const int64_t *found = NULL;
    size_t count = 0;
    onnxd_status *status = onnxd_attribute_int_list(transpose, "perm", &found, &count);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    return is_read && count == RANK && memcmp(found, perm, RANK * sizeof(*perm)) == 0;
}

static const int64_t heads_out[] = {0, 2, 1, 3}, keys_across[] = {0, 1, 3, 2},
                     both[] = {0, 2, 3, 1};

/* What a Transpose of this order was made from; ONNXD_NONE: it is none. */
static onnxd_value_id before_transpose(const onnxd_pattern *p, onnxd_value_id value,
                                       const int64_t *perm)
{
    const onnxd_node *node = onnxd_pattern_source_of(p, value, "Transpose");
    return node != NULL && has_perm(node, perm) ? node->inputs[0] : ONNXD_NONE;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A product with, or a quotient by, one number: *out_other is multiplied by *inout_scale. */
static bool is_scaled(const onnxd_pattern *p, const onnxd_node *node, onnxd_value_id *out_other,
                      double *inout_scale)
{
    const bool is_quotient = onnxd_node_is(node, "", "Div");
    if ((!is_quotient && !onnxd_node_is(node, "", "Mul")) || node->input_count != 2)
        return false;
    for (uint32_t i = is_quotient ? 1 : 0; i < 2; i++) {
        const onnxd_tensor *number = onnxd_node_float_constant(p->graph, node, i);
        if (number == NULL || number->count != 1 || number->shape.rank > RANK)
            continue;
        const double factor = (double)*(const float *)number->data;
        *inout_scale = is_quotient ? *inout_scale / factor : *inout_scale * factor;
        *out_other = node->inputs[1 - i];
        return true;
    }
    return false;
}

/* The value before products with numbers, which stay for those who also read what they make. */
static onnxd_value_id before_scales(const onnxd_pattern *p, onnxd_value_id value,
                                    double *inout_scale)
{
    while (value != ONNXD_NONE && p->graph->values[value].producer != ONNXD_NONE) {
        const onnxd_node *node = &p->graph->nodes[p->graph->values[value].producer];
        onnxd_value_id other = ONNXD_NONE;
        if (!is_scaled(p, node, &other, inout_scale))
            break;
        value = other;
    }
    return value;
}

/* ---- the pattern ----------------------------------------------------------------------------- */

/* From the scores back to the first product; false where there is none. */
static bool find_product(const onnxd_pattern *p, attention_match *m, onnxd_value_id scores)
{
    const onnxd_node *node = onnxd_pattern_producer(p, scores);
    while (node != NULL && is_scaled(p, node, &scores, &m->scale))
        node = onnxd_pattern_producer(p, scores);
    m->product = onnxd_pattern_producer_of(p, scores, "MatMul");
    return m->product != NULL;
}

/* The scores may be either input of the addition of a mask. */
static bool find_scores(const onnxd_pattern *p, attention_match *m, onnxd_value_id scores)
{
    const onnxd_node *add = onnxd_pattern_producer_of(p, scores, "Add");
    if (add == NULL)
        return find_product(p, m, scores);
    for (uint32_t i = 0; i < 2; i++) {
        attention_match try = *m;
        try.mask = add->inputs[1 - i];
        if (find_product(p, &try, add->inputs[i])) {
            *m = try;
            return true;
        }
    }
    return false;
}

/* [batch, length, heads, size] made of [batch, length, heads * size]. */
static onnxd_value_id before_split(const onnxd_pattern *p, onnxd_value_id value)
{
    const onnxd_node *node = onnxd_pattern_source_of(p, value, "Reshape");
    if (node == NULL || !is_float_of_rank(p, node->inputs[0], 3) ||
        shape_of(p, value)->rank != RANK)
        return ONNXD_NONE;
    const int64_t *whole = shape_of(p, node->inputs[0])->dims, *split = shape_of(p, value)->dims;
    int64_t width;
    if (!is_equal(whole[0], split[0]) || !is_equal(whole[1], split[1]) || split[2] <= 0 ||
        split[3] <= 0 || __builtin_mul_overflow(split[2], split[3], &width) || width != whole[2])
        return ONNXD_NONE;
    return node->inputs[0];
}

static bool find_keys(const onnxd_pattern *p, attention_match *m, onnxd_value_id across)
{
    across = before_scales(p, across, &m->scale);
    m->operands[K] = before_transpose(p, across, keys_across);
    if (m->operands[K] != ONNXD_NONE) {
        m->operands[K] = before_scales(p, m->operands[K], &m->scale);
        m->packed[K] = before_split(p, before_transpose(p, m->operands[K], heads_out));
        return true;
    }
    /* Both transpositions in one: there are no keys of rank 4. */
    m->packed[K] = before_split(p, before_transpose(p, across, both));
    return m->packed[K] != ONNXD_NONE;
}

static bool find_pattern(const onnxd_pattern *p, onnxd_node *softmax, attention_match *m)
{
    int64_t axis = softmax->opset < 13 ? 1 : -1;
    onnxd_status *status = onnxd_attribute_int(softmax, "axis", INT64_MIN, INT64_MAX, &axis);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    *m = (attention_match){.mask = ONNXD_NONE, .scale = 1};
    if (!is_read || (axis != -1 && axis != RANK - 1) ||
        !is_float_of_rank(p, softmax->inputs[0], RANK))
        return false;
    m->mix = onnxd_pattern_reader_of(p, softmax->outputs[0], "MatMul");
    if (m->mix == NULL || m->mix->inputs[0] != softmax->outputs[0] ||
        !find_scores(p, m, softmax->inputs[0]))
        return false;
    m->operands[Q] = before_scales(p, m->product->inputs[0], &m->scale);
    m->packed[Q] = before_split(p, before_transpose(p, m->operands[Q], heads_out));
    m->operands[V] = m->mix->inputs[1];
    m->packed[V] = before_split(p, before_transpose(p, m->operands[V], heads_out));
    return find_keys(p, m, m->product->inputs[1]);
}

/* ---- what Attention can do ------------------------------------------------------------------- */

/* Whether the mask broadcasts to the scores, and they not to it. */
static bool is_mask(const onnxd_pattern *p, onnxd_value_id mask, const int64_t *scores)
{
    const onnxd_shape *shape = shape_of(p, mask);
    if (p->graph->values[mask].type.dtype != ONNXD_FLOAT || shape->rank < 1 || shape->rank > RANK ||
        !is_equal(shape->dims[shape->rank - 1], scores[RANK - 1]))
        return false;
    for (int32_t i = 0; i + 1 < shape->rank; i++)
        if (shape->dims[i] != 1 && !is_equal(shape->dims[i], scores[RANK - shape->rank + i]))
            return false;
    return true;
}

/* MatMul broadcasts, Attention does not: all have as many entries and heads. */
static bool has_fitting_shapes(const onnxd_pattern *p, const attention_match *m,
                               const onnxd_node *softmax)
{
    const int64_t *scores = shape_of(p, softmax->inputs[0])->dims;
    const onnxd_shape *shapes[] = {shape_of(p, m->product->inputs[0]),
                                   shape_of(p, m->product->inputs[1]), shape_of(p, m->operands[V])};
    for (int i = Q; i < OPERANDS; i++)
        if (shapes[i]->rank != RANK || !is_equal(shapes[i]->dims[BATCH], scores[BATCH]) ||
            !is_equal(shapes[i]->dims[HEADS], scores[HEADS]))
            return false;
    return scores[HEADS] > 0 && is_equal(shapes[Q]->dims[LENGTH], scores[LENGTH]) &&
           is_equal(shapes[Q]->dims[SIZE], shapes[K]->dims[LENGTH]) &&
           is_equal(shapes[K]->dims[SIZE], scores[SIZE]) &&
           is_equal(shapes[V]->dims[LENGTH], scores[SIZE]) && is_known(shapes[V]->dims[SIZE]) &&
           (m->mask == ONNXD_NONE || is_mask(p, m->mask, scores));
}

/* The Reshape that makes [batch, length, heads * size] of the result; NULL: none. */
static onnxd_node *find_join(const onnxd_pattern *p, const attention_match *m)
{
    for (int i = Q; i < OPERANDS; i++)
        if (m->packed[i] == ONNXD_NONE)
            return NULL;
    onnxd_node *transpose = onnxd_pattern_reader_of(p, m->mix->outputs[0], "Transpose");
    if (transpose == NULL || !has_perm(transpose, heads_out))
        return NULL;
    onnxd_node *join = onnxd_pattern_reader_of(p, transpose->outputs[0], "Reshape");
    if (join == NULL || shape_of(p, join->outputs[0])->rank != 3)
        return NULL;
    const int64_t *split = shape_of(p, transpose->outputs[0])->dims;
    const int64_t *whole = shape_of(p, join->outputs[0])->dims;
    int64_t width;
    if (!is_equal(split[0], whole[0]) || !is_equal(split[1], whole[1]) || split[2] <= 0 ||
        split[3] <= 0 || __builtin_mul_overflow(split[2], split[3], &width) || width != whole[2])
        return NULL;
    return join;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static onnxd_attribute int_attribute(const char *name, int64_t value)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = value};
}

/* `end` becomes the Attention; `heads` are 0 where the operands have them apart. */
static onnxd_status *make_attention(onnxd_pattern *p, const attention_match *m, onnxd_node *end,
                                    int64_t heads)
{
    const onnxd_value_id *operands = heads > 0 ? m->packed : m->operands;
    const onnxd_value_id inputs[] = {operands[Q], operands[K], operands[V], m->mask};
    onnxd_attribute attributes[3] = {
        {.name = "scale", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = (float)m->scale}};
    uint32_t count = 1;
    if (heads > 0) {
        attributes[count++] = int_attribute("q_num_heads", heads);
        attributes[count++] = int_attribute("kv_num_heads", heads);
    }
    return onnxd_pattern_put(p, end, "Attention", ATTENTION_SINCE, inputs,
                             m->mask == ONNXD_NONE ? OPERANDS : OPERANDS + 1, attributes, count);
}

static onnxd_status *visit(onnxd_pattern *p, onnxd_node *softmax)
{
    attention_match m;
    if (!onnxd_node_is(softmax, "", "Softmax") || !find_pattern(p, softmax, &m) ||
        !has_fitting_shapes(p, &m, softmax))
        return NULL;
    const int64_t heads = shape_of(p, softmax->inputs[0])->dims[HEADS];
    onnxd_node *join = find_join(p, &m);
    if (join == NULL) {
        for (int i = Q; i < OPERANDS; i++)
            if (m.operands[i] == ONNXD_NONE || !is_float_of_rank(p, m.operands[i], RANK))
                return NULL;
    }
    return make_attention(p, &m, join == NULL ? m.mix : join, join == NULL ? 0 : heads);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_pattern_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_attention = {
    .name = "fuse_attention",
    .summary = "make one Attention of the nodes that exporters write for it",
    .run = run,
    .is_private = true,
};

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

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "graph/attributes.h"
#include "graph/rewrite.h"

/* The first opset with Attention. */
#define ATTENTION_SINCE 23
#define RANK 4

enum { Q, K, V, OPERANDS };
enum { BATCH, HEADS, LENGTH, SIZE };

typedef struct attention_search {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    uint32_t *uses;
    onnxd_node_id *reader; /* of each value: the last node that reads it */
} attention_search;

typedef struct attention_match {
    onnxd_value_id operands[OPERANDS]; /* [batch, heads, length, size] */
    onnxd_value_id packed[OPERANDS];   /* [batch, length, heads * size]; ONNXD_NONE: not known */
    onnxd_value_id mask;               /* ONNXD_NONE: none */
    double scale;
    /* What goes: read by the next of them only. */
    onnxd_node *chain[8];
    size_t chain_count;
    onnxd_node *mix; /* the second product */
} attention_match;

/* ---- reading the graph ----------------------------------------------------------------------- */

static onnxd_node *producer_of(const attention_search *s, onnxd_value_id value, const char *op_type)
{
    const onnxd_node_id id = value == ONNXD_NONE ? ONNXD_NONE : s->graph->values[value].producer;
    if (id == ONNXD_NONE || !onnxd_node_is(&s->graph->nodes[id], "", op_type))
        return NULL;
    return &s->graph->nodes[id];
}

/* The node that alone reads a value which nobody else wants. */
static onnxd_node *only_reader(const attention_search *s, onnxd_value_id value, const char *op_type)
{
    if (s->uses[value] != 1 || s->graph->values[value].is_output)
        return NULL;
    onnxd_node *node = &s->graph->nodes[s->reader[value]];
    return onnxd_node_is(node, "", op_type) ? node : NULL;
}

static const onnxd_shape *shape_of(const attention_search *s, onnxd_value_id value)
{
    return &s->graph->values[value].type.shape;
}

static bool is_known(int64_t dim)
{
    return dim != ONNXD_DIM_UNKNOWN;
}

static bool is_equal(int64_t a, int64_t b)
{
    return a == b && is_known(a);
}

static bool is_float_of_rank(const attention_search *s, onnxd_value_id value, int32_t rank)
{
    return s->graph->values[value].type.dtype == ONNXD_FLOAT && shape_of(s, value)->rank == rank;
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
static onnxd_value_id before_transpose(const attention_search *s, onnxd_value_id value,
                                       const int64_t *perm)
{
    const onnxd_node *node = producer_of(s, value, "Transpose");
    return node != NULL && has_perm(node, perm) ? node->inputs[0] : ONNXD_NONE;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A product with, or a quotient by, one number: *out_other is multiplied by *inout_scale. */
static bool is_scaled(const attention_search *s, const onnxd_node *node, onnxd_value_id *out_other,
                      double *inout_scale)
{
    const bool is_quotient = onnxd_node_is(node, "", "Div");
    if ((!is_quotient && !onnxd_node_is(node, "", "Mul")) || node->input_count != 2)
        return false;
    for (uint32_t i = is_quotient ? 1 : 0; i < 2; i++) {
        const onnxd_tensor *number = onnxd_node_float_constant(s->graph, node, i);
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
static onnxd_value_id before_scales(const attention_search *s, onnxd_value_id value,
                                    double *inout_scale)
{
    while (value != ONNXD_NONE && s->graph->values[value].producer != ONNXD_NONE) {
        const onnxd_node *node = &s->graph->nodes[s->graph->values[value].producer];
        onnxd_value_id other = ONNXD_NONE;
        if (!is_scaled(s, node, &other, inout_scale))
            break;
        value = other;
    }
    return value;
}

/* ---- the pattern ----------------------------------------------------------------------------- */

/* From the scores back to the first product; false where there is none. */
static bool find_product(const attention_search *s, attention_match *m, onnxd_value_id scores,
                         onnxd_node **out_product)
{
    while (m->chain_count + 4 < ONNXD_COUNT(m->chain)) {
        onnxd_node *node = onnxd_graph_only_producer(s->graph, s->uses, scores);
        if (node == NULL)
            return false;
        m->chain[m->chain_count++] = node;
        if (onnxd_node_is(node, "", "MatMul")) {
            *out_product = node;
            return true;
        }
        if (!is_scaled(s, node, &scores, &m->scale))
            return false;
    }
    return false;
}

/* The scores may be either input of the addition of a mask. */
static bool find_scores(const attention_search *s, attention_match *m, onnxd_value_id scores,
                        onnxd_node **out_product)
{
    onnxd_node *add = onnxd_graph_only_producer(s->graph, s->uses, scores);
    if (add == NULL || !onnxd_node_is(add, "", "Add"))
        return find_product(s, m, scores, out_product);
    for (uint32_t i = 0; i < 2; i++) {
        attention_match try = *m;
        try.chain[try.chain_count++] = add;
        try.mask = add->inputs[1 - i];
        if (find_product(s, &try, add->inputs[i], out_product)) {
            *m = try;
            return true;
        }
    }
    return false;
}

/* [batch, length, heads, size] made of [batch, length, heads * size]. */
static onnxd_value_id before_split(const attention_search *s, onnxd_value_id value)
{
    const onnxd_node *node = producer_of(s, value, "Reshape");
    if (node == NULL || !is_float_of_rank(s, node->inputs[0], 3) ||
        shape_of(s, value)->rank != RANK)
        return ONNXD_NONE;
    const int64_t *whole = shape_of(s, node->inputs[0])->dims, *split = shape_of(s, value)->dims;
    int64_t width;
    if (!is_equal(whole[0], split[0]) || !is_equal(whole[1], split[1]) || split[2] <= 0 ||
        split[3] <= 0 || __builtin_mul_overflow(split[2], split[3], &width) || width != whole[2])
        return ONNXD_NONE;
    return node->inputs[0];
}

static bool find_keys(const attention_search *s, attention_match *m, onnxd_value_id across)
{
    across = before_scales(s, across, &m->scale);
    m->operands[K] = before_transpose(s, across, keys_across);
    if (m->operands[K] != ONNXD_NONE) {
        m->operands[K] = before_scales(s, m->operands[K], &m->scale);
        m->packed[K] = before_split(s, before_transpose(s, m->operands[K], heads_out));
        return true;
    }
    /* Both transpositions in one: there are no keys of rank 4. */
    m->packed[K] = before_split(s, before_transpose(s, across, both));
    return m->packed[K] != ONNXD_NONE;
}

static bool find_pattern(const attention_search *s, onnxd_node *softmax, attention_match *m)
{
    onnxd_node *product = NULL;
    int64_t axis = softmax->opset < 13 ? 1 : -1;
    onnxd_status *status = onnxd_attribute_int(softmax, "axis", INT64_MIN, INT64_MAX, &axis);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    *m = (attention_match){.mask = ONNXD_NONE, .scale = 1};
    m->chain[m->chain_count++] = softmax;
    if (!is_read || (axis != -1 && axis != RANK - 1) ||
        !is_float_of_rank(s, softmax->inputs[0], RANK))
        return false;
    m->mix = only_reader(s, softmax->outputs[0], "MatMul");
    if (m->mix == NULL || m->mix->inputs[0] != softmax->outputs[0] ||
        !find_scores(s, m, softmax->inputs[0], &product))
        return false;
    m->operands[Q] = before_scales(s, product->inputs[0], &m->scale);
    m->packed[Q] = before_split(s, before_transpose(s, m->operands[Q], heads_out));
    m->operands[V] = m->mix->inputs[1];
    m->packed[V] = before_split(s, before_transpose(s, m->operands[V], heads_out));
    return find_keys(s, m, product->inputs[1]);
}

/* ---- what Attention can do ------------------------------------------------------------------- */

/* Whether the mask broadcasts to the scores, and they not to it. */
static bool is_mask(const attention_search *s, onnxd_value_id mask, const int64_t *scores)
{
    const onnxd_shape *shape = shape_of(s, mask);
    if (s->graph->values[mask].type.dtype != ONNXD_FLOAT || shape->rank < 1 || shape->rank > RANK ||
        !is_equal(shape->dims[shape->rank - 1], scores[RANK - 1]))
        return false;
    for (int32_t i = 0; i + 1 < shape->rank; i++)
        if (shape->dims[i] != 1 && !is_equal(shape->dims[i], scores[RANK - shape->rank + i]))
            return false;
    return true;
}

/* MatMul broadcasts, Attention does not: all have as many entries and heads. */
static bool has_fitting_shapes(const attention_search *s, const attention_match *m,
                               const onnxd_node *softmax, const onnxd_node *product)
{
    const int64_t *scores = shape_of(s, softmax->inputs[0])->dims;
    const onnxd_shape *shapes[] = {shape_of(s, product->inputs[0]), shape_of(s, product->inputs[1]),
                                   shape_of(s, m->operands[V])};
    for (int i = Q; i < OPERANDS; i++)
        if (shapes[i]->rank != RANK || !is_equal(shapes[i]->dims[BATCH], scores[BATCH]) ||
            !is_equal(shapes[i]->dims[HEADS], scores[HEADS]))
            return false;
    return scores[HEADS] > 0 && is_equal(shapes[Q]->dims[LENGTH], scores[LENGTH]) &&
           is_equal(shapes[Q]->dims[SIZE], shapes[K]->dims[LENGTH]) &&
           is_equal(shapes[K]->dims[SIZE], scores[SIZE]) &&
           is_equal(shapes[V]->dims[LENGTH], scores[SIZE]) && is_known(shapes[V]->dims[SIZE]) &&
           (m->mask == ONNXD_NONE || is_mask(s, m->mask, scores));
}

/* The Reshape that makes [batch, length, heads * size] of the result; what stands between goes. */
static onnxd_node *find_join(const attention_search *s, attention_match *m)
{
    for (int i = Q; i < OPERANDS; i++)
        if (m->packed[i] == ONNXD_NONE)
            return NULL;
    onnxd_node *transpose = only_reader(s, m->mix->outputs[0], "Transpose");
    if (transpose == NULL || !has_perm(transpose, heads_out))
        return NULL;
    onnxd_node *join = only_reader(s, transpose->outputs[0], "Reshape");
    if (join == NULL || shape_of(s, join->outputs[0])->rank != 3)
        return NULL;
    const int64_t *split = shape_of(s, transpose->outputs[0])->dims;
    const int64_t *whole = shape_of(s, join->outputs[0])->dims;
    int64_t width;
    if (!is_equal(split[0], whole[0]) || !is_equal(split[1], whole[1]) || split[2] <= 0 ||
        split[3] <= 0 || __builtin_mul_overflow(split[2], split[3], &width) || width != whole[2])
        return NULL;
    m->chain[m->chain_count++] = m->mix;
    m->chain[m->chain_count++] = transpose;
    return join;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static onnxd_attribute int_attribute(const char *name, int64_t value)
{
    return (onnxd_attribute){
        .name = name, .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = value};
}

/* `end` becomes the Attention; `heads` are 0 where the operands have them apart. */
static onnxd_status *make_attention(attention_search *s, const attention_match *m, onnxd_node *end,
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
    end->op_type = "Attention";
    end->opset = ATTENTION_SINCE;
    ONNXD_TRY(onnxd_graph_set_node_inputs(s->graph, end, inputs,
                                          m->mask == ONNXD_NONE ? OPERANDS : OPERANDS + 1));
    ONNXD_TRY(onnxd_graph_set_attributes(s->graph, end, attributes, count));
    for (size_t i = 0; i < m->chain_count; i++) {
        s->graph->values[m->chain[i]->outputs[0]].producer = ONNXD_NONE;
        m->chain[i]->is_removed = true;
    }
    return onnxd_op_resolve(s->registry, s->graph, end);
}

static onnxd_status *visit(attention_search *s, onnxd_node *softmax, uint32_t *changes)
{
    attention_match m;
    if (!find_pattern(s, softmax, &m) ||
        !has_fitting_shapes(s, &m, softmax, m.chain[m.chain_count - 1]))
        return NULL;
    const int64_t heads = shape_of(s, softmax->inputs[0])->dims[HEADS];
    onnxd_node *join = find_join(s, &m);
    if (join == NULL) {
        for (int i = Q; i < OPERANDS; i++)
            if (m.operands[i] == ONNXD_NONE || !is_float_of_rank(s, m.operands[i], RANK))
                return NULL;
    }
    ++*changes;
    return make_attention(s, &m, join == NULL ? m.mix : join, join == NULL ? 0 : heads);
}

static void find_readers(attention_search *s)
{
    for (uint32_t n = 0; n < s->graph->node_count; n++)
        for (uint32_t i = 0; i < s->graph->nodes[n].input_count; i++)
            if (s->graph->nodes[n].inputs[i] != ONNXD_NONE)
                s->reader[s->graph->nodes[n].inputs[i]] = n;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    attention_search s = {.graph = graph, .registry = env->registry};
    uint32_t changes = 0;
    onnxd_status *status = onnxd_graph_count_uses(graph, &s.uses);
    s.reader = onnxd_alloc_zero((size_t)graph->value_count + 1, sizeof(s.reader[0]));
    if (status == NULL && s.reader == NULL)
        status = onnxd_error_out_of_memory("readers of values",
                                           graph->value_count * sizeof(s.reader[0]), UINT64_MAX);
    if (status == NULL)
        find_readers(&s);
    for (uint32_t n = 0; n < graph->node_count && status == NULL; n++)
        if (onnxd_node_is(&graph->nodes[n], "", "Softmax"))
            status = visit(&s, &graph->nodes[n], &changes);
    onnxd_free(s.uses);
    onnxd_free(s.reader);
    if (status == NULL)
        status = onnxd_graph_compact(graph);
    if (status == NULL)
        *out_changes = changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_attention = {
    .name = "fuse_attention",
    .summary = "make one Attention of the nodes that exporters write for it",
    .run = run,
    .is_private = true,
};

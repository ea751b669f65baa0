/*
 * A node between DequantizeLinear and QuantizeLinear computes on the quantised elements:
 *
 *   DequantizeLinear(x), DequantizeLinear(W) ─► Conv   ─► QuantizeLinear   becomes  QLinearConv
 *                                               MatMul                              QLinearMatMul
 *                                               Gemm                                QGemm
 *                                               Add                                 QLinearAdd
 *                                               MaxPool, Reshape ...                itself
 *
 * and a MatMul or Gemm whose result stays real MatMulIntegerToFloat or QGemm. Only what has vector
 * kernels is taken, weights and scales being constant; the sums are then exact, where the float
 * operator rounds each. A bias is rounded to the scale of the sums, as quantisers write it. A Relu
 * before a QuantizeLinear that has no negative numbers goes.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "ep/cpu/passes/quantized.h"
#include "graph/attributes.h"

/* QLinearConv and QLinearMatMul. */
#define QUANTIZED_SINCE 10
/* MaxPool of bytes. */
#define BYTES_POOL_SINCE 12
/* A bias in steps of the sums. Greater ones would leave the sums no room. */
#define MOST_BIAS 1e9
/* How far the scale of a quantised bias may be from that of the sums, as a part of it. */
#define BIAS_TOLERANCE 1e-5

/* ---- operands -------------------------------------------------------------------------------- */

/* INT8 or UINT8 with one scale. */
static bool whole_of(const onnxd_quantized_search *s, onnxd_value_id value, onnxd_quantized *out)
{
    return value != ONNXD_NONE && onnxd_quantized_of(s, value, out) &&
           onnxd_quantized_is_whole(out) && out->dtype != ONNXD_INT32;
}

/* Constant INT8 or UINT8 with one scale, or one for each index of the axis of outputs. */
static bool weights_of(const onnxd_quantized_search *s, onnxd_value_id value, int64_t axis,
                       onnxd_quantized *out)
{
    if (!onnxd_quantized_of(s, value, out) || out->dtype == ONNXD_INT32)
        return false;
    const onnxd_tensor *weights = s->graph->values[out->elements].constant;
    const int64_t rank = weights == NULL ? 0 : weights->shape.rank;
    return weights != NULL && rank >= 2 && weights->count > 0 &&
           (onnxd_quantized_is_whole(out) ||
            ((out->axis == axis || out->axis + rank == axis) &&
             out->scales->count == (uint64_t)weights->shape.dims[axis]));
}

/* Whether the type has no number below 0. */
static bool is_positive(const onnxd_quantized *q)
{
    return onnxd_quantized_zero_at(q, 0) == (q->dtype == ONNXD_INT8 ? -128 : 0);
}

/* The end of a fusion: the QuantizeLinear that alone reads what `node` makes. */
typedef struct tail {
    onnxd_node *relu, *quantize;
    onnxd_quantized y;
} tail;

static bool tail_of(const onnxd_quantized_search *s, const onnxd_node *node, tail *out)
{
    *out = (tail){0};
    onnxd_node *next = onnxd_quantized_only_reader(s, node->outputs[0]);
    if (next != NULL && onnxd_node_is(next, "", "Relu")) {
        out->relu = next;
        next = onnxd_quantized_only_reader(s, next->outputs[0]);
    }
    if (next == NULL || next->output_count != 1 || !onnxd_quantized_by(s, next, &out->y) ||
        !onnxd_quantized_is_whole(&out->y))
        return false;
    out->quantize = next;
    return out->relu == NULL || is_positive(&out->y);
}

static void take_tail(onnxd_quantized_search *s, onnxd_node *node, const tail *t)
{
    onnxd_graph *graph = s->graph;
    graph->values[node->outputs[0]].producer = ONNXD_NONE;
    if (t->relu != NULL) {
        graph->values[t->relu->outputs[0]].producer = ONNXD_NONE;
        t->relu->is_removed = true;
    }
    node->outputs[0] = t->quantize->outputs[0];
    graph->values[node->outputs[0]].producer = (onnxd_node_id)(node - graph->nodes);
    t->quantize->is_removed = true;
}

/* The zero point's value, a constant of zeros where it is absent. */
static onnxd_status *zero_of(onnxd_quantized_search *s, const onnxd_quantized *q,
                             onnxd_value_id *out_value)
{
    *out_value = q->zero;
    if (q->zero != ONNXD_NONE)
        return NULL;
    uint8_t *zeros = onnxd_alloc_zero(q->scales->count, 1);
    if (zeros == NULL)
        return onnxd_error_out_of_memory("zero points", q->scales->count, UINT64_MAX);
    onnxd_status *status = onnxd_graph_derive_tensor(s->graph, q->scale, "zero", q->dtype,
                                                     &q->scales->shape, zeros, out_value);
    onnxd_free(zeros);
    return status;
}

static onnxd_status *become(onnxd_quantized_search *s, onnxd_node *node, const char *domain,
                            const char *op_type, const onnxd_value_id *inputs, uint32_t count)
{
    if (domain[0] != '\0')
        node->opset = 1;
    node->domain = domain;
    node->op_type = op_type;
    ONNXD_TRY(onnxd_graph_set_node_inputs(s->graph, node, inputs, count));
    ONNXD_TRY(onnxd_op_resolve(s->registry, s->graph, node));
    s->changes++;
    return NULL;
}

/* ---- bias ------------------------------------------------------------------------------------ */

static double scale_at(const onnxd_quantized *q, size_t i)
{
    const float *scales = q->scales == NULL ? NULL : q->scales->data;
    return scales == NULL ? 0 : (double)scales[onnxd_quantized_is_whole(q) ? 0 : i];
}

/* A bias in steps of the sums of x and W. `has` tells whether there is one. */
typedef struct bias {
    bool has, is_ready;      /* ready: constant INT32 of the right scale */
    onnxd_value_id value;    /* ready: it */
    const float *reals;      /* not ready: constant FLOAT */
    onnxd_quantized integer; /* or quantised, where `reals` is NULL */
} bias;

/* One value of the bias as a real number. */
static double bias_at(const onnxd_quantized_search *s, const bias *b, size_t i)
{
    if (b->reals != NULL)
        return (double)b->reals[i];
    const int32_t *elements = s->graph->values[b->integer.elements].constant->data;
    return ((double)elements[i] -
            onnxd_quantized_zero_at(&b->integer, onnxd_quantized_is_whole(&b->integer) ? 0 : i)) *
           scale_at(&b->integer, i);
}

static bool is_vector(const onnxd_tensor *tensor, size_t count)
{
    return tensor != NULL && tensor->shape.rank == 1 && tensor->count == count;
}

/* Looks at input `index` as the bias of `maps` outputs. False when it cannot be one. */
static bool bias_of(const onnxd_quantized_search *s, const onnxd_node *node, uint32_t index,
                    size_t maps, const onnxd_quantized *x, const onnxd_quantized *w, bias *out)
{
    *out = (bias){.value = ONNXD_NONE};
    if (index >= node->input_count || node->inputs[index] == ONNXD_NONE)
        return true;
    out->has = true;
    const onnxd_tensor *reals = onnxd_node_float_constant(s->graph, node, index);
    if (reals != NULL) {
        out->reals = reals->data;
        if (!is_vector(reals, maps))
            return false;
    } else if (!onnxd_quantized_of(s, node->inputs[index], &out->integer) ||
               out->integer.dtype != ONNXD_INT32 ||
               (!onnxd_quantized_is_whole(&out->integer) && out->integer.scales->count != maps) ||
               !is_vector(s->graph->values[out->integer.elements].constant, maps)) {
        return false;
    }
    out->is_ready = reals == NULL;
    for (size_t i = 0; i < maps; i++) {
        const double step = scale_at(x, 0) * scale_at(w, i);
        if (!(fabs(bias_at(s, out, i)) <= MOST_BIAS * step))
            return false;
        if (reals == NULL)
            out->is_ready =
                out->is_ready && fabs(scale_at(&out->integer, i) - step) <= BIAS_TOLERANCE * step &&
                onnxd_quantized_zero_at(&out->integer,
                                        onnxd_quantized_is_whole(&out->integer) ? 0 : i) == 0;
    }
    if (out->is_ready)
        out->value = out->integer.elements;
    return true;
}

static onnxd_status *make_bias(onnxd_quantized_search *s, const onnxd_node *node, uint32_t index,
                               size_t maps, const onnxd_quantized *x, const onnxd_quantized *w,
                               const bias *b, onnxd_value_id *out_value)
{
    const onnxd_shape shape = {.rank = 1, .dims = {(int64_t)maps}};
    *out_value = b->value;
    if (!b->has || b->is_ready)
        return NULL;
    int32_t *steps = onnxd_alloc_zero(maps, sizeof(*steps));
    if (steps == NULL)
        return onnxd_error_out_of_memory("a bias", maps * sizeof(*steps), UINT64_MAX);
    for (size_t i = 0; i < maps; i++)
        steps[i] = (int32_t)rint(bias_at(s, b, i) / (scale_at(x, 0) * scale_at(w, i)));
    onnxd_status *status = onnxd_graph_derive_tensor(s->graph, node->inputs[index], "quantized",
                                                     ONNXD_INT32, &shape, steps, out_value);
    onnxd_free(steps);
    return status;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Depthwise ones have no vector kernel of their own: the float operator is faster. */
static bool is_depthwise(const onnxd_node *node, const onnxd_tensor *weights)
{
    const onnxd_attribute *group = onnxd_node_attribute(node, "group");
    return group != NULL && group->value.i > 1 && weights->shape.dims[1] == 1;
}

static onnxd_status *fuse_convolution(onnxd_quantized_search *s, onnxd_node *node)
{
    enum { X, W, B };
    onnxd_quantized x, w;
    tail t;
    bias b;
    if (node->opset < QUANTIZED_SINCE || !whole_of(s, node->inputs[X], &x) ||
        !weights_of(s, node->inputs[W], 0, &w) || !tail_of(s, node, &t))
        return NULL;
    const onnxd_tensor *weights = s->graph->values[w.elements].constant;
    const size_t maps = (size_t)weights->shape.dims[0];
    if (is_depthwise(node, weights) || !bias_of(s, node, B, maps, &x, &w, &b))
        return NULL;
    onnxd_value_id inputs[] = {x.elements, x.scale,   ONNXD_NONE, w.elements, w.scale,
                               ONNXD_NONE, t.y.scale, ONNXD_NONE, ONNXD_NONE};
    ONNXD_TRY(zero_of(s, &x, &inputs[2]));
    ONNXD_TRY(zero_of(s, &w, &inputs[5]));
    ONNXD_TRY(zero_of(s, &t.y, &inputs[7]));
    ONNXD_TRY(make_bias(s, node, B, maps, &x, &w, &b, &inputs[8]));
    take_tail(s, node, &t);
    return become(s, node, "", "QLinearConv", inputs, b.has ? 9 : 8);
}

static onnxd_status *fuse_matmul(onnxd_quantized_search *s, onnxd_node *node)
{
    onnxd_quantized a, b;
    tail t;
    if (node->opset < QUANTIZED_SINCE || !whole_of(s, node->inputs[0], &a) ||
        !weights_of(s, node->inputs[1], 1, &b) ||
        s->graph->values[b.elements].constant->shape.rank != 2)
        return NULL;
    onnxd_value_id a_zero = ONNXD_NONE, b_zero = ONNXD_NONE, y_zero = ONNXD_NONE;
    ONNXD_TRY(zero_of(s, &a, &a_zero));
    ONNXD_TRY(zero_of(s, &b, &b_zero));
    if (!tail_of(s, node, &t)) {
        const onnxd_value_id inputs[] = {a.elements, b.elements, a.scale, b.scale, a_zero, b_zero};
        return become(s, node, "com.microsoft", "MatMulIntegerToFloat", inputs,
                      ONNXD_COUNT(inputs));
    }
    ONNXD_TRY(zero_of(s, &t.y, &y_zero));
    const onnxd_value_id inputs[] = {a.elements, a.scale, a_zero,    b.elements,
                                     b.scale,    b_zero,  t.y.scale, y_zero};
    take_tail(s, node, &t);
    return become(s, node, "", "QLinearMatMul", inputs, ONNXD_COUNT(inputs));
}

static bool is_flag_set(const onnxd_node *node, const char *name)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    return attribute != NULL && attribute->value.i != 0;
}

static bool is_one(const onnxd_node *node, const char *name)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, name);
    return attribute == NULL || attribute->value.f == 1.0f;
}

/* QGemm's attributes: those of Gemm but beta. */
static onnxd_status *set_transposition(onnxd_quantized_search *s, onnxd_node *node,
                                       bool transposes_b)
{
    const onnxd_attribute attribute = {
        .name = "transB", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = transposes_b};
    return onnxd_graph_set_attributes(s->graph, node, &attribute, 1);
}

static onnxd_status *fuse_gemm(onnxd_quantized_search *s, onnxd_node *node)
{
    enum { A, B, C };
    onnxd_quantized a, w;
    tail t;
    bias b;
    const bool transposes_b = is_flag_set(node, "transB");
    const int64_t axis = transposes_b ? 0 : 1;
    if (node->opset < QUANTIZED_SINCE || is_flag_set(node, "transA") || !is_one(node, "alpha") ||
        !is_one(node, "beta") || !whole_of(s, node->inputs[A], &a) ||
        !weights_of(s, node->inputs[B], axis, &w))
        return NULL;
    const size_t columns = (size_t)s->graph->values[w.elements].constant->shape.dims[axis];
    if (!bias_of(s, node, C, columns, &a, &w, &b))
        return NULL;
    const bool has_tail = tail_of(s, node, &t);
    onnxd_value_id inputs[] = {a.elements, a.scale,    ONNXD_NONE, w.elements, w.scale,
                               ONNXD_NONE, ONNXD_NONE, ONNXD_NONE, ONNXD_NONE};
    ONNXD_TRY(zero_of(s, &a, &inputs[2]));
    ONNXD_TRY(zero_of(s, &w, &inputs[5]));
    ONNXD_TRY(make_bias(s, node, C, columns, &a, &w, &b, &inputs[6]));
    if (has_tail) {
        inputs[7] = t.y.scale;
        ONNXD_TRY(zero_of(s, &t.y, &inputs[8]));
        take_tail(s, node, &t);
    }
    ONNXD_TRY(set_transposition(s, node, transposes_b));
    return become(s, node, "com.microsoft", "QGemm", inputs, has_tail ? 9 : 7);
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool is_same_shape(const onnxd_graph *graph, onnxd_value_id a, onnxd_value_id b)
{
    const onnxd_shape *left = &graph->values[a].type.shape, *right = &graph->values[b].type.shape;
    if (left->rank < 0 || left->rank != right->rank)
        return false;
    for (int32_t i = 0; i < left->rank; i++)
        if (left->dims[i] != right->dims[i] || left->dims[i] == ONNXD_DIM_UNKNOWN)
            return false;
    return true;
}

static onnxd_status *fuse_addition(onnxd_quantized_search *s, onnxd_node *node)
{
    onnxd_quantized a, b;
    tail t;
    if (!whole_of(s, node->inputs[0], &a) || !whole_of(s, node->inputs[1], &b) ||
        a.dtype != b.dtype || !is_same_shape(s->graph, a.elements, b.elements) ||
        !tail_of(s, node, &t) || t.y.dtype != a.dtype)
        return NULL;
    const onnxd_value_id inputs[] = {a.elements, a.scale, a.zero,    b.elements,
                                     b.scale,    b.zero,  t.y.scale, t.y.zero};
    take_tail(s, node, &t);
    return become(s, node, "com.microsoft", "QLinearAdd", inputs, ONNXD_COUNT(inputs));
}

static bool is_equal(const onnxd_quantized *a, const onnxd_quantized *b)
{
    return a->dtype == b->dtype && onnxd_quantized_zero_at(a, 0) == onnxd_quantized_zero_at(b, 0) &&
           memcmp(a->scales->data, b->scales->data, sizeof(float)) == 0;
}

/* What chooses or moves elements does the same with quantised ones. */
static onnxd_status *fuse_movement(onnxd_quantized_search *s, onnxd_node *node)
{
    onnxd_quantized x;
    tail t;
    if (node->output_count != 1 || !whole_of(s, node->inputs[0], &x) || !tail_of(s, node, &t) ||
        t.relu != NULL || !is_equal(&x, &t.y) ||
        (strcmp(node->op_type, "MaxPool") == 0 && node->opset < BYTES_POOL_SINCE))
        return NULL;
    take_tail(s, node, &t);
    node->inputs[0] = x.elements;
    s->changes++;
    return onnxd_op_resolve(s->registry, s->graph, node);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static const struct {
    const char *op_type;
    onnxd_status *(*fuse)(onnxd_quantized_search *s, onnxd_node *node);
} rules[] = {
    {"Conv", fuse_convolution},   {"MatMul", fuse_matmul},      {"Gemm", fuse_gemm},
    {"Add", fuse_addition},       {"MaxPool", fuse_movement},   {"Reshape", fuse_movement},
    {"Flatten", fuse_movement},   {"Transpose", fuse_movement}, {"Squeeze", fuse_movement},
    {"Unsqueeze", fuse_movement},
};

static onnxd_status *visit(onnxd_quantized_search *s, onnxd_node *node)
{
    for (size_t i = 0; i < ONNXD_COUNT(rules); i++)
        if (onnxd_node_is(node, "", rules[i].op_type) && node->capture_count == 0)
            return rules[i].fuse(s, node);
    return NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    return onnxd_quantized_search_run(graph, env, visit, out_changes);
}

const onnxd_pass onnxd_cpu_pass_fuse_quantized = {
    .name = "fuse_quantized",
    .summary = "compute on quantised elements between DequantizeLinear and QuantizeLinear",
    .run = run,
    .is_private = true,
    .wants_quantized = true,
};

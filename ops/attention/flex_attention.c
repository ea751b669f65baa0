/* FlexAttention: attention whose scores and weights subgraphs may change. */
#include <inttypes.h>
#include <tgmath.h>

#include "graph/attributes.h"
#include "ops/control/control.h"
#include "ops/gemm_core.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { Q, K, V };

typedef struct flex_params {
    bool has_scale;
    float scale;
    onnxd_dtype softmax_dtype; /* UNDEFINED: double for doubles, else float */
    const onnxd_graph *score_mod, *prob_mod;
} flex_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *out)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"prob_mod", "scale", "score_mod", "softmax_precision",
                                        NULL};
    flex_params *params = out;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    params->has_scale = onnxd_node_attribute(node, "scale") != NULL;
    ONNXD_TRY(onnxd_attribute_float(node, "scale", &params->scale));
    ONNXD_TRY(onnxd_op_float_type(node, "softmax_precision", &params->softmax_dtype));
    const onnxd_graph **const graphs[] = {&params->prob_mod, &params->score_mod};
    static const char *const graph_names[] = {"prob_mod", "score_mod"};
    for (size_t i = 0; i < ONNXD_COUNT(graphs); i++) {
        if (onnxd_node_attribute(node, graph_names[i]) == NULL)
            continue;
        ONNXD_TRY(onnxd_control_graph(node, graph_names[i], graphs[i]));
        ONNXD_TRY(onnxd_control_check_graph(node, graph_names[i], *graphs[i], 1, 1));
    }
    return NULL;
}

/* Two dimensions that must agree where both are known. */
static onnxd_status *agree(const onnxd_node *node, uint32_t left, const onnxd_shape *a,
                           uint32_t right, const onnxd_shape *b, int32_t axis)
{
    if (a->rank != 4 || b->rank != 4 || !onnxd_dim_is_static(a->dims[axis]) ||
        !onnxd_dim_is_static(b->dims[axis]) || a->dims[axis] == b->dims[axis])
        return NULL;
    return onnxd_op_error(node,
                          "dimension %" PRId32 " of input %" PRIu32 " is %" PRId64
                          ", that of input %" PRIu32 " is %" PRId64,
                          axis, left, a->dims[axis], right, b->dims[axis]);
}

static onnxd_status *check_shapes(const onnxd_node *node, const onnxd_shape *const shapes[3])
{
    for (uint32_t i = Q; i <= V; i++)
        if (shapes[i]->rank != ONNXD_RANK_UNKNOWN && shapes[i]->rank != 4)
            return onnxd_op_error(node, "input %" PRIu32 " has rank %" PRId32 ", but 4 is needed",
                                  i, shapes[i]->rank);
    ONNXD_TRY(agree(node, Q, shapes[Q], K, shapes[K], 0));
    ONNXD_TRY(agree(node, Q, shapes[Q], V, shapes[V], 0));
    ONNXD_TRY(agree(node, K, shapes[K], V, shapes[V], 1));
    ONNXD_TRY(agree(node, K, shapes[K], V, shapes[V], 2));
    ONNXD_TRY(agree(node, Q, shapes[Q], K, shapes[K], 3));
    if (shapes[Q]->rank != 4 || shapes[K]->rank != 4)
        return NULL;
    int64_t heads = shapes[Q]->dims[1], shared = shapes[K]->dims[1];
    if (!onnxd_dim_is_static(heads) || !onnxd_dim_is_static(shared) ||
        (shared == 0 ? heads == 0 : heads % shared == 0))
        return NULL;
    return onnxd_op_error(node, "%" PRId64 " heads of Q cannot share %" PRId64 " heads of K and V",
                          heads, shared);
}

static onnxd_status *infer(onnxd_infer *context)
{
    const onnxd_shape *const shapes[] = {&context->inputs[Q].shape, &context->inputs[K].shape,
                                         &context->inputs[V].shape};
    ONNXD_TRY(check_shapes(context->node, shapes));
    onnxd_shape shape = shapes[Q]->rank == 4 ? *shapes[Q] : onnxd_shape_of_rank(4);
    shape.dims[3] = shapes[V]->rank == 4 ? shapes[V]->dims[3] : ONNXD_DIM_UNKNOWN;
    context->outputs[0].dtype = context->inputs[Q].dtype;
    context->outputs[0].shape = shape;
    return NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* What one run holds; tensors are NULL until made. */
typedef struct flex {
    onnxd_dynamic *dynamic;
    const flex_params *params;
    const onnxd_tensor *q, *k, *v;
    size_t batch, heads, group, length, keys, size, value_size;
    onnxd_dtype wide, softmax_dtype; /* calculated in; of scores and weights */
    onnxd_tensor *wides[3];          /* Q, K and V as `wide` */
    onnxd_tensor *block;             /* scores of a block of queries, of `wide` */
    onnxd_tensor *result;            /* what they become, of `wide` */
    onnxd_datum *scores;             /* then the weights */
} flex;

static void read_wide(const flex *f, const onnxd_tensor *tensor, size_t first, size_t count,
                      void *out)
{
    if (f->wide == ONNXD_DOUBLE)
        onnxd_real_read_double(tensor->dtype, tensor->data, first, count, out);
    else
        onnxd_real_read_float(tensor->dtype, tensor->data, first, count, out);
}

static void write_wide(const flex *f, const void *values, size_t count, onnxd_tensor *tensor,
                       size_t first)
{
    if (f->wide == ONNXD_DOUBLE)
        onnxd_real_write_double(tensor->dtype, values, count, tensor->data, first);
    else
        onnxd_real_write_float(tensor->dtype, values, count, tensor->data, first);
}

static onnxd_status *allocate(const flex *f, onnxd_dtype dtype, const onnxd_shape *shape,
                              onnxd_tensor **out_tensor)
{
    return f->dynamic->env->allocate(f->dynamic->env, dtype, shape, out_tensor);
}

static onnxd_status *widen(flex *f, const onnxd_tensor *tensor, onnxd_tensor **out_tensor)
{
    ONNXD_TRY(allocate(f, f->wide, &tensor->shape, out_tensor));
    read_wide(f, tensor, 0, tensor->count, (*out_tensor)->data);
    return NULL;
}

/* Queries handled between two questions whether the request still stands. */
#define QUERY_BLOCK ((size_t)32)

/* `rows` queries of one head from `first` on; heads of all batch entries are counted through. */
typedef struct query_block {
    size_t head, first, rows;
} query_block;

/* Row `row` of an input as a matrix of rows of `width` numbers. */
static const void *row_of(const flex *f, uint32_t input, size_t row, size_t width)
{
    return (const char *)f->wides[input]->data + row * width * onnxd_dtype_size(f->wide);
}

#define ROW_FUNCTIONS(T)                                                                           \
    static void scale_##T(T *values, size_t count, double scale)                                   \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] *= (T)scale;                                                                 \
    }                                                                                              \
    static void soften_##T(T *row, size_t count)                                                   \
    {                                                                                              \
        T largest = row[0];                                                                        \
        double sum = 0;                                                                            \
        for (size_t j = 1; j < count; j++)                                                         \
            largest = row[j] > largest ? row[j] : largest;                                         \
        for (size_t j = 0; j < count; j++) {                                                       \
            row[j] = exp(row[j] - largest);                                                        \
            sum += (double)row[j];                                                                 \
        }                                                                                          \
        scale_##T(row, count, 1 / sum);                                                            \
    }
ROW_FUNCTIONS(float)
ROW_FUNCTIONS(double)

static void score(const flex *f, const query_block *q, onnxd_tensor *to)
{
    size_t count = q->rows * f->keys, row = q->head * f->length + q->first;
    onnxd_product product = {q->rows, f->size, f->keys, f->size, 1, 1, f->size};
    double scale = f->params->has_scale ? (double)f->params->scale : 1 / sqrt((double)f->size);
    onnxd_product_run(&product, f->wide, row_of(f, Q, row, f->size),
                      row_of(f, K, q->head / f->group * f->keys, f->size), f->block->data);
    if (f->wide == ONNXD_DOUBLE)
        scale_double(f->block->data, count, scale);
    else
        scale_float(f->block->data, count, scale);
    write_wide(f, f->block->data, count, to, row * f->keys);
}

/* The scores become weights, in `to`. */
static void soften(const flex *f, const query_block *q, onnxd_tensor *to)
{
    size_t count = q->rows * f->keys, row = q->head * f->length + q->first;
    read_wide(f, f->scores->tensor, row * f->keys, count, f->block->data);
    for (size_t i = 0; i < q->rows; i++) {
        if (f->wide == ONNXD_DOUBLE)
            soften_double((double *)f->block->data + i * f->keys, f->keys);
        else
            soften_float((float *)f->block->data + i * f->keys, f->keys);
    }
    write_wide(f, f->block->data, count, to, row * f->keys);
}

static void combine(const flex *f, const query_block *q, onnxd_tensor *to)
{
    size_t row = q->head * f->length + q->first;
    read_wide(f, f->scores->tensor, row * f->keys, q->rows * f->keys, f->block->data);
    onnxd_product product = {q->rows, f->keys, f->value_size, f->keys, 1, f->value_size, 1};
    onnxd_product_run(&product, f->wide, f->block->data,
                      row_of(f, V, q->head / f->group * f->keys, f->value_size), f->result->data);
    write_wide(f, f->result->data, q->rows * f->value_size, to, row * f->value_size);
}

/* Fills `to`, which has rows for all queries of all heads. */
static onnxd_status *fill(const flex *f,
                          void (*step)(const flex *f, const query_block *q, onnxd_tensor *to),
                          onnxd_tensor *to)
{
    const onnxd_run_env *env = f->dynamic->env;
    for (size_t head = 0; to->count != 0 && head < f->batch * f->heads; head++)
        for (size_t first = 0; first < f->length; first += QUERY_BLOCK) {
            size_t rest = f->length - first;
            const query_block q = {head, first, rest < QUERY_BLOCK ? rest : QUERY_BLOCK};
            ONNXD_TRY(env->check(env));
            step(f, &q, to);
        }
    return NULL;
}

/* Puts a tensor in the place of the scores; consumes the reference. */
static onnxd_status *replace_scores(flex *f, onnxd_tensor *tensor)
{
    onnxd_datum *datum = NULL;
    ONNXD_TRY(onnxd_control_datum(tensor, &datum));
    onnxd_datum_release(f->scores);
    f->scores = datum;
    return NULL;
}

static onnxd_status *modify(flex *f, const char *name, const onnxd_graph *graph)
{
    const onnxd_node *node = f->dynamic->node;
    if (graph == NULL)
        return NULL;
    onnxd_datum *made = NULL;
    const onnxd_tensor *tensor = NULL;
    ONNXD_TRY(f->dynamic->env->run_subgraph(f->dynamic->env, graph, f->dynamic->inputs, &f->scores,
                                            &made));
    onnxd_status *status = onnxd_control_tensor(node, name, made, &tensor);
    if (status == NULL && (tensor->dtype != f->softmax_dtype ||
                           !onnxd_shape_equal(&tensor->shape, &f->scores->tensor->shape)))
        status = onnxd_op_error(
            node, "the output of '%s' must have the type and shape of its input", name);
    if (status != NULL) {
        onnxd_datum_release(made);
        return status;
    }
    onnxd_datum_release(f->scores);
    f->scores = made;
    return NULL;
}

static onnxd_status *prepare(flex *f)
{
    int64_t rows = (int64_t)(f->length < QUERY_BLOCK ? f->length : QUERY_BLOCK);
    onnxd_shape block = onnxd_shape_from(2, (int64_t[]){rows, (int64_t)f->keys});
    onnxd_shape result = onnxd_shape_from(2, (int64_t[]){rows, (int64_t)f->value_size});
    /* Without heads nothing is put there, however large it would be. */
    if (f->batch == 0 || f->heads == 0)
        block.dims[0] = result.dims[0] = 0;
    ONNXD_TRY(widen(f, f->q, &f->wides[Q]));
    ONNXD_TRY(widen(f, f->k, &f->wides[K]));
    ONNXD_TRY(widen(f, f->v, &f->wides[V]));
    ONNXD_TRY(allocate(f, f->wide, &block, &f->block));
    return allocate(f, f->wide, &result, &f->result);
}

static onnxd_status *make_weights(flex *f)
{
    onnxd_shape shape = onnxd_shape_from(
        4, (int64_t[]){(int64_t)f->batch, (int64_t)f->heads, (int64_t)f->length, (int64_t)f->keys});
    onnxd_tensor *tensor = NULL;
    ONNXD_TRY(allocate(f, f->softmax_dtype, &shape, &tensor));
    ONNXD_TRY(replace_scores(f, tensor));
    ONNXD_TRY(fill(f, score, tensor));
    ONNXD_TRY(modify(f, "score_mod", f->params->score_mod));
    ONNXD_TRY(allocate(f, f->softmax_dtype, &shape, &tensor));
    onnxd_status *status = fill(f, soften, tensor);
    if (status != NULL) {
        onnxd_tensor_release(tensor);
        return status;
    }
    ONNXD_TRY(replace_scores(f, tensor));
    return modify(f, "prob_mod", f->params->prob_mod);
}

static onnxd_status *make_result(flex *f)
{
    onnxd_shape shape = f->q->shape;
    onnxd_tensor *tensor = NULL;
    shape.dims[3] = (int64_t)f->value_size;
    ONNXD_TRY(allocate(f, f->q->dtype, &shape, &tensor));
    onnxd_status *status = fill(f, combine, tensor);
    if (status != NULL) {
        onnxd_tensor_release(tensor);
        return status;
    }
    return onnxd_control_datum(tensor, &f->dynamic->outputs[0]);
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    flex f = {.dynamic = dynamic, .params = dynamic->params};
    ONNXD_TRY(onnxd_control_tensor(dynamic->node, "input 0", dynamic->inputs[Q], &f.q));
    ONNXD_TRY(onnxd_control_tensor(dynamic->node, "input 1", dynamic->inputs[K], &f.k));
    ONNXD_TRY(onnxd_control_tensor(dynamic->node, "input 2", dynamic->inputs[V], &f.v));
    const onnxd_shape *const shapes[] = {&f.q->shape, &f.k->shape, &f.v->shape};
    ONNXD_TRY(check_shapes(dynamic->node, shapes));
    const int64_t *q = f.q->shape.dims, *k = f.k->shape.dims;
    f.batch = (size_t)q[0];
    f.heads = (size_t)q[1];
    f.group = k[1] == 0 ? 1 : f.heads / (size_t)k[1];
    f.length = (size_t)q[2];
    f.size = (size_t)q[3];
    f.keys = (size_t)k[2];
    f.value_size = (size_t)f.v->shape.dims[3];
    bool is_double = f.q->dtype == ONNXD_DOUBLE;
    f.softmax_dtype = is_double ? ONNXD_DOUBLE : ONNXD_FLOAT;
    if (f.params->softmax_dtype != ONNXD_UNDEFINED)
        f.softmax_dtype = f.params->softmax_dtype;
    f.wide = is_double || f.softmax_dtype == ONNXD_DOUBLE ? ONNXD_DOUBLE : ONNXD_FLOAT;
    onnxd_status *status = prepare(&f);
    if (status == NULL)
        status = make_weights(&f);
    if (status == NULL)
        status = make_result(&f);
    for (size_t i = 0; i < ONNXD_COUNT(f.wides); i++)
        onnxd_tensor_release(f.wides[i]);
    onnxd_tensor_release(f.block);
    onnxd_tensor_release(f.result);
    onnxd_datum_release(f.scores);
    return status;
}

const onnxd_op_def onnxd_op_flex_attention[] = {
    {.op_type = "FlexAttention",
     .domain = "ai.onnx.preview",
     .since = 1,
     .until = 1,
     .min_inputs = 3,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 1},
                {.types = ONNXD_SET_FLOATS, .type_variable = 1}},
     .outputs = {{.types = ONNXD_SET_FLOATS, .type_variable = 1}},
     .params_bytes = sizeof(flex_params),
     .parse = parse,
     .infer = infer,
     .run = run},
    {.op_type = NULL},
};

/*
 * A Transpose or Reshape that undoes an earlier one, with functions of elements between them, goes
 * with it:
 *
 *   Transpose^-1(Add(Relu(Transpose(x)), c))   becomes   Add(Relu(x), Transpose^-1(c))
 *   Reshape(Mul(Reshape(x: [n, 4]), 2): [n, 4])   becomes   Mul(x, 2)
 *
 * Every operand between them is moved so, is one element, or is a constant, whose move is computed
 * at load. Only functions whose results nobody else reads are done in the other order.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/internal.h"
#include "graph/moves.h"
#include "graph/passes.h"
#include "graph/rewrite.h"

/* Functions of elements one behind the other, and rewrites per run. */
#define MAX_DEPTH 8
#define MAX_REWRITES 64
/* Before this opset an attribute said how inputs are broadcast. */
#define BROADCAST_SINCE 7

typedef struct canceller {
    onnxd_graph *graph;
    const onnxd_pass_env *env;
    onnxd_derivation types;
    uint32_t *uses;
    /* The move that undoes: a Transpose, or a node that only changes the shape. */
    const onnxd_node *last;
    bool is_transpose;
    int32_t rank; /* of what is transposed */
    int64_t perm[ONNXD_MAX_RANK];
    uint32_t undone; /* moves that it undoes */
} canceller;

static const onnxd_shape *shape_of(const canceller *c, onnxd_value_id value)
{
    return &c->types.types[value].shape;
}

/* ---- functions of elements ------------------------------------------------------------------- */

/* How many of the inputs are operands: the others, bounds of a Clip, stay. 0: it is no such
 * function. */
static uint32_t operands_of(const onnxd_node *node)
{
    static const char *const unary[] = {
        "Abs",   "Cast",     "Ceil",        "Clip",      "Elu",       "Erf",  "Exp",
        "Floor", "Gelu",     "HardSigmoid", "HardSwish", "LeakyRelu", "Log",  "Mish",
        "Neg",   "Not",      "Reciprocal",  "Relu",      "Round",     "Selu", "Sigmoid",
        "Sign",  "Softplus", "Softsign",    "Sqrt",      "Swish",     "Tanh"};
    static const char *const binary[] = {"Add", "Div", "Mul", "Pow", "Sub"};
    if (node->def == NULL || node->domain[0] != '\0' || node->output_count != 1)
        return 0;
    for (size_t i = 0; i < ONNXD_COUNT(unary); i++)
        if (strcmp(unary[i], node->op_type) == 0)
            return 1;
    for (size_t i = 0; i < ONNXD_COUNT(binary); i++)
        if (strcmp(binary[i], node->op_type) == 0 && node->opset >= BROADCAST_SINCE)
            return 2;
    return 0;
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Whether the last move undoes this one. */
static bool is_undone(const canceller *c, const onnxd_node *node)
{
    int64_t perm[ONNXD_MAX_RANK];
    int32_t rank;
    if (!c->is_transpose)
        return onnxd_node_is_reshape(node) &&
               onnxd_graph_same_shape(shape_of(c, node->inputs[0]),
                                      shape_of(c, c->last->outputs[0])) &&
               onnxd_graph_same_shape(shape_of(c, node->outputs[0]),
                                      shape_of(c, c->last->inputs[0]));
    if (!onnxd_node_is(node, "", "Transpose") ||
        !onnxd_node_read_perm(node, shape_of(c, node->inputs[0]), perm, &rank) || rank != c->rank)
        return false;
    for (int32_t i = 0; i < c->rank; i++)
        if (perm[c->perm[i]] != i)
            return false;
    return true;
}

/* ---- what can be done in the other order ----------------------------------------------------- */

static bool is_one_element(const canceller *c, const onnxd_tensor *constant)
{
    return constant->count == 1 && constant->shape.rank <= shape_of(c, c->last->outputs[0])->rank;
}

/* A constant that can be moved; strings and packed types are left alone. */
static bool is_movable(const canceller *c, const onnxd_tensor *constant)
{
    if (is_one_element(c, constant))
        return true;
    if (constant->dtype == ONNXD_STRING || onnxd_dtype_size(constant->dtype) == 0)
        return false;
    return c->is_transpose
               ? constant->shape.rank == c->rank
               : onnxd_graph_same_shape(&constant->shape, shape_of(c, c->last->inputs[0]));
}

/* The function that makes `value` for one reader alone, of the shape, or rank, that is moved. */
static const onnxd_node *function_of(const canceller *c, onnxd_value_id value)
{
    const onnxd_node *node = onnxd_graph_only_producer(c->graph, c->uses, value);
    if (node == NULL || operands_of(node) == 0)
        return NULL;
    const bool fits = c->is_transpose ? shape_of(c, value)->rank == c->rank
                                      : onnxd_graph_same_shape(shape_of(c, value),
                                                               shape_of(c, c->last->inputs[0]));
    return fits ? node : NULL;
}

static const onnxd_node *move_of(const canceller *c, onnxd_value_id value)
{
    const onnxd_node_id id = c->graph->values[value].producer;
    const onnxd_node *node = id == ONNXD_NONE ? NULL : &c->graph->nodes[id];
    return node != NULL && node->input_count > 0 && node->output_count == 1 &&
                   node->inputs[0] != ONNXD_NONE && is_undone(c, node)
               ? node
               : NULL;
}

static bool can_move(canceller *c, onnxd_value_id value, int depth) // NOLINT(misc-no-recursion)
{
    if (value == ONNXD_NONE || depth == MAX_DEPTH)
        return false;
    if (c->graph->values[value].constant != NULL)
        return is_movable(c, c->graph->values[value].constant);
    if (move_of(c, value) != NULL) {
        c->undone++;
        return true;
    }
    const onnxd_node *node = function_of(c, value);
    for (uint32_t i = 0; node != NULL && i < operands_of(node); i++)
        if (!can_move(c, node->inputs[i], depth + 1))
            return false;
    return node != NULL;
}

/* ---- doing it -------------------------------------------------------------------------------- */

/* The last move, of a constant. */
static onnxd_status *move_constant(canceller *c, onnxd_value_id constant, onnxd_value_id *out_value)
{
    onnxd_node node = *c->last;
    ONNXD_TRY(onnxd_graph_derive_value(c->graph, constant, "moved", out_value));
    onnxd_value_id inputs[2] = {constant, node.input_count > 1 ? node.inputs[1] : ONNXD_NONE};
    node.inputs = inputs;
    node.outputs = out_value;
    return onnxd_graph_add_resolved(c->graph, c->env->registry, &node);
}

static onnxd_status *build(canceller *c, onnxd_value_id value, // NOLINT(misc-no-recursion)
                           onnxd_value_id out, onnxd_value_id *out_value)
{
    const onnxd_tensor *constant = c->graph->values[value].constant;
    *out_value = value;
    if (constant != NULL)
        return is_one_element(c, constant) ? NULL : move_constant(c, value, out_value);
    const onnxd_node *move = move_of(c, value);
    if (move != NULL) {
        *out_value = move->inputs[0];
        return NULL;
    }
    const onnxd_node_id id = c->graph->values[value].producer;
    onnxd_node node = c->graph->nodes[id];
    onnxd_value_id inputs[3] = {ONNXD_NONE, ONNXD_NONE, ONNXD_NONE};
    memcpy(inputs, node.inputs, node.input_count * sizeof(inputs[0]));
    for (uint32_t i = 0; i < operands_of(&node); i++)
        ONNXD_TRY(build(c, node.inputs[i], ONNXD_NONE, &inputs[i]));
    *out_value = out;
    if (out == ONNXD_NONE)
        ONNXD_TRY(onnxd_graph_derive_value(c->graph, value, "moved", out_value));
    node.inputs = inputs;
    node.outputs = out_value;
    c->graph->nodes[id].is_removed = true;
    return onnxd_graph_add_resolved(c->graph, c->env->registry, &node);
}

/* The function before the last move makes what that made. */
static onnxd_status *cancel(canceller *c, onnxd_node_id last)
{
    const onnxd_value_id output = c->graph->nodes[last].outputs[0];
    const onnxd_value_id input = c->graph->nodes[last].inputs[0];
    const onnxd_node copy = c->graph->nodes[last];
    onnxd_value_id made;
    c->last = &copy;
    c->graph->nodes[last].is_removed = true;
    c->graph->values[output].producer = ONNXD_NONE;
    onnxd_status *status = build(c, input, output, &made);
    c->last = NULL;
    return status;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool is_last(canceller *c, const onnxd_node *node)
{
    c->is_transpose = onnxd_node_is(node, "", "Transpose");
    if ((!c->is_transpose && !onnxd_node_is_reshape(node)) || node->input_count == 0 ||
        node->inputs[0] == ONNXD_NONE || node->output_count != 1 || node->outputs[0] == ONNXD_NONE)
        return false;
    c->last = node;
    c->undone = 0;
    if (c->is_transpose &&
        !onnxd_node_read_perm(node, shape_of(c, node->inputs[0]), c->perm, &c->rank))
        return false;
    return c->graph->values[node->inputs[0]].constant == NULL &&
           function_of(c, node->inputs[0]) != NULL && can_move(c, node->inputs[0], 0) &&
           c->undone > 0;
}

static onnxd_status *cancel_first(canceller *c, bool *out_has_changed)
{
    for (uint32_t n = 0; n < c->graph->node_count; n++) {
        if (!is_last(c, &c->graph->nodes[n]))
            continue;
        *out_has_changed = true;
        ONNXD_TRY(cancel(c, n));
        return onnxd_graph_compact(c->graph);
    }
    return NULL;
}

/* A move behind a function, which is looked for before types are derived. */
static bool has_candidate(const onnxd_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        if (node->input_count == 0 || node->inputs[0] == ONNXD_NONE ||
            (!onnxd_node_is(node, "", "Transpose") && !onnxd_node_is_reshape(node)))
            continue;
        const onnxd_node_id before = graph->values[node->inputs[0]].producer;
        if (before != ONNXD_NONE && operands_of(&graph->nodes[before]) > 0)
            return true;
    }
    return false;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    uint32_t changes = 0;
    bool has_changed = has_candidate(graph);
    while (has_changed && changes < MAX_REWRITES) {
        canceller c = {.graph = graph, .env = env};
        has_changed = false;
        onnxd_status *status = onnxd_derivation_run(&c.types, graph);
        if (status == NULL)
            status = onnxd_graph_count_uses(graph, &c.uses);
        if (status == NULL)
            status = cancel_first(&c, &has_changed);
        onnxd_derivation_deinit(&c.types);
        onnxd_free(c.uses);
        ONNXD_TRY(status);
        changes += has_changed ? 1 : 0;
    }
    *out_changes = changes;
    return NULL;
}

const onnxd_pass onnxd_pass_cancel_moves = {
    .name = "cancel_moves",
    .summary = "drop a transpose or reshape that undoes one before functions of elements",
    .run = run,
};

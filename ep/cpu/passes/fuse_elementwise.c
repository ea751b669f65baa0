/*
 * Functions of elements that follow each other are one Elementwise, which goes over memory once:
 *
 *   Mul(Tanh(Add(x, b)), x)   becomes   Elementwise(x, b) {steps = [Add, Tanh, Mul]}
 *
 * A node is taken in where all that read its result are, and where that has the shape of what the
 * last one makes: what is broadcast afterwards would be computed more than once. It runs behind the
 * passes that make functions part of products.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/passes/passes.h"
#include "ep/cpu/passes/pattern.h"
#include "graph/attributes.h"
#include "graph/moves.h"
#include "ops/layout/elementwise.h"

/* Before this opset an attribute said how inputs are broadcast. */
#define BROADCAST_SINCE 7
/* Before this opset Clip's bounds were infinite unless given. */
#define CLIP_FINITE_SINCE 6

#define MAX_STEPS ONNXD_ELEMENTWISE_MAX_STEPS
#define MAX_INPUTS ONNXD_ELEMENTWISE_MAX_INPUTS

/* How a node is written as steps. */
typedef enum form { DIRECT, SUM, POWER, NEGATION, RECIPROCAL } form;

typedef struct kind {
    const char *domain, *op_type;
    form form;
    onnxd_elementwise_function function;
    float alpha, beta; /* unless attributes say otherwise */
} kind;

static const kind kinds[] = {
    {"", "Add", DIRECT, ONNXD_ELEMENTWISE_ADD, 0, 0},
    {"", "Sub", DIRECT, ONNXD_ELEMENTWISE_SUB, 0, 0},
    {"", "Mul", DIRECT, ONNXD_ELEMENTWISE_MUL, 0, 0},
    {"", "Div", DIRECT, ONNXD_ELEMENTWISE_DIV, 0, 0},
    {"", "Sum", SUM, ONNXD_ELEMENTWISE_ADD, 0, 0},
    {"", "Pow", POWER, ONNXD_ELEMENTWISE_MUL, 0, 0},
    {"", "Neg", NEGATION, ONNXD_ELEMENTWISE_MUL, 0, 0},
    {"", "Reciprocal", RECIPROCAL, ONNXD_ELEMENTWISE_DIV, 0, 0},
    {"", "Clip", DIRECT, ONNXD_ELEMENTWISE_CLIP, 0, 0},
    {"", "Erf", DIRECT, ONNXD_ELEMENTWISE_ERF, 0, 0},
    {"", "Exp", DIRECT, ONNXD_ELEMENTWISE_EXP, 0, 0},
    {"", "Gelu", DIRECT, ONNXD_ELEMENTWISE_GELU, 0, 0},
    {"com.microsoft", "Gelu", DIRECT, ONNXD_ELEMENTWISE_GELU, 0, 0},
    {"", "HardSigmoid", DIRECT, ONNXD_ELEMENTWISE_HARD_SIGMOID, 0.2f, 0.5f},
    {"", "HardSwish", DIRECT, ONNXD_ELEMENTWISE_HARD_SWISH, 0, 0},
    {"", "LeakyRelu", DIRECT, ONNXD_ELEMENTWISE_LEAKY_RELU, 0.01f, 0},
    {"", "Relu", DIRECT, ONNXD_ELEMENTWISE_RELU, 0, 0},
    {"", "Sigmoid", DIRECT, ONNXD_ELEMENTWISE_SIGMOID, 0, 0},
    {"", "Swish", DIRECT, ONNXD_ELEMENTWISE_SWISH, 1, 0},
    {"", "Tanh", DIRECT, ONNXD_ELEMENTWISE_TANH, 0, 0},
};

typedef struct fusing {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    uint32_t *uses;
    const kind **kinds; /* of each node; NULL: it is none, or has been taken */
    uint32_t changes;
} fusing;

/* ---- which nodes ----------------------------------------------------------------------------- */

static bool is_float(const onnxd_graph *graph, onnxd_value_id value)
{
    const onnxd_tensor_type *type = value == ONNXD_NONE ? NULL : &graph->values[value].type;
    return type != NULL && type->kind == ONNXD_VALUE_TENSOR && type->dtype == ONNXD_FLOAT;
}

/* How many inputs are operands: of a Clip and a Pow others are constants that become steps. */
static uint32_t operands_of(const kind *k, const onnxd_node *node)
{
    return k->function == ONNXD_ELEMENTWISE_CLIP || k->form == POWER ? 1 : node->input_count;
}

static bool read_bounds(const onnxd_graph *graph, const onnxd_node *clip, float *bounds)
{
    const bool is_finite = clip->opset >= CLIP_FINITE_SINCE;
    bounds[0] = is_finite ? -FLT_MAX : -INFINITY;
    bounds[1] = is_finite ? FLT_MAX : INFINITY;
    return onnxd_pattern_clip_bounds(graph, clip, &bounds[0], &bounds[1]) && !isnan(bounds[0]) &&
           !isnan(bounds[1]);
}

/* The exponent of a square or a cube; 0: another one, or one that changes the shape. */
static int exponent_of(const onnxd_graph *graph, const onnxd_node *pow)
{
    const onnxd_tensor *constant = onnxd_node_float_constant(graph, pow, 1);
    if (constant == NULL || constant->count != 1 || pow->opset < BROADCAST_SINCE ||
        constant->shape.rank > graph->values[pow->inputs[0]].type.shape.rank)
        return 0;
    const float exponent = *(const float *)constant->data;
    return exponent == 2.0f ? 2 : exponent == 3.0f ? 3 : 0;
}

static size_t steps_of(const fusing *f, const kind *k, const onnxd_node *node)
{
    if (k->form == SUM)
        return node->input_count - 1;
    return k->form == POWER ? (size_t)exponent_of(f->graph, node) - 1 : 1;
}

static bool is_fit(const onnxd_graph *graph, const kind *k, const onnxd_node *node)
{
    float bounds[2];
    if (node->output_count != 1 || node->input_count == 0 || !is_float(graph, node->outputs[0]) ||
        graph->values[node->outputs[0]].type.shape.rank == ONNXD_RANK_UNKNOWN)
        return false;
    for (uint32_t i = 0; i < operands_of(k, node); i++)
        if (!is_float(graph, node->inputs[i]))
            return false;
    if (k->function == ONNXD_ELEMENTWISE_CLIP)
        return read_bounds(graph, node, bounds);
    if (k->form == SUM)
        return node->input_count >= 2 && node->input_count <= MAX_INPUTS;
    if (k->form == POWER)
        return exponent_of(graph, node) != 0;
    return !onnxd_elementwise_is_binary(k->function) || k->form != DIRECT ||
           node->opset >= BROADCAST_SINCE;
}

static const kind *kind_of(const onnxd_graph *graph, const onnxd_node *node)
{
    for (size_t i = 0; i < ONNXD_COUNT(kinds); i++)
        if (onnxd_node_is(node, kinds[i].domain, kinds[i].op_type))
            return is_fit(graph, &kinds[i], node) ? &kinds[i] : NULL;
    return NULL;
}

/* ---- a group of them ------------------------------------------------------------------------- */

typedef struct group {
    onnxd_node_id members[MAX_STEPS]; /* ascending, so that operands come before */
    size_t member_count;
} group;

static bool is_member(const group *g, onnxd_node_id id)
{
    for (size_t i = 0; i < g->member_count; i++)
        if (g->members[i] == id)
            return true;
    return false;
}

/* How often members read the value. */
static uint32_t uses_in(const fusing *f, const group *g, onnxd_value_id value)
{
    uint32_t uses = 0;
    for (size_t i = 0; i < g->member_count; i++) {
        const onnxd_node *node = &f->graph->nodes[g->members[i]];
        for (uint32_t k = 0; k < node->input_count; k++)
            uses += node->inputs[k] == value;
    }
    return uses;
}

static void insert(group *g, onnxd_node_id id)
{
    size_t at = g->member_count++;
    for (; at > 0 && g->members[at - 1] > id; at--)
        g->members[at] = g->members[at - 1];
    g->members[at] = id;
}

/* Values from outside, each once; more than there is room for are not counted to the end. */
static size_t inputs_of(const fusing *f, const group *g, onnxd_value_id *inputs)
{
    size_t count = 0, constants = 0;
    bool has[2] = {false};
    for (size_t i = 0; i < g->member_count; i++) {
        const onnxd_node *node = &f->graph->nodes[g->members[i]];
        const kind *k = f->kinds[g->members[i]];
        has[0] |= k->form == NEGATION;
        has[1] |= k->form == RECIPROCAL;
        for (uint32_t o = 0; o < operands_of(k, node) && count <= MAX_INPUTS; o++) {
            const onnxd_value_id value = node->inputs[o];
            const onnxd_node_id producer = f->graph->values[value].producer;
            size_t at = 0;
            while (at < count && inputs[at] != value)
                at++;
            if (at == count && (producer == ONNXD_NONE || !is_member(g, producer)))
                inputs[count++] = value;
        }
    }
    for (int i = 0; i < 2; i++)
        constants += has[i];
    return count + constants;
}

static bool fits(const fusing *f, const group *g)
{
    onnxd_value_id inputs[MAX_INPUTS + 1];
    size_t steps = 0;
    for (size_t i = 0; i < g->member_count; i++)
        steps += steps_of(f, f->kinds[g->members[i]], &f->graph->nodes[g->members[i]]);
    return steps <= MAX_STEPS && inputs_of(f, g, inputs) <= MAX_INPUTS;
}

/* Takes in the node that makes `value`, where that is possible. */
static bool take_in(const fusing *f, group *g, onnxd_value_id value, const onnxd_shape *shape)
{
    const onnxd_value *v = &f->graph->values[value];
    if (v->producer == ONNXD_NONE || v->is_output || f->kinds[v->producer] == NULL ||
        g->member_count == MAX_STEPS || is_member(g, v->producer) ||
        uses_in(f, g, value) != f->uses[value] || !onnxd_graph_same_shape(&v->type.shape, shape))
        return false;
    group larger = *g;
    insert(&larger, v->producer);
    if (!fits(f, &larger))
        return false;
    *g = larger;
    return true;
}

static bool grow(const fusing *f, group *g, const onnxd_shape *shape)
{
    for (size_t i = g->member_count; i-- > 0;) {
        const onnxd_node *node = &f->graph->nodes[g->members[i]];
        for (uint32_t o = 0; o < operands_of(f->kinds[g->members[i]], node); o++)
            if (take_in(f, g, node->inputs[o], shape))
                return true;
    }
    return false;
}

/* ---- its steps ------------------------------------------------------------------------------- */

typedef struct program {
    fusing *f;
    const group *group;
    onnxd_value_id inputs[MAX_INPUTS];
    size_t input_count, step_count;
    int64_t results[MAX_STEPS]; /* of the members, as operands */
    const char *names[MAX_STEPS];
    int64_t operands[2 * MAX_STEPS];
    float parameters[2 * MAX_STEPS];
} program;

/* The operand that a value is. */
static int64_t operand_of(program *p, onnxd_value_id value)
{
    const onnxd_node_id producer = p->f->graph->values[value].producer;
    for (size_t i = 0; producer != ONNXD_NONE && i < p->group->member_count; i++)
        if (p->group->members[i] == producer)
            return p->results[i];
    size_t at = 0;
    while (at < p->input_count && p->inputs[at] != value)
        at++;
    if (at == p->input_count)
        p->inputs[p->input_count++] = value;
    return (int64_t)at;
}

/* Returns the result as an operand. */
static int64_t add_step(program *p, onnxd_elementwise_function function, int64_t a, int64_t b,
                        const float *parameters)
{
    const size_t at = p->step_count++;
    p->names[at] = onnxd_elementwise_names[function];
    p->operands[2 * at] = a;
    p->operands[2 * at + 1] = b;
    memcpy(&p->parameters[2 * at], parameters, 2 * sizeof(float));
    return -1 - (int64_t)at;
}

static onnxd_status *add_direct(program *p, const kind *k, const onnxd_node *node, int64_t *result)
{
    onnxd_elementwise_function function = k->function;
    float parameters[] = {k->alpha, k->beta};
    onnxd_text approximate = {"none", 4};
    if (function == ONNXD_ELEMENTWISE_CLIP) {
        (void)read_bounds(p->f->graph, node, parameters);
    } else {
        ONNXD_TRY(onnxd_attribute_float(node, "alpha", &parameters[0]));
        ONNXD_TRY(onnxd_attribute_float(node, "beta", &parameters[1]));
        ONNXD_TRY(onnxd_attribute_string(node, "approximate", &approximate));
    }
    if (strcmp(approximate.data, "tanh") == 0)
        function = ONNXD_ELEMENTWISE_GELU_TANH;
    const int64_t a = operand_of(p, node->inputs[0]);
    const int64_t b = onnxd_elementwise_is_binary(function) ? operand_of(p, node->inputs[1]) : a;
    *result = add_step(p, function, a, b, parameters);
    return NULL;
}

/* Of a value and a number. */
static onnxd_status *add_with_constant(program *p, const kind *k, const onnxd_node *node,
                                       int64_t *result)
{
    static const float none[2] = {0};
    const bool is_negation = k->form == NEGATION;
    const float number = is_negation ? -1 : 1;
    const onnxd_shape scalar = {.rank = 0};
    const int64_t x = operand_of(p, node->inputs[0]);
    onnxd_value_id constant = ONNXD_NONE;
    for (size_t i = 0; i < p->input_count && constant == ONNXD_NONE; i++) {
        const onnxd_tensor *known = p->f->graph->values[p->inputs[i]].constant;
        if (known != NULL && known->shape.rank == 0 && *(const float *)known->data == number)
            constant = p->inputs[i];
    }
    if (constant == ONNXD_NONE)
        ONNXD_TRY(onnxd_graph_derive_constant(p->f->graph, node->outputs[0], "number", &scalar,
                                              &number, &constant));
    const int64_t c = operand_of(p, constant);
    *result =
        is_negation ? add_step(p, k->function, x, c, none) : add_step(p, k->function, c, x, none);
    return NULL;
}

static onnxd_status *add_member(program *p, size_t member)
{
    static const float none[2] = {0};
    const onnxd_node *node = &p->f->graph->nodes[p->group->members[member]];
    const kind *k = p->f->kinds[p->group->members[member]];
    int64_t *result = &p->results[member];
    if (k->form == DIRECT)
        return add_direct(p, k, node, result);
    if (k->form == NEGATION || k->form == RECIPROCAL)
        return add_with_constant(p, k, node, result);
    const int64_t first = operand_of(p, node->inputs[0]);
    const size_t steps = steps_of(p->f, k, node);
    *result = first;
    for (uint32_t i = 1; i <= steps; i++)
        *result = add_step(p, k->function, *result,
                           k->form == POWER ? first : operand_of(p, node->inputs[i]), none);
    return NULL;
}

static onnxd_status *put(fusing *f, const group *g)
{
    program p = {.f = f, .group = g};
    onnxd_attribute attributes[3];
    for (size_t i = 0; i < g->member_count; i++)
        ONNXD_TRY(add_member(&p, i));
    ONNXD_TRY(onnxd_graph_texts(f->graph, "steps", p.names, p.step_count, &attributes[0]));
    ONNXD_TRY(onnxd_graph_ints(f->graph, "operands", p.operands, 2 * p.step_count, &attributes[1]));
    ONNXD_TRY(
        onnxd_graph_floats(f->graph, "parameters", p.parameters, 2 * p.step_count, &attributes[2]));
    for (size_t i = 0; i < g->member_count; i++) {
        f->kinds[g->members[i]] = NULL;
        f->graph->nodes[g->members[i]].is_removed = i + 1 < g->member_count;
    }
    onnxd_node *last = &f->graph->nodes[g->members[g->member_count - 1]];
    last->domain = ONNXD_INTERNAL_DOMAIN;
    last->op_type = "Elementwise";
    last->opset = 1;
    ONNXD_TRY(onnxd_graph_set_node_inputs(f->graph, last, p.inputs, (uint32_t)p.input_count));
    ONNXD_TRY(onnxd_graph_set_attributes(f->graph, last, attributes, ONNXD_COUNT(attributes)));
    f->changes++;
    return onnxd_op_resolve(f->registry, f->graph, last);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* From the last node, so that each group begins with the end of its chain. */
static onnxd_status *fuse_all(fusing *f)
{
    for (uint32_t n = 0; n < f->graph->node_count; n++)
        f->kinds[n] = kind_of(f->graph, &f->graph->nodes[n]);
    for (uint32_t n = f->graph->node_count; n-- > 0;) {
        group g = {.members = {n}, .member_count = 1};
        if (f->kinds[n] == NULL)
            continue;
        const onnxd_shape shape = f->graph->values[f->graph->nodes[n].outputs[0]].type.shape;
        if (!fits(f, &g))
            continue;
        while (grow(f, &g, &shape))
            ;
        if (g.member_count > 1)
            ONNXD_TRY(put(f, &g));
    }
    return f->changes > 0 ? onnxd_graph_compact(f->graph) : NULL;
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    fusing f = {.graph = graph, .registry = env->registry};
    const size_t count = (size_t)graph->node_count + 1;
    onnxd_status *status = onnxd_graph_count_uses(graph, &f.uses);
    void *memory = onnxd_alloc_zero(count, sizeof(const kind *));
    f.kinds = memory;
    if (status == NULL && memory == NULL)
        status =
            onnxd_error_out_of_memory("kinds of nodes", count * sizeof(const kind *), UINT64_MAX);
    if (status == NULL)
        status = fuse_all(&f);
    onnxd_free(f.uses);
    onnxd_free(memory);
    if (status == NULL)
        *out_changes = f.changes;
    return status;
}

const onnxd_pass onnxd_cpu_pass_fuse_elementwise = {
    .name = "fuse_elementwise",
    .summary = "make one operator of functions of elements that follow each other",
    .run = run,
    .is_private = true,
};

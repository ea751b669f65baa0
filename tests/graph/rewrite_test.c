/*
 * The passes on graphs put together at random, in orders drawn at random: every step leaves a sound
 * graph, and the outputs keep their values. A value that a pass frees and another still names shows
 * under the sanitizers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/op.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/toy_ops.h"

#define ROUNDS 10000
#define MAX_NODES 12
#define MAX_STEPS 10
#define MAX_OUTPUTS 4
#define WIDTH 2 /* elements of every value */

static const onnxd_pass_env env = {
    .registry = &toy_ops, .fold_max_node_bytes = 1024, .fold_max_total_bytes = 4096};

static uint64_t state;

static unsigned below(unsigned bound)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % bound);
}

/* ---- making graphs ------------------------------------------------------------------------- */

/* Names of the floats that exist in a graph so far. */
typedef struct names {
    char texts[2 * MAX_NODES + 4][8];
    unsigned count;
} names;

static const char *add_name(names *known, const char *prefix)
{
    char *text = known->texts[known->count];
    (void)snprintf(text, sizeof(known->texts[0]), "%s%u", prefix, known->count);
    known->count++;
    return text;
}

static const char *pick(const names *known)
{
    return known->texts[below(known->count)];
}

/* Identity, Dropout or Add of what exists. */
static void add_plain_node(onnxd_graph *graph, names *known, const char *prefix)
{
    char inputs[32], outputs[32];
    unsigned kind = below(4);
    const char *input = pick(known), *other = pick(known);
    const char *output = add_name(known, prefix);
    (void)snprintf(inputs, sizeof(inputs), "%s%s%s", input, kind < 2 ? "," : "",
                   kind < 2 ? other : "");
    (void)snprintf(outputs, sizeof(outputs), "%s%s%s", output, kind == 3 ? ",m" : "",
                   kind == 3 ? output : "");
    build_node(graph, kind < 2 ? "Add" : kind == 2 ? "Identity" : "Dropout", inputs, outputs);
}

/* A branch that captures `captured` as input 1 and hands on something that it made, its capture or
 * a constant. */
static onnxd_graph *make_branch(onnxd_graph *graph, const char *captured)
{
    static const float values[WIDTH] = {3, 5};
    names known = {.count = 0};
    onnxd_graph *branch = build_subgraph(graph);
    build_capture(branch, captured, 1);
    (void)snprintf(known.texts[known.count++], sizeof(known.texts[0]), "%s", captured);
    build_float(branch, add_name(&known, "k"), WIDTH, values);
    for (unsigned i = below(4); i > 0; i--)
        add_plain_node(branch, &known, "b");
    build_signature(branch, "", pick(&known));
    return branch;
}

static void add_if(onnxd_graph *graph, names *known)
{
    char inputs[32], captured[8];
    (void)snprintf(captured, sizeof(captured), "%s", pick(known));
    (void)snprintf(inputs, sizeof(inputs), "%s,%s", below(2) == 0 ? "yes" : "no", captured);
    onnxd_graph *first = make_branch(graph, captured), *second = make_branch(graph, captured);
    build_if(graph, inputs, 1, add_name(known, "v"), first, second);
}

static void build_condition(onnxd_graph *graph, const char *name, unsigned char value)
{
    const onnxd_shape scalar = onnxd_shape_of_rank(0);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_BOOL, &scalar, &tensor));
    *(unsigned char *)tensor->data = value;
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

static onnxd_graph *make_graph(void)
{
    static const int64_t dims[1] = {WIDTH};
    static const float values[WIDTH] = {1, 2};
    names known = {.count = 0};
    char outputs[64] = "";
    onnxd_graph *graph = build_graph();
    build_type(graph, "x", ONNXD_FLOAT, 1, dims);
    (void)snprintf(known.texts[known.count++], sizeof(known.texts[0]), "x");
    build_float(graph, add_name(&known, "w"), WIDTH, values);
    build_condition(graph, "yes", 1);
    build_condition(graph, "no", 0);
    for (unsigned i = 1 + below(MAX_NODES); i > 0; i--) {
        if (below(4) == 0)
            add_if(graph, &known);
        else
            add_plain_node(graph, &known, "v");
    }
    /* Different ones, any of them: made, given or constant. */
    for (unsigned i = below(known.count), n = 1 + below(MAX_OUTPUTS); n > 0 && i < known.count;
         i += 1 + below(3), n--) {
        size_t length = strlen(outputs);
        (void)snprintf(outputs + length, sizeof(outputs) - length, "%s%s", length == 0 ? "" : ",",
                       known.texts[i]);
    }
    build_signature(graph, "x", outputs);
    return graph;
}

/* ---- values -------------------------------------------------------------------------------- */

static void evaluate_graph(const onnxd_graph *graph, onnxd_tensor **values);

static onnxd_tensor *value_of(const onnxd_graph *graph, onnxd_value_id id, onnxd_tensor **values)
{
    return id == ONNXD_NONE                     ? NULL
           : graph->values[id].constant != NULL ? graph->values[id].constant
                                                : values[id];
}

static void evaluate_if(const onnxd_node *node, const onnxd_tensor *const *inputs,
                        onnxd_tensor **outputs)
{
    bool is_taken = *(const unsigned char *)inputs[0]->data != 0;
    const onnxd_graph *branch =
        onnxd_node_attribute(node, is_taken ? "then_branch" : "else_branch")->value.graph;
    onnxd_tensor **values = onnxd_alloc_zero(branch->value_count, sizeof(onnxd_tensor *));
    cr_assert(values != NULL);
    for (uint32_t i = 0; i < branch->capture_count; i++) {
        union {
            const onnxd_tensor *borrowed;
            onnxd_tensor *counted;
        } input = {.borrowed = inputs[branch->captures[i].input]};
        values[branch->captures[i].value] = onnxd_tensor_retain(input.counted);
    }
    evaluate_graph(branch, values);
    outputs[0] = onnxd_tensor_retain(value_of(branch, branch->outputs[0], values));
    for (uint32_t v = 0; v < branch->value_count; v++)
        onnxd_tensor_release(values[v]);
    onnxd_free(values);
}

static void evaluate_graph(const onnxd_graph *graph, onnxd_tensor **values)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const onnxd_node *node = &graph->nodes[n];
        const onnxd_tensor *inputs[4] = {NULL};
        onnxd_tensor *outputs[2] = {NULL};
        cr_assert(node->input_count <= ONNXD_COUNT(inputs) &&
                  node->output_count <= ONNXD_COUNT(outputs) && !node->is_removed);
        for (uint32_t i = 0; i < node->input_count; i++)
            inputs[i] = value_of(graph, node->inputs[i], values);
        if (strcmp(node->op_type, "If") == 0)
            evaluate_if(node, inputs, outputs);
        else
            expect_ok(onnxd_op_evaluate(node, inputs, 1024, outputs));
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != ONNXD_NONE)
                values[node->outputs[i]] = outputs[i];
    }
}

/* The floats of each output, one after the other; returns how many. */
static size_t outputs_of(const onnxd_graph *graph, float *out)
{
    static const float input[WIDTH] = {7, 11};
    const onnxd_shape shape = {.rank = 1, .dims = {WIDTH}};
    onnxd_tensor **values = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_tensor *));
    onnxd_tensor *x = NULL;
    cr_assert(values != NULL && graph->input_count == 1);
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &x));
    memcpy(x->data, input, sizeof(input));
    values[graph->inputs[0]] = x;
    evaluate_graph(graph, values);
    for (uint32_t o = 0; o < graph->output_count; o++) {
        const onnxd_tensor *output = value_of(graph, graph->outputs[o], values);
        cr_assert(output != NULL && output->bytes == WIDTH * sizeof(float));
        memcpy(out + (size_t)WIDTH * o, output->data, output->bytes);
    }
    for (uint32_t v = 0; v < graph->value_count; v++)
        onnxd_tensor_release(values[v]);
    onnxd_free(values);
    return (size_t)WIDTH * graph->output_count;
}

/* ---- rewriting ----------------------------------------------------------------------------- */

static uint32_t run_some_pass(onnxd_graph *graph)
{
    unsigned pass_count = 0;
    uint32_t changes = 0;
    while (onnxd_passes[pass_count] != NULL)
        pass_count++;
    const onnxd_pass *pass = onnxd_passes[below(pass_count)];
    expect_ok(onnxd_infer_shapes(graph));
    expect_ok(pass->run(graph, &env, &changes));
    expect_ok(onnxd_graph_verify(graph));
    return changes;
}

static void expect_outputs(const onnxd_graph *graph, const float *expected, size_t count,
                           unsigned round)
{
    float actual[WIDTH * MAX_OUTPUTS];
    cr_assert_eq(outputs_of(graph, actual), count);
    cr_assert(memcmp(actual, expected, count * sizeof(float)) == 0,
              "round %u: an output has changed", round);
}

Test(rewrite, random_orders_of_passes_on_random_graphs)
{
    uint64_t changes = 0;
    state = 7;
    for (unsigned round = 0; round < ROUNDS; round++) {
        float before[WIDTH * MAX_OUTPUTS];
        onnxd_graph *graph = make_graph();
        expect_ok(onnxd_graph_verify(graph));
        size_t count = outputs_of(graph, before);
        for (unsigned step = 0; step < MAX_STEPS; step++)
            changes += run_some_pass(graph);
        expect_outputs(graph, before, count, round);
        if (below(2) == 0)
            expect_ok(onnxd_passes_run(graph, &env));
        expect_outputs(graph, before, count, round);
        onnxd_graph_destroy(graph);
    }
    cr_expect(changes > ROUNDS, "only %llu changes", (unsigned long long)changes);
}

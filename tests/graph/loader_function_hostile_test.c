/* Functions that are broken, or that describe more than anybody can hold. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/function_model.h"
#include "tests/graph/load.h"
#include "tests/graph/toy_ops.h"

static const int64_t two[1] = {2};

/* A model whose graph is y = f(x), ready for its functions. */
static void begin_calling_graph(wire *w)
{
    function_model_begin(w);
    function_call(w, "f", "x", "y");
    function_model_end(w);
}

/* `write` makes the functions. */
static void expect_bad(void (*write)(wire *w), const char *text)
{
    wire w;
    begin_calling_graph(&w);
    write(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

/* The graph is y = f(x); the only function has no nodes. */
static void expect_bad_formals(const char *name, const char *inputs, const char *outputs,
                               const char *text)
{
    wire w;
    begin_calling_graph(&w);
    function_begin(&w, name, inputs, outputs);
    wire_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

/* The `i`th function of a chain that starts at "f", and the one after it. */
static void chain_names(int i, char name[16], char next[16])
{
    (void)snprintf(name, 16, "f");
    if (i > 0)
        (void)snprintf(name, 16, "f%d", i);
    (void)snprintf(next, 16, "f%d", i + 1);
}

static void calls_itself(wire *w)
{
    function_begin(w, "f", "a", "b");
    function_inner_call(w, "g", "a", "b");
    wire_end(w);
    function_begin(w, "g", "a", "b");
    function_inner_call(w, "f", "a", "b");
    wire_end(w);
}

static void long_chain(wire *w)
{
    for (int i = 0; i < 40; i++) {
        char name[16];
        char next[16];
        chain_names(i, name, next);
        function_begin(w, name, "a", "b");
        function_inner_call(w, next, "a", "b");
        wire_end(w);
    }
}

static void defined_twice(wire *w)
{
    for (int i = 0; i < 2; i++) {
        function_begin(w, "f", "a", "b");
        function_node(w, "Identity", "a", "b");
        wire_end(w);
    }
}

static void output_of_two(wire *w)
{
    function_begin(w, "f", "a", "b");
    function_node(w, "Identity", "a", "b");
    function_node(w, "Identity", "a", "b");
    wire_end(w);
}

static void writes_its_input(wire *w)
{
    function_begin(w, "f", "a", "a");
    function_node(w, "Identity", "a", "a");
    wire_end(w);
}

static void name_of_the_graph(wire *w)
{
    function_begin(w, "f", "a", "b");
    function_node(w, "Identity", "x", "b");
    wire_end(w);
}

static void cycle(wire *w)
{
    function_begin(w, "f", "a", "b");
    function_node(w, "Identity", "c", "b");
    function_node(w, "Identity", "b", "c");
    wire_end(w);
}

static void no_import(wire *w)
{
    wire_begin(w, MODEL_FUNCTIONS);
    wire_text(w, FUNCTION_NAME, "f");
    wire_text(w, FUNCTION_DOMAIN, "local");
    wire_names(w, FUNCTION_INPUT, "a");
    wire_names(w, FUNCTION_OUTPUT, "b");
    function_node(w, "Identity", "a", "b");
    wire_end(w);
}

static void imports_twice(wire *w)
{
    function_begin(w, "f", "a", "b");
    wire_begin(w, FUNCTION_OPSET_IMPORT);
    wire_text(w, 1, "ai.onnx");
    wire_int(w, 2, 12);
    wire_end(w);
    wire_end(w);
}

static void too_many_attributes(wire *w)
{
    function_begin(w, "f", "a", "b");
    for (int i = 0; i < 300; i++)
        wire_text(w, FUNCTION_ATTRIBUTE, "same");
    wire_end(w);
}

/* The default of an attribute refers to another. */
static void default_refers(wire *w)
{
    function_begin(w, "f", "a", "b");
    wire_begin(w, FUNCTION_ATTRIBUTE_PROTO);
    wire_text(w, ATTRIBUTE_NAME, "v");
    wire_text(w, ATTRIBUTE_REF, "v");
    wire_int(w, ATTRIBUTE_TYPE, 2);
    wire_end(w);
    wire_node_begin_in(w, FUNCTION_NODE, "Mystery", "", "a", "b");
    function_reference(w, "p", "v", 2);
    wire_end(w);
    wire_end(w);
}

Test(loader_function_hostile, broken_functions)
{
    expect_bad(calls_itself, "node #0 (f): node #0 (g): node #0 (f): the function calls itself");
    expect_bad(long_chain, "more than 32 functions that call each other");
    expect_bad(defined_twice, "function 'f': it is defined twice");
    expect_bad_formals("f", "", "b", "1 inputs and 1 outputs, the function has 0 and 1");
    expect_bad_formals("f", "a", "", "1 inputs and 1 outputs, the function has 1 and 0");
    expect_bad_formals("f", "a", "b", "output 'b' of the function is produced by nothing");
    expect_bad_formals("f", "a,b", "b", "output 'b' of the function is produced by nothing");
    expect_bad_formals("f", "a,a", "a", "input 'a' of the function is defined twice");
    expect_bad_formals("f", "a,,b", "a", "input of the function has no name");
    expect_bad(output_of_two, "value 'b' of the function is defined twice");
    expect_bad(writes_its_input, "value 'a' of the function is defined twice");
    expect_bad(name_of_the_graph, "node 'n' (Identity): value 'x' is produced by nothing");
    expect_bad(cycle, "is on a cycle");
    expect_bad_formals("", "a", "b", "function '': it has no name");
    expect_bad(no_import, "the function does not import its domain 'ai.onnx'");
    expect_bad(imports_twice, "function 'f': domain 'ai.onnx' is imported twice");
    expect_bad(too_many_attributes, "function 'f': 300 attributes, at most 256");
    expect_bad(default_refers, "a reference to a function's attribute");
}

/* f0 calls f1 twice, which calls f2 twice, and so on: 2^28 nodes from 28 functions. */
static void write_doubling(wire *w)
{
    for (int i = 0; i < 28; i++) {
        char name[16];
        char next[16];
        chain_names(i, name, next);
        function_begin(w, name, "a", "b");
        if (i == 27) {
            function_node(w, "Identity", "a", "b");
        } else {
            function_inner_call(w, next, "a", "m");
            function_inner_call(w, next, "m", "b");
        }
        wire_end(w);
    }
}

static void expect_limit(void (*write)(wire *w), const onnxd_load_limits *limits, onnxd_code code,
                         const char *text)
{
    wire w;
    onnxd_graph *graph = NULL;
    uint64_t live = onnxd_alloc_query().live_count;
    begin_calling_graph(&w);
    write(&w);
    expect_error(
        onnxd_graph_load_memory(wire_data(&w), wire_size(&w), NULL, &toy_ops, limits, &graph), code,
        text);
    wire_deinit(&w);
    cr_expect(onnxd_alloc_query().live_count == live);
}

/* A function with very many inputs, called very often. */
static void write_wide(wire *w)
{
    function_begin(w, "f", "a", "b");
    for (int i = 0; i < 250; i++)
        function_inner_call(w, "wide", "", "");
    function_node(w, "Identity", "a", "b");
    wire_end(w);
    function_begin(w, "wide", "", "");
    for (int i = 0; i < 40000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "i%d", i);
        wire_text(w, FUNCTION_INPUT, name);
    }
    wire_end(w);
}

/* A graph in an attribute called `name` of a node under way, which declares the types of many
 * values that it does not have. */
static void write_declaring_graph(wire *w, const char *name)
{
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, name);
    wire_begin(w, ATTRIBUTE_G);
    for (int i = 0; i < 40000; i++) {
        char value[16];
        (void)snprintf(value, sizeof(value), "v%d", i);
        wire_value_info(w, GRAPH_VALUE_INFO, value, 1, 0, NULL);
    }
    wire_node(w, "Mystery", "", "", "t");
    wire_value_info(w, GRAPH_OUTPUT, "t", 1, 1, two);
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 5);
    wire_end(w);
}

/* The body of a function holds the graph, and is called often. */
static void write_declaring(wire *w)
{
    function_begin(w, "f", "a", "b");
    for (int i = 0; i < 250; i++)
        function_inner_call(w, "inner", "a", "");
    function_node(w, "Identity", "a", "b");
    wire_end(w);
    function_begin(w, "inner", "a", "b");
    wire_node_begin_in(w, FUNCTION_NODE, "Mystery", "", "a", "b");
    write_declaring_graph(w, "body");
    wire_end(w);
    wire_end(w);
}

/* A call gives the graph, and many nodes of the function refer to it. */
static void write_declaring_once(wire *w)
{
    function_begin(w, "f", "a", "b");
    wire_node_begin_in(w, FUNCTION_NODE, "inner", "", "a", "b");
    wire_text(w, NODE_DOMAIN, "local");
    write_declaring_graph(w, "given");
    wire_end(w);
    wire_end(w);
    function_begin(w, "inner", "a", "b");
    wire_text(w, FUNCTION_ATTRIBUTE, "given");
    for (int i = 0; i < 250; i++) {
        wire_node_begin_in(w, FUNCTION_NODE, "Mystery", "", "a", "");
        function_reference(w, "body", "given", 5);
        wire_end(w);
    }
    function_node(w, "Identity", "a", "b");
    wire_end(w);
}

/* Subgraphs within functions within subgraphs are still subgraphs. */
static void write_deep(wire *w)
{
    for (int i = 0; i < 20; i++) {
        char name[16];
        char next[16];
        chain_names(i, name, next);
        function_begin(w, name, "a", "b");
        wire_node_begin_in(w, FUNCTION_NODE, "If", "", "a", "b");
        wire_begin(w, NODE_ATTRIBUTE);
        wire_text(w, ATTRIBUTE_NAME, "then_branch");
        wire_begin(w, ATTRIBUTE_G);
        wire_node_begin(w, next, "", "a", "t");
        wire_text(w, NODE_DOMAIN, "local");
        wire_end(w);
        wire_value_info(w, GRAPH_OUTPUT, "t", 1, 1, two);
        wire_end(w);
        wire_int(w, ATTRIBUTE_TYPE, 5);
        wire_end(w);
        wire_end(w);
        wire_end(w);
    }
}

Test(loader_function_hostile, expansion_is_bounded)
{
    onnxd_load_limits limits = onnxd_load_limits_default();
    limits.max_nodes = 10000;
    expect_limit(write_doubling, &limits, ONNXD_INVALID_ARGUMENT, "more than 10000 nodes");
    limits.max_nodes = 1000000;
    limits.max_graph_bytes = 1 << 20;
    expect_limit(write_doubling, &limits, ONNXD_OUT_OF_MEMORY, "graph arena");
    limits = onnxd_load_limits_default();
    expect_limit(write_wide, &limits, ONNXD_INVALID_ARGUMENT,
                 "more than 8388608 inputs, outputs and values");
    expect_limit(write_declaring, &limits, ONNXD_INVALID_ARGUMENT,
                 "more than 8388608 inputs, outputs and values");
    expect_limit(write_declaring_once, &limits, ONNXD_INVALID_ARGUMENT,
                 "more than 8388608 inputs, outputs and values");
    limits.max_subgraph_depth = 12;
    expect_limit(write_deep, &limits, ONNXD_INVALID_ARGUMENT, "more than 12 levels of subgraphs");
}

/* Functions of a model, put in place of the nodes that call them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/load.h"
#include "tests/graph/toy_ops.h"

#define HEADER "graph \"g\" ir 8 opset ai.onnx 13\ninput x: float[2]\n"

static const int64_t two[1] = {2};

/* A graph with input x: float[2]; the caller adds nodes. */
static void begin(wire *w)
{
    wire_init(w);
    wire_model_begin(w);
    wire_value_info(w, GRAPH_INPUT, "x", 1, 1, two);
}

/* An unfinished node of domain "local" in the graph. */
static void call_begin(wire *w, const char *function, const char *inputs, const char *outputs)
{
    wire_node_begin(w, function, "", inputs, outputs);
    wire_text(w, NODE_DOMAIN, "local");
}

static void call(wire *w, const char *function, const char *inputs, const char *outputs)
{
    call_begin(w, function, inputs, outputs);
    wire_end(w);
}

/* Ends the graph with output y. */
static void end(wire *w)
{
    wire_begin(w, GRAPH_OUTPUT);
    wire_text(w, 1, "y");
    wire_end(w);
    wire_model_end(w);
}

/* An unfinished function of domain "local" that imports opset 13. */
static void function_begin(wire *w, const char *name, const char *inputs, const char *outputs)
{
    wire_begin(w, MODEL_FUNCTIONS);
    wire_text(w, FUNCTION_NAME, name);
    wire_text(w, FUNCTION_DOMAIN, "local");
    wire_names(w, FUNCTION_INPUT, inputs);
    wire_names(w, FUNCTION_OUTPUT, outputs);
    wire_begin(w, FUNCTION_OPSET_IMPORT);
    wire_int(w, 2, 13);
    wire_end(w);
}

static void node(wire *w, const char *op_type, const char *inputs, const char *outputs)
{
    wire_node_begin_in(w, FUNCTION_NODE, op_type, "n", inputs, outputs);
    wire_end(w);
}

/* A call inside of a function. */
static void inner_call(wire *w, const char *function, const char *inputs, const char *outputs)
{
    wire_node_begin_in(w, FUNCTION_NODE, function, "", inputs, outputs);
    wire_text(w, NODE_DOMAIN, "local");
    wire_end(w);
}

/* An attribute called `name` that refers to `target`, of type `type`, of a node under way. */
static void reference(wire *w, const char *name, const char *target, int64_t type)
{
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, name);
    wire_text(w, ATTRIBUTE_REF, target);
    wire_int(w, ATTRIBUTE_TYPE, type);
    wire_end(w);
}

/* twice(a) = a + a + a, through an inner value called as one of the graph's. */
static void write_thrice(wire *w)
{
    function_begin(w, "thrice", "a", "b");
    node(w, "Add", "x,a", "b");
    node(w, "Add", "a,a", "x");
    wire_end(w);
}

static void expect_loaded(wire *w, const char *expected)
{
    onnxd_graph *graph = load_good(w);
    expect_graph(graph, expected);
    onnxd_graph_destroy(graph);
}

Test(loader_function, calls_become_nodes)
{
    wire w;
    begin(&w);
    call(&w, "thrice", "x", "t");
    call(&w, "thrice", "t", "y");
    end(&w);
    write_thrice(&w);
    expect_loaded(&w, HEADER "node Add \"thrice.1/n\" (x, x) -> (thrice.1/x: ?)\n"
                             "node Add \"thrice.1/n\" (thrice.1/x, x) -> (t: ?)\n"
                             "node Add \"thrice.2/n\" (t, t) -> (thrice.2/x: ?)\n"
                             "node Add \"thrice.2/n\" (thrice.2/x, t) -> (y: ?)\n"
                             "output y: ?\n");
}

Test(loader_function, generated_names_give_way)
{
    wire w;
    begin(&w);
    call(&w, "thrice", "x", "thrice.1/x");
    call(&w, "thrice", "thrice.1/x", "y");
    end(&w);
    write_thrice(&w);
    onnxd_graph *graph = load_good(&w);
    cr_expect(onnxd_graph_find_value(graph, "thrice.1/x#1") != ONNXD_NONE);
    onnxd_graph_destroy(graph);
}

Test(loader_function, functions_call_functions)
{
    wire w;
    begin(&w);
    call(&w, "outer", "x", "y");
    end(&w);
    function_begin(&w, "outer", "x", "y");
    inner_call(&w, "thrice", "x", "mid");
    inner_call(&w, "thrice", "mid", "y");
    wire_end(&w);
    write_thrice(&w);
    expect_loaded(&w,
                  HEADER "node Add \"thrice.2/n\" (x, x) -> (thrice.2/x: ?)\n"
                         "node Add \"thrice.2/n\" (thrice.2/x, x) -> (outer.1/mid: ?)\n"
                         "node Add \"thrice.3/n\" (outer.1/mid, outer.1/mid) -> (thrice.3/x: ?)\n"
                         "node Add \"thrice.3/n\" (thrice.3/x, outer.1/mid) -> (y: ?)\n"
                         "output y: ?\n");
}

/* Inputs and outputs that the call leaves out, and outputs that are inputs or listed twice. */
Test(loader_function, optional_inputs_and_outputs)
{
    wire w;
    begin(&w);
    call(&w, "f", "x", "y,,p,q,r");
    end(&w);
    function_begin(&w, "f", "a,b", "o,unused,a,a,o");
    node(&w, "Mystery", "a,b,a,,", "o,,unused");
    wire_end(&w);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph, HEADER "node Mystery \"f.1/n\" (x, -, x, -) -> (y: ?, -, f.1/unused: ?)\n"
                               "node Identity (x) -> (p: ?)\n"
                               "node Identity (x) -> (q: ?)\n"
                               "node Identity (y) -> (r: ?)\n"
                               "output y: ?\n");
    expect_ok(onnxd_infer_shapes(graph));
    onnxd_graph_destroy(graph);
}

/* A function's own opset holds for its nodes, and its declarations for its values. */
Test(loader_function, opsets_and_types)
{
    static const int64_t symbolic[1] = {-2};
    wire w;
    begin(&w);
    call(&w, "f", "x", "y");
    end(&w);
    wire_begin(&w, MODEL_FUNCTIONS);
    wire_text(&w, FUNCTION_NAME, "f");
    wire_text(&w, FUNCTION_DOMAIN, "local");
    wire_names(&w, FUNCTION_INPUT, "a");
    wire_names(&w, FUNCTION_OUTPUT, "b");
    wire_begin(&w, FUNCTION_OPSET_IMPORT);
    wire_text(&w, 1, "ai.onnx");
    wire_int(&w, 2, 9);
    wire_end(&w);
    wire_value_info(&w, FUNCTION_VALUE_INFO, "a", 7, 1, two);
    wire_value_info(&w, FUNCTION_VALUE_INFO, "m", 1, 1, symbolic);
    node(&w, "Old", "a", "m");
    node(&w, "Mystery", "m", "b");
    wire_end(&w);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph, HEADER "node Old \"f.1/n\" (x) -> (f.1/m: float[?])\n"
                               "node Mystery \"f.1/n\" (f.1/m) -> (y: ?)\n"
                               "output y: ?\n");
    cr_expect(graph->nodes[0].opset == 9 && graph->nodes[0].def != NULL);
    onnxd_graph_destroy(graph);
}

Test(loader_function, overloads_and_operators)
{
    wire w;
    begin(&w);
    call_begin(&w, "f", "x", "a");
    wire_text(&w, NODE_OVERLOAD, "second");
    wire_end(&w);
    call(&w, "f", "a", "b");
    wire_node(&w, "Shape", "", "b", "c");
    wire_node(&w, "Unheard", "", "c", "y");
    end(&w);
    function_begin(&w, "f", "a", "b");
    node(&w, "First", "a", "b");
    wire_end(&w);
    function_begin(&w, "f", "a", "b");
    wire_text(&w, FUNCTION_OVERLOAD, "second");
    node(&w, "Second", "a", "b");
    wire_end(&w);
    /* Of operators, one that is known wins and one that is not does not. */
    for (int i = 0; i < 2; i++) {
        wire_begin(&w, MODEL_FUNCTIONS);
        wire_text(&w, FUNCTION_NAME, i == 0 ? "Shape" : "Unheard");
        wire_text(&w, FUNCTION_DOMAIN, "ai.onnx");
        wire_names(&w, FUNCTION_INPUT, "a");
        wire_names(&w, FUNCTION_OUTPUT, "a");
        wire_end(&w);
    }
    expect_loaded(&w, HEADER "node Second \"f.1/n\" (x) -> (a: ?)\n"
                             "node First \"f.2/n\" (a) -> (b: ?)\n"
                             "node Shape (b) -> (c: ?)\n"
                             "node Identity (c) -> (y: ?)\n"
                             "output y: ?\n");
}

/* f has attributes a (no default) and b (default 7); its node has p = a, q = b, and so has that of
 * g, which f calls with a = b. */
static void write_attribute_functions(wire *w)
{
    function_begin(w, "f", "i", "o");
    wire_text(w, FUNCTION_ATTRIBUTE, "a");
    wire_begin(w, FUNCTION_ATTRIBUTE_PROTO);
    wire_text(w, ATTRIBUTE_NAME, "b");
    wire_int(w, ATTRIBUTE_I, 7);
    wire_int(w, ATTRIBUTE_TYPE, 2);
    wire_end(w);
    wire_node_begin_in(w, FUNCTION_NODE, "Mystery", "", "i", "m");
    reference(w, "p", "a", 2);
    reference(w, "q", "b", 2);
    wire_end(w);
    wire_node_begin_in(w, FUNCTION_NODE, "g", "", "m", "o");
    wire_text(w, NODE_DOMAIN, "local");
    reference(w, "a", "b", 2);
    wire_end(w);
    wire_end(w);
    function_begin(w, "g", "i", "o");
    wire_text(w, FUNCTION_ATTRIBUTE, "a");
    wire_node_begin_in(w, FUNCTION_NODE, "Puzzle", "", "i", "o");
    reference(w, "p", "a", 2);
    wire_end(w);
    wire_end(w);
}

Test(loader_function, attributes)
{
    wire w;
    begin(&w);
    call(&w, "f", "x", "t");
    call_begin(&w, "f", "t", "y");
    wire_attribute_int(&w, "b", 3);
    wire_attribute_int(&w, "a", 2);
    wire_end(&w);
    end(&w);
    write_attribute_functions(&w);
    expect_loaded(&w, HEADER "node Mystery (x) -> (f.1/m: ?) {q=7}\n"
                             "node Puzzle (f.1/m) -> (t: ?) {p=7}\n"
                             "node Mystery (t) -> (f.3/m: ?) {p=2, q=3}\n"
                             "node Puzzle (f.3/m) -> (y: ?) {p=3}\n"
                             "output y: ?\n");
}

/* `write` makes the attributes of a call of f. */
static void expect_bad_attributes(void (*write)(wire *w), const char *text)
{
    wire w;
    begin(&w);
    call_begin(&w, "f", "x", "y");
    write(&w);
    wire_end(&w);
    end(&w);
    write_attribute_functions(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

static void unknown_attribute(wire *w)
{
    wire_attribute_int(w, "c", 1);
}

static void repeated_attribute(wire *w)
{
    wire_attribute_int(w, "a", 1);
    wire_attribute_int(w, "a", 1);
}

static void attribute_of_another_type(wire *w)
{
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 1);
    wire_end(w);
}

static void reference_in_the_graph(wire *w)
{
    reference(w, "a", "b", 2);
}

Test(loader_function, bad_attributes)
{
    expect_bad_attributes(unknown_attribute, "attribute 'c': the function has no such attribute");
    expect_bad_attributes(repeated_attribute, "attribute 'a': occurs twice");
    expect_bad_attributes(
        attribute_of_another_type,
        "attribute 'p': type 2, but what it refers to in the function has type 1");
    expect_bad_attributes(reference_in_the_graph, "attribute 'a': a reference to a function's");
}

/* An attribute that neither the call nor the function gives is one that the node does not have. */
Test(loader_function, missing_attributes_are_the_operators_business)
{
    wire w;
    begin(&w);
    call(&w, "f", "", "y");
    end(&w);
    function_begin(&w, "f", "", "o");
    wire_text(&w, FUNCTION_ATTRIBUTE, "v");
    wire_node_begin_in(&w, FUNCTION_NODE, "Constant", "", "", "o");
    reference(&w, "value", "v", 4);
    wire_end(&w);
    wire_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "attribute 'value' of node (Constant) is required");
}

static void write_tensor(wire *w, uint32_t field)
{
    static const float values[2] = {1.0f, 2.0f};
    wire_begin(w, field);
    wire_tensor_header(w, "", 1, 1, two);
    wire_bytes(w, TENSOR_RAW_DATA, values, sizeof(values));
    wire_end(w);
}

/* All calls share the tensors of a function and those that it is given. */
Test(loader_function, tensors_are_shared)
{
    wire w;
    begin(&w);
    for (int i = 0; i < 2; i++) {
        call_begin(&w, "f", "", i == 0 ? "a,b,c" : "y,d,e");
        wire_begin(&w, NODE_ATTRIBUTE);
        wire_text(&w, ATTRIBUTE_NAME, "v");
        write_tensor(&w, ATTRIBUTE_T);
        wire_int(&w, ATTRIBUTE_TYPE, 4);
        wire_end(&w);
        wire_end(&w);
    }
    end(&w);
    function_begin(&w, "f", "", "a,b,c");
    wire_text(&w, FUNCTION_ATTRIBUTE, "v");
    for (int i = 0; i < 2; i++) {
        wire_node_begin_in(&w, FUNCTION_NODE, "Constant", "", "", i == 0 ? "a" : "b");
        reference(&w, "value", "v", 4);
        wire_end(&w);
    }
    wire_node_begin_in(&w, FUNCTION_NODE, "Constant", "", "", "c");
    wire_begin(&w, NODE_ATTRIBUTE);
    wire_text(&w, ATTRIBUTE_NAME, "value");
    write_tensor(&w, ATTRIBUTE_T);
    wire_int(&w, ATTRIBUTE_TYPE, 4);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    onnxd_graph *graph = load_good(&w);
    const onnxd_tensor *tensors[6];
    for (uint32_t n = 0; n < 6; n++) {
        tensors[n] = graph->nodes[n].attributes[0].value.tensor;
        cr_expect(tensors[n]->count == 2 && ((const float *)tensors[n]->data)[1] == 2.0f);
    }
    cr_expect(tensors[0] == tensors[1] && tensors[3] == tensors[4]);
    cr_expect(tensors[2] == tensors[5]);
    cr_expect(tensors[0] != tensors[3] && tensors[0] != tensors[2]);
    onnxd_graph_destroy(graph);
}

/* y = If(x) { then: Mystery(m, b) {p = a} } in a function of inputs c and b, where m is a value of
 * the function. */
static void write_branch_function(wire *w)
{
    function_begin(w, "f", "c,b", "y");
    wire_text(w, FUNCTION_ATTRIBUTE, "a");
    node(w, "Identity", "c", "m");
    wire_node_begin_in(w, FUNCTION_NODE, "If", "", "c", "y");
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "then_branch");
    wire_begin(w, ATTRIBUTE_G);
    wire_node_begin(w, "Mystery", "", "m,b", "t");
    reference(w, "p", "a", 2);
    wire_end(w);
    wire_value_info(w, GRAPH_OUTPUT, "t", 1, 1, (const int64_t[]){-2});
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 5);
    wire_end(w);
    wire_end(w);
    wire_end(w);
}

Test(loader_function, subgraphs_capture_values_of_the_function)
{
    wire w;
    begin(&w);
    call_begin(&w, "f", "x", "t");
    wire_attribute_int(&w, "a", 5);
    wire_end(&w);
    call(&w, "f", "x,t", "y");
    end(&w);
    write_branch_function(&w);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph, HEADER "node Identity \"f.1/n\" (x) -> (f.1/m: ?)\n"
                               "node If (x; f.1/m) -> (t: ?) {then_branch=\n"
                               "  graph \"\"\n"
                               "  capture 1 m: ?\n"
                               "  node Mystery (m, -) -> (t: float[?]) {p=5}\n"
                               "  output t: float[?]\n"
                               "}\n"
                               "node Identity \"f.2/n\" (x) -> (f.2/m: ?)\n"
                               "node If (x; t, f.2/m) -> (y: ?) {then_branch=\n"
                               "  graph \"\"\n"
                               "  capture 2 m: ?\n"
                               "  capture 1 b: ?\n"
                               "  node Mystery (m, b) -> (t: float[?])\n"
                               "  output t: float[?]\n"
                               "}\n"
                               "output y: ?\n");
    onnxd_graph_destroy(graph);
}

/* A function that is given a graph, which reads the caller's values. */
Test(loader_function, graphs_as_attributes)
{
    wire w;
    begin(&w);
    call_begin(&w, "f", "x", "y");
    wire_begin(&w, NODE_ATTRIBUTE);
    wire_text(&w, ATTRIBUTE_NAME, "body");
    wire_begin(&w, ATTRIBUTE_G);
    wire_node(&w, "Identity", "", "x", "t");
    wire_value_info(&w, GRAPH_OUTPUT, "t", 1, 1, two);
    wire_end(&w);
    wire_int(&w, ATTRIBUTE_TYPE, 5);
    wire_end(&w);
    wire_end(&w);
    end(&w);
    function_begin(&w, "f", "c", "y");
    wire_text(&w, FUNCTION_ATTRIBUTE, "body");
    wire_node_begin_in(&w, FUNCTION_NODE, "If", "", "c", "x");
    reference(&w, "then_branch", "body", 5);
    wire_end(&w);
    node(&w, "Identity", "x", "y");
    wire_end(&w);
    expect_loaded(&w, HEADER "node If (x; x) -> (f.1/x: ?) {then_branch=\n"
                             "  graph \"\"\n"
                             "  capture 1 x: ?\n"
                             "  node Identity (x) -> (t: float[2])\n"
                             "  output t: float[2]\n"
                             "}\n"
                             "node Identity \"f.1/n\" (f.1/x) -> (y: ?)\n"
                             "output y: ?\n");
}

/* `write` makes functions; the graph is y = f(x). */
static void expect_bad(void (*write)(wire *w), const char *text)
{
    wire w;
    begin(&w);
    call(&w, "f", "x", "y");
    end(&w);
    write(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

static void calls_itself(wire *w)
{
    function_begin(w, "f", "a", "b");
    inner_call(w, "g", "a", "b");
    wire_end(w);
    function_begin(w, "g", "a", "b");
    inner_call(w, "f", "a", "b");
    wire_end(w);
}

static void long_chain(wire *w)
{
    for (int i = 0; i < 40; i++) {
        char name[8] = "f";
        char next[8];
        if (i > 0)
            (void)snprintf(name, sizeof(name), "f%d", i);
        (void)snprintf(next, sizeof(next), "f%d", i + 1);
        function_begin(w, name, "a", "b");
        inner_call(w, next, "a", "b");
        wire_end(w);
    }
}

static void defined_twice(wire *w)
{
    for (int i = 0; i < 2; i++) {
        function_begin(w, "f", "a", "b");
        node(w, "Identity", "a", "b");
        wire_end(w);
    }
}

static void too_few_inputs(wire *w)
{
    function_begin(w, "f", "", "b");
    wire_end(w);
}

static void too_few_outputs(wire *w)
{
    function_begin(w, "f", "a", "");
    wire_end(w);
}

static void output_of_nothing(wire *w)
{
    function_begin(w, "f", "a", "b");
    wire_end(w);
}

static void absent_output(wire *w)
{
    function_begin(w, "f", "a,b", "b");
    wire_end(w);
}

static void input_twice(wire *w)
{
    function_begin(w, "f", "a,a", "a");
    wire_end(w);
}

static void nameless_input(wire *w)
{
    function_begin(w, "f", "a,,b", "a");
    wire_end(w);
}

static void output_of_two(wire *w)
{
    function_begin(w, "f", "a", "b");
    node(w, "Identity", "a", "b");
    node(w, "Identity", "a", "b");
    wire_end(w);
}

static void writes_its_input(wire *w)
{
    function_begin(w, "f", "a", "a");
    node(w, "Identity", "a", "a");
    wire_end(w);
}

static void name_of_the_graph(wire *w)
{
    function_begin(w, "f", "a", "b");
    node(w, "Identity", "x", "b");
    wire_end(w);
}

static void cycle(wire *w)
{
    function_begin(w, "f", "a", "b");
    node(w, "Identity", "c", "b");
    node(w, "Identity", "b", "c");
    wire_end(w);
}

static void nameless(wire *w)
{
    function_begin(w, "", "a", "b");
    wire_end(w);
}

static void no_import(wire *w)
{
    wire_begin(w, MODEL_FUNCTIONS);
    wire_text(w, FUNCTION_NAME, "f");
    wire_text(w, FUNCTION_DOMAIN, "local");
    wire_names(w, FUNCTION_INPUT, "a");
    wire_names(w, FUNCTION_OUTPUT, "b");
    node(w, "Identity", "a", "b");
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
    reference(w, "p", "v", 2);
    wire_end(w);
    wire_end(w);
}

Test(loader_function, broken_functions)
{
    expect_bad(calls_itself, "node #0 (f): node #0 (g): node #0 (f): the function calls itself");
    expect_bad(long_chain, "more than 32 functions that call each other");
    expect_bad(defined_twice, "function 'f': it is defined twice");
    expect_bad(too_few_inputs, "1 inputs and 1 outputs, the function has 0 and 1");
    expect_bad(too_few_outputs, "1 inputs and 1 outputs, the function has 1 and 0");
    expect_bad(output_of_nothing, "output 'b' of the function is produced by nothing");
    expect_bad(absent_output, "output 'b' of the function is produced by nothing");
    expect_bad(input_twice, "input 'a' of the function is defined twice");
    expect_bad(nameless_input, "input of the function has no name");
    expect_bad(output_of_two, "value 'b' of the function is defined twice");
    expect_bad(writes_its_input, "value 'a' of the function is defined twice");
    expect_bad(name_of_the_graph, "node 'n' (Identity): value 'x' is produced by nothing");
    expect_bad(cycle, "is on a cycle");
    expect_bad(nameless, "function '': it has no name");
    expect_bad(no_import, "the function does not import its domain 'ai.onnx'");
    expect_bad(imports_twice, "function 'f': domain 'ai.onnx' is imported twice");
    expect_bad(too_many_attributes, "function 'f': 300 attributes, at most 256");
    expect_bad(default_refers, "a reference to a function's attribute");
}

/* f0 calls f1 twice, which calls f2 twice, and so on: 2^28 nodes from 28 functions. */
static void write_doubling(wire *w)
{
    for (int i = 0; i < 28; i++) {
        char name[8] = "f";
        char next[8];
        if (i > 0)
            (void)snprintf(name, sizeof(name), "f%d", i);
        (void)snprintf(next, sizeof(next), "f%d", i + 1);
        function_begin(w, name, "a", "b");
        if (i == 27) {
            node(w, "Identity", "a", "b");
        } else {
            inner_call(w, next, "a", "m");
            inner_call(w, next, "m", "b");
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
    begin(&w);
    call(&w, "f", "x", "y");
    end(&w);
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
        inner_call(w, "wide", "", "");
    node(w, "Identity", "a", "b");
    wire_end(w);
    function_begin(w, "wide", "", "");
    for (int i = 0; i < 40000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "i%d", i);
        wire_text(w, FUNCTION_INPUT, name);
    }
    wire_end(w);
}

/* Subgraphs within functions within subgraphs are still subgraphs. */
static void write_deep(wire *w)
{
    for (int i = 0; i < 20; i++) {
        char name[8] = "f";
        char next[8];
        if (i > 0)
            (void)snprintf(name, sizeof(name), "f%d", i);
        (void)snprintf(next, sizeof(next), "f%d", i + 1);
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

Test(loader_function, expansion_is_bounded)
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
    limits.max_subgraph_depth = 12;
    expect_limit(write_deep, &limits, ONNXD_INVALID_ARGUMENT, "more than 12 levels of subgraphs");
}

/* Each allocation fails once: an error, no leak, no crash. */
Test(loader_function, every_allocation_may_fail)
{
    wire w;
    begin(&w);
    call_begin(&w, "f", "x", "t");
    wire_attribute_int(&w, "a", 5);
    wire_end(&w);
    call(&w, "thrice", "t", "y");
    end(&w);
    write_branch_function(&w);
    write_thrice(&w);
    (void)wire_data(&w);
    uint64_t live = onnxd_alloc_query().live_count;
    bool succeeded = false;
    for (uint64_t n = 1; n < 10000 && !succeeded; n++) {
        onnxd_graph *graph = NULL;
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = load_wire(&w, &graph);
        onnxd_alloc_fail_at(0, 0);
        succeeded = status == NULL;
        onnxd_status_free(status);
        onnxd_graph_destroy(graph);
        cr_assert(onnxd_alloc_query().live_count == live, "leak at allocation %lu",
                  (unsigned long)n);
    }
    cr_expect(succeeded);
    wire_deinit(&w);
}

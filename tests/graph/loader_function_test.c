/* Functions of a model, put in place of the nodes that call them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/function_model.h"
#include "tests/graph/load.h"

#define HEADER "graph \"g\" ir 8 opset ai.onnx 13\ninput x: float[2]\n"

static const int64_t two[1] = {2};

static void expect_loaded(wire *w, const char *expected)
{
    onnxd_graph *graph = load_good(w);
    expect_graph(graph, expected);
    onnxd_graph_destroy(graph);
}

Test(loader_function, calls_become_nodes)
{
    wire w;
    function_model_begin(&w);
    function_call(&w, "thrice", "x", "t");
    function_call(&w, "thrice", "t", "y");
    function_model_end(&w);
    function_thrice(&w);
    expect_loaded(&w, HEADER "node Add \"thrice.1/n\" (x, x) -> (thrice.1/x: ?)\n"
                             "node Add \"thrice.1/n\" (thrice.1/x, x) -> (t: ?)\n"
                             "node Add \"thrice.2/n\" (t, t) -> (thrice.2/x: ?)\n"
                             "node Add \"thrice.2/n\" (thrice.2/x, t) -> (y: ?)\n"
                             "output y: ?\n");
}

Test(loader_function, generated_names_give_way)
{
    wire w;
    function_model_begin(&w);
    function_call(&w, "thrice", "x", "thrice.1/x");
    function_call(&w, "thrice", "thrice.1/x", "y");
    function_model_end(&w);
    function_thrice(&w);
    onnxd_graph *graph = load_good(&w);
    cr_expect(onnxd_graph_find_value(graph, "thrice.1/x#1") != ONNXD_NONE);
    onnxd_graph_destroy(graph);
}

Test(loader_function, functions_call_functions)
{
    wire w;
    function_model_begin(&w);
    function_call(&w, "outer", "x", "y");
    function_model_end(&w);
    function_begin(&w, "outer", "x", "y");
    function_inner_call(&w, "thrice", "x", "mid");
    function_inner_call(&w, "thrice", "mid", "y");
    wire_end(&w);
    function_thrice(&w);
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
    function_model_begin(&w);
    function_call(&w, "f", "x", "y,,p,q,r");
    function_model_end(&w);
    function_begin(&w, "f", "a,b", "o,unused,a,a,o");
    function_node(&w, "Mystery", "a,b,a,,", "o,,unused");
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
    function_model_begin(&w);
    function_call(&w, "f", "x", "y");
    function_model_end(&w);
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
    function_node(&w, "Old", "a", "m");
    function_node(&w, "Mystery", "m", "b");
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
    function_model_begin(&w);
    function_call_begin(&w, "f", "x", "a");
    wire_text(&w, NODE_OVERLOAD, "second");
    wire_end(&w);
    function_call(&w, "f", "a", "b");
    wire_node(&w, "Shape", "", "b", "c");
    wire_node(&w, "Unheard", "", "c", "y");
    function_model_end(&w);
    function_begin(&w, "f", "a", "b");
    function_node(&w, "First", "a", "b");
    wire_end(&w);
    function_begin(&w, "f", "a", "b");
    wire_text(&w, FUNCTION_OVERLOAD, "second");
    function_node(&w, "Second", "a", "b");
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
    function_reference(w, "p", "a", 2);
    function_reference(w, "q", "b", 2);
    wire_end(w);
    wire_node_begin_in(w, FUNCTION_NODE, "g", "", "m", "o");
    wire_text(w, NODE_DOMAIN, "local");
    function_reference(w, "a", "b", 2);
    wire_end(w);
    wire_end(w);
    function_begin(w, "g", "i", "o");
    wire_text(w, FUNCTION_ATTRIBUTE, "a");
    wire_node_begin_in(w, FUNCTION_NODE, "Puzzle", "", "i", "o");
    function_reference(w, "p", "a", 2);
    wire_end(w);
    wire_end(w);
}

Test(loader_function, attributes)
{
    wire w;
    function_model_begin(&w);
    function_call(&w, "f", "x", "t");
    function_call_begin(&w, "f", "t", "y");
    wire_attribute_int(&w, "b", 3);
    wire_attribute_int(&w, "a", 2);
    wire_end(&w);
    function_model_end(&w);
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
    function_model_begin(&w);
    function_call_begin(&w, "f", "x", "y");
    write(&w);
    wire_end(&w);
    function_model_end(&w);
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
    function_reference(w, "a", "b", 2);
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
    function_model_begin(&w);
    function_call(&w, "f", "", "y");
    function_model_end(&w);
    function_begin(&w, "f", "", "o");
    wire_text(&w, FUNCTION_ATTRIBUTE, "v");
    wire_node_begin_in(&w, FUNCTION_NODE, "Constant", "", "", "o");
    function_reference(&w, "value", "v", 4);
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
    function_model_begin(&w);
    for (int i = 0; i < 2; i++) {
        function_call_begin(&w, "f", "", i == 0 ? "a,b,c" : "y,d,e");
        wire_begin(&w, NODE_ATTRIBUTE);
        wire_text(&w, ATTRIBUTE_NAME, "v");
        write_tensor(&w, ATTRIBUTE_T);
        wire_int(&w, ATTRIBUTE_TYPE, 4);
        wire_end(&w);
        wire_end(&w);
    }
    function_model_end(&w);
    function_begin(&w, "f", "", "a,b,c");
    wire_text(&w, FUNCTION_ATTRIBUTE, "v");
    for (int i = 0; i < 2; i++) {
        wire_node_begin_in(&w, FUNCTION_NODE, "Constant", "", "", i == 0 ? "a" : "b");
        function_reference(&w, "value", "v", 4);
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
    function_node(w, "Identity", "c", "m");
    wire_node_begin_in(w, FUNCTION_NODE, "If", "", "c", "y");
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, "then_branch");
    wire_begin(w, ATTRIBUTE_G);
    wire_node_begin(w, "Mystery", "", "m,b", "t");
    function_reference(w, "p", "a", 2);
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
    function_model_begin(&w);
    function_call_begin(&w, "f", "x", "t");
    wire_attribute_int(&w, "a", 5);
    wire_end(&w);
    function_call(&w, "f", "x,t", "y");
    function_model_end(&w);
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
    function_model_begin(&w);
    function_call_begin(&w, "f", "x", "y");
    wire_begin(&w, NODE_ATTRIBUTE);
    wire_text(&w, ATTRIBUTE_NAME, "body");
    wire_begin(&w, ATTRIBUTE_G);
    wire_node(&w, "Identity", "", "x", "t");
    wire_value_info(&w, GRAPH_OUTPUT, "t", 1, 1, two);
    wire_end(&w);
    wire_int(&w, ATTRIBUTE_TYPE, 5);
    wire_end(&w);
    wire_end(&w);
    function_model_end(&w);
    function_begin(&w, "f", "c", "y");
    wire_text(&w, FUNCTION_ATTRIBUTE, "body");
    wire_node_begin_in(&w, FUNCTION_NODE, "If", "", "c", "x");
    function_reference(&w, "then_branch", "body", 5);
    wire_end(&w);
    function_node(&w, "Identity", "x", "y");
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

/* Each allocation fails once: an error, no leak, no crash. */
Test(loader_function, every_allocation_may_fail)
{
    wire w;
    function_model_begin(&w);
    function_call_begin(&w, "f", "x", "t");
    wire_attribute_int(&w, "a", 5);
    wire_end(&w);
    function_call(&w, "thrice", "t", "y");
    function_model_end(&w);
    write_branch_function(&w);
    function_thrice(&w);
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

#include "graph/graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/graph/build_graph.h"

Test(graph, names_of_values_are_required)
{
    onnxd_graph *graph = build_graph();
    onnxd_value_id value;
    expect_error(onnxd_graph_add_value(graph, "", &value), ONNXD_INVALID_ARGUMENT, "name");
    expect_error(onnxd_graph_add_value(graph, NULL, &value), ONNXD_INVALID_ARGUMENT, "name");
    onnxd_graph_destroy(graph);
}

Test(graph, destroy_accepts_null)
{
    onnxd_graph_destroy(NULL);
}

Test(graph, arena_limit_is_an_error)
{
    onnxd_graph *graph = NULL;
    expect_ok(onnxd_graph_create(8192, &graph));
    onnxd_status *status = NULL;
    for (int i = 0; i < 1000 && status == NULL; i++) {
        char name[16];
        onnxd_value_id value;
        (void)snprintf(name, sizeof(name), "v%d", i);
        status = onnxd_graph_add_value(graph, name, &value);
    }
    expect_error(status, ONNXD_OUT_OF_MEMORY, "graph arena");
    onnxd_graph_destroy(graph);
}

Test(graph, a_value_has_one_producer)
{
    onnxd_graph *graph = build_graph();
    build_node(graph, "Identity", "x", "y");
    onnxd_value_id ids[2] = {build_value(graph, "y"), build_value(graph, "z")};
    onnxd_node node = {.op_type = "Identity", .inputs = ids, .outputs = ids, .output_count = 1};
    onnxd_node_id id;
    expect_error(onnxd_graph_add_node(graph, &node, &id), ONNXD_INVALID_ARGUMENT,
                 "'y' is produced twice");
    ids[0] = ids[1];
    node.output_count = 2;
    expect_error(onnxd_graph_add_node(graph, &node, &id), ONNXD_INVALID_ARGUMENT,
                 "'z' is produced twice");
    cr_expect(graph->values[ids[1]].producer == ONNXD_NONE);
    cr_expect(graph->node_count == 1);
    onnxd_graph_destroy(graph);
}

Test(graph, ids_are_checked)
{
    onnxd_graph *graph = build_graph();
    onnxd_value_id bad = 77;
    onnxd_node node = {.op_type = "Identity", .inputs = &bad, .input_count = 1};
    onnxd_node_id id;
    expect_error(onnxd_graph_add_node(graph, &node, &id), ONNXD_INVALID_ARGUMENT, "value id 77");
    onnxd_graph_destroy(graph);
}

Test(graph, domain_ai_onnx_is_the_empty_one)
{
    onnxd_graph *graph = build_graph();
    onnxd_node node = {.domain = "ai.onnx", .op_type = "Relu"};
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(graph, &node, &id));
    cr_expect_str_eq(graph->nodes[id].domain, "");
    cr_expect(onnxd_graph_opset(graph, "ai.onnx") == 13);
    cr_expect(onnxd_graph_opset(graph, "") == 13);
    cr_expect(onnxd_graph_opset(graph, "other") == 0);
    onnxd_graph_destroy(graph);
}

Test(graph, symbols_are_shared_by_name)
{
    onnxd_graph *graph = build_graph();
    int64_t a;
    int64_t b;
    int64_t c;
    expect_ok(onnxd_graph_symbol(graph, "batch", &a));
    expect_ok(onnxd_graph_symbol(graph, "length", &b));
    expect_ok(onnxd_graph_symbol(graph, "batch", &c));
    cr_expect(a == c);
    cr_expect(a != b);
    cr_expect(onnxd_dim_is_symbol(a));
    onnxd_graph_destroy(graph);
}

Test(graph, widest_node)
{
    uint32_t inputs = 77;
    uint32_t outputs = 77;
    onnxd_graph *graph = build_graph();
    onnxd_graph_widest(graph, &inputs, &outputs);
    cr_expect(inputs == 1 && outputs == 1);
    build_signature(graph, "x", "");
    build_node(graph, "Constant", "", "one");
    build_node(graph, "Concat", "x,x,x", "a");
    build_node(graph, "Dropout", "x", "b,c");
    build_node(graph, "Add", "x,x", "d");
    onnxd_graph_widest(graph, &inputs, &outputs);
    cr_expect(inputs == 3 && outputs == 2);
    onnxd_graph_destroy(graph);
}

Test(graph, compact_sorts_and_drops)
{
    onnxd_graph *graph = build_graph();
    build_signature(graph, "x", "");
    build_node(graph, "Identity", "b", "c");
    build_node(graph, "Identity", "a", "b");
    build_node(graph, "Identity", "x", "a");
    build_node(graph, "Identity", "x", "dead")->is_removed = true;
    build_signature(graph, "x", "c");
    expect_ok(onnxd_graph_compact(graph));
    expect_ok(onnxd_graph_verify(graph));
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "input x: ?\n"
                        "node Identity (x) -> (a: ?)\n"
                        "node Identity (a) -> (b: ?)\n"
                        "node Identity (b) -> (c: ?)\n"
                        "output c: ?\n");
    cr_expect(graph->values[build_value(graph, "dead")].producer == ONNXD_NONE);
    onnxd_graph_destroy(graph);
}

Test(graph, cycles_name_a_node_on_them)
{
    onnxd_graph *graph = build_graph();
    build_node(graph, "Identity", "loop", "after");
    build_node(graph, "Identity", "back", "loop")->name = "culprit";
    build_node(graph, "Identity", "loop", "back")->name = "culprit";
    expect_error(onnxd_graph_compact(graph), ONNXD_INVALID_ARGUMENT, "node 'culprit' (Identity)");
    onnxd_graph_destroy(graph);
}

Test(graph, a_node_that_reads_itself_is_a_cycle)
{
    onnxd_graph *graph = build_graph();
    build_node(graph, "Identity", "a", "a");
    expect_error(onnxd_graph_compact(graph), ONNXD_INVALID_ARGUMENT, "node #0 (Identity)");
    onnxd_graph_destroy(graph);
}

/* Sorting is linear: a reversed chain of this length would take minutes otherwise. */
Test(graph, long_reversed_chains_sort)
{
    enum { LENGTH = 20000 };
    onnxd_graph *graph = build_graph();
    for (uint32_t i = 0; i <= LENGTH; i++) {
        char name[16];
        onnxd_value_id value;
        (void)snprintf(name, sizeof(name), "v%u", i);
        expect_ok(onnxd_graph_add_value(graph, name, &value));
    }
    onnxd_value_id last = LENGTH;
    onnxd_value_id first = 0;
    expect_ok(onnxd_graph_set_inputs(graph, &first, 1));
    for (uint32_t i = LENGTH; i > 0; i--) {
        onnxd_value_id input = i - 1;
        onnxd_value_id output = i;
        onnxd_node node = {.op_type = "Identity",
                           .inputs = &input,
                           .outputs = &output,
                           .input_count = 1,
                           .output_count = 1};
        onnxd_node_id id;
        expect_ok(onnxd_graph_add_node(graph, &node, &id));
    }
    expect_ok(onnxd_graph_set_outputs(graph, &last, 1));
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "before it is produced");
    expect_ok(onnxd_graph_compact(graph));
    expect_ok(onnxd_graph_verify(graph));
    onnxd_graph_destroy(graph);
}

Test(graph, verify_finds_what_is_broken)
{
    onnxd_graph *graph = build_graph();
    build_signature(graph, "x", "");
    build_node(graph, "Identity", "x", "y");
    build_signature(graph, "x", "y");
    expect_ok(onnxd_graph_verify(graph));
    onnxd_value_id x = build_value(graph, "x");
    onnxd_value_id y = build_value(graph, "y");

    graph->nodes[0].inputs[0] = 99;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "out of range");
    graph->nodes[0].inputs[0] = build_value(graph, "nowhere");
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "'nowhere' is produced by");
    graph->nodes[0].inputs[0] = x;

    graph->values[y].producer = ONNXD_NONE;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "'y' is produced twice");
    graph->values[y].producer = 0;

    graph->values[x].producer = 0;
    graph->values[x].is_input = false;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "'x'");
    graph->values[x].producer = ONNXD_NONE;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "'x'");
    graph->values[x].is_input = true;

    graph->outputs[0] = build_value(graph, "nowhere");
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "'nowhere'");
    graph->values[graph->outputs[0]].is_output = true;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "nothing produces");
    graph->outputs[0] = y;

    onnxd_value_id twin;
    expect_ok(onnxd_graph_add_value(graph, "x", &twin));
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "'x' is defined twice");
    onnxd_graph_destroy(graph);
}

Test(graph, labels_are_safe_for_messages)
{
    onnxd_graph *graph = build_graph();
    char label[ONNXD_NODE_LABEL];
    onnxd_node *node = build_node(graph, "Relu", "x", "y");
    cr_expect_str_eq(onnxd_node_label(graph, node, label, sizeof(label)), "node #0 (Relu)");
    cr_expect_str_eq(onnxd_node_label(NULL, node, label, sizeof(label)), "node (Relu)");
    node->name = "a\nb%n";
    cr_expect_str_eq(onnxd_node_label(graph, node, label, sizeof(label)),
                     "node 'a\\x0ab%n' (Relu)");
    char name[4096];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    node->name = name;
    node->op_type = name;
    onnxd_node_label(graph, node, label, sizeof(label));
    cr_expect(strlen(label) < sizeof(label));
    cr_expect(strstr(label, "...") != NULL);
    onnxd_graph_destroy(graph);
}

/* y = If(cond) { then: inner_out = Identity(late) }, with `late` as the node's second input. */
static onnxd_graph *capturing_graph(onnxd_graph *inner, onnxd_capture *capture)
{
    onnxd_graph *graph = build_graph();
    inner->parent = graph;
    build_node(inner, "Identity", "late", "inner_out");
    build_signature(inner, "", "inner_out");
    *capture = (onnxd_capture){.value = build_value(inner, "late"), .input = 1};
    inner->captures = capture;
    inner->capture_count = 1;
    onnxd_attribute branch = {
        .name = "then_branch", .kind = ONNXD_ATTRIBUTE_GRAPH, .count = 1, .value.graph = inner};
    onnxd_value_id inputs[2] = {build_value(graph, "cond"), build_value(graph, "late")};
    onnxd_value_id output = build_value(graph, "y");
    onnxd_node node = {.op_type = "If",
                       .inputs = inputs,
                       .outputs = &output,
                       .input_count = 2,
                       .output_count = 1,
                       .capture_count = 1,
                       .attributes = &branch,
                       .attribute_count = 1};
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(graph, &node, &id));
    build_node(graph, "Identity", "cond", "late");
    build_signature(graph, "cond", "y");
    return graph;
}

Test(graph, captures_are_inputs)
{
    onnxd_capture capture;
    onnxd_graph *graph = capturing_graph(build_graph(), &capture);
    expect_ok(onnxd_graph_compact(graph));
    expect_ok(onnxd_graph_verify(graph));
    expect_graph(graph, "graph \"\" ir 8 opset ai.onnx 13\n"
                        "input cond: ?\n"
                        "node Identity (cond) -> (late: ?)\n"
                        "node If (cond; late) -> (y: ?) {then_branch=\n"
                        "  graph \"\"\n"
                        "  capture 1 late: ?\n"
                        "  node Identity (late) -> (inner_out: ?)\n"
                        "  output inner_out: ?\n"
                        "}\n"
                        "output y: ?\n");
    onnxd_graph_destroy(graph);
}

Test(graph, verify_checks_captures)
{
    onnxd_capture capture;
    onnxd_graph *inner = build_graph();
    onnxd_graph *graph = capturing_graph(inner, &capture);
    expect_ok(onnxd_graph_compact(graph));
    onnxd_node *node = &graph->nodes[1];

    capture.input = 0;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "captures input 0");
    capture.input = 2;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "captures input 2");
    capture.input = 1;
    onnxd_value_id late = node->inputs[1];
    node->inputs[1] = ONNXD_NONE;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "input 1, which is absent");
    node->inputs[1] = late;
    node->capture_count = 2;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "2 captures, 1 uses");
    node->capture_count = 3;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "3 captures, 0 uses");
    node->capture_count = 1;
    inner->parent = inner;
    expect_error(onnxd_graph_verify(graph), ONNXD_INVALID_ARGUMENT, "belongs to another graph");
    inner->parent = graph;
    expect_ok(onnxd_graph_verify(graph));
    expect_ok(onnxd_graph_verify(inner));

    capture.value = build_value(inner, "inner_out");
    expect_error(onnxd_graph_verify(inner), ONNXD_INVALID_ARGUMENT, "has another source too");
    capture.value = 99;
    expect_error(onnxd_graph_verify(inner), ONNXD_INVALID_ARGUMENT, "id out of range");
    inner->capture_count = 0;
    expect_error(onnxd_graph_verify(inner), ONNXD_INVALID_ARGUMENT, "'late' is produced by");
    onnxd_graph_destroy(graph);
}

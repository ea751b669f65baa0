#include "graph/loader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/load.h"
#include "tests/graph/toy_ops.h"

static const int64_t two[1] = {2};
static const float weights[2] = {1.0f, 2.0f};

/* A model whose graph has input x: float[2]; the caller adds nodes and outputs. */
static void begin(wire *w)
{
    wire_init(w);
    wire_model_begin(w);
    wire_value_info(w, GRAPH_INPUT, "x", 1, 1, two);
}

/* Ends a model with output y. */
static void end(wire *w)
{
    wire_value_info(w, GRAPH_OUTPUT, "y", 1, 1, two);
    wire_model_end(w);
}

Test(loader, small_model)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph, "graph \"g\" ir 8 opset ai.onnx 13\n"
                        "input x: float[2]\n"
                        "constant w: float[2] {1.0, 2.0}\n"
                        "node Add \"sum\" (x, w) -> (s: ?)\n"
                        "node Identity (s) -> (y: float[2])\n"
                        "output y: float[2]\n");
    cr_expect(graph->nodes[0].def != NULL && graph->nodes[0].opset == 13);
    expect_ok(onnxd_infer_shapes(graph));
    onnxd_graph_destroy(graph);
}

Test(loader, large_weights_are_aligned_and_outlive_the_message)
{
    static float large[4096];
    int64_t dims[1] = {4096};
    large[4095] = 7.0f;
    wire w;
    begin(&w);
    wire_raw_initializer(&w, "large", 1, 1, dims, large, sizeof(large));
    wire_node(&w, "Identity", "", "x", "y");
    end(&w);
    onnxd_graph *graph = load_good(&w);
    const onnxd_tensor *tensor = graph->values[onnxd_graph_find_value(graph, "large")].constant;
    cr_expect((uintptr_t)tensor->data % 64 == 0);
    cr_expect(((const float *)tensor->data)[4095] == 7.0f);
    onnxd_graph_destroy(graph);
}

static void expect_versions(int64_t ir, int64_t opset, onnxd_code code, const char *text)
{
    wire w;
    wire_init(&w);
    wire_int(&w, MODEL_IR_VERSION, ir);
    wire_opset(&w, "", opset);
    wire_begin(&w, MODEL_GRAPH);
    wire_end(&w);
    if (text != NULL)
        load_bad(&w, code, text);
    else
        onnxd_graph_destroy(load_good(&w));
}

Test(loader, versions)
{
    expect_versions(3, 1, ONNXD_OK, NULL);
    expect_versions(14, 28, ONNXD_OK, NULL);
    expect_versions(15, 28, ONNXD_UNIMPLEMENTED, "ir version 15, at most 14 is supported");
    expect_versions(INT64_MAX, 28, ONNXD_UNIMPLEMENTED, "ir version 9223372036854775807");
    expect_versions(2, 28, ONNXD_INVALID_ARGUMENT, "ir version 2, allowed are 3 to 14");
    expect_versions(-1, 28, ONNXD_INVALID_ARGUMENT, "ir version -1");
    expect_versions(8, 29, ONNXD_UNIMPLEMENTED, "opset 29 of domain 'ai.onnx', at most 28");
    expect_versions(8, INT64_MAX, ONNXD_UNIMPLEMENTED, "opset 9223372036854775807");
    expect_versions(8, 0, ONNXD_INVALID_ARGUMENT, "opset import 0");
    expect_versions(8, INT64_MIN, ONNXD_INVALID_ARGUMENT, "opset import -9223372036854775808");
}

Test(loader, missing_parts)
{
    wire w;
    wire_init(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "the file is empty");
    wire_init(&w);
    wire_begin(&w, MODEL_GRAPH);
    wire_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "ir version 0");
    wire_init(&w);
    wire_int(&w, MODEL_IR_VERSION, 8);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "the model has no graph");
    wire_init(&w);
    wire_int(&w, MODEL_IR_VERSION, 8);
    wire_begin(&w, MODEL_GRAPH);
    wire_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "imports no operator set");
}

Test(loader, imports)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    wire_opset(&w, "com.example", 1000);
    onnxd_graph *graph = load_good(&w);
    cr_expect(onnxd_graph_opset(graph, "com.example") == 1000);
    onnxd_graph_destroy(graph);
    wire_init(&w);
    wire_small_model(&w);
    wire_opset(&w, "ai.onnx", 12);
    load_bad(&w, ONNXD_INVALID_ARGUMENT,
             "domain 'ai.onnx' is imported twice, as version 13 and as 12");
    wire_init(&w);
    wire_small_model(&w);
    wire_opset(&w, "onnxd", 1);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "domain 'onnxd', which is reserved for graph passes");
}

/* skl2onnx lists imports twice. */
Test(loader, imports_may_be_listed_twice)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    wire_opset(&w, "com.example", 2);
    wire_opset(&w, "ai.onnx", 13);
    wire_opset(&w, "com.example", 2);
    onnxd_graph *graph = load_good(&w);
    cr_expect(graph->opset_count == 2);
    cr_expect(onnxd_graph_opset(graph, "ai.onnx") == 13);
    onnxd_graph_destroy(graph);
}

Test(loader, outputs_may_be_inputs_or_constants)
{
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "x", 1, 1, two);
    wire_raw_initializer(&w, "w", 1, 1, two, weights, sizeof(weights));
    wire_value_info(&w, GRAPH_OUTPUT, "x", 1, 1, two);
    wire_value_info(&w, GRAPH_OUTPUT, "w", 1, 1, two);
    wire_model_end(&w);
    onnxd_graph *graph = load_good(&w);
    cr_expect(graph->output_count == 2 && graph->node_count == 0);
    onnxd_graph_destroy(graph);
}

Test(loader, initializers_that_are_inputs_are_no_signature)
{
    wire w;
    begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "w", 1, 1, two);
    wire_raw_initializer(&w, "w", 1, 1, two, weights, sizeof(weights));
    wire_node(&w, "Add", "", "x,w", "y");
    end(&w);
    onnxd_graph *graph = load_good(&w);
    cr_expect(graph->input_count == 1);
    cr_expect(!graph->values[onnxd_graph_find_value(graph, "w")].is_input);
    onnxd_graph_destroy(graph);
}

Test(loader, initializers_must_match_declared_types)
{
    static const int64_t three[1] = {3};
    wire w;
    begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "w", 1, 1, three);
    wire_raw_initializer(&w, "w", 1, 1, two, weights, sizeof(weights));
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "initializer 'w': its type is not that of the input");
    begin(&w);
    wire_value_info(&w, GRAPH_VALUE_INFO, "w", 7, 1, two);
    wire_raw_initializer(&w, "w", 1, 1, two, weights, sizeof(weights));
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "value 'w': its declared type");
}

Test(loader, every_value_has_one_definition)
{
    wire w;
    begin(&w);
    wire_node(&w, "Identity", "first", "x", "y");
    wire_node(&w, "Identity", "second", "x", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "node 'second' (Identity): output 'y' is defined twice");
    begin(&w);
    wire_node(&w, "Identity", "", "x", "x");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "node #0 (Identity): output 'x' is defined twice");
    begin(&w);
    wire_raw_initializer(&w, "w", 1, 1, two, weights, sizeof(weights));
    wire_raw_initializer(&w, "w", 1, 1, two, weights, sizeof(weights));
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "initializer 'w' is defined twice");
    begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "x", 1, 1, two);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "graph input 'x' is defined twice");
    begin(&w);
    wire_raw_initializer(&w, "y", 1, 1, two, weights, sizeof(weights));
    wire_node(&w, "Identity", "", "x", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "output 'y' is defined twice");
    begin(&w);
    wire_node(&w, "Identity", "", "x", "y");
    wire_value_info(&w, GRAPH_OUTPUT, "y", 1, 1, two);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "graph output 'y': it is listed twice");
}

Test(loader, names_are_required)
{
    wire w;
    begin(&w);
    wire_raw_initializer(&w, "", 1, 1, two, weights, sizeof(weights));
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "initializer has no name");
    begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "", 1, 1, two);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "graph input has no name");
    begin(&w);
    wire_node(&w, "", "n", "x", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "node 'n' (): it has no operator type");
}

Test(loader, dangling_names)
{
    wire w;
    begin(&w);
    wire_node(&w, "Add", "n", "x,nowhere", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "node 'n' (Add): value 'nowhere' is produced by nothing");
    begin(&w);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "graph output 'y': value 'y' is produced by nothing");
}

Test(loader, nodes_come_in_any_order)
{
    wire w;
    begin(&w);
    wire_node(&w, "Identity", "", "b", "y");
    wire_node(&w, "Identity", "", "a", "b");
    wire_node(&w, "Identity", "", "x", "a");
    end(&w);
    onnxd_graph *graph = load_good(&w);
    cr_expect_str_eq(graph->values[graph->nodes[0].outputs[0]].name, "a");
    cr_expect_str_eq(graph->values[graph->nodes[2].outputs[0]].name, "y");
    onnxd_graph_destroy(graph);
}

Test(loader, cycles)
{
    wire w;
    begin(&w);
    wire_node(&w, "Identity", "self", "y", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "node 'self' (Identity) is on a cycle");
    begin(&w);
    wire_node(&w, "Add", "there", "x,b", "y");
    wire_node(&w, "Identity", "back", "y", "b");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "is on a cycle");
    begin(&w);
    for (int i = 0; i < 1000; i++) {
        char names[2][16];
        (void)snprintf(names[0], sizeof(names[0]), "v%d", i);
        (void)snprintf(names[1], sizeof(names[1]), "v%d", (i + 1) % 1000);
        wire_node(&w, "Identity", "", names[0], names[1]);
    }
    wire_node(&w, "Identity", "", "v500", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "is on a cycle");
}

Test(loader, islands_are_fine)
{
    wire w;
    begin(&w);
    wire_node(&w, "Identity", "", "x", "y");
    wire_node(&w, "Identity", "", "x", "island");
    end(&w);
    onnxd_graph_destroy(load_good(&w));
}

Test(loader, known_operators_are_resolved_and_unknown_ones_stay)
{
    wire w;
    begin(&w);
    wire_node(&w, "Mystery", "", "x", "m");
    wire_node(&w, "Identity", "", "m", "y");
    end(&w);
    onnxd_graph *graph = load_good(&w);
    cr_expect(graph->nodes[0].def == NULL && graph->nodes[1].def != NULL);
    onnxd_graph_destroy(graph);
    begin(&w);
    wire_node_begin(&w, "Identity", "n", "x", "y");
    wire_attribute_int(&w, "bogus", 1);
    wire_end(&w);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "attribute 'bogus' of node 'n' (Identity)");
    begin(&w);
    wire_node(&w, "Add", "", "x", "y");
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "node #0 (Add)");
}

Test(loader, domains_must_be_imported)
{
    wire w;
    begin(&w);
    wire_node_begin(&w, "Thing", "n", "x", "y");
    wire_text(&w, NODE_DOMAIN, "com.example");
    wire_end(&w);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "does not import its domain 'com.example'");
}

Test(loader, training_info_is_ignored)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    wire_text(&w, MODEL_TRAINING_INFO, "\xff\xff\xff not a message");
    onnxd_graph_destroy(load_good(&w));
}

Test(loader, unknown_fields_are_ignored)
{
    wire w;
    wire_init(&w);
    for (int i = 0; i < 1000; i++)
        wire_text(&w, 500, "?");
    wire_small_model(&w);
    onnxd_graph_destroy(load_good(&w));
}

Test(loader, types)
{
    static const int64_t dims[4] = {-2, -1, 0, 5};
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "a", 10, 4, dims);
    wire_begin(&w, GRAPH_INPUT);
    wire_text(&w, 1, "list");
    wire_begin(&w, 2); /* TypeProto */
    wire_begin(&w, 4); /* Sequence */
    wire_begin(&w, 1); /* TypeProto of the elements */
    wire_begin(&w, 1); /* Tensor */
    wire_int(&w, 1, 7);
    for (int depth = 0; depth < 5; depth++)
        wire_end(&w);
    wire_model_end(&w);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph, "graph \"g\" ir 8 opset ai.onnx 13\n"
                        "input a: float16[n,?,0,5]\n"
                        "input list: sequence(int64[?]*)\n");
    onnxd_graph_destroy(graph);
}

static void expect_bad_type(int32_t dtype, size_t rank, const int64_t *dims, const char *text)
{
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_value_info(&w, GRAPH_INPUT, "a", dtype, rank, dims);
    wire_model_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, text);
}

Test(loader, bad_types)
{
    int64_t dims[17] = {1};
    expect_bad_type(0, 1, dims, "value 'a': data type 0 is not known");
    expect_bad_type(999, 1, dims, "data type 999");
    expect_bad_type(-1, 1, dims, "data type -1");
    expect_bad_type(1, 17, dims, "rank 17, at most 16");
    dims[0] = -5;
    expect_bad_type(1, 1, dims, "dimension -5, it must not be negative");
    wire w;
    wire_init(&w);
    wire_model_begin(&w);
    wire_begin(&w, GRAPH_INPUT);
    wire_text(&w, 1, "a");
    wire_end(&w);
    wire_model_end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "graph input 'a' has no type");
}

Test(loader, arena_limit)
{
    wire w;
    wire_init(&w);
    wire_small_model(&w);
    onnxd_load_limits limits = onnxd_load_limits_default();
    onnxd_graph *graph = NULL;
    limits.max_graph_bytes = 512;
    expect_error(
        onnxd_graph_load_memory(wire_data(&w), wire_size(&w), NULL, &toy_ops, &limits, &graph),
        ONNXD_OUT_OF_MEMORY, "graph arena");
    limits.max_file_bytes = wire_size(&w) - 1;
    expect_error(
        onnxd_graph_load_memory(wire_data(&w), wire_size(&w), NULL, &toy_ops, &limits, &graph),
        ONNXD_INVALID_ARGUMENT, "bytes, at most");
    wire_deinit(&w);
}

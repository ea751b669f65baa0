/* Attributes and subgraphs of models that are loaded. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/alloc.h"
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

/* An attribute of an unknown operator, whose body `write` makes. */
static void expect_attribute(void (*write)(wire *w), const char *error)
{
    wire w;
    begin(&w);
    wire_node_begin(&w, "Mystery", "n", "x", "y");
    wire_begin(&w, NODE_ATTRIBUTE);
    write(&w);
    wire_end(&w);
    wire_end(&w);
    end(&w);
    if (error == NULL)
        onnxd_graph_destroy(load_good(&w));
    else
        load_bad(&w, ONNXD_INVALID_ARGUMENT, error);
}

static void attribute_without_type(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_I, 1);
}

static void attribute_without_name(wire *w)
{
    wire_int(w, ATTRIBUTE_TYPE, 2);
}

static void attribute_of_two_kinds(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_I, 1);
    wire_int(w, ATTRIBUTE_INTS, 1);
    wire_int(w, ATTRIBUTE_TYPE, 2);
}

static void attribute_of_no_kind(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 15);
}

static void attribute_reference(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_text(w, ATTRIBUTE_REF, "outer");
    wire_int(w, ATTRIBUTE_TYPE, 2);
}

static void attribute_tensor_missing(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 4);
}

static void attribute_graph_missing(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 5);
}

static void attribute_bad_tensor(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_begin(w, ATTRIBUTE_T);
    wire_tensor_header(w, "", 1, 1, two);
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 4);
}

static void attribute_default_int(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 2);
}

static void attribute_second_tensor_bad(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    for (int i = 0; i < 2; i++) {
        wire_begin(w, 10);
        wire_tensor_header(w, "", 1, 1, two);
        if (i == 0)
            wire_bytes(w, TENSOR_RAW_DATA, weights, sizeof(weights));
        wire_end(w);
    }
    wire_int(w, ATTRIBUTE_TYPE, 9);
}

Test(loader_attribute, attributes)
{
    expect_attribute(attribute_default_int, NULL);
    expect_attribute(attribute_without_type,
                     "node 'n' (Mystery): attribute 'a': type 0, allowed are 1 to 14");
    expect_attribute(attribute_without_name, "attribute '': has no name");
    expect_attribute(attribute_of_two_kinds, "type 2, but data of type 7");
    expect_attribute(attribute_of_no_kind, "type 15, allowed");
    expect_attribute(attribute_reference, "outside of a function");
    expect_attribute(attribute_tensor_missing, "the tensor is missing");
    expect_attribute(attribute_graph_missing, "the graph is missing");
    expect_attribute(attribute_bad_tensor, "attribute 'a': float_data holds 0 entries");
    expect_attribute(attribute_second_tensor_bad, "float_data holds 0 entries");
    wire w;
    begin(&w);
    wire_node_begin(&w, "Mystery", "n", "x", "y");
    wire_attribute_int(&w, "a", 1);
    wire_attribute_int(&w, "a", 1);
    wire_end(&w);
    end(&w);
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "attribute 'a': occurs twice");
}

/* float[4] = {0, 5, 0, 7} as an attribute's sparse tensor; `last` is the last index. */
static void write_sparse(wire *w, uint32_t field, int64_t last)
{
    static const float values[2] = {5.0f, 7.0f};
    const int64_t indices[2] = {1, last};
    wire_begin(w, field);
    wire_begin(w, 1);
    wire_tensor_header(w, "", 1, 1, two);
    wire_bytes(w, TENSOR_RAW_DATA, values, sizeof(values));
    wire_end(w);
    wire_begin(w, 2);
    wire_tensor_header(w, "", 7, 1, two);
    wire_bytes(w, TENSOR_RAW_DATA, indices, sizeof(indices));
    wire_end(w);
    wire_int(w, 3, 4);
    wire_end(w);
}

/* A TypeProto: sequence of float tensors of unknown shape. */
static void write_sequence_type(wire *w, uint32_t field)
{
    wire_begin(w, field);
    wire_begin(w, 4);
    wire_begin(w, 1);
    wire_begin(w, 1);
    wire_int(w, 1, 1);
    for (int open = 0; open < 4; open++)
        wire_end(w);
}

static void attribute_sparse_out_of_range(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    write_sparse(w, ATTRIBUTE_SPARSE_TENSORS, 3);
    write_sparse(w, ATTRIBUTE_SPARSE_TENSORS, 4);
    wire_int(w, ATTRIBUTE_TYPE, 12);
}

static void attribute_sparse_missing(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 11);
}

static void attribute_type_missing(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    wire_int(w, ATTRIBUTE_TYPE, 13);
}

static void attribute_type_empty(wire *w)
{
    wire_text(w, ATTRIBUTE_NAME, "a");
    write_sequence_type(w, ATTRIBUTE_TYPE_PROTOS);
    wire_begin(w, ATTRIBUTE_TYPE_PROTOS);
    wire_end(w);
    wire_int(w, ATTRIBUTE_TYPE, 14);
}

Test(loader_attribute, broken_sparse_tensors_and_types)
{
    expect_attribute(attribute_sparse_out_of_range, "index 4 of entry 1");
    expect_attribute(attribute_sparse_missing, "the sparse tensor is missing");
    expect_attribute(attribute_type_missing, "the type is missing");
    expect_attribute(attribute_type_empty, "the type is empty");
}

static void begin_attribute(wire *w, const char *name, int64_t type)
{
    wire_begin(w, NODE_ATTRIBUTE);
    wire_text(w, ATTRIBUTE_NAME, name);
    wire_int(w, ATTRIBUTE_TYPE, type);
}

Test(loader_attribute, sparse_tensors_and_types)
{
    wire w;
    begin(&w);
    wire_node_begin(&w, "Mystery", "n", "x", "y");
    begin_attribute(&w, "sparse", 11);
    write_sparse(&w, ATTRIBUTE_SPARSE_TENSOR, 3);
    wire_end(&w);
    begin_attribute(&w, "sparses", 12);
    write_sparse(&w, ATTRIBUTE_SPARSE_TENSORS, 2);
    write_sparse(&w, ATTRIBUTE_SPARSE_TENSORS, 3);
    wire_end(&w);
    begin_attribute(&w, "type", 13);
    write_sequence_type(&w, ATTRIBUTE_TP);
    wire_end(&w);
    begin_attribute(&w, "types", 14);
    write_sequence_type(&w, ATTRIBUTE_TYPE_PROTOS);
    write_sequence_type(&w, ATTRIBUTE_TYPE_PROTOS);
    wire_end(&w);
    begin_attribute(&w, "none", 14);
    wire_end(&w);
    wire_end(&w);
    end(&w);
    onnxd_graph *graph = load_good(&w);
    expect_graph(graph,
                 "graph \"g\" ir 8 opset ai.onnx 13\n"
                 "input x: float[2]\n"
                 "node Mystery \"n\" (x) -> (y: float[2]) {sparse=float[4] {0.0, 5.0, 0.0, 7.0}, "
                 "sparses=[float[4] {0.0, 5.0, 7.0, 0.0},float[4] {0.0, 5.0, 0.0, 7.0}], "
                 "type=sequence(float[?]*), "
                 "types=[sequence(float[?]*),sequence(float[?]*)], none=[]}\n"
                 "output y: float[2]\n");
    onnxd_graph_destroy(graph);
}

/* An If whose only branch is a graph around `depth` more of them; the innermost reads `name`. */
static void write_branches(wire *w, int depth, const char *name)
{
    char output[16];
    (void)snprintf(output, sizeof(output), "o%d", depth);
    if (depth == 0) {
        wire_node(w, "Identity", "inner", name, output);
    } else {
        char next[16];
        (void)snprintf(next, sizeof(next), "o%d", depth - 1);
        wire_node_begin(w, "If", "outer", "x", output);
        wire_begin(w, NODE_ATTRIBUTE);
        wire_text(w, ATTRIBUTE_NAME, "then_branch");
        wire_begin(w, ATTRIBUTE_G);
        write_branches(w, depth - 1, name);
        wire_value_info(w, GRAPH_OUTPUT, next, 1, 1, two);
        wire_end(w);
        wire_int(w, ATTRIBUTE_TYPE, 5);
        wire_end(w);
        wire_end(w);
    }
}

static void write_nested(wire *w, int depth, const char *name)
{
    char output[16];
    begin(w);
    write_branches(w, depth, name);
    wire_node(w, "Identity", "late", "x", "captured");
    (void)snprintf(output, sizeof(output), "o%d", depth);
    wire_node(w, "Identity", "", output, "y");
    end(w);
}

Test(loader_attribute, subgraphs_use_outer_names)
{
    wire w;
    wire_init(&w);
    write_nested(&w, 2, "captured");
    onnxd_graph *graph = load_good(&w);
    /* The node that a subgraph of a subgraph depends on comes first. */
    cr_expect_str_eq(graph->nodes[0].name, "late");
    const onnxd_graph *middle = graph->nodes[1].attributes[0].value.graph;
    cr_expect(middle->parent == graph);
    cr_expect(onnxd_graph_find_value(middle, "captured") != ONNXD_NONE);
    /* The middle graph reads x for its own If, and hands "captured" on. */
    cr_expect(graph->nodes[1].input_count == 3 && graph->nodes[1].capture_count == 2);
    cr_expect(middle->nodes[0].input_count == 2 && middle->nodes[0].capture_count == 1);
    const onnxd_graph *inner = middle->nodes[0].attributes[0].value.graph;
    cr_assert(middle->capture_count == 2 && inner->capture_count == 1);
    cr_expect_str_eq(inner->values[inner->captures[0].value].name, "captured");
    cr_expect(inner->captures[0].input == 1);
    onnxd_graph_destroy(graph);
}

Test(loader_attribute, subgraph_names_must_exist)
{
    wire w;
    wire_init(&w);
    write_nested(&w, 2, "nowhere");
    load_bad(&w, ONNXD_INVALID_ARGUMENT,
             "node 'outer' (If): attribute 'then_branch': node 'outer' (If): attribute "
             "'then_branch': node 'inner' (Identity): value 'nowhere' is produced by nothing");
}

Test(loader_attribute, cycles_through_subgraphs)
{
    wire w;
    wire_init(&w);
    write_nested(&w, 2, "y");
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "is on a cycle");
}

Test(loader_attribute, subgraphs_nest_to_the_limit)
{
    wire w;
    wire_init(&w);
    write_nested(&w, 30, "x");
    onnxd_graph_destroy(load_good(&w));
    wire_init(&w);
    write_nested(&w, 33, "x");
    load_bad(&w, ONNXD_INVALID_ARGUMENT, "levels of nested");
}

Test(loader_attribute, captured_values_survive_the_passes)
{
    wire w;
    wire_init(&w);
    write_nested(&w, 1, "captured");
    onnxd_graph *graph = load_good(&w);
    onnxd_pass_env env = {.registry = &toy_ops};
    expect_ok(onnxd_passes_run(graph, &env));
    /* The Identity that made "captured" is gone; what it handed on is captured in its place. */
    const onnxd_node *node = &graph->nodes[0];
    cr_expect_str_eq(node->op_type, "If");
    cr_expect(node->capture_count == 1);
    cr_expect_str_eq(graph->values[node->inputs[1]].name, "x");
    onnxd_graph_destroy(graph);
}

static onnxd_status *load_and_optimise(const wire *w)
{
    onnxd_pass_env env = {
        .registry = &toy_ops, .fold_max_node_bytes = 1024, .fold_max_total_bytes = 4096};
    onnxd_graph *graph = NULL;
    onnxd_status *status = load_wire(w, &graph);
    if (status == NULL)
        status = onnxd_passes_run(graph, &env);
    onnxd_graph_destroy(graph);
    return status;
}

/* Each allocation of a load fails once: an error, no leak, no crash. */
Test(loader_attribute, every_allocation_may_fail)
{
    wire w;
    wire_init(&w);
    write_nested(&w, 2, "captured");
    (void)wire_data(&w);
    uint64_t live = onnxd_alloc_query().live_count;
    bool succeeded = false;
    for (uint64_t n = 1; n < 10000 && !succeeded; n++) {
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = load_and_optimise(&w);
        onnxd_alloc_fail_at(0, 0);
        succeeded = status == NULL;
        onnxd_status_free(status);
        cr_assert(onnxd_alloc_query().live_count == live, "leak at allocation %lu",
                  (unsigned long)n);
    }
    cr_expect(succeeded);
    wire_deinit(&w);
}

/* Types across subgraphs and kinds of values, and what they leave out of plans. */
#include "graph/subgraph.h"

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/toy_ops.h"

static onnxd_tensor_type type_of(onnxd_dtype dtype, int32_t rank, const int64_t *dims)
{
    onnxd_tensor_type type = {.dtype = dtype, .shape = onnxd_shape_unknown()};
    if (rank != ONNXD_RANK_UNKNOWN)
        type.shape = onnxd_shape_from(rank, dims);
    return type;
}

static void expect_type(const onnxd_tensor_type *type, onnxd_dtype dtype, const char *shape)
{
    char text[ONNXD_SHAPE_TEXT];
    cr_expect(type->dtype == dtype, "%s", onnxd_dtype_name(type->dtype));
    cr_expect_str_eq(onnxd_shape_format(&type->shape, text, sizeof(text)), shape);
}

/* Of inputs `in` and `loose` and capture `c`: y = in, z = c + c, s = Shape(c), m = Mystery(c),
 * bad = c + in. */
static onnxd_graph *sample_subgraph(onnxd_graph *outer)
{
    onnxd_graph *inner = build_subgraph(outer);
    int64_t own;
    expect_ok(onnxd_graph_symbol(inner, "own", &own));
    build_capture(inner, "c", 1);
    build_type(inner, "in", ONNXD_FLOAT, 1, &own);
    build_node(inner, "Identity", "in", "y");
    build_node(inner, "Add", "c,c", "z");
    build_node(inner, "Shape", "c", "s");
    build_node(inner, "Mystery", "c", "m");
    build_node(inner, "Add", "c,in", "bad");
    build_type(inner, "m", ONNXD_INT64, 1, &own);
    build_signature(inner, "in,loose", "y,z,s,m,bad,loose");
    return inner;
}

Test(subgraph, output_types_follow_from_what_is_given)
{
    onnxd_graph *outer = build_graph();
    onnxd_graph *inner = sample_subgraph(outer);
    const int64_t symbolic[1] = {ONNXD_DIM_FROM_SYMBOL(4)};
    const int64_t three[2] = {3, 3};
    onnxd_tensor_type outputs[6];
    const onnxd_tensor_type node_inputs[2] = {type_of(ONNXD_BOOL, 0, three),
                                              type_of(ONNXD_DOUBLE, 2, three)};
    expect_ok(onnxd_graph_infer_outputs(inner, node_inputs, NULL, outputs));
    expect_type(&outputs[0], ONNXD_FLOAT, "[?]");
    expect_type(&outputs[1], ONNXD_DOUBLE, "[3,3]");
    expect_type(&outputs[2], ONNXD_INT64, "[2]");
    expect_type(&outputs[3], ONNXD_INT64, "[?]");
    expect_type(&outputs[4], ONNXD_UNDEFINED, "[?]*");
    expect_type(&outputs[5], ONNXD_UNDEFINED, "[?]*");
    const onnxd_tensor_type inputs[2] = {type_of(ONNXD_DOUBLE, 1, symbolic),
                                         type_of(ONNXD_INT8, 0, three)};
    expect_ok(onnxd_graph_infer_outputs(inner, node_inputs, inputs, outputs));
    expect_type(&outputs[0], ONNXD_DOUBLE, "[s4]");
    expect_type(&outputs[4], ONNXD_DOUBLE, "[3,3]");
    expect_type(&outputs[5], ONNXD_INT8, "[]");
    /* The subgraph has not changed. */
    cr_expect(inner->values[build_value(inner, "z")].type.dtype == ONNXD_UNDEFINED);
    onnxd_graph_destroy(inner);
    onnxd_graph_destroy(outer);
}

Test(subgraph, unknown_captures_leave_the_rest)
{
    onnxd_graph *outer = build_graph();
    onnxd_graph *inner = sample_subgraph(outer);
    const onnxd_tensor_type node_inputs[2] = {{.dtype = ONNXD_UNDEFINED},
                                              {.dtype = ONNXD_UNDEFINED}};
    onnxd_tensor_type outputs[6];
    expect_ok(onnxd_graph_infer_outputs(inner, node_inputs, NULL, outputs));
    expect_type(&outputs[0], ONNXD_FLOAT, "[?]");
    expect_type(&outputs[1], ONNXD_UNDEFINED, "[?]*");
    expect_type(&outputs[3], ONNXD_INT64, "[?]");
    onnxd_graph_destroy(inner);
    onnxd_graph_destroy(outer);
}

Test(subgraph, allocations_may_fail)
{
    onnxd_graph *outer = build_graph();
    onnxd_graph *inner = sample_subgraph(outer);
    const int64_t three[2] = {3, 3};
    const onnxd_tensor_type node_inputs[2] = {type_of(ONNXD_BOOL, 0, three),
                                              type_of(ONNXD_DOUBLE, 2, three)};
    onnxd_tensor_type outputs[6] = {{.dtype = ONNXD_INT4}};
    uint64_t live = onnxd_alloc_query().live_count;
    for (uint64_t n = 1; n <= 4; n++) {
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_graph_infer_outputs(inner, node_inputs, NULL, outputs);
        onnxd_alloc_fail_at(0, 0);
        expect_error(status, ONNXD_OUT_OF_MEMORY, "");
        cr_expect(onnxd_alloc_query().live_count == live);
        cr_expect(outputs[0].dtype == ONNXD_INT4);
    }
    onnxd_graph_destroy(inner);
    onnxd_graph_destroy(outer);
}

/* y = If(cond; x) { y = If(x; x) { ... y = x + x } }, `depth` deep. */
static onnxd_graph *nested(onnxd_graph *graph, int depth)
{
    if (depth == 0) {
        build_node(graph, "Add", "x,x", "y");
    } else {
        onnxd_graph *inner = nested(build_subgraph(graph), depth - 1);
        build_capture(inner, "x", 1);
        build_signature(inner, "", "y");
        build_if(graph, "x,x", 1, "y", inner, NULL);
    }
    return graph;
}

Test(subgraph, inference_enters_three_levels)
{
    const int64_t dims[2] = {2, 3};
    const onnxd_tensor_type node_inputs[2] = {type_of(ONNXD_BOOL, 0, dims),
                                              type_of(ONNXD_FLOAT, 2, dims)};
    for (int depth = 1; depth < 6; depth++) {
        onnxd_graph *graph = nested(build_graph(), depth);
        onnxd_tensor_type output;
        build_type(graph, "x", ONNXD_FLOAT, 2, dims);
        build_signature(graph, "x", "y");
        expect_ok(onnxd_graph_verify(graph));
        expect_ok(onnxd_graph_infer_outputs(graph->nodes[0].attributes[0].value.graph, node_inputs,
                                            NULL, &output));
        cr_expect((output.dtype == ONNXD_FLOAT) == (depth <= 3), "at depth %d", depth);
        /* What is inferred in place serves the levels that are not entered. */
        for (int round = 0; round < 3; round++)
            expect_ok(onnxd_infer_shapes(graph));
        expect_type(&graph->values[build_value(graph, "y")].type, ONNXD_FLOAT, "[2,3]");
        onnxd_graph_destroy(graph);
    }
}

/* A branch that contradicts what it captures may be one that is never taken. */
Test(subgraph, contradictions_in_subgraphs_wait)
{
    const int64_t symbolic[1] = {-2};
    const int64_t three[1] = {3};
    onnxd_graph *graph = build_graph();
    onnxd_graph *inner = build_subgraph(graph);
    build_capture(inner, "x", 1);
    build_float(inner, "w", 1, (const float[]){1});
    build_type(inner, "t", ONNXD_INT64, 0, three);
    build_node(inner, "Identity", "x", "t");
    build_node(inner, "Add", "x,w", "u");
    build_node(inner, "Identity", "x", "v");
    build_signature(inner, "", "t,u,v");
    build_type(graph, "x", ONNXD_FLOAT, 1, three);
    build_type(graph, "n", ONNXD_FLOAT, 1, symbolic);
    build_if(graph, "x,x", 1, "a,b,c", inner, NULL);
    build_signature(graph, "x,n", "a,b,c");
    expect_ok(onnxd_infer_shapes(graph));
    expect_type(&inner->values[build_value(inner, "t")].type, ONNXD_INT64, "[]");
    expect_type(&inner->values[build_value(inner, "u")].type, ONNXD_UNDEFINED, "[?]*");
    expect_type(&inner->values[build_value(inner, "v")].type, ONNXD_FLOAT, "[3]");
    expect_type(&graph->values[build_value(graph, "c")].type, ONNXD_FLOAT, "[3]");
    onnxd_graph_destroy(graph);
}

/* p = Pack(x); u = Unpack(p); y = u + u; z = x + x; q = If(x; u). */
static onnxd_graph *graph_with_sequence(void)
{
    const int64_t unknown[1] = {-1};
    onnxd_graph *graph = build_graph();
    onnxd_graph *inner = build_subgraph(graph);
    build_capture(inner, "u", 1);
    build_node(inner, "Identity", "u", "r");
    build_signature(inner, "", "r");
    build_type(graph, "x", ONNXD_INT64, 1, unknown);
    build_node(graph, "Add", "x,x", "z");
    build_node(graph, "Pack", "x", "p");
    build_node(graph, "Unpack", "p", "u");
    build_node(graph, "Add", "u,u", "y");
    build_if(graph, "x,u", 1, "q", inner, NULL);
    build_node(graph, "Mystery", "q", "w");
    build_node(graph, "Positive", "x", "f");
    build_signature(graph, "x", "y,z,w,f");
    expect_ok(onnxd_infer_shapes(graph));
    return graph;
}

Test(subgraph, kinds_are_inferred)
{
    onnxd_graph *graph = graph_with_sequence();
    const onnxd_tensor_type *p = &graph->values[build_value(graph, "p")].type;
    cr_expect(p->kind == ONNXD_VALUE_SEQUENCE);
    expect_type(p, ONNXD_INT64, "[?]");
    cr_expect(graph->values[build_value(graph, "u")].type.kind == ONNXD_VALUE_TENSOR);
    expect_type(&graph->values[build_value(graph, "q")].type, ONNXD_INT64, "[?]");
    onnxd_graph_destroy(graph);
}

/* Inferring a value of `inferred` kind where `declared` is declared. */
static onnxd_status *merge_kinds(onnxd_value_kind declared, const char *op_type)
{
    const int64_t dims[1] = {2};
    onnxd_graph *graph = build_graph();
    build_type(graph, "x", ONNXD_INT64, 1, dims);
    build_type(graph, "y", ONNXD_INT64, 1, dims);
    graph->values[build_value(graph, "y")].type.kind = declared;
    build_node(graph, op_type, "x", "y");
    build_signature(graph, "x", "y");
    onnxd_status *status = onnxd_infer_shapes(graph);
    if (status == NULL)
        cr_expect(graph->values[build_value(graph, "y")].type.kind == declared);
    onnxd_graph_destroy(graph);
    return status;
}

Test(subgraph, kinds_contradict)
{
    expect_ok(merge_kinds(ONNXD_VALUE_SEQUENCE, "Pack"));
    expect_ok(merge_kinds(ONNXD_VALUE_OPTIONAL, "Identity"));
    expect_ok(merge_kinds(ONNXD_VALUE_OPTIONAL_SEQUENCE, "Pack"));
    expect_error(merge_kinds(ONNXD_VALUE_TENSOR, "Pack"), ONNXD_INVALID_ARGUMENT,
                 "value 'y' is declared int64[2], but its node makes sequence of int64[2]");
    expect_error(merge_kinds(ONNXD_VALUE_SEQUENCE, "Identity"), ONNXD_INVALID_ARGUMENT,
                 "value 'y' is declared sequence of int64[2], but its node makes int64[2]");
    expect_error(merge_kinds(ONNXD_VALUE_OPTIONAL, "Pack"), ONNXD_INVALID_ARGUMENT,
                 "is declared optional of int64[2]");
}

Test(subgraph, dynamic_nodes_are_closed_under_use)
{
    static const bool expected[7] = {false, true, true, true, true, true, true};
    bool is_dynamic[7];
    onnxd_graph *graph = graph_with_sequence();
    cr_assert(graph->node_count == 7);
    expect_ok(onnxd_graph_mark_dynamic(graph, is_dynamic));
    for (uint32_t n = 0; n < 7; n++)
        cr_expect(is_dynamic[n] == expected[n], "node %u", n);
    graph->values[build_value(graph, "x")].type.kind = ONNXD_VALUE_SEQUENCE;
    expect_ok(onnxd_graph_mark_dynamic(graph, is_dynamic));
    cr_expect(is_dynamic[0]);
    onnxd_node first = graph->nodes[1];
    graph->nodes[1] = graph->nodes[2];
    graph->nodes[2] = first;
    expect_error(onnxd_graph_mark_dynamic(graph, is_dynamic), ONNXD_INVALID_ARGUMENT,
                 "node #1 (Unpack): it comes before what its input 0 needs");
    graph->nodes[2] = graph->nodes[1];
    graph->nodes[1] = first;
    onnxd_graph_destroy(graph);
}

Test(subgraph, specialization_leaves_dynamic_nodes_out)
{
    onnxd_graph *graph = graph_with_sequence();
    const int64_t five[1] = {5};
    build_type(graph, "list", ONNXD_FLOAT, ONNXD_RANK_UNKNOWN, NULL);
    graph->values[build_value(graph, "list")].type.kind = ONNXD_VALUE_SEQUENCE;
    build_node(graph, "Shape", "x", "s");
    build_node(graph, "Reshape", "x,s", "t");
    build_node(graph, "Reshape", "y,s", "dynamic");
    build_signature(graph, "x,list", "t,dynamic");
    expect_ok(onnxd_infer_shapes(graph));
    bool is_dynamic[10];
    bool needs[2];
    onnxd_tensor_type *types = onnxd_alloc_zero(graph->value_count, sizeof(*types));
    onnxd_tensor **known = onnxd_alloc_zero(graph->value_count, sizeof(onnxd_tensor *));
    cr_assert(types != NULL && known != NULL && graph->node_count == 10);
    expect_ok(onnxd_graph_mark_dynamic(graph, is_dynamic));
    cr_expect(!is_dynamic[7] && !is_dynamic[8] && is_dynamic[9]);
    types[build_value(graph, "x")] = type_of(ONNXD_INT64, 1, five);
    expect_error(onnxd_specialize(graph, 1024, NULL, types, known), ONNXD_INVALID_ARGUMENT,
                 "graph input 'list' has no static shape");
    expect_ok(onnxd_specialize(graph, 1024, is_dynamic, types, known));
    expect_type(&types[build_value(graph, "z")], ONNXD_INT64, "[5]");
    expect_type(&types[build_value(graph, "t")], ONNXD_INT64, "[5]");
    expect_type(&types[build_value(graph, "y")], ONNXD_INT64, "[?]");
    cr_expect(types[build_value(graph, "p")].kind == ONNXD_VALUE_SEQUENCE);
    /* A node that is left out reads it. */
    cr_expect(known[build_value(graph, "s")] != NULL);
    expect_ok(onnxd_shape_value_inputs(graph, is_dynamic, needs));
    cr_expect(!needs[0] && !needs[1]);
    for (uint32_t v = 0; v < graph->value_count; v++)
        onnxd_tensor_release(known[v]);
    onnxd_free(types);
    onnxd_free(known);
    onnxd_graph_destroy(graph);
}

/* Passes that know subgraphs: branches that are always taken, constants that are captured. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/passes.h"
#include "tests/graph/build_graph.h"
#include "tests/graph/toy_ops.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\ninput x: float[2]\n"

static const onnxd_pass_env env = {
    .registry = &toy_ops, .fold_max_node_bytes = 64, .fold_max_total_bytes = 4096};

static void build_condition(onnxd_graph *graph, const char *name, bool value)
{
    const onnxd_shape scalar = onnxd_shape_of_rank(0);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_BOOL, &scalar, &tensor));
    *(unsigned char *)tensor->data = value ? 1 : 0;
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

static onnxd_graph *graph_with_input(void)
{
    onnxd_graph *graph = build_graph();
    const int64_t dims[1] = {2};
    build_type(graph, "x", ONNXD_FLOAT, 1, dims);
    build_signature(graph, "x", "");
    return graph;
}

/* Of capture x: t = Mystery(x), u = t + w with a constant w, k a constant; outputs as given. */
static onnxd_graph *branch(onnxd_graph *graph, const char *op_type, const char *outputs)
{
    onnxd_graph *inner = build_subgraph(graph);
    build_capture(inner, "x", 1);
    build_float(inner, "w", 2, (const float[]){1, 2});
    build_float(inner, "k", 1, (const float[]){3});
    build_node(inner, op_type, "x", "t");
    build_node(inner, "Add", "t,w", "u");
    build_signature(inner, "", outputs);
    return inner;
}

static void *in_arena(onnxd_graph *graph, size_t count, size_t bytes)
{
    void *memory = onnxd_arena_alloc_zero(&graph->arena, count, bytes);
    cr_assert(memory != NULL);
    return memory;
}

/* The node owns two tensors and two subgraphs, listed in arrays of its graph's arena. */
static void give_lists(onnxd_graph *graph, onnxd_node *node)
{
    onnxd_attribute *attributes = in_arena(graph, 2, sizeof(*attributes));
    const onnxd_tensor **tensors = in_arena(graph, 2, sizeof(onnxd_tensor *));
    onnxd_graph **graphs = in_arena(graph, 2, sizeof(onnxd_graph *));
    const onnxd_shape scalar = onnxd_shape_of_rank(0);
    for (size_t i = 0; i < 2; i++) {
        onnxd_tensor *tensor = NULL;
        expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &scalar, &tensor));
        tensors[i] = tensor;
        graphs[i] = build_subgraph(graph);
    }
    attributes[0] = (onnxd_attribute){
        .name = "tensors", .kind = ONNXD_ATTRIBUTE_TENSORS, .count = 2, .value.tensors = tensors};
    attributes[1] = (onnxd_attribute){
        .name = "graphs", .kind = ONNXD_ATTRIBUTE_GRAPHS, .count = 2, .value.graphs = graphs};
    node->attributes = attributes;
    node->attribute_count = 2;
}

static void run_pass(const char *name, onnxd_graph *graph, uint32_t expected)
{
    for (const onnxd_pass *const *pass = onnxd_passes; *pass != NULL; pass++) {
        uint32_t changes = 0;
        if (strcmp((*pass)->name, name) != 0)
            continue;
        expect_ok((*pass)->run(graph, &env, &changes));
        cr_expect(changes == expected, "%u changes", changes);
        expect_ok(onnxd_graph_verify(graph));
        return;
    }
    cr_assert_fail("no pass '%s'", name);
}

/* a, b = If(c; x), p an inner name that the graph has too. */
static onnxd_graph *graph_with_if(bool condition, const char *then_outputs,
                                  const char *else_outputs)
{
    onnxd_graph *graph = graph_with_input();
    build_condition(graph, "c", condition);
    build_node(graph, "Mystery", "x", "t");
    build_if(graph, "c,x", 1, "a,b", branch(graph, "Then", then_outputs),
             branch(graph, "Else", else_outputs));
    build_node(graph, "After", "a,b,t", "y");
    build_signature(graph, "x", "y,a");
    return graph;
}

Test(inline_if, the_taken_branch_moves)
{
    onnxd_graph *graph = graph_with_if(true, "u,t", "t,u");
    run_pass("inline_if", graph, 1);
    expect_graph(graph, HEADER "constant c: bool[] {1}\n"
                               "constant w: float[2] {1.0, 2.0}\n"
                               "constant k: float[1] {3.0}\n"
                               "node Mystery (x) -> (t: ?)\n"
                               "node Then (x) -> (b: ?)\n"
                               "node Add (b, w) -> (a: ?)\n"
                               "node After (a, b, t) -> (y: ?)\n"
                               "output y: ?\n"
                               "output a: ?\n");
    run_pass("inline_if", graph, 0);
    onnxd_graph_destroy(graph);
    graph = graph_with_if(false, "u,t", "u,u");
    run_pass("inline_if", graph, 1);
    expect_graph(graph, HEADER "constant c: bool[] {0}\n"
                               "constant w: float[2] {1.0, 2.0}\n"
                               "constant k: float[1] {3.0}\n"
                               "node Mystery (x) -> (t: ?)\n"
                               "node Else (x) -> (t#1: ?)\n"
                               "node Add (t#1, w) -> (a: ?)\n"
                               "node Identity (a) -> (b: ?)\n"
                               "node After (a, b, t) -> (y: ?)\n"
                               "output y: ?\n"
                               "output a: ?\n");
    onnxd_graph_destroy(graph);
}

/* A branch that hands on what it captures, and a constant. */
Test(inline_if, outputs_that_no_node_makes)
{
    onnxd_graph *graph = graph_with_if(true, "x,k", "t,u");
    run_pass("inline_if", graph, 1);
    cr_expect(graph->values[build_value(graph, "b")].constant != NULL);
    run_pass("remove_dead", graph, 5);
    expect_graph(graph, HEADER "constant b: float[1] {3.0}\n"
                               "node Mystery (x) -> (t: ?)\n"
                               "node Identity (x) -> (a: ?)\n"
                               "node After (a, b, t) -> (y: ?)\n"
                               "output y: ?\n"
                               "output a: ?\n");
    onnxd_graph_destroy(graph);
}

Test(inline_if, what_is_not_constant_stays)
{
    onnxd_graph *graph = graph_with_input();
    build_if(graph, "x,x", 1, "a", branch(graph, "Then", "t"), NULL);
    build_condition(graph, "c", false);
    build_if(graph, "c,x", 1, "b", branch(graph, "Then", "t"), NULL);
    build_condition(graph, "d", true);
    build_if(graph, "d,x", 1, "e,f", branch(graph, "Then", "t"), NULL);
    build_signature(graph, "x", "a,b,e");
    run_pass("inline_if", graph, 0);
    onnxd_graph_destroy(graph);
}

/* y = If(c; x, c) { y = If(c; x) { y = x + x } } */
static onnxd_graph *nested_ifs(void)
{
    onnxd_graph *graph = graph_with_input();
    onnxd_graph *middle = build_subgraph(graph);
    onnxd_graph *inner = build_subgraph(middle);
    build_condition(graph, "c", true);
    build_capture(inner, "x", 1);
    build_node(inner, "Add", "x,x", "inner");
    build_signature(inner, "", "inner");
    build_capture(middle, "x", 1);
    build_capture(middle, "c", 2);
    build_if(middle, "c,x", 1, "middle", inner, NULL);
    build_signature(middle, "", "middle");
    build_if(graph, "c,x,c", 2, "y", middle, NULL);
    build_signature(graph, "x", "y");
    return graph;
}

Test(inline_if, nested_branches_all_move)
{
    onnxd_graph *graph = nested_ifs();
    expect_ok(onnxd_passes_run(graph, &env));
    expect_graph(graph, HEADER "node Add (x, x) -> (y: float[2])\n"
                               "output y: float[2]\n");
    onnxd_graph_destroy(graph);
}

/* The same inside of a branch that stays, whose condition nobody knows. */
Test(inline_if, branches_of_subgraphs_move_there)
{
    onnxd_graph *graph = nested_ifs();
    graph->nodes[0].inputs[0] = build_value(graph, "x");
    expect_ok(onnxd_passes_run(graph, &env));
    const onnxd_graph *middle = graph->nodes[0].attributes[0].value.graph;
    cr_assert(middle->node_count == 1);
    cr_expect_str_eq(middle->nodes[0].op_type, "Add");
    cr_expect(graph->nodes[0].capture_count == 2);
    cr_expect(graph->values[build_value(graph, "y")].type.dtype == ONNXD_FLOAT);
    onnxd_graph_destroy(graph);
}

/* Each allocation of the passes fails once: an error, no leak, no crash. */
Test(inline_if, every_allocation_may_fail)
{
    uint64_t live = onnxd_alloc_query().live_count;
    bool succeeded = false;
    for (uint64_t n = 1; n < 1000 && !succeeded; n++) {
        onnxd_graph *graphs[2] = {nested_ifs(), graph_with_if(true, "u,t", "t,u")};
        succeeded = true;
        for (int i = 0; i < 2; i++) {
            onnxd_alloc_fail_at(n, 0);
            onnxd_status *status = onnxd_passes_run(graphs[i], &env);
            onnxd_alloc_fail_at(0, 0);
            succeeded &= status == NULL;
            onnxd_status_free(status);
            onnxd_graph_destroy(graphs[i]);
        }
        cr_assert(onnxd_alloc_query().live_count == live, "leak at allocation %lu",
                  (unsigned long)n);
    }
    cr_expect(succeeded);
}

Test(inline_if, captured_constants_are_known_in_subgraphs)
{
    onnxd_graph *graph = graph_with_input();
    onnxd_graph *inner = build_subgraph(graph);
    build_int64(graph, "two", 2, (const int64_t[]){2, 1});
    build_capture(inner, "two", 1);
    build_node(inner, "Add", "two,two", "four");
    build_node(inner, "ConstantOfShape", "four", "t");
    build_signature(inner, "", "t");
    build_if(graph, "x,two", 1, "y", inner, NULL);
    build_signature(graph, "x", "y");
    expect_ok(onnxd_passes_run(graph, &env));
    expect_graph(graph, HEADER "constant two: int64[2] {2, 1}\n"
                               "node If (x; two) -> (y: float[4,2]) {then_branch=\n"
                               "  graph \"\"\n"
                               "  capture 1 two: int64[2]\n"
                               "  constant two: int64[2] {2, 1}\n"
                               "  constant t: float[4,2] {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}\n"
                               "  output t: float[4,2]\n"
                               "}\n"
                               "output y: float[4,2]\n");
    /* The budget is the outermost graph's. */
    cr_expect(graph->folded_bytes == 2 * 8 + 8 * 4 && inner->folded_bytes == 0);
    onnxd_graph_destroy(graph);
}

/* One pass, as a provider's is run: in the branch, which has what it drops, and around it. */
Test(inline_if, one_pass_goes_through_subgraphs)
{
    onnxd_graph *graph = graph_with_input();
    build_if(graph, "x,x", 1, "y", branch(graph, "Neg", "t"), NULL);
    build_signature(graph, "x", "y");
    expect_ok(onnxd_infer_shapes(graph));
    expect_ok(onnxd_pass_run(graph, &onnxd_pass_remove_dead, &env));
    const onnxd_graph *inner = graph->nodes[0].attributes[0].value.graph;
    cr_assert_eq(inner->node_count, 1);
    cr_expect_str_eq(inner->nodes[0].op_type, "Neg");
    onnxd_graph_destroy(graph);
}

/* Operators that make their own outputs are computed at load too, where all is known. */
Test(inline_if, operators_with_outputs_of_their_own_fold)
{
    const int64_t values[9] = {1, -1, 2, -2, 3, -3, 4, 5, 6};
    const int64_t many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    onnxd_graph *graph = graph_with_input();
    build_int64(graph, "v", 9, values);
    build_int64(graph, "w", 9, many);
    build_node(graph, "Positive", "v", "p");
    build_node(graph, "Positive", "w", "too_large");
    build_node(graph, "Pack", "v", "list");
    build_signature(graph, "x", "p,too_large,list");
    expect_ok(onnxd_passes_run(graph, &env));
    expect_graph(graph, HEADER "constant v: int64[9]\n"
                               "constant w: int64[9]\n"
                               "constant p: int64[6] {1, 2, 3, 4, 5, 6}\n"
                               "node Positive (w) -> (too_large: int64[?])\n"
                               "node Pack (v) -> (list: sequence(int64[9]))\n"
                               "output p: int64[6]\n"
                               "output too_large: int64[?]\n"
                               "output list: sequence(int64[9])\n");
    cr_expect(graph->folded_bytes == 6 * 8);
    onnxd_graph_destroy(graph);
}

/* The lists lie in the arena of the branch, or of the branch that this one has absorbed. */
Test(inline_if, lists_of_moved_nodes_live_as_long_as_they)
{
    for (int depth = 1; depth <= 2; depth++) {
        uint64_t live = onnxd_alloc_query().live_count;
        onnxd_graph *graph = graph_with_input();
        onnxd_graph *inner = build_subgraph(graph);
        build_condition(graph, "c", true);
        build_capture(inner, "x", 1);
        if (depth == 2) {
            onnxd_graph *innermost = build_subgraph(inner);
            build_condition(inner, "d", true);
            build_capture(innermost, "x", 1);
            give_lists(innermost, build_node(innermost, "Mystery", "x", "t"));
            build_signature(innermost, "", "t");
            build_if(inner, "d,x", 1, "t", innermost, NULL);
        } else {
            give_lists(inner, build_node(inner, "Mystery", "x", "t"));
        }
        build_signature(inner, "", "t");
        build_if(graph, "c,x", 1, "y", inner, NULL);
        build_signature(graph, "x", "y");
        if (depth == 2)
            run_pass("inline_if", inner, 1);
        run_pass("inline_if", graph, 1);
        cr_assert(graph->node_count == 1 && graph->nodes[0].attribute_count == 2);
        cr_expect_str_eq(graph->nodes[0].op_type, "Mystery");
        onnxd_graph_destroy(graph);
        cr_expect(onnxd_alloc_query().live_count == live);
    }
}

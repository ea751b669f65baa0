#include "graph/passes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/graph/build_graph.h"
#include "tests/graph/toy_ops.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

static onnxd_pass_env env = {
    .registry = &toy_ops, .fold_max_node_bytes = 1024, .fold_max_total_bytes = 4096};

/* Runs one pass, which must report whether it changed something, and then nothing more. */
static void run_pass(const char *name, onnxd_graph *graph, bool expect_change)
{
    for (const onnxd_pass *const *pass = onnxd_passes; *pass != NULL; pass++) {
        uint32_t changes = 0;
        if (strcmp((*pass)->name, name) != 0)
            continue;
        expect_ok(onnxd_infer_shapes(graph));
        expect_ok((*pass)->run(graph, &env, &changes));
        cr_expect((changes > 0) == expect_change, "%u changes", changes);
        expect_ok((*pass)->run(graph, &env, &changes));
        cr_expect(changes == 0, "not idempotent");
        expect_ok(onnxd_graph_verify(graph));
        return;
    }
    cr_assert_fail("no pass '%s'", name);
}

static onnxd_status *refuse_to_run(const onnxd_compute *compute)
{
    (void)compute;
    return onnxd_error(ONNXD_INTERNAL, "ran");
}

static onnxd_graph *graph_with_input(void)
{
    onnxd_graph *graph = build_graph();
    int64_t dims[1] = {2};
    build_type(graph, "x", ONNXD_FLOAT, 1, dims);
    build_signature(graph, "x", "");
    return graph;
}

Test(passes, remove_dead)
{
    onnxd_graph *graph = graph_with_input();
    float w[1] = {3};
    build_float(graph, "used", 1, w);
    build_float(graph, "unused", 1, w);
    build_node(graph, "Identity", "x", "y");
    build_node(graph, "Identity", "y", "dead1");
    build_node(graph, "Identity", "dead1", "dead2");
    build_node(graph, "Mystery", "y,used", "z,extra");
    build_signature(graph, "x", "z");
    run_pass("remove_dead", graph, true);
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "constant used: float[1] {3.0}\n"
                               "node Identity (x) -> (y: float[2])\n"
                               "node Mystery (y, used) -> (z: ?, extra: ?)\n"
                               "output z: ?\n");
    onnxd_graph_destroy(graph);
}

Test(passes, remove_identity_in_the_middle)
{
    onnxd_graph *graph = graph_with_input();
    build_node(graph, "Identity", "x", "a");
    build_node(graph, "Identity", "a", "b");
    build_node(graph, "Dropout", "b", "c");
    build_node(graph, "Add", "c,a", "y");
    build_signature(graph, "x", "y");
    run_pass("remove_identity", graph, true);
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "node Add (x, x) -> (y: float[2])\n"
                               "output y: float[2]\n");
    onnxd_graph_destroy(graph);
}

Test(passes, remove_identity_keeps_output_names)
{
    onnxd_graph *graph = graph_with_input();
    build_node(graph, "Add", "x,x", "a");
    build_node(graph, "Identity", "a", "b");
    build_node(graph, "Identity", "a", "y");
    build_node(graph, "Identity", "b", "z");
    build_node(graph, "Add", "a,b", "w");
    build_signature(graph, "x", "y,z,w");
    run_pass("remove_identity", graph, true);
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "node Add (x, x) -> (y: float[2])\n"
                               "node Identity (y) -> (z: float[2])\n"
                               "node Add (y, y) -> (w: float[2])\n"
                               "output y: float[2]\n"
                               "output z: float[2]\n"
                               "output w: float[2]\n");
    onnxd_graph_destroy(graph);
}

Test(passes, remove_identity_keeps_what_only_renames)
{
    onnxd_graph *graph = graph_with_input();
    float w[1] = {3};
    build_float(graph, "w", 1, w);
    build_node(graph, "Identity", "x", "y");
    build_node(graph, "Identity", "w", "z");
    build_signature(graph, "x", "y,z");
    run_pass("remove_identity", graph, false);
    cr_expect(graph->node_count == 2);
    onnxd_graph_destroy(graph);
}

Test(passes, dropout_that_trains_stays)
{
    onnxd_graph *graph = graph_with_input();
    int64_t none[1] = {0};
    build_type(graph, "ratio", ONNXD_FLOAT, 0, none);
    build_type(graph, "training", ONNXD_BOOL, 0, none);
    build_node(graph, "Dropout", "x,ratio,training", "a");
    build_node(graph, "Dropout", "x", "b,mask");
    build_node(graph, "Add", "a,b", "y");
    build_signature(graph, "x,ratio,training", "y");
    run_pass("remove_identity", graph, false);
    cr_expect(graph->node_count == 3);
    onnxd_shape scalar = onnxd_shape_from(0, none);
    onnxd_tensor *off = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_BOOL, &scalar, &off));
    build_signature(graph, "x,ratio", "y");
    onnxd_graph_set_constant(graph, build_value(graph, "training"), off);
    onnxd_tensor_release(off);
    run_pass("remove_identity", graph, true);
    cr_expect(graph->node_count == 2);
    onnxd_graph_destroy(graph);
}

Test(passes, fold_constants)
{
    onnxd_graph *graph = graph_with_input();
    int64_t one[1] = {1};
    build_int64(graph, "one", 1, one);
    build_node(graph, "Shape", "x", "s");
    build_node(graph, "Add", "s,one", "t");
    build_node(graph, "Concat", "t,s", "u");
    build_node(graph, "Add", "x,x", "y");
    build_node(graph, "RandomNormal", "", "r");
    build_node(graph, "MatMul", "r,r", "m");
    build_signature(graph, "x", "u,y,r");
    graph->nodes[5].is_removed = true;
    expect_ok(onnxd_graph_compact(graph));
    run_pass("fold_constants", graph, true);
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "constant one: int64[1] {1}\n"
                               "constant s: int64[1] {2}\n"
                               "constant t: int64[1] {3}\n"
                               "constant u: int64[2] {3, 2}\n"
                               "node Add (x, x) -> (y: float[2])\n"
                               "node RandomNormal () -> (r: float[2])\n"
                               "output u: int64[2]\n"
                               "output y: float[2]\n"
                               "output r: float[2]\n");
    onnxd_graph_destroy(graph);
}

Test(passes, shape_of_a_symbolic_value_stays)
{
    onnxd_graph *graph = build_graph();
    int64_t unknown[1] = {-1};
    build_type(graph, "x", ONNXD_FLOAT, 1, unknown);
    build_node(graph, "Shape", "x", "s");
    build_signature(graph, "x", "s");
    run_pass("fold_constants", graph, false);
    cr_expect(graph->node_count == 1);
    onnxd_graph_destroy(graph);
}

Test(passes, folding_obeys_its_budgets)
{
    onnxd_graph *graph = build_graph();
    int64_t fits[1] = {256};
    int64_t too_large[1] = {257};
    build_int64(graph, "fits", 1, fits);
    build_int64(graph, "large", 1, too_large);
    build_node(graph, "ConstantOfShape", "large", "big");
    build_node(graph, "ConstantOfShape", "fits", "a");
    build_node(graph, "ConstantOfShape", "fits", "b");
    build_node(graph, "ConstantOfShape", "fits", "c");
    build_node(graph, "ConstantOfShape", "fits", "d");
    build_node(graph, "ConstantOfShape", "fits", "beyond");
    build_signature(graph, "", "big,a,b,c,d,beyond");
    uint32_t changes = 0;
    expect_ok(onnxd_infer_shapes(graph));
    for (const onnxd_pass *const *pass = onnxd_passes; *pass != NULL; pass++)
        if (strcmp((*pass)->name, "fold_constants") == 0)
            expect_ok((*pass)->run(graph, &env, &changes));
    cr_expect(changes == 4);
    cr_expect(graph->node_count == 2);
    /* The budget is the graph's, not one run's. */
    expect_ok(onnxd_passes_run(graph, &env));
    cr_expect(graph->node_count == 2);
    onnxd_graph_destroy(graph);
}

static onnxd_tensor *zeros(int32_t rank, const int64_t *dims)
{
    onnxd_shape shape = onnxd_shape_from(rank, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    return tensor;
}

/* Work is bounded too: each of these would take seconds to hours. */
Test(passes, folding_work_is_bounded)
{
    static float many[1 << 16];
    static const onnxd_attribute lists[] = {
        {.name = "coefficients",
         .kind = ONNXD_ATTRIBUTE_FLOATS,
         .count = ONNXD_COUNT(many),
         .value.floats = many},
        {.name = "sampling_ratio", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = 1024},
    };
    static const struct {
        const char *op_type;
        int64_t rows;
        const onnxd_attribute *attribute;
    } cases[] = {
        {"MatMul", 2048, NULL},     {"CDist", 1024, NULL},        {"NGramRepeatBlock", 8, NULL},
        {"GRU", 8, NULL},           {"TfIdfVectorizer", 8, NULL}, {"SVMRegressor", 1, &lists[0]},
        {"RoiAlign", 1, &lists[1]},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_graph *graph = build_graph();
        const int64_t dims[2] = {cases[i].rows, cases[i].attribute == NULL ? 4096 : 64};
        onnxd_tensor *tensor = zeros(2, dims);
        onnxd_graph_set_constant(graph, build_value(graph, "w"), tensor);
        onnxd_tensor_release(tensor);
        onnxd_op_def slow = *build_node(graph, "Add", "w,w", "y")->def;
        onnxd_node *node = &graph->nodes[0];
        onnxd_attribute attribute;
        onnxd_pass_env generous = env;
        generous.fold_max_node_bytes = generous.fold_max_total_bytes = (uint64_t)1 << 40;
        slow.compute = refuse_to_run;
        slow.op_type = node->op_type = cases[i].op_type;
        node->def = &slow;
        if (cases[i].attribute != NULL) {
            attribute = *cases[i].attribute;
            node->attributes = &attribute;
            node->attribute_count = 1;
        }
        build_signature(graph, "", "y");
        expect_ok(onnxd_passes_run(graph, &generous));
        cr_expect(graph->node_count == 1, "%s", cases[i].op_type);
        onnxd_graph_destroy(graph);
    }
}

Test(passes, constant_nodes_give_their_tensor_away)
{
    onnxd_graph *graph = build_graph();
    int64_t dims[1] = {4096};
    onnxd_shape shape = onnxd_shape_from(1, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(ONNXD_FLOAT, &shape, &tensor));
    onnxd_value_id output = build_value(graph, "w");
    onnxd_attribute value = {
        .name = "value", .kind = ONNXD_ATTRIBUTE_TENSOR, .count = 1, .value.tensor = tensor};
    onnxd_node node = {.op_type = "Constant",
                       .opset = 13,
                       .outputs = &output,
                       .output_count = 1,
                       .attributes = &value,
                       .attribute_count = 1};
    onnxd_node_id id;
    expect_ok(onnxd_graph_add_node(graph, &node, &id));
    expect_ok(onnxd_op_resolve(&toy_ops, graph, &graph->nodes[id]));
    build_signature(graph, "", "w");
    run_pass("fold_constants", graph, true);
    cr_expect(graph->values[output].constant == tensor, "copied");
    onnxd_graph_destroy(graph);
}

Test(passes, all_run_to_a_fixed_point)
{
    onnxd_graph *graph = graph_with_input();
    build_node(graph, "Shape", "x", "s");
    build_node(graph, "Identity", "s", "t");
    build_node(graph, "Reshape", "x,t", "a");
    build_node(graph, "Dropout", "a", "y");
    build_node(graph, "Mystery", "a", "dead");
    build_signature(graph, "x", "y");
    expect_ok(onnxd_passes_run(graph, &env));
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "constant s: int64[1] {2}\n"
                               "node Reshape (x, s) -> (y: float[2])\n"
                               "output y: float[2]\n");
    onnxd_graph_destroy(graph);
}

Test(passes, passes_are_disabled_by_name)
{
    const char *const disabled[] = {"remove_dead", "fold_constants", "propagate_shapes", NULL};
    const char *const unknown[] = {"remove_everything", NULL};
    const onnxd_pass *const none[] = {NULL};
    const onnxd_pass *const *const lists[] = {none, onnxd_passes, NULL};
    onnxd_pass_env some = env;
    some.disabled = disabled;
    expect_ok(onnxd_pass_check_disabled(&some, lists));
    onnxd_graph *graph = graph_with_input();
    build_node(graph, "Shape", "x", "dead");
    build_node(graph, "Identity", "x", "a");
    build_node(graph, "Add", "a,a", "y");
    build_signature(graph, "x", "y");
    expect_ok(onnxd_passes_run(graph, &some));
    expect_graph(graph, HEADER "input x: float[2]\n"
                               "node Shape (x) -> (dead: int64[1])\n"
                               "node Add (x, x) -> (y: float[2])\n"
                               "output y: float[2]\n");
    some.disabled = unknown;
    expect_error(onnxd_pass_check_disabled(&some, lists), ONNXD_INVALID_ARGUMENT,
                 "'remove_everything' is no graph pass");
    onnxd_graph_destroy(graph);
}

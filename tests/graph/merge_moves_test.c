/* Transposes and reshapes behind each other become one. */
#include <criterion/criterion.h>

#include "tests/graph/attribute_literals.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

extern const onnxd_pass onnxd_pass_merge_moves, onnxd_pass_remove_no_op;

Test(merge_moves, transposes)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3x4");
    real_node(graph, "Transpose", "x", "a", (onnxd_attribute[]){INTS("perm", 3, 1, 2, 0), {0}});
    real_node(graph, "Transpose", "a", "b", NULL);
    real_node(graph, "Transpose", "b", "y", (onnxd_attribute[]){INTS("perm", 3, 0, 2, 1), {0}});
    build_signature(graph, "x", "y,a");
    real_pass(graph, &onnxd_pass_merge_moves, true);
    expect_graph(graph, HEADER "input x: float[2,3,4]\n"
                               "node Transpose (x) -> (a: float[3,4,2]) {perm=[1,2,0]}\n"
                               "node Transpose (x) -> (y: float[2,3,4]) {perm=[0,1,2]}\n"
                               "output y: float[2,3,4]\n"
                               "output a: float[3,4,2]\n");
    onnxd_graph_destroy(graph);
}

/* [n,4,6] by way of other shapes to [n,24]. */
Test(merge_moves, views)
{
    onnxd_graph *graph = build_graph();
    int64_t n;
    expect_ok(onnxd_graph_symbol(graph, "n", &n));
    build_type(graph, "x", ONNXD_FLOAT, 3, (int64_t[]){n, 4, 6});
    build_int64(graph, "axis", 1, (int64_t[]){0});
    build_int64(graph, "shape", 3, (int64_t[]){0, -1, 24});
    build_int64(graph, "one", 1, (int64_t[]){1});
    real_node(graph, "Reshape", "x,shape", "a", NULL);
    real_node(graph, "Unsqueeze", "a,axis", "b", NULL);
    real_node(graph, "Squeeze", "b,axis", "c", NULL);
    real_node(graph, "Squeeze", "c,one", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_pass_merge_moves, true);
    expect_graph(graph, HEADER "input x: float[n,4,6]\n"
                               "constant y/shape/10: int64[2] {0, 24}\n"
                               "node Reshape (x, y/shape/10) -> (y: float[n,24])\n"
                               "output y: float[n,24]\n");
    onnxd_graph_destroy(graph);
}

Test(merge_moves, what_undoes_itself_goes)
{
    onnxd_graph *graph = build_graph();
    int64_t n;
    expect_ok(onnxd_graph_symbol(graph, "n", &n));
    build_type(graph, "x", ONNXD_FLOAT, 2, (int64_t[]){n, 4});
    build_int64(graph, "axis", 1, (int64_t[]){1});
    real_node(graph, "Relu", "x", "r", NULL);
    real_node(graph, "Unsqueeze", "r,axis", "a", NULL);
    real_node(graph, "Squeeze", "a,axis", "b", NULL);
    real_node(graph, "Transpose", "b", "c", NULL);
    real_node(graph, "Transpose", "c", "d", NULL);
    real_node(graph, "Neg", "d", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_pass_merge_moves, true);
    real_pass(graph, &onnxd_pass_remove_no_op, true);
    expect_graph(graph, HEADER "input x: float[n,4]\n"
                               "node Relu (x) -> (r: float[n,4])\n"
                               "node Neg (r) -> (y: float[n,4])\n"
                               "output y: float[n,4]\n");
    onnxd_graph_destroy(graph);
}

/* Two extents that are not known; one that may be 0 beside what is left. */
Test(merge_moves, leaves_alone)
{
    static const int64_t shapes[][3] = {{0, 2, -1}, {-1, 8, 0}};
    for (size_t i = 0; i < ONNXD_COUNT(shapes); i++) {
        onnxd_graph *graph = build_graph();
        int64_t n;
        expect_ok(onnxd_graph_symbol(graph, "n", &n));
        build_type(graph, "x", ONNXD_FLOAT, 3, (int64_t[]){n, 4, -1});
        build_int64(graph, "first", 3, shapes[i]);
        build_int64(graph, "second", 3, (int64_t[]){0, 2, -1});
        real_node(graph, "Reshape", "x,first", "a", NULL);
        real_node(graph, "Reshape", "a,second", "y", NULL);
        build_signature(graph, "x", "y");
        real_pass(graph, &onnxd_pass_merge_moves, false);
        onnxd_graph_destroy(graph);
    }
}

/* Moves that undo earlier ones, with functions of elements between them. */
#include <criterion/criterion.h>

#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

extern const onnxd_pass onnxd_pass_cancel_moves;

#define PERM(length, ...)                                                                          \
    (const onnxd_attribute[])                                                                      \
    {                                                                                              \
        {.name = "perm",                                                                           \
         .kind = ONNXD_ATTRIBUTE_INTS,                                                             \
         .count = (length),                                                                        \
         .value.ints = (const int64_t[]){__VA_ARGS__}},                                            \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

Test(cancel_moves, transposes)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3x4");
    real_type(graph, "z", "2x3x4");
    real_constant(graph, "c", "1x1x3", 5);
    real_constant(graph, "two", "", 2);
    real_node(graph, "Transpose", "x", "a", PERM(3, 0, 2, 1));
    real_node(graph, "Transpose", "z", "b", PERM(3, 0, 2, 1));
    real_node(graph, "Relu", "a", "d", NULL);
    real_node(graph, "Add", "d,c", "e", NULL);
    real_node(graph, "Mul", "two,b", "f", NULL);
    real_node(graph, "Sub", "e,f", "g", NULL);
    real_node(graph, "Transpose", "g", "y", PERM(3, 0, 2, 1));
    build_signature(graph, "x,z", "y");
    real_pass(graph, &onnxd_pass_cancel_moves, true);
    expect_graph(graph, HEADER "input x: float[2,3,4]\n"
                               "input z: float[2,3,4]\n"
                               "constant c: float[1,1,3] {5.0, 6.0, 7.0}\n"
                               "constant two: float[] {2.0}\n"
                               "node Relu (x) -> (d/moved/11: float[2,3,4])\n"
                               "node Transpose (c) -> (c/moved/12: float[1,3,1]) {perm=[0,2,1]}\n"
                               "node Add (d/moved/11, c/moved/12) -> (e/moved/13: float[2,3,4])\n"
                               "node Mul (two, z) -> (f/moved/14: float[2,3,4])\n"
                               "node Sub (e/moved/13, f/moved/14) -> (y: float[2,3,4])\n"
                               "output y: float[2,3,4]\n");
    onnxd_graph_destroy(graph);
}

Test(cancel_moves, views)
{
    onnxd_graph *graph = build_graph();
    int64_t n;
    expect_ok(onnxd_graph_symbol(graph, "n", &n));
    build_type(graph, "x", ONNXD_FLOAT, 3, (int64_t[]){n, 4, 6});
    build_int64(graph, "flat", 2, (int64_t[]){0, 24});
    build_int64(graph, "back", 3, (int64_t[]){0, 4, 6});
    real_constant(graph, "one", "1", 1);
    real_node(graph, "Reshape", "x,flat", "a", NULL);
    real_node(graph, "Mul", "a,one", "b", NULL);
    real_node(graph, "Tanh", "b", "c", NULL);
    real_node(graph, "Reshape", "c,back", "y", NULL);
    build_signature(graph, "x", "y,a");
    real_pass(graph, &onnxd_pass_cancel_moves, true);
    expect_graph(graph, HEADER "input x: float[n,4,6]\n"
                               "constant flat: int64[2] {0, 24}\n"
                               "constant one: float[1] {1.0}\n"
                               "node Reshape (x, flat) -> (a: float[n,24])\n"
                               "node Mul (x, one) -> (b/moved/8: float[n,4,6])\n"
                               "node Tanh (b/moved/8) -> (y: float[n,4,6])\n"
                               "output y: float[n,4,6]\n"
                               "output a: float[n,24]\n");
    onnxd_graph_destroy(graph);
}

/* Another order, an operand that is not moved, a result that somebody else reads, a constant whose
 * rank decides, a function along an axis. */
Test(cancel_moves, leaves_alone)
{
    static const struct {
        const char *second, *inputs, *outputs;
        int64_t perm[3];
    } cases[] = {
        {"Relu", "a", "y", {2, 0, 1}},    {"Add", "a,z", "y", {0, 2, 1}},
        {"Relu", "a", "y,b", {0, 2, 1}},  {"Mul", "a,row", "y", {0, 2, 1}},
        {"Softmax", "a", "y", {0, 2, 1}}, {"Mul", "a,a", "y", {1, 2, 0}},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_graph *graph = build_graph();
        real_type(graph, "x", "2x3x4");
        real_type(graph, "z", "2x4x3");
        real_constant(graph, "row", "3", 1);
        real_node(graph, "Transpose", "x", "a", PERM(3, 0, 2, 1));
        real_node(graph, cases[i].second, cases[i].inputs, "b", NULL);
        real_node(graph, "Transpose", "b", "y",
                  PERM(3, cases[i].perm[0], cases[i].perm[1], cases[i].perm[2]));
        build_signature(graph, "x,z", cases[i].outputs);
        real_pass(graph, &onnxd_pass_cancel_moves, false);
        onnxd_graph_destroy(graph);
    }
}

/* Nodes that change nothing go; those that nearly do stay. */
#include <criterion/criterion.h>
#include <string.h>

#include "ops/ops.h"
#include "tests/graph/attribute_literals.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

extern const onnxd_pass onnxd_pass_remove_no_op;

static void constant(onnxd_graph *graph, const char *name, onnxd_dtype dtype, int32_t rank,
                     const int64_t *dims, const void *element)
{
    const onnxd_shape shape = onnxd_shape_from(rank, dims);
    onnxd_tensor *tensor = NULL;
    expect_ok(onnxd_tensor_create(dtype, &shape, &tensor));
    const size_t bytes = onnxd_dtype_size(dtype);
    for (size_t i = 0; i < tensor->count; i++)
        memcpy((char *)tensor->data + i * bytes, element, bytes);
    onnxd_graph_set_constant(graph, build_value(graph, name), tensor);
    onnxd_tensor_release(tensor);
}

/* x: float[n,1,4] and h: float16[n,4], i: int64[n,4], b: bool[n,4]; constants of many kinds. */
static onnxd_graph *graph_of_inputs(void)
{
    static const float zero = 0, minus_zero = -0.0f, one = 1, low = -1.0f / 0.0f,
                       high = 1.0f / 0.0f;
    static const uint16_t half_one = 0x3c00, half_minus_zero = 0x8000;
    static const int64_t whole_zero = 0, whole_one = 1;
    static const unsigned char yes = 1, no = 0;
    const int64_t row[] = {1, 1, 4}, outer[] = {1, 1, 1, 1}, column[] = {3, 1, 1}, two[] = {2};
    onnxd_graph *graph = build_graph();
    int64_t n;
    expect_ok(onnxd_graph_symbol(graph, "n", &n));
    build_type(graph, "x", ONNXD_FLOAT, 3, (int64_t[]){n, 1, 4});
    build_type(graph, "h", ONNXD_FLOAT16, 2, (int64_t[]){n, 4});
    build_type(graph, "i", ONNXD_INT64, 2, (int64_t[]){n, 4});
    build_type(graph, "b", ONNXD_BOOL, 2, (int64_t[]){n, 4});
    constant(graph, "zero", ONNXD_FLOAT, 0, NULL, &zero);
    constant(graph, "minus_zero", ONNXD_FLOAT, 0, NULL, &minus_zero);
    constant(graph, "one", ONNXD_FLOAT, 0, NULL, &one);
    constant(graph, "ones", ONNXD_FLOAT, 3, row, &one);
    constant(graph, "outer_one", ONNXD_FLOAT, 4, outer, &one);
    constant(graph, "column_ones", ONNXD_FLOAT, 3, column, &one);
    constant(graph, "low", ONNXD_FLOAT, 0, NULL, &low);
    constant(graph, "high", ONNXD_FLOAT, 0, NULL, &high);
    constant(graph, "half_one", ONNXD_FLOAT16, 0, NULL, &half_one);
    constant(graph, "half_minus_zero", ONNXD_FLOAT16, 0, NULL, &half_minus_zero);
    constant(graph, "whole_zero", ONNXD_INT64, 0, NULL, &whole_zero);
    constant(graph, "whole_one", ONNXD_INT64, 0, NULL, &whole_one);
    constant(graph, "yes", ONNXD_BOOL, 0, NULL, &yes);
    constant(graph, "no", ONNXD_BOOL, 0, NULL, &no);
    constant(graph, "two_ones", ONNXD_INT64, 1, two, &whole_one);
    build_int64(graph, "none", 0, &whole_zero);
    build_int64(graph, "s1", 1, (int64_t[]){1});
    build_int64(graph, "s0", 1, (int64_t[]){0});
    build_int64(graph, "s4", 1, (int64_t[]){4});
    build_int64(graph, "s_all", 1, (int64_t[]){INT64_MAX});
    build_int64(graph, "s_2", 1, (int64_t[]){2});
    build_int64(graph, "same", 3, (int64_t[]){0, 1, -1});
    build_int64(graph, "moved", 3, (int64_t[]){0, 4, 1});
    build_int64(graph, "no_pads", 6, (int64_t[]){0, 0, 0, 0, 0, 0});
    build_int64(graph, "pads", 6, (int64_t[]){0, 0, 0, 0, 0, 1});
    build_int64(graph, "expand_same", 2, (int64_t[]){1, 4});
    build_int64(graph, "expand_more", 2, (int64_t[]){3, 4});
    build_int64(graph, "repeats", 3, (int64_t[]){1, 1, 1});
    build_float(graph, "scales", 3, (float[]){1, 1, 1});
    build_float(graph, "larger", 3, (float[]){1, 1, 2});
    return graph;
}

typedef struct no_op_case {
    const char *op_type, *inputs;
    int64_t opset;
    onnxd_attribute attributes[4]; /* the last one has no name */
} no_op_case;

/* The operator, and a Shape that reads it. */
static void check(const no_op_case *c, bool is_no_op)
{
    onnxd_graph *graph = graph_of_inputs();
    onnxd_node *node = build_node(graph, "Unknown", c->inputs, "m");
    node->op_type = c->op_type;
    node->opset = c->opset;
    node->attributes = (onnxd_attribute *)(uintptr_t)c->attributes;
    while (c->attributes[node->attribute_count].name != NULL)
        node->attribute_count++;
    expect_ok(onnxd_op_resolve(onnxd_ops(), graph, node));
    real_node(graph, "Shape", "m", "y", NULL);
    build_signature(graph, "x,h,i,b", "y");
    real_pass(graph, &onnxd_pass_remove_no_op, is_no_op);
    cr_expect(graph->node_count == (is_no_op ? 1 : 2), "%s (%s)", c->op_type, c->inputs);
    onnxd_graph_destroy(graph);
}

static const no_op_case no_ops[] = {
    {"Add", "x,minus_zero", 13, {{0}}},
    {"Add", "half_minus_zero,h", 13, {{0}}},
    {"Add", "i,whole_zero", 13, {{0}}},
    {"Sub", "x,zero", 14, {{0}}},
    {"Mul", "one,x", 7, {{0}}},
    {"Mul", "x,ones", 13, {{0}}},
    {"Mul", "h,half_one", 13, {{0}}},
    {"Div", "i,whole_one", 13, {{0}}},
    {"Pow", "x,one", 13, {{0}}},
    {"Pow", "x,whole_one", 13, {{0}}},
    {"And", "b,yes", 7, {{0}}},
    {"Or", "no,b", 7, {{0}}},
    {"Xor", "b,no", 7, {{0}}},
    {"Cast", "h", 13, {INT("to", ONNXD_FLOAT16)}},
    {"CastLike", "x,one", 15, {{0}}},
    {"Transpose", "x", 13, {INTS("perm", 3, 0, 1, 2)}},
    {"Reshape", "x,same", 13, {{0}}},
    {"Expand", "x,expand_same", 13, {{0}}},
    {"Concat", "x", 13, {INT("axis", 2)}},
    {"Slice", "x,s0,s_all,s0", 13, {{0}}},
    {"Slice", "x,s0,s4,s_2,s1", 13, {{0}}},
    {"Slice", "i", 1, {INTS("starts", 1, -4), INTS("ends", 1, 9), INTS("axes", 1, 1)}},
    {"Pad", "x,no_pads", 13, {TEXT("mode", "reflect")}},
    {"Tile", "x,repeats", 13, {{0}}},
    {"Clip", "i", 13, {{0}}},
    {"Clip", "x,low,high", 13, {{0}}},
    {"Clip", "x", 1, {{0}}},
    {"Sum", "x", 13, {{0}}},
    {"Max", "i", 13, {{0}}},
    {"Min", "h", 13, {{0}}},
    {"Mean", "x", 13, {{0}}},
    {"Resize", "x,,scales", 13, {TEXT("mode", "linear")}},
    {"Upsample", "x,scales", 9, {{0}}},
    {"ReduceSum", "x,none", 13, {INT("noop_with_empty_axes", 1), INT("keepdims", 0)}},
    {"ReduceMax", "x", 18, {INT("noop_with_empty_axes", 1)}},
    {"Split", "x", 13, {{0}}},
};

static const no_op_case others[] = {
    {"Add", "x,zero", 13, {{0}}}, /* of -0 it makes +0 */
    {"Sub", "x,minus_zero", 14, {{0}}},
    {"Sub", "zero,x", 14, {{0}}},
    {"Div", "one,x", 13, {{0}}},
    {"Mul", "x,outer_one", 13, {{0}}},   /* of rank 4 */
    {"Mul", "x,column_ones", 13, {{0}}}, /* repeats, or checks n */
    {"Mul", "x,zero", 13, {{0}}},
    {"And", "b,no", 7, {{0}}},
    {"Cast", "h", 13, {INT("to", ONNXD_BFLOAT16)}},
    {"Transpose", "x", 13, {INTS("perm", 3, 1, 0, 2)}}, /* n may be other than 1 */
    {"Transpose", "i", 13, {{0}}},
    {"Reshape", "x,moved", 13, {{0}}},
    {"Expand", "x,expand_more", 13, {{0}}},
    {"Slice", "x,s1,s_all,s0", 13, {{0}}},
    {"Slice", "x,s0,s4,s0", 13, {{0}}}, /* n may be more than 4 */
    {"Slice", "x,s0,s4,s_2,s_2", 13, {{0}}},
    {"Pad", "x,pads", 13, {{0}}},
    {"Tile", "i,expand_more", 13, {{0}}},
    {"Clip", "x", 13, {{0}}}, /* takes infinities */
    {"Clip", "i,whole_one", 13, {{0}}},
    {"Sum", "x,x", 13, {{0}}},
    {"Resize", "x,,larger", 13, {TEXT("mode", "linear")}},
    {"Resize", "x,,scales", 13, {TEXT("mode", "cubic")}},
    {"ReduceSum", "x,none", 13, {{0}}},
    {"ReduceSum", "x,s1", 13, {INT("noop_with_empty_axes", 1)}},
    {"ReduceL2", "x", 18, {INT("noop_with_empty_axes", 1)}},
};

Test(remove_no_op, goes)
{
    for (size_t i = 0; i < ONNXD_COUNT(no_ops); i++)
        check(&no_ops[i], true);
}

Test(remove_no_op, stays)
{
    for (size_t i = 0; i < ONNXD_COUNT(others); i++)
        check(&others[i], false);
}

Test(remove_no_op, before_and_after)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3");
    real_constant(graph, "one", "1x1", 1);
    build_int64(graph, "axis", 1, (int64_t[]){0});
    build_int64(graph, "shape", 2, (int64_t[]){-1, 3});
    real_node(graph, "Relu", "x", "a", NULL);
    real_node(graph, "Mul", "a,one", "b", NULL);
    real_node(graph, "Reshape", "b,shape", "c", NULL);
    real_node(graph, "Neg", "c", "d", NULL);
    real_node(graph, "Max", "d", "y", NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_pass_remove_no_op, true);
    expect_graph(graph, HEADER "input x: float[2,3]\n"
                               "node Relu (x) -> (a: float[2,3])\n"
                               "node Neg (a) -> (y: float[2,3])\n"
                               "output y: float[2,3]\n");
    onnxd_graph_destroy(graph);
}

/* What only the model says of what a node makes is no proof. */
Test(remove_no_op, declared_symbols_prove_nothing)
{
    onnxd_graph *graph = build_graph();
    int64_t n;
    expect_ok(onnxd_graph_symbol(graph, "n", &n));
    build_type(graph, "x", ONNXD_FLOAT, 2, (int64_t[]){n, n});
    build_type(graph, "shape", ONNXD_INT64, 1, (int64_t[]){2});
    build_type(graph, "m", ONNXD_FLOAT, 2, (int64_t[]){n, n});
    real_node(graph, "Reshape", "x,shape", "m", NULL);
    real_node(graph, "Neg", "m", "y", NULL);
    build_signature(graph, "x,shape", "y");
    real_pass(graph, &onnxd_pass_remove_no_op, false);
    onnxd_graph_destroy(graph);
}

/* What exporters write for attention, and what must stay as it is. */
#include <criterion/criterion.h>
#include <string.h>

#include "ep/cpu/passes/passes.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

static const int64_t heads_out[] = {0, 2, 1, 3}, keys_across[] = {0, 1, 3, 2},
                     both[] = {0, 2, 3, 1};

static void transpose(onnxd_graph *graph, const char *from, const char *to, const int64_t *perm)
{
    const onnxd_attribute attributes[] = {
        {.name = "perm", .kind = ONNXD_ATTRIBUTE_INTS, .count = 4, .value.ints = perm}, {0}};
    real_node(graph, "Transpose", from, to, attributes);
}

static void softmax(onnxd_graph *graph, const char *from, const char *to, int64_t axis)
{
    const onnxd_attribute attributes[] = {
        {.name = "axis", .kind = ONNXD_ATTRIBUTE_INT, .count = 1, .value.i = axis}, {0}};
    real_node(graph, "Softmax", from, to, attributes);
}

/* Inputs q, k and v of rank 4. */
static onnxd_graph *graph_with_heads(const char *q, const char *k, const char *v)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "q", q);
    real_type(graph, "k", k);
    real_type(graph, "v", v);
    real_constant(graph, "number", "", 4);
    return graph;
}

/* q, k and v [n, t, 6] with two heads, "qh" and so on, n and t known to a request only. */
static onnxd_graph *graph_with_split(void)
{
    static const int64_t split[] = {0, 0, 2, 3}, join[] = {0, 0, 6};
    static const char *const names[][3] = {
        {"q", "q,split", "qs"}, {"k", "k,split", "ks"}, {"v", "v,split", "vs"}};
    onnxd_graph *graph = build_graph();
    int64_t dims[3] = {0, 0, 6};
    cr_assert_null(onnxd_graph_symbol(graph, "n", &dims[0]));
    cr_assert_null(onnxd_graph_symbol(graph, "t", &dims[1]));
    build_int64(graph, "split", 4, split);
    build_int64(graph, "join", 3, join);
    real_constant(graph, "number", "", 4);
    for (size_t i = 0; i < 3; i++) {
        build_type(graph, names[i][0], ONNXD_FLOAT, 3, dims);
        real_node(graph, "Reshape", names[i][1], names[i][2], NULL);
    }
    transpose(graph, "qs", "qh", heads_out);
    transpose(graph, "vs", "vh", heads_out);
    return graph;
}

/* ---- what becomes one node ------------------------------------------------------------------- */

Test(fuse_attention, heads_that_are_split_and_joined)
{
    for (int is_one = 0; is_one < 2; is_one++) {
        onnxd_graph *graph = graph_with_split();
        const int64_t n = graph->values[onnxd_graph_find_value(graph, "q")].type.shape.dims[0];
        const int64_t t = graph->values[onnxd_graph_find_value(graph, "q")].type.shape.dims[1];
        build_type(graph, "mask", ONNXD_FLOAT, 4, (int64_t[]){n, 1, 1, t});
        if (is_one == 0) {
            transpose(graph, "ks", "kh", heads_out);
            transpose(graph, "kh", "kt", keys_across);
        } else {
            transpose(graph, "ks", "kt", both);
        }
        real_node(graph, "MatMul", "qh,kt", "s", NULL);
        real_node(graph, "Div", "s,number", "d", NULL);
        real_node(graph, "Add", is_one == 0 ? "d,mask" : "mask,d", "a", NULL);
        softmax(graph, "a", "w", -1);
        real_node(graph, "MatMul", "w,vh", "m", NULL);
        transpose(graph, "m", "o", heads_out);
        real_node(graph, "Reshape", "o,join", "y", NULL);
        build_signature(graph, "q,k,v,mask", "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_attention, true);
        expect_graph(graph, HEADER "input q: float[n,t,6]\n"
                                   "input k: float[n,t,6]\n"
                                   "input v: float[n,t,6]\n"
                                   "input mask: float[n,1,1,t]\n"
                                   "node Attention (q, k, v, mask) -> (y: float[n,t,6]) "
                                   "{scale=0.25, q_num_heads=2, kv_num_heads=2}\n"
                                   "output y: float[n,t,6]\n");
        onnxd_graph_destroy(graph);
    }
}

/* Numbers before the product, on either side of the keys' Transpose; no mask, no Reshape behind. */
Test(fuse_attention, heads_apart)
{
    onnxd_graph *graph = graph_with_heads("2x3x4x5", "2x3x7x5", "2x3x7x6");
    real_node(graph, "Mul", "number,q", "qm", NULL);
    real_node(graph, "Div", "k,number", "kd", NULL);
    transpose(graph, "kd", "kt", keys_across);
    real_node(graph, "Div", "kt,number", "kn", NULL);
    real_node(graph, "MatMul", "qm,kn", "s", NULL);
    softmax(graph, "s", "w", 3);
    real_node(graph, "MatMul", "w,v", "y", NULL);
    build_signature(graph, "q,k,v", "y");
    real_pass(graph, &onnxd_cpu_pass_fuse_attention, true);
    expect_graph(graph, HEADER "input q: float[2,3,4,5]\n"
                               "input k: float[2,3,7,5]\n"
                               "input v: float[2,3,7,6]\n"
                               "node Attention (q, k, v) -> (y: float[2,3,4,6]) {scale=0.25}\n"
                               "output y: float[2,3,4,6]\n");
    onnxd_graph_destroy(graph);
}

/* Keys that an output shows as they are stay, and so does their Transpose. */
Test(fuse_attention, keys_that_somebody_else_reads)
{
    onnxd_graph *graph = graph_with_heads("1x2x4x5", "1x2x7x5", "1x2x7x6");
    transpose(graph, "k", "kt", keys_across);
    real_node(graph, "MatMul", "q,kt", "s", NULL);
    softmax(graph, "s", "w", -1);
    real_node(graph, "MatMul", "w,v", "y", NULL);
    build_signature(graph, "q,k,v", "y,kt");
    real_pass(graph, &onnxd_cpu_pass_fuse_attention, true);
    cr_expect_eq(graph->node_count, 2);
    onnxd_graph_destroy(graph);
}

/* ---- what does not --------------------------------------------------------------------------- */

typedef struct other_case {
    const char *q, *k, *v, *mask, *outputs;
    int64_t axis;
} other_case;

/* Weights or scores that somebody else reads, another axis, operands that broadcast, masks that
 * repeat along the keys or are more than the scores. */
Test(fuse_attention, leaves_alone)
{
    static const other_case cases[] = {
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "4x7", "y,w", -1},
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "4x7", "y,s", -1},
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "4x7", "y,a", -1},
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "4x7", "y", 2},
        {"3x2x4x5", "1x2x7x5", "3x2x7x6", "4x7", "y", -1},
        {"3x2x4x5", "3x2x7x5", "1x1x7x6", "4x7", "y", -1},
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "4x1", "y", -1},
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "", "y", -1},
        {"1x2x4x5", "1x2x7x5", "1x2x7x6", "3x1x4x7", "y", -1},
        {"1x2x1x5", "1x2x7x5", "1x2x7x6", "4x7", "y", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const other_case *of = &cases[i];
        onnxd_graph *graph = graph_with_heads(of->q, of->k, of->v);
        real_type(graph, "mask", of->mask);
        transpose(graph, "k", "kt", keys_across);
        real_node(graph, "MatMul", "q,kt", "s", NULL);
        real_node(graph, "Add", "s,mask", "a", NULL);
        softmax(graph, "a", "w", of->axis);
        real_node(graph, "MatMul", "w,v", "y", NULL);
        build_signature(graph, "q,k,v,mask", of->outputs);
        real_pass(graph, &onnxd_cpu_pass_fuse_attention, false);
        cr_expect_eq(graph->node_count, 5, "case %zu", i);
        onnxd_graph_destroy(graph);
    }
}

/* Keys that are not transposed, weights on the right, other types. */
Test(fuse_attention, leaves_other_products_alone)
{
    for (int i = 0; i < 3; i++) {
        onnxd_graph *graph = graph_with_heads("1x2x4x4", "1x2x4x4", "1x2x4x4");
        if (i == 2)
            for (size_t name = 0; name < 3; name++)
                build_type(graph, (const char *[]){"q", "k", "v"}[name], ONNXD_DOUBLE, 4,
                           (int64_t[]){1, 2, 4, 4});
        if (i != 0)
            transpose(graph, "k", "kt", keys_across);
        real_node(graph, "MatMul", i == 0 ? "q,k" : "q,kt", "s", NULL);
        softmax(graph, "s", "w", -1);
        real_node(graph, "MatMul", i == 1 ? "v,w" : "w,v", "y", NULL);
        build_signature(graph, "q,k,v", "y");
        real_pass(graph, &onnxd_cpu_pass_fuse_attention, false);
        onnxd_graph_destroy(graph);
    }
}

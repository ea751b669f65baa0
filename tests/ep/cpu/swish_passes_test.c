/* What the passes make of gated activations, as text. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ep/cpu/passes/passes.h"
#include "tests/graph/real_node.h"

#define HEADER "graph \"\" ir 8 opset ai.onnx 13\n"

typedef struct step {
    const char *op_type, *inputs, *output;
} step;

#define MAX_STEPS 6

static const onnxd_attribute gate_attributes[] = {
    {.name = "alpha", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 1.0f / 6},
    {.name = "beta", .kind = ONNXD_ATTRIBUTE_FLOAT, .count = 1, .value.f = 0.5f},
    {0}};

/* x [2,3] through the steps, up to one without a name; y is the result. */
static onnxd_graph *graph_of(const step *steps, const char *outputs)
{
    static const struct {
        const char *name;
        float value;
    } scalars[] = {{"zero", 0}, {"three", 3}, {"six", 6}, {"sixth", 1.0f / 6}, {"two", 2}};
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "2x3");
    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++)
        real_constant(graph, scalars[i].name, "", scalars[i].value);
    for (const step *s = steps; s < steps + MAX_STEPS && s->op_type != NULL; s++)
        real_node(graph, s->op_type, s->inputs, s->output,
                  s->op_type[0] == 'H' ? gate_attributes : NULL);
    build_signature(graph, "x", outputs);
    return graph;
}

static void check(const step *steps, const char *node)
{
    char expected[256];
    onnxd_graph *graph = graph_of(steps, "y");
    snprintf(expected, sizeof(expected),
             HEADER "input x: float[2,3]\nnode %s -> (y: float[2,3])%s\noutput y: float[2,3]\n",
             node,
             strstr(node, "HardSigmoid") != NULL ? " {alpha=0.16666667, beta=0.5}"
             : strstr(node, "Swish") == node && steps[0].op_type[0] == 'M' ? " {alpha=2.0}"
                                                                           : "");
    real_pass(graph, &onnxd_cpu_pass_fuse_swish, true);
    expect_graph(graph, expected);
    onnxd_graph_destroy(graph);
}

Test(fuse_swish, hard_swish)
{
    static const step chains[][MAX_STEPS] = {
        {{"Add", "x,three", "a"},
         {"Clip", "a,zero,six", "c"},
         {"Mul", "x,c", "m"},
         {"Div", "m,six", "y"}},
        {{"Add", "three,x", "a"},
         {"Clip", "a,zero,six", "c"},
         {"Mul", "c,x", "m"},
         {"Mul", "sixth,m", "y"}},
        {{"Add", "x,three", "a"},
         {"Clip", "a,zero,six", "c"},
         {"Div", "c,six", "d"},
         {"Mul", "d,x", "y"}},
        {{"Add", "x,three", "a"},
         {"Clip", "a,zero,six", "c"},
         {"Div", "x,six", "d"},
         {"Mul", "c,d", "y"}},
        {{"HardSigmoid", "x", "h"}, {"Mul", "h,x", "y"}},
    };
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
        check(chains[i], "HardSwish (x)");
}

Test(fuse_swish, gates_alone)
{
    static const step gate[MAX_STEPS] = {
        {"Add", "x,three", "a"}, {"Clip", "a,zero,six", "c"}, {"Div", "c,six", "y"}};
    check(gate, "HardSigmoid (x)");
}

Test(fuse_swish, swish)
{
    static const step plain[MAX_STEPS] = {{"Sigmoid", "x", "s"}, {"Mul", "x,s", "y"}};
    static const step scaled[MAX_STEPS] = {
        {"Mul", "x,two", "t"}, {"Sigmoid", "t", "s"}, {"Mul", "s,x", "y"}};
    check(plain, "Swish (x)");
    check(scaled, "Swish (x)");
}

/* Other numbers, a gate of another value, a part that somebody else reads. */
Test(fuse_swish, leaves_alone)
{
    static const struct {
        step steps[MAX_STEPS];
        const char *outputs;
    } cases[] = {
        {{{"Add", "x,two", "a"},
          {"Clip", "a,zero,six", "c"},
          {"Mul", "x,c", "m"},
          {"Div", "m,six", "y"}},
         "y"},
        {{{"Add", "x,three", "a"},
          {"Clip", "a,zero,three", "c"},
          {"Mul", "x,c", "m"},
          {"Div", "m,six", "y"}},
         "y"},
        {{{"Add", "x,three", "a"},
          {"Clip", "a,zero,six", "c"},
          {"Mul", "x,c", "m"},
          {"Div", "six,m", "y"}},
         "y"},
        {{{"Add", "x,three", "a"},
          {"Clip", "a,zero,six", "c"},
          {"Mul", "x,c", "m"},
          {"Div", "m,six", "y"}},
         "y,m"},
        {{{"Sigmoid", "x", "s"}, {"Mul", "x,s", "y"}}, "y,s"},
        {{{"Relu", "x", "r"}, {"Sigmoid", "r", "s"}, {"Mul", "x,s", "y"}}, "y"},
        {{{"Relu", "x", "r"}, {"HardSigmoid", "r", "s"}, {"Mul", "x,s", "y"}}, "y"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        onnxd_graph *graph = graph_of(cases[i].steps, cases[i].outputs);
        real_pass(graph, &onnxd_cpu_pass_fuse_swish, false);
        onnxd_graph_destroy(graph);
    }
}

/* ---- behind a convolution -------------------------------------------------------------------- */

static onnxd_graph *convolution_and(const step *steps)
{
    onnxd_graph *graph = build_graph();
    real_type(graph, "x", "1x3x4x4");
    real_constant(graph, "w", "2x3x1x1", 0);
    real_constant(graph, "three", "", 3);
    real_constant(graph, "two", "1", 2);
    real_constant(graph, "inf", "", INFINITY);
    real_constant(graph, "each", "2x1x1", 1);
    real_node(graph, "Conv", "x,w", "c", NULL);
    real_node(graph, "HardSigmoid", "c", "g", gate_attributes);
    real_node(graph, "Mul", "c,g", "h", NULL);
    for (const step *s = steps; s < steps + MAX_STEPS && s->op_type != NULL; s++)
        real_node(graph, s->op_type, s->inputs, s->output, NULL);
    build_signature(graph, "x", "y");
    real_pass(graph, &onnxd_cpu_pass_fuse_swish, true);
    real_pass(graph, &onnxd_cpu_pass_channels_last, true);
    expect_ok(onnxd_graph_compact(graph));
    real_pass(graph, &onnxd_cpu_pass_fuse_convolution, true);
    return graph;
}

Test(fuse_convolution, hard_swish_and_learnt_scales)
{
    static const step steps[MAX_STEPS] = {
        {"Mul", "two,h", "m"}, {"Add", "m,three", "a"}, {"Mul", "a,two", "y"}};
    onnxd_graph *graph = convolution_and(steps);
    expect_graph(graph, HEADER
                 "input x: float[1,3,4,4]\n"
                 "constant w: float[2,3,1,1] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}\n"
                 "node Transpose (x) -> (x/channels_last/12: float[1,4,4,3]) {perm=[0,2,3,1]}\n"
                 "node onnxd.Conv (x/channels_last/12, w) -> (y/channels_last/17: float[1,4,4,2]) "
                 "{activation=\"ScaledHardSwish\", activation_params=[4.0,6.0]}\n"
                 "node Transpose (y/channels_last/17) -> (y: float[1,2,4,4]) {perm=[0,3,1,2]}\n"
                 "output y: float[1,2,4,4]\n");
    onnxd_graph_destroy(graph);
}

/* A scale of each channel's own, one that is not finite, a sum of two. */
Test(fuse_convolution, other_scales_stay)
{
    static const step steps[][MAX_STEPS] = {{{"Mul", "h,each", "y"}},
                                            {{"Add", "h,inf", "y"}},
                                            {{"Add", "h,h", "y"}},
                                            {{"Sub", "h,two", "y"}}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        onnxd_graph *graph = convolution_and(steps[i]);
        cr_expect(graph->node_count == 4, "%zu: %u nodes", i, graph->node_count);
        onnxd_graph_destroy(graph);
    }
}

/*
 * Small models that describe huge constants. Whatever the passes make of them at load, it costs no
 * more memory and work than the folding budget, and what is beyond it stays a node.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "graph/internal.h"
#include "graph/passes.h"
#include "ops/ops.h"
#include "tests/ops/op_call.h"

#define MAX_GROWTH ((uint64_t)64 << 20) /* of the process, over one load */

/* The budgets of a daemon without a configuration. */
static const onnxd_pass_env *default_env(void)
{
    static onnxd_pass_env env;
    env = (onnxd_pass_env){.registry = onnxd_ops(),
                           .fold_max_node_bytes = (uint64_t)16 << 20,
                           .fold_max_total_bytes = (uint64_t)256 << 20};
    return &env;
}

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    cr_assert(getrusage(RUSAGE_SELF, &usage) == 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* One call with constants for inputs as a model of one node; an output that is no tensor is fine
 * too. */
static onnxd_graph *graph_of(op_call *c)
{
    onnxd_graph *graph = NULL;
    char name[16];
    cr_assert(onnxd_graph_create((size_t)64 << 20, &graph) == NULL);
    for (uint32_t i = 0; i < c->node.input_count; i++) {
        if (c->inputs[i] == ONNXD_NONE)
            continue;
        (void)snprintf(name, sizeof(name), "i%u", i);
        cr_assert(onnxd_graph_add_value(graph, name, &c->inputs[i]) == NULL);
        onnxd_graph_set_constant(graph, c->inputs[i], c->values[i]);
    }
    for (uint32_t i = 0; i < c->node.output_count; i++) {
        (void)snprintf(name, sizeof(name), "o%u", i);
        cr_assert(onnxd_graph_add_value(graph, name, &c->output_ids[i]) == NULL);
    }
    onnxd_node_id id;
    cr_assert(onnxd_graph_add_node(graph, &c->node, &id) == NULL);
    cr_assert(onnxd_graph_set_outputs(graph, c->output_ids, c->node.output_count) == NULL);
    return graph;
}

/* Inputs without values are zeros. */
static void fill_inputs(op_call *c)
{
    for (uint32_t i = 0; i < c->node.input_count; i++)
        if (c->inputs[i] != ONNXD_NONE && c->values[i] == NULL)
            cr_assert(onnxd_tensor_create(c->types[i].dtype, &c->types[i].shape, &c->values[i]) ==
                      NULL);
}

/* Loads the call as a model; returns whether its node is still there. Refused as a whole is fine,
 * with the node's name. */
static bool stays_a_node(const op_text *text)
{
    static op_call c;
    op_call_open(&c, text);
    fill_inputs(&c);
    uint64_t before = peak_bytes();
    onnxd_graph *graph = graph_of(&c);
    onnxd_status *status = onnxd_op_resolve(onnxd_ops(), graph, &graph->nodes[0]);
    if (status == NULL)
        status = onnxd_passes_run(graph, default_env());
    bool result = status != NULL || graph->node_count == 1;
    cr_expect(status == NULL || strstr(onnxd_status_message(status), "node 'n' (") != NULL, "%s",
              onnxd_status_message(status));
    cr_expect(peak_bytes() - before < MAX_GROWTH, "%s(%s): %llu bytes more", text->op_type,
              text->inputs, (unsigned long long)(peak_bytes() - before));
    onnxd_status_free(status);
    onnxd_graph_destroy(graph);
    op_call_close(&c);
    return result;
}

static void expect_nodes(const op_text *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cr_expect(stays_a_node(&calls[i]), "%s(%s) was computed at load", calls[i].op_type,
                  calls[i].inputs);
}

/* A hundred bytes that ask for between 64 MiB and more than there is. */
Test(load_bombs, one_small_node_with_a_huge_result)
{
    static const op_text calls[] = {
        {"ConstantOfShape", 20, "", "int64[2]{8192,8192}", ""},
        {"ConstantOfShape", 20, "", "int64[2]{1073741824,1073741824}", ""},
        {"ConstantOfShape", 20, "", "int64[1]{9223372036854775807}", ""},
        {"ConstantOfShape", 20, "", "int64[3]{4294967296,4294967296,4294967296}", ""},
        {"Expand", 13, "", "float[1]{1}; int64[2]{8192,8192}", ""},
        {"Expand", 13, "", "string[1]{abcdefgh}; int64[2]{8192,8192}", ""},
        {"Expand", 13, "", "float[1]{1}; int64[3]{2147483647,2147483647,2147483647}", ""},
        {"Tile", 13, "", "float[1]{1}; int64[1]{67108864}", ""},
        {"Tile", 13, "", "float[2,2]{1,2,3,4}; int64[2]{4611686018427387904,2}", ""},
        {"Range", 11, "", "int64[]{0}; int64[]{67108864}; int64[]{1}", ""},
        {"Range", 11, "", "int64[]{-9223372036854775808}; int64[]{9223372036854775807}; int64[]{1}",
         ""},
        {"Range", 11, "", "double[]{0}; double[]{1e300}; double[]{1}", ""},
        {"Range", 11, "", "float[]{0}; float[]{1}; float[]{1e-40}", ""},
        {"OneHot", 11, "", "int64[1]{1}; int64[]{67108864}; float[2]{0,1}", ""},
        {"OneHot", 11, "", "int64[1]{1}; int64[]{9223372036854775807}; float[2]{0,1}", ""},
        {"Pad", 21, "", "float[1]{1}; int64[2]{33554432,33554432}", ""},
        {"Pad", 21, "mode='wrap'", "float[1]{1}; int64[2]{33554432,33554432}", ""},
        {"Pad", 21, "", "float[1]{1}; int64[2]{9223372036854775807,9223372036854775807}", ""},
        {"Resize", 19, "", "float[1,1,1,1]{1}; -; -; int64[4]{1,1,8192,8192}", ""},
        {"Resize", 19, "", "float[1,1,1,1]{1}; -; float[4]{1,1,8192,8192}", ""},
        {"Resize", 19, "", "float[1,1,1,1]{1}; -; float[4]{1e30,1,1e30,1}", ""},
        {"Upsample", 9, "", "float[1,1,1,1]{1}; float[4]{1,1,8192,8192}", ""},
        {"CenterCropPad", 18, "", "float[1]{1}; int64[1]{67108864}", ""},
        {"Col2Im", 18, "", "float[1,1,1]{1}; int64[2]{8192,8192}; int64[2]{1,1}", ""},
        {"AffineGrid", 20, "", "float[1,2,3]{1,0,0,0,1,0}; int64[4]{1,1,8192,8192}", ""},
        {"HannWindow", 17, "", "int64[]{67108864}", ""},
        {"HammingWindow", 17, "", "int64[]{9223372036854775807}", ""},
        {"BlackmanWindow", 17, "", "int64[]{67108864}", ""},
        {"MelWeightMatrix", 17, "",
         "int64[]{8192}; int64[]{16384}; int64[]{16000}; float[]{0}; float[]{8000}", ""},
        {"DFT", 20, "", "float[1,1,1]{1}; int64[]{67108864}", ""},
        {"ConvTranspose", 22, "strides=[8192,8192]", "float[1,1,2,2]{1,1,1,1}; float[1,1,1,1]{1}",
         ""},
        {"ConvTranspose", 22, "output_shape=[8192,8192]",
         "float[1,1,2,2]{1,1,1,1}; float[1,1,1,1]{1}", ""},
        {"MaxUnpool", 22, "kernel_shape=[1,1]",
         "float[1,1,1,1]{1}; int64[1,1,1,1]{0}; int64[4]{1,1,8192,8192}", ""},
        {"MaxRoiPool", 22, "pooled_shape=[8192,8192]", "float[1,1,1,1]{1}; float[1,5]{0,0,0,0,0}",
         ""},
        {"RoiAlign", 22, "output_height=8192 output_width=8192",
         "float[1,1,1,1]{1}; float[1,4]{0,0,1,1}; int64[1]{0}", ""},
        {"Add", 14, "", "float[8192,1]; float[1,8192]", ""},
        {"Where", 16, "", "bool[8192,1]; float[1,8192]; float[1,1]", ""},
        {"MatMul", 13, "", "float[8192,1]; float[1,8192]", ""},
        {"Gemm", 13, "", "float[8192,1]; float[1,8192]", ""},
        {"Einsum", 12, "equation='i,j->ij'", "float[8192]; float[8192]", ""},
        {"Gather", 13, "", "float[1,8192]; int64[8192]", ""},
        {"GatherND", 13, "", "float[1,8192]; int64[8192,1]", ""},
        {"ai.onnx.ml/OneHotEncoder", 3, "cats_int64s=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]",
         "int64[2097152]", ""},
        {"com.microsoft/ExpandDims", 1, "", "float[8192,4096]; int32[]{0}", ""},
    };
    expect_nodes(calls, ONNXD_COUNT(calls));
}

/* Little to read, little to write, and hours in between. */
Test(load_bombs, one_node_with_much_work)
{
    static const op_text calls[] = {
        {"MatMul", 13, "", "float[1024,1024]; float[1024,1024]", ""},
        {"Gemm", 13, "", "float[1024,1024]; float[1024,1024]", ""},
        {"Conv", 22, "pads=[64,64,64,64]", "float[1,1,128,128]; float[1,1,128,128]", ""},
        {"ConvTranspose", 22, "", "float[1,1,128,128]; float[1,1,128,128]", ""},
        {"DeformConv", 22, "pads=[64,64,64,64]",
         "float[1,1,128,128]; float[1,1,64,64]; float[1,8192,193,193]", ""},
        {"AveragePool", 22, "kernel_shape=[128,128] pads=[64,64,64,64]", "float[1,1,256,256]", ""},
        {"MaxPool", 22, "kernel_shape=[128,128] pads=[64,64,64,64]", "float[1,1,256,256]", ""},
        {"LpPool", 22, "kernel_shape=[128,128] pads=[64,64,64,64]", "float[1,1,256,256]", ""},
        {"LRN", 13, "size=4095", "float[1,65536,1,1]", ""},
        {"Det", 22, "", "float[1024,1024]", ""},
        {"Einsum", 12, "equation='ij,jk->ik'", "float[1024,1024]; float[1024,1024]", ""},
        {"MaxRoiPool", 22, "pooled_shape=[1,1]", "float[1,1,1024,1024]; float[1024,5]", ""},
        {"Einsum", 12, "equation='ij,jk,ki->'", "float[256,256]; float[256,256]; float[256,256]",
         ""},
        {"RoiAlign", 22, "output_height=64 output_width=64 sampling_ratio=1024",
         "float[1,1,1,1]{1}; float[1,4]{0,0,1,1}; int64[1]{0}", ""},
        {"Attention", 23, "q_num_heads=1 kv_num_heads=1",
         "float[1,2048,64]; float[1,2048,64]; float[1,2048,64]", ""},
        {"LinearAttention:2", 27, "q_num_heads=1 kv_num_heads=1 update_rule='linear'",
         "float[1,64,512]; float[1,64,512]; float[1,64,512]", ""},
        {"CausalConvWithState:2", 27, "", "float[1,1,65536]; float[1,1,16384]", ""},
        {"LSTM", 22, "hidden_size=256", "float[256,1,256]; float[1,1024,256]; float[1,1024,256]",
         ""},
        {"com.microsoft/CDist", 1, "", "float[2048,256]; float[2048,256]", ""},
        {"com.microsoft/FusedMatMul", 1, "", "float[1024,1024]; float[1024,1024]", ""},
        {"com.microsoft/FusedGemm", 1, "activation='Relu'", "float[1024,1024]; float[1024,1024]",
         ""},
        {"com.microsoft/FusedConv", 1, "pads=[64,64,64,64]",
         "float[1,1,128,128]; float[1,1,128,128]", ""},
        {"com.microsoft/Inverse", 1, "", "float[1024,1024]", ""},
        {"com.microsoft/MatMulIntegerToFloat", 1, "",
         "uint8[1024,1024]; uint8[1024,1024]; float[]{1}; float[]{1}", ""},
        {"com.microsoft/DynamicQuantizeMatMul", 1, "",
         "float[1024,1024]; uint8[1024,1024]; float[]{1}", ""},
        {"com.microsoft/MatMulNBits", 1, "K=1024 N=1024 bits=4 block_size=16",
         "float[1024,1024]; uint8[1024,64,8]; float[65536]", ""},
        {"com.microsoft/QGemm", 1, "",
         "uint8[1024,1024]; float[]{1}; uint8[]{0}; uint8[1024,1024]; float[]{1}; uint8[]{0}", ""},
        {"com.microsoft/NhwcMaxPool", 1, "kernel_shape=[128,128] pads=[64,64,64,64]",
         "uint8[1,256,256,1]", ""},
        {"com.microsoft/QLinearAveragePool", 1, "kernel_shape=[128,128] pads=[64,64,64,64]",
         "uint8[1,1,256,256]; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", ""},
        {"com.microsoft/MultiHeadAttention", 1, "num_heads=1",
         "float[1,2048,64]; float[1,2048,64]; float[1,2048,64]", ""},
    };
    expect_nodes(calls, ONNXD_COUNT(calls));
}

static uint64_t work_of(const op_text *text)
{
    static op_call c;
    const onnxd_tensor *values[OP_CALL_MAX];
    op_call_open(&c, text);
    fill_inputs(&c);
    memcpy(values, c.values, sizeof(values));
    onnxd_status *status = op_call_infer(&c);
    cr_assert(status == NULL, "%s", onnxd_status_message(status));
    uint64_t work = onnxd_node_evaluation_cost(&c.node, values, c.results).work;
    op_call_close(&c);
    return work;
}

/* What is long besides the number of elements: texts, and the lists that make a model of classical
 * learning. A megabyte of either may be met by every row of an input. */
Test(load_bombs, strings_and_lists_are_work)
{
    static const op_text calls[] = {
        {"RegexFullMatch", 20, "pattern='a*b'", "string[2]{aaaaaaaaaaaaaaaaaaaaaaaaa,b}", ""},
        {"StringSplit:2", 20, "delimiter='a'", "string[2]{aaaaaaaaaaaaaaaaaaaaaaaaa,b}", ""},
        {"ai.onnx.ml/LinearRegressor", 1,
         "coefficients=[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0] targets=8", "float[3,1]", ""},
        {"ai.onnx.ml/SVMRegressor", 1,
         "kernel_type='LINEAR' coefficients=[1.0,2.0,3.0,4.0] support_vectors=[1.0,2.0,3.0,4.0] "
         "n_supports=4 rho=[0.5]",
         "float[6,1]", ""},
        {"ai.onnx.ml/TreeEnsembleRegressor", 3,
         "nodes_treeids=[0,1,2,3] nodes_nodeids=[0,0,0,0] nodes_featureids=[0,0,0,0] "
         "nodes_modes=['LEAF','LEAF','LEAF','LEAF'] nodes_values=[0.0,0.0,0.0,0.0] "
         "nodes_truenodeids=[0,0,0,0] nodes_falsenodeids=[0,0,0,0] target_treeids=[0,1,2,3] "
         "target_nodeids=[0,0,0,0] target_ids=[0,0,0,0] target_weights=[1.0,2.0,3.0,4.0] "
         "n_targets=1",
         "float[6,1]", ""},
    };
    for (size_t i = 0; i < ONNXD_COUNT(calls); i++)
        cr_expect(work_of(&calls[i]) >= 24, "%s: %llu", calls[i].op_type,
                  (unsigned long long)work_of(&calls[i]));
}

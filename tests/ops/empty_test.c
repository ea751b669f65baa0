/*
 * Tensors without elements that have huge dimensions next to the zero. They cost a client nothing,
 * so no kernel may step through those dimensions: a call that does never returns.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "tests/ops/op_text.h"

#define MAX_RANK 4
#define MAX_TEXT 2048

/* `$` stands for an empty shape and its (no) values. Operators without a line here get their least
 * number of inputs, each of that shape; one with NULL inputs has no input that can be empty. */
static const op_text rows[] = {
    {"BatchNormalization", 0, "", "float$; float[1]{1}; float[1]{0}; float[1]{0}; float[1]{1}", ""},
    {"BatchNormalization", 0, "", "float$; float[0]{}; float[0]{}; float[0]{}; float[0]{}", ""},
    {"BatchNormalization:3", 0, "training_mode=1",
     "float$; float[1]{1}; float[1]{0}; float[1]{0}; float[1]{1}", ""},
    {"BitCast", 0, "to=6", "float$", ""},
    {"Cast", 0, "to=11", "float$", ""},
    {"ConvInteger", 0, "", "uint8$; uint8[1,1,1]{1}", ""},
    {"ConvInteger", 0, "kernel_shape=[1]", "uint8$; uint8$", ""},
    {"DequantizeLinear", 0, "", "int8$; float[]{0.5}; int8[]{1}", ""},
    {"DequantizeLinear", 0, "axis=0", "uint8$; float[0]{}; uint8[0]{}", ""},
    {"DequantizeLinear", 0, "block_size=2", "int8$; float$; int8$", ""},
    {"MatMulInteger", 0, "", "uint8$; uint8$; uint8[]{1}; uint8[]{1}", ""},
    {"MatMulInteger", 0, "", "uint8$; int8[0]{}", ""},
    {"QLinearConv", 0, "",
     "uint8$; float[]{1}; uint8[]{1}; uint8[1,1,1]{1}; float[]{1}; uint8[]{1}; float[]{1}; "
     "uint8[]{1}",
     ""},
    {"QLinearMatMul", 0, "",
     "uint8$; float[]{1}; uint8[]{1}; uint8$; float[]{1}; uint8[]{1}; float[]{1}; uint8[]{1}", ""},
    {"QuantizeLinear", 0, "", "float$; float[]{0.5}; int8[]{1}", ""},
    {"QuantizeLinear", 0, "axis=0", "float$; float[0]{}", ""},
    {"QuantizeLinear", 0, "block_size=2", "float$; float$", ""},
    {"Concat", 0, "axis=0", "float$; float$", ""},
    {"Concat", 0, "axis=-1", "float$; float$", ""},
    {"Constant", 0, "", NULL, ""},
    {"ConstantOfShape", 0, "", "int64[3]{0,1152921504606846976,1152921504606846976}", ""},
    {"Conv", 0, "auto_pad='SAME_UPPER'", "float$; float[1,1,1,1]{1}", ""},
    {"Conv", 0, "auto_pad='SAME_UPPER'", "float16$; float16[1,1,1,1]{1}", ""},
    {"Conv", 0, "", "float$; float[2,1,1]{1,1}; float[2]{0,0}", ""},
    {"Conv", 0, "", "float$; float[0,1,1,1]{}", ""},
    {"Conv", 0, "", "float$; float[1,0,1,1]{}", ""},
    {"Dropout:2", 0, "", "float$", ""},
    {"Expand", 0, "", "float$; int64[1]{1}", ""},
    {"Expand", 0, "", "float$; int64[2]{1152921504606846976,1}", ""},
    {"Gather", 0, "", "float$; int64[1]{0}", ""},
    {"Gather", 0, "axis=-1", "float$; int64$", ""},
    {"Gather", 0, "", "float[2,2]{1,2,3,4}; int64$", ""},
    {"Gemm", 0, "", "float$; float[1152921504606846976,0]{}; float[1]{0}", ""},
    {"Gemm", 0, "transA=1", "float$; float$; float[1]{0}", ""},
    {"Gemm", 0, "transB=1", "float16$; float16$; float16[1]{0}", ""},
    {"LRN", 0, "size=3", "float$", ""},
    {"MatMul", 0, "", "float$; float[1,1]{1}", ""},
    {"MatMul", 0, "", "float[1,1]{1}; float$", ""},
    {"MatMul", 0, "", "float16$; float16[1,1]{1}", ""},
    {"MatMul", 0, "", "float16[1,0]{}; float16$", ""},
    {"MatMul", 0, "", "float$; float$", ""},
    {"Pad", 0, "pads=[0,0,0,0]", "float$", ""},
    {"Pad", 0, "paddings=[0,0,0,0]", "float$", ""},
    {"Pad", 0, "", "float$; int64[4]{0,0,0,0}", ""},
    {"Pad", 0, "mode='edge'", "float$; int64[8]{0,0,0,0,0,0,0,0}", ""},
    {"Pad", 0, "", "float$; int64[4]{1,1,1,1}", ""},
    {"MaxPool", 0, "auto_pad='SAME_UPPER' kernel_shape=[1,1]", "float$", ""},
    {"MaxPool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"MaxPool:2", 0, "auto_pad='SAME_LOWER' kernel_shape=[3,3]", "float$", ""},
    {"AveragePool", 0, "auto_pad='SAME_UPPER' kernel_shape=[1,1]", "float$", ""},
    {"AveragePool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"Range", 0, "", NULL, ""},
    {"BitwiseAnd", 0, "", "uint8$; uint8$", ""},
    {"BitwiseOr", 0, "", "int8$; int8$", ""},
    {"BitwiseXor", 0, "", "int64$; int64$", ""},
    {"BitwiseNot", 0, "", "int32$", ""},
    {"BitShift", 0, "direction='LEFT'", "uint16$; uint16$", ""},
    {"Einsum", 0, "equation='...,...->...'", "float$; float$", ""},
    {"Einsum", 0, "equation='...->'", "float$", ""},
    {"HannWindow", 0, "", NULL, ""},
    {"HammingWindow", 0, "", NULL, ""},
    {"BlackmanWindow", 0, "", NULL, ""},
    {"MelWeightMatrix", 0, "", NULL, ""},
    {"STFT", 0, "", "float$; int64[]{1}", ""},
    {"NegativeLogLikelihoodLoss", 0, "", "float[0,1152921504606846976]{}; int64[0]{}", ""},
    {"SoftmaxCrossEntropyLoss", 0, "", "float[0,1152921504606846976]{}; int64[0]{}", ""},
    {"ai.onnx.preview.training/Adagrad:2", 0, "", "float[]{1}; int64[]{0}; float$; float$; float$",
     ""},
    {"ai.onnx.preview.training/Adam:3", 0, "",
     "float[]{1}; int64[]{0}; float$; float$; float$; float$", ""},
    {"ai.onnx.preview.training/Momentum:2", 0,
     "alpha=0.5 beta=0.5 mode='standard' norm_coefficient=0.0",
     "float[]{1}; int64[]{0}; float$; float$; float$", ""},
    {"ReduceSum", 0, "", "float$", ""},
    {"ReduceSum", 0, "axes=[0]", "float$", ""},
    {"ReduceSum", 0, "", "float$; int64[1]{-1}", ""},
    {"ReduceMean", 0, "axes=[-1]", "float$", ""},
    {"ReduceMean", 0, "", "float$; int64[1]{0}", ""},
    {"ReduceMax", 0, "axes=[0]", "float$", ""},
    {"ReduceMax", 0, "", "float$; int64[2]{0,1}", ""},
    {"Reshape", 0, "", "float$; int64[1]{0}", ""},
    {"Reshape", 0, "allowzero=1", "float$; int64[2]{0,1152921504606846976}", ""},
    {"Reshape", 0, "shape=[0]", "float$", ""},
    {"Slice", 0, "starts=[0] ends=[1]", "float$", ""},
    {"Slice", 0, "", "float$; int64[1]{0}; int64[1]{1}", ""},
    {"Slice", 0, "",
     "float$; int64[1]{-1}; int64[1]{-9223372036854775808}; int64[1]{-1}; int64[1]{-1}", ""},
    {"Softmax", 0, "axis=0", "float$", ""},
    {"Softmax", 0, "axis=-1", "float$", ""},
    {"LogSoftmax", 0, "axis=1", "float$", ""},
    {"Split:2", 0, "", "float$", ""},
    {"Split:2", 0, "num_outputs=2 axis=-1", "float$", ""},
    {"Unsqueeze", 0, "axes=[0]", "float$", ""},
    {"Unsqueeze", 0, "", "float$; int64[1]{0}", ""},
    {"Tile", 0, "", "float$; float[1]{2}; float[1]{0}", ""},
    {"Tile", 0, "", "float$; int64[2]{3,3}", ""},
    {"Bernoulli", 0, "", "float$", ""},
    {"CenterCropPad", 0, "axes=[0]", "float$; int64[1]{0}", ""},
    {"CenterCropPad", 0, "axes=[-1]", "float$; int64[1]{7}", ""},
    {"Col2Im", 0, "", "float$; int64[1]{1}; int64[1]{1}", ""},
    {"Col2Im", 0, "", "float[1,1,1]{1}; int64[1]{1}; int64[1]{1}", ""},
    {"Compress", 0, "", "float$; bool[0]{}", ""},
    {"Compress", 0, "axis=0", "float$; bool[2]{1,1}", ""},
    {"Compress", 0, "axis=-1", "float$; bool[1]{1}", ""},
    {"CumProd", 0, "", "float$; int64[]{0}", ""},
    {"CumSum", 0, "exclusive=1", "float$; int64[]{-1}", ""},
    {"DepthToSpace", 0, "blocksize=1", "float$", ""},
    {"SpaceToDepth", 0, "blocksize=1", "float$", ""},
    {"GatherElements", 0, "", "float$; int64$", ""},
    {"GatherElements", 0, "axis=-1", "float$; int64$", ""},
    {"GatherND", 0, "", "float$; int64[0,1]{}", ""},
    {"GatherND", 0, "", "float$; int64[1,0]{}", ""},
    {"GatherND", 0, "", "float[2]{1,2}; int64$", ""},
    {"Scatter", 0, "", "float$; int64$; float$", ""},
    {"ScatterElements", 0, "axis=-1", "float$; int64$; float$", ""},
    {"ScatterND", 0, "", "float$; int64[0,0]{}; float[0]{}", ""},
    {"ScatterND", 0, "", "float[]{1}; int64$; float$", ""},
    {"ScatterND", 0, "", "float$; int64[0]{}; float$", ""},
    {"Multinomial", 0, "", "float$", ""},
    {"Multinomial", 0, "", "float[1,1]{0}", ""},
    {"NonMaxSuppression", 0, "", "float[1,0,4]{}; float$; int64[]{1}", ""},
    {"OneHot", 0, "", "float$; float[]{0}; float[2]{0,1}", ""},
    {"OneHot", 0, "axis=0", "float$; int64[1]{2}; float[2]{0,1}", ""},
    {"RandomNormal", 0, "shape=[0,1152921504606846976]", NULL, ""},
    {"RandomUniform", 0, "shape=[0,1152921504606846976]", NULL, ""},
    {"ReverseSequence", 0, "", "float$; int64[0]{}", ""},
    {"ReverseSequence", 0, "batch_axis=0 time_axis=1", "float$; int64[1]{0}", ""},
    {"TopK:2", 0, "k=0", "float$", ""},
    {"TopK:2", 0, "axis=0", "float$; int64[1]{0}", ""},
    {"TopK:2", 0, "", "float$; int64[1]{1}", ""},
    {"Trilu", 0, "", "float$", ""},
    {"Unique:4", 0, "", "float$", ""},
    {"Unique:2", 0, "axis=0", "float$", ""},
    {"Unique:2", 0, "axis=-1 sorted=0", "float$", ""},
    {"Tile", 0, "", "float$; int64[4]{1,2,3,0}", ""},
    {"Attention:4", 0, "", "float$; float$; float$", ""},
    {"Attention", 0, "q_num_heads=1 kv_num_heads=1", "float$; float$; float$", ""},
    {"CausalConvWithState:2", 0, "", "float$; float[1,1,1]{1}", ""},
    {"GRU", 0, "", "float$; float[1,3,1]{1,1,1}; float[1,3,1]{1,1,1}", ""},
    {"GroupNormalization", 0, "num_groups=1", "float$; float[1]{1}; float[1]{0}", ""},
    {"InstanceNormalization", 0, "", "float$; float[1]{1}; float[1]{0}", ""},
    {"LSTM", 0, "", "float$; float[1,4,1]{1,1,1,1}; float[1,4,1]{1,1,1,1}", ""},
    {"LayerNormalization", 0, "", "float$; float[1]{1}", ""},
    {"LayerNormalization", 0, "axis=0", "float$; float$; float$", ""},
    {"LinearAttention:2", 0, "q_num_heads=1 kv_num_heads=1 update_rule='linear'",
     "float$; float$; float$", ""},
    {"MeanVarianceNormalization", 0, "axes=[-1]", "float$", ""},
    {"RNN", 0, "", "float$; float[1,1,1]{1}; float[1,1,1]{1}", ""},
    {"RotaryEmbedding", 0, "num_heads=1", "float$; float$; float$", ""},
    {"com.microsoft/BiasAdd", 0, "", "float$; float[1]{1}; float$", ""},
    {"com.microsoft/BiasGelu", 0, "", "float$; float[1]{1}", ""},
    {"com.microsoft/BiasSplitGelu", 0, "", "float$; float[0]{}", ""},
    {"com.microsoft/FastGelu", 0, "", "float$", ""},
    {"com.microsoft/SkipSimplifiedLayerNormalization", 0, "", "float$; float$; float[1]{1}", ""},
    {"com.microsoft/SkipGroupNorm", 0, "groups=1 activation=0",
     "float$; float[1]{1}; float[1]{0}; float$", ""},
    {"com.microsoft/EmbedLayerNormalization", 0, "",
     "int32$; -; float[1,1]{1}; float[1,1]{1}; -; float[1]{1}; float[1]{1}; -; int32$", ""},
    {"com.microsoft/FusedConv", 0, "", "float$; float[1,1,1]{1}", ""},
    {"com.microsoft/FusedGemm", 0, "", "float$; float[1099511627776,0]{}", ""},
    {"com.microsoft/Attention", 0, "num_heads=1", "float$; float[1,3]{1,1,1}", ""},
    {"com.microsoft/MultiHeadAttention", 0, "num_heads=1", "float$; float$; float$", ""},
    {"com.microsoft/GroupQueryAttention:3", 0, "num_heads=1 kv_num_heads=1",
     "float$; float$; float$; -; -; int32[0]{}; int32[1]{1}", ""},
    {"com.microsoft/RotaryEmbedding", 0, "", "float$; int64[1]{0}; float[1,1]{1}; float[1,1]{1}",
     ""},
    {"com.microsoft/BiasSoftmax", 0, "is_inner_broadcast=0", "float$; float$", ""},
    {"com.microsoft/GroupNorm", 0, "groups=1 activation=0", "float$; float[1]{1}; float[1]{0}", ""},
    {"com.microsoft/SkipLayerNormalization", 0, "", "float$; float$; float[1]{1}", ""},
};

typedef struct outcome {
    const onnxd_op_def *def;
    unsigned call_count, result_count;
} outcome;

static bool is_named(const op_text *row, const onnxd_op_def *def)
{
    const char *slash = strchr(row->op_type, '/'); /* after the domain */
    const char *name = slash == NULL ? row->op_type : slash + 1;
    size_t length = strcspn(name, ":");
    size_t domain_length = slash == NULL ? 0 : (size_t)(slash - row->op_type);
    return strlen(def->op_type) == length && memcmp(def->op_type, name, length) == 0 &&
           strlen(def->domain) == domain_length &&
           memcmp(def->domain, row->op_type, domain_length) == 0;
}

/* `inputs` with every $ replaced. */
static void insert_shape(const char *inputs, const char *shape, char *text)
{
    size_t length = 0;
    for (; *inputs != '\0'; inputs++) {
        if (*inputs == '$')
            length += (size_t)snprintf(text + length, MAX_TEXT - length, "%s{}", shape);
        else
            text[length++] = *inputs;
        cr_assert(length < MAX_TEXT);
    }
    text[length] = '\0';
}

static void default_inputs(const onnxd_op_def *def, char *text)
{
    size_t length = 0;
    for (uint32_t i = 0; i < def->min_inputs; i++) {
        uint32_t formal = i;
        while (formal > 0 && def->inputs[formal].types == 0)
            formal--;
        onnxd_dtype_set types = def->inputs[formal].types;
        bool is_float = (types & ONNXD_SET(FLOAT)) != 0;
        length += (size_t)snprintf(text + length, MAX_TEXT - length, "%s%s$", i > 0 ? "; " : "",
                                   is_float ? "float" : "bool");
    }
}

static void call_once(const op_text *row, const char *shape, outcome *o)
{
    char text[MAX_TEXT];
    insert_shape(row->inputs, shape, text);
    op_text call = *row;
    call.inputs = text;
    const int64_t opsets[] = {o->def->since, o->def->until};
    for (unsigned i = 0; i < 2; i++) {
        call.opset = opsets[i];
        o->call_count++;
        o->result_count += strncmp(op_text_evaluate(&call), "error: ", 7) != 0;
    }
}

static void call_with_shape(const char *shape, outcome *o)
{
    bool has_row = false;
    for (size_t i = 0; i < ONNXD_COUNT(rows); i++) {
        if (!is_named(&rows[i], o->def))
            continue;
        has_row = true;
        if (rows[i].inputs != NULL)
            call_once(&rows[i], shape, o);
    }
    char inputs[MAX_TEXT];
    default_inputs(o->def, inputs);
    char name[128];
    (void)snprintf(name, sizeof(name), "%s%s%s", o->def->domain,
                   o->def->domain[0] == '\0' ? "" : "/", o->def->op_type);
    const op_text row = {name, 0, "", inputs, ""};
    if (!has_row)
        call_once(&row, shape, o);
}

static void format_shape(const int64_t *dims, int rank, char *text, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < rank; i++)
        length += (size_t)snprintf(text + length, size - length, "%c%" PRId64, i == 0 ? '[' : ',',
                                   dims[i]);
    (void)snprintf(text + length, size - length, "]");
}

/* One zero, at every place; beside it all others large, or one huge and the others 1. */
static void call_with_zero(int rank, int zero, outcome *o)
{
    char text[128];
    for (int huge = 0; huge < rank; huge++) {
        int64_t dims[MAX_RANK];
        for (int i = 0; i < rank; i++)
            dims[i] = huge == zero ? (int64_t)1 << 40 : i == huge ? (int64_t)1 << 60 : 1;
        dims[zero] = 0;
        format_shape(dims, rank, text, sizeof(text));
        call_with_shape(text, o);
    }
}

Test(empty, every_operator_returns_at_once, .timeout = 120)
{
    const onnxd_op_registry *registry = onnxd_ops();
    for (size_t t = 0; t < registry->table_count; t++) {
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL;) {
            const char *op_type = def->op_type;
            outcome o = {.def = def};
            for (; def->op_type != NULL && strcmp(def->op_type, op_type) == 0; o.def = ++def)
                for (int rank = 1; rank <= MAX_RANK; rank++)
                    for (int zero = 0; zero < rank; zero++)
                        call_with_zero(rank, zero, &o);
            /* Refusals alone would show nothing about the kernel. */
            cr_expect(o.call_count == 0 || o.result_count > 0, "%s: all %u calls were refused",
                      op_type, o.call_count);
        }
    }
}

/* Batches of matrices whose number fits no integer, and a product that needs no workspace. */
Test(empty, matrix_products)
{
    static const op_text calls[] = {
        {"MatMul", 13, "", "float[0,1099511627776,1099511627776,2,2]{}; float[2,2]{1,2,3,4}",
         "float[0,1099511627776,1099511627776,2,2]{}"},
        {"MatMul", 13, "", "float[2,2]{1,2,3,4}; float[0,1099511627776,1099511627776,2,2]{}",
         "float[0,1099511627776,1099511627776,2,2]{}"},
        {"MatMul", 13, "", "float16[0,1099511627776,0]{}; float16[0,0,1099511627776]{}",
         "float16[0,1099511627776,1099511627776]{}"},
    };
    EXPECT_EVALUATED(calls);
}

/* What an empty batch says about itself. */
Test(empty, training_without_elements_has_no_mean)
{
    static const op_text calls[] = {
        {"BatchNormalization:3", 15, "training_mode=1",
         "float[1152921504606846976,1,0]{}; float[1]{1}; float[1]{0}; float[1]{0}; float[1]{1}",
         "float[1152921504606846976,1,0]{}; float[1]{NaN}; float[1]{NaN}"},
    };
    EXPECT_EVALUATED(calls);
}

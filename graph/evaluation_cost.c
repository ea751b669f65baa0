/*
 * What the evaluation of a node on the host would cost: a small model can describe long
 * computations and large results.
 */
#include <string.h>

#include "graph/internal.h"

/* Operators whose work can exceed the elements that they read and write, of any domain. It is then
 * bounded by the product of what they read and all that they read and write: windows step through
 * no more taps than the input has elements, rows and vectors are compared with each other at most.
 * An output of unknown size is taken for one like the inputs. */
static const char *const superlinear[] = {
    "Attention",
    "AveragePool",
    "CDist",
    "CausalConvWithState",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "ConvTransposeWithDynamicPads",
    "DFT",
    "DeformConv",
    "Det",
    "DynamicQuantizeLSTM",
    "DynamicQuantizeMatMul",
    "Einsum",
    "FlexAttention",
    "FusedConv",
    "FusedGemm",
    "FusedMatMul",
    "GRU",
    "Gemm",
    "GridSample",
    "GroupQueryAttention",
    "Inverse",
    "LRN",
    "LSTM",
    "LinearAttention",
    "LinearClassifier",
    "LinearRegressor",
    "LpPool",
    "MatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "MaxPool",
    "MaxRoiPool",
    "MelWeightMatrix",
    "MultiHeadAttention",
    "NGramRepeatBlock",
    "NhwcMaxPool",
    "NonMaxSuppression",
    "QAttention",
    "QGemm",
    "QLinearAveragePool",
    "QLinearConv",
    "QLinearMatMul",
    "RNN",
    "RegexFullMatch",
    "Resize",
    "RoiAlign",
    "STFT",
    "SVMClassifier",
    "SVMRegressor",
    "StringNormalizer",
    "TfIdfVectorizer",
    "Tokenizer",
    "TopK",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "Upsample",
};

static bool is_superlinear(const onnxd_node *node)
{
    for (size_t i = 0; i < ONNXD_COUNT(superlinear); i++)
        if (strcmp(superlinear[i], node->op_type) == 0)
            return true;
    return false;
}

uint64_t onnxd_saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Elements, and the bytes of strings. */
static uint64_t tensor_size(const onnxd_tensor *tensor)
{
    return onnxd_saturating_add(tensor->count, onnxd_tensor_string_bytes(tensor));
}

/* Weights, trees and tables can be attributes. */
static uint64_t attribute_size(const onnxd_attribute *attribute)
{
    switch (attribute->kind) {
    case ONNXD_ATTRIBUTE_STRING:
        return attribute->value.s.size;
    case ONNXD_ATTRIBUTE_TENSOR:
    case ONNXD_ATTRIBUTE_SPARSE_TENSOR:
        return tensor_size(attribute->value.tensor);
    default:
        return attribute->count;
    }
}

/* Elements that the node reads, 1 at least. */
static uint64_t read_size(const onnxd_node *node, const onnxd_tensor *const *inputs)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] != NULL)
            size = onnxd_saturating_add(size, tensor_size(inputs[i]));
    for (uint32_t i = 0; i < node->attribute_count; i++)
        size = onnxd_saturating_add(size, attribute_size(&node->attributes[i]));
    return size;
}

/* Each element of a RoiAlign's output is made of so many points. */
static uint64_t points_of(const onnxd_node *node)
{
    const onnxd_attribute *ratio = onnxd_node_attribute(node, "sampling_ratio");
    if (ratio == NULL || ratio->kind != ONNXD_ATTRIBUTE_INT || ratio->value.i < 2)
        return 1;
    return saturating_mul((uint64_t)ratio->value.i, (uint64_t)ratio->value.i);
}

/* False when the size shows only once the output is there. */
static bool add_output(onnxd_evaluation_cost *cost, const onnxd_tensor_type *type,
                       uint64_t *out_elements)
{
    size_t count;
    size_t bytes;
    if (!onnxd_shape_is_static(&type->shape))
        return false;
    if (!onnxd_shape_count(&type->shape, &count))
        count = SIZE_MAX;
    if (!onnxd_dtype_bytes(type->dtype, count, &bytes))
        bytes = SIZE_MAX;
    if (bytes > cost->largest_bytes)
        cost->largest_bytes = bytes;
    cost->bytes = onnxd_saturating_add(cost->bytes, bytes);
    *out_elements = onnxd_saturating_add(*out_elements, count);
    return true;
}

onnxd_evaluation_cost onnxd_node_evaluation_cost(const onnxd_node *node,
                                                 const onnxd_tensor *const *inputs,
                                                 const onnxd_tensor_type *output_types)
{
    onnxd_evaluation_cost cost = {0};
    uint64_t in = read_size(node, inputs);
    uint64_t out = 1;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE && !add_output(&cost, &output_types[i], &out))
            out = onnxd_saturating_add(out, in);
    cost.work = onnxd_saturating_add(in, out);
    if (is_superlinear(node))
        cost.work = saturating_mul(saturating_mul(in, cost.work), points_of(node));
    return cost;
}

uint64_t onnxd_tensor_string_bytes(const onnxd_tensor *tensor)
{
    uint64_t bytes = 0;
    if (tensor->dtype != ONNXD_STRING)
        return 0;
    const onnxd_string *strings = tensor->data;
    for (size_t i = 0; i < tensor->count; i++)
        bytes = onnxd_saturating_add(bytes, strings[i].size);
    return bytes;
}

/*
 * What the evaluation of a node on the host would cost: a small model can describe long
 * computations and large results.
 */
#include <string.h>

#include "graph/internal.h"

/* Operators, of any domain, whose work can exceed the elements that they read and write; it is then
 * bounded by the product of both: windows step through no more taps than the input has elements,
 * and rows through no more trees or vectors than the attributes list. An output of unknown size is
 * taken for one like the inputs. */
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

/* Those that may go through what they read as often as it has elements, whatever they write:
 * elimination, and sums over products of more than two tensors. */
static const char *const quadratic[] = {"Det", "Einsum"};

static bool is_listed(const onnxd_node *node, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], node->op_type) == 0)
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

/* RoiAlign looks at the input that often for an element of its output, between elements too. */
static uint64_t points_per_element(const onnxd_node *node)
{
    const onnxd_attribute *ratio = onnxd_node_attribute(node, "sampling_ratio");
    if (ratio == NULL || ratio->kind != ONNXD_ATTRIBUTE_INT || ratio->value.i <= 0)
        return 1;
    return saturating_mul((uint64_t)ratio->value.i, (uint64_t)ratio->value.i);
}

/* Elements of the lists among the attributes: models of classical learning are there. */
static uint64_t listed_elements(const onnxd_node *node)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        const onnxd_attribute *attribute = &node->attributes[i];
        count = onnxd_saturating_add(count, attribute->kind == ONNXD_ATTRIBUTE_TENSOR
                                                ? attribute->value.tensor->count
                                                : attribute->count);
    }
    return count;
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
    uint64_t in = 1;
    uint64_t out = 1;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] != NULL)
            in = onnxd_saturating_add(onnxd_saturating_add(in, inputs[i]->count),
                                      onnxd_tensor_string_bytes(inputs[i]));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE && !add_output(&cost, &output_types[i], &out))
            out = onnxd_saturating_add(out, in);
    cost.work = onnxd_saturating_add(in, out);
    if (is_listed(node, superlinear, ONNXD_COUNT(superlinear))) {
        in = onnxd_saturating_add(in, listed_elements(node));
        cost.work = saturating_mul(saturating_mul(in, out), points_per_element(node));
    }
    if (is_listed(node, quadratic, ONNXD_COUNT(quadratic)))
        cost.work = onnxd_saturating_add(cost.work, saturating_mul(in, in));
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

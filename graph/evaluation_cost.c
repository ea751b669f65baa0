/*
 * What the evaluation of a node on the host would cost: a small model can describe long
 * computations and large results.
 */
#include <string.h>

#include "graph/internal.h"

/* Operators whose work can exceed the elements that they read and write; it is then bounded by the
 * product of both: windows step through no more taps than the input has elements. An output of
 * unknown size is taken for one like the inputs. */
static const char *const superlinear[] = {
    "Attention",
    "AveragePool",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "DeformConv",
    "Det",
    "Einsum",
    "GRU",
    "Gemm",
    "GridSample",
    "LRN",
    "LSTM",
    "LpPool",
    "MatMul",
    "MatMulInteger",
    "MaxPool",
    "NonMaxSuppression",
    "QLinearConv",
    "QLinearMatMul",
    "RNN",
    "Resize",
    "RoiAlign",
    "STFT",
    "TfIdfVectorizer",
    "TopK",
    "Upsample",
    "DFT",
    "MelWeightMatrix",
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
            in = onnxd_saturating_add(in, inputs[i]->count);
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE && !add_output(&cost, &output_types[i], &out))
            out = onnxd_saturating_add(out, in);
    if (!is_superlinear(node))
        cost.work = onnxd_saturating_add(in, out);
    else if (__builtin_mul_overflow(in, out, &cost.work))
        cost.work = UINT64_MAX;
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

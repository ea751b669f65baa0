/*
 * Every operator to which data says where to read or write: the numbers just inside and just
 * outside what is allowed, and those at the ends of the type. And every operator that divides by
 * data.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "tests/ops/op_text.h"

#define MS "com.microsoft/"
#define ML "ai.onnx.ml/"
#define MAX_TEXT 512

/* @ stands for the index, $ for its type. */
typedef struct index_case {
    op_text call;
    int64_t low, high; /* what is allowed */
    const char *types; /* separated by blanks */
    bool is_clipped;   /* what is outside is a result by definition, not an error */
} index_case;

static const index_case index_cases[] = {
    {{"Gather", 13, "", "float[3]{1,2,3}; $[1]{@}", ""}, -3, 2, "int32 int64", false},
    {{"Gather", 13, "axis=1", "string[1,3]{a,b,c}; $[]{@}", ""}, -3, 2, "int32 int64", false},
    {{"Gather", 13, "", "int8[3,2]{1,2,3,4,5,6}; $[2]{0,@}", ""}, -3, 2, "int32 int64", false},
    {{"GatherElements", 13, "", "float[3]{1,2,3}; $[1]{@}", ""}, -3, 2, "int32 int64", false},
    {{"GatherElements", 13, "axis=1", "int16[2,3]{1,2,3,4,5,6}; $[2,1]{0,@}", ""},
     -3,
     2,
     "int32 int64",
     false},
    {{"GatherND", 13, "", "float[3]{1,2,3}; $[1,1]{@}", ""}, -3, 2, "int64", false},
    {{"GatherND", 13, "", "float[2,3]{1,2,3,4,5,6}; $[1,2]{1,@}", ""}, -3, 2, "int64", false},
    {{"GatherND", 13, "batch_dims=1", "float[2,3]{1,2,3,4,5,6}; $[2,1]{1,@}", ""},
     -3,
     2,
     "int64",
     false},
    {{"Scatter", 9, "", "float[3]{1,2,3}; $[1]{@}; float[1]{9}", ""}, -3, 2, "int32 int64", false},
    {{"ScatterElements", 18, "", "float[3]{1,2,3}; $[1]{@}; float[1]{9}", ""},
     -3,
     2,
     "int32 int64",
     false},
    {{"ScatterElements", 18, "reduction='add'", "float[3]{1,2,3}; $[2]{1,@}; float[2]{9,9}", ""},
     -3,
     2,
     "int32 int64",
     false},
    {{"ScatterND", 18, "", "float[3]{1,2,3}; $[1,1]{@}; float[1]{9}", ""}, -3, 2, "int64", false},
    {{"ScatterND", 18, "reduction='max'", "float[2,3]{1,2,3,4,5,6}; $[1,2]{1,@}; float[1]{9}", ""},
     -3,
     2,
     "int64",
     false},
    {{"TensorScatter", 24, "axis=1", "float[1,3]{1,2,3}; float[1,1]{9}; $[1]{@}", ""},
     0,
     2,
     "int64",
     false},
    {{"OneHot", 11, "", "$[1]{@}; int64[]{3}; float[2]{0,1}", ""},
     -3,
     2,
     "int8 int16 int32 int64 uint8 uint64",
     true},
    {{"MaxUnpool", 11, "kernel_shape=[3]", "float[1,1,1]{5}; $[1,1,1]{@}", ""},
     0,
     2,
     "int64",
     false},
    {{"RoiAlign", 16, "", "float[3,1,1,1]{1,2,3}; float[1,4]{0,0,1,1}; $[1]{@}", ""},
     0,
     2,
     "int64",
     false},
    {{"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[3,1,1,1]{1,2,3}; $[1,5]{@,0,0,0,0}", ""},
     0,
     2,
     "float",
     false},
    {{"NegativeLogLikelihoodLoss", 13, "", "float[1,3]{1,2,3}; $[1]{@}", ""},
     0,
     2,
     "int32 int64",
     false},
    {{"NegativeLogLikelihoodLoss", 13, "", "float[1,3]{1,2,3}; $[1]{@}; float[3]{1,1,1}", ""},
     0,
     2,
     "int32 int64",
     false},
    {{"SoftmaxCrossEntropyLoss", 13, "", "float[1,3]{1,2,3}; $[1]{@}", ""},
     0,
     2,
     "int32 int64",
     false},
    {{"SoftmaxCrossEntropyLoss", 13, "", "float[1,3]{1,2,3}; $[1]{@}; float[3]{1,1,1}", ""},
     0,
     2,
     "int32 int64",
     false},
    {{"ReverseSequence", 10, "", "float[3,1]{1,2,3}; $[1]{@}", ""}, 0, 3, "int64", false},
    {{"RNN", 22, "hidden_size=1",
      "float[3,1,1]{1,2,3}; float[1,1,1]{1}; float[1,1,1]{1}; -; $[1]{@}", ""},
     0,
     3,
     "int32",
     false},
    {{"GRU", 22, "hidden_size=1",
      "float[3,1,1]{1,2,3}; float[1,3,1]{1,1,1}; float[1,3,1]{1,1,1}; -; $[1]{@}", ""},
     0,
     3,
     "int32",
     false},
    {{"LSTM", 22, "hidden_size=1",
      "float[3,1,1]{1,2,3}; float[1,4,1]{1,1,1,1}; float[1,4,1]{1,1,1,1}; -; $[1]{@}", ""},
     0,
     3,
     "int32",
     false},
    {{"RotaryEmbedding", 23, "",
      "float[1,1,1,2]{1,2}; float[3,1]{1,1,1}; float[3,1]{0,0,0}; $[1,1]{@}", ""},
     0,
     2,
     "int64",
     false},
    {{"CumSum", 14, "", "float[2,2]{1,2,3,4}; $[]{@}", ""}, -2, 1, "int32 int64", false},
    {{"CumProd", 26, "", "float[2,2]{1,2,3,4}; $[]{@}", ""}, -2, 1, "int32 int64", false},
    {{"TopK:2", 11, "", "float[3]{1,2,3}; $[1]{@}", ""}, 0, 3, "int64", false},
    {{"Squeeze", 13, "", "float[1,1]{1}; $[1]{@}", ""}, -2, 1, "int64", false},
    {{"Unsqueeze", 13, "", "float[2]{1,2}; $[1]{@}", ""}, -2, 1, "int64", false},
    {{"ReduceSum", 13, "", "float[2,2]{1,2,3,4}; $[1]{@}", ""}, -2, 1, "int64", false},
    {{"ReduceMax", 20, "", "float[2,2]{1,2,3,4}; $[1]{@}", ""}, -2, 1, "int64", false},
    {{"Slice", 13, "", "float[2,2]{1,2,3,4}; int64[1]{0}; int64[1]{1}; int64[1]{@}", ""},
     -2,
     1,
     "int64",
     false},
    {{"Slice", 13, "", "float[3]{1,2,3}; $[1]{@}; $[1]{@}", ""}, -3, 3, "int32 int64", true},
    {{"Trilu", 14, "", "float[2,2]{1,2,3,4}; $[]{@}", ""}, -2, 2, "int64", true},
    {{ML "ArrayFeatureExtractor", 1, "", "float[1,3]{1,2,3}; $[1]{@}", ""}, 0, 2, "int64", false},
    {{MS "GatherBlockQuantized", 1, "block_size=16 quantize_axis=1 bits=8",
      "uint8[3,1]{1,2,3}; $[1]{@}; float[3,1]{1,1,1}", ""},
     -3,
     2,
     "int32 int64",
     true},
    {{MS "EmbedLayerNormalization:2", 1, "",
      "$[1,1]{@}; -; float[3,1]{1,2,3}; float[1,1]{1}; -; float[1]{1}; float[1]{0}", ""},
     0,
     2,
     "int32",
     false},
    {{MS "EmbedLayerNormalization:2", 1, "",
      "int32[1,1]{0}; $[1,1]{@}; float[1,1]{1}; float[1,1]{1}; float[3,1]{1,2,3}; float[1]{1}; "
      "float[1]{0}",
      ""},
     0,
     2,
     "int32",
     false},
    {{MS "EmbedLayerNormalization:2", 1, "",
      "int32[1,1]{0}; -; float[1,1]{1}; float[3,1]{1,2,3}; -; float[1]{1}; float[1]{0}; -; "
      "$[1,1]{@}",
      ""},
     0,
     2,
     "int32",
     false},
    {{MS "GroupQueryAttention:3", 1, "num_heads=1 kv_num_heads=1",
      "float[1,1,1]{1}; float[1,1,1]{2}; float[1,1,1]{3}; float[1,1,3,1]{9,9,9}; "
      "float[1,1,3,1]{3,9,9}; $[1]{@}; int32[]{3}",
      ""},
     0,
     2,
     "int32",
     false},
    {{MS "MatMulNBits", 1, "K=1 N=1 block_size=16",
      "float[1,1]{1}; uint8[1,1,8]{0,0,0,0,0,0,0,0}; float[1,1]{1}; -; $[1]{@}", ""},
     0,
     0,
     "int32",
     false},
    {{MS "RotaryEmbedding", 1, "",
      "float[1,1,2]{1,2}; $[1,1]{@}; float[3,1]{1,1,1}; "
      "float[3,1]{0,0,0}",
      ""},
     0,
     2,
     "int64",
     false},
    {{MS "RotaryEmbedding", 1, "",
      "float[1,1,2]{1,2}; $[1]{@}; float[3,1]{1,1,1}; "
      "float[3,1]{0,0,0}",
      ""},
     0,
     2,
     "int64",
     false},
    {{MS "NGramRepeatBlock", 1, "ngram_size=1", "$[1,1]{@}; float[1,3]{1,2,3}", ""},
     0,
     2,
     "int64",
     false},
    {{MS "ExpandDims", 1, "", "float[2]{1,2}; $[1]{@}", ""}, -2, 1, "int32", false},
};

/* ---- text ---------------------------------------------------------------------------------- */

static void replace(const char *text, const char *type, size_t type_length, const char *value,
                    char *out)
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        int added = *text == '@' ? snprintf(out + length, MAX_TEXT - length, "%s", value)
                    : *text == '$'
                        ? snprintf(out + length, MAX_TEXT - length, "%.*s", (int)type_length, type)
                        : snprintf(out + length, MAX_TEXT - length, "%c", *text);
        length += (size_t)added;
        cr_assert(length < MAX_TEXT);
    }
    out[length] = '\0';
}

static bool fits(int64_t value, const char *type, size_t length)
{
    if (strncmp(type, "int8", length) == 0)
        return value >= INT8_MIN && value <= INT8_MAX;
    if (strncmp(type, "int16", length) == 0)
        return value >= INT16_MIN && value <= INT16_MAX;
    if (strncmp(type, "int32", length) == 0)
        return value >= INT32_MIN && value <= INT32_MAX;
    if (strncmp(type, "uint8", length) == 0)
        return value >= 0 && value <= UINT8_MAX;
    return value >= 0 || strncmp(type, "uint64", length) != 0;
}

/* ---- indices ------------------------------------------------------------------------------- */

static void check_index(const index_case *row, const char *type, size_t length, int64_t value)
{
    char inputs[MAX_TEXT], text[32];
    op_text call = row->call;
    bool is_inside = row->is_clipped || (value >= row->low && value <= row->high);
    /* Floats are printed shorter than they are. */
    bool is_exact = strncmp(type, "float", length) != 0;
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    replace(row->call.inputs, type, length, text, inputs);
    call.inputs = inputs;
    const char *result = op_text_evaluate(&call);
    bool is_error = strncmp(result, "error: ", 7) == 0;
    cr_expect(is_error != is_inside, "%s(%s): %s", call.op_type, inputs, result);
    cr_expect(!is_error || (strstr(result, "node 'n' (") != NULL &&
                            (!is_exact || strstr(result, text) != NULL)),
              "%s(%s): the error does not name node and value: %s", call.op_type, inputs, result);
}

static void check_type(const index_case *row, const char *type, size_t length)
{
    const int64_t values[] = {row->low - 1,
                              row->low,
                              row->low + 1,
                              -1,
                              0,
                              row->high,
                              row->high + 1,
                              INT8_MIN,
                              INT8_MAX,
                              INT32_MIN,
                              INT32_MAX,
                              INT64_MIN,
                              INT64_MIN + 1,
                              INT64_MAX,
                              (int64_t)1 << 32,
                              ((int64_t)1 << 32) + 1};
    for (size_t v = 0; v < ONNXD_COUNT(values); v++)
        if (fits(values[v], type, length))
            check_index(row, type, length, values[v]);
}

Test(hostile_index, just_inside_just_outside_and_far_away)
{
    for (size_t i = 0; i < ONNXD_COUNT(index_cases); i++)
        for (const char *type = index_cases[i].types; *type != '\0';) {
            size_t length = strcspn(type, " ");
            check_type(&index_cases[i], type, length);
            type += length;
            type += strspn(type, " ");
        }
}

/* 0 is an index like any other where there is nothing: no value may stand for "no error". */
Test(hostile_index, nothing_to_index_has_no_index_0)
{
    static const op_text calls[] = {
        {"Gather", 13, "", "float[0]{}; int64[1]{0}", "error: node 'n' (Gather)"},
        {"Gather", 13, "axis=1", "float[2,0]{}; int64[1]{0}", "error: node 'n' (Gather)"},
        {"GatherElements", 13, "", "float[0]{}; int64[1]{0}", "error: node 'n' (GatherElements)"},
        {"GatherND", 13, "", "float[0]{}; int64[1,1]{0}", "error: node 'n' (GatherND)"},
        {"GatherND", 13, "", "float[2,0]{}; int64[1,2]{0,0}", "error: node 'n' (GatherND)"},
        {"GatherND", 13, "", "float[0,2]{}; int64[1,1]{0}", "error: node 'n' (GatherND)"},
        {"GatherND", 13, "batch_dims=1", "float[1,0]{}; int64[1,1]{0}",
         "error: node 'n' (GatherND)"},
        {"Scatter", 9, "", "float[0]{}; int64[1]{0}; float[1]{9}", "error: node 'n' (Scatter)"},
        {"ScatterElements", 18, "", "float[0]{}; int64[1]{0}; float[1]{9}",
         "error: node 'n' (ScatterElements)"},
        {"ScatterND", 18, "", "float[0]{}; int64[1,1]{0}; float[1]{9}",
         "error: node 'n' (ScatterND)"},
        {"ScatterND", 18, "", "float[0,2]{}; int64[1,1]{0}; float[1,2]{9,9}",
         "error: node 'n' (ScatterND)"},
        {"TensorScatter", 24, "axis=1", "float[1,0]{}; float[1,1]{9}; int64[1]{0}",
         "error: node 'n' (TensorScatter)"},
        {"RoiAlign", 16, "", "float[0,1,1,1]{}; float[1,4]{0,0,1,1}; int64[1]{0}",
         "error: node 'n' (RoiAlign)"},
        {"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[0,1,1,1]{}; float[1,5]{0,0,0,0,0}",
         "error: node 'n' (MaxRoiPool)"},
        {"NegativeLogLikelihoodLoss", 13, "", "float[1,0]{}; int64[1]{0}",
         "error: node 'n' (NegativeLogLikelihoodLoss)"},
        {"SoftmaxCrossEntropyLoss", 13, "", "float[1,0]{}; int64[1]{0}",
         "error: node 'n' (SoftmaxCrossEntropyLoss)"},
        {ML "ArrayFeatureExtractor", 1, "", "float[1,0]{}; int64[1]{0}",
         "error: node 'n' (ArrayFeatureExtractor)"},
        {MS "EmbedLayerNormalization:2", 1, "",
         "int32[1,1]{0}; -; float[0,1]{}; float[1,1]{1}; -; float[1]{1}; float[1]{0}",
         "error: node 'n' (EmbedLayerNormalization)"},
        {MS "RotaryEmbedding", 1, "",
         "float[1,1,2]{1,2}; int64[1,1]{0}; float[0,1]{}; float[0,1]{}",
         "error: node 'n' (RotaryEmbedding)"},
        {"GatherND", 13, "batch_dims=1", "float[0,2]{}; int64[3,1]{0,0,0}",
         "error: batch dimension 0"},
        {"GatherND", 13, "batch_dims=1", "float[3,2]{1,2,3,4,5,6}; int64[0,1]{}",
         "error: batch dimension 0"},
    };
    EXPECT_EVALUATED(calls);
}

/* ---- divisors ------------------------------------------------------------------------------ */

static const struct integer_type {
    const char *name, *lowest;
    bool is_signed;
} integer_types[] = {
    {"int8", "-128", true},         {"int16", "-32768", true},
    {"int32", "-2147483648", true}, {"int64", "-9223372036854775808", true},
    {"uint8", "0", false},          {"uint16", "0", false},
    {"uint32", "0", false},         {"uint64", "0", false},
};

/* The divisor is one element of many, a scalar, or in a place that broadcasting repeats. */
static const char *const zero_divisors[] = {"$[1]{1}; $[1]{0}", "$[3]{1,2,3}; $[3]{1,1,0}",
                                            "$[3]{1,2,3}; $[]{0}", "$[]{1}; $[2]{1,0}",
                                            "$[2,1]{1,2}; $[1,2]{0,1}"};

static void expect_division_error(const char *op_type, const char *attributes, const char *type)
{
    for (size_t i = 0; i < ONNXD_COUNT(zero_divisors); i++) {
        char inputs[MAX_TEXT];
        replace(zero_divisors[i], type, strlen(type), "", inputs);
        const op_text call = {op_type, 14, attributes, inputs, ""};
        const char *result = op_text_evaluate(&call);
        cr_expect(strncmp(result, "error: node 'n' (", 17) == 0 &&
                      strstr(result, "integer division by 0") != NULL &&
                      strstr(result, "of input 1 is 0") != NULL,
                  "%s(%s) {%s}: %s", op_type, inputs, attributes, result);
    }
}

Test(hostile_index, integers_divided_by_0)
{
    for (size_t t = 0; t < ONNXD_COUNT(integer_types); t++) {
        expect_division_error("Div", "", integer_types[t].name);
        expect_division_error("Mod", "", integer_types[t].name);
        expect_division_error("Mod", "fmod=1", integer_types[t].name);
    }
}

static void expect_lowest(const char *op_type, const char *attributes,
                          const struct integer_type *type, const char *expected)
{
    char inputs[MAX_TEXT], wanted[MAX_TEXT];
    replace("$[2]{@,@}; $[1]{-1}", type->name, strlen(type->name), type->lowest, inputs);
    replace("$[2]{@,@}", type->name, strlen(type->name), expected, wanted);
    const op_text call = {op_type, 14, attributes, inputs, ""};
    const char *result = op_text_evaluate(&call);
    cr_expect_str_eq(result, wanted, "%s(%s) {%s}", op_type, inputs, attributes);
}

/* The quotient of the lowest number and -1 is one that the type has not: it wraps, nothing traps.
 */
Test(hostile_index, the_lowest_integer_divided_by_minus_1)
{
    for (size_t t = 0; t < ONNXD_COUNT(integer_types); t++) {
        const struct integer_type *type = &integer_types[t];
        if (!type->is_signed)
            continue;
        expect_lowest("Div", "", type, type->lowest);
        expect_lowest("Mod", "", type, "0");
        expect_lowest("Mod", "fmod=1", type, "0");
    }
}

/* What else is divided by a number that somebody sends. */
Test(hostile_index, steps_scales_and_counts_of_0)
{
    static const op_text calls[] = {
        {"Range", 11, "", "int64[]{0}; int64[]{9}; int64[]{0}", "error: node 'n' (Range)"},
        {"Range", 11, "", "int32[]{0}; int32[]{9}; int32[]{0}", "error: node 'n' (Range)"},
        {"Range", 11, "", "int16[]{0}; int16[]{9}; int16[]{0}", "error: node 'n' (Range)"},
        {"Range", 11, "", "float[]{0}; float[]{9}; float[]{0}", "error: node 'n' (Range)"},
        {"Range", 11, "", "int64[]{9}; int64[]{-9223372036854775808}; int64[]{0}",
         "error: node 'n' (Range)"},
        {"Slice", 13, "", "float[2]{1,2}; int64[1]{0}; int64[1]{2}; int64[1]{0}; int64[1]{0}",
         "error: node 'n' (Slice)"},
        {"Split:2", 13, "", "float[4]{1,2,3,4}; int64[2]{0,0}", "error: node 'n' (Split)"},
        {"SplitToSequence", 11, "", "float[4]{1,2,3,4}; int64[]{0}",
         "error: node 'n' (SplitToSequence)"},
        {"Reshape", 14, "", "float[0]{}; int64[2]{0,-1}", "error: node 'n' (Reshape)"},
        {"Reshape", 14, "allowzero=1", "float[0]{}; int64[2]{0,-1}", "error: node 'n' (Reshape)"},
        {"ReduceMean", 18, "", "int32[0]{}; int64[1]{0}", "error: node 'n' (ReduceMean)"},
        {"Col2Im", 18, "", "float[1,1,1]{1}; int64[1]{1}; int64[1]{0}", "error: node 'n' (Col2Im)"},
        {"Resize", 19, "", "float[2]{1,2}; -; float[1]{0}", "error: node 'n' (Resize)"},
        {"STFT", 17, "", "float[1,4,1]{1,2,3,4}; int64[]{0}; -; int64[]{2}",
         "error: node 'n' (STFT)"},
        {"STFT", 17, "", "float[1,4,1]{1,2,3,4}; int64[]{1}; -; int64[]{0}",
         "error: node 'n' (STFT)"},
        {"DFT", 20, "", "float[1,2,1]{1,2}; int64[]{0}", "error: node 'n' (DFT)"},
        {"BitShift", 11, "direction='LEFT'", "uint8[1]{1}; uint8[1]{255}", "uint8[1]{0}"},
        {"BitShift", 11, "direction='RIGHT'", "uint64[1]{1}; uint64[1]{18446744073709551615}",
         "uint64[1]{0}"},
        {"Pow", 15, "", "int64[1]{0}; int64[1]{-1}", "int64[1]{-9223372036854775808}"},
        {"QuantizeLinear", 21, "", "float[3]{0,1,-1}; float[]{0}; int8[]{0}",
         "int8[3]{-128,127,-128}"},
    };
    EXPECT_EVALUATED(calls);
}

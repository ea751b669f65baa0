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
#define MAX_INPUTS ONNXD_OP_MAX_FORMALS
#define MAX_INPUT_TEXT 160
#define MAX_TEXT (MAX_INPUTS * MAX_INPUT_TEXT)

/* `$` stands for an empty shape and its (no) values. Operators without a line here get their least
 * number of inputs, each of that shape; one with NULL inputs has none that can be empty, or needs
 * what has no text: graphs, sequences and maps. */
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
    {"ConcatFromSequence", 0, "", NULL, ""},
    {"If", 0, "", NULL, ""},
    {"Loop", 0, "", NULL, ""},
    {"Scan", 0, "", NULL, ""},
    {"SequenceAt", 0, "", NULL, ""},
    {"SequenceErase", 0, "", NULL, ""},
    {"SequenceInsert", 0, "", NULL, ""},
    {"SequenceLength", 0, "", NULL, ""},
    {"SequenceMap", 0, "", NULL, ""},
    {"SplitToSequence", 0, "", "float$; int64[]{1}", ""},
    {"SplitToSequence", 0, "axis=-1 keepdims=0", "float$", ""},
    {"AffineGrid", 0, "", "float[0,2,3]{}; int64[4]{0,1,1152921504606846976,1}", ""},
    {"AffineGrid", 0, "", "float[1,2,3]{1,2,3,4,5,6}; int64[4]{1,1,0,1152921504606846976}", ""},
    {"ConvTranspose", 0, "", "float$; float[1,1,1]{1}", ""},
    {"ConvTranspose", 0, "", "float$; float[1,1,1,1]{1}", ""},
    {"ConvTranspose", 0, "auto_pad='SAME_UPPER'", "float16$; float16[1,1,1,1]{1}", ""},
    {"ConvTranspose", 0, "", "float$; float[0,1,1,1]{}", ""},
    {"ConvTranspose", 0, "", "float$; float[1,0,1,1]{}", ""},
    {"DeformConv", 0, "", "float$; float[1,1,1,1]{1}; float[0,2,1,1]{}", ""},
    {"DeformConv", 0, "", "float$; float[1,1,1,1]{1}; float[0,2,1152921504606846976,1]{}", ""},
    {"DeformConv", 0, "", "float$; float[0,1,1,1]{}; float[1,2,1,1]{0,0}", ""},
    {"LpPool", 0, "auto_pad='SAME_UPPER' kernel_shape=[1,1]", "float$", ""},
    {"LpPool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"MaxRoiPool", 0, "pooled_shape=[1,1]", "float$; float[0,5]{}", ""},
    {"MaxRoiPool", 0, "pooled_shape=[1,1]", "float$; float[1,5]{0,0,0,0,0}", ""},
    {"MaxRoiPool", 0, "pooled_shape=[1,1]", "float[1,1,1,1]{1}; float[0,5]{}", ""},
    {"MaxUnpool", 0, "kernel_shape=[1]", "float$; int64$", ""},
    {"MaxUnpool", 0, "kernel_shape=[1,1]", "float$; int64$", ""},
    {"RoiAlign", 0, "", "float$; float[0,4]{}; int64[0]{}", ""},
    {"RoiAlign", 0, "", "float$; float[1,4]{0,0,1,1}; int64[1]{0}", ""},
    {"RegexFullMatch", 0, "pattern='a'", "string$", ""},
    {"TfIdfVectorizer", 0,
     "mode='TF' min_gram_length=1 max_gram_length=2 max_skip_count=4 ngram_counts=[0,2] "
     "ngram_indexes=[0,1,2] pool_int64s=[5,6,5,6]",
     "int64$", ""},
    {"TfIdfVectorizer", 0,
     "mode='IDF' min_gram_length=1 max_gram_length=1 max_skip_count=0 ngram_counts=[0] "
     "ngram_indexes=[0] pool_int64s=[]",
     "int64$", ""},
    {"ai.onnx.ml/CastMap", 0, "", NULL, ""},
    {"ai.onnx.ml/DictVectorizer", 0, "", NULL, ""},
    {"ai.onnx.ml/CategoryMapper", 0, "cats_int64s=[1] cats_strings=['a']", "int64$", ""},
    {"ai.onnx.ml/Imputer", 0, "imputed_value_floats=[1.0]", "float$", ""},
    {"ai.onnx.ml/LabelEncoder", 0, "keys_int64s=[1] values_int64s=[1]", "int64$", ""},
    {"ai.onnx.ml/LinearClassifier:2", 0, "coefficients=[1.0] intercepts=[0.0]", "float[0,1]{}", ""},
    {"ai.onnx.ml/LinearRegressor", 0, "coefficients=[1.0]", "float[0,1]{}", ""},
    {"ai.onnx.ml/OneHotEncoder", 0, "cats_int64s=[1]", "float$", ""},
    {"ai.onnx.ml/SVMClassifier:2", 0,
     "coefficients=[1.0,-1.0] support_vectors=[1.0,2.0] vectors_per_class=[1,1] rho=[0.0] "
     "classlabels_ints=[0,1]",
     "float[0,1]{}", ""},
    {"ai.onnx.ml/SVMRegressor", 0,
     "coefficients=[2.0] support_vectors=[1.0] n_supports=1 rho=[0.5]", "float[0,1]{}", ""},
    {"ai.onnx.ml/TreeEnsemble", 0,
     "tree_roots=[0] nodes_modes=<uint8[1]{0}> nodes_featureids=[0] nodes_splits=<float[1]{1}> "
     "nodes_truenodeids=[0] nodes_trueleafs=[1] nodes_falsenodeids=[1] nodes_falseleafs=[1] "
     "leaf_targetids=[0,0] leaf_weights=<float[2]{1,2}> n_targets=1",
     "float[0,1]{}", ""},
    {"ai.onnx.ml/TreeEnsembleClassifier:2", 0,
     "nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[0,0,0] "
     "nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_values=[0.5,0.0,0.0] "
     "nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] class_treeids=[0,0] "
     "class_nodeids=[1,2] class_ids=[0,1] class_weights=[1.0,1.0] classlabels_int64s=[0,1]",
     "float[0,1]{}", ""},
    {"ai.onnx.ml/ZipMap", 0, "classlabels_int64s=[1]", "float[0,1]{}", ""},
    {"com.microsoft/Attention", 0, "num_heads=1", "float$; float[1,3]{1,1,1}; float[3]{0,0,0}", ""},
    {"com.microsoft/BiasAdd", 0, "", "float$; float[1]{1}; float$", ""},
    {"com.microsoft/BiasGelu", 0, "", "float$; float[1]{1}", ""},
    {"com.microsoft/BiasSplitGelu", 0, "", "float$; float[0]{}", ""},
    {"com.microsoft/FusedConv", 0, "", "float$; float[1,1,1]{1}", ""},
    {"com.microsoft/EmbedLayerNormalization", 0, "",
     "int32$; -; float[1,1]{1}; float[1,1]{1}; -; float[1]{1}; float[1]{1}; -; int32$", ""},
    {"com.microsoft/BiasSoftmax", 0, "axis=-1 is_inner_broadcast=0", "float$; float$", ""},
    {"com.microsoft/BiasSoftmax", 0, "axis=0 is_inner_broadcast=1", "float$; float$", ""},
    {"com.microsoft/ConvTransposeWithDynamicPads", 0, "", "float$; float[1,1,1]{1}; int64[2]{0,0}",
     ""},
    {"com.microsoft/ConvTransposeWithDynamicPads", 0, "",
     "float$; float[1,1,1,1]{1}; int64[4]{0,0,0,0}", ""},
    {"com.microsoft/DynamicQuantizeLSTM", 0, "hidden_size=1",
     "float$; int8[1,1,4]{1,1,1,1}; int8[1,1,4]{1,1,1,1}; -; -; -; -; -; float[1]{1}; int8[1]{0}; "
     "float[1]{1}; int8[1]{0}",
     ""},
    {"com.microsoft/EmbedLayerNormalization:2", 0, "",
     "int32[1,0]{}; -; float[1,1]{1}; float[1,1]{1}; -; float[1]{1}; float[1]{0}", ""},
    {"com.microsoft/FusedGemm", 0, "activation='Relu'",
     "float$; float[1152921504606846976,0]{}; float[1]{0}", ""},
    {"com.microsoft/FusedGemm", 0, "activation='Relu' transA=1", "float$; float$; float[1]{0}", ""},
    {"com.microsoft/GridSample", 0, "", "float$; float[0,1,1,2]{}", ""},
    {"com.microsoft/GridSample", 0, "", "float$; float[1,0,1152921504606846976,2]{}", ""},
    {"com.microsoft/GroupNorm", 0, "groups=1 activation=0", "float$; float[1]{1}; float[1]{0}", ""},
    {"com.microsoft/GroupQueryAttention:3", 0, "num_heads=1 kv_num_heads=1",
     "float$; float$; float$; -; -; int32[0]{}; int32[]{1}", ""},
    {"com.microsoft/GroupQueryAttention:3", 0, "num_heads=1 kv_num_heads=1",
     "float$; float$; float$; -; -; int32[1]{0}; int32[]{1}", ""},
    {"com.microsoft/MatMulNBits", 0, "K=1 N=1 bits=4 block_size=16",
     "float$; uint8[1,1,8]{1,1,1,1,1,1,1,1}; float[1]{1}", ""},
    {"com.microsoft/MultiHeadAttention", 0, "num_heads=1", "float$; float$; float$", ""},
    {"com.microsoft/NGramRepeatBlock", 0, "ngram_size=1", "int64$; float$", ""},
    {"com.microsoft/NhwcMaxPool", 0, "kernel_shape=[1,1]", "uint8$", ""},
    {"com.microsoft/QAttention", 0, "num_heads=1",
     "uint8$; uint8[1,3]{1,1,1}; float[3]{0,0,0}; float[]{1}; float[]{1}", ""},
    {"com.microsoft/QGemm", 0, "",
     "uint8$; float[]{1}; uint8[]{0}; uint8[1,1]{1}; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QGemm", 0, "transA=1",
     "uint8$; float[]{1}; uint8[]{0}; uint8$; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearAveragePool", 0, "kernel_shape=[1,1]",
     "uint8$; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearConcat", 0, "axis=0",
     "float[]{1}; uint8[]{0}; uint8$; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearReduceMean", 0, "axes=[0] keepdims=1",
     "uint8$; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearReduceMean", 0, "axes=[-1] keepdims=0",
     "uint8$; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearSoftmax", 0, "opset=13 axis=-1",
     "uint8$; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearSoftmax", 0, "opset=12 axis=0",
     "uint8$; float[]{1}; uint8[]{0}; float[]{1}; uint8[]{0}", ""},
    {"com.microsoft/QLinearWhere", 0, "",
     "bool$; uint8$; float[]{1}; uint8[]{0}; uint8$; float[]{1}; uint8[]{0}; float[]{1}; "
     "uint8[]{0}",
     ""},
    {"onnxd/Conv", 0, "", "float$; float[1,1,1]{1}", ""},
    {"onnxd/MaxPool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"onnxd/AveragePool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"onnxd/ConvInteger", 0, "", "uint8$; uint8[1,1,1]{1}", ""},
    {"onnxd/QLinearConv", 0, "",
     "uint8$; float[]{1}; uint8[]{0}; int8[1,1,1]{1}; float[]{1}; int8[]{0}; float[]{1}; "
     "uint8[]{0}",
     ""},
    {"onnxd/Dense", 0, "", "float$; float[1,1]{1}; float[1]{1}", ""},
    {"onnxd/DepthToSpace", 0, "blocksize=1", "float$", ""},
    {"onnxd/Elementwise", 0, "steps=['Exp'] operands=[0,0] parameters=[0.0,0.0]", "float$", ""},
    {"onnxd/LRN", 0, "size=3", "float$", ""},
    {"com.microsoft/RotaryEmbedding", 0, "num_heads=1",
     "float$; int64[1]{0}; float[1,0]{}; float[1,0]{}", ""},
    {"onnxd/Conv", 0, "", "float$; float[1,1,1]{1}", ""},
    {"onnxd/MaxPool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"onnxd/AveragePool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"onnxd/LRN", 0, "size=3", "float$", ""},
    {"com.microsoft/RotaryEmbedding", 0, "", "float$; int64[1]{0}; float[1,1]{1}; float[1,1]{1}",
     ""},
    {"onnxd/Conv", 0, "", "float$; float[1,1,1]{1}", ""},
    {"onnxd/MaxPool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"onnxd/AveragePool", 0, "kernel_shape=[2] pads=[1,1]", "float$", ""},
    {"onnxd/LRN", 0, "size=3", "float$", ""},
    {"com.microsoft/RotaryEmbedding", 0, "", "float$; int64[1]{0}; float[1,0]{}; float[1,0]{}", ""},
    {"com.microsoft/SkipGroupNorm", 0, "groups=1 activation=0",
     "float$; float[1]{1}; float[1]{0}; float$", ""},
    {"com.microsoft/SkipLayerNormalization", 0, "", "float$; float$; float[1]{1}; float[1]{0}", ""},
    {"com.microsoft/SkipSimplifiedLayerNormalization", 0, "", "float$; float$; float[1]{1}", ""},
    {"com.microsoft/Tokenizer", 0, "mark=0 mincharnum=1 pad_value='#' separators=['']", "string$",
     ""},
    {"com.microsoft/Tokenizer", 0, "mark=1 mincharnum=1 pad_value='#' separators=[' ']", "string$",
     ""},
};

typedef struct outcome {
    const onnxd_op_def *def;
    unsigned call_count, result_count;
} outcome;

/* Whether a row is of the operator: "op_type", or "domain/op_type", and ":outputs". */
static bool is_named(const op_text *row, const onnxd_op_def *def)
{
    const char *slash = strchr(row->op_type, '/');
    const char *name = slash == NULL ? row->op_type : slash + 1;
    size_t domain_length = slash == NULL ? 0 : (size_t)(slash - row->op_type);
    size_t length = strcspn(name, ":");
    return strlen(def->op_type) == length && memcmp(def->op_type, name, length) == 0 &&
           strlen(def->domain) == domain_length &&
           memcmp(def->domain, row->op_type, domain_length) == 0;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* Text of each input, in which $ stands for the empty shape. */
typedef struct input_list {
    uint32_t count;
    char texts[MAX_INPUTS][MAX_INPUT_TEXT];
} input_list;

static void split_inputs(const char *inputs, input_list *list)
{
    list->count = 0;
    while (*inputs != '\0') {
        size_t length = strcspn(inputs, ";");
        cr_assert(list->count < MAX_INPUTS && length < MAX_INPUT_TEXT);
        memcpy(list->texts[list->count], inputs, length);
        list->texts[list->count++][length] = '\0';
        inputs += length + (inputs[length] == ';');
        while (*inputs == ' ')
            inputs++;
    }
}

/* One type that the input may have. */
static const char *type_of(const onnxd_op_def *def, uint32_t input)
{
    uint32_t formal = input < ONNXD_OP_MAX_FORMALS ? input : ONNXD_OP_MAX_FORMALS - 1;
    while (formal > 0 && def->inputs[formal].types == 0)
        formal--;
    onnxd_dtype_set types = def->inputs[formal].types;
    if (types == 0 || (types & ONNXD_SET(FLOAT)) != 0)
        return "float";
    return onnxd_dtype_name((onnxd_dtype)__builtin_ctzll(types));
}

static void set_input(input_list *list, uint32_t input, const char *type, const char *rest)
{
    int length = snprintf(list->texts[input], MAX_INPUT_TEXT, "%s%s", type, rest);
    cr_assert(length > 0 && length < MAX_INPUT_TEXT);
}

/* The least number of inputs, each empty. */
static void default_inputs(const onnxd_op_def *def, input_list *list)
{
    list->count = def->min_inputs;
    cr_assert(list->count <= MAX_INPUTS);
    for (uint32_t i = 0; i < def->min_inputs; i++)
        set_input(list, i, type_of(def, i), "$");
}

/* The list as one text, with every $ replaced. */
static void join_inputs(const input_list *list, const char *shape, char *text)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < list->count; i++) {
        const char *mark = strchr(list->texts[i], '$');
        int before = mark == NULL ? (int)strlen(list->texts[i]) : (int)(mark - list->texts[i]);
        length += (size_t)snprintf(text + length, MAX_TEXT - length, "%s%.*s%s%s",
                                   i == 0 ? "" : "; ", before, list->texts[i],
                                   mark == NULL ? "" : shape, mark == NULL ? "" : "{}");
        cr_assert(length < MAX_TEXT);
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

static void call_once(const op_text *row, const input_list *list, const char *shape, outcome *o)
{
    char text[MAX_TEXT];
    join_inputs(list, shape, text);
    op_text call = *row;
    call.inputs = text;
    const int64_t opsets[] = {o->def->since, o->def->until};
    for (unsigned i = 0; i < (o->def->since == o->def->until ? 1 : 2); i++) {
        call.opset = opsets[i];
        o->call_count++;
        const char *result = op_text_evaluate(&call);
        /* A sequence has no text, but was made. */
        o->result_count +=
            strncmp(result, "error: ", 7) != 0 || strstr(result, " is no tensor") != NULL;
    }
}

/* The type that begins the text of an input, or one that the operator allows. */
static void copy_type(const outcome *o, const input_list *list, uint32_t input, char *type)
{
    size_t length = strcspn(list->texts[input], "[$");
    if (list->texts[input][0] == '-')
        (void)snprintf(type, MAX_INPUT_TEXT, "%s", type_of(o->def, input));
    else
        (void)snprintf(type, MAX_INPUT_TEXT, "%.*s", (int)length, list->texts[input]);
}

/* Input `input` is empty besides those that the row has so, then it alone. Most of these calls are
 * wrong; those that are not must end as well. */
static void call_with_one(const op_text *row, const input_list *list, uint32_t input,
                          const char *shape, outcome *o)
{
    input_list changed = *list;
    char type[MAX_INPUT_TEXT];
    bool others_differ = false;
    while (changed.count <= input)
        set_input(&changed, changed.count++, "-", "");
    if (strchr(changed.texts[input], '$') == NULL) {
        copy_type(o, &changed, input, type);
        set_input(&changed, input, type, "$");
        call_once(row, &changed, shape, o);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (i == input || strchr(changed.texts[i], '$') == NULL)
            continue;
        copy_type(o, &changed, i, type);
        set_input(&changed, i, type, "[1]{1}");
        others_differ = true;
    }
    if (others_differ)
        call_once(row, &changed, shape, o);
}

static void call_row(const op_text *row, const input_list *list, const char *shape, outcome *o)
{
    uint32_t most = o->def->max_inputs < MAX_INPUTS ? o->def->max_inputs : MAX_INPUTS;
    if (o->def->max_inputs == ONNXD_OP_VARIADIC)
        most = list->count + 1;
    call_once(row, list, shape, o);
    for (uint32_t i = 0; i < most; i++)
        call_with_one(row, list, i, shape, o);
}

static void call_with_shape(const char *shape, outcome *o)
{
    bool has_row = false;
    char name[128];
    input_list list = {.count = 0};
    for (size_t i = 0; i < ONNXD_COUNT(rows); i++) {
        if (!is_named(&rows[i], o->def))
            continue;
        has_row = true;
        if (rows[i].inputs == NULL)
            continue;
        split_inputs(rows[i].inputs, &list);
        call_row(&rows[i], &list, shape, o);
    }
    if (has_row)
        return;
    default_inputs(o->def, &list);
    (void)snprintf(name, sizeof(name), "%s%s%s:%u", o->def->domain,
                   o->def->domain[0] == '\0' ? "" : "/", o->def->op_type,
                   o->def->min_outputs > 0 ? o->def->min_outputs : 1);
    const op_text row = {name, 0, "", NULL, ""};
    call_row(&row, &list, shape, o);
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

Test(empty, every_operator_returns_at_once)
{
    const onnxd_op_registry *registry = onnxd_ops();
    for (size_t t = 0; t < registry->table_count; t++) {
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL;) {
            const char *op_type = def->op_type, *domain = def->domain;
            outcome o = {.def = def};
            for (; def->op_type != NULL && strcmp(def->op_type, op_type) == 0 &&
                   strcmp(def->domain, domain) == 0;
                 o.def = ++def)
                for (int rank = 1; rank <= MAX_RANK; rank++)
                    for (int zero = 0; zero < rank; zero++)
                        call_with_zero(rank, zero, &o);
            /* Refusals alone would show nothing about the kernel. */
            cr_expect(o.call_count == 0 || o.result_count > 0, "%s/%s: all %u calls were refused",
                      domain, op_type, o.call_count);
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

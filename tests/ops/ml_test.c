#include <criterion/criterion.h>
#include <string.h>

#include "ops/ops.h"
#include "tests/ops/op_text.h"
#include "tests/ops/run_env.h"

#define ML "ai.onnx.ml/"

Test(ml, features)
{
    static const op_text calls[] = {
        {ML "Binarizer", 1, "threshold=1.5", "float[2,2]{1,1.5,2,nan}", "float[2,2]{0,0,1,0}"},
        {ML "Binarizer", 1, "", "int64[3]{-9223372036854775808,0,9223372036854775807}",
         "int64[3]{0,0,1}"},
        {ML "Scaler", 1, "offset=[1.0,2.0] scale=[2.0]", "int32[2,2]{1,2,3,4}",
         "float[2,2]{0,0,4,4}"},
        {ML "Scaler", 1, "offset=[1.0,2.0,3.0]", "float[1,2]{1,2}",
         "error: 3 elements, allowed are 1 and the number of features, 2"},
        {ML "Imputer", 1, "imputed_value_floats=[7.0,8.0] replaced_value_float=nan",
         "double[2,2]{nan,1,2,nan}", "double[2,2]{7,1,2,8}"},
        {ML "Imputer", 1, "imputed_value_int64s=[4294967296]", "int32[1]{0}",
         "error: element 0 is 4294967296, beyond int32"},
        {ML "Imputer", 1, "", "float[1]{0}", "error: exactly one of the attributes"},
        {ML "Normalizer", 1, "norm='L1'", "float[2,2]{-1,3,0,0}", "float[2,2]{-0.25,0.75,0,0}"},
        {ML "Normalizer", 1, "norm='L3'", "float[1]{1}",
         "error: 'L3', must be one of 'MAX', 'L1', 'L2'"},
        {ML "Normalizer", 1, "", "float[1,1,1]{1}", "error: rank 3, at most 2"},
        {ML "FeatureVectorizer", 1, "", "float[2,1]{1,2}; int64[2,2]{3,4,5,6}",
         "float[2,3]{1,3,4,2,5,6}"},
        {ML "FeatureVectorizer", 1, "", "float[2,1]{1,2}; int64[3,1]{3,4,5}",
         "error: input 1 has 3 rows, those before it 2"},
        {ML "ArrayFeatureExtractor", 1, "", "string[2,2]{a,b,c,d}; int64[1]{1}",
         "string[2,1]{b,d}"},
        {ML "ArrayFeatureExtractor", 1, "", "float[1,2]{1,2}; int64[2]{0,2}",
         "error: input 1: element 1 is 2, allowed are 0 to 1"},
        {ML "ArrayFeatureExtractor", 1, "", "float[1,2]{1,2}; int64[1]{-1}",
         "error: input 1: element 0 is -1, allowed are 0 to 1"},
    };
    EXPECT_EVALUATED(calls);
}

Test(ml, mappings)
{
    static const op_text calls[] = {
        {ML "LabelEncoder", 4, "keys_strings=['a','b','a'] values_int64s=[1,2,3]",
         "string[3]{a,b,c}", "int64[3]{3,2,-1}"},
        {ML "LabelEncoder", 4, "keys_floats=[nan,0.0] values_int64s=[5,6]", "float[3]{nan,-0,1}",
         "int64[3]{5,6,-1}"},
        {ML "LabelEncoder", 2, "keys_int64s=[1] values_strings=['one'] default_string='?'",
         "int64[2]{1,2}", "string[2]{one,?}"},
        {ML "LabelEncoder", 2, "keys_int64s=[1,2] values_strings=['one']", "int64[1]{1}",
         "error: there are 2 keys and 1 values"},
        {ML "LabelEncoder", 2, "keys_int64s=[1] values_strings=['one']", "string[1]{1}",
         "error: the input has type string, for which there are no keys"},
        /* The default for doubles is -0. */
        {ML "LabelEncoder", 4, "keys_tensor=<int64[1]{1}> values_tensor=<double[1]{2}>",
         "int64[2]{1,5}", "double[2]{2,-0}"},
        {ML "LabelEncoder", 1, "classes_strings=['x','y']", "string[2]{y,z}", "int64[2]{1,-1}"},
        {ML "CategoryMapper", 1, "cats_int64s=[7,8] cats_strings=['x','y']", "int64[2]{8,9}",
         "string[2]{y,_Unused}"},
        {ML "OneHotEncoder", 1, "cats_int64s=[5,3]", "float[2]{3.7,4}", "float[2,2]{0,1,0,0}"},
        {ML "OneHotEncoder", 1, "cats_int64s=[5,3]", "double[2]{nan,1e300}", "float[2,2]{0,0,0,0}"},
        {ML "OneHotEncoder", 1, "cats_strings=['a'] zeros=0", "string[1]{b}",
         "error: element 0 of the input is none of the 1 categories"},
    };
    EXPECT_EVALUATED(calls);
}

#define LIST(text)                                                                                 \
    "nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[0,0,0] "                        \
    "nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_values=[0.5,0.0,0.0] " text
#define CHILDREN "nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
#define VOTES "target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] target_weights=[1.0,2.0]"

Test(ml, trees)
{
    static const op_text calls[] = {
        {ML "TreeEnsembleRegressor", 1, LIST(CHILDREN VOTES), "float[3,1]{0.5,0.6,nan}",
         "float[3,1]{1,2,2}"},
        {ML "TreeEnsembleRegressor", 1, LIST(CHILDREN VOTES) " base_values=[10.0]",
         "int64[2,1]{0,1}", "float[2,1]{11,12}"},
        {ML "TreeEnsembleRegressor", 1,
         LIST(CHILDREN VOTES) " nodes_missing_value_tracks_true=[1,0,0]", "float[1,1]{nan}",
         "float[1,1]{1}"},
        {ML "TreeEnsembleRegressor", 1,
         LIST("nodes_truenodeids=[0,0,0] nodes_falsenodeids=[2,0,0] " VOTES), "float[1,1]{0}",
         "error: begins at node 0, which is the child of another"},
        {ML "TreeEnsembleRegressor", 1,
         LIST("nodes_truenodeids=[2,0,0] nodes_falsenodeids=[2,0,0] " VOTES), "float[1,1]{0}",
         "error: tree node 2 is the child of two nodes"},
        {ML "TreeEnsembleRegressor", 1,
         LIST("nodes_truenodeids=[9,0,0] nodes_falsenodeids=[2,0,0] " VOTES), "float[1,1]{0}",
         "error: tree 0 has no node 9"},
        {ML "TreeEnsembleRegressor", 1, LIST(CHILDREN VOTES) " n_targets=0", "float[1,1]{0}",
         "error: n_targets"},
        {ML "TreeEnsembleRegressor", 1,
         LIST(CHILDREN) "target_treeids=[0] target_nodeids=[1] target_ids=[1] target_weights=[1.0]",
         "float[1,1]{0}", "error: vote 0 is for target 1, there are 1"},
        {ML "TreeEnsembleRegressor", 1, LIST(CHILDREN VOTES), "float[1,0]{}",
         "error: the input has 0 features in a row, the trees ask for 1"},
    };
    EXPECT_EVALUATED(calls);
}

Test(ml, classifiers)
{
    static const op_text calls[] = {
        {ML "LinearClassifier:2", 1,
         "coefficients=[1.0,-1.0] intercepts=[0.5] classlabels_strings=['no','yes'] "
         "post_transform='LOGISTIC'",
         "float[2,2]{1,1.5,-3,1}", "string[2]{no,no}; float[2,2]{0.5,0.5,0.97068775,0.029312253}"},
        {ML "LinearClassifier:2", 1, "coefficients=[1.0,2.0,3.0] intercepts=[0.0,1.0]",
         "float[1,1]{1}", "error: 3 elements, no multiple of 2 targets"},
        {ML "LinearRegressor", 1, "coefficients=[1.0,2.0]", "float[1,3]{1,2,3}",
         "error: the input has 3 features in a row, its attributes are for 2"},
        {ML "SVMRegressor", 1,
         "coefficients=[2.0] support_vectors=[1.0,1.0] n_supports=1 rho=[0.5]", "float[1,2]{1,2}",
         "float[1,1]{6.5}"},
        {ML "SVMRegressor", 1, "coefficients=[2.0] support_vectors=[1.0] n_supports=2 rho=[0.5]",
         "float[1,1]{1}", "error: no multiple of 2 vectors"},
        {ML "SVMRegressor", 1, "coefficients=[2.0] kernel_params=[1.0] rho=[0.5]", "float[1,1]{1}",
         "error: 1 elements, allowed are none and 3"},
        {ML "SVMClassifier:2", 1,
         "coefficients=[1.0,-1.0] support_vectors=[1.0,2.0] vectors_per_class=[1,-1] rho=[0.0] "
         "classlabels_ints=[0,1]",
         "float[1,1]{1}", "error: element 1 is -1, it must not be negative"},
        /* The vote decides whatever the signs of the coefficients. */
        {ML "SVMClassifier:2", 1,
         "coefficients=[1.0,1.0] support_vectors=[1.0,0.0,0.0,1.0] vectors_per_class=[1,1] "
         "rho=[-1.0] classlabels_ints=[10,20]",
         "float[2,2]{5,4,0,0.5}", "int64[2]{10,20}; float[2,2]{-8,8,0.5,-0.5}"},
        {ML "SVMClassifier:2", 1,
         "coefficients=[1.0,-1.0] support_vectors=[1.0,2.0] vectors_per_class=[1,1] rho=[0.0] "
         "classlabels_ints=[0,1] prob_a=[-1.0,-1.0] prob_b=[0.0]",
         "float[1,1]{1}", "error: have 2 and 1 elements for 1 pairs"},
        {ML "SVMClassifier:2", 1,
         "coefficients=[1.0,-1.0] support_vectors=[1.0,2.0] vectors_per_class=[1,1] rho=[0.0] "
         "classlabels_ints=[0,1] prob_b=[0.0]",
         "float[1,1]{1}", "error: have 0 and 1 elements for 1 pairs"},
    };
    EXPECT_EVALUATED(calls);
}

static onnxd_tensor *vector_of(onnxd_dtype dtype, int64_t count, const void *data)
{
    const onnxd_shape shape = {.rank = 1, .dims = {count}};
    onnxd_tensor *tensor = NULL;
    cr_assert_null(onnxd_tensor_create(dtype, &shape, &tensor));
    memcpy(tensor->data, data, tensor->bytes);
    return tensor;
}

/* Values come in the order of their keys. */
Test(ml, maps_are_sorted)
{
    static const int64_t keys[] = {7, INT64_MAX, -3, INT64_MIN, 0};
    static const float values[] = {4, 5, 2, 1, 3};
    onnxd_graph *graph = NULL;
    onnxd_datum *map = NULL, *output = NULL;
    onnxd_value_id input_id = 0, output_id = 1;
    onnxd_node node = {.name = "n",
                       .domain = "ai.onnx.ml",
                       .op_type = "CastMap",
                       .opset = 1,
                       .inputs = &input_id,
                       .outputs = &output_id,
                       .input_count = 1,
                       .output_count = 1};
    cr_assert_null(onnxd_graph_create(1 << 20, &graph));
    cr_assert_null(onnxd_op_resolve(onnxd_ops(), graph, &node));
    onnxd_tensor *key_list = vector_of(ONNXD_INT64, 5, keys);
    onnxd_tensor *value_list = vector_of(ONNXD_FLOAT, 5, values);
    cr_assert_null(onnxd_datum_of_map(key_list, value_list, &map));
    onnxd_dynamic dynamic = {.node = &node,
                             .params = node.params,
                             .opset = 1,
                             .input_count = 1,
                             .output_count = 1,
                             .inputs = &map,
                             .outputs = &output,
                             .env = run_env()};
    cr_assert_null(node.def->run(&dynamic));
    cr_assert_eq(output->tensor->count, 5);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(((const float *)output->tensor->data)[i], (float)(i + 1));
    onnxd_datum_release(output);
    onnxd_datum_release(map);
    onnxd_tensor_release(key_list);
    onnxd_tensor_release(value_list);
    onnxd_graph_destroy(graph);
}

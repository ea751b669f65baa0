#include "graph/op.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/graph/build_graph.h"
#include "tests/graph/toy_ops.h"

static onnxd_node *add_unresolved(onnxd_graph *graph, const char *op_type, const char *inputs,
                                  const char *outputs, int64_t opset)
{
    onnxd_node *node = build_node(graph, "Unknown", inputs, outputs);
    node->op_type = op_type;
    node->opset = opset;
    return node;
}

Test(op, find_respects_opsets)
{
    cr_expect(onnxd_op_find(&toy_ops, "", "Old", 1) != NULL);
    cr_expect(onnxd_op_find(&toy_ops, "", "Old", 9) != NULL);
    cr_expect(onnxd_op_find(&toy_ops, "", "Old", 10) == NULL);
    cr_expect(onnxd_op_find(&toy_ops, "", "Old", 0) == NULL);
    cr_expect(onnxd_op_find(&toy_ops, "com.example", "Old", 1) == NULL);
    cr_expect(onnxd_op_find(&toy_ops, "", "Ol", 1) == NULL);
    cr_expect(onnxd_op_find(&toy_ops, "", "", 1) == NULL);
}

Test(op, missing_says_why)
{
    expect_error(onnxd_op_missing(&toy_ops, "", "Old", 13), ONNXD_NO_EP_FOR_OP,
                 "'Old' of domain 'ai.onnx' is not known at opset 13, known opsets: 1 to 9");
    expect_error(onnxd_op_missing(&toy_ops, "my", "Thing", 1), ONNXD_NO_EP_FOR_OP,
                 "'Thing' of domain 'my' is not known");
    expect_error(onnxd_op_missing(&toy_ops, "com.microsoft", "MoE", 1), ONNXD_NO_EP_FOR_OP,
                 "'MoE' of domain 'com.microsoft' is not supported, it needs a kernel that routes "
                 "tokens to experts");
}

Test(op, resolve_checks_counts)
{
    onnxd_graph *graph = build_graph();
    onnxd_node *node = add_unresolved(graph, "Add", "a", "b", 13);
    expect_error(onnxd_op_resolve(&toy_ops, graph, node), ONNXD_INVALID_ARGUMENT,
                 "node (Add) has 1 inputs, allowed are 2 to 2");
    cr_expect(node->def == NULL);
    node = add_unresolved(graph, "Add", "a,b", "c,d", 13);
    expect_error(onnxd_op_resolve(&toy_ops, graph, node), ONNXD_INVALID_ARGUMENT, "2 outputs");
    node = add_unresolved(graph, "Add", ",b", "e", 13);
    expect_error(onnxd_op_resolve(&toy_ops, graph, node), ONNXD_INVALID_ARGUMENT, "lacks input 0");
    node = add_unresolved(graph, "Concat", "", "f", 13);
    expect_error(onnxd_op_resolve(&toy_ops, graph, node), ONNXD_INVALID_ARGUMENT,
                 "at least 1 are needed");
    node = add_unresolved(graph, "Concat", "a,a,a,a,a,a,a,a,a,a,a,", "g", 13);
    expect_ok(onnxd_op_resolve(&toy_ops, graph, node));
    node = add_unresolved(graph, "Dropout", "a,,b", "h", 13);
    expect_ok(onnxd_op_resolve(&toy_ops, graph, node));
    onnxd_graph_destroy(graph);
}

Test(op, resolve_refuses_unknown_attributes)
{
    onnxd_graph *graph = build_graph();
    onnxd_node *node = add_unresolved(graph, "Add", "a,b", "c", 13);
    onnxd_attribute attribute = {.name = "bogus", .kind = ONNXD_ATTRIBUTE_INT};
    node->attributes = &attribute;
    node->attribute_count = 1;
    expect_error(onnxd_op_resolve(&toy_ops, graph, node), ONNXD_INVALID_ARGUMENT,
                 "attribute 'bogus'");
    onnxd_graph_destroy(graph);
}

Test(op, types_are_checked)
{
    onnxd_graph *graph = build_graph();
    onnxd_node *node = build_node(graph, "Concat", "a,b,c", "d");
    onnxd_tensor_type inputs[3] = {
        {.dtype = ONNXD_INT64}, {.dtype = ONNXD_INT64}, {.dtype = ONNXD_FLOAT}};
    expect_error(onnxd_op_check_types(node->def, node, inputs, 3), ONNXD_INVALID_ARGUMENT,
                 "input 2 has type float, allowed are int64");
    node = build_node(graph, "Add", "a,b", "e");
    expect_error(onnxd_op_check_types(node->def, node, inputs + 1, 2), ONNXD_INVALID_ARGUMENT,
                 "input 1 has type float, it must be that of input 0, int64");
    inputs[2].dtype = ONNXD_UNDEFINED;
    expect_ok(onnxd_op_check_types(node->def, node, inputs + 1, 2));
    onnxd_graph_destroy(graph);
}

Test(op, kinds_are_checked)
{
    onnxd_graph *graph = build_graph();
    onnxd_node *node = build_node(graph, "Add", "a,b", "c");
    onnxd_tensor_type inputs[2] = {{.dtype = ONNXD_INT64},
                                   {.dtype = ONNXD_INT64, .kind = ONNXD_VALUE_SEQUENCE}};
    expect_error(onnxd_op_check_types(node->def, node, inputs, 2), ONNXD_INVALID_ARGUMENT,
                 "node (Add): input 1 is of kind sequence, allowed are tensor");
    /* An empty sequence may leave open what it would hold. */
    inputs[1].dtype = ONNXD_UNDEFINED;
    expect_error(onnxd_op_check_types(node->def, node, inputs, 2), ONNXD_INVALID_ARGUMENT,
                 "input 1 is of kind sequence");
    inputs[1].kind = ONNXD_VALUE_TENSOR;
    expect_ok(onnxd_op_check_types(node->def, node, inputs, 2));
    node = build_node(graph, "Unpack", "s", "t");
    expect_error(onnxd_op_check_types(node->def, node, inputs, 1), ONNXD_INVALID_ARGUMENT,
                 "input 0 is of kind tensor, allowed are sequence");
    inputs[0] = (onnxd_tensor_type){.kind = ONNXD_VALUE_SEQUENCE};
    expect_ok(onnxd_op_check_types(node->def, node, inputs, 1));
    inputs[0].kind = ONNXD_VALUE_OPTIONAL_SEQUENCE;
    onnxd_op_def either = *node->def;
    either.inputs[0].kinds = ONNXD_KIND(TENSOR) | ONNXD_KIND(SEQUENCE);
    expect_error(onnxd_op_check_types(&either, node, inputs, 1), ONNXD_INVALID_ARGUMENT,
                 "input 0 is of kind optional sequence, allowed are tensor, sequence");
    onnxd_graph_destroy(graph);
}

Test(op, inferred_sizes_must_fit)
{
    onnxd_graph *graph = build_graph();
    int64_t huge[3] = {INT64_MAX / 2, 4, 4};
    build_int64(graph, "shape", 3, huge);
    onnxd_node *node = build_node(graph, "ConstantOfShape", "shape", "y");
    const onnxd_tensor *constant = graph->values[build_value(graph, "shape")].constant;
    onnxd_tensor_type input = {.dtype = ONNXD_INT64, .shape = constant->shape};
    onnxd_tensor_type output;
    expect_error(onnxd_op_infer(node, &input, &constant, &output), ONNXD_INVALID_ARGUMENT,
                 "more elements than memory can hold");
    onnxd_graph_destroy(graph);
}

Test(op, evaluate_computes)
{
    onnxd_graph *graph = build_graph();
    float a[2] = {1.0f, 2.0f};
    build_float(graph, "a", 2, a);
    onnxd_node *node = build_node(graph, "Add", "a,a", "y");
    const onnxd_tensor *constant = graph->values[build_value(graph, "a")].constant;
    const onnxd_tensor *inputs[2] = {constant, constant};
    onnxd_tensor *output = NULL;
    expect_ok(onnxd_op_evaluate(node, inputs, 1024, &output));
    cr_expect(((float *)output->data)[1] == 4.0f);
    onnxd_tensor_release(output);
    output = NULL;
    expect_error(onnxd_op_evaluate(node, inputs, 7, &output), ONNXD_RESOURCE_EXHAUSTED,
                 "limit of 7 bytes");
    cr_expect(output == NULL);
    node = build_node(graph, "MatMul", "a,a", "z");
    expect_error(onnxd_op_evaluate(node, inputs, 1024, &output), ONNXD_UNIMPLEMENTED,
                 "node (MatMul) has no portable kernel");
    node = build_node(graph, "NonZero", "a", "n");
    expect_error(onnxd_op_evaluate(node, inputs, 1024, &output), ONNXD_UNIMPLEMENTED,
                 "depends on data");
    inputs[0] = NULL;
    node = build_node(graph, "Identity", "a", "i");
    expect_error(onnxd_op_evaluate(node, inputs, 1024, &output), ONNXD_INVALID_ARGUMENT,
                 "value of input 0 is not known");
    onnxd_graph_destroy(graph);
}

Test(op, absent_outputs_are_null)
{
    onnxd_graph *graph = build_graph();
    float a[2] = {1.0f, 2.0f};
    build_float(graph, "a", 2, a);
    onnxd_node *node = build_node(graph, "Dropout", "a", "y,");
    node->output_count = 2;
    onnxd_value_id outputs_ids[2] = {node->outputs[0], ONNXD_NONE};
    node->outputs = outputs_ids;
    const onnxd_tensor *inputs[1] = {graph->values[build_value(graph, "a")].constant};
    onnxd_tensor *outputs[2] = {NULL, NULL};
    expect_ok(onnxd_op_evaluate(node, inputs, 1024, outputs));
    cr_expect(outputs[0] != NULL);
    cr_expect(outputs[1] == NULL);
    onnxd_tensor_release(outputs[0]);
    onnxd_graph_destroy(graph);
}

Test(op, strings_own_their_bytes)
{
    onnxd_graph *graph = build_graph();
    onnxd_node *node = build_node(graph, "Decode", "s", "t");
    int64_t dims[1] = {2};
    onnxd_shape shape = onnxd_shape_from(1, dims);
    onnxd_string strings[2] = {{.data = "ab", .size = 2}, {.data = NULL, .size = 0}};
    onnxd_tensor *input = NULL;
    onnxd_tensor *output = NULL;
    expect_ok(onnxd_tensor_create_strings(&shape, strings, &input));
    const onnxd_tensor *inputs[1] = {input};
    expect_ok(onnxd_op_evaluate(node, inputs, 1024, &output));
    onnxd_tensor_release(input);
    const onnxd_string *result = output->data;
    cr_expect(result[0].size == 4 && memcmp(result[0].data, "abab", 4) == 0);
    cr_expect(result[1].size == 0);
    onnxd_tensor_release(output);
    onnxd_graph_destroy(graph);
}

/* Elements can share their bytes; in the result each has its own. */
Test(op, bytes_of_strings_are_bounded)
{
    onnxd_graph *graph = build_graph();
    onnxd_node *node = build_node(graph, "Identity", "s", "t");
    int64_t dims[1] = {2};
    onnxd_shape shape = onnxd_shape_from(1, dims);
    char text[33] = "";
    memset(text, 'a', 32);
    onnxd_string strings[2] = {{.data = text, .size = 32}, {.data = text, .size = 32}};
    onnxd_tensor *input = NULL;
    onnxd_tensor *output = NULL;
    expect_ok(onnxd_tensor_create_strings(&shape, strings, &input));
    const onnxd_tensor *inputs[1] = {input};
    expect_error(onnxd_op_evaluate(node, inputs, 63, &output), ONNXD_RESOURCE_EXHAUSTED,
                 "the strings of output 0 have 64 bytes and would pass the limit of 63 bytes");
    expect_ok(onnxd_op_evaluate(node, inputs, 64, &output));
    onnxd_tensor_release(output);
    onnxd_tensor_release(input);
    onnxd_graph_destroy(graph);
}

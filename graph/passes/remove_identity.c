/* Nodes that hand their input on unchanged: Identity, and Dropout as it is in inference. */
#include <string.h>

#include "graph/bypass.h"
#include "graph/passes.h"

/* Opset 12 made training an input; before 7 an attribute said that it is inference. */
#define DROPOUT_TRAINING_INPUT_SINCE 12
#define DROPOUT_TEST_ATTRIBUTE_UNTIL 6

static bool is_false(const onnxd_tensor *tensor)
{
    return tensor->dtype == ONNXD_BOOL && tensor->count == 1 &&
           *(const unsigned char *)tensor->data == 0;
}

static bool is_inference_dropout(const onnxd_graph *graph, const onnxd_node *node)
{
    if (node->output_count > 1 && node->outputs[1] != ONNXD_NONE)
        return false;
    if (node->opset <= DROPOUT_TEST_ATTRIBUTE_UNTIL) {
        const onnxd_attribute *is_test = onnxd_node_attribute(node, "is_test");
        return is_test != NULL && is_test->kind == ONNXD_ATTRIBUTE_INT && is_test->value.i != 0;
    }
    if (node->opset < DROPOUT_TRAINING_INPUT_SINCE || node->input_count < 3 ||
        node->inputs[2] == ONNXD_NONE)
        return true;
    const onnxd_tensor *training = graph->values[node->inputs[2]].constant;
    return training != NULL && is_false(training);
}

static bool hands_on(const void *context, const onnxd_node *node, uint32_t *out_input)
{
    if (node->def == NULL || node->domain[0] != '\0' || node->input_count == 0)
        return false;
    *out_input = 0;
    if (strcmp(node->op_type, "Identity") == 0)
        return true;
    return strcmp(node->op_type, "Dropout") == 0 && is_inference_dropout(context, node);
}

static onnxd_status *run(onnxd_graph *graph, const onnxd_pass_env *env, uint32_t *out_changes)
{
    (void)env;
    return onnxd_graph_bypass(graph, hands_on, graph, out_changes);
}

const onnxd_pass onnxd_pass_remove_identity = {
    .name = "remove_identity",
    .summary = "drop nodes that hand their input on unchanged",
    .run = run,
};

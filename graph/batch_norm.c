#include "graph/batch_norm.h"

#include <math.h>

#include "graph/attributes.h"
#include "graph/rewrite.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE };

/* Before opset 7 an attribute said that it is inference, before 9 there could be a statistic per
 * position; 14 brought training back. */
static bool is_plain_inference(const onnxd_node *node)
{
    int64_t is_test = node->opset >= 7, spatial = 1, training = 0;
    onnxd_status *status = onnxd_attribute_int(node, "is_test", 0, 1, &is_test);
    status = onnxd_status_join(status, onnxd_attribute_int(node, "spatial", 0, 1, &spatial));
    status = onnxd_status_join(status, onnxd_attribute_int(node, "training_mode", 0, 1, &training));
    const bool is_readable = status == NULL;
    onnxd_status_free(status);
    return is_readable && is_test != 0 && spatial != 0 && training == 0;
}

/* Outputs beyond the first hold statistics, which only training has. */
static bool has_one_output(const onnxd_node *node)
{
    for (uint32_t i = 1; i < node->output_count; i++)
        if (node->outputs[i] != ONNXD_NONE)
            return false;
    return node->output_count > 0 && node->outputs[0] != ONNXD_NONE;
}

size_t onnxd_batch_norm_channels(const onnxd_graph *graph, const onnxd_node *node)
{
    const onnxd_tensor *scale = onnxd_node_float_constant(graph, node, SCALE);
    return scale == NULL ? 0 : scale->count;
}

bool onnxd_batch_norm_is_affine(const onnxd_graph *graph, const onnxd_node *node)
{
    const size_t channels = onnxd_batch_norm_channels(graph, node);
    for (uint32_t i = SCALE; i <= VARIANCE; i++) {
        const onnxd_tensor *tensor = onnxd_node_float_constant(graph, node, i);
        if (tensor == NULL || tensor->count != channels)
            return false;
    }
    return channels > 0 && is_plain_inference(node) && has_one_output(node);
}

void onnxd_batch_norm_affine(const onnxd_graph *graph, const onnxd_node *node, float *factors,
                             float *addends)
{
    const float *vectors[VARIANCE + 1] = {NULL};
    float epsilon = 1e-5f;
    onnxd_status_free(onnxd_attribute_float(node, "epsilon", &epsilon));
    for (uint32_t i = SCALE; i <= VARIANCE; i++)
        vectors[i] = onnxd_node_float_constant(graph, node, i)->data;
    const size_t channels = onnxd_batch_norm_channels(graph, node);
    for (size_t c = 0; c < channels; c++) {
        factors[c] = vectors[SCALE][c] / sqrtf(vectors[VARIANCE][c] + epsilon);
        addends[c] = vectors[BIAS][c] - vectors[MEAN][c] * factors[c];
    }
}

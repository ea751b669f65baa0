#include "ep/cpu/passes/norm_parts.h"

#include "graph/attributes.h"

/* The opset that made the axes of ReduceMean an input. */
#define AXES_INPUT_SINCE 18

static bool read_axes(const onnxd_pattern *p, const onnxd_node *node, const int64_t **out_axes,
                      size_t *out_count)
{
    if (node->opset >= AXES_INPUT_SINCE) {
        if (node->input_count < 2 || node->inputs[1] == ONNXD_NONE)
            return false;
        const onnxd_tensor *axes = p->graph->values[node->inputs[1]].constant;
        if (axes == NULL || axes->dtype != ONNXD_INT64)
            return false;
        *out_axes = axes->data;
        *out_count = axes->count;
        return true;
    }
    onnxd_status *status = onnxd_attribute_int_list(node, "axes", out_axes, out_count);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    return is_read;
}

onnxd_value_id onnxd_norm_mean_of(const onnxd_pattern *p, onnxd_value_id value)
{
    const onnxd_node *mean = onnxd_pattern_producer_of(p, value, "ReduceMean");
    const int64_t *axes = NULL;
    size_t count = 0;
    int64_t keeps_dims = 1;
    if (mean == NULL || !read_axes(p, mean, &axes, &count) || count != 1)
        return ONNXD_NONE;
    onnxd_status *status = onnxd_attribute_int(mean, "keepdims", 0, 1, &keeps_dims);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    const int32_t rank = p->graph->values[mean->inputs[0]].type.shape.rank;
    if (!is_read || keeps_dims != 1 || rank < 1 || (axes[0] != -1 && axes[0] != rank - 1))
        return ONNXD_NONE;
    return mean->inputs[0];
}

/* x of x^2 or x x. */
static onnxd_value_id square_of(const onnxd_pattern *p, onnxd_value_id value, uint32_t *out_uses)
{
    float exponent = 0;
    const onnxd_node *node = onnxd_pattern_producer_of(p, value, "Pow");
    if (node != NULL && onnxd_pattern_read_scalar(p, node, 1, &exponent) && exponent == 2.0f) {
        *out_uses = 1;
        return node->inputs[0];
    }
    node = onnxd_pattern_producer_of(p, value, "Mul");
    if (node == NULL || node->inputs[0] != node->inputs[1])
        return ONNXD_NONE;
    *out_uses = 2;
    return node->inputs[0];
}

onnxd_value_id onnxd_norm_root_of(const onnxd_pattern *p, onnxd_value_id value, float *out_epsilon,
                                  uint32_t *out_uses)
{
    const onnxd_node *root = onnxd_pattern_producer_of(p, value, "Sqrt");
    const onnxd_node *sum =
        root == NULL ? NULL : onnxd_pattern_producer_of(p, root->inputs[0], "Add");
    if (sum == NULL)
        return ONNXD_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_value_id square = onnxd_pattern_read_scalar(p, sum, i, out_epsilon)
                                          ? onnxd_norm_mean_of(p, sum->inputs[1 - i])
                                          : ONNXD_NONE;
        if (square != ONNXD_NONE)
            return square_of(p, square, out_uses);
    }
    return ONNXD_NONE;
}

onnxd_value_id onnxd_norm_row(const onnxd_pattern *p, const onnxd_node *node, onnxd_value_id value)
{
    const onnxd_shape *shape = &p->graph->values[value].type.shape;
    for (uint32_t i = 0; i < 2; i++) {
        const onnxd_tensor *row = onnxd_node_float_constant(p->graph, node, i);
        if (row != NULL && node->inputs[1 - i] == value && row->shape.rank == 1 &&
            shape->rank >= 1 && row->shape.dims[0] == shape->dims[shape->rank - 1])
            return node->inputs[i];
    }
    return ONNXD_NONE;
}

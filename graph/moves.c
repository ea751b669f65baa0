#include "graph/moves.h"

#include "graph/rewrite.h"

bool onnxd_node_is_reshape(const onnxd_node *node)
{
    return onnxd_node_is(node, "", "Reshape") || onnxd_node_is(node, "", "Flatten") ||
           onnxd_node_is(node, "", "Squeeze") || onnxd_node_is(node, "", "Unsqueeze");
}

bool onnxd_node_read_perm(const onnxd_node *node, const onnxd_shape *input, int64_t *perm,
                          int32_t *out_rank)
{
    const onnxd_attribute *attribute = onnxd_node_attribute(node, "perm");
    int32_t rank = input->rank;
    if (attribute != NULL && rank == ONNXD_RANK_UNKNOWN && attribute->count <= ONNXD_MAX_RANK)
        rank = (int32_t)attribute->count;
    if (rank == ONNXD_RANK_UNKNOWN || (attribute != NULL && attribute->count != (size_t)rank))
        return false;
    for (int32_t i = 0; i < rank; i++) {
        perm[i] = attribute == NULL ? rank - 1 - i : attribute->value.ints[i];
        if (perm[i] < 0 || perm[i] >= rank)
            return false;
    }
    *out_rank = rank;
    return true;
}

bool onnxd_graph_same_shape(const onnxd_shape *a, const onnxd_shape *b)
{
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] == ONNXD_DIM_UNKNOWN)
            return false;
    return a->rank != ONNXD_RANK_UNKNOWN && onnxd_shape_equal(a, b);
}

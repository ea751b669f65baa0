/* Transpose: output dimension i is input dimension perm[i]; without perm the order is reversed. */
#include <inttypes.h>

#include "ops/move.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct transpose_params {
    bool has_perm;
    size_t count;
    int64_t perm[ONNXD_MAX_RANK];
} transpose_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"perm", NULL};
    transpose_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    p->has_perm = onnxd_node_attribute(node, "perm") != NULL;
    ONNXD_TRY(onnxd_attribute_ints(node, "perm", 0, ONNXD_MAX_RANK, 0, ONNXD_MAX_RANK - 1, p->perm,
                                   &p->count));
    bool seen[ONNXD_MAX_RANK] = {false};
    for (size_t i = 0; i < p->count; i++) {
        if (p->perm[i] >= (int64_t)p->count || seen[p->perm[i]])
            return onnxd_op_error(node,
                                  "attribute 'perm' is no permutation: element %zu of %zu is "
                                  "%" PRId64,
                                  i, p->count, p->perm[i]);
        seen[p->perm[i]] = true;
    }
    return NULL;
}

static int32_t source_axis(const transpose_params *p, int32_t rank, int32_t axis)
{
    return p->has_perm ? (int32_t)p->perm[axis] : rank - 1 - axis;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const transpose_params *p = infer->params;
    const onnxd_tensor_type *input = &infer->inputs[0];
    onnxd_tensor_type *output = &infer->outputs[0];
    output->dtype = input->dtype;
    int32_t rank = input->shape.rank;
    if (rank < 0) {
        if (p->has_perm)
            output->shape = onnxd_shape_of_rank((int32_t)p->count);
        return NULL;
    }
    if (p->has_perm && (int32_t)p->count != rank)
        return onnxd_op_error(infer->node,
                              "attribute 'perm' has %zu elements, but the input has rank %" PRId32,
                              p->count, rank);
    output->shape.rank = rank;
    for (int32_t i = 0; i < rank; i++)
        output->shape.dims[i] = input->shape.dims[source_axis(p, rank, i)];
    return NULL;
}

static onnxd_status *move(const onnxd_compute *compute)
{
    const transpose_params *p = compute->params;
    const onnxd_tensor_view *input = &compute->inputs[0], *output = &compute->outputs[0];
    int32_t rank = input->shape.rank;
    int64_t natural[ONNXD_MAX_RANK], strides[ONNXD_MAX_RANK];
    onnxd_strides_of(&input->shape, natural);
    for (int32_t i = 0; i < rank; i++)
        strides[i] = natural[source_axis(p, rank, i)];
    onnxd_move_contiguous(&output->shape, strides, onnxd_dtype_size(input->dtype),
                          onnxd_tensor_view_data(output), onnxd_tensor_view_data(input));
    return NULL;
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    return onnxd_packed_is_used(compute) ? onnxd_packed_compute(compute, move) : move(compute);
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "Transpose", .domain = "", .since = first, .until = last, .min_inputs = 1,      \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(transpose_params), \
        .parse = parse, .infer = infer, .workspace_bytes = onnxd_packed_workspace_bytes,           \
        .compute = compute, .batch_inputs = 1u                                                     \
    }

const onnxd_op_def onnxd_op_transpose[] = {
    ROW(1, 12, ONNXD_SET_ANY_1),
    ROW(13, 20, ONNXD_SET_ANY_13),
    ONNXD_ROWS_ANY_21(ROW),
    {.op_type = NULL},
};

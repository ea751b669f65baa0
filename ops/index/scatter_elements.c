/* Scatter and ScatterElements: a copy of the data in which single elements are replaced by updates
 * or combined with them. */
#include <inttypes.h>

#include "ops/index/combine.h"
#include "ops/index/offsets.h"
#include "ops/ops.h"
#include "ops/types.h"

typedef struct scatter_params {
    int64_t axis;
    onnxd_reduction reduction;
} scatter_params;

enum { DATA, INDICES, UPDATES };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", NULL};
    scatter_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *parse_16(const onnxd_node *node, int64_t opset, onnxd_arena *arena,
                              void *params)
{
    (void)arena;
    static const char *const names[] = {"axis", "reduction", NULL};
    scatter_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_reduction_parse(node, opset, &p->reduction));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *check_updates(const onnxd_node *node, const onnxd_shape *indices,
                                   const onnxd_shape *updates)
{
    if (indices->rank < 0 || updates->rank < 0)
        return NULL;
    bool are_equal = indices->rank == updates->rank;
    for (int32_t i = 0; are_equal && i < indices->rank; i++)
        are_equal = !onnxd_dim_is_static(indices->dims[i]) ||
                    !onnxd_dim_is_static(updates->dims[i]) || indices->dims[i] == updates->dims[i];
    if (are_equal)
        return NULL;
    char indices_text[ONNXD_SHAPE_TEXT], updates_text[ONNXD_SHAPE_TEXT];
    return onnxd_op_error(node, "input 2 has shape %s, must have that of input 1, %s",
                          onnxd_shape_format(updates, updates_text, sizeof(updates_text)),
                          onnxd_shape_format(indices, indices_text, sizeof(indices_text)));
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const scatter_params *p = infer->params;
    const onnxd_tensor_type *inputs = infer->inputs;
    int32_t axis;
    infer->outputs[0] = inputs[DATA];
    ONNXD_TRY(onnxd_reduction_check(infer->node, inputs[DATA].dtype, p->reduction));
    ONNXD_TRY(check_updates(infer->node, &inputs[INDICES].shape, &inputs[UPDATES].shape));
    ONNXD_TRY(onnxd_element_check(infer->node, &inputs[DATA].shape, &inputs[INDICES].shape, p->axis,
                                  &axis));
    return onnxd_element_check(infer->node, &inputs[DATA].shape, &inputs[UPDATES].shape, p->axis,
                               &axis);
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const scatter_params *p = compute->params;
    const onnxd_tensor_view *data = &compute->inputs[DATA], *indices = &compute->inputs[INDICES];
    const onnxd_tensor_view *updates = &compute->inputs[UPDATES];
    int32_t axis;
    ONNXD_TRY(check_updates(compute->node, &indices->shape, &updates->shape));
    ONNXD_TRY(onnxd_element_check(compute->node, &data->shape, &indices->shape, p->axis, &axis));
    ONNXD_TRY(onnxd_op_compute_copy(compute));
    onnxd_combiner combiner = {.compute = compute,
                               .reduction = p->reduction,
                               .dtype = data->dtype,
                               .out = onnxd_tensor_view_data(&compute->outputs[0]),
                               .updates = onnxd_tensor_view_data(updates)};
    onnxd_element_walk walk;
    int64_t offsets[ONNXD_OFFSETS_CHUNK];
    size_t count, done = 0;
    onnxd_element_walk_init(&walk, compute->node, &data->shape, indices, axis);
    for (;; done += count) {
        ONNXD_TRY(onnxd_element_walk_next(&walk, offsets, &count));
        if (count == 0)
            return NULL;
        ONNXD_TRY(onnxd_combine_at(&combiner, offsets, done, count));
    }
}

#define ROW(name, first, last, set, parse_function)                                                \
    {                                                                                              \
        .op_type = name, .domain = "", .since = first, .until = last, .min_inputs = 3,             \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET_INDEX, .type_variable = 2},                                 \
                   {.types = set, .type_variable = 1}},                                            \
        .outputs = {{.types = set, .type_variable = 1}}, .params_bytes = sizeof(scatter_params),   \
        .parse = parse_function, .infer = infer, .compute = compute                                \
    }

const onnxd_op_def onnxd_op_scatter_elements[] = {
    ROW("Scatter", 9, ONNXD_OPSET_MAX, ONNXD_SET_ANY_1, parse),
    ROW("ScatterElements", 11, 12, ONNXD_SET_ANY_1, parse),
    ROW("ScatterElements", 13, 15, ONNXD_SET_ANY_13, parse),
    ROW("ScatterElements", 16, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13, parse_16),
    {.op_type = NULL},
};

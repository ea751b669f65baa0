/* GatherElements: the output has the shape of the indices, each of which picks an element along one
 * axis at its own position in the others. */
#include "ops/index/offsets.h"
#include "ops/ops.h"
#include "ops/types.h"

typedef struct gather_elements_params {
    int64_t axis;
} gather_elements_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"axis", NULL};
    gather_elements_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &p->axis);
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const gather_elements_params *p = infer->params;
    const onnxd_shape *data = &infer->inputs[0].shape, *indices = &infer->inputs[1].shape;
    int32_t axis;
    infer->outputs[0].dtype = infer->inputs[0].dtype;
    ONNXD_TRY(onnxd_element_check(infer->node, data, indices, p->axis, &axis));
    infer->outputs[0].shape =
        indices->rank < 0 && data->rank >= 0 ? onnxd_shape_of_rank(data->rank) : *indices;
    return NULL;
}

#define DEFINE_PICK(bytes, T)                                                                      \
    static void pick_##bytes(void *out_data, const void *data, const int64_t *offsets,             \
                             size_t count)                                                         \
    {                                                                                              \
        T *out = out_data;                                                                         \
        const T *from = data;                                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = from[offsets[i]];                                                             \
    }
ONNXD_EACH_SIZE(DEFINE_PICK)

static void pick(size_t element_bytes, void *out, const void *data, const int64_t *offsets,
                 size_t count)
{
#define PICK(bytes, T)                                                                             \
    case bytes:                                                                                    \
        pick_##bytes(out, data, offsets, count);                                                   \
        break;
    switch (element_bytes) {
        ONNXD_EACH_SIZE(PICK)
    default:
        break;
    }
}

static onnxd_status *compute(const onnxd_compute *compute)
{
    const gather_elements_params *p = compute->params;
    const onnxd_tensor_view *data = &compute->inputs[0], *indices = &compute->inputs[1];
    int32_t axis;
    ONNXD_TRY(onnxd_element_check(compute->node, &data->shape, &indices->shape, p->axis, &axis));
    ONNXD_TRY(onnxd_op_check_output(compute, 0, &indices->shape));
    onnxd_element_walk walk;
    int64_t offsets[ONNXD_OFFSETS_CHUNK];
    size_t count, width = onnxd_dtype_size(data->dtype);
    char *out = onnxd_tensor_view_data(&compute->outputs[0]);
    const void *from = onnxd_tensor_view_data(data);
    onnxd_element_walk_init(&walk, compute->node, &data->shape, indices, axis);
    for (;; out += count * width) {
        ONNXD_TRY(onnxd_element_walk_next(&walk, offsets, &count));
        if (count == 0)
            return NULL;
        pick(width, out, from, offsets, count);
    }
}

#define ROW(first, last, set)                                                                      \
    {                                                                                              \
        .op_type = "GatherElements", .domain = "", .since = first, .until = last, .min_inputs = 2, \
        .max_inputs = 2, .min_outputs = 1, .max_outputs = 1,                                       \
        .inputs = {{.types = set, .type_variable = 1},                                             \
                   {.types = ONNXD_SET_INDEX, .type_variable = 2}},                                \
        .outputs = {{.types = set, .type_variable = 1}},                                           \
        .params_bytes = sizeof(gather_elements_params), .parse = parse, .infer = infer,            \
        .compute = compute                                                                         \
    }

const onnxd_op_def onnxd_op_gather_elements[] = {
    ROW(11, 12, ONNXD_SET_ANY_1),
    ROW(13, ONNXD_OPSET_MAX, ONNXD_SET_ANY_13),
    {.op_type = NULL},
};

#include "graph/batch.h"

#include "graph/internal.h"

bool onnxd_batch_has_parts(const onnxd_tensor_type *type, uint32_t parts)
{
    return type->kind == ONNXD_VALUE_TENSOR && type->dtype != ONNXD_STRING &&
           onnxd_dtype_size(type->dtype) > 0 && onnxd_shape_is_static(&type->shape) &&
           type->shape.rank > 0 && type->shape.dims[0] > 0 && type->shape.dims[0] % parts == 0;
}

onnxd_tensor_type onnxd_batch_part(const onnxd_tensor_type *type, uint32_t parts)
{
    onnxd_tensor_type part = *type;
    part.shape.dims[0] /= parts;
    return part;
}

/* Whether operator and node allow it, whatever the shapes. */
static bool has_batch(const onnxd_node *node, const onnxd_tensor_type *inputs,
                      const onnxd_tensor *const *constants, const onnxd_tensor_type *outputs)
{
    const onnxd_op_def *def = node->def;
    if (def == NULL || def->batch_inputs == 0 || node->capture_count > 0 ||
        node->input_count > ONNXD_BATCH_MAX_VALUES || node->output_count > ONNXD_BATCH_MAX_VALUES)
        return false;
    const onnxd_infer infer =
        onnxd_infer_of(node, inputs, constants, (onnxd_tensor_type *)(uintptr_t)outputs);
    return def->has_batch == NULL || def->has_batch(&infer);
}

static bool outputs_have_parts(const onnxd_node *node, const onnxd_tensor_type *outputs,
                               uint32_t parts, int64_t *out_extent)
{
    *out_extent = 0;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        if (!onnxd_batch_has_parts(&outputs[i], parts) ||
            (*out_extent != 0 && outputs[i].shape.dims[0] != *out_extent))
            return false;
        *out_extent = outputs[i].shape.dims[0];
    }
    return *out_extent != 0;
}

static bool may_hold_batch(const onnxd_op_def *def, uint32_t input)
{
    return (def->batch_inputs >> (input < 31 ? input : 31) & 1u) != 0;
}

/* Which inputs are cut. An input of a lower rank than the output has no batch to broadcasting
 * operators; those that lower the rank have outputs of a lower one. False where a constant would
 * have to be cut, which kernels may have taken in whole. */
static bool find_cut(const onnxd_node *node, const onnxd_tensor_type *inputs,
                     const onnxd_tensor *const *constants, const onnxd_tensor_type *output,
                     uint64_t *out_cut)
{
    *out_cut = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const onnxd_shape *shape = &inputs[i].shape;
        if (node->inputs[i] == ONNXD_NONE || !may_hold_batch(node->def, i) ||
            shape->rank < output->shape.rank || shape->dims[0] != output->shape.dims[0])
            continue;
        if (constants != NULL && constants[i] != NULL)
            return false;
        *out_cut |= (uint64_t)1 << i;
    }
    for (uint32_t i = 0; i < node->input_count; i++)
        for (uint32_t j = 0; j < node->input_count; j++)
            if (node->inputs[i] == node->inputs[j] && node->inputs[i] != ONNXD_NONE &&
                (*out_cut >> i & 1) != (*out_cut >> j & 1))
                return false;
    return *out_cut != 0;
}

/* Whether a part of the inputs makes the same part of the outputs. */
static bool shapes_agree(const onnxd_node *node, const onnxd_tensor_type *inputs,
                         const onnxd_tensor *const *constants, const onnxd_tensor_type *outputs,
                         uint32_t parts, uint64_t cut)
{
    onnxd_tensor_type part_inputs[ONNXD_BATCH_MAX_VALUES], part_outputs[ONNXD_BATCH_MAX_VALUES];
    for (uint32_t i = 0; i < node->input_count; i++)
        part_inputs[i] = (cut >> i & 1) != 0 ? onnxd_batch_part(&inputs[i], parts) : inputs[i];
    onnxd_status *status = onnxd_op_infer(node, part_inputs, constants, part_outputs);
    if (status != NULL) {
        onnxd_status_free(status);
        return false;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == ONNXD_NONE)
            continue;
        const onnxd_tensor_type part = onnxd_batch_part(&outputs[i], parts);
        if (part_outputs[i].dtype != part.dtype ||
            !onnxd_shape_equal(&part_outputs[i].shape, &part.shape))
            return false;
    }
    return true;
}

bool onnxd_batch_is_divisible(const onnxd_node *node, const onnxd_tensor_type *inputs,
                              const onnxd_tensor *const *constants,
                              const onnxd_tensor_type *outputs, uint32_t parts, uint64_t *out_cut)
{
    int64_t extent;
    uint64_t cut;
    if (!has_batch(node, inputs, constants, outputs) ||
        !outputs_have_parts(node, outputs, parts, &extent) ||
        !find_cut(node, inputs, constants, &outputs[0], &cut))
        return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if ((cut >> i & 1) != 0 && !onnxd_batch_has_parts(&inputs[i], parts))
            return false;
    if (!shapes_agree(node, inputs, constants, outputs, parts, cut))
        return false;
    *out_cut = cut;
    return true;
}

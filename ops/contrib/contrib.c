#include "ops/contrib/contrib.h"

#include <inttypes.h>

#include "ops/support.h"

onnxd_status *onnxd_contrib_last_dim(const onnxd_infer *infer, uint32_t index, int64_t *out_dim)
{
    const onnxd_shape *shape = &infer->inputs[index].shape;
    if (shape->rank == 0)
        return onnxd_op_error(infer->node,
                              "input %" PRIu32 " is a scalar, needed is rank 1 or more", index);
    *out_dim = shape->rank == ONNXD_RANK_UNKNOWN ? ONNXD_DIM_UNKNOWN : shape->dims[shape->rank - 1];
    return NULL;
}

onnxd_status *onnxd_contrib_check_type(const onnxd_infer *infer, uint32_t index,
                                       onnxd_dtype_set types)
{
    if (!onnxd_op_has_input(infer->node, index))
        return NULL;
    onnxd_dtype dtype = infer->inputs[index].dtype;
    if (dtype == ONNXD_UNDEFINED || (types >> dtype & 1) != 0)
        return NULL;
    char allowed[ONNXD_DTYPE_SET_TEXT];
    return onnxd_op_error(infer->node, "input %" PRIu32 " has type %s, allowed are %s", index,
                          onnxd_dtype_name(dtype),
                          onnxd_dtype_set_format(types, allowed, sizeof(allowed)));
}

void onnxd_contrib_add(const float *terms, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] += terms[i];
}

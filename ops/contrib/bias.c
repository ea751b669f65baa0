/* BiasAdd and BiasSplitGelu: a vector added to every row, then a second tensor added, or the first
 * half of the row weighed with the Gelu of the second. */
#include <inttypes.h>
#include <tgmath.h>

#include "ops/contrib/contrib.h"
#include "ops/gate.h"
#include "ops/ops.h"
#include "ops/real.h"
#include "ops/support.h"
#include "ops/types.h"

enum { X, BIAS, SKIP };

static onnxd_status *infer_add(onnxd_infer *context)
{
    const onnxd_shape *x = &context->inputs[X].shape;
    int64_t width;
    ONNXD_TRY(onnxd_contrib_last_dim(context, X, &width));
    ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 1, &width));
    if (x->rank != ONNXD_RANK_UNKNOWN)
        ONNXD_TRY(onnxd_infer_check_dims(context, SKIP, x->rank, x->dims));
    context->outputs[0] = context->inputs[X];
    return NULL;
}

static onnxd_status *infer_split(onnxd_infer *context)
{
    int64_t width;
    ONNXD_TRY(onnxd_contrib_last_dim(context, X, &width));
    ONNXD_TRY(onnxd_infer_check_dims(context, BIAS, 1, &width));
    if (onnxd_dim_is_static(width) && width % 2 != 0)
        return onnxd_op_error(
            context->node, "the last dimension of input 0 is %" PRId64 ", but must be even", width);
    context->outputs[0] = context->inputs[X];
    onnxd_shape *shape = &context->outputs[0].shape;
    if (shape->rank != ONNXD_RANK_UNKNOWN)
        shape->dims[shape->rank - 1] = onnxd_dim_is_static(width) ? width / 2 : ONNXD_DIM_UNKNOWN;
    return NULL;
}

#define KERNEL_FILE "ops/contrib/bias_kernel.inc"
#include "ops/for_floats.inc"
#undef KERNEL_FILE

static onnxd_status *compute_add(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs;
    size_t width = onnxd_tensor_view_count(&inputs[BIAS]);
    size_t count = onnxd_tensor_view_count(&inputs[X]);
    if (count == 0)
        return NULL;
    ONNXD_FOR_FLOAT(inputs[X].dtype, add)
    (count / width, width, onnxd_tensor_view_data(&inputs[X]),
     onnxd_tensor_view_data(&inputs[BIAS]), onnxd_tensor_view_data(&inputs[SKIP]),
     onnxd_tensor_view_data(&context->outputs[0]));
    return NULL;
}

static onnxd_status *compute_split(const onnxd_compute *context)
{
    const onnxd_tensor_view *inputs = context->inputs;
    size_t width = onnxd_tensor_view_count(&inputs[BIAS]);
    size_t count = onnxd_tensor_view_count(&inputs[X]);
    if (count == 0)
        return NULL;
    ONNXD_FOR_FLOAT(inputs[X].dtype, split)
    (count / width, width / 2, onnxd_tensor_view_data(&inputs[X]),
     onnxd_tensor_view_data(&inputs[BIAS]), onnxd_tensor_view_data(&context->outputs[0]));
    return NULL;
}

#define TYPES (ONNXD_SET(FLOAT) | ONNXD_SET(FLOAT16))
#define FORMAL                                                                                     \
    {                                                                                              \
        .types = TYPES, .type_variable = 1                                                         \
    }

const onnxd_op_def onnxd_op_contrib_bias[] = {
    {ONNXD_CONTRIB_NAME("BiasAdd"), .min_inputs = 3, .max_inputs = 3, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL, FORMAL, FORMAL}, .outputs = {FORMAL}, .infer = infer_add,
     .compute = compute_add},
    {ONNXD_CONTRIB_NAME("BiasSplitGelu"), .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,
     .max_outputs = 1, .inputs = {FORMAL, FORMAL}, .outputs = {FORMAL}, .infer = infer_split,
     .compute = compute_split},
    {.op_type = NULL},
};

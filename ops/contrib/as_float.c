#include "ops/contrib/as_float.h"

#include "base/size_math.h"
#include "ops/real.h"
#include "ops/support.h"

static bool add_half(const onnxd_tensor_view *views, uint32_t count, size_t *inout_total)
{
    for (uint32_t i = 0; i < count; i++)
        if (onnxd_real_is_half(views[i].dtype) &&
            !onnxd_size_add(*inout_total, onnxd_tensor_view_count(&views[i]), inout_total))
            return false;
    return true;
}

size_t onnxd_as_float_workspace_bytes(const onnxd_compute *compute)
{
    size_t total = 0;
    if (add_half(compute->inputs, compute->input_count, &total) &&
        add_half(compute->outputs, compute->output_count, &total) &&
        onnxd_size_mul(total, sizeof(float), &total))
        return total;
    return SIZE_MAX;
}

/* The view, or one of floats at *inout_next, which then moves on. */
static onnxd_tensor_view widened(const onnxd_tensor_view *view, float **inout_next)
{
    if (!onnxd_real_is_half(view->dtype))
        return *view;
    onnxd_tensor_view wide = onnxd_tensor_view_of(*inout_next, ONNXD_FLOAT, &view->shape);
    *inout_next += onnxd_tensor_view_count(view);
    return wide;
}

onnxd_status *onnxd_as_float_compute(const onnxd_compute *compute,
                                     onnxd_status *(*kernel)(const onnxd_compute *compute))
{
    onnxd_tensor_view inputs[ONNXD_OP_MAX_FORMALS], outputs[ONNXD_OP_MAX_FORMALS];
    onnxd_compute inner = *compute;
    float *next = compute->workspace;
    if (compute->input_count > ONNXD_OP_MAX_FORMALS || compute->output_count > ONNXD_OP_MAX_FORMALS)
        return onnxd_op_error_code(ONNXD_INTERNAL, compute->node, "it has more than %d operands",
                                   ONNXD_OP_MAX_FORMALS);
    for (uint32_t i = 0; i < compute->input_count; i++) {
        const onnxd_tensor_view *from = &compute->inputs[i];
        inputs[i] = widened(from, &next);
        if (onnxd_real_is_half(from->dtype))
            onnxd_real_widen(from->dtype, onnxd_tensor_view_data(from),
                             onnxd_tensor_view_count(from), onnxd_tensor_view_data(&inputs[i]));
    }
    for (uint32_t i = 0; i < compute->output_count; i++)
        outputs[i] = widened(&compute->outputs[i], &next);
    inner.inputs = inputs;
    inner.outputs = outputs;
    inner.workspace = NULL;
    ONNXD_TRY(kernel(&inner));
    for (uint32_t i = 0; i < compute->output_count; i++) {
        const onnxd_tensor_view *to = &compute->outputs[i];
        if (onnxd_real_is_half(to->dtype))
            onnxd_real_narrow(to->dtype, onnxd_tensor_view_data(&outputs[i]),
                              onnxd_tensor_view_count(to), onnxd_tensor_view_data(to));
    }
    return NULL;
}

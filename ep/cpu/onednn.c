#include "ep/cpu/onednn.h"

#include <stdio.h>

/* No operator here takes more. */
#define MAX_INPUTS 4

static bool are_float(const onnxd_tensor_type *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (types[i].dtype == ONNXD_UNDEFINED)
            continue;
        if (types[i].dtype != ONNXD_FLOAT)
            return false;
        for (int32_t d = 0; d < types[i].shape.rank; d++) {
            if (types[i].shape.dims[d] == 0)
                return false;
        }
    }
    return true;
}

bool onnxd_onednn_takes(const onnxd_cpu_case *c)
{
    return c->runtime->dnnl != NULL && c->query->input_count <= MAX_INPUTS &&
           are_float(c->query->inputs, c->query->input_count) &&
           are_float(c->outputs, c->query->output_count);
}

void onnxd_onednn_adopt(onnxd_cpu_kernel *kernel, onnxd_dnnl_op *op)
{
    snprintf(kernel->name, sizeof(kernel->name), "onednn:%s", onnxd_dnnl_op_implementation(op));
    kernel->state = op;
    kernel->base.implementation = kernel->name;
    kernel->base.workspace_bytes = onnxd_dnnl_op_workspace_bytes(op);
}

onnxd_status *onnxd_onednn_enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const void *inputs[MAX_INPUTS];
    void *output = onnxd_tensor_view_data(&args->outputs[0]);
    for (uint32_t i = 0; i < args->input_count; i++)
        inputs[i] = onnxd_tensor_view_is_present(&args->inputs[i])
                        ? onnxd_tensor_view_data(&args->inputs[i])
                        : NULL;
    return onnxd_dnnl_op_run(kernel->state, inputs, &output, args->workspace);
}

void onnxd_onednn_unmake(onnxd_cpu_kernel *kernel)
{
    onnxd_dnnl_op_destroy(kernel->state);
    kernel->state = NULL;
}

bool onnxd_onednn_can_fall_back(const onnxd_cpu_case *c)
{
    /* The workspace is the op's. */
    return onnxd_cpu_portable.takes(c) && c->def->workspace_bytes == NULL;
}

onnxd_status *onnxd_onednn_fall_back(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    return onnxd_cpu_portable.enqueue(kernel, args);
}

/* The last resort for every operator: the portable kernel of its definition, on one thread. */
#include <stdio.h>
#include <string.h>

#include "ep/cpu/internal.h"

static bool takes(const onnxd_cpu_case *c)
{
    return c->def->compute != NULL;
}

static onnxd_compute context_of(const onnxd_cpu_kernel *kernel, const onnxd_tensor_view *inputs,
                                onnxd_tensor_view *outputs)
{
    return (onnxd_compute){.node = &kernel->node,
                           .params = kernel->node.params,
                           .opset = kernel->opset,
                           .input_count = kernel->input_count,
                           .output_count = kernel->output_count,
                           .inputs = inputs,
                           .outputs = outputs};
}

/* Views without data, which is all that workspace_bytes() may look at. */
static void describe(const onnxd_tensor_type *types, uint32_t count, onnxd_tensor_view *views)
{
    for (uint32_t i = 0; i < count; i++) {
        if (types[i].dtype != ONNXD_UNDEFINED)
            views[i] = onnxd_tensor_view_of(NULL, types[i].dtype, &types[i].shape);
    }
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    kernel->base.implementation = "portable";
    kernel->base.workspace_bytes = 0;
    kernel->base.in_place_inputs = c->def->in_place_inputs;
    snprintf(kernel->name, sizeof(kernel->name), "portable:%s", c->node->op_type);
    if (c->def->workspace_bytes == NULL)
        return NULL;
    size_t count = (size_t)kernel->input_count + kernel->output_count;
    onnxd_tensor_view *views = onnxd_arena_alloc_zero(&kernel->arena, count + 1, sizeof(*views));
    if (views == NULL)
        return onnxd_error_out_of_memory("a kernel", count * sizeof(*views), UINT64_MAX);
    describe(kernel->inputs, kernel->input_count, views);
    describe(kernel->outputs, kernel->output_count, views + kernel->input_count);
    onnxd_compute context = context_of(kernel, views, views + kernel->input_count);
    size_t bytes = c->def->workspace_bytes(&context);
    if (bytes == SIZE_MAX)
        return onnxd_error_out_of_memory("a kernel's workspace", SIZE_MAX, UINT64_MAX);
    kernel->base.workspace_bytes = bytes;
    return NULL;
}

/* Operators name their node themselves; what they call does not. */
static onnxd_status *name_node(const onnxd_node *node, onnxd_status *status)
{
    char label[ONNXD_NODE_LABEL];
    onnxd_node_label(NULL, node, label, sizeof(label));
    if (strncmp(onnxd_status_message(status), label, strlen(label)) == 0)
        return status;
    return onnxd_status_context(status, "%s", label);
}

/* Whose fault it is decides what becomes of the request: data that an operator refuses (an index
 * out of range) is the client's, and a lack of room passes. Everything else is a failure here. */
static onnxd_status *failure_of(const onnxd_cpu_kernel *kernel, onnxd_status *status)
{
    switch (onnxd_status_code(status)) {
    case ONNXD_INVALID_ARGUMENT:
    case ONNXD_UNIMPLEMENTED:
    case ONNXD_RESOURCE_EXHAUSTED:
    case ONNXD_OUT_OF_MEMORY:
        return name_node(&kernel->node, status);
    default:
        break;
    }
    onnxd_status *failure = onnxd_error(ONNXD_KERNEL_FAILED, "%s", onnxd_status_message(status));
    onnxd_status_free(status);
    return name_node(&kernel->node, failure);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    onnxd_compute context = context_of(kernel, args->inputs, args->outputs);
    context.workspace = args->workspace;
    context.strings = args->strings;
    onnxd_status *status = kernel->node.def->compute(&context);
    return ONNXD_LIKELY(status == NULL) ? NULL : failure_of(kernel, status);
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_portable = {
    .name = "portable",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 2e3,
};

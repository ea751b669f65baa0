#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "ep/cpu/internal.h"

#define ARENA_BLOCK_BYTES 4096
#define ARENA_MAX_BYTES ((size_t)128 << 20)

static bool lies_as_allowed(const onnxd_tensor_view *view, uint64_t pitched, uint32_t index)
{
    size_t pitch;
    return onnxd_tensor_view_is_contiguous(view) ||
           (onnxd_kernel_allows(pitched, index) && onnxd_tensor_view_pitch(view, &pitch));
}

/* `pitched`: a mask of the kernel. */
static onnxd_status *check_views(const onnxd_cpu_kernel *kernel, const char *what,
                                 const onnxd_tensor_view *views, const onnxd_tensor_type *types,
                                 uint32_t count, uint64_t pitched)
{
    for (uint32_t i = 0; i < count; i++) {
        const onnxd_tensor_view *view = &views[i];
        const onnxd_tensor_type *type = &types[i];
        if (ONNXD_UNLIKELY(view->dtype != type->dtype ||
                           (type->dtype != ONNXD_UNDEFINED &&
                            (!onnxd_shape_equal(&view->shape, &type->shape) ||
                             !lies_as_allowed(view, pitched, i)))))
            return onnxd_error(ONNXD_INVALID_TENSOR_VIEW,
                               "%s %" PRIu32 " of kernel '%s' is not of the type, shape and "
                               "row-major layout that it was made for",
                               what, i, kernel->name);
    }
    return NULL;
}

static onnxd_status *enqueue(onnxd_kernel *base, const onnxd_kernel_args *args)
{
    onnxd_cpu_kernel *kernel = ONNXD_CONTAINER_OF(base, onnxd_cpu_kernel, base);
    if (ONNXD_UNLIKELY(args->input_count != kernel->input_count ||
                       args->output_count != kernel->output_count))
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "kernel '%s' takes %" PRIu32 " inputs and %" PRIu32
                           " outputs, given are %" PRIu32 " and %" PRIu32,
                           kernel->name, kernel->input_count, kernel->output_count,
                           args->input_count, args->output_count);
    ONNXD_TRY(check_views(kernel, "input", args->inputs, kernel->inputs, args->input_count,
                          base->pitched_inputs));
    ONNXD_TRY(check_views(kernel, "output", args->outputs, kernel->outputs, args->output_count,
                          base->pitched_outputs));
    uint64_t epoch;
    ONNXD_TRY(onnxd_cpu_runtime_begin(kernel->runtime, kernel->name, &epoch));
    onnxd_status *status = kernel->implementation->enqueue(kernel, args);
    onnxd_cpu_progress_end(&kernel->runtime->progress, epoch);
    return status;
}

static void release(onnxd_kernel *base)
{
    onnxd_cpu_runtime_put(ONNXD_CONTAINER_OF(base, onnxd_cpu_kernel, base));
}

static const onnxd_kernel_api api = {sizeof(api), enqueue, release};

/* ---- making ---------------------------------------------------------------------------------- */

static onnxd_status *copy_types(onnxd_arena *arena, const onnxd_tensor_type *types, uint32_t count,
                                onnxd_tensor_type **out_types)
{
    onnxd_tensor_type *copies = onnxd_arena_alloc_zero(arena, (size_t)count + 1, sizeof(*copies));
    if (copies == NULL)
        return onnxd_error_out_of_memory("a kernel", (size_t)count * sizeof(*copies), UINT64_MAX);
    if (count > 0)
        memcpy(copies, types, (size_t)count * sizeof(*copies));
    *out_types = copies;
    return NULL;
}

static onnxd_status *hold_constants(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    uint32_t count = c->query->input_count;
    bool has_any = false;
    for (uint32_t i = 0; i < count; i++)
        has_any = has_any || onnxd_cpu_constant(c, i) != NULL;
    if (!has_any)
        return NULL;
    kernel->constants = onnxd_arena_alloc_zero(&kernel->arena, count, sizeof(*kernel->constants));
    if (kernel->constants == NULL)
        return onnxd_error_out_of_memory("a kernel", (size_t)count * sizeof(*kernel->constants),
                                         UINT64_MAX);
    for (uint32_t i = 0; i < count; i++) {
        onnxd_tensor *constant = onnxd_cpu_constant(c, i);
        if (constant != NULL)
            kernel->constants[i] = onnxd_tensor_retain(constant);
    }
    return NULL;
}

/* Tries the implementations that take the case until one can. */
static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_cpu_implementation *candidate = NULL;
    while ((candidate = onnxd_cpu_next(c, candidate)) != NULL) {
        kernel->base.implementation = candidate->name;
        onnxd_status *status = candidate->make(c, kernel);
        if (status == NULL) {
            kernel->implementation = candidate;
            return NULL;
        }
        if (onnxd_status_code(status) != ONNXD_UNIMPLEMENTED)
            return status;
        onnxd_status_free(status);
        kernel->base = (onnxd_kernel){.api = &api};
    }
    return onnxd_error(ONNXD_NO_EP_FOR_OP, "operator '%s' has no kernel for this device",
                       c->node->op_type);
}

onnxd_status *onnxd_cpu_kernel_create(const onnxd_cpu_case *c, onnxd_cpu_runtime *runtime,
                                      onnxd_cpu_kernel **out_kernel)
{
    onnxd_status *status = NULL;
    onnxd_cpu_kernel *kernel = onnxd_alloc_zero(1, sizeof(*kernel));
    if (kernel == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*kernel), UINT64_MAX);
    onnxd_arena_init(&kernel->arena, ARENA_BLOCK_BYTES, ARENA_MAX_BYTES);
    onnxd_cpu_runtime_retain(runtime);
    kernel->runtime = runtime;
    kernel->base.api = &api;
    kernel->opset = c->query->opset;
    kernel->input_count = c->query->input_count;
    kernel->output_count = c->query->output_count;
    status = onnxd_cpu_node_copy(c, kernel);
    if (status != NULL)
        goto fail;
    status = copy_types(&kernel->arena, c->query->inputs, kernel->input_count, &kernel->inputs);
    if (status != NULL)
        goto fail;
    status = copy_types(&kernel->arena, c->outputs, kernel->output_count, &kernel->outputs);
    if (status != NULL)
        goto fail;
    status = hold_constants(c, kernel);
    if (status != NULL)
        goto fail;
    status = make(c, kernel);
    if (status != NULL)
        goto fail;
    kernel->holders = 1;
    *out_kernel = kernel;
    return NULL;

fail:
    onnxd_cpu_kernel_destroy(kernel);
    return status;
}

void onnxd_cpu_kernel_destroy(onnxd_cpu_kernel *kernel)
{
    if (kernel->implementation != NULL)
        kernel->implementation->unmake(kernel);
    for (uint32_t i = 0; kernel->constants != NULL && i < kernel->input_count; i++)
        onnxd_tensor_release(kernel->constants[i]);
    onnxd_cpu_node_drop(kernel);
    onnxd_arena_deinit(&kernel->arena);
    onnxd_free((void *)(uintptr_t)kernel->key);
    onnxd_cpu_runtime_release(kernel->runtime);
    onnxd_free(kernel);
}

/*
 * Relu of FLOAT on the team of threads that oneDNN has. oneDNN's own makes 0 of NaN, which has to
 * stay.
 */
#include <stdio.h>

#include "ep/cpu/onednn.h"

/* Below this, starting the team takes longer than the work. */
#define TEAM_COUNT 16384

/* ThreadSanitizer does not see the barriers of OpenMP and would take the end of the loop for a
 * race. */
#if defined(__SANITIZE_THREAD__)
#define ON_TEAM
#else
#define ON_TEAM _Pragma("omp parallel for schedule(static) if (count >= TEAM_COUNT)")
#endif

static onnxd_status *make(const onnxd_cpu_case *c ONNXD_UNUSED, onnxd_cpu_kernel *kernel)
{
    kernel->base.implementation = "team:relu";
    kernel->base.workspace_bytes = 0;
    snprintf(kernel->name, sizeof(kernel->name), "team:relu");
    return NULL;
}

/* The bits of negative infinity. Read as integers, negative numbers are not above it and all else
 * is: positive numbers, and NaN of either sign. Comparisons of floats may trap, which keeps
 * gcc from making vector instructions of them; of these it does. */
#define LOWEST_BITS (-0x800000)

static void relu(const int32_t *in, int32_t *out, int64_t count)
{
    ON_TEAM
    for (int64_t i = 0; i < count; i++)
        out[i] = in[i] & -(in[i] > LOWEST_BITS);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const onnxd_shape *shape = &args->inputs[0].shape;
    int64_t count = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        count *= shape->dims[i];
    onnxd_dnnl_enter(kernel->runtime->dnnl);
    relu(onnxd_tensor_view_data(&args->inputs[0]), onnxd_tensor_view_data(&args->outputs[0]),
         count);
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel ONNXD_UNUSED)
{
}

const onnxd_cpu_implementation onnxd_cpu_relu = {
    .name = "team:relu",
    .takes = onnxd_onednn_takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = ONNXD_ONEDNN_SIMPLE,
};

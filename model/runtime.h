/*
 * The runtime: the initialised provider instances and the host memory that every model shares. Made
 * once at start, ended after the last model.
 *
 * Threads: create and destroy before and after all others; everything else from any thread.
 */
#ifndef ONNXD_MODEL_RUNTIME_H
#define ONNXD_MODEL_RUNTIME_H

#include "ep/ep.h"
#include "memory/pool.h"
#include "model/weights.h"

typedef struct onnxd_runtime_options {
    size_t
        host_memory_limit_bytes; /* staging, boundary values and host activations; SIZE_MAX: none */
    size_t host_memory_cache_bytes; /* released blocks kept for reuse */
} onnxd_runtime_options;

typedef struct onnxd_runtime {
    onnxd_ep **eps; /* initialised; preferred first: the order of the configuration */
    size_t ep_count;
    const onnxd_op_registry *registry;
    onnxd_pool *host_pool; /* 64-byte aligned at least */
    onnxd_weights *weights;
} onnxd_runtime;

/* Takes over the instances; they are shut down and destroyed with the runtime. On failure they stay
 * with the caller. Errors: INVALID_ARGUMENT (no instance, two with one label),
 * DUPLICATE_CONTEXT_SOURCE (two providers with one EPContext source), OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_runtime_create(onnxd_ep *const *eps, size_t ep_count,
                                                   const onnxd_op_registry *registry,
                                                   const onnxd_runtime_options *options,
                                                   onnxd_runtime **out_runtime);
void onnxd_runtime_destroy(onnxd_runtime *runtime);

#endif

/*
 * Weights in the order that kernels read them in, made once per constant and form and shared by all
 * kernels of an instance: those of other input shapes, and of other models that share the constant.
 *
 * Threads: any; the list locks.
 */
#ifndef ONNXD_EP_CPU_PACKED_H
#define ONNXD_EP_CPU_PACKED_H

#include <pthread.h>

#include "base/status.h"
#include "base/tensor.h"
#include "memory/slabs.h"

typedef struct onnxd_cpu_packed onnxd_cpu_packed;

/* All of an instance's. */
typedef struct onnxd_cpu_packed_list {
    pthread_mutex_t mutex;
    onnxd_cpu_packed *first;
    onnxd_slabs *slabs;
} onnxd_cpu_packed_list;

#define ONNXD_CPU_PACKING_PARAMETERS 6

/* A form and how to make it. */
typedef struct onnxd_cpu_packing {
    const char *form; /* constant; with the parameters tells one form of a constant from another */
    uint64_t parameters[ONNXD_CPU_PACKING_PARAMETERS];
    size_t bytes; /* of the result, aligned to 64 */
    void (*pack)(const void *context, const onnxd_tensor *tensor, void *out);
    const void *context;
} onnxd_cpu_packing;

/* Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_packed_list_init(onnxd_cpu_packed_list *list);
/* Nobody may hold any of them. A list of zeros is fine. */
void onnxd_cpu_packed_list_deinit(onnxd_cpu_packed_list *list);

/* The caller holds the tensor as long as it holds the packed weights: its address stands for it.
 * Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_cpu_packed_acquire(onnxd_cpu_packed_list *list,
                                                       const onnxd_tensor *tensor,
                                                       const onnxd_cpu_packing *packing,
                                                       onnxd_cpu_packed **out_packed);
void onnxd_cpu_packed_release(onnxd_cpu_packed_list *list, onnxd_cpu_packed *packed);
const void *onnxd_cpu_packed_data(const onnxd_cpu_packed *packed);
/* How many there are, and their bytes. */
void onnxd_cpu_packed_query(onnxd_cpu_packed_list *list, size_t *out_count, size_t *out_bytes);

#endif

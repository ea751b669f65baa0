/*
 * oneDNN for the CPU provider: a context, and one maker per kind of primitive. This folder is the
 * only place that knows oneDNN; nothing of it shows here.
 *
 *   onnxd_dnnl_create ─► context (engine, streams, packed weights)
 *   onnxd_dnnl_<kind>_create ─► op: [reorders in] ─► primitive ─► [reorders out]
 *   onnxd_dnnl_op_run(op, inputs, outputs, workspace)
 *
 * Tensors that go in and out are FLOAT, row-major, without gaps; inside, an op may use the layouts
 * that oneDNN likes better, in its workspace. Constant weights are brought into that layout once
 * and shared by all ops that need the same.
 *
 * An op has the memory objects it needs from the start and only exchanges addresses when it runs,
 * so running allocates nothing of ours.
 *
 * Threads: any. Makers and run set the calling thread's OpenMP team to the context's size, since
 * oneDNN splits work by it when an op is made. Every op thus takes all threads, so ops run one at a
 * time: a caller waits for the one that another runs.
 * Errors: UNIMPLEMENTED when oneDNN has no optimised code for these shapes; OUT_OF_MEMORY;
 * KERNEL_FAILED.
 */
#ifndef ONNXD_EP_CPU_DNNL_PRIMITIVE_H
#define ONNXD_EP_CPU_DNNL_PRIMITIVE_H

#include "base/tensor.h"

typedef struct onnxd_dnnl onnxd_dnnl;
typedef struct onnxd_dnnl_op onnxd_dnnl_op;

#define ONNXD_DNNL_MAX_RANK 12
/* `threads` >= 1: the size of the OpenMP team. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_create(int threads, onnxd_dnnl **out_dnnl);
/* No op may be left. NULL is fine. */
void onnxd_dnnl_destroy(onnxd_dnnl *dnnl);
/* Gives the calling thread's OpenMP regions a team of the context's size. */
void onnxd_dnnl_enter(const onnxd_dnnl *dnnl);
/* Returns when the op is over that another caller runs at this moment, if any: for work that would
 * take the CPU from its threads. */
void onnxd_dnnl_yield(onnxd_dnnl *dnnl);
/* Packed weights that live, and their bytes. */
void onnxd_dnnl_query_packed(onnxd_dnnl *dnnl, size_t *out_count, size_t *out_bytes);

/* Inputs and outputs in the order that each maker states. `workspace` has
 * onnxd_dnnl_op_workspace_bytes(), aligned to 64 bytes. Errors: KERNEL_FAILED. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_run(onnxd_dnnl_op *op, const void *const *inputs,
                                                void *const *outputs, void *workspace);
size_t onnxd_dnnl_op_workspace_bytes(const onnxd_dnnl_op *op);
/* "jit:avx2"; lives as long as the op. */
const char *onnxd_dnnl_op_implementation(const onnxd_dnnl_op *op);
void onnxd_dnnl_op_destroy(onnxd_dnnl_op *op); /* NULL is fine */

/* ---- makers ---------------------------------------------------------------------------------- */

/* Arrays hold the `spatial` (1 to 3) last dimensions in order. */
typedef struct onnxd_dnnl_window {
    int spatial;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
} onnxd_dnnl_window;

/* inputs: source, weights, bias (if any). A constant is borrowed while the op lives; a variable
 * operand has NULL. */
typedef struct onnxd_dnnl_convolution {
    onnxd_dnnl_window window;
    int64_t batch, channels, maps, groups;
    bool has_bias;
    const onnxd_tensor *weights;
} onnxd_dnnl_convolution;
ONNXD_NODISCARD onnxd_status *
onnxd_dnnl_convolution_create(onnxd_dnnl *dnnl, const onnxd_dnnl_convolution *convolution,
                              onnxd_dnnl_op **out_op);

typedef enum onnxd_dnnl_pool {
    ONNXD_DNNL_POOL_MAX,
    ONNXD_DNNL_POOL_AVERAGE,          /* divides by the elements inside */
    ONNXD_DNNL_POOL_AVERAGE_WITH_PADS /* divides by the window */
} onnxd_dnnl_pool;
/* inputs: source. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_pool_create(onnxd_dnnl *dnnl, onnxd_dnnl_pool kind,
                                                     const onnxd_dnnl_window *window, int64_t batch,
                                                     int64_t channels, onnxd_dnnl_op **out_op);

/* out[batch..., rows, columns] = a[batch..., rows, depth] * b[batch..., depth, columns] + bias.
 * inputs: a, b, bias (if any). */
typedef struct onnxd_dnnl_product {
    int batch_rank;
    int64_t batch[ONNXD_DNNL_MAX_RANK]; /* of the result; a's or b's is 1 where it is broadcast */
    bool broadcasts_a[ONNXD_DNNL_MAX_RANK], broadcasts_b[ONNXD_DNNL_MAX_RANK];
    int64_t rows, depth, columns;
    bool transposes_a, transposes_b; /* the matrix lies transposed in memory */
    bool has_bias;                   /* one value per column; only without batch */
    const onnxd_tensor *b;           /* constant, or NULL; only without batch and
                                       transposes_a */
} onnxd_dnnl_product;
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_product_create(onnxd_dnnl *dnnl,
                                                        const onnxd_dnnl_product *product,
                                                        onnxd_dnnl_op **out_op);

/* Over the middle dimension of [outer, length, inner]. inputs: source. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_softmax_create(onnxd_dnnl *dnnl, int64_t outer,
                                                        int64_t length, int64_t inner, bool is_log,
                                                        onnxd_dnnl_op **out_op);

/* Source of rank 3 to 5. inputs: source. */
typedef struct onnxd_dnnl_lrn {
    int rank;
    int64_t dims[5];
    int64_t size;
    float alpha, beta, bias;
} onnxd_dnnl_lrn;
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_lrn_create(onnxd_dnnl *dnnl, const onnxd_dnnl_lrn *lrn,
                                                    onnxd_dnnl_op **out_op);

#endif

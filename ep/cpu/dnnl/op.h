/*
 * Building an op, inside this folder: memory objects with a rule where their address comes from,
 * and steps that run primitives on them in order. A maker creates an op, adds to it, and on any
 * failure destroys it, which undoes everything.
 */
#ifndef ONNXD_EP_CPU_DNNL_OP_H
#define ONNXD_EP_CPU_DNNL_OP_H

#include "ep/cpu/dnnl/compat.h"
#include "ep/cpu/dnnl/primitive.h"

typedef struct onnxd_dnnl_packed onnxd_dnnl_packed;

/* Errors of oneDNN as ours: UNIMPLEMENTED, OUT_OF_MEMORY or INTERNAL; NULL for success. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_error(dnnl_status_t code, const char *what);
dnnl_engine_t onnxd_dnnl_engine(const onnxd_dnnl *dnnl);
/* Waits until no other caller runs an op. The stream is the caller's until release. */
dnnl_stream_t onnxd_dnnl_acquire(onnxd_dnnl *dnnl);
void onnxd_dnnl_release(onnxd_dnnl *dnnl);

/* Row-major FLOAT. */
ONNXD_NODISCARD onnxd_status *onnxd_md_plain(onnxd_md *md, int rank, const int64_t *dims);
ONNXD_NODISCARD onnxd_status *onnxd_md_tagged(onnxd_md *md, int rank, const int64_t *dims,
                                              dnnl_format_tag_t tag);

/* A tensor's data in the layout `to`, made from `from` once and shared while anybody holds it. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_packed_acquire(onnxd_dnnl *dnnl,
                                                        const onnxd_tensor *tensor,
                                                        const onnxd_md *from, onnxd_md_ref to,
                                                        onnxd_dnnl_packed **out_packed);
void onnxd_dnnl_packed_release(onnxd_dnnl *dnnl, onnxd_dnnl_packed *packed);
void *onnxd_dnnl_packed_data(onnxd_dnnl_packed *packed);

/* Where a memory object's address comes from. */
typedef enum onnxd_dnnl_place {
    ONNXD_DNNL_INPUT,
    ONNXD_DNNL_OUTPUT,
    ONNXD_DNNL_WORKSPACE,
    ONNXD_DNNL_FIXED
} onnxd_dnnl_place;

#define ONNXD_DNNL_MAX_STEPS 6
#define ONNXD_DNNL_MAX_MEMORIES 16

ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_create(onnxd_dnnl *dnnl, onnxd_dnnl_op **out_op);
/* Input or output number `index` of the op. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_external(onnxd_dnnl_op *op, onnxd_dnnl_place place,
                                                         size_t index, onnxd_md_ref md,
                                                         dnnl_memory_t *out_memory);
/* Room in the workspace. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_scratch(onnxd_dnnl_op *op, onnxd_md_ref md,
                                                        dnnl_memory_t *out_memory);
/* Input `index`, lying as `given`, in the layout `wanted`: itself, or a copy made by a step. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_input(onnxd_dnnl_op *op, size_t index,
                                                      const onnxd_md *given, onnxd_md_ref wanted,
                                                      dnnl_memory_t *out_memory);
/* Output `index`, lying as `given`, that a step will write in the layout `written`: `out_result` is
 * the output itself, or room for onnxd_dnnl_op_finish_output() to copy from. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_output(onnxd_dnnl_op *op, size_t index,
                                                       const onnxd_md *given, onnxd_md_ref written,
                                                       dnnl_memory_t *out_output,
                                                       dnnl_memory_t *out_result);
/* To be called after the step; does nothing when both are one. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_finish_output(onnxd_dnnl_op *op, const onnxd_md *given,
                                                          dnnl_memory_t output,
                                                          onnxd_md_ref written,
                                                          dnnl_memory_t result);
/* A constant, lying as `given`, in the layout `wanted`: itself, or its packed form. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_constant(onnxd_dnnl_op *op,
                                                         const onnxd_tensor *tensor,
                                                         const onnxd_md *given, onnxd_md_ref wanted,
                                                         dnnl_memory_t *out_memory);
/* Makes the primitive and runs it on `args` (at most ONNXD_DNNL_MAX_MEMORIES) as the next step,
 * giving it scratch memory. The first step that is no reorder names the op; UNIMPLEMENTED when that
 * is oneDNN's unoptimised code. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_step(onnxd_dnnl_op *op,
                                                     const_dnnl_primitive_desc_t pd,
                                                     const dnnl_exec_arg_t *args, int arg_count);
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_add_reorder(onnxd_dnnl_op *op, onnxd_md_ref from_md,
                                                        dnnl_memory_t from, onnxd_md_ref to_md,
                                                        dnnl_memory_t to);
/* Attributes of every primitive: scratch memory is given by the caller. */
const_dnnl_primitive_attr_t onnxd_dnnl_attr(const onnxd_dnnl *dnnl);

/* The layout that a primitive descriptor chose for an argument. */
onnxd_md_ref onnxd_pd_md(const_dnnl_primitive_desc_t pd, int argument);

/* Completes an op of one primitive whose inputs and output are plain: input i goes to
 * `arguments[i]` with the layout sources[i]. Consumes `pd`. */
ONNXD_NODISCARD onnxd_status *onnxd_dnnl_op_finish_plain(onnxd_dnnl *dnnl, dnnl_primitive_desc_t pd,
                                                         const onnxd_md *const *sources,
                                                         const int *arguments, size_t count,
                                                         const onnxd_md *dst,
                                                         onnxd_dnnl_op **out_op);

#endif

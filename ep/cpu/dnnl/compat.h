/*
 * What differs between the C interfaces of oneDNN 2 and 3, under one set of names: memory
 * descriptors are values in one and objects in the other, and primitive descriptors are made in two
 * steps or in one. compat_v2.c or compat_v3.c is built, whichever fits the installed header.
 *
 * Only files of this folder include this header, or oneDNN's.
 */
#ifndef ONNXD_EP_CPU_DNNL_COMPAT_H
#define ONNXD_EP_CPU_DNNL_COMPAT_H

#include <stdbool.h>
#include <stddef.h>

#include <oneapi/dnnl/dnnl.h>

/* A memory descriptor that its holder ends with onnxd_md_deinit(); all zero is a valid empty one.
 */
typedef struct onnxd_md {
    dnnl_memory_desc_t value;
} onnxd_md;

/* How oneDNN's functions take a descriptor. */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t onnxd_md_ref;
static inline onnxd_md_ref onnxd_md_get(const onnxd_md *md)
{
    return md->value;
}
#else
typedef const dnnl_memory_desc_t *onnxd_md_ref;
static inline onnxd_md_ref onnxd_md_get(const onnxd_md *md)
{
    return &md->value;
}
#endif

dnnl_status_t onnxd_md_init_strided(onnxd_md *md, int rank, const dnnl_dims_t dims,
                                    dnnl_data_type_t type, const dnnl_dims_t strides);
/* dnnl_format_tag_any leaves the layout to the primitive. */
dnnl_status_t onnxd_md_init_tagged(onnxd_md *md, int rank, const dnnl_dims_t dims,
                                   dnnl_data_type_t type, dnnl_format_tag_t tag);
dnnl_status_t onnxd_md_init_copy(onnxd_md *md, onnxd_md_ref source);
void onnxd_md_deinit(onnxd_md *md);

/* The makers of primitive descriptors. `bias` may be NULL. */
typedef struct onnxd_pd_window {
    dnnl_dims_t strides, kernel, dilations, pads_begin, pads_end; /* dilations count from 0 */
} onnxd_pd_window;

dnnl_status_t onnxd_pd_convolution(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                   dnnl_alg_kind_t algorithm, const onnxd_md *src,
                                   const onnxd_md *weights, const onnxd_md *bias,
                                   const onnxd_md *dst, const onnxd_pd_window *window,
                                   const_dnnl_primitive_attr_t attr);
dnnl_status_t onnxd_pd_pooling(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                               dnnl_alg_kind_t algorithm, const onnxd_md *src, const onnxd_md *dst,
                               const onnxd_pd_window *window, const_dnnl_primitive_attr_t attr);
dnnl_status_t onnxd_pd_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onnxd_md *src,
                              const onnxd_md *weights, const onnxd_md *bias, const onnxd_md *dst,
                              const_dnnl_primitive_attr_t attr);
/* weights: [columns, depth]. */
dnnl_status_t onnxd_pd_inner_product(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                     const onnxd_md *src, const onnxd_md *weights,
                                     const onnxd_md *bias, const onnxd_md *dst,
                                     const_dnnl_primitive_attr_t attr);
dnnl_status_t onnxd_pd_softmax(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                               dnnl_alg_kind_t algorithm, const onnxd_md *data, int axis,
                               const_dnnl_primitive_attr_t attr);
dnnl_status_t onnxd_pd_lrn(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onnxd_md *data,
                           dnnl_dim_t size, float alpha, float beta, float bias,
                           const_dnnl_primitive_attr_t attr);

#endif

#include "ep/cpu/dnnl/compat.h"

dnnl_status_t onnxd_md_init_strided(onnxd_md *md, int rank, const dnnl_dims_t dims,
                                    dnnl_data_type_t type, const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(&md->value, rank, dims, type, strides);
}

dnnl_status_t onnxd_md_init_tagged(onnxd_md *md, int rank, const dnnl_dims_t dims,
                                   dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(&md->value, rank, dims, type, tag);
}

dnnl_status_t onnxd_md_init_copy(onnxd_md *md, onnxd_md_ref source)
{
    return dnnl_memory_desc_clone(&md->value, source);
}

void onnxd_md_deinit(onnxd_md *md)
{
    if (md->value != NULL)
        dnnl_memory_desc_destroy(md->value);
    md->value = NULL;
}

dnnl_status_t onnxd_pd_convolution(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                   dnnl_alg_kind_t algorithm, const onnxd_md *src,
                                   const onnxd_md *weights, const onnxd_md *bias,
                                   const onnxd_md *dst, const onnxd_pd_window *window,
                                   const_dnnl_primitive_attr_t attr)
{
    return dnnl_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_forward_inference, algorithm, src->value, weights->value,
        bias != NULL ? bias->value : NULL, dst->value, window->strides, window->dilations,
        window->pads_begin, window->pads_end, attr);
}

dnnl_status_t onnxd_pd_pooling(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                               dnnl_alg_kind_t algorithm, const onnxd_md *src, const onnxd_md *dst,
                               const onnxd_pd_window *window, const_dnnl_primitive_attr_t attr)
{
    return dnnl_pooling_forward_primitive_desc_create(
        pd, engine, dnnl_forward_inference, algorithm, src->value, dst->value, window->strides,
        window->kernel, window->dilations, window->pads_begin, window->pads_end, attr);
}

dnnl_status_t onnxd_pd_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onnxd_md *src,
                              const onnxd_md *weights, const onnxd_md *bias, const onnxd_md *dst,
                              const_dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(pd, engine, src->value, weights->value,
                                             bias != NULL ? bias->value : NULL, dst->value, attr);
}

dnnl_status_t onnxd_pd_inner_product(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                     const onnxd_md *src, const onnxd_md *weights,
                                     const onnxd_md *bias, const onnxd_md *dst,
                                     const_dnnl_primitive_attr_t attr)
{
    return dnnl_inner_product_forward_primitive_desc_create(
        pd, engine, dnnl_forward_inference, src->value, weights->value,
        bias != NULL ? bias->value : NULL, dst->value, attr);
}

dnnl_status_t onnxd_pd_softmax(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                               dnnl_alg_kind_t algorithm, const onnxd_md *data, int axis,
                               const_dnnl_primitive_attr_t attr)
{
    return dnnl_softmax_forward_primitive_desc_create(pd, engine, dnnl_forward_inference, algorithm,
                                                      data->value, data->value, axis, attr);
}

dnnl_status_t onnxd_pd_lrn(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onnxd_md *data,
                           dnnl_dim_t size, float alpha, float beta, float bias,
                           const_dnnl_primitive_attr_t attr)
{
    return dnnl_lrn_forward_primitive_desc_create(pd, engine, dnnl_forward_inference,
                                                  dnnl_lrn_across_channels, data->value,
                                                  data->value, size, alpha, beta, bias, attr);
}

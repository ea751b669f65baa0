/* Primitives that work on row-major tensors as they are. */
#include "ep/cpu/dnnl/op.h"

/* An op from one source to a result of the same shape. `code` is what making `pd` gave. */
static onnxd_status *finish_same(onnxd_dnnl *dnnl, dnnl_status_t code, dnnl_primitive_desc_t pd,
                                 const onnxd_md *md, const char *what, onnxd_dnnl_op **out_op)
{
    ONNXD_TRY(onnxd_dnnl_error(code, what));
    return onnxd_dnnl_op_finish_plain(dnnl, pd, &md, (const int[]){DNNL_ARG_SRC}, 1, md, out_op);
}

onnxd_status *onnxd_dnnl_softmax_create(onnxd_dnnl *dnnl, int64_t outer, int64_t length,
                                        int64_t inner, bool is_log, onnxd_dnnl_op **out_op)
{
    int64_t dims[] = {outer, length, inner};
    onnxd_md md = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_enter(dnnl);
    ONNXD_TRY(onnxd_md_plain(&md, inner == 1 ? 2 : 3, dims));
    dnnl_status_t code = onnxd_pd_softmax(&pd, onnxd_dnnl_engine(dnnl),
                                          is_log ? dnnl_softmax_log : dnnl_softmax_accurate, &md, 1,
                                          onnxd_dnnl_attr(dnnl));
    onnxd_status *status = finish_same(dnnl, code, pd, &md, "this softmax", out_op);
    onnxd_md_deinit(&md);
    return status;
}

onnxd_status *onnxd_dnnl_lrn_create(onnxd_dnnl *dnnl, const onnxd_dnnl_lrn *lrn,
                                    onnxd_dnnl_op **out_op)
{
    onnxd_md md = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_enter(dnnl);
    ONNXD_TRY(onnxd_md_plain(&md, lrn->rank, lrn->dims));
    dnnl_status_t code = onnxd_pd_lrn(&pd, onnxd_dnnl_engine(dnnl), &md, lrn->size, lrn->alpha,
                                      lrn->beta, lrn->bias, onnxd_dnnl_attr(dnnl));
    onnxd_status *status = finish_same(dnnl, code, pd, &md, "this normalisation", out_op);
    onnxd_md_deinit(&md);
    return status;
}

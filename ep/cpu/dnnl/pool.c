#include "ep/cpu/dnnl/op.h"

/* The source in the layout that is tried, and both ends as they lie. */
typedef struct layouts {
    onnxd_md src, dst;
    onnxd_md inner_src, inner_dst;
} layouts;

static void layouts_deinit(layouts *l)
{
    onnxd_md_deinit(&l->src);
    onnxd_md_deinit(&l->dst);
    onnxd_md_deinit(&l->inner_src);
    onnxd_md_deinit(&l->inner_dst);
}

static const dnnl_alg_kind_t algorithms[] = {
    [ONNXD_DNNL_POOL_MAX] = dnnl_pooling_max,
    [ONNXD_DNNL_POOL_AVERAGE] = dnnl_pooling_avg_exclude_padding,
    [ONNXD_DNNL_POOL_AVERAGE_WITH_PADS] = dnnl_pooling_avg_include_padding,
};

typedef struct pool {
    int rank;
    int64_t in[5], out[5];
    onnxd_pd_window window;
    dnnl_alg_kind_t algorithm;
} pool;

static onnxd_status *assemble(onnxd_dnnl_op *op, const layouts *l, const_dnnl_primitive_desc_t pd)
{
    onnxd_md_ref src_md = onnxd_pd_md(pd, DNNL_ARG_SRC), dst_md = onnxd_pd_md(pd, DNNL_ARG_DST);
    dnnl_exec_arg_t args[2] = {{.arg = DNNL_ARG_SRC}, {.arg = DNNL_ARG_DST}};
    ONNXD_TRY(onnxd_dnnl_op_add_input(op, 0, &l->src, src_md, &args[0].memory));
    dnnl_memory_t output = NULL;
    ONNXD_TRY(onnxd_dnnl_op_add_output(op, 0, &l->dst, dst_md, &output, &args[1].memory));
    ONNXD_TRY(onnxd_dnnl_op_add_step(op, pd, args, 2));
    return onnxd_dnnl_op_finish_output(op, &l->dst, output, dst_md, args[1].memory);
}

/* An op that pools in the layout `tag`. UNIMPLEMENTED when there is no fast code for it. */
static onnxd_status *create_with(onnxd_dnnl *dnnl, const pool *p, dnnl_format_tag_t tag,
                                 onnxd_dnnl_op **out_op)
{
    layouts l = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_op *op = NULL;
    onnxd_status *status = onnxd_md_plain(&l.src, p->rank, p->in);
    if (status != NULL)
        goto done;
    status = onnxd_md_plain(&l.dst, p->rank, p->out);
    if (status != NULL)
        goto done;
    status = onnxd_md_tagged(&l.inner_src, p->rank, p->in, tag);
    if (status != NULL)
        goto done;
    status = onnxd_md_tagged(&l.inner_dst, p->rank, p->out, dnnl_format_tag_any);
    if (status != NULL)
        goto done;
    status =
        onnxd_dnnl_error(onnxd_pd_pooling(&pd, onnxd_dnnl_engine(dnnl), p->algorithm, &l.inner_src,
                                          &l.inner_dst, &p->window, onnxd_dnnl_attr(dnnl)),
                         "this pool");
    if (status != NULL)
        goto done;
    status = onnxd_dnnl_op_create(dnnl, &op);
    if (status != NULL)
        goto done;
    status = assemble(op, &l, pd);
    if (status != NULL)
        goto done;
    *out_op = op;
    op = NULL;

done:
    onnxd_dnnl_op_destroy(op);
    dnnl_primitive_desc_destroy(pd);
    layouts_deinit(&l);
    return status;
}

onnxd_status *onnxd_dnnl_pool_create(onnxd_dnnl *dnnl, onnxd_dnnl_pool kind,
                                     const onnxd_dnnl_window *window, int64_t batch,
                                     int64_t channels, onnxd_dnnl_op **out_op)
{
    /* Row-major, then by blocks of 16 and 8 channels, by number of spatial dimensions. */
    static const dnnl_format_tag_t tags[][3] = {
        {dnnl_ncw, dnnl_nCw16c, dnnl_nCw8c},
        {dnnl_nchw, dnnl_nChw16c, dnnl_nChw8c},
        {dnnl_ncdhw, dnnl_nCdhw16c, dnnl_nCdhw8c},
    };
    pool p = {.rank = 2 + window->spatial,
              .in = {batch, channels},
              .out = {batch, channels},
              .algorithm = algorithms[kind]};
    for (int i = 0; i < window->spatial; i++) {
        p.in[2 + i] = window->in[i];
        p.out[2 + i] = window->out[i];
        p.window.strides[i] = window->stride[i];
        p.window.kernel[i] = window->kernel[i];
        p.window.dilations[i] = window->dilation[i] - 1;
        p.window.pads_begin[i] = window->pad_begin[i];
        p.window.pads_end[i] = window->pad_end[i];
    }
    onnxd_dnnl_enter(dnnl);
    onnxd_status *status = NULL;
    for (size_t i = 0; i < 3; i++) {
        onnxd_status_free(status);
        status = create_with(dnnl, &p, tags[window->spatial - 1][i], out_op);
        if (onnxd_status_code(status) != ONNXD_UNIMPLEMENTED)
            break;
    }
    return status;
}

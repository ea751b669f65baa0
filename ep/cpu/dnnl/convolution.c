#include "ep/cpu/dnnl/op.h"

/* The descriptors of one convolution: as the tensors lie, and as the primitive may choose. */
typedef struct layouts {
    onnxd_md src, weights, bias, dst;
    onnxd_md any_src, any_weights, any_dst;
} layouts;

static void layouts_deinit(layouts *l)
{
    onnxd_md_deinit(&l->src);
    onnxd_md_deinit(&l->weights);
    onnxd_md_deinit(&l->bias);
    onnxd_md_deinit(&l->dst);
    onnxd_md_deinit(&l->any_src);
    onnxd_md_deinit(&l->any_weights);
    onnxd_md_deinit(&l->any_dst);
}

static onnxd_status *layouts_init(layouts *l, const onnxd_dnnl_convolution *c)
{
    const onnxd_dnnl_window *w = &c->window;
    int64_t src[5] = {c->batch, c->channels}, dst[5] = {c->batch, c->maps};
    int64_t weights[6] = {c->groups, c->maps / c->groups, c->channels / c->groups};
    for (int i = 0; i < w->spatial; i++) {
        src[2 + i] = w->in[i];
        dst[2 + i] = w->out[i];
        weights[3 + i] = w->kernel[i];
    }
    int rank = 2 + w->spatial;
    /* Only grouped weights have a dimension for the group. */
    int skipped = c->groups == 1 ? 1 : 0;
    ONNXD_TRY(onnxd_md_plain(&l->src, rank, src));
    ONNXD_TRY(onnxd_md_plain(&l->dst, rank, dst));
    ONNXD_TRY(onnxd_md_plain(&l->weights, rank + 1 - skipped, weights + skipped));
    ONNXD_TRY(onnxd_md_tagged(&l->any_src, rank, src, dnnl_format_tag_any));
    ONNXD_TRY(onnxd_md_tagged(&l->any_dst, rank, dst, dnnl_format_tag_any));
    ONNXD_TRY(onnxd_md_tagged(&l->any_weights, rank + 1 - skipped, weights + skipped,
                              dnnl_format_tag_any));
    return onnxd_md_plain(&l->bias, 1, &c->maps);
}

/* Never by Winograd's method, which may lose digits and makes NaN of infinities: that is for
 * ep/cpu/compute, where its error is measured first. */
static dnnl_status_t choose(onnxd_dnnl *dnnl, const onnxd_dnnl_convolution *c, const layouts *l,
                            dnnl_primitive_desc_t *out_pd)
{
    onnxd_pd_window window = {0};
    for (int i = 0; i < c->window.spatial; i++) {
        window.strides[i] = c->window.stride[i];
        window.dilations[i] = c->window.dilation[i] - 1;
        window.pads_begin[i] = c->window.pad_begin[i];
        window.pads_end[i] = c->window.pad_end[i];
    }
    return onnxd_pd_convolution(out_pd, onnxd_dnnl_engine(dnnl), dnnl_convolution_direct,
                                &l->any_src, &l->any_weights, c->has_bias ? &l->bias : NULL,
                                &l->any_dst, &window, onnxd_dnnl_attr(dnnl));
}

static onnxd_status *assemble(onnxd_dnnl_op *op, const onnxd_dnnl_convolution *c, const layouts *l,
                              const_dnnl_primitive_desc_t pd)
{
    onnxd_md_ref dst_md = onnxd_pd_md(pd, DNNL_ARG_DST);
    onnxd_md_ref weights_md = onnxd_pd_md(pd, DNNL_ARG_WEIGHTS);
    dnnl_memory_t output = NULL;
    dnnl_exec_arg_t args[4] = {{.arg = DNNL_ARG_SRC}, {.arg = DNNL_ARG_WEIGHTS}};
    int count = 2;
    ONNXD_TRY(
        onnxd_dnnl_op_add_input(op, 0, &l->src, onnxd_pd_md(pd, DNNL_ARG_SRC), &args[0].memory));
    if (c->weights != NULL)
        ONNXD_TRY(
            onnxd_dnnl_op_add_constant(op, c->weights, &l->weights, weights_md, &args[1].memory));
    else
        ONNXD_TRY(onnxd_dnnl_op_add_input(op, 1, &l->weights, weights_md, &args[1].memory));
    if (c->has_bias) {
        args[count].arg = DNNL_ARG_BIAS;
        ONNXD_TRY(onnxd_dnnl_op_add_external(op, ONNXD_DNNL_INPUT, 2, onnxd_md_get(&l->bias),
                                             &args[count++].memory));
    }
    args[count].arg = DNNL_ARG_DST;
    ONNXD_TRY(onnxd_dnnl_op_add_output(op, 0, &l->dst, dst_md, &output, &args[count].memory));
    dnnl_memory_t result = args[count++].memory;
    ONNXD_TRY(onnxd_dnnl_op_add_step(op, pd, args, count));
    return onnxd_dnnl_op_finish_output(op, &l->dst, output, dst_md, result);
}

onnxd_status *onnxd_dnnl_convolution_create(onnxd_dnnl *dnnl,
                                            const onnxd_dnnl_convolution *convolution,
                                            onnxd_dnnl_op **out_op)
{
    layouts l = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_op *op = NULL;
    onnxd_dnnl_enter(dnnl);
    onnxd_status *status = layouts_init(&l, convolution);
    if (status != NULL)
        goto done;
    status = onnxd_dnnl_error(choose(dnnl, convolution, &l, &pd), "this convolution");
    if (status != NULL)
        goto done;
    status = onnxd_dnnl_op_create(dnnl, &op);
    if (status != NULL)
        goto done;
    status = assemble(op, convolution, &l, pd);
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

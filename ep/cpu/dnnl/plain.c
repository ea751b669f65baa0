/* Primitives that work on row-major tensors as they are. */
#include "ep/cpu/dnnl/op.h"

onnxd_status *onnxd_dnnl_pool_create(onnxd_dnnl *dnnl, onnxd_dnnl_pool kind,
                                     const onnxd_dnnl_window *window, int64_t batch,
                                     int64_t channels, onnxd_dnnl_op **out_op)
{
    static const dnnl_alg_kind_t algorithms[] = {
        [ONNXD_DNNL_POOL_MAX] = dnnl_pooling_max,
        [ONNXD_DNNL_POOL_AVERAGE] = dnnl_pooling_avg_exclude_padding,
        [ONNXD_DNNL_POOL_AVERAGE_WITH_PADS] = dnnl_pooling_avg_include_padding,
    };
    int64_t in[5] = {batch, channels}, out[5] = {batch, channels};
    onnxd_pd_window w = {0};
    for (int i = 0; i < window->spatial; i++) {
        in[2 + i] = window->in[i];
        out[2 + i] = window->out[i];
        w.strides[i] = window->stride[i];
        w.kernel[i] = window->kernel[i];
        w.dilations[i] = window->dilation[i] - 1;
        w.pads_begin[i] = window->pad_begin[i];
        w.pads_end[i] = window->pad_end[i];
    }
    onnxd_md src = {0}, dst = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_enter(dnnl);
    onnxd_status *status = onnxd_md_plain(&src, 2 + window->spatial, in);
    if (status == NULL)
        status = onnxd_md_plain(&dst, 2 + window->spatial, out);
    if (status == NULL)
        status = onnxd_dnnl_error(onnxd_pd_pooling(&pd, onnxd_dnnl_engine(dnnl), algorithms[kind],
                                                   &src, &dst, &w, onnxd_dnnl_attr(dnnl)),
                                  "this pool");
    if (status == NULL)
        status = onnxd_dnnl_op_finish_plain(dnnl, pd, (const onnxd_md *const[]){&src},
                                            (const int[]){DNNL_ARG_SRC}, 1, &dst, out_op);
    onnxd_md_deinit(&src);
    onnxd_md_deinit(&dst);
    return status;
}

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

onnxd_status *onnxd_dnnl_batch_normalization_create(onnxd_dnnl *dnnl, int64_t batch,
                                                    int64_t channels, int64_t inner, float epsilon,
                                                    onnxd_dnnl_op **out_op)
{
    static const int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN,
                                    DNNL_ARG_VARIANCE};
    /* Four dimensions, which is what oneDNN has fast code for. */
    int64_t dims[] = {batch, channels, inner, 1};
    onnxd_md data = {0}, statistic = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_enter(dnnl);
    onnxd_status *status = onnxd_md_plain(&data, 4, dims);
    if (status == NULL)
        status = onnxd_md_plain(&statistic, 1, &channels);
    if (status == NULL)
        status = onnxd_dnnl_error(
            onnxd_pd_batch_normalization(&pd, onnxd_dnnl_engine(dnnl), &data, epsilon,
                                         dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift,
                                         onnxd_dnnl_attr(dnnl)),
            "this normalisation");
    if (status == NULL) {
        const onnxd_md *sources[] = {&data, &statistic, &statistic, &statistic, &statistic};
        status = onnxd_dnnl_op_finish_plain(dnnl, pd, sources, arguments, 5, &data, out_op);
    }
    onnxd_md_deinit(&data);
    onnxd_md_deinit(&statistic);
    return status;
}

onnxd_status *onnxd_dnnl_elementwise_create(onnxd_dnnl *dnnl, onnxd_dnnl_elementwise kind,
                                            int64_t count, onnxd_dnnl_op **out_op)
{
    onnxd_md md = {0};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_engine_t engine = onnxd_dnnl_engine(dnnl);
    const_dnnl_primitive_attr_t attr = onnxd_dnnl_attr(dnnl);
    onnxd_dnnl_enter(dnnl);
    ONNXD_TRY(onnxd_md_plain(&md, 1, &count));
    dnnl_status_t code =
        kind == ONNXD_DNNL_RELU
            ? onnxd_pd_eltwise(&pd, engine, dnnl_eltwise_relu, &md, attr)
            : onnxd_pd_binary(&pd, engine,
                              kind == ONNXD_DNNL_ADD ? dnnl_binary_add : dnnl_binary_mul, &md,
                              attr);
    onnxd_status *status = onnxd_dnnl_error(code, "this elementwise operation");
    if (status == NULL) {
        const onnxd_md *sources[] = {&md, &md};
        static const int arguments[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};
        status = onnxd_dnnl_op_finish_plain(dnnl, pd, sources, arguments,
                                            kind == ONNXD_DNNL_RELU ? 1 : 2, &md, out_op);
    }
    onnxd_md_deinit(&md);
    return status;
}

/* ---- many sources ---------------------------------------------------------------------------- */

static onnxd_status *finish_many(onnxd_dnnl *dnnl, dnnl_primitive_desc_t pd, const onnxd_md *mds,
                                 int count, const onnxd_md *dst, onnxd_dnnl_op **out_op)
{
    const onnxd_md *sources[ONNXD_DNNL_MAX_SOURCES];
    int arguments[ONNXD_DNNL_MAX_SOURCES];
    for (int i = 0; i < count; i++) {
        sources[i] = &mds[i];
        arguments[i] = DNNL_ARG_MULTIPLE_SRC + i;
    }
    return onnxd_dnnl_op_finish_plain(dnnl, pd, sources, arguments, (size_t)count, dst, out_op);
}

static onnxd_status *check_sources(int count)
{
    if (count < 1 || count > ONNXD_DNNL_MAX_SOURCES)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "oneDNN is given %d sources, allowed are 1 to %d",
                           count, ONNXD_DNNL_MAX_SOURCES);
    return NULL;
}

onnxd_status *onnxd_dnnl_sum_create(onnxd_dnnl *dnnl, int64_t count, int source_count,
                                    onnxd_dnnl_op **out_op)
{
    onnxd_md sources[ONNXD_DNNL_MAX_SOURCES] = {0};
    float scales[ONNXD_DNNL_MAX_SOURCES];
    dnnl_primitive_desc_t pd = NULL;
    onnxd_status *status = check_sources(source_count);
    if (status != NULL)
        return status;
    onnxd_dnnl_enter(dnnl);
    for (int i = 0; i < source_count && status == NULL; i++) {
        scales[i] = 1.0f;
        status = onnxd_md_plain(&sources[i], 1, &count);
    }
    if (status == NULL)
        status =
            onnxd_dnnl_error(onnxd_pd_sum(&pd, onnxd_dnnl_engine(dnnl), &sources[0], source_count,
                                          scales, sources, onnxd_dnnl_attr(dnnl)),
                             "this sum");
    if (status == NULL)
        status = finish_many(dnnl, pd, sources, source_count, &sources[0], out_op);
    for (int i = 0; i < source_count; i++)
        onnxd_md_deinit(&sources[i]);
    return status;
}

onnxd_status *onnxd_dnnl_concat_create(onnxd_dnnl *dnnl, int64_t outer, int64_t inner,
                                       int source_count, const int64_t *lengths,
                                       onnxd_dnnl_op **out_op)
{
    onnxd_md sources[ONNXD_DNNL_MAX_SOURCES] = {0}, dst = {0};
    dnnl_primitive_desc_t pd = NULL;
    int64_t dims[] = {outer, 0, inner}, total = 0;
    onnxd_status *status = check_sources(source_count);
    if (status != NULL)
        return status;
    onnxd_dnnl_enter(dnnl);
    for (int i = 0; i < source_count && status == NULL; i++) {
        dims[1] = lengths[i];
        total += lengths[i];
        status = onnxd_md_plain(&sources[i], 3, dims);
    }
    dims[1] = total;
    if (status == NULL)
        status = onnxd_md_plain(&dst, 3, dims);
    if (status == NULL)
        status = onnxd_dnnl_error(onnxd_pd_concat(&pd, onnxd_dnnl_engine(dnnl), &dst, source_count,
                                                  1, sources, onnxd_dnnl_attr(dnnl)),
                                  "this concatenation");
    if (status == NULL)
        status = finish_many(dnnl, pd, sources, source_count, &dst, out_op);
    for (int i = 0; i < source_count; i++)
        onnxd_md_deinit(&sources[i]);
    onnxd_md_deinit(&dst);
    return status;
}

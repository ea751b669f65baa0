#include "ep/cpu/dnnl/op.h"

/* B and the bias also as the weights of an inner product, [columns, depth] and [columns]. */
typedef struct layouts {
    onnxd_md a, b, bias, dst;
    onnxd_md weights, any_weights, weights_bias;
} layouts;

static void layouts_deinit(layouts *l)
{
    onnxd_md_deinit(&l->a);
    onnxd_md_deinit(&l->b);
    onnxd_md_deinit(&l->weights);
    onnxd_md_deinit(&l->any_weights);
    onnxd_md_deinit(&l->weights_bias);
    onnxd_md_deinit(&l->bias);
    onnxd_md_deinit(&l->dst);
}

/* Row-major over [batch..., rows, columns], whose last two dimensions may lie exchanged. */
static onnxd_status *matrix_init(onnxd_md *md, const onnxd_dnnl_product *p, const bool *broadcasts,
                                 int64_t rows, int64_t columns, bool is_transposed)
{
    dnnl_dims_t dims = {0}, strides = {0};
    int rank = p->batch_rank + 2;
    int64_t stride = rows * columns;
    for (int i = p->batch_rank; i-- > 0;) {
        dims[i] = broadcasts != NULL && broadcasts[i] ? 1 : p->batch[i];
        strides[i] = stride;
        stride *= dims[i];
    }
    dims[rank - 2] = rows;
    dims[rank - 1] = columns;
    strides[rank - 2] = is_transposed ? 1 : columns;
    strides[rank - 1] = is_transposed ? rows : 1;
    return onnxd_dnnl_error(onnxd_md_init_strided(md, rank, dims, dnnl_f32, strides),
                            "this product");
}

static onnxd_status *layouts_init(layouts *l, const onnxd_dnnl_product *p)
{
    int64_t bias[2] = {1, p->columns};
    ONNXD_TRY(matrix_init(&l->a, p, p->broadcasts_a, p->rows, p->depth, p->transposes_a));
    ONNXD_TRY(matrix_init(&l->b, p, p->broadcasts_b, p->depth, p->columns, p->transposes_b));
    ONNXD_TRY(matrix_init(&l->dst, p, NULL, p->rows, p->columns, false));
    ONNXD_TRY(onnxd_md_plain(&l->bias, 2, bias));
    if (p->b == NULL)
        return NULL;
    int64_t weights[2] = {p->columns, p->depth};
    ONNXD_TRY(matrix_init(&l->weights, p, NULL, p->columns, p->depth, !p->transposes_b));
    ONNXD_TRY(onnxd_md_tagged(&l->any_weights, 2, weights, dnnl_format_tag_any));
    return onnxd_md_plain(&l->weights_bias, 1, &p->columns);
}

/* What the step is made of: constant weights go through an inner product, which packs them. */
static onnxd_status *choose(onnxd_dnnl *dnnl, const onnxd_dnnl_product *p, const layouts *l,
                            dnnl_primitive_desc_t *out_pd)
{
    dnnl_engine_t engine = onnxd_dnnl_engine(dnnl);
    const_dnnl_primitive_attr_t attr = onnxd_dnnl_attr(dnnl);
    dnnl_status_t code;
    if (p->b != NULL)
        code = onnxd_pd_inner_product(out_pd, engine, &l->a, &l->any_weights,
                                      p->has_bias ? &l->weights_bias : NULL, &l->dst, attr);
    else
        code = onnxd_pd_matmul(out_pd, engine, &l->a, &l->b, p->has_bias ? &l->bias : NULL, &l->dst,
                               attr);
    return onnxd_dnnl_error(code, "this product");
}

static onnxd_status *assemble(onnxd_dnnl_op *op, const onnxd_dnnl_product *p, const layouts *l,
                              const_dnnl_primitive_desc_t pd)
{
    dnnl_exec_arg_t args[4] = {
        {.arg = DNNL_ARG_SRC}, {.arg = DNNL_ARG_WEIGHTS}, {.arg = DNNL_ARG_DST}};
    int count = 3;
    ONNXD_TRY(
        onnxd_dnnl_op_add_external(op, ONNXD_DNNL_INPUT, 0, onnxd_md_get(&l->a), &args[0].memory));
    if (p->b != NULL)
        ONNXD_TRY(onnxd_dnnl_op_add_constant(op, p->b, &l->weights,
                                             onnxd_pd_md(pd, DNNL_ARG_WEIGHTS), &args[1].memory));
    else
        ONNXD_TRY(onnxd_dnnl_op_add_external(op, ONNXD_DNNL_INPUT, 1, onnxd_md_get(&l->b),
                                             &args[1].memory));
    ONNXD_TRY(onnxd_dnnl_op_add_external(op, ONNXD_DNNL_OUTPUT, 0, onnxd_md_get(&l->dst),
                                         &args[2].memory));
    if (p->has_bias) {
        args[count].arg = DNNL_ARG_BIAS;
        ONNXD_TRY(onnxd_dnnl_op_add_external(op, ONNXD_DNNL_INPUT, 2,
                                             onnxd_pd_md(pd, DNNL_ARG_BIAS), &args[count].memory));
        count++;
    }
    return onnxd_dnnl_op_add_step(op, pd, args, count);
}

onnxd_status *onnxd_dnnl_product_create(onnxd_dnnl *dnnl, const onnxd_dnnl_product *product,
                                        onnxd_dnnl_op **out_op)
{
    layouts l = {0};
    dnnl_primitive_desc_t pd = NULL;
    onnxd_dnnl_op *op = NULL;
    onnxd_dnnl_enter(dnnl);
    onnxd_status *status = layouts_init(&l, product);
    if (status != NULL)
        goto done;
    status = choose(dnnl, product, &l, &pd);
    if (status != NULL)
        goto done;
    status = onnxd_dnnl_op_create(dnnl, &op);
    if (status != NULL)
        goto done;
    status = assemble(op, product, &l, pd);
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

/* Gemm and MatMul. */
#include "ep/cpu/onednn.h"
#include "ops/nn.h"

static onnxd_status *make_product(const onnxd_cpu_case *c, const onnxd_dnnl_product *product,
                                  onnxd_cpu_kernel *kernel)
{
    onnxd_dnnl_op *op = NULL;
    ONNXD_TRY(onnxd_dnnl_product_create(c->runtime->dnnl, product, &op));
    onnxd_onednn_adopt(kernel, op);
    return NULL;
}

/* ---- Gemm ------------------------------------------------------------------------------------ */

/* One value per column: [columns] or [1, columns]. */
static bool is_row(const onnxd_shape *c, int64_t columns)
{
    if (c->rank != 1 && c->rank != 2)
        return false;
    return c->dims[c->rank - 1] == columns && (c->rank == 1 || c->dims[0] == 1);
}

static bool takes_gemm(const onnxd_cpu_case *c)
{
    const onnxd_gemm_params *params = c->node->params;
    if (!onnxd_onednn_takes(c) || params->alpha != 1.0f)
        return false;
    if (!onnxd_cpu_has_input(c, 2))
        return true;
    return params->beta == 1.0f &&
           (!c->is_static || is_row(&c->query->inputs[2].shape, c->outputs[0].shape.dims[1]));
}

static onnxd_status *make_gemm(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_gemm_params *params = kernel->node.params;
    const onnxd_shape *a = &c->query->inputs[0].shape;
    onnxd_dnnl_product product = {.rows = c->outputs[0].shape.dims[0],
                                  .depth = a->dims[params->transposes_a ? 0 : 1],
                                  .columns = c->outputs[0].shape.dims[1],
                                  .transposes_a = params->transposes_a,
                                  .transposes_b = params->transposes_b,
                                  .has_bias = onnxd_cpu_has_input(c, 2),
                                  .b = params->transposes_a ? NULL : onnxd_cpu_constant(c, 1)};
    return make_product(c, &product, kernel);
}

/* ---- MatMul ---------------------------------------------------------------------------------- */

static bool takes_matmul(const onnxd_cpu_case *c)
{
    const onnxd_tensor_type *inputs = c->query->inputs;
    return onnxd_onednn_takes(c) && inputs[0].shape.rank <= ONNXD_DNNL_MAX_RANK &&
           inputs[1].shape.rank <= ONNXD_DNNL_MAX_RANK;
}

static onnxd_status *make_matmul(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    onnxd_matmul_extent e =
        onnxd_matmul_extent_of(&c->query->inputs[0].shape, &c->query->inputs[1].shape);
    onnxd_dnnl_product product = {.rows = (int64_t)e.rows,
                                  .depth = (int64_t)e.depth,
                                  .columns = (int64_t)e.columns,
                                  .b = onnxd_cpu_constant(c, 1)};
    bool has_batch_b = false;
    int64_t batch = 1;
    for (int32_t i = 0; i < e.batch_rank; i++) {
        has_batch_b = has_batch_b || e.b_strides[i] != 0;
        batch *= e.batch_dims[i];
    }
    if (!has_batch_b) {
        /* One B for all: the batch of A is just more rows. */
        product.rows *= batch;
        return make_product(c, &product, kernel);
    }
    product.b = NULL;
    product.batch_rank = e.batch_rank;
    for (int32_t i = 0; i < e.batch_rank; i++) {
        product.batch[i] = e.batch_dims[i];
        product.broadcasts_a[i] = e.a_strides[i] == 0;
        product.broadcasts_b[i] = e.b_strides[i] == 0;
    }
    return make_product(c, &product, kernel);
}

ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_gemm, takes_gemm, make_gemm, ONNXD_ONEDNN_ARITHMETIC);
ONNXD_ONEDNN_IMPLEMENTATION(onnxd_cpu_onednn_matmul, takes_matmul, make_matmul,
                            ONNXD_ONEDNN_ARITHMETIC);

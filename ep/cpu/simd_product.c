/* Gemm, MatMul and the domain onnxd's Dense. */
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/compute/bf16_product.h"
#include "ep/cpu/compute/dense.h"
#include "ep/cpu/simd.h"
#include "ops/layout/dense.h"
#include "ops/nn.h"

enum { A, B, C };

/* ---- constant weights ------------------------------------------------------------------------ */

typedef struct product_state {
    onnxd_dense dense;
    onnxd_cpu_packed *packed;
    float *bias; /* padded; NULL: none */
} product_state;

typedef struct pack_context {
    const onnxd_simd *simd;
    size_t depth, columns;
    bool is_transposed, is_bf16;
} pack_context;

static void pack(const void *context, const onnxd_tensor *tensor, void *out)
{
    const pack_context *p = context;
    const onnxd_product_strides strides = {.step = p->is_transposed ? 1 : p->columns,
                                           .column = p->is_transposed ? p->depth : 1};
    if (p->is_bf16)
        onnxd_bf16_pack(p->simd, 1, p->depth, p->columns, tensor->data, &strides, out);
    else
        onnxd_product_pack(p->simd, 1, p->depth, p->columns, tensor->data, &strides, out);
}

static bool packed_bytes(const pack_context *p, size_t *out_bytes)
{
    size_t count;
    return (p->is_bf16 ? onnxd_bf16_packed_count
                       : onnxd_product_packed_count)(p->simd, p->depth, p->columns, &count) &&
           onnxd_size_mul(count, p->is_bf16 ? sizeof(uint16_t) : sizeof(float), out_bytes);
}

static void unmake_dense(onnxd_cpu_kernel *kernel)
{
    product_state *state = kernel->state;
    if (state == NULL)
        return;
    if (state->packed != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->packed);
    onnxd_free(state->bias);
    onnxd_free(state);
    kernel->state = NULL;
}

static onnxd_status *pad_bias(const onnxd_tensor *bias, size_t columns, uint32_t width,
                              float **out_bias)
{
    const size_t count = (columns + width - 1) / width * width;
    float *padded = onnxd_alloc_zero(count + 1, sizeof(float));
    if (padded == NULL)
        return onnxd_error_out_of_memory("a bias", count * sizeof(float), UINT64_MAX);
    for (size_t i = 0; i < columns; i++)
        padded[i] = ((const float *)bias->data)[bias->count == 1 ? 0 : i];
    *out_bias = padded;
    return NULL;
}

/* `bias` is constant, of one element or one per column, or NULL. */
static onnxd_status *build_dense(onnxd_cpu_kernel *kernel, product_state *state, size_t rows,
                                 const pack_context *context, const onnxd_tensor *bias)
{
    const onnxd_simd *simd = context->simd;
    onnxd_cpu_packing packing = {
        .form = "product",
        .parameters = {context->depth, context->columns, context->is_transposed, context->is_bf16},
        .pack = pack,
        .context = context};
    if (!packed_bytes(context, &packing.bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "the weights of this product are too large");
    ONNXD_TRY(onnxd_cpu_packed_acquire(&kernel->runtime->packed, kernel->constants[B], &packing,
                                       &state->packed));
    if (bias != NULL)
        ONNXD_TRY(pad_bias(bias, context->columns, simd->tile_columns, &state->bias));
    const void *packed = onnxd_cpu_packed_data(state->packed);
    state->dense = (onnxd_dense){.simd = simd,
                                 .rows = rows,
                                 .depth = context->depth,
                                 .columns = context->columns,
                                 .a_stride = context->depth,
                                 .c_stride = context->columns,
                                 .packed = context->is_bf16 ? NULL : packed,
                                 .packed_bf16 = context->is_bf16 ? packed : NULL,
                                 .post = {.bias = state->bias}};
    onnxd_simd_name_product(kernel, "product", context->is_bf16);
    return NULL;
}

/* Of the context all but is_bf16 is set. */
static onnxd_status *make_dense(onnxd_cpu_kernel *kernel, size_t rows, pack_context *context,
                                const onnxd_tensor *bias)
{
    product_state *state = onnxd_alloc_zero(1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a product", sizeof(*state), UINT64_MAX);
    kernel->state = state;
    context->is_bf16 = onnxd_simd_rounds(kernel->runtime, rows, kernel->constants[B]);
    onnxd_status *status = build_dense(kernel, state, rows, context, bias);
    if (status != NULL)
        unmake_dense(kernel);
    return status;
}

static onnxd_status *enqueue_dense(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const product_state *state = kernel->state;
    onnxd_dense_run(&state->dense, kernel->runtime->team, onnxd_simd_input(args, A),
                    onnxd_simd_output(args, 0));
    return NULL;
}

/* ---- Gemm ------------------------------------------------------------------------------------ */

/* One value, or one for each of the columns: [], [1], [columns], [1, columns]. */
static bool is_row(const onnxd_tensor *tensor, int64_t columns)
{
    const onnxd_shape *shape = &tensor->shape;
    if (tensor->count == 1)
        return shape->rank <= 2;
    return (shape->rank == 1 || (shape->rank == 2 && shape->dims[0] == 1)) &&
           shape->dims[shape->rank - 1] == columns;
}

static bool takes_gemm(const onnxd_cpu_case *c)
{
    const onnxd_gemm_params *params = c->node->params;
    if (!onnxd_simd_takes(c) || onnxd_cpu_constant(c, B) == NULL || params->alpha != 1.0f ||
        params->transposes_a)
        return false;
    if (!onnxd_cpu_has_input(c, C))
        return true;
    const onnxd_tensor *bias = onnxd_cpu_constant(c, C);
    const onnxd_shape *weights = &onnxd_cpu_constant(c, B)->shape;
    return params->beta == 1.0f && bias != NULL &&
           is_row(bias, weights->dims[params->transposes_b ? 0 : 1]);
}

static onnxd_status *make_gemm(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_gemm_params *params = c->node->params;
    const onnxd_shape *a = &c->query->inputs[A].shape;
    pack_context context = {.simd = c->runtime->simd,
                            .depth = (size_t)a->dims[1],
                            .columns = (size_t)c->outputs[0].shape.dims[1],
                            .is_transposed = params->transposes_b};
    return make_dense(kernel, (size_t)a->dims[0], &context,
                      onnxd_cpu_has_input(c, C) ? onnxd_cpu_constant(c, C) : NULL);
}

const onnxd_cpu_implementation onnxd_cpu_simd_gemm = {
    .name = "simd:product",
    .takes = takes_gemm,
    .make = make_gemm,
    .enqueue = enqueue_dense,
    .unmake = unmake_dense,
    .flops_per_us = 90e3,
};

/* ---- MatMul by constant weights -------------------------------------------------------------- */

static bool takes_matmul(const onnxd_cpu_case *c)
{
    const onnxd_tensor *weights = onnxd_cpu_constant(c, B);
    return onnxd_simd_takes(c) && weights != NULL && weights->shape.rank == 2;
}

static onnxd_status *make_rows(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel,
                               const onnxd_tensor *bias)
{
    const onnxd_matmul_extent e =
        onnxd_matmul_extent_of(&c->query->inputs[A].shape, &c->query->inputs[B].shape);
    pack_context context = {.simd = c->runtime->simd, .depth = e.depth, .columns = e.columns};
    size_t rows = e.rows;
    /* One B for all: the batch of A is just more rows. */
    for (int32_t i = 0; i < e.batch_rank; i++)
        rows *= (size_t)e.batch_dims[i];
    return make_dense(kernel, rows, &context, bias);
}

static onnxd_status *make_matmul(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    return make_rows(c, kernel, NULL);
}

const onnxd_cpu_implementation onnxd_cpu_simd_matmul = {
    .name = "simd:product",
    .takes = takes_matmul,
    .make = make_matmul,
    .enqueue = enqueue_dense,
    .unmake = unmake_dense,
    .flops_per_us = 90e3,
};

/* ---- Dense ----------------------------------------------------------------------------------- */

enum { BIAS = 2, RESIDUAL };

static bool takes_dense(const onnxd_cpu_case *c)
{
    const onnxd_dense_params *params = c->node->params;
    onnxd_simd_activation activation;
    return takes_matmul(c) &&
           (!onnxd_cpu_has_input(c, BIAS) || onnxd_cpu_constant(c, BIAS) != NULL) &&
           onnxd_simd_activation_of(&params->activation, &activation);
}

static onnxd_status *make_fused(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_dense_params *params = c->node->params;
    ONNXD_TRY(
        make_rows(c, kernel, onnxd_cpu_has_input(c, BIAS) ? onnxd_cpu_constant(c, BIAS) : NULL));
    product_state *state = kernel->state;
    onnxd_simd_activation_of(&params->activation, &state->dense.post.activation);
    return NULL;
}

static onnxd_status *enqueue_fused(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    onnxd_dense dense = ((const product_state *)kernel->state)->dense;
    dense.post.residual = onnxd_simd_input(args, RESIDUAL);
    dense.post.residual_stride = dense.columns;
    onnxd_dense_run(&dense, kernel->runtime->team, onnxd_simd_input(args, A),
                    onnxd_simd_output(args, 0));
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_dense = {
    .name = "simd:product",
    .takes = takes_dense,
    .make = make_fused,
    .enqueue = enqueue_fused,
    .unmake = unmake_dense,
    .flops_per_us = 90e3,
};

/* ---- MatMul of values ------------------------------------------------------------------------ */

typedef struct batched_state {
    onnxd_matmul_extent extent;
    onnxd_batched_product product;
} batched_state;

static void locate(const void *context, size_t batch, size_t *out_a, size_t *out_b)
{
    onnxd_matmul_locate(context, batch, out_a, out_b);
}

static onnxd_status *make_batched(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    size_t elements;
    batched_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a product", sizeof(*state), UINT64_MAX);
    state->extent = onnxd_matmul_extent_of(&c->query->inputs[A].shape, &c->query->inputs[B].shape);
    const onnxd_matmul_extent *e = &state->extent;
    state->product = (onnxd_batched_product){.simd = c->runtime->simd,
                                             .batches = 1,
                                             .rows = e->rows,
                                             .depth = e->depth,
                                             .columns = e->columns,
                                             .locate = locate,
                                             .context = e};
    for (int32_t i = 0; i < e->batch_rank; i++)
        state->product.batches *= (size_t)e->batch_dims[i];
    if (!onnxd_batched_product_workspace(&state->product, onnxd_team_threads(c->runtime->team),
                                         &elements))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this product is too large");
    kernel->base.workspace_bytes = elements * sizeof(float);
    kernel->state = state;
    onnxd_simd_name(kernel, "batched");
    return NULL;
}

static onnxd_status *enqueue_batched(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const batched_state *state = kernel->state;
    onnxd_batched_product_run(&state->product, kernel->runtime->team, onnxd_simd_input(args, A),
                              onnxd_simd_input(args, B), onnxd_simd_output(args, 0),
                              args->workspace);
    return NULL;
}

static void unmake_batched(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_batched_matmul = {
    .name = "simd:batched",
    .takes = onnxd_simd_takes,
    .make = make_batched,
    .enqueue = enqueue_batched,
    .unmake = unmake_batched,
    .flops_per_us = 80e3,
};

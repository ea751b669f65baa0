#include "ep/cpu/compute/dense.h"

#include "base/size_math.h"
#include "ep/cpu/compute/pieces.h"

/* Multiplications that are worth waking the team for. */
#define TEAM_WORK 65536.0

/* ---- one product ----------------------------------------------------------------------------- */

typedef struct dense_run {
    const onnxd_dense *dense;
    const float *a;
    float *c;
    onnxd_product_pieces pieces;
} dense_run;

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const dense_run *run = context;
    const onnxd_dense *d = run->dense;
    const onnxd_product_piece piece = onnxd_product_piece_at(&run->pieces, index);
    const size_t first = piece.first_row;
    const float *pointers[ONNXD_BLOCK_ROWS];
    onnxd_simd_post post = d->post;
    (void)worker;
    for (uint32_t i = 0; i < piece.rows; i++)
        pointers[i] = run->a + (first + i) * d->a_stride;
    if (post.residual != NULL)
        post.residual += first * post.residual_stride;
    const onnxd_product_block block = {
        .a = pointers,
        .taps = 1,
        .depth = d->depth,
        .packed = d->packed,
        .packed_bf16 = d->packed_bf16,
        .first_column = piece.column,
        .columns = piece.columns,
        .c = run->c + first * d->c_stride,
        .c_stride = d->c_stride,
        .rows = piece.rows,
        .post = post,
    };
    onnxd_product_block_run(d->simd, &block);
}

static bool is_worth_a_team(size_t rows, size_t depth, size_t columns)
{
    return (double)rows * (double)depth * (double)columns >= TEAM_WORK;
}

static dense_run cut(const onnxd_dense *d, uint32_t threads, const float *a, float *c)
{
    const double depth_bytes = (double)(d->depth * sizeof(float));
    const onnxd_product_extent extent = {.rows = d->rows,
                                         .columns = d->columns,
                                         .groups = 1,
                                         .weight_bytes = (double)d->columns * depth_bytes,
                                         .row_bytes = (double)d->rows * depth_bytes};
    return (dense_run){
        .dense = d, .a = a, .c = c, .pieces = onnxd_product_cut(d->simd, &extent, threads)};
}

void onnxd_dense_run(const onnxd_dense *dense, onnxd_team *team, const float *a, float *c)
{
    if (dense->rows == 0 || dense->columns == 0)
        return;
    const bool is_large = is_worth_a_team(dense->rows, dense->depth, dense->columns);
    dense_run run = cut(dense, is_large ? onnxd_team_width(team) : 1, a, c);
    onnxd_team_run(team, run.pieces.count, run_piece, &run);
}

/* ---- many products --------------------------------------------------------------------------- */

typedef struct batched_run {
    const onnxd_batched_product *product;
    const float *a, *b;
    float *c, *workspace;
    size_t packed; /* elements */
} batched_run;

bool onnxd_batched_product_workspace(const onnxd_batched_product *product, uint32_t threads,
                                     size_t *out_elements)
{
    size_t packed;
    return onnxd_product_packed_count(product->simd, product->depth, product->columns, &packed) &&
           onnxd_size_mul(packed, threads, out_elements) &&
           *out_elements <= SIZE_MAX / sizeof(float);
}

static void run_batch(void *context, size_t batch, uint32_t worker)
{
    const batched_run *run = context;
    const onnxd_batched_product *p = run->product;
    const onnxd_product_strides strides = {.step = p->columns, .column = 1};
    float *packed = run->workspace + worker * run->packed;
    size_t a_index, b_index;
    p->locate(p->context, batch, &a_index, &b_index);
    onnxd_product_pack(p->simd, 1, p->depth, p->columns, run->b + b_index * p->depth * p->columns,
                       &strides, packed);
    const onnxd_dense dense = {.simd = p->simd,
                               .rows = p->rows,
                               .depth = p->depth,
                               .columns = p->columns,
                               .a_stride = p->depth,
                               .c_stride = p->columns,
                               .packed = packed};
    dense_run whole = cut(&dense, 1, run->a + a_index * p->rows * p->depth,
                          run->c + batch * p->rows * p->columns);
    for (size_t i = 0; i < whole.pieces.count; i++)
        run_piece(&whole, i, worker);
}

void onnxd_batched_product_run(const onnxd_batched_product *product, onnxd_team *team,
                               const float *a, const float *b, float *c, float *workspace)
{
    batched_run run = {.product = product, .a = a, .b = b, .c = c, .workspace = workspace};
    if (product->rows == 0 || product->columns == 0 ||
        !onnxd_product_packed_count(product->simd, product->depth, product->columns, &run.packed))
        return;
    if (is_worth_a_team(product->batches * product->rows, product->depth, product->columns))
        onnxd_team_run(team, product->batches, run_batch, &run);
    else
        for (size_t i = 0; i < product->batches; i++)
            run_batch(&run, i, 0);
}

#include "ep/cpu/compute/dense.h"

#include "base/size_math.h"

/* Pieces of work for each thread that one product is cut into at least, where it can be. */
#define PIECES_PER_THREAD ((size_t)3)
/* Multiplications that are worth waking the team for. */
#define TEAM_WORK 65536.0

/* ---- one product ----------------------------------------------------------------------------- */

typedef struct dense_run {
    const onnxd_dense *dense;
    const float *a;
    float *c;
    size_t block_rows;
    size_t parts, part_columns; /* of the columns of each block */
} dense_run;

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const dense_run *run = context;
    const onnxd_dense *d = run->dense;
    const size_t first = index / run->parts * run->block_rows, left = d->rows - first;
    const size_t column = index % run->parts * run->part_columns;
    const size_t columns_left = d->columns - column;
    const uint32_t rows = (uint32_t)(left < run->block_rows ? left : run->block_rows);
    const float *pointers[ONNXD_BLOCK_ROWS];
    onnxd_simd_post post = d->post;
    (void)worker;
    for (uint32_t i = 0; i < rows; i++)
        pointers[i] = run->a + (first + i) * d->a_stride;
    if (post.residual != NULL)
        post.residual += first * post.residual_stride;
    const onnxd_product_block block = {
        .a = pointers,
        .taps = 1,
        .depth = d->depth,
        .packed = d->packed,
        .packed_bf16 = d->packed_bf16,
        .first_column = column,
        .columns = columns_left < run->part_columns ? columns_left : run->part_columns,
        .c = run->c + first * d->c_stride,
        .c_stride = d->c_stride,
        .rows = rows,
        .post = post,
    };
    onnxd_product_block_run(d->simd, &block);
}

static bool is_worth_a_team(size_t rows, size_t depth, size_t columns)
{
    return (double)rows * (double)depth * (double)columns >= TEAM_WORK;
}

static void divide(const onnxd_dense *d, uint32_t threads, dense_run *run, size_t *out_blocks)
{
    const size_t width = d->simd->tile_columns, panels = (d->columns + width - 1) / width;
    const size_t block_rows = onnxd_product_block_rows(d->simd, d->rows);
    const size_t blocks = (d->rows - 1) / block_rows + 1;
    size_t parts = 1;
    if (threads > 1 && blocks > 0 && is_worth_a_team(d->rows, d->depth, d->columns))
        parts = threads * PIECES_PER_THREAD / blocks;
    parts = parts > panels ? panels : parts;
    parts = parts < 1 ? 1 : parts;
    size_t part_panels = (panels + parts - 1) / parts;
    part_panels = part_panels < 1 ? 1 : part_panels;
    run->part_columns = part_panels * width;
    run->parts = (panels + part_panels - 1) / part_panels;
    run->block_rows = block_rows;
    *out_blocks = blocks;
}

void onnxd_dense_run(const onnxd_dense *dense, onnxd_team *team, const float *a, float *c)
{
    dense_run run = {.dense = dense, .a = a, .c = c};
    size_t blocks;
    if (dense->rows == 0 || dense->columns == 0)
        return;
    divide(dense, onnxd_team_width(team), &run, &blocks);
    onnxd_team_run(team, blocks * run.parts, run_piece, &run);
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
    dense_run whole = {.dense = &dense,
                       .a = run->a + a_index * p->rows * p->depth,
                       .c = run->c + batch * p->rows * p->columns,
                       .block_rows = onnxd_product_block_rows(p->simd, p->rows),
                       .parts = 1,
                       .part_columns = p->columns};
    for (size_t block = 0; block * whole.block_rows < p->rows; block++)
        run_piece(&whole, block, worker);
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

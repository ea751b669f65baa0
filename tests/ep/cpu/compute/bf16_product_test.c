/* Packing for products of bfloat16, and blocks of them. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "ep/cpu/compute/bf16_product.h"
#include "ep/cpu/compute/dense.h"
#include "tests/ep/cpu/engine.h"

/* How B lies in memory. */
typedef enum order { BY_STEPS, BY_COLUMNS, BY_MAPS, ORDERS } order;

typedef struct block_case {
    uint32_t rows;
    size_t taps, depth;
    size_t panels, last; /* whole panels of columns and the columns of the last one */
    bool has_extras;
} block_case;

/* Depths on both sides of what is worked on at a time, 768 for more rows than a tile has and some
 * thousands for others; taps that end within a pair. */
static const block_case blocks[] = {
    {1, 1, 1, 0, 1, true},
    {1, 1, 0, 1, 3, true},
    {2, 1, 7, 2, 1, false},
    {7, 3, 5, 1, 3, true},
    {12, 9, 43, 1, 1, false},
    {13, 2, 385, 1, 2, true},
    {25, 1, 767, 1, 0, false},
    {25, 1, 768, 1, 0, true},
    {25, 1, 769, 0, 5, true},
    {ONNXD_BLOCK_ROWS, 9, 171, 1, 1, true},
    {1, 1, 40001, 1, 1, true},
    {3, 7, 2001, 1, 0, true},
    {11, ONNXD_BLOCK_TAPS, 9, 1, 4, true},
};
enum { BLOCKS = sizeof(blocks) / sizeof(blocks[0]) };

typedef struct block_run {
    const block_case *of;
    size_t steps, columns, c_stride;
    onnxd_product_strides strides;
    float *a, *b, *bias, *residual, *c;
    uint16_t *packed;
    const float **rows;
} block_run;

static onnxd_product_strides strides_of(const block_case *of, size_t columns, order in)
{
    if (in == BY_STEPS)
        return (onnxd_product_strides){of->depth * columns, columns, 1};
    if (in == BY_COLUMNS)
        return (onnxd_product_strides){of->depth, 1, of->taps * of->depth};
    return (onnxd_product_strides){1, of->taps, of->taps * of->depth};
}

static void block_run_init(const onnxd_simd *simd, const block_case *of, order in, block_run *run)
{
    uint64_t seed = of->depth;
    const size_t width = simd->tile_columns;
    size_t count = 0;
    *run = (block_run){
        .of = of, .steps = of->taps * of->depth, .columns = of->panels * width + of->last};
    run->c_stride = run->columns + 3;
    run->strides = strides_of(of, run->columns, in);
    cr_assert(onnxd_bf16_packed_count(simd, run->steps, run->columns, &count));
    cr_assert_eq(count, (run->steps + 1) / 2 * 2 * ((run->columns + width - 1) / width * width));
    run->a = random_floats(&seed, of->rows * run->steps);
    run->b = random_floats(&seed, run->steps * run->columns);
    run->bias = random_floats(&seed, (run->columns + width - 1) / width * width);
    run->residual = random_floats(&seed, of->rows * run->c_stride);
    run->c = guard_floats(of->rows * run->c_stride);
    run->packed = onnxd_alloc_aligned(count * sizeof(uint16_t), ONNXD_PACKED_ALIGNMENT);
    run->rows = onnxd_alloc_zero(of->taps * ONNXD_BLOCK_ROWS + of->rows, sizeof(run->rows[0]));
    cr_assert(run->packed != NULL && run->rows != NULL);
    memset(run->packed, 0xff, count * sizeof(uint16_t));
    for (size_t t = 0; t < of->taps; t++)
        for (size_t i = 0; i < of->rows; i++)
            run->rows[t * ONNXD_BLOCK_ROWS + i] = run->a + (i * of->taps + t) * of->depth;
    onnxd_bf16_pack(simd, of->taps, of->depth, run->columns, run->b, &run->strides, run->packed);
}

static void block_run_deinit(block_run *run)
{
    onnxd_free(run->a);
    onnxd_free(run->b);
    onnxd_free(run->bias);
    onnxd_free(run->residual);
    onnxd_free(run->c);
    onnxd_free(run->packed);
    onnxd_free(run->rows);
}

static double rounded(float value)
{
    return (double)onnxd_bfloat16_to_float(onnxd_float_to_bfloat16(value));
}

static void expect_result(const onnxd_simd *simd, const block_run *run, size_t i, size_t j)
{
    const block_case *of = run->of;
    const size_t at = i * run->c_stride + j;
    double sum = of->has_extras ? (double)run->bias[j] + (double)run->residual[at] : 0;
    double magnitude = 1;
    for (size_t k = 0; k < run->steps; k++) {
        const size_t in_b = k / of->depth * run->strides.tap + k % of->depth * run->strides.step +
                            j * run->strides.column;
        const double product = rounded(run->a[i * run->steps + k]) * rounded(run->b[in_b]);
        sum += product;
        magnitude += fabs(product);
    }
    sum = of->has_extras && sum < 0 ? 0 : sum;
    expect_near((double)run->c[at], sum, 1e-6 * magnitude,
                "%s, %u rows, %zu taps of %zu: row %zu column %zu is %g, not %g",
                onnxd_simd_level_name(simd->level), of->rows, of->taps, of->depth, i, j,
                (double)run->c[at], sum);
}

/* Panel by panel, so that what lies behind each is seen to stay. */
static void check_block(const onnxd_simd *simd, const block_case *of, order in)
{
    block_run run;
    block_run_init(simd, of, in, &run);
    const size_t width = simd->tile_columns;
    for (size_t first = 0; first < run.columns; first += width) {
        const size_t left = run.columns - first, end = left < width ? run.columns : first + width;
        const onnxd_product_block block = {
            .a = run.rows,
            .taps = of->taps,
            .depth = of->depth,
            .packed_bf16 = run.packed,
            .first_column = first,
            .columns = end - first,
            .c = run.c,
            .c_stride = run.c_stride,
            .rows = of->rows,
            .post = {.activation = {.function =
                                        of->has_extras ? ONNXD_SIMD_RELU : ONNXD_SIMD_IDENTITY},
                     .bias = of->has_extras ? run.bias : NULL,
                     .residual = of->has_extras ? run.residual : NULL,
                     .residual_stride = run.c_stride},
        };
        onnxd_product_block_run(simd, &block);
        for (size_t i = 0; i < of->rows; i++) {
            for (size_t j = first; j < end; j++)
                expect_result(simd, &run, i, j);
            cr_assert(is_guarded(run.c + i * run.c_stride + end, run.c_stride - end),
                      "%s, %u rows, %zu taps of %zu: wrote beyond column %zu",
                      onnxd_simd_level_name(simd->level), of->rows, of->taps, of->depth, end);
        }
    }
    block_run_deinit(&run);
}

static void check_blocks(const onnxd_simd *simd)
{
    for (size_t n = 0; n < BLOCKS; n++)
        for (int in = 0; in < ORDERS; in++)
            check_block(simd, &blocks[n], (order)in);
}

Test(bf16_product, blocks)
{
    each_level(check_blocks);
}

/* ---- whole products -------------------------------------------------------------------------- */

static void check_dense(const onnxd_simd *simd)
{
    static const size_t row_counts[] = {1, 2, 6, 7, 12, 13, 100};
    onnxd_team *team = NULL;
    cr_assert_null(onnxd_team_create(3, &team));
    for (size_t n = 0; n < sizeof(row_counts) / sizeof(row_counts[0]); n++) {
        const block_case of = {(uint32_t)row_counts[n], 1, 501, 7, 3, false};
        block_run run;
        block_run_init(simd, &of, BY_STEPS, &run);
        const onnxd_dense dense = {.simd = simd,
                                   .rows = of.rows,
                                   .depth = of.depth,
                                   .columns = run.columns,
                                   .a_stride = of.depth,
                                   .c_stride = run.c_stride,
                                   .packed_bf16 = run.packed};
        onnxd_dense_run(&dense, team, run.a, run.c);
        for (size_t i = 0; i < of.rows; i++)
            for (size_t j = 0; j < run.columns; j++)
                expect_result(simd, &run, i, j);
        block_run_deinit(&run);
    }
    onnxd_team_destroy(team);
}

Test(bf16_product, all_row_counts)
{
    each_level(check_dense);
}

Test(bf16_product, sizes_that_do_not_fit)
{
    const onnxd_simd *simd = onnxd_simd_table(ONNXD_SIMD_PORTABLE);
    size_t count;
    cr_expect_not(onnxd_bf16_packed_count(simd, SIZE_MAX, 8, &count));
    cr_expect_not(onnxd_bf16_packed_count(simd, 2, SIZE_MAX, &count));
    cr_expect_not(onnxd_bf16_packed_count(simd, 4, SIZE_MAX / 4 + 1, &count));
}

/* ---- what it gains --------------------------------------------------------------------------- */

static void do_nothing(const onnxd_simd_bf16_tile *tile)
{
    (void)tile;
}

/* Far slower than any product of floats. */
static void take_long(const onnxd_simd_bf16_tile *tile)
{
    for (int i = 0; i < 20; i++)
        onnxd_simd_table(ONNXD_SIMD_PORTABLE)->bf16_product(tile);
}

static onnxd_simd_bf16_gain gain_of(void (*product)(const onnxd_simd_bf16_tile *), size_t rows)
{
    onnxd_simd simd = *onnxd_simd_table(ONNXD_SIMD_PORTABLE);
    onnxd_simd_bf16_gain gain;
    simd.bf16_product = product;
    simd.bf16_gain.rows = rows;
    cr_assert_null(onnxd_bf16_gain(&simd, &gain));
    return gain;
}

Test(bf16_product, gains_for_all_rows_only_where_it_is_faster)
{
    cr_expect_eq(gain_of(do_nothing, SIZE_MAX).rows, SIZE_MAX);
    cr_expect_eq(gain_of(take_long, SIZE_MAX).rows, ONNXD_BF16_FEW_ROWS);
    cr_expect_eq(gain_of(take_long, ONNXD_BF16_FEW_ROWS).rows, ONNXD_BF16_FEW_ROWS);
    cr_expect_eq(gain_of(do_nothing, ONNXD_BF16_FEW_ROWS).rows, ONNXD_BF16_FEW_ROWS);
}

Test(bf16_product, measuring_without_memory)
{
    onnxd_simd simd = *onnxd_simd_table(ONNXD_SIMD_PORTABLE);
    onnxd_simd_bf16_gain gain = {7, 8};
    simd.bf16_gain.rows = SIZE_MAX;
    onnxd_alloc_fail_at(1, 0);
    onnxd_status *status = onnxd_bf16_gain(&simd, &gain);
    onnxd_alloc_fail_at(0, 0);
    cr_assert_not_null(status);
    cr_expect_eq(onnxd_status_code(status), ONNXD_OUT_OF_MEMORY);
    cr_expect(gain.rows == 7 && gain.weights == 8);
    onnxd_status_free(status);
}

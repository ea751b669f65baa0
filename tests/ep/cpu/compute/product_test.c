/* Packing of B, and blocks of a product. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/compute/product.h"
#include "tests/ep/cpu/engine.h"

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct pack_case {
    size_t taps, depth, columns;
    onnxd_product_strides strides;
} pack_case;

/* Rows, columns, and ONNX's weights of a convolution. */
static const pack_case packings[] = {
    {1, 1, 1, {0, 1, 1}},  {1, 5, 33, {0, 33, 1}}, {1, 7, 40, {0, 1, 7}}, {9, 3, 17, {1, 9, 27}},
    {4, 2, 8, {16, 8, 1}}, {1, 0, 5, {0, 1, 1}},   {2, 3, 0, {3, 1, 6}},  {1, 390, 65, {0, 1, 390}},
};

static void check_packing(const onnxd_simd *simd)
{
    uint64_t seed = 1;
    const size_t width = simd->tile_columns;
    for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++) {
        const pack_case *p = &packings[i];
        size_t count = 0;
        const size_t steps = p->taps * p->depth;
        cr_assert(onnxd_product_packed_count(simd, steps, p->columns, &count));
        cr_assert_eq(count, (p->columns + width - 1) / width * width * steps);
        float *b = random_floats(&seed, steps * p->columns), *packed = guard_floats(count + width);
        onnxd_product_pack(simd, p->taps, p->depth, p->columns, b, &p->strides, packed);
        for (size_t at = 0; at < count; at++) {
            const size_t panel = at / (width * steps), step = at / width % steps;
            const size_t j = panel * width + at % width;
            const float want = j >= p->columns
                                   ? 0
                                   : b[step / p->depth * p->strides.tap +
                                       step % p->depth * p->strides.step + j * p->strides.column];
            cr_assert_eq(packed[at], want, "%s, packing %zu: element %zu",
                         onnxd_simd_level_name(simd->level), i, at);
        }
        cr_assert(is_guarded(packed + count, width), "%s, packing %zu: wrote beyond its end",
                  onnxd_simd_level_name(simd->level), i);
        onnxd_free(b);
        onnxd_free(packed);
    }
    size_t count = 7;
    cr_expect_not(onnxd_product_packed_count(simd, 2, SIZE_MAX, &count));
    cr_expect_not(onnxd_product_packed_count(simd, SIZE_MAX / 4, 5, &count));
}

Test(product, packing)
{
    each_level(check_packing);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

typedef struct block_case {
    uint32_t rows;
    size_t taps, depth;
    size_t panels, last; /* whole panels of columns and the columns of the last one */
    size_t part_panels;  /* of one run; 0: all in one */
    bool has_bias, has_residual;
    onnxd_simd_function function;
} block_case;

/* Depths on both sides of what is worked on at a time, 384, in whole taps and in pieces of one. */
static const block_case blocks[] = {
    {1, 1, 1, 0, 1, 0, false, false, ONNXD_SIMD_IDENTITY},
    {1, 1, 0, 1, 3, 0, true, true, ONNXD_SIMD_RELU},
    {5, 1, 0, 0, 2, 0, false, false, ONNXD_SIMD_IDENTITY},
    {13, 3, 100, 1, 5, 0, true, false, ONNXD_SIMD_RELU},
    {ONNXD_BLOCK_ROWS, 1, 383, 2, 0, 1, true, true, ONNXD_SIMD_IDENTITY},
    {ONNXD_BLOCK_ROWS, 1, 384, 2, 1, 1, false, true, ONNXD_SIMD_SILU},
    {ONNXD_BLOCK_ROWS, 1, 385, 1, 7, 1, true, true, ONNXD_SIMD_TANH},
    {ONNXD_BLOCK_ROWS - 1, 2, 192, 2, 2, 2, true, true, ONNXD_SIMD_SIGMOID},
    {7, 2, 193, 3, 1, 2, true, true, ONNXD_SIMD_RELU},
    {3, 9, 43, 1, 1, 0, true, true, ONNXD_SIMD_LEAKY_RELU},
    {25, 9, 400, 1, 3, 1, true, true, ONNXD_SIMD_RELU},
    {2, 2, 769, 1, 0, 0, false, true, ONNXD_SIMD_CLIP},
    {4, 1, 2305, 4, 1, 3, true, false, ONNXD_SIMD_HARD_SWISH},
    {17, 1, 1500, 3, 1, 0, true, true, ONNXD_SIMD_RELU},
    {11, ONNXD_BLOCK_TAPS, 8, 1, 4, 0, true, true, ONNXD_SIMD_RELU},
};

typedef struct block_run {
    const block_case *of;
    size_t columns, c_stride;
    float *a, *b, *packed, *bias, *residual, *c;
    const float **rows;
} block_run;

static void block_run_init(const onnxd_simd *simd, const block_case *of, block_run *run)
{
    uint64_t seed = of->depth;
    const size_t steps = of->taps * of->depth, width = simd->tile_columns;
    size_t count = 0;
    *run = (block_run){.of = of, .columns = of->panels * width + of->last};
    run->c_stride = run->columns + 3;
    cr_assert(onnxd_product_packed_count(simd, steps, run->columns, &count));
    run->a = random_floats(&seed, of->rows * steps);
    run->b = random_floats(&seed, steps * run->columns);
    run->packed = guard_floats(count);
    run->bias = random_floats(&seed, (run->columns + width - 1) / width * width);
    run->residual = random_floats(&seed, of->rows * run->c_stride);
    run->c = guard_floats(of->rows * run->c_stride);
    run->rows = onnxd_alloc_zero(of->taps * ONNXD_BLOCK_ROWS, sizeof(run->rows[0]));
    cr_assert_not_null(run->rows);
    for (size_t t = 0; t < of->taps; t++)
        for (size_t i = 0; i < of->rows; i++)
            run->rows[t * ONNXD_BLOCK_ROWS + i] = run->a + (i * of->taps + t) * of->depth;
    const onnxd_product_strides strides = {of->depth * run->columns, run->columns, 1};
    onnxd_product_pack(simd, of->taps, of->depth, run->columns, run->b, &strides, run->packed);
}

static void block_run_deinit(block_run *run)
{
    onnxd_free(run->a);
    onnxd_free(run->b);
    onnxd_free(run->packed);
    onnxd_free(run->bias);
    onnxd_free(run->residual);
    onnxd_free(run->c);
    onnxd_free(run->rows);
}

static void run_columns(const onnxd_simd *simd, const block_run *run, size_t first, size_t columns)
{
    const onnxd_product_block block = {
        .a = run->rows,
        .taps = run->of->taps,
        .depth = run->of->depth,
        .packed = run->packed,
        .first_column = first,
        .columns = columns,
        .c = run->c,
        .c_stride = run->c_stride,
        .rows = run->of->rows,
        .post = {.activation = each_activation[run->of->function],
                 .bias = run->of->has_bias ? run->bias : NULL,
                 .residual = run->of->has_residual ? run->residual : NULL,
                 .residual_stride = run->c_stride},
    };
    onnxd_product_block_run(simd, &block);
}

/* Columns below `end` are right, those from it on untouched. */
static void expect_columns(const onnxd_simd *simd, const block_run *run, size_t end)
{
    const size_t steps = run->of->taps * run->of->depth;
    for (size_t i = 0; i < run->of->rows; i++) {
        for (size_t j = 0; j < end; j++) {
            const size_t at = i * run->c_stride + j;
            double sum = run->of->has_bias ? (double)run->bias[j] : 0, magnitude = 1;
            sum += run->of->has_residual ? (double)run->residual[at] : 0;
            for (size_t k = 0; k < steps; k++) {
                const double product =
                    (double)run->a[i * steps + k] * (double)run->b[k * run->columns + j];
                sum += product;
                magnitude += fabs(product);
            }
            const double want =
                (double)activation_reference(&each_activation[run->of->function], sum);
            expect_near((double)run->c[at], want, 1e-6 * magnitude,
                        "%s, %u rows, %zu taps of %zu: row %zu column %zu is %g, not %g",
                        onnxd_simd_level_name(simd->level), run->of->rows, run->of->taps,
                        run->of->depth, i, j, (double)run->c[at], want);
        }
        cr_assert(is_guarded(run->c + i * run->c_stride + end, run->c_stride - end),
                  "%s, %u rows, %zu taps of %zu: wrote beyond column %zu",
                  onnxd_simd_level_name(simd->level), run->of->rows, run->of->taps, run->of->depth,
                  end);
    }
}

static void check_blocks(const onnxd_simd *simd)
{
    for (size_t n = 0; n < sizeof(blocks) / sizeof(blocks[0]); n++) {
        const block_case *of = &blocks[n];
        block_run run;
        block_run_init(simd, of, &run);
        const size_t part =
            of->part_panels == 0 ? run.columns : of->part_panels * simd->tile_columns;
        for (size_t first = 0; first < run.columns; first += part) {
            const size_t left = run.columns - first, columns = left < part ? left : part;
            run_columns(simd, &run, first, columns);
            expect_columns(simd, &run, first + columns);
        }
        block_run_deinit(&run);
    }
}

Test(product, blocks)
{
    each_level(check_blocks);
}

/* Every count of rows: whole tiles and what is left. */
static void check_rows(const onnxd_simd *simd)
{
    for (uint32_t rows = 1; rows <= ONNXD_BLOCK_ROWS; rows++) {
        const block_case of = {rows, 2, 9, 1, 1, 0, true, true, ONNXD_SIMD_RELU};
        block_run run;
        block_run_init(simd, &of, &run);
        run_columns(simd, &run, 0, run.columns);
        expect_columns(simd, &run, run.columns);
        block_run_deinit(&run);
    }
}

Test(product, all_row_counts)
{
    each_level(check_rows);
}

static void check_multiple(const onnxd_simd *simd)
{
    cr_expect_eq(ONNXD_BLOCK_ROWS % simd->tile_rows, 0, "%s", onnxd_simd_level_name(simd->level));
}

Test(product, blocks_hold_whole_tiles)
{
    each_level(check_multiple);
}

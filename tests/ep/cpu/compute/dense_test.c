/* Products with constant weights, and batches of products. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/compute/dense.h"
#include "tests/ep/cpu/engine.h"

static onnxd_product_strides strides_of(size_t columns)
{
    return (onnxd_product_strides){.step = columns, .column = 1};
}

static float *pack(const onnxd_simd *simd, const float *b, size_t depth, size_t columns)
{
    size_t count = 0;
    const onnxd_product_strides strides = strides_of(columns);
    cr_assert(onnxd_product_packed_count(simd, depth, columns, &count));
    float *packed = guard_floats(count);
    onnxd_product_pack(simd, 1, depth, columns, b, &strides, packed);
    return packed;
}

static double sum_of(const float *a, const float *b, size_t depth, size_t columns)
{
    double sum = 0;
    for (size_t k = 0; k < depth; k++)
        sum += (double)a[k] * (double)b[k * columns];
    return sum;
}

/* ---- one product ----------------------------------------------------------------------------- */

/* Blocks of rows, columns that are divided among threads, and products too small for a team. */
static const size_t shapes[][3] = {{1, 1, 1},     {1, 700, 300}, {2, 3, 4},     {95, 20, 33},
                                   {96, 400, 64}, {97, 64, 65},  {250, 33, 17}, {7, 0, 5},
                                   {0, 5, 5},     {5, 5, 0},     {1, 2000, 1},  {300, 1, 1}};

static void check_dense(const onnxd_simd *simd, onnxd_team *team, const size_t shape[3],
                        bool has_extras)
{
    uint64_t seed = shape[1];
    const size_t rows = shape[0], depth = shape[1], columns = shape[2];
    const size_t width = simd->tile_columns, a_stride = depth + 2, c_stride = columns + 3;
    float *a = random_floats(&seed, rows * a_stride), *b = random_floats(&seed, depth * columns);
    float *bias = random_floats(&seed, (columns + width - 1) / width * width);
    float *residual = random_floats(&seed, rows * c_stride), *c = guard_floats(rows * c_stride);
    float *packed = pack(simd, b, depth, columns);
    const onnxd_simd_activation *activation =
        &each_activation[has_extras ? ONNXD_SIMD_TANH : ONNXD_SIMD_IDENTITY];
    const onnxd_dense dense = {.simd = simd,
                               .rows = rows,
                               .depth = depth,
                               .columns = columns,
                               .a_stride = a_stride,
                               .c_stride = c_stride,
                               .packed = packed,
                               .post = {.activation = *activation,
                                        .bias = has_extras ? bias : NULL,
                                        .residual = has_extras ? residual : NULL,
                                        .residual_stride = c_stride}};
    onnxd_dense_run(&dense, team, a, c);
    for (size_t at = 0; at < rows * c_stride; at++) {
        const size_t i = at / c_stride, j = at % c_stride;
        if (j >= columns) {
            cr_assert_eq(c[at], GUARD, "wrote row %zu column %zu of %zu", i, j, columns);
            continue;
        }
        double want = sum_of(a + i * a_stride, b + j, depth, columns);
        want += has_extras ? (double)bias[j] + (double)residual[at] : 0;
        want = (double)activation_reference(activation, want);
        expect_near((double)c[at], want, 1e-6 * fmax(10, (double)depth),
                    "%s, %zu x %zu x %zu: row %zu column %zu is %g, not %g",
                    onnxd_simd_level_name(simd->level), rows, depth, columns, i, j, (double)c[at],
                    want);
    }
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(bias);
    onnxd_free(residual);
    onnxd_free(c);
    onnxd_free(packed);
}

static void check_all_dense(const onnxd_simd *simd)
{
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        onnxd_team *team = NULL;
        cr_assert_null(onnxd_team_create(threads, &team));
        for (size_t n = 0; n < sizeof(shapes) / sizeof(shapes[0]); n++)
            for (int has_extras = 0; has_extras < 2; has_extras++)
                check_dense(simd, team, shapes[n], has_extras != 0);
        onnxd_team_destroy(team);
    }
}

Test(dense, all_shapes)
{
    each_level(check_all_dense);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Matrices of A in reverse order; every other one of C has the same B. */
static void locate(const void *context, size_t batch, size_t *out_a, size_t *out_b)
{
    const size_t batches = *(const size_t *)context;
    *out_a = batches - 1 - batch;
    *out_b = batch / 2;
}

static void check_batches(const onnxd_simd *simd, onnxd_team *team, size_t batches,
                          const size_t shape[3])
{
    uint64_t seed = batches;
    const size_t rows = shape[0], depth = shape[1], columns = shape[2];
    const size_t a_count = rows * depth, b_count = depth * columns, c_count = rows * columns;
    size_t elements = 0;
    const onnxd_batched_product product = {.simd = simd,
                                           .batches = batches,
                                           .rows = rows,
                                           .depth = depth,
                                           .columns = columns,
                                           .locate = locate,
                                           .context = &batches};
    cr_assert(onnxd_batched_product_workspace(&product, onnxd_team_threads(team), &elements));
    float *a = random_floats(&seed, batches * a_count);
    float *b = random_floats(&seed, (batches + 1) / 2 * b_count);
    float *c = guard_floats(batches * c_count + 1), *workspace = guard_floats(elements);
    onnxd_batched_product_run(&product, team, a, b, c, workspace);
    for (size_t at = 0; at < batches * c_count; at++) {
        const size_t batch = at / c_count, i = at % c_count / columns, j = at % columns;
        const double want = sum_of(a + (batches - 1 - batch) * a_count + i * depth,
                                   b + batch / 2 * b_count + j, depth, columns);
        expect_near((double)c[at], want, 1e-6 * fmax(10, (double)depth),
                    "%s, %zu of %zu x %zu x %zu: batch %zu row %zu column %zu",
                    onnxd_simd_level_name(simd->level), batches, rows, depth, columns, batch, i, j);
    }
    cr_assert_eq(c[batches * c_count], GUARD, "wrote beyond its end");
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(c);
    onnxd_free(workspace);
}

static void check_all_batches(const onnxd_simd *simd)
{
    static const size_t batches[] = {0, 1, 2, 7};
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        onnxd_team *team = NULL;
        cr_assert_null(onnxd_team_create(threads, &team));
        for (size_t n = 0; n < sizeof(shapes) / sizeof(shapes[0]); n++)
            for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
                check_batches(simd, team, batches[i], shapes[n]);
        onnxd_team_destroy(team);
    }
}

Test(dense, all_batches)
{
    each_level(check_all_batches);
}

Test(dense, a_workspace_that_does_not_fit)
{
    const onnxd_batched_product product = {.simd = onnxd_simd_table(ONNXD_SIMD_PORTABLE),
                                           .batches = 1,
                                           .rows = 1,
                                           .depth = SIZE_MAX / 64,
                                           .columns = 8};
    size_t elements = 7;
    cr_expect_not(onnxd_batched_product_workspace(&product, 16, &elements));
}

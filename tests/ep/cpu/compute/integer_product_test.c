/* Whole products of 8-bit integers, against sums in 64 bits. */
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/compute/integer_product.h"
#include "tests/ep/cpu/engine.h"

typedef struct product_case {
    size_t rows, depth, columns;
    bool a_signed, b_signed, is_transposed, has_zeros, is_extreme;
    uint32_t threads;
    int fours; /* multiplied so, weights of at most this much; 0: not */
} product_case;

static uint8_t byte_of(const product_case *of, uint64_t *seed, bool is_signed)
{
    const uint64_t r = engine_random(seed) >> 8;
    if (of->fours > 0 && is_signed)
        return (uint8_t)(of->is_extreme ? of->fours
                                        : (int)(r % (2 * (uint64_t)of->fours + 1)) - of->fours);
    if (!of->is_extreme)
        return (uint8_t)r;
    return is_signed ? 0x80 : 0xff;
}

static int element(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

static void check_product(const onnxd_simd *simd, const product_case *of)
{
    uint64_t seed = of->rows + of->depth * 3 + of->columns * 7;
    onnxd_team *team = NULL;
    size_t packed_bytes = 0, padded = 0;
    uint8_t *a = onnxd_alloc(of->rows * of->depth + 1);
    uint8_t *b = onnxd_alloc(of->depth * of->columns + 1);
    cr_assert_null(onnxd_team_create(of->threads, &team));
    for (size_t i = 0; i < of->rows * of->depth; i++)
        a[i] = byte_of(of, &seed, of->a_signed);
    for (size_t i = 0; i < of->depth * of->columns; i++)
        b[i] = byte_of(of, &seed, of->b_signed);
    const onnxd_integer_matrix matrix = {
        .data = b,
        .flip = of->b_signed ? 0 : 0x80,
        .step = of->fours > 0 ? ONNXD_FOUR : ONNXD_PAIR,
        .taps = 1,
        .depth = of->depth,
        .columns = of->columns,
        .step_stride = of->is_transposed ? 1 : of->columns,
        .column_stride = of->is_transposed ? of->depth : 1,
    };
    const size_t pairs = onnxd_integer_steps(&matrix);
    cr_assert(onnxd_integer_packed_bytes(simd, &matrix, &packed_bytes));
    cr_assert(onnxd_integer_padded_columns(simd, of->columns, &padded));
    int8_t *packed = onnxd_alloc_aligned(packed_bytes, ONNXD_PACKED_ALIGNMENT);
    int16_t *wide = onnxd_alloc(of->rows * 2 * pairs * sizeof(*wide));
    int16_t *zeros = onnxd_alloc_zero(2 * padded, sizeof(*zeros));
    uint8_t *b_zeros = onnxd_alloc_zero(padded, 1);
    int32_t *out = onnxd_alloc(of->rows * of->columns * sizeof(*out));
    const uint8_t a_zero = of->has_zeros ? 131 : 0;
    int32_t *sums = onnxd_alloc_zero(padded, sizeof(*sums));
    for (size_t j = 0; j < of->columns; j++) {
        b_zeros[j] = of->has_zeros && of->fours == 0 ? (uint8_t)engine_random(&seed) : 0;
        zeros[2 * j] = zeros[2 * j + 1] = onnxd_integer_zero(of->b_signed, b_zeros[j]).value;
    }
    onnxd_integer_pack(simd, &matrix, packed);
    onnxd_integer_sum_columns(&matrix, sums);
    for (size_t j = 0; j < of->columns; j++)
        sums[j] *= -a_zero;
    const onnxd_integer_widening widening = {
        simd, of->rows, of->depth, 2 * pairs, a, onnxd_integer_zero(of->a_signed, a_zero), wide};
    if (of->fours == 0)
        onnxd_integer_widen(&widening, team);
    const onnxd_integer_dense dense = {
        .simd = simd,
        .rows = of->rows,
        .steps = pairs,
        .columns = of->columns,
        .pairs = of->fours > 0 ? NULL : wide,
        .fours = of->fours > 0 ? a : NULL,
        .packed = packed,
        .zeros = of->b_signed && (!of->has_zeros || of->fours > 0) ? NULL : zeros,
        .post = {.kind = ONNXD_SIMD_SUMS, .addends = of->fours > 0 ? sums : NULL},
        .out = out,
    };
    onnxd_integer_dense_run(&dense, team);
    for (size_t i = 0; i < of->rows; i++) {
        for (size_t j = 0; j < of->columns; j++) {
            int64_t sum = 0;
            for (size_t k = 0; k < of->depth; k++)
                sum +=
                    (int64_t)(element(a[i * of->depth + k], of->a_signed) -
                              element(a_zero, of->a_signed)) *
                    (element(b[k * matrix.step_stride + j * matrix.column_stride], of->b_signed) -
                     element(b_zeros[j], of->b_signed));
            cr_assert_eq((uint32_t)out[i * of->columns + j], (uint32_t)sum,
                         "level %d, %zu x %zu x %zu: %zu, %zu", (int)simd->level, of->rows,
                         of->depth, of->columns, i, j);
        }
    }
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(packed);
    onnxd_free(wide);
    onnxd_free(zeros);
    onnxd_free(b_zeros);
    onnxd_free(sums);
    onnxd_free(out);
    onnxd_team_destroy(team);
}

static void check_all(const onnxd_simd *simd)
{
    static const product_case cases[] = {
        {1, 1, 1, false, true, false, false, false, 1, 0},
        {7, 5, 3, false, true, false, true, false, 1, 0},
        {97, 33, 40, true, true, true, true, false, 2, 0},
        {100, 513, 17, false, false, false, true, false, 2, 0},
        {5, 1201, 35, true, false, true, false, false, 1, 0},
        {13, 2048, 33, false, true, false, false, true, 1, 0},
        {13, 515, 9, true, true, false, false, true, 3, 0},
        {13, 64, 9, false, false, true, false, true, 1, 0},
        {3, 0, 5, false, true, false, false, false, 1, 0},
    };
    static const product_case fours[] = {
        {1, 4, 1, false, true, false, true, false, 1, 64},
        {97, 36, 40, false, true, true, true, false, 2, 64},
        {13, 1200, 33, false, true, false, false, false, 1, 64},
        {9, 2048, 17, false, true, false, true, true, 3, 64},
        {6, 2052, 17, false, true, false, true, false, 3, 64},
        {9, 2052, 17, false, true, false, true, true, 1, 32},
        {11, 68, 33, false, true, false, false, false, 1, 32},
        {7, 512, 33, false, true, false, false, false, 1, 45},
        /* More than is kept from one block to the next. */
        {14, 4100, 71, false, true, false, true, false, 2, 32},
    };
    /* Two products next to each other do not fit into 16 bits. */
    static const product_case any_bytes[] = {
        {1, 4, 1, false, true, false, true, true, 1, 127},
        {25, 2052, 35, false, true, true, true, true, 3, 127},
        {97, 36, 40, false, true, false, true, false, 2, 127},
        {14, 4100, 71, false, true, false, true, false, 1, 127},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++)
        check_product(simd, &cases[i]);
    for (size_t i = 0; i < ONNXD_COUNT(fours) && simd->byte_product != NULL; i++)
        check_product(simd, &fours[i]);
    for (size_t i = 0; i < ONNXD_COUNT(any_bytes) && simd->takes_any_bytes; i++)
        check_product(simd, &any_bytes[i]);
}

/* 255 times two weights next to each other has to be within 16 bits, of one tap or of those that
 * are joined, unless the level takes any. */
static void check_fit(const onnxd_simd *simd)
{
    static const int8_t weights[][4] = {
        {64, 64, 64, 64}, {64, 65, 0, 0},  {-64, -64, 127, -128}, {-127, -2, 0, 0},
        {0, 127, 127, 0}, {0, 0, 100, 29}, {-128, 127, -128, 0},  {1, -128, 0, -1}};
    static const bool fits[] = {true, false, true, false, true, false, true, true};
    for (size_t i = 0; i < ONNXD_COUNT(fits); i++) {
        const onnxd_integer_matrix b = {.data = (const uint8_t *)weights[i],
                                        .step = ONNXD_FOUR,
                                        .taps = 1,
                                        .depth = 4,
                                        .columns = 1,
                                        .step_stride = 1};
        const bool fits_level = simd->takes_any_bytes || (simd->byte_product != NULL && fits[i]);
        cr_assert_eq(onnxd_integer_fits_fours(simd, &b), fits_level, "weights %zu", i);
    }
}

/* Nine taps of one channel: what stands next to each other depends on how many are joined. */
static void check_joined_fit(const onnxd_simd *simd)
{
    static const struct {
        int8_t weights[9];
        size_t joined;
        bool fits;
    } rows[] = {
        {{0, 0, 0, 100, 100, 0, 0, 0, 0}, 3, false}, {{0, 0, 0, 100, 100, 0, 0, 0, 0}, 9, true},
        {{0, 0, 100, 100, 0, 0, 0, 0, 0}, 3, true},  {{0, 0, 100, 100, 0, 0, 0, 0, 0}, 9, false},
        {{0, 0, 100, 100, 0, 0, 0, 0, 0}, 1, true},
    };
    for (size_t i = 0; i < ONNXD_COUNT(rows); i++) {
        const onnxd_integer_matrix b = {.data = (const uint8_t *)rows[i].weights,
                                        .step = ONNXD_FOUR,
                                        .taps = 9,
                                        .depth = 1,
                                        .columns = 1,
                                        .joined = rows[i].joined,
                                        .tap_stride = 1,
                                        .step_stride = 9};
        const bool fits = simd->takes_any_bytes || (simd->byte_product != NULL && rows[i].fits);
        cr_assert_eq(onnxd_integer_fits_fours(simd, &b), fits, "row %zu", i);
    }
}

Test(integer_fours, sums_of_16_bits_have_to_fit)
{
    each_level(check_fit);
    each_level(check_joined_fit);
}

Test(integer_dense, sums_are_exact)
{
    each_level(check_all);
}

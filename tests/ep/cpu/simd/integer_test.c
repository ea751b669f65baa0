/* Products of integers and rows of quantised elements, against sums in 64 bits and formulas in
 * double precision. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/compute/integer_product.h"
#include "tests/ep/cpu/engine.h"

static int16_t *random_wide(uint64_t *seed, size_t count)
{
    int16_t *values = onnxd_alloc_aligned(count * sizeof(*values) + 1, 64);
    cr_assert_not_null(values);
    for (size_t i = 0; i < count; i++) {
        const uint64_t r = engine_random(seed);
        values[i] = (int16_t)(r % 4 == 0 ? 255 : r % 4 == 1 ? -255 : (int)(r / 4 % 511) - 255);
    }
    return values;
}

static uint8_t *random_bytes(uint64_t *seed, size_t count)
{
    uint8_t *values = onnxd_alloc(count + 1);
    cr_assert_not_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = (uint8_t)(engine_random(seed) >> 16);
    return values;
}

/* ---- the tile -------------------------------------------------------------------------------- */

static void check_tile(const onnxd_simd *simd, uint32_t rows, size_t taps, size_t pairs,
                       bool is_continued)
{
    uint64_t seed = rows * 31 + taps * 7 + pairs;
    const size_t depth = taps * pairs * 2, columns = simd->tile_columns;
    int16_t *a = random_wide(&seed, rows * depth), *b = random_wide(&seed, depth * columns);
    int32_t *c = onnxd_alloc(rows * columns * sizeof(*c));
    const int16_t **pointers = onnxd_alloc(taps * rows * sizeof(*pointers));
    cr_assert(c != NULL && pointers != NULL);
    for (size_t i = 0; i < rows * columns; i++)
        c[i] = INT32_MAX;
    for (size_t t = 0; t < taps; t++)
        for (size_t i = 0; i < rows; i++)
            pointers[t * rows + i] = a + i * depth + t * pairs * 2;
    const onnxd_simd_integer_tile tile = {pointers, rows, taps, pairs, b, c, rows, is_continued};
    simd->integer_product(&tile);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            int64_t sum = is_continued ? INT32_MAX : 0;
            for (size_t k = 0; k < depth; k++)
                sum += (int64_t)a[i * depth + k] * b[k / 2 * 2 * columns + 2 * j + k % 2];
            cr_assert_eq((uint32_t)c[i * columns + j], (uint32_t)sum,
                         "level %d, %u rows, %zu taps, %zu pairs: %zu, %zu", (int)simd->level, rows,
                         taps, pairs, i, j);
        }
    }
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(c);
    onnxd_free(pointers);
}

static void check_tiles(const onnxd_simd *simd)
{
    for (uint32_t rows = 1; rows <= 2 * simd->tile_rows + 1; rows++) {
        check_tile(simd, rows, 1, 1, false);
        check_tile(simd, rows, 1, 17, true);
        check_tile(simd, rows, 9, 3, rows % 2 == 0);
    }
}

Test(integer_product, sums_are_exact_modulo_2_32)
{
    each_level(check_tiles);
}

/* ---- the tile of bytes ----------------------------------------------------------------------- */

/* Weights of at least `low` and at most `high`; one value: with the largest bytes of A. */
typedef struct byte_case {
    int low, high;
    bool is_marked, is_continued;
    size_t taps, steps;
} byte_case;

static void check_byte_tile(const onnxd_simd *simd, const byte_case *of, uint32_t rows)
{
    uint64_t seed = rows * 31 + of->taps * 7 + of->steps;
    const size_t depth = of->taps * of->steps * 4, columns = simd->tile_columns;
    const uint64_t values = (uint64_t)(of->high - of->low) + 1;
    uint8_t *a = random_bytes(&seed, rows * depth);
    int8_t *b = onnxd_alloc_aligned(depth * columns, 64);
    int32_t *c = onnxd_alloc(rows * columns * sizeof(*c));
    bool *marks = onnxd_alloc(of->taps * of->steps + 1);
    const uint8_t **pointers = onnxd_alloc(of->taps * rows * sizeof(*pointers));
    cr_assert(b != NULL && c != NULL && marks != NULL && pointers != NULL);
    for (size_t i = 0; i < rows * depth; i++)
        a[i] = values == 1 || a[i] % 3 == 0 ? 255 : a[i];
    for (size_t i = 0; i < depth * columns; i++)
        b[i] = (int8_t)((int)(engine_random(&seed) % values) + of->low);
    for (size_t i = 0; i < rows * columns; i++)
        c[i] = INT32_MAX;
    for (size_t i = 0; i < of->taps * of->steps; i++)
        marks[i] = of->is_marked && i % 3 != 1;
    for (size_t t = 0; t < of->taps; t++)
        for (size_t i = 0; i < rows; i++)
            pointers[t * rows + i] = a + i * depth + t * of->steps * 4;
    const onnxd_simd_byte_tile tile = {.a = pointers,
                                       .a_stride = rows,
                                       .taps = of->taps,
                                       .steps = of->steps,
                                       .b = b,
                                       .b_next = rows % 2 == 0 ? b : NULL,
                                       .marks = marks,
                                       .c = c,
                                       .rows = rows,
                                       .is_continued = of->is_continued};
    simd->byte_product(&tile);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            int64_t sum = of->is_continued ? INT32_MAX : 0;
            for (size_t k = 0; k < depth; k++)
                sum += (int64_t)a[i * depth + k] * b[k / 4 * 4 * columns + 4 * j + k % 4];
            cr_assert_eq((uint32_t)c[i * columns + j], (uint32_t)sum,
                         "level %d, %u rows, weights from %d to %d: %zu, %zu", (int)simd->level,
                         rows, of->low, of->high, i, j);
        }
    }
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(c);
    onnxd_free(marks);
    onnxd_free(pointers);
}

static void check_byte_tiles(const onnxd_simd *simd)
{
    static const byte_case cases[] = {
        {-64, 64, false, false, 1, 1}, {64, 64, false, true, 1, 17}, {-64, -64, false, true, 3, 3},
        {-32, 32, true, false, 9, 5},  {32, 32, true, true, 1, 8},   {-32, -32, true, false, 2, 2},
    };
    /* Where 16 bits do not hold the sum of two products. */
    static const byte_case any[] = {
        {127, 127, false, false, 1, 1},   {-128, -128, false, true, 1, 17},
        {-128, 127, false, false, 9, 3},  {127, 127, true, true, 2, 4},
        {-128, -128, true, false, 1, 65},
    };
    for (uint32_t rows = 1; rows <= 2 * simd->tile_rows + 1 && simd->byte_product != NULL; rows++) {
        for (size_t i = 0; i < ONNXD_COUNT(cases); i++)
            check_byte_tile(simd, &cases[i], rows);
        for (size_t i = 0; i < ONNXD_COUNT(any) && simd->takes_any_bytes; i++)
            check_byte_tile(simd, &any[i], rows);
    }
}

Test(byte_product, sums_are_exact_modulo_2_32)
{
    each_level(check_byte_tiles);
}

/* ---- elements as 16-bit integers ------------------------------------------------------------- */

static void check_widen(const onnxd_simd *simd)
{
    uint64_t seed = 3;
    for (size_t count = 0; count < 70; count++) {
        uint8_t *in = random_bytes(&seed, count);
        int16_t out[72];
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            const uint8_t zero = (uint8_t)engine_random(&seed);
            out[count] = 12345;
            simd->integer_widen(in, count, onnxd_integer_zero(is_signed, zero), out);
            for (size_t i = 0; i < count; i++)
                cr_assert_eq(out[i], is_signed ? (int8_t)in[i] - (int8_t)zero : in[i] - zero);
            cr_assert_eq(out[count], 12345);
        }
        onnxd_free(in);
    }
}

static void check_unpack(const onnxd_simd *simd)
{
    enum { STEPS = 5 };
    uint64_t seed = 4;
    const size_t step = 2 * (size_t)simd->tile_columns;
    uint8_t *in = random_bytes(&seed, STEPS * step);
    int16_t *zeros = random_wide(&seed, step), *out = random_wide(&seed, STEPS * step);
    for (int has_zeros = 0; has_zeros < 2; has_zeros++) {
        simd->integer_unpack((const int8_t *)in, STEPS, has_zeros ? zeros : NULL, out);
        for (size_t i = 0; i < STEPS * step; i++)
            cr_assert_eq(out[i], (int8_t)in[i] - (has_zeros ? zeros[i % step] : 0));
    }
    onnxd_free(in);
    onnxd_free(zeros);
    onnxd_free(out);
}

Test(integer_widen, zero_points_are_taken_off)
{
    each_level(check_widen);
    each_level(check_unpack);
}

/* ---- quantising ------------------------------------------------------------------------------ */

/* Rounded to even, limited. NaN is the lowest. */
static int quantize_reference(float value, bool is_signed, int zero)
{
    const int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    if (isnan(value))
        return low;
    const double sum = rint((double)value) + zero;
    return sum < low ? low : sum > high ? high : (int)sum;
}

static int element(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

static const float hard[] = {0.5f,     1.5f,      -0.5f, -1.5f,  2.5f,   1e30f,   -1e30f,
                             INFINITY, -INFINITY, NAN,   127.5f, 254.5f, -128.5f, 1e-30f,
                             -0.0f,    4194304.f, 3e9f,  -3e9f,  126.5f, 255.5f};

static void check_quantize(const onnxd_simd *simd)
{
    enum { MOST = 45 };
    float in[MOST];
    uint8_t out[MOST + 1];
    uint64_t seed = 5;
    for (size_t count = 0; count <= MOST; count++) {
        const bool is_signed = count % 2 == 0;
        const uint8_t zero = (uint8_t)(engine_random(&seed) >> 8);
        const onnxd_simd_range range = onnxd_integer_range(is_signed, zero);
        const float scale = count % 3 == 0 ? 1.0f : 0.037f;
        for (size_t i = 0; i < count; i++)
            in[i] = i < ONNXD_COUNT(hard) ? hard[i] : (float)(engine_random(&seed) % 2000) / 100;
        out[count] = 77;
        simd->quantize(in, count, scale, &range, out);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(element(out[i], is_signed),
                         quantize_reference(in[i] / scale, is_signed, element(zero, is_signed)),
                         "level %d: %g / %g, zero %d", (int)simd->level, (double)in[i],
                         (double)scale, zero);
        cr_assert_eq(out[count], 77);
    }
}

static void check_dequantize(const onnxd_simd *simd)
{
    uint64_t seed = 6;
    for (size_t count = 0; count < 40; count++) {
        uint8_t *in = random_bytes(&seed, count);
        const bool is_signed = count % 2 == 0;
        const uint8_t zero = (uint8_t)engine_random(&seed);
        float *out = guard_floats(count + 1);
        simd->dequantize(in, count, onnxd_integer_zero(is_signed, zero), 0.25f, out);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(out[i],
                         0.25f * (float)(element(in[i], is_signed) - element(zero, is_signed)));
        cr_assert(is_guarded(out + count, 1));
        onnxd_free(in);
        onnxd_free(out);
    }
}

Test(quantize, rounds_to_even_and_saturates)
{
    each_level(check_quantize);
    each_level(check_dequantize);
}

static void check_bounds(const onnxd_simd *simd)
{
    uint64_t seed = 7;
    for (size_t count = 0; count < 70; count++) {
        float *in = random_floats(&seed, count), low = 0, high = 0;
        float least = 0, most = 0;
        if (count > 3)
            in[count / 2] = NAN;
        for (size_t i = 0; i < count; i++) {
            least = in[i] < least ? in[i] : least;
            most = in[i] > most ? in[i] : most;
        }
        simd->bounds(in, count, &low, &high);
        cr_assert_eq(low, least);
        cr_assert_eq(high, most);
        onnxd_free(in);
    }
}

Test(bounds, are_those_of_the_numbers)
{
    each_level(check_bounds);
}

/* ---- sums of a tile -------------------------------------------------------------------------- */

typedef struct store_case {
    onnxd_simd_integer_kind kind;
    bool has_addends, has_bias, is_signed, adds_bytes;
} store_case;

/* What is stored for a product; `other` is added as check_store_of() has it. */
static int stored_reference(const store_case *of, float product, int zero, int other, int sum_zero)
{
    const int own = quantize_reference(product, of->is_signed, zero);
    const int other_zero = element(7, of->is_signed);
    if (!of->adds_bytes)
        return own;
    return quantize_reference(0.5f * (float)(own - zero) - 0.75f * (float)(other - other_zero),
                              of->is_signed, sum_zero);
}

static void check_store_of(const onnxd_simd *simd, const store_case *of, size_t columns)
{
    enum { ROWS = 3, STRIDE = 40 };
    uint64_t seed = columns + 1;
    const size_t width = simd->tile_columns, sizes[] = {4, 4, 1}, size = sizes[of->kind];
    int32_t sums[ROWS * ONNXD_SIMD_MAX_COLUMNS], addends[ONNXD_SIMD_MAX_COLUMNS];
    float factors[ONNXD_SIMD_MAX_COLUMNS], bias[ONNXD_SIMD_MAX_COLUMNS];
    union {
        int32_t sums[ROWS * STRIDE];
        float reals[ROWS * STRIDE];
        uint8_t bytes[ROWS * STRIDE * 4];
    } out;
    for (size_t i = 0; i < ROWS * width; i++)
        sums[i] = (int32_t)(engine_random(&seed) % 20000) - 10000;
    sums[0] = INT32_MAX;
    for (size_t j = 0; j < width; j++) {
        addends[j] = (int32_t)(engine_random(&seed) % 2000) - 1000;
        factors[j] = (float)(engine_random(&seed) % 100) / 3000;
        bias[j] = (float)j;
    }
    const uint8_t zero = (uint8_t)engine_random(&seed), sum_zero = (uint8_t)engine_random(&seed);
    uint8_t *others = random_bytes(&seed, ROWS * STRIDE);
    onnxd_simd_integer_post post = {of->kind,
                                    of->has_addends ? addends : NULL,
                                    of->kind == ONNXD_SIMD_SUMS ? NULL : factors,
                                    of->has_bias ? bias : NULL,
                                    onnxd_integer_range(of->is_signed, zero),
                                    {.rows = NULL}};
    /* Sums that are exact in float. */
    if (of->adds_bytes)
        post.other =
            (onnxd_simd_byte_addend){others, STRIDE, onnxd_integer_zero(of->is_signed, 7),
                                     0.5f,   -0.75f, onnxd_integer_range(of->is_signed, sum_zero)};
    memset(&out, 0xa5, sizeof(out));
    simd->integer_store(&post, sums, ROWS, columns, &out, STRIDE);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < columns; j++) {
            const size_t at = i * STRIDE + j;
            const int32_t sum = (int32_t)((uint32_t)sums[i * width + j] +
                                          (of->has_addends ? (uint32_t)addends[j] : 0));
            const float product = (float)sum * factors[j];
            if (of->kind == ONNXD_SIMD_SUMS)
                cr_assert_eq(out.sums[at], sum);
            else if (of->kind == ONNXD_SIMD_REALS)
                expect_near((double)out.reals[at],
                            (double)sum * (double)factors[j] + (of->has_bias ? (double)bias[j] : 0),
                            1e-6 * fabs((double)product) + 1e-5, "a real number");
            else
                cr_assert_eq(element(out.bytes[at], of->is_signed),
                             stored_reference(of, product, element(zero, of->is_signed),
                                              element(others[at], of->is_signed),
                                              element(sum_zero, of->is_signed)),
                             "%s: row %zu, column %zu of %zu: %d, sum %d, product %g",
                             onnxd_simd_level_name(simd->level), i, j, columns,
                             element(out.bytes[at], of->is_signed), sum, (double)product);
        }
        for (size_t j = columns; j < STRIDE; j++)
            cr_assert_eq(out.bytes[(i * STRIDE + j) * size], 0xa5);
    }
    onnxd_free(others);
}

static void check_store(const onnxd_simd *simd)
{
    static const store_case cases[] = {
        {ONNXD_SIMD_SUMS, false, false, false, false},
        {ONNXD_SIMD_SUMS, true, false, false, false},
        {ONNXD_SIMD_REALS, false, true, false, false},
        {ONNXD_SIMD_REALS, true, false, false, false},
        {ONNXD_SIMD_BYTES, true, false, false, false},
        {ONNXD_SIMD_BYTES, false, false, true, false},
        {ONNXD_SIMD_BYTES, true, false, false, true},
        {ONNXD_SIMD_BYTES, false, false, true, true},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++)
        for (size_t columns = 1; columns <= simd->tile_columns; columns++)
            check_store_of(simd, &cases[i], columns);
}

Test(integer_store, sums_become_each_type)
{
    each_level(check_store);
}

/* ---- rows of quantised elements -------------------------------------------------------------- */

static void check_sum(const onnxd_simd *simd)
{
    uint64_t seed = 8;
    for (size_t count = 0; count < 40; count++) {
        uint8_t *a = random_bytes(&seed, count), *b = random_bytes(&seed, count);
        uint8_t out[41];
        const bool is_signed = count % 2 == 0;
        const uint8_t zero = (uint8_t)engine_random(&seed);
        /* Sums that are exact in float. */
        const onnxd_simd_quantized_sum sum = {a,
                                              b,
                                              out,
                                              count,
                                              onnxd_integer_zero(is_signed, 7),
                                              onnxd_integer_zero(is_signed, 200),
                                              0.5f,
                                              -0.75f,
                                              onnxd_integer_range(is_signed, zero)};
        out[count] = 99;
        simd->quantized_sum(&sum);
        for (size_t i = 0; i < count; i++) {
            const float value = 0.5f * (float)(element(a[i], is_signed) - element(7, is_signed)) -
                                0.75f * (float)(element(b[i], is_signed) - element(200, is_signed));
            cr_assert_eq(element(out[i], is_signed),
                         quantize_reference(value, is_signed, element(zero, is_signed)));
        }
        cr_assert_eq(out[count], 99);
        onnxd_free(a);
        onnxd_free(b);
    }
}

static void check_maximum(const onnxd_simd *simd)
{
    enum { PIXELS = 5, MOST = 150 };
    uint64_t seed = 9;
    for (size_t channels = 1; channels < MOST; channels += 7) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            uint8_t *in = random_bytes(&seed, PIXELS * channels), out[MOST + 1];
            const uint8_t *pixels[PIXELS];
            for (size_t i = 0; i < PIXELS; i++)
                pixels[i] = in + i * channels;
            out[channels] = 55;
            simd->quantized_maximum(pixels, PIXELS, channels, is_signed ? 0 : 0x80, out);
            for (size_t c = 0; c < channels; c++) {
                int largest = -1000;
                for (size_t i = 0; i < PIXELS; i++)
                    largest = element(pixels[i][c], is_signed) > largest
                                  ? element(pixels[i][c], is_signed)
                                  : largest;
                cr_assert_eq(element(out[c], is_signed), largest);
            }
            cr_assert_eq(out[channels], 55);
            onnxd_free(in);
        }
    }
}

Test(quantized_rows, sums_and_maxima)
{
    each_level(check_sum);
    each_level(check_maximum);
}

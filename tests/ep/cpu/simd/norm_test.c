/* Normalisations of rows, and transposed matrices. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

#define MOST_LENGTH 70

/* ---- softmax --------------------------------------------------------------------------------- */

static void check_softmax_row(const onnxd_simd *simd, const float *in, size_t length)
{
    double most = -INFINITY, sum = 0;
    float *out = guard_floats(length + ONNXD_SIMD_MAX_LANES);
    for (size_t i = 0; i < length; i++)
        most = fmax(most, (double)in[i]);
    for (size_t i = 0; i < length; i++)
        sum += exp((double)in[i] - most);
    simd->softmax(in, length, out);
    for (size_t i = 0; i < length; i++)
        expect_near((double)out[i], exp((double)in[i] - most) / sum, 1e-6, "%s, %zu of %zu: %g",
                    onnxd_simd_level_name(simd->level), i, length, (double)out[i]);
    cr_assert(is_guarded(out + length, ONNXD_SIMD_MAX_LANES), "wrote beyond %zu", length);
    onnxd_free(out);
}

static void check_softmax(const onnxd_simd *simd)
{
    uint64_t seed = 3;
    for (size_t length = 1; length <= MOST_LENGTH; length++) {
        float *in = random_floats(&seed, length);
        check_softmax_row(simd, in, length);
        in[length / 2] = 1000;
        check_softmax_row(simd, in, length);
        in[length / 2] = -INFINITY;
        if (length > 1)
            check_softmax_row(simd, in, length);
        onnxd_free(in);
    }
}

Test(simd_norm, softmax)
{
    each_level(check_softmax);
}

/* Rows that have no softmax. */
static void check_softmax_ends(const onnxd_simd *simd)
{
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < 3; k++) {
        for (size_t length = 1; length <= 20; length++) {
            float row[20];
            for (size_t i = 0; i < length; i++)
                row[i] = odd[k] == -INFINITY ? -INFINITY : (float)i;
            row[length / 3] = odd[k];
            simd->softmax(row, length, row);
            for (size_t i = 0; i < length; i++)
                cr_assert(isnan(row[i]), "%s, %g in a row of %zu: %g",
                          onnxd_simd_level_name(simd->level), (double)odd[k], length,
                          (double)row[i]);
        }
    }
}

Test(simd_norm, softmax_of_what_has_none)
{
    each_level(check_softmax_ends);
}

/* ---- weights --------------------------------------------------------------------------------- */

static void check_weigh_row(const onnxd_simd *simd, size_t length, float scale, const float *mask)
{
    uint64_t seed = length;
    double scores[MOST_LENGTH], most = -INFINITY, sum = 0;
    float *row = random_floats(&seed, length + ONNXD_SIMD_MAX_LANES);
    for (size_t i = 0; i < length; i++) {
        scores[i] = (double)row[i] * (double)scale + (mask != NULL ? (double)mask[i] : 0);
        most = fmax(most, scores[i]);
    }
    for (size_t i = 0; i < length; i++) {
        scores[i] = most == -INFINITY ? 0 : exp(scores[i] - most);
        sum += scores[i];
    }
    const float beyond = row[length], got = simd->weigh(row, length, scale, mask);
    expect_near((double)got, sum, 4e-6 * sum, "%s, %zu: the sum is %g, not %g",
                onnxd_simd_level_name(simd->level), length, (double)got, sum);
    for (size_t i = 0; i < length; i++)
        expect_near((double)row[i], scores[i], 4e-6, "%s, %zu of %zu: %g, not %g",
                    onnxd_simd_level_name(simd->level), i, length, (double)row[i], scores[i]);
    cr_assert_eq(row[length], beyond, "wrote beyond %zu", length);
    onnxd_free(row);
}

static void check_weigh(const onnxd_simd *simd)
{
    uint64_t seed = 4;
    for (size_t length = 1; length <= MOST_LENGTH; length++) {
        float *mask = random_floats(&seed, length);
        check_weigh_row(simd, length, 0.3f, NULL);
        check_weigh_row(simd, length, -5, mask);
        check_weigh_row(simd, length, 0, mask);
        mask[length / 2] = -INFINITY;
        check_weigh_row(simd, length, 30, mask);
        for (size_t i = 0; i < length; i++)
            mask[i] = -INFINITY;
        check_weigh_row(simd, length, 1, mask);
        onnxd_free(mask);
    }
}

Test(simd_norm, weigh)
{
    each_level(check_weigh);
}

/* A NaN among negative infinities is no empty row. */
static void check_weigh_nan(const onnxd_simd *simd)
{
    float row[] = {-INFINITY, -INFINITY, NAN, -INFINITY};
    cr_expect(isnan(simd->weigh(row, 4, 1, NULL)));
    for (size_t i = 0; i < 4; i++)
        cr_expect(isnan(row[i]), "%s: %g", onnxd_simd_level_name(simd->level), (double)row[i]);
}

Test(simd_norm, weigh_nan)
{
    each_level(check_weigh_nan);
}

/* ---- layer normalisation --------------------------------------------------------------------- */

static void check_norm_row(const onnxd_simd *simd, size_t length, bool is_centered, bool has_bias)
{
    uint64_t seed = length;
    float *in = random_floats(&seed, length), *scale = random_floats(&seed, length);
    float *bias = random_floats(&seed, length);
    float *out = guard_floats(length + ONNXD_SIMD_MAX_LANES);
    double mean = 0, variance = 0;
    for (size_t i = 0; i < length; i++)
        mean += is_centered ? (double)in[i] / (double)length : 0;
    for (size_t i = 0; i < length; i++)
        variance += ((double)in[i] - mean) * ((double)in[i] - mean) / (double)length;
    const onnxd_simd_layer_norm norm = {.length = length,
                                        .epsilon = 0.01f,
                                        .is_centered = is_centered,
                                        .scale = scale,
                                        .bias = has_bias ? bias : NULL};
    simd->layer_norm(&norm, in, out);
    for (size_t i = 0; i < length; i++)
        expect_near((double)out[i],
                    ((double)in[i] - mean) / sqrt(variance + 0.01f) * (double)scale[i] +
                        (has_bias ? (double)bias[i] : 0),
                    2e-6, "%s, %zu of %zu: %g", onnxd_simd_level_name(simd->level), i, length,
                    (double)out[i]);
    cr_assert(is_guarded(out + length, ONNXD_SIMD_MAX_LANES), "wrote beyond %zu", length);
    onnxd_free(in);
    onnxd_free(scale);
    onnxd_free(bias);
    onnxd_free(out);
}

static void check_norm(const onnxd_simd *simd)
{
    for (size_t length = 1; length <= MOST_LENGTH; length++)
        for (int i = 0; i < 4; i++)
            check_norm_row(simd, length, (i & 1) != 0, (i & 2) != 0);
}

Test(simd_norm, layer_norm)
{
    each_level(check_norm);
}

/* ---- LRN ------------------------------------------------------------------------------------- */

static void check_lrn_row(const onnxd_simd *simd, size_t channels, size_t size)
{
    uint64_t seed = channels;
    float *in = random_floats(&seed, channels);
    float *out = guard_floats(channels + ONNXD_SIMD_MAX_LANES);
    float *scratch = onnxd_alloc_zero(channels + size + 2 * ONNXD_SIMD_MAX_LANES, sizeof(float));
    const onnxd_simd_lrn lrn = {channels, size, 0.5f, 2, scratch};
    cr_assert_not_null(scratch);
    /* Twice: the scratch memory is as it was. */
    simd->lrn(&lrn, in, out);
    simd->lrn(&lrn, in, out);
    for (size_t c = 0; c < channels; c++) {
        const size_t below = (size - 1) / 2, above = size - 1 - below;
        double sum = 0;
        for (size_t k = c < below ? 0 : c - below; k <= c + above && k < channels; k++)
            sum += (double)in[k] * (double)in[k];
        expect_near((double)out[c], (double)in[c] * pow(2 + 0.5 * sum, -0.75), 1e-6,
                    "%s, channel %zu of %zu, size %zu: %g", onnxd_simd_level_name(simd->level), c,
                    channels, size, (double)out[c]);
    }
    cr_assert(is_guarded(out + channels, ONNXD_SIMD_MAX_LANES), "wrote beyond %zu", channels);
    onnxd_free(in);
    onnxd_free(out);
    onnxd_free(scratch);
}

static void check_lrn(const onnxd_simd *simd)
{
    static const size_t sizes[] = {1, 2, 3, 5, 8, 64};
    for (size_t channels = 1; channels <= MOST_LENGTH; channels++)
        for (size_t s = 0; s < ONNXD_COUNT(sizes); s++)
            check_lrn_row(simd, channels, sizes[s]);
}

Test(simd_norm, lrn)
{
    each_level(check_lrn);
}

/* ---- transposed matrices --------------------------------------------------------------------- */

/* `gap`: elements between the rows of the result. */
static void check_matrix(const onnxd_simd *simd, size_t rows, size_t columns, size_t gap)
{
    const size_t in_stride = columns + 2, out_stride = rows + gap;
    uint64_t seed = rows * 100 + columns;
    float *in = random_floats(&seed, rows * in_stride);
    float *out = guard_floats(columns * out_stride + 3);
    simd->transpose(in, rows, columns, in_stride, out, out_stride);
    for (size_t c = 0; c < columns; c++) {
        for (size_t r = 0; r < rows; r++)
            cr_assert_eq(out[c * out_stride + r], in[r * in_stride + c], "%zu x %zu: %zu, %zu",
                         rows, columns, r, c);
        cr_assert(is_guarded(out + c * out_stride + rows, gap), "%zu x %zu: row %zu", rows, columns,
                  c);
    }
    cr_assert(is_guarded(out + columns * out_stride, 3));
    onnxd_free(in);
    onnxd_free(out);
}

/* Rows of either side lie `gap` bytes apart, which stay as they are. */
static void check_byte_matrix(const onnxd_simd *simd, size_t rows, size_t columns, size_t in_gap,
                              size_t out_gap)
{
    enum { MOST = 70 * 70 };
    const size_t in_stride = columns + in_gap, out_stride = rows + out_gap;
    uint8_t in[MOST], out[MOST];
    for (size_t i = 0; i < rows * in_stride; i++)
        in[i] = (uint8_t)(i * 31 + i / 251);
    memset(out, 0xa5, sizeof(out));
    simd->transpose_bytes(in, rows, columns, in_stride, out, out_stride);
    for (size_t c = 0; c < columns; c++) {
        for (size_t r = 0; r < rows; r++)
            cr_assert_eq(out[c * out_stride + r], in[r * in_stride + c], "%zu x %zu: %zu, %zu",
                         rows, columns, r, c);
        for (size_t g = 0; g < out_gap; g++)
            cr_assert_eq(out[c * out_stride + rows + g], 0xa5);
    }
    cr_assert_eq(out[columns * out_stride], 0xa5);
}

static void check_transpose(const onnxd_simd *simd)
{
    static const size_t extents[] = {1, 2, 3, 4, 5, 7, 8, 17, 31, 32, 33, 67};
    for (size_t r = 0; r < ONNXD_COUNT(extents); r++)
        for (size_t c = 0; c < ONNXD_COUNT(extents); c++)
            for (size_t gap = 0; gap <= 3; gap += 3) {
                check_matrix(simd, extents[r], extents[c], gap);
                check_byte_matrix(simd, extents[r], extents[c], 0, gap);
                check_byte_matrix(simd, extents[r], extents[c], 2, gap);
            }
}

Test(simd_norm, transpose)
{
    each_level(check_transpose);
}

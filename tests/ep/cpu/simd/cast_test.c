/* Other element types: every pair against the conversions that the operators' own kernels use. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ops/convert.h"
#include "tests/ep/cpu/engine.h"

/* Numbers around the ends of the types, and between them. */
static const double values[] = {0,
                                -0.0,
                                0.5,
                                -0.5,
                                1,
                                -1,
                                1.5,
                                2.5,
                                127.9,
                                128,
                                -128.9,
                                -129,
                                255,
                                256.5,
                                65504,
                                65519.9,
                                65520,
                                -65520,
                                0x1p-24,
                                0x1p-25,
                                0x1.8p-25,
                                -0x1.8p-24,
                                6.1e-5,
                                1e-30,
                                1e30,
                                2147483520,
                                2147483648.,
                                -2147483648,
                                -2147483904.,
                                4294967296.,
                                0x1p53,
                                0x1p62,
                                0x1p63,
                                -0x1p63,
                                0x1.8p64,
                                1e300,
                                -1e300,
                                (double)NAN,
                                (double)INFINITY,
                                -(double)INFINITY,
                                16777217,
                                -16777219,
                                2049,
                                2051,
                                FLT_MIN / 2};
enum { VALUES = sizeof(values) / sizeof(values[0]), MOST = 3 * VALUES, WIDEST = 8, GUARDS = 64 };

static const struct {
    onnxd_dtype from, to;
} pairs[] = {
#define PAIR(from, to) {ONNXD_##from, ONNXD_##to},
    ONNXD_SIMD_EACH_CAST(PAIR)
#undef PAIR
};

/* `count` of the values, again and again, from the one at `first` on, as they are in a type. */
static void fill(onnxd_dtype dtype, size_t first, size_t count, void *out)
{
    static const onnxd_rounding unused = {.saturates = true};
    for (size_t i = 0; i < count; i++) {
        const onnxd_wide value = {.f = values[(first + i) % VALUES]};
        onnxd_wide_store(dtype, ONNXD_WIDE_FLOAT, &value, 1, &unused, out, i);
    }
    /* A true is any byte but 0. */
    for (size_t i = 0; dtype == ONNXD_BOOL && i < count; i++)
        ((uint8_t *)out)[i] = (uint8_t)(((uint8_t *)out)[i] * (1 + i % 255));
}

static void check_pair(const onnxd_simd *simd, size_t pair, size_t first, size_t count)
{
    static const onnxd_rounding unused = {.saturates = true};
    const onnxd_dtype from = pairs[pair].from, to = pairs[pair].to;
    const size_t width = onnxd_dtype_size(to);
    _Alignas(64) char in[MOST * WIDEST], out[MOST * WIDEST + GUARDS], want[MOST * WIDEST];
    fill(from, first, count, in);
    for (size_t i = 0; i < count; i++) {
        onnxd_wide value;
        onnxd_wide_load(from, in, i, 1, &value);
        onnxd_wide_store(to, onnxd_wide_kind_of(from), &value, 1, &unused, want, i);
    }
    memset(out, 0x5a, sizeof(out));
    simd->cast((onnxd_simd_cast)pair, in, count, out);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(memcmp(out + i * width, want + i * width, width), 0,
                     "%s: %g as %s differs as %s, element %zu of %zu",
                     onnxd_simd_level_name(simd->level), values[(first + i) % VALUES],
                     onnxd_dtype_name(from), onnxd_dtype_name(to), i, count);
    for (size_t i = count * width; i < count * width + GUARDS; i++)
        cr_assert_eq(out[i], 0x5a, "%s, %s: wrote beyond %zu", onnxd_simd_level_name(simd->level),
                     onnxd_dtype_name(to), count);
}

static void check_casts(const onnxd_simd *simd)
{
    for (size_t pair = 0; pair < ONNXD_SIMD_CAST_COUNT; pair++) {
        for (size_t count = 0; count <= 40; count++)
            check_pair(simd, pair, count, count);
        check_pair(simd, pair, 0, MOST);
    }
}

Test(simd_cast, pairs_of_all_lengths)
{
    each_level(check_casts);
}

/* Every float16 is what it is as a float, and back. */
static void check_halves(const onnxd_simd *simd)
{
    enum { CHUNK = 4096 };
    uint16_t halves[CHUNK], back[CHUNK];
    float wide[CHUNK];
    for (uint32_t first = 0; first < 0x10000; first += CHUNK) {
        for (uint32_t i = 0; i < CHUNK; i++)
            halves[i] = (uint16_t)(first + i);
        simd->cast(ONNXD_SIMD_CAST_FLOAT16_FLOAT, halves, CHUNK, wide);
        simd->cast(ONNXD_SIMD_CAST_FLOAT_FLOAT16, wide, CHUNK, back);
        for (uint32_t i = 0; i < CHUNK; i++) {
            const float want = onnxd_float16_to_float(halves[i]);
            cr_assert(isnan(want) ? isnan(wide[i])
                                  : wide[i] == want && signbit(wide[i]) == signbit(want) &&
                                        back[i] == halves[i],
                      "%s: %x", onnxd_simd_level_name(simd->level), (unsigned)halves[i]);
        }
    }
}

Test(simd_cast, all_halves)
{
    each_level(check_halves);
}

/* Operators of two rows of elements. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

#define MOST_COUNT (3 * ONNXD_SIMD_MAX_LANES + 1)

static float expected(onnxd_simd_binary op, float a, float b)
{
    switch (op) {
    case ONNXD_SIMD_ADD:
        return a + b;
    case ONNXD_SIMD_SUBTRACT:
        return a - b;
    case ONNXD_SIMD_MULTIPLY:
        return a * b;
    case ONNXD_SIMD_DIVIDE:
        return a / b;
    case ONNXD_SIMD_BINARY_COUNT:
        break;
    }
    return NAN;
}

typedef enum target { APART, OVER_A, OVER_B, TARGETS } target;

/* One operator rounds once, so that results are equal. */
static void check_row(const onnxd_simd *simd, onnxd_simd_binary op, size_t count, bool a_step,
                      bool b_step, target to)
{
    uint64_t seed = count;
    float *a = random_floats(&seed, a_step ? count : 1),
          *b = random_floats(&seed, b_step ? count : 1);
    float *out = guard_floats(count + ONNXD_SIMD_MAX_LANES), want[MOST_COUNT];
    for (size_t i = 0; i < count; i++)
        want[i] = expected(op, a[a_step ? i : 0], b[b_step ? i : 0]);
    const onnxd_simd_row row = {.a = a,
                                .b = b,
                                .out = to == OVER_A   ? a
                                       : to == OVER_B ? b
                                                      : out,
                                .count = count,
                                .a_step = a_step,
                                .b_step = b_step};
    simd->binary(op, &row);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(row.out[i], want[i], "%s, operator %d, steps %d %d: element %zu of %zu",
                     onnxd_simd_level_name(simd->level), (int)op, a_step, b_step, i, count);
    cr_assert(is_guarded(out + count, ONNXD_SIMD_MAX_LANES), "%s, operator %d: wrote beyond %zu",
              onnxd_simd_level_name(simd->level), (int)op, count);
    onnxd_free(a);
    onnxd_free(b);
    onnxd_free(out);
}

static void check_rows(const onnxd_simd *simd)
{
    for (int op = 0; op < ONNXD_SIMD_BINARY_COUNT; op++) {
        for (size_t count = 0; count <= MOST_COUNT; count++) {
            for (unsigned steps = 0; steps < 4; steps++) {
                const bool a_step = (steps & 1) != 0, b_step = (steps & 2) != 0;
                for (int to = 0; to < TARGETS; to++)
                    if (to == APART || (to == OVER_A ? a_step : b_step))
                        check_row(simd, (onnxd_simd_binary)op, count, a_step, b_step, (target)to);
            }
        }
    }
}

Test(simd_row, all_lengths_and_in_place)
{
    each_level(check_rows);
}

/* A division by zero, and NaN from either side; what is behind the last element does not matter. */
static void check_ends(const onnxd_simd *simd)
{
    const float a[] = {1, -1, 0, NAN, 1, INFINITY}, b[] = {0, 0, 0, 1, NAN, INFINITY};
    float out[6];
    simd->binary(ONNXD_SIMD_DIVIDE, &(onnxd_simd_row){a, b, out, 6, true, true});
    cr_expect(out[0] == INFINITY && out[1] == -INFINITY && isnan(out[2]) && isnan(out[3]) &&
                  isnan(out[4]) && isnan(out[5]),
              "%s", onnxd_simd_level_name(simd->level));
}

Test(simd_row, ends_of_the_range)
{
    each_level(check_ends);
}

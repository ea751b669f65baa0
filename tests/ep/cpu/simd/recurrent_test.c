/* The cells of LSTM and GRU: arguments over their whole range, and units that are no multiple of a
 * vector. Whole sequences are in tests/ep/cpu/recurrent_test.c. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "tests/ep/cpu/engine.h"

static const onnxd_simd_activation usual[3] = {
    {ONNXD_SIMD_SIGMOID, 0, 0}, {ONNXD_SIMD_TANH, 0, 0}, {ONNXD_SIMD_TANH, 0, 0}};

/* Gates of `hidden` units whose arguments go up to `reach` either way, and the states before. */
typedef struct gate_case {
    size_t hidden;
    float *x, *recur, *h, *c, *reset;
    float *old_h, *old_c;
} gate_case;

static gate_case make(uint64_t seed, size_t hidden, float reach)
{
    gate_case cells = {hidden,
                       random_floats(&seed, 4 * hidden),
                       random_floats(&seed, 4 * hidden),
                       guard_floats(hidden + 1),
                       guard_floats(hidden + 1),
                       guard_floats(hidden + 1),
                       random_floats(&seed, hidden),
                       random_floats(&seed, hidden)};
    for (size_t i = 0; i < 4 * hidden; i++)
        cells.x[i] *= reach;
    for (size_t i = 0; i < hidden; i++)
        cells.old_c[i] *= reach / 4;
    memcpy(cells.h, cells.old_h, hidden * sizeof(float));
    memcpy(cells.c, cells.old_c, hidden * sizeof(float));
    return cells;
}

static void end(const gate_case *cells)
{
    cr_assert_eq(cells->h[cells->hidden], GUARD);
    cr_assert_eq(cells->c[cells->hidden], GUARD);
    cr_assert_eq(cells->reset[cells->hidden], GUARD);
    float *const all[] = {cells->x,     cells->recur, cells->h,    cells->c,
                          cells->reset, cells->old_h, cells->old_c};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        onnxd_free(all[i]);
}

static onnxd_simd_cell cell_of(const gate_case *cells)
{
    onnxd_simd_cell cell = {.hidden = cells->hidden,
                            .clip = INFINITY,
                            .x = cells->x,
                            .recur = cells->recur,
                            .h = cells->h,
                            .c = cells->c,
                            .factor = cells->h,
                            .reset = cells->reset};
    memcpy(cell.activations, usual, sizeof(usual));
    return cell;
}

static double argument(const gate_case *cells, size_t gate, size_t i)
{
    const size_t at = gate * cells->hidden + i;
    return (double)(cells->x[at] + cells->recur[at]);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* States are of the size of what was fed into them. */
static void expect_state(const onnxd_simd *simd, float got, double want, const char *what)
{
    expect_near((double)got, want, 0x1p-21 * fmax(1, fabs(want)), "%s: %s is %a, not %a",
                onnxd_simd_level_name(simd->level), what, (double)got, want);
}

static const size_t counts[] = {1, 3, 4, 7, 8, 15, 16, 17, 33, 1000};
static const float reaches[] = {0.01f, 1, 8, 40, 200, 1e6f};

static void check_lstm(const onnxd_simd *simd)
{
    for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
        for (size_t r = 0; r < sizeof(reaches) / sizeof(reaches[0]); r++) {
            const gate_case cells = make(n, counts[n], reaches[r]);
            const onnxd_simd_cell cell = cell_of(&cells);
            simd->lstm(&cell);
            for (size_t i = 0; i < counts[n]; i++) {
                const double c = sigmoid(argument(&cells, 2, i)) * (double)cells.old_c[i] +
                                 sigmoid(argument(&cells, 0, i)) * tanh(argument(&cells, 3, i));
                expect_state(simd, cells.c[i], c, "the cell");
                expect_state(simd, cells.h[i],
                             sigmoid(argument(&cells, 1, i)) * tanh((double)cells.c[i]), "h");
            }
            end(&cells);
        }
    }
}

Test(simd_recurrent, lstm)
{
    each_level(check_lstm);
}

static void check_gru(const onnxd_simd *simd)
{
    for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
        for (size_t r = 0; r < sizeof(reaches) / sizeof(reaches[0]); r++) {
            const gate_case cells = make(n, counts[n], reaches[r]);
            const onnxd_simd_cell cell = cell_of(&cells);
            simd->gru_reset(&cell);
            for (size_t i = 0; i < counts[n]; i++)
                expect_state(simd, cells.reset[i],
                             sigmoid(argument(&cells, 1, i)) * (double)cells.old_h[i], "reset");
            simd->gru(&cell);
            for (size_t i = 0; i < counts[n]; i++) {
                const double update = sigmoid(argument(&cells, 0, i));
                expect_state(simd, cells.h[i],
                             (1 - update) * tanh(argument(&cells, 2, i)) +
                                 update * (double)cells.old_h[i],
                             "h");
            }
            end(&cells);
        }
    }
}

Test(simd_recurrent, gru)
{
    each_level(check_gru);
}

/* The usual functions have loops of their own: the ones for any function agree, and NaN stays. */
static void check_any(const onnxd_simd *simd)
{
    const gate_case fast = make(5, 37, 4), any = make(5, 37, 4);
    onnxd_simd_cell cell = cell_of(&fast), other = cell_of(&any);
    other.clip = 1e3f;
    fast.x[3] = any.x[3] = NAN;
    simd->lstm(&cell);
    simd->lstm(&other);
    for (size_t i = 0; i < 37; i++) {
        cr_assert_eq(isnan(fast.c[i]), i == 3);
        expect_state(simd, any.c[i], (double)fast.c[i], "the cell");
        expect_state(simd, any.h[i], (double)fast.h[i], "h");
    }
    end(&fast);
    end(&any);
}

Test(simd_recurrent, any_functions_agree_with_the_usual)
{
    each_level(check_any);
}

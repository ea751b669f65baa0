/*
 * What a step of LSTM and GRU does behind its products, for one entry of the batch: all gates of a
 * vector of hidden units at a time, so that nothing between them goes through memory. The usual
 * functions, sigmoid and tanh, have loops of their own, which divide once where the definitions
 * divide up to three times.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

/* Loops over the hidden units: body(cell, i, count). */
#define EACH_VECTOR(body, cell)                                                                    \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + LANES <= (cell)->hidden; i += LANES)                                            \
            body(cell, i, LANES);                                                                  \
        if (i < (cell)->hidden)                                                                    \
            body(cell, i, (cell)->hidden - i);                                                     \
    } while (0)

/* Out of line: each use of it would be all functions over again. */
static __attribute__((noinline)) vf activate(const onnxd_simd_activation *activation, vf x)
{
    return vf_activate(activation, x);
}

static vf clip(const onnxd_simd_cell *cell, vf x)
{
    return vf_min(vf_all(cell->clip), vf_max(vf_all(-cell->clip), x));
}

INLINED vf part_of(const onnxd_simd_cell *cell, const float *rows, size_t gate, size_t i,
                   size_t count)
{
    return vf_load_some(rows + gate * cell->hidden + i, count);
}

/* A gate's X W^T and H R^T. */
INLINED vf sum_of(const onnxd_simd_cell *cell, size_t gate, size_t i, size_t count)
{
    return part_of(cell, cell->x, gate, i, count) + part_of(cell, cell->recur, gate, i, count);
}

static bool is_usual(const onnxd_simd_cell *cell, size_t functions)
{
    bool result = cell->clip == INFINITY && cell->activations[0].function == ONNXD_SIMD_SIGMOID;
    for (size_t i = 1; i < functions; i++)
        result = result && cell->activations[i].function == ONNXD_SIMD_TANH;
    return result;
}

/* ---- LSTM ------------------------------------------------------------------------------------ */

enum { INPUT, OUTPUT, FORGET, CELL };

INLINED void lstm_units(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const onnxd_simd_activation *functions = cell->activations;
    const vf c = vf_load_some(cell->c + i, count);
    vf in = sum_of(cell, INPUT, i, count), out = sum_of(cell, OUTPUT, i, count);
    vf forget = sum_of(cell, FORGET, i, count), fresh = sum_of(cell, CELL, i, count);
    if (cell->peepholes != NULL) {
        in += part_of(cell, cell->peepholes, INPUT, i, count) * c;
        forget += part_of(cell, cell->peepholes, FORGET, i, count) * c;
    }
    in = activate(&functions[0], clip(cell, in));
    forget =
        cell->couples_input_and_forget ? 1.0f - in : activate(&functions[0], clip(cell, forget));
    fresh = activate(&functions[1], clip(cell, fresh));
    const vf next = forget * c + in * fresh;
    if (cell->peepholes != NULL)
        out += part_of(cell, cell->peepholes, OUTPUT, i, count) * next;
    out = activate(&functions[0], clip(cell, out));
    vf_store_some(cell->c + i, next, count);
    vf_store_some(cell->h + i, out * activate(&functions[2], next), count);
}

/* c / forget + m / (in n), with the divisors of the gates. */
INLINED void usual_cell(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const vf c = vf_load_some(cell->c + i, count);
    const vf in = vf_sigmoid_divisor(sum_of(cell, INPUT, i, count));
    const vf forget = vf_sigmoid_divisor(sum_of(cell, FORGET, i, count));
    const vf_fraction fresh = vf_tanh_fraction(sum_of(cell, CELL, i, count));
    const vf divisor = in * fresh.divisor;
    vf_store_some(cell->c + i, (c * divisor + fresh.numerator * forget) / (divisor * forget),
                  count);
}

INLINED void usual_output(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const vf out = vf_sigmoid_divisor(sum_of(cell, OUTPUT, i, count));
    const vf_fraction c = vf_tanh_fraction(vf_load_some(cell->c + i, count));
    vf_store_some(cell->h + i, c.numerator / (c.divisor * out), count);
}

/* The usual functions in two loops: the output waits for the cell, and a processor looks ahead over
 * one vector of both, but over several of each. */
void LEVEL_NAME(onnxd_simd_lstm)(const onnxd_simd_cell *cell)
{
    if (is_usual(cell, 3) && cell->peepholes == NULL && !cell->couples_input_and_forget) {
        EACH_VECTOR(usual_cell, cell);
        EACH_VECTOR(usual_output, cell);
    } else {
        EACH_VECTOR(lstm_units, cell);
    }
}

/* ---- GRU ------------------------------------------------------------------------------------- */

enum { UPDATE, RESET, HIDDEN };

INLINED void reset_units(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const vf reset = activate(&cell->activations[0], clip(cell, sum_of(cell, RESET, i, count)));
    vf_store_some(cell->reset + i, reset * vf_load_some(cell->factor + i, count), count);
}

INLINED void usual_reset(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const vf reset = vf_sigmoid_divisor(sum_of(cell, RESET, i, count));
    vf_store_some(cell->reset + i, vf_load_some(cell->factor + i, count) / reset, count);
}

void LEVEL_NAME(onnxd_simd_gru_reset)(const onnxd_simd_cell *cell)
{
    if (is_usual(cell, 2))
        EACH_VECTOR(usual_reset, cell);
    else
        EACH_VECTOR(reset_units, cell);
}

INLINED void gru_units(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const vf h = vf_load_some(cell->h + i, count);
    const vf update = activate(&cell->activations[0], clip(cell, sum_of(cell, UPDATE, i, count)));
    const vf fresh = activate(&cell->activations[1], clip(cell, sum_of(cell, HIDDEN, i, count)));
    vf_store_some(cell->h + i, (1.0f - update) * fresh + update * h, count);
}

/* With u the update gate's divisor: ((u - 1) m / n + h) / u. */
INLINED void usual_gru(const onnxd_simd_cell *cell, size_t i, size_t count)
{
    const vf h = vf_load_some(cell->h + i, count);
    const vf update = vf_sigmoid_divisor(sum_of(cell, UPDATE, i, count));
    const vf_fraction fresh = vf_tanh_fraction(sum_of(cell, HIDDEN, i, count));
    vf_store_some(
        cell->h + i,
        ((update - 1.0f) * fresh.numerator + h * fresh.divisor) / (update * fresh.divisor), count);
}

void LEVEL_NAME(onnxd_simd_gru)(const onnxd_simd_cell *cell)
{
    if (is_usual(cell, 2))
        EACH_VECTOR(usual_gru, cell);
    else
        EACH_VECTOR(gru_units, cell);
}

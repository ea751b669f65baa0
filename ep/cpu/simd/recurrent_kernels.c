/*
 * What a step of LSTM and GRU does behind its products, for one entry of the batch: all gates of a
 * vector of hidden units at a time, so that nothing between them goes through memory.
 */
#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"

/* Out of line: each use of it would be all functions over again. */
static __attribute__((noinline)) vf activate_any(const onnxd_simd_activation *activation, vf x)
{
    return vf_activate(activation, x);
}

/* `is_usual`, a constant wherever this is inlined: the activation is `usual`. */
INLINED vf activate(const onnxd_simd_cell *cell, const bool is_usual,
                    const onnxd_simd_function usual, size_t index, vf x)
{
    if (!is_usual)
        return activate_any(&cell->activations[index], x);
    return usual == ONNXD_SIMD_SIGMOID ? vf_sigmoid(x) : vf_tanh(x);
}

INLINED vf clipped(const onnxd_simd_cell *cell, vf x)
{
    return vf_min(vf_all(cell->clip), vf_max(vf_all(-cell->clip), x));
}

INLINED vf f_of(const onnxd_simd_cell *cell, const bool is_usual, vf x)
{
    return activate(cell, is_usual, ONNXD_SIMD_SIGMOID, 0, clipped(cell, x));
}

INLINED vf g_of(const onnxd_simd_cell *cell, const bool is_usual, vf x)
{
    return activate(cell, is_usual, ONNXD_SIMD_TANH, 1, clipped(cell, x));
}

INLINED vf part_of(const onnxd_simd_cell *cell, const float *rows, size_t gate, size_t i,
                   size_t count)
{
    return vf_load_some(rows + gate * cell->hidden + i, count);
}

/* A gate's X W and H R. */
INLINED vf sum_of(const onnxd_simd_cell *cell, size_t gate, size_t i, size_t count)
{
    return part_of(cell, cell->x, gate, i, count) + part_of(cell, cell->recur, gate, i, count);
}

static bool has_usual_functions(const onnxd_simd_cell *cell, size_t count)
{
    bool is_usual = cell->activations[0].function == ONNXD_SIMD_SIGMOID;
    for (size_t i = 1; i < count; i++)
        is_usual = is_usual && cell->activations[i].function == ONNXD_SIMD_TANH;
    return is_usual;
}

/* Loops over the hidden units: body(cell, is_usual, i, count). */
#define EACH_VECTOR(body, cell, is_usual)                                                          \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + LANES <= (cell)->hidden; i += LANES)                                            \
            body(cell, is_usual, i, LANES);                                                        \
        if (i < (cell)->hidden)                                                                    \
            body(cell, is_usual, i, (cell)->hidden - i);                                           \
    } while (0)

/* ---- LSTM ------------------------------------------------------------------------------------ */

enum { INPUT, OUTPUT, FORGET, CELL };

INLINED void lstm_units(const onnxd_simd_cell *cell, const bool is_usual, size_t i, size_t count)
{
    const vf c = vf_load_some(cell->c + i, count);
    vf in = sum_of(cell, INPUT, i, count), out = sum_of(cell, OUTPUT, i, count);
    vf forget = sum_of(cell, FORGET, i, count);
    if (cell->peepholes != NULL) {
        in += part_of(cell, cell->peepholes, INPUT, i, count) * c;
        forget += part_of(cell, cell->peepholes, FORGET, i, count) * c;
    }
    in = f_of(cell, is_usual, in);
    forget = cell->couples_input_and_forget ? 1.0f - in : f_of(cell, is_usual, forget);
    const vf next = forget * c + in * g_of(cell, is_usual, sum_of(cell, CELL, i, count));
    if (cell->peepholes != NULL)
        out += part_of(cell, cell->peepholes, OUTPUT, i, count) * next;
    out = f_of(cell, is_usual, out);
    vf_store_some(cell->c + i, next, count);
    vf_store_some(cell->h + i, out * activate(cell, is_usual, ONNXD_SIMD_TANH, 2, next), count);
}

void LEVEL_NAME(onnxd_simd_lstm)(const onnxd_simd_cell *cell)
{
    if (has_usual_functions(cell, 3))
        EACH_VECTOR(lstm_units, cell, true);
    else
        EACH_VECTOR(lstm_units, cell, false);
}

/* ---- GRU ------------------------------------------------------------------------------------- */

enum { UPDATE, RESET, HIDDEN };

INLINED void reset_units(const onnxd_simd_cell *cell, const bool is_usual, size_t i, size_t count)
{
    const vf reset = f_of(cell, is_usual, sum_of(cell, RESET, i, count));
    vf_store_some(cell->reset + i, reset * vf_load_some(cell->h + i, count), count);
}

void LEVEL_NAME(onnxd_simd_gru_reset)(const onnxd_simd_cell *cell)
{
    if (has_usual_functions(cell, 2))
        EACH_VECTOR(reset_units, cell, true);
    else
        EACH_VECTOR(reset_units, cell, false);
}

INLINED void gru_units(const onnxd_simd_cell *cell, const bool is_usual, size_t i, size_t count)
{
    const vf h = vf_load_some(cell->h + i, count);
    const vf update = f_of(cell, is_usual, sum_of(cell, UPDATE, i, count));
    vf recur = part_of(cell, cell->recur, HIDDEN, i, count);
    if (cell->reset == NULL)
        recur *= f_of(cell, is_usual, sum_of(cell, RESET, i, count));
    const vf fresh = g_of(cell, is_usual, part_of(cell, cell->x, HIDDEN, i, count) + recur);
    vf_store_some(cell->h + i, (1.0f - update) * fresh + update * h, count);
}

void LEVEL_NAME(onnxd_simd_gru)(const onnxd_simd_cell *cell)
{
    if (has_usual_functions(cell, 2))
        EACH_VECTOR(gru_units, cell, true);
    else
        EACH_VECTOR(gru_units, cell, false);
}

#include "ep/cpu/compute/recurrence.h"

#include <math.h>
#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/compute/dense.h"

/* Multiplications by R, over all steps, that are worth a piece of work of its own. */
#define PIECE_WORK 262144.0

uint32_t onnxd_recurrence_gates(onnxd_recurrence_kind kind)
{
    switch (kind) {
    case ONNXD_RECURRENCE_RNN:
        return 1;
    case ONNXD_RECURRENCE_GRU:
        return 3;
    case ONNXD_RECURRENCE_LSTM:
        break;
    }
    return 4;
}

/* ---- workspace ------------------------------------------------------------------------------- */

/* Parts, in elements, each a multiple of a cache line; those behind the first hold one row for each
 * direction and entry of the batch. */
enum {
    PART_X, /* X W^T: a row for each entry of X, with the gates of all directions */
    PART_RECUR,
    PART_H,
    PART_C,
    PART_RESET,
    PART_COUNT
};

static bool part_sizes(const onnxd_recurrence *r, size_t sizes[PART_COUNT])
{
    size_t rows, states, row;
    const size_t gates = onnxd_recurrence_gates(r->kind);
    if (!onnxd_size_mul(r->steps, r->batch, &rows) ||
        !onnxd_size_mul(r->batch, r->directions, &states) ||
        !onnxd_size_mul(r->hidden, gates * r->directions, &row) ||
        !onnxd_size_mul(rows, row, &sizes[PART_X]) ||
        !onnxd_size_mul(r->batch, row, &sizes[PART_RECUR]) ||
        !onnxd_size_mul(states, r->hidden, &sizes[PART_H]))
        return false;
    sizes[PART_C] = sizes[PART_RESET] = sizes[PART_H];
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (!onnxd_size_add(sizes[i], 15, &sizes[i]))
            return false;
        sizes[i] = sizes[i] / 16 * 16;
    }
    return true;
}

bool onnxd_recurrence_workspace(const onnxd_recurrence *r, size_t *out_bytes)
{
    size_t sizes[PART_COUNT], total = 0;
    if (!part_sizes(r, sizes))
        return false;
    for (size_t i = 0; i < PART_COUNT; i++)
        if (!onnxd_size_add(total, sizes[i], &total))
            return false;
    return onnxd_size_mul(total, sizeof(float), out_bytes);
}

/* ---- where things lie ------------------------------------------------------------------------ */

typedef struct whole_run {
    const onnxd_recurrence *r;
    const onnxd_recurrence_tensors *tensors;
    onnxd_team *team;
    size_t gates;  /* elements of a row of gates */
    size_t pieces; /* of the batch */
    float *parts[PART_COUNT];
} whole_run;

/* Entries [first, first + count) of the batch in one direction. */
typedef struct piece {
    const whole_run *run;
    const onnxd_recurrence_direction *of;
    size_t direction, first, count;
    float *recur, *h, *c, *reset; /* of the first entry, rows of `gates` and `hidden` */
    const float *peepholes;
} piece;

static size_t state_at(const onnxd_recurrence *r, size_t direction, size_t entry)
{
    return (r->is_batch_first ? entry * r->directions + direction : direction * r->batch + entry) *
           r->hidden;
}

static size_t output_at(const onnxd_recurrence *r, size_t direction, size_t entry, size_t time)
{
    return (r->is_batch_first ? (entry * r->steps + time) * r->directions + direction
                              : (time * r->directions + direction) * r->batch + entry) *
           r->hidden;
}

static const float *gates_at(const whole_run *run, size_t direction, size_t entry, size_t time)
{
    const onnxd_recurrence *r = run->r;
    const size_t row = r->is_batch_first ? entry * r->steps + time : time * r->batch + entry;
    return run->parts[PART_X] + (row * r->directions + direction) * run->gates;
}

static size_t length_of(const whole_run *run, size_t entry)
{
    return run->tensors->lengths == NULL ? run->r->steps : (size_t)run->tensors->lengths[entry];
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void multiply(const piece *p, const float *a, const float *packed, const float *bias,
                     size_t first_column, size_t columns)
{
    const size_t hidden = p->run->r->hidden;
    const onnxd_dense dense = {.simd = p->run->r->simd,
                               .rows = p->count,
                               .depth = hidden,
                               .columns = columns,
                               .a_stride = hidden,
                               .c_stride = p->run->gates,
                               .packed = packed,
                               .post = {.bias = bias}};
    onnxd_dense_run(&dense, p->run->team, a, p->recur + first_column);
}

/* H R^T; of a state of zeros the bias alone. */
static void multiply_state(const piece *p, bool is_zero)
{
    const size_t gates = p->run->gates;
    const size_t columns = p->of->late == NULL ? gates : gates - p->run->r->hidden;
    if (!is_zero) {
        multiply(p, p->h, p->of->r, p->of->r_bias, 0, columns);
        return;
    }
    for (size_t b = 0; b < p->count; b++) {
        memcpy(p->recur + b * gates, p->of->r_bias, columns * sizeof(float));
        memset(p->recur + b * gates + columns, 0, (gates - columns) * sizeof(float));
    }
}

static void rnn(const onnxd_simd *simd, const onnxd_simd_cell *cell)
{
    const onnxd_simd_row sum = {cell->x, cell->recur, cell->h, cell->hidden, true, true};
    const onnxd_simd_activation clip = {ONNXD_SIMD_CLIP, -cell->clip, cell->clip};
    simd->binary(ONNXD_SIMD_ADD, &sum);
    if (cell->clip < INFINITY)
        simd->activate(&clip, cell->hidden, cell->h, cell->h);
    simd->activate(&cell->activations[0], cell->hidden, cell->h, cell->h);
}

static void gru_reset(const onnxd_simd *simd, const onnxd_simd_cell *cell)
{
    simd->gru_reset(cell);
}

static void gru(const onnxd_simd *simd, const onnxd_simd_cell *cell)
{
    simd->gru(cell);
}

static void lstm(const onnxd_simd *simd, const onnxd_simd_cell *cell)
{
    simd->lstm(cell);
}

typedef void (*cell_function)(const onnxd_simd *simd, const onnxd_simd_cell *cell);

/* Does `function` for every entry whose sequence is not over. */
static void each_entry(const piece *p, size_t step, cell_function function)
{
    const onnxd_recurrence *r = p->run->r;
    onnxd_simd_cell cell = {.hidden = r->hidden,
                            .clip = r->clip,
                            .peepholes = p->peepholes,
                            .couples_input_and_forget = r->couples_input_and_forget};
    memcpy(cell.activations, p->of->activations, sizeof(cell.activations));
    for (size_t b = 0; b < p->count; b++) {
        const size_t entry = p->first + b, length = length_of(p->run, entry);
        if (step >= length)
            continue;
        cell.x =
            gates_at(p->run, p->direction, entry, p->of->is_reverse ? length - 1 - step : step);
        float *recur = p->recur + b * p->run->gates;
        float *last_gate = recur + p->run->gates - r->hidden;
        cell.recur = recur;
        cell.h = p->h + b * r->hidden;
        cell.c = p->c + b * r->hidden;
        cell.factor = p->of->late == NULL ? last_gate : cell.h;
        cell.reset = p->of->late == NULL ? last_gate : p->reset + b * r->hidden;
        function(r->simd, &cell);
    }
}

static void store_outputs(const piece *p, size_t step)
{
    const onnxd_recurrence *r = p->run->r;
    for (size_t b = 0; b < p->count; b++) {
        const size_t entry = p->first + b, length = length_of(p->run, entry);
        const size_t time = p->of->is_reverse && step < length ? length - 1 - step : step;
        float *y = p->run->tensors->y + output_at(r, p->direction, entry, time);
        if (step < length)
            memcpy(y, p->h + b * r->hidden, r->hidden * sizeof(float));
        else
            memset(y, 0, r->hidden * sizeof(float));
    }
}

static void run_step(const piece *p, size_t step, bool is_zero)
{
    static const cell_function functions[] = {
        [ONNXD_RECURRENCE_RNN] = rnn, [ONNXD_RECURRENCE_GRU] = gru, [ONNXD_RECURRENCE_LSTM] = lstm};
    const size_t hidden = p->run->r->hidden;
    multiply_state(p, is_zero);
    if (p->run->r->kind == ONNXD_RECURRENCE_GRU)
        each_entry(p, step, gru_reset);
    if (p->of->late != NULL && !is_zero)
        multiply(p, p->reset, p->of->late, NULL, p->run->gates - hidden, hidden);
    each_entry(p, step, functions[p->run->r->kind]);
    if (p->run->tensors->y != NULL)
        store_outputs(p, step);
}

/* ---- a sequence ------------------------------------------------------------------------------ */

static void load_state(const piece *p, const float *initial, float *state)
{
    const onnxd_recurrence *r = p->run->r;
    const size_t bytes = r->hidden * sizeof(float);
    if (initial == NULL) {
        memset(state, 0, p->count * bytes);
        return;
    }
    for (size_t b = 0; b < p->count; b++)
        memcpy(state + b * r->hidden, initial + state_at(r, p->direction, p->first + b), bytes);
}

static void store_state(const piece *p, const float *state, float *last)
{
    const onnxd_recurrence *r = p->run->r;
    for (size_t b = 0; last != NULL && b < p->count; b++)
        memcpy(last + state_at(r, p->direction, p->first + b), state + b * r->hidden,
               r->hidden * sizeof(float));
}

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const whole_run *run = context;
    const onnxd_recurrence *r = run->r;
    const onnxd_recurrence_tensors *tensors = run->tensors;
    const size_t direction = index / run->pieces, part = index % run->pieces;
    const size_t first = r->batch * part / run->pieces;
    const size_t state = direction * r->batch + first, at = state * r->hidden;
    const piece p = {.run = run,
                     .of = &r->of[direction],
                     .direction = direction,
                     .first = first,
                     .count = r->batch * (part + 1) / run->pieces - first,
                     .recur = run->parts[PART_RECUR] + state * run->gates,
                     .h = run->parts[PART_H] + at,
                     .c = run->parts[PART_C] + at,
                     .reset = run->parts[PART_RESET] + at,
                     .peepholes = tensors->peepholes == NULL
                                      ? NULL
                                      : tensors->peepholes + direction * 3 * r->hidden};
    (void)worker;
    load_state(&p, tensors->initial_h, p.h);
    load_state(&p, tensors->initial_c, p.c);
    for (size_t step = 0; step < r->steps; step++)
        run_step(&p, step, step == 0 && tensors->initial_h == NULL);
    store_state(&p, p.h, tensors->last_h);
    store_state(&p, p.c, tensors->last_c);
}

static void multiply_inputs(const whole_run *run)
{
    const onnxd_recurrence *r = run->r;
    const size_t columns = run->gates * r->directions;
    const onnxd_dense dense = {.simd = r->simd,
                               .rows = r->steps * r->batch,
                               .depth = r->width,
                               .columns = columns,
                               .a_stride = r->width,
                               .c_stride = columns,
                               .packed = r->w,
                               .post = {.bias = r->w_bias}};
    onnxd_dense_run(&dense, run->team, run->tensors->x, run->parts[PART_X]);
}

/* Of one entry of the batch in one direction. */
static double work_of(const onnxd_recurrence *r, size_t gates)
{
    return (double)r->steps * (double)r->hidden * (double)gates;
}

/* Pieces of the batch: no more than there are threads for, each with rows enough for the products'
 * tiles. One piece in all leaves the threads to its products. */
static size_t divide(const onnxd_recurrence *r, size_t gates, uint32_t threads)
{
    const double work = work_of(r, gates) * (double)r->batch;
    /* Two thirds of a tile's rows are about as fast as all. */
    const size_t most = r->batch / (r->simd->tile_rows * 2 / 3);
    size_t pieces = threads / r->directions;
    pieces = pieces > most ? most : pieces;
    while (pieces > 1 && work < PIECE_WORK * (double)pieces)
        pieces--;
    return pieces < 1 ? 1 : pieces;
}

void onnxd_recurrence_run(const onnxd_recurrence *r, onnxd_team *team,
                          const onnxd_recurrence_tensors *tensors)
{
    whole_run run = {.r = r, .tensors = tensors, .team = team};
    size_t sizes[PART_COUNT];
    float *at = tensors->workspace;
    if (!part_sizes(r, sizes))
        return;
    for (size_t i = 0; i < PART_COUNT; at += sizes[i], i++)
        run.parts[i] = at;
    run.gates = onnxd_recurrence_gates(r->kind) * r->hidden;
    run.pieces = divide(r, run.gates, onnxd_team_width(team));
    multiply_inputs(&run);
    if (work_of(r, run.gates) * (double)r->batch >= PIECE_WORK)
        onnxd_team_run(team, run.pieces * r->directions, run_piece, &run);
    else
        for (size_t i = 0; i < run.pieces * r->directions; i++)
            run_piece(&run, i, 0);
}

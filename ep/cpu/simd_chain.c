/*
 * The domain onnxd's Elementwise. Each step goes over a chunk of elements that stays in the L1
 * cache, so that memory is read and written once, however many steps there are. The first register
 * is the output itself. Rows that are too short for that are taken several at a time; what is
 * broadcast along or between them is then written out first.
 */
#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/simd.h"
#include "ops/layout/elementwise.h"
#include "ops/loop.h"

/* Elements of a chunk, and of one piece of work. */
#define CHUNK ((size_t)1024)
#define PIECE ((size_t)16384)
/* Shorter rows are taken several at a time. */
#define SHORT_ROW ((size_t)256)

/* An operand is the input of that number, or, below 0, register -1 - operand. */
typedef struct chain_step {
    bool is_binary;
    onnxd_simd_binary op;
    onnxd_simd_activation activation;
    int a, b;
    size_t out; /* register */
} chain_step;

typedef enum place {
    LIKE_OUTPUT, /* of the output's shape */
    ONE_ELEMENT,
    BROADCAST
} place;

typedef struct chain_input {
    place place;
    size_t buffer;   /* of scratch, where rows are written out; 0: nowhere */
    bool is_one_row; /* of which all rows are copies */
} chain_input;

typedef struct chain_state {
    onnxd_loop loop;
    size_t rows, length;                   /* of the loop */
    size_t rows_per_chunk, chunks_per_row; /* one of them is 1 */
    size_t chunks, chunks_per_piece;
    size_t buffers; /* of scratch, for each worker: the registers but the first, then inputs */
    size_t input_count, step_count;
    chain_input inputs[ONNXD_ELEMENTWISE_MAX_INPUTS];
    chain_step steps[ONNXD_ELEMENTWISE_MAX_STEPS];
} chain_state;

/* ---- making ---------------------------------------------------------------------------------- */

static onnxd_simd_binary binary_of(onnxd_elementwise_function function)
{
    static const onnxd_simd_binary ops[] = {[ONNXD_ELEMENTWISE_ADD] = ONNXD_SIMD_ADD,
                                            [ONNXD_ELEMENTWISE_SUB] = ONNXD_SIMD_SUBTRACT,
                                            [ONNXD_ELEMENTWISE_MUL] = ONNXD_SIMD_MULTIPLY,
                                            [ONNXD_ELEMENTWISE_DIV] = ONNXD_SIMD_DIVIDE};
    return ops[function];
}

static onnxd_simd_activation activation_of(const onnxd_elementwise_step *step)
{
    static const onnxd_simd_function functions[ONNXD_ELEMENTWISE_FUNCTION_COUNT] = {
        [ONNXD_ELEMENTWISE_CLIP] = ONNXD_SIMD_CLIP,
        [ONNXD_ELEMENTWISE_ERF] = ONNXD_SIMD_ERF,
        [ONNXD_ELEMENTWISE_EXP] = ONNXD_SIMD_EXP,
        [ONNXD_ELEMENTWISE_GELU] = ONNXD_SIMD_GELU,
        [ONNXD_ELEMENTWISE_GELU_TANH] = ONNXD_SIMD_GELU_TANH,
        [ONNXD_ELEMENTWISE_HARD_SIGMOID] = ONNXD_SIMD_HARD_SIGMOID,
        [ONNXD_ELEMENTWISE_HARD_SWISH] = ONNXD_SIMD_HARD_SWISH,
        [ONNXD_ELEMENTWISE_LEAKY_RELU] = ONNXD_SIMD_LEAKY_RELU,
        [ONNXD_ELEMENTWISE_RELU] = ONNXD_SIMD_RELU,
        [ONNXD_ELEMENTWISE_SIGMOID] = ONNXD_SIMD_SIGMOID,
        [ONNXD_ELEMENTWISE_SWISH] = ONNXD_SIMD_SILU,
        [ONNXD_ELEMENTWISE_TANH] = ONNXD_SIMD_TANH,
    };
    onnxd_simd_activation activation = {functions[step->function], step->alpha, step->beta};
    if (step->function == ONNXD_ELEMENTWISE_HARD_SWISH) {
        activation.alpha = 1.0f / 6;
        activation.beta = 0.5f;
    }
    return activation;
}

/* The last step that reads each step's result. */
static void find_last_uses(const onnxd_elementwise_params *params, size_t *last_uses)
{
    for (size_t i = 0; i < params->step_count; i++) {
        const onnxd_elementwise_step *step = &params->steps[i];
        last_uses[i] = i;
        if (step->a < 0)
            last_uses[-1 - step->a] = i;
        if (step->b < 0 && onnxd_elementwise_is_binary(step->function))
            last_uses[-1 - step->b] = i;
    }
}

/* A result may take the register of an operand that ends with it; the last one is the output. */
static size_t place_steps(const onnxd_elementwise_params *params, chain_state *state)
{
    size_t last_uses[ONNXD_ELEMENTWISE_MAX_STEPS], registers[ONNXD_ELEMENTWISE_MAX_STEPS];
    size_t register_count = 1;
    bool is_taken[ONNXD_ELEMENTWISE_MAX_STEPS] = {false};
    find_last_uses(params, last_uses);
    for (size_t i = 0; i < params->step_count; i++) {
        const onnxd_elementwise_step *from = &params->steps[i];
        chain_step *step = &state->steps[i];
        size_t out = 0;
        for (size_t j = 0; j < i; j++)
            if (last_uses[j] == i)
                is_taken[registers[j]] = false;
        while (i + 1 < params->step_count && is_taken[out])
            out++;
        is_taken[out] = last_uses[i] > i;
        registers[i] = out;
        register_count = out < register_count ? register_count : out + 1;
        *step = (chain_step){.is_binary = onnxd_elementwise_is_binary(from->function), .out = out};
        step->a = from->a < 0 ? -1 - (int)registers[-1 - from->a] : from->a;
        step->b = from->b < 0 ? -1 - (int)registers[-1 - from->b] : from->b;
        if (step->is_binary)
            step->op = binary_of(from->function);
        else
            step->activation = activation_of(from);
    }
    state->step_count = params->step_count;
    return register_count;
}

static void divide(chain_state *state)
{
    const onnxd_loop *loop = &state->loop;
    state->length = onnxd_loop_row(loop);
    state->rows = 1;
    for (int32_t i = 0; i + 1 < loop->rank; i++)
        state->rows *= loop->dims[i];
    state->rows_per_chunk = state->chunks_per_row = 1;
    if (state->length == 0)
        return;
    if (state->rows > 1 && state->length < SHORT_ROW)
        state->rows_per_chunk = CHUNK / state->length;
    else
        state->chunks_per_row = (state->length - 1) / CHUNK + 1;
    state->chunks = ((state->rows - 1) / state->rows_per_chunk + 1) * state->chunks_per_row;
    const size_t elements = state->length < CHUNK ? state->length * state->rows_per_chunk : CHUNK;
    state->chunks_per_piece = elements < PIECE ? PIECE / elements : 1;
}

static place place_of(const onnxd_loop *loop, uint32_t operand)
{
    bool is_like_output = true, is_one = true;
    for (int32_t i = 0; i < loop->rank; i++) {
        is_like_output &= loop->strides[operand][i] == loop->strides[0][i];
        is_one &= loop->strides[operand][i] == 0;
    }
    return is_like_output ? LIKE_OUTPUT : is_one ? ONE_ELEMENT : BROADCAST;
}

static bool is_one_row(const onnxd_loop *loop, uint32_t operand)
{
    for (int32_t i = 0; i + 1 < loop->rank; i++)
        if (loop->strides[operand][i] != 0)
            return false;
    return true;
}

static onnxd_status *make_chain(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *shapes[ONNXD_ELEMENTWISE_MAX_INPUTS];
    chain_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->input_count = c->query->input_count;
    for (size_t k = 0; k < state->input_count; k++)
        shapes[k] = &c->query->inputs[k].shape;
    onnxd_loop_init_broadcast(&state->loop, &c->outputs[0].shape, (uint32_t)state->input_count,
                              shapes);
    divide(state);
    state->buffers = place_steps(c->node->params, state) - 1;
    for (size_t k = 0; k < state->input_count; k++) {
        state->inputs[k].place = place_of(&state->loop, (uint32_t)k + 1);
        if (state->inputs[k].place == BROADCAST && state->rows_per_chunk > 1)
            state->inputs[k].buffer = ++state->buffers;
        state->inputs[k].is_one_row = is_one_row(&state->loop, (uint32_t)k + 1);
    }
    if (!onnxd_size_mul(state->buffers * CHUNK * sizeof(float),
                        onnxd_team_threads(c->runtime->team), &kernel->base.workspace_bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "too many threads");
    kernel->state = state;
    onnxd_simd_name(kernel, "chain");
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct chain_run {
    const onnxd_simd *simd;
    const chain_state *state;
    const float *inputs[ONNXD_ELEMENTWISE_MAX_INPUTS];
    float *out, *workspace;
} chain_run;

/* Rows, or a part of one, that follow each other in the output. */
typedef struct chunk {
    size_t row, rows; /* of the loop */
    size_t first;     /* element of the row */
    size_t length;    /* of each row's part */
} chunk;

static chunk chunk_of(const chain_state *state, size_t index)
{
    chunk c = {.row = index / state->chunks_per_row * state->rows_per_chunk,
               .rows = 1,
               .first = index % state->chunks_per_row * CHUNK};
    const size_t left = state->length - c.first, rows_left = state->rows - c.row;
    c.length = state->chunks_per_row > 1 && left > CHUNK ? CHUNK : left;
    if (state->rows_per_chunk > 1)
        c.rows = rows_left < state->rows_per_chunk ? rows_left : state->rows_per_chunk;
    return c;
}

/* An operand's elements of a chunk; not is_row: one for all. */
typedef struct source {
    const float *from;
    bool is_row;
} source;

/* Writes out the rows of an input that is broadcast. */
static void write_rows(const chain_state *state, size_t input, const chunk *c, const float *from,
                       float *to)
{
    onnxd_loop_cursor cursor;
    const uint32_t operand = (uint32_t)input + 1;
    const bool is_row = onnxd_loop_step(&state->loop, operand) != 0;
    onnxd_loop_seek(&state->loop, c->row, &cursor);
    for (size_t r = 0; r < c->rows; r++, to += c->length) {
        const float *row = from + cursor.offsets[operand];
        if (is_row)
            memcpy(to, row, c->length * sizeof(float));
        for (size_t i = 0; !is_row && i < c->length; i++)
            to[i] = row[0];
        if (!onnxd_loop_next(&state->loop, &cursor))
            return;
    }
}

/* What is broadcast of a part of one row. */
static source part_of_row(const chain_state *state, size_t input, const chunk *c, const float *from)
{
    onnxd_loop_cursor cursor;
    const uint32_t operand = (uint32_t)input + 1;
    const bool is_row = onnxd_loop_step(&state->loop, operand) != 0;
    onnxd_loop_seek(&state->loop, c->row, &cursor);
    return (source){from + cursor.offsets[operand] + (is_row ? c->first : 0), is_row};
}

static float *buffer_of(float *scratch, size_t buffer)
{
    return scratch + (buffer - 1) * CHUNK;
}

/* What is the same for all chunks of a piece is written out for the first one, which has as many
 * rows as any. */
static source source_of(const chain_run *run, size_t input, const chunk *c, bool is_first,
                        float *scratch)
{
    const chain_state *state = run->state;
    const float *from = run->inputs[input];
    switch (state->inputs[input].place) {
    case LIKE_OUTPUT:
        return (source){from + c->row * state->length + c->first, true};
    case ONE_ELEMENT:
        return (source){from, false};
    case BROADCAST:
        break;
    }
    if (state->inputs[input].buffer == 0)
        return part_of_row(state, input, c, from);
    float *to = buffer_of(scratch, state->inputs[input].buffer);
    if (is_first || !state->inputs[input].is_one_row)
        write_rows(state, input, c, from, to);
    return (source){to, true};
}

/* A function of one element for all is that element for all. */
static void activate(const onnxd_simd *simd, const chain_step *step, source a, size_t count,
                     float *out)
{
    simd->activate(&step->activation, a.is_row ? count : 1, a.from, out);
    for (size_t i = 1; !a.is_row && i < count; i++)
        out[i] = out[0];
}

static void run_chunk(const chain_run *run, size_t index, bool is_first, float *scratch)
{
    const chain_state *state = run->state;
    const chunk c = chunk_of(state, index);
    const size_t count = c.rows * c.length;
    float *out = run->out + c.row * state->length + c.first;
    source inputs[ONNXD_ELEMENTWISE_MAX_INPUTS];
    for (size_t k = 0; k < state->input_count; k++)
        inputs[k] = source_of(run, k, &c, is_first, scratch);
    for (size_t i = 0; i < state->step_count; i++) {
        const chain_step *step = &state->steps[i];
        const int codes[] = {step->a, step->b};
        source operands[2];
        for (int o = 0; o < 2; o++) {
            const size_t number = (size_t)(codes[o] < 0 ? -1 - codes[o] : codes[o]);
            operands[o] = codes[o] >= 0 ? inputs[number]
                          : number == 0 ? (source){out, true}
                                        : (source){buffer_of(scratch, number), true};
        }
        float *to = step->out == 0 ? out : buffer_of(scratch, step->out);
        if (!step->is_binary) {
            activate(run->simd, step, operands[0], count, to);
            continue;
        }
        run->simd->binary(step->op, &(onnxd_simd_row){.a = operands[0].from,
                                                      .b = operands[1].from,
                                                      .out = to,
                                                      .count = count,
                                                      .a_step = operands[0].is_row,
                                                      .b_step = operands[1].is_row});
    }
}

static void chain_piece(void *context, size_t index, uint32_t worker)
{
    const chain_run *run = context;
    const chain_state *state = run->state;
    const size_t first = index * state->chunks_per_piece, left = state->chunks - first;
    const size_t count = left < state->chunks_per_piece ? left : state->chunks_per_piece;
    float *scratch =
        run->workspace == NULL ? NULL : run->workspace + worker * state->buffers * CHUNK;
    for (size_t i = 0; i < count; i++)
        run_chunk(run, first + i, i == 0, scratch);
}

static onnxd_status *enqueue_chain(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const chain_state *state = kernel->state;
    chain_run run = {.simd = kernel->runtime->simd,
                     .state = state,
                     .out = onnxd_simd_output(args, 0),
                     .workspace = args->workspace};
    for (size_t k = 0; k < state->input_count; k++)
        run.inputs[k] = onnxd_simd_input(args, (uint32_t)k);
    if (state->chunks > 0)
        onnxd_team_run(kernel->runtime->team, (state->chunks - 1) / state->chunks_per_piece + 1,
                       chain_piece, &run);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_chain = {
    .name = "simd:chain",
    .takes = onnxd_simd_takes,
    .make = make_chain,
    .enqueue = enqueue_chain,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

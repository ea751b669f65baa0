/* Functions of one input, and arithmetic of two that are broadcast, element by element. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ep/cpu/simd.h"
#include "graph/attributes.h"
#include "ops/loop.h"

/* Elements of one piece of work; fewer are not worth waking the team for. */
#define PIECE ((size_t)16384)

static size_t count_of(const onnxd_shape *shape)
{
    size_t count = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

/* ---- one input ------------------------------------------------------------------------------- */

typedef struct unary_row {
    const char *domain, *op_type;
    onnxd_simd_activation activation; /* with the defaults of alpha and beta */
} unary_row;

static const unary_row unary_rows[] = {
    {"", "Relu", {ONNXD_SIMD_RELU, 0, 0}},
    {"", "LeakyRelu", {ONNXD_SIMD_LEAKY_RELU, 0.01f, 0}},
    {"", "HardSigmoid", {ONNXD_SIMD_HARD_SIGMOID, 0.2f, 0.5f}},
    {"", "HardSwish", {ONNXD_SIMD_HARD_SWISH, 1.0f / 6, 0.5f}},
    {"", "Sigmoid", {ONNXD_SIMD_SIGMOID, 0, 0}},
    {"", "Swish", {ONNXD_SIMD_SILU, 1, 0}},
    {"", "Tanh", {ONNXD_SIMD_TANH, 0, 0}},
    {"", "Erf", {ONNXD_SIMD_ERF, 0, 0}},
    {"", "Exp", {ONNXD_SIMD_EXP, 0, 0}},
    {"", "Gelu", {ONNXD_SIMD_GELU, 0, 0}},
    {"com.microsoft", "Gelu", {ONNXD_SIMD_GELU, 0, 0}},
    {"com.microsoft", "QuickGelu", {ONNXD_SIMD_SILU, 1.702f, 0}},
    {"", "Abs", {ONNXD_SIMD_ABS, 0, 0}},
    {"", "Neg", {ONNXD_SIMD_NEGATIVE, 0, 0}},
    {"", "Floor", {ONNXD_SIMD_FLOOR, 0, 0}},
    {"", "Ceil", {ONNXD_SIMD_CEIL, 0, 0}},
    {"", "Round", {ONNXD_SIMD_ROUND, 0, 0}},
    {"", "Sqrt", {ONNXD_SIMD_SQRT, 0, 0}},
    {"", "Reciprocal", {ONNXD_SIMD_RECIPROCAL, 0, 0}},
    {"", "Log", {ONNXD_SIMD_LOG, 0, 0}},
    {"", "Softplus", {ONNXD_SIMD_SOFTPLUS, 0, 0}},
    {"", "Softsign", {ONNXD_SIMD_SOFTSIGN, 0, 0}},
    {"", "Mish", {ONNXD_SIMD_MISH, 0, 0}},
    {"", "Elu", {ONNXD_SIMD_ELU, 1, 0}},
    {"", "Selu", {ONNXD_SIMD_SELU, 1.67326319217681884765625f, 1.05070102214813232421875f}},
    {"", "Celu", {ONNXD_SIMD_CELU, 1, 0}},
    {"", "ThresholdedRelu", {ONNXD_SIMD_THRESHOLDED_RELU, 1, 0}},
};

typedef struct unary_state {
    onnxd_simd_activation activation;
    size_t count;
} unary_state;

static const unary_row *row_of(const onnxd_cpu_case *c)
{
    size_t i = 0;
    while (strcmp(unary_rows[i].op_type, c->def->op_type) != 0 ||
           strcmp(unary_rows[i].domain, c->def->domain) != 0)
        i++;
    return &unary_rows[i];
}

/* Selu had other defaults before opset 6; the vector kernel of Celu needs a positive alpha. */
static bool takes_unary(const onnxd_cpu_case *c)
{
    if (!onnxd_simd_takes(c))
        return false;
    onnxd_simd_activation activation = row_of(c)->activation;
    onnxd_status *status = onnxd_attribute_float(c->node, "alpha", &activation.alpha);
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    return is_read && (activation.function != ONNXD_SIMD_SELU || c->query->opset >= 6) &&
           (activation.function != ONNXD_SIMD_CELU || activation.alpha > 0);
}

static onnxd_status *make_unary(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    unary_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    onnxd_text approximate = {"none", 4};
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->activation = row_of(c)->activation;
    state->count = count_of(&c->outputs[0].shape);
    ONNXD_TRY(onnxd_attribute_float(c->node, "alpha", &state->activation.alpha));
    ONNXD_TRY(onnxd_attribute_float(c->node, "beta", &state->activation.beta));
    ONNXD_TRY(onnxd_attribute_float(c->node, "gamma", &state->activation.beta)); /* Selu's */
    ONNXD_TRY(onnxd_attribute_string(c->node, "approximate", &approximate));
    if (strcmp(approximate.data, "tanh") == 0)
        state->activation.function = ONNXD_SIMD_GELU_TANH;
    kernel->state = state;
    kernel->base.in_place_inputs = 1;
    onnxd_simd_name(kernel, "unary");
    return NULL;
}

typedef struct unary_run {
    const onnxd_simd *simd;
    onnxd_simd_activation activation;
    size_t count;
    const float *in;
    float *out;
} unary_run;

static void unary_piece(void *context, size_t index, uint32_t worker)
{
    const unary_run *run = context;
    const size_t first = index * PIECE, left = run->count - first;
    (void)worker;
    run->simd->activate(&run->activation, left < PIECE ? left : PIECE, run->in + first,
                        run->out + first);
}

static void run_unary(const onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args,
                      const unary_state *state)
{
    unary_run run = {kernel->runtime->simd, state->activation, state->count,
                     onnxd_simd_input(args, 0), onnxd_simd_output(args, 0)};
    onnxd_team_run(kernel->runtime->team, (state->count + PIECE - 1) / PIECE, unary_piece, &run);
}

static onnxd_status *enqueue_unary(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    run_unary(kernel, args, kernel->state);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_unary = {
    .name = "simd:unary",
    .takes = takes_unary,
    .make = make_unary,
    .enqueue = enqueue_unary,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- Clip ------------------------------------------------------------------------------------ */

/* Bounds are attributes before opset 11, and the infinite ones the defaults before 6. */
static onnxd_status *make_clip(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const float most = c->query->opset < 6 ? INFINITY : FLT_MAX;
    unary_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->activation = (onnxd_simd_activation){ONNXD_SIMD_CLIP, -most, most};
    state->count = count_of(&c->outputs[0].shape);
    ONNXD_TRY(onnxd_attribute_float(c->node, "min", &state->activation.alpha));
    ONNXD_TRY(onnxd_attribute_float(c->node, "max", &state->activation.beta));
    kernel->state = state;
    onnxd_simd_name(kernel, "clip");
    return NULL;
}

static onnxd_status *enqueue_clip(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const float *low = onnxd_simd_input(args, 1), *high = onnxd_simd_input(args, 2);
    unary_state state = *(const unary_state *)kernel->state;
    if (low != NULL)
        state.activation.alpha = *low;
    if (high != NULL)
        state.activation.beta = *high;
    run_unary(kernel, args, &state);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_clip = {
    .name = "simd:clip",
    .takes = onnxd_simd_takes,
    .make = make_clip,
    .enqueue = enqueue_clip,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- two inputs ------------------------------------------------------------------------------ */

typedef struct binary_state {
    onnxd_simd_binary op;
    onnxd_loop loop;
    size_t pieces, piece_rows; /* of the loop's first dimension */
} binary_state;

static const struct {
    const char *op_type;
    onnxd_simd_binary op;
} binary_ops[] = {
    {"Add", ONNXD_SIMD_ADD},    {"Sub", ONNXD_SIMD_SUBTRACT}, {"Mul", ONNXD_SIMD_MULTIPLY},
    {"Div", ONNXD_SIMD_DIVIDE}, {"Sum", ONNXD_SIMD_ADD},      {"Max", ONNXD_SIMD_GREATEST},
    {"Min", ONNXD_SIMD_LEAST},  {"Pow", ONNXD_SIMD_POWER},    {"PRelu", ONNXD_SIMD_PRELU},
};

static onnxd_simd_binary binary_of(const char *op_type)
{
    size_t i = 0;
    while (strcmp(binary_ops[i].op_type, op_type) != 0)
        i++;
    return binary_ops[i].op;
}

/* Before opset 7 an attribute says how inputs are broadcast. */
static bool takes_binary(const onnxd_cpu_case *c)
{
    return onnxd_simd_takes(c) && c->query->input_count == 2 && c->query->opset >= 7;
}

static onnxd_status *make_binary(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *inputs[] = {&c->query->inputs[0].shape, &c->query->inputs[1].shape};
    const size_t count = count_of(&c->outputs[0].shape);
    binary_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->op = binary_of(c->def->op_type);
    onnxd_loop_init_broadcast(&state->loop, &c->outputs[0].shape, 2, inputs);
    const size_t rows = state->loop.dims[0], length = rows == 0 ? 0 : count / rows;
    state->piece_rows = length >= PIECE || length == 0 ? 1 : PIECE / length;
    if (count > 0)
        state->pieces = (rows + state->piece_rows - 1) / state->piece_rows;
    kernel->state = state;
    kernel->base.in_place_inputs = 3;
    onnxd_simd_name(kernel, "binary");
    return NULL;
}

typedef struct binary_run {
    const onnxd_simd *simd;
    const binary_state *state;
    const float *a, *b;
    float *out;
} binary_run;

static void binary_flat(const binary_run *run, size_t first, size_t count)
{
    const onnxd_loop *loop = &run->state->loop;
    const bool a_step = onnxd_loop_step(loop, 1) != 0, b_step = onnxd_loop_step(loop, 2) != 0;
    const onnxd_simd_row row = {.a = run->a + (a_step ? first : 0),
                                .b = run->b + (b_step ? first : 0),
                                .out = run->out + first,
                                .count = count,
                                .a_step = a_step,
                                .b_step = b_step};
    run->simd->binary(run->state->op, &row);
}

/* `count` entries of the loop's first dimension. */
static void binary_rows(const binary_run *run, size_t first, size_t count)
{
    const onnxd_loop *loop = &run->state->loop;
    onnxd_loop part;
    onnxd_loop_cursor cursor;
    const float *a = run->a + (int64_t)first * loop->strides[1][0];
    const float *b = run->b + (int64_t)first * loop->strides[2][0];
    float *out = run->out + (int64_t)first * loop->strides[0][0];
    onnxd_simd_row row = {.count = onnxd_loop_row(loop),
                          .a_step = onnxd_loop_step(loop, 1) != 0,
                          .b_step = onnxd_loop_step(loop, 2) != 0};
    if (count < loop->dims[0]) {
        part = *loop;
        part.dims[0] = count;
        loop = &part;
    }
    if (!onnxd_loop_begin(loop, &cursor))
        return;
    do {
        row.a = a + cursor.offsets[1];
        row.b = b + cursor.offsets[2];
        row.out = out + cursor.offsets[0];
        run->simd->binary(run->state->op, &row);
    } while (onnxd_loop_next(loop, &cursor));
}

static void binary_piece(void *context, size_t index, uint32_t worker)
{
    const binary_run *run = context;
    const size_t first = index * run->state->piece_rows;
    const size_t left = run->state->loop.dims[0] - first;
    const size_t count = left < run->state->piece_rows ? left : run->state->piece_rows;
    (void)worker;
    if (run->state->loop.rank == 1)
        binary_flat(run, first, count);
    else
        binary_rows(run, first, count);
}

static onnxd_status *enqueue_binary(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const binary_state *state = kernel->state;
    binary_run run = {kernel->runtime->simd, state, onnxd_simd_input(args, 0),
                      onnxd_simd_input(args, 1), onnxd_simd_output(args, 0)};
    onnxd_team_run(kernel->runtime->team, state->pieces, binary_piece, &run);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_binary = {
    .name = "simd:binary",
    .takes = takes_binary,
    .make = make_binary,
    .enqueue = enqueue_binary,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* Functions of one input, and arithmetic of two that are broadcast, element by element. */
#include <float.h>
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
    ONNXD_TRY(onnxd_attribute_string(c->node, "approximate", &approximate));
    if (strcmp(approximate.data, "tanh") == 0)
        state->activation.function = ONNXD_SIMD_GELU_TANH;
    kernel->state = state;
    onnxd_simd_name(kernel, "unary");
    return NULL;
}

typedef struct unary_run {
    const onnxd_simd *simd;
    const unary_state *state;
    const float *in;
    float *out;
} unary_run;

static void unary_piece(void *context, size_t index, uint32_t worker)
{
    const unary_run *run = context;
    const size_t first = index * PIECE, left = run->state->count - first;
    (void)worker;
    run->simd->activate(&run->state->activation, left < PIECE ? left : PIECE, run->in + first,
                        run->out + first);
}

static onnxd_status *enqueue_unary(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const unary_state *state = kernel->state;
    unary_run run = {kernel->runtime->simd, state, onnxd_simd_input(args, 0),
                     onnxd_simd_output(args, 0)};
    onnxd_team_run(kernel->runtime->team, (state->count + PIECE - 1) / PIECE, unary_piece, &run);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_unary = {
    .name = "simd:unary",
    .takes = onnxd_simd_takes,
    .make = make_unary,
    .enqueue = enqueue_unary,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- two inputs ------------------------------------------------------------------------------ */

typedef struct binary_state {
    onnxd_simd_binary op;
    onnxd_loop loop;
    bool is_flat; /* one row */
} binary_state;

static onnxd_simd_binary binary_of(const char *op_type)
{
    if (strcmp(op_type, "Sub") == 0)
        return ONNXD_SIMD_SUBTRACT;
    if (strcmp(op_type, "Mul") == 0)
        return ONNXD_SIMD_MULTIPLY;
    return strcmp(op_type, "Div") == 0 ? ONNXD_SIMD_DIVIDE : ONNXD_SIMD_ADD;
}

/* Before opset 7 an attribute says how inputs are broadcast. */
static bool takes_binary(const onnxd_cpu_case *c)
{
    return onnxd_simd_takes(c) && c->query->input_count == 2 && c->query->opset >= 7;
}

static onnxd_status *make_binary(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *inputs[] = {&c->query->inputs[0].shape, &c->query->inputs[1].shape};
    binary_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->op = binary_of(c->def->op_type);
    onnxd_loop_init_broadcast(&state->loop, &c->outputs[0].shape, 2, inputs);
    state->is_flat = state->loop.rank == 1;
    kernel->state = state;
    onnxd_simd_name(kernel, "binary");
    return NULL;
}

typedef struct binary_run {
    const onnxd_simd *simd;
    onnxd_simd_binary op;
    onnxd_simd_row row;
} binary_run;

static void binary_piece(void *context, size_t index, uint32_t worker)
{
    const binary_run *run = context;
    const size_t first = index * PIECE, left = run->row.count - first;
    onnxd_simd_row row = run->row;
    (void)worker;
    row.a += row.a_step ? first : 0;
    row.b += row.b_step ? first : 0;
    row.out += first;
    row.count = left < PIECE ? left : PIECE;
    run->simd->binary(run->op, &row);
}

static onnxd_status *enqueue_binary(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const binary_state *state = kernel->state;
    const float *a = onnxd_simd_input(args, 0), *b = onnxd_simd_input(args, 1);
    float *out = onnxd_simd_output(args, 0);
    binary_run run = {.simd = kernel->runtime->simd,
                      .op = state->op,
                      .row = {.count = onnxd_loop_row(&state->loop),
                              .a_step = onnxd_loop_step(&state->loop, 1) != 0,
                              .b_step = onnxd_loop_step(&state->loop, 2) != 0}};
    onnxd_loop_cursor cursor;
    if (!onnxd_loop_begin(&state->loop, &cursor))
        return NULL;
    do {
        run.row.a = a + cursor.offsets[1];
        run.row.b = b + cursor.offsets[2];
        run.row.out = out + cursor.offsets[0];
        if (state->is_flat)
            onnxd_team_run(kernel->runtime->team, (run.row.count + PIECE - 1) / PIECE, binary_piece,
                           &run);
        else
            run.simd->binary(run.op, &run.row);
    } while (onnxd_loop_next(&state->loop, &cursor));
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

/*
 * Reductions, ArgMax and ArgMin. Dimensions of extent 1 go and neighbours that are alike become
 * one; what is left has to be [kept, reduced, kept], any part of which may be missing: rows where
 * nothing stands behind the reduced dimension, else columns.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ep/cpu/simd.h"
#include "graph/attributes.h"
#include "ops/reduce.h"

/* Elements of a piece of work, at least. */
#define PIECE ((size_t)16384)
/* Columns of a piece, at least: whole cache lines, and several vectors. */
#define STRIP ((size_t)64)
/* Below this some of the squares may have lost digits. */
#define SMALL_SQUARES 0x1p-100f

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

/* ---- what there is --------------------------------------------------------------------------- */

typedef enum finish { AS_IT_IS, MEAN, ROOT, LOGARITHM } finish;

static const struct {
    const char *op_type;
    onnxd_simd_reduction how;
    finish finish;
} reductions[] = {
    {"ReduceSum", ONNXD_SIMD_REDUCE_SUM, AS_IT_IS},
    {"ReduceMean", ONNXD_SIMD_REDUCE_SUM, MEAN},
    {"ReduceSumSquare", ONNXD_SIMD_REDUCE_SQUARES, AS_IT_IS},
    {"ReduceL2", ONNXD_SIMD_REDUCE_SQUARES, ROOT},
    {"ReduceL1", ONNXD_SIMD_REDUCE_MAGNITUDES, AS_IT_IS},
    {"ReduceLogSum", ONNXD_SIMD_REDUCE_SUM, LOGARITHM},
    {"ReduceMax", ONNXD_SIMD_REDUCE_MAX, AS_IT_IS},
    {"ReduceMin", ONNXD_SIMD_REDUCE_MIN, AS_IT_IS},
};

typedef struct reduce_state {
    onnxd_simd_reduction how;
    finish finish;
    size_t outer, reduced, inner; /* none is 0 */
    size_t piece;                 /* rows, or columns, of a piece of work */
    size_t strips;                /* pieces that a matrix of columns is cut into; 1 for rows */
} reduce_state;

/* False where the dimensions are others, or one is 0. */
static bool set_extents(const onnxd_shape *shape, const bool *reduced, reduce_state *state)
{
    size_t *const parts[] = {&state->outer, &state->reduced, &state->inner};
    size_t part = 0;
    state->outer = state->reduced = state->inner = 1;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0)
            return false;
        if (shape->dims[i] == 1)
            continue;
        if (reduced[i] != (part == 1))
            part++;
        if (part == ONNXD_COUNT(parts))
            return false;
        *parts[part] *= (size_t)shape->dims[i];
    }
    if (state->reduced == 1) {
        /* Each element is a reduction of its own: columns of one. */
        state->inner *= state->outer;
        state->outer = 1;
    }
    return true;
}

/* Which axes go; false where that is only known later. */
static bool find_axes(const onnxd_cpu_case *c, bool *out_reduced)
{
    onnxd_tensor_view axes = {.dtype = ONNXD_UNDEFINED};
    if (onnxd_cpu_has_input(c, 1)) {
        if (onnxd_cpu_constant(c, 1) == NULL)
            return false;
        axes = onnxd_tensor_as_view(onnxd_cpu_constant(c, 1));
    }
    onnxd_status *status =
        onnxd_reduce_select(c->node, onnxd_tensor_view_is_present(&axes) ? &axes : NULL,
                            c->query->inputs[0].shape.rank, out_reduced);
    const bool is_found = status == NULL;
    onnxd_status_free(status);
    return is_found;
}

static bool takes(const onnxd_cpu_case *c)
{
    bool reduced[ONNXD_MAX_RANK];
    reduce_state state;
    return c->runtime->uses_vector_kernels && c->query->inputs[0].dtype == ONNXD_FLOAT &&
           c->is_static && find_axes(c, reduced) &&
           set_extents(&c->query->inputs[0].shape, reduced, &state);
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    bool reduced[ONNXD_MAX_RANK];
    reduce_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    size_t i = 0;
    while (strcmp(reductions[i].op_type, c->def->op_type) != 0)
        i++;
    state->how = reductions[i].how;
    state->finish = reductions[i].finish;
    if (!find_axes(c, reduced) || !set_extents(&c->query->inputs[0].shape, reduced, state))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "only rows and columns are reduced");
    state->piece = state->reduced < PIECE ? PIECE / state->reduced : 1;
    state->strips = 1;
    if (state->inner > 1) {
        state->piece = (state->piece + STRIP - 1) / STRIP * STRIP;
        state->strips = (state->inner + state->piece - 1) / state->piece;
    }
    kernel->state = state;
    onnxd_simd_name(kernel, "reduce");
    return NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct reduce_run {
    const onnxd_simd *simd;
    const reduce_state *state;
    const float *in;
    float *out;
} reduce_run;

/* The root of a sum of squares that were too large or too small for a float. */
static float wide_root(const float *in, size_t count, size_t step)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)in[i * step] * (double)in[i * step];
    return (float)sqrt(sum);
}

/* `count` results, of which the first is of the elements from `in` on, `step` apart, and each next
 * one of those `next` further. */
static void finish_results(const reduce_state *state, const float *in, size_t step, size_t next,
                           float *results, size_t count)
{
    const float reduced = (float)state->reduced;
    switch (state->finish) {
    case AS_IT_IS:
        return;
    case MEAN:
        for (size_t i = 0; i < count; i++)
            results[i] /= reduced;
        return;
    case ROOT:
        for (size_t i = 0; i < count; i++)
            results[i] = results[i] > FLT_MAX || results[i] < SMALL_SQUARES
                             ? wide_root(in + i * next, state->reduced, step)
                             : sqrtf(results[i]);
        return;
    case LOGARITHM:
        for (size_t i = 0; i < count; i++)
            results[i] = logf(results[i]);
        return;
    }
}

static void reduce_rows(void *context, size_t index, uint32_t worker)
{
    const reduce_run *run = context;
    const reduce_state *s = run->state;
    const size_t first = index * s->piece, left = s->outer - first;
    const size_t count = left < s->piece ? left : s->piece;
    (void)worker;
    for (size_t row = first; row < first + count; row++)
        run->out[row] = run->simd->reduce(s->how, run->in + row * s->reduced, s->reduced);
    finish_results(s, run->in + first * s->reduced, 1, s->reduced, run->out + first, count);
}

static void reduce_columns(void *context, size_t index, uint32_t worker)
{
    const reduce_run *run = context;
    const reduce_state *s = run->state;
    const size_t matrix = index / s->strips, first = index % s->strips * s->piece;
    const size_t left = s->inner - first, count = left < s->piece ? left : s->piece;
    const float *in = run->in + matrix * s->reduced * s->inner + first;
    float *out = run->out + matrix * s->inner + first;
    (void)worker;
    run->simd->reduce_columns(s->how, in, s->reduced, count, s->inner, out);
    finish_results(s, in, s->inner, 1, out, count);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const reduce_state *s = kernel->state;
    reduce_run run = {kernel->runtime->simd, s, onnxd_simd_input(args, 0),
                      onnxd_simd_output(args, 0)};
    if (s->inner == 1)
        onnxd_team_run(kernel->runtime->team, (s->outer + s->piece - 1) / s->piece, reduce_rows,
                       &run);
    else
        onnxd_team_run(kernel->runtime->team, s->outer * s->strips, reduce_columns, &run);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_reduce = {
    .name = "simd:reduce",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- ArgMax and ArgMin ----------------------------------------------------------------------- */

typedef struct arg_state {
    onnxd_simd_reduction how;
    size_t rows, length; /* of which neither is 0 */
} arg_state;

/* The first of the extremes along the last dimension. */
static bool takes_arg(const onnxd_cpu_case *c)
{
    const onnxd_shape *shape = &c->query->inputs[0].shape;
    size_t count;
    int64_t axis = 0, selects_last = 0;
    onnxd_status *status =
        onnxd_attribute_int(c->node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &axis);
    status = onnxd_status_join(
        status, onnxd_attribute_int(c->node, "select_last_index", 0, 1, &selects_last));
    const bool is_read = status == NULL;
    onnxd_status_free(status);
    return is_read && c->runtime->uses_vector_kernels && c->query->inputs[0].dtype == ONNXD_FLOAT &&
           c->is_static && shape->rank > 0 && (axis == -1 || axis == shape->rank - 1) &&
           selects_last == 0 && onnxd_shape_count(shape, &count) && count > 0;
}

static onnxd_status *make_arg(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *shape = &c->query->inputs[0].shape;
    arg_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->how =
        strcmp(c->def->op_type, "ArgMax") == 0 ? ONNXD_SIMD_REDUCE_MAX : ONNXD_SIMD_REDUCE_MIN;
    state->length = (size_t)shape->dims[shape->rank - 1];
    state->rows = 1;
    for (int32_t i = 0; i + 1 < shape->rank; i++)
        state->rows *= (size_t)shape->dims[i];
    kernel->state = state;
    onnxd_simd_name(kernel, "arg");
    return NULL;
}

typedef struct arg_run {
    const onnxd_simd *simd;
    const arg_state *state;
    const float *in;
    int64_t *out;
    size_t piece_rows;
} arg_run;

/* Of a row with a NaN: a number is compared with the best one before it, so that NaN is only taken
 * where it comes first. */
static size_t arg_with_nan(onnxd_simd_reduction how, const float *row, size_t length)
{
    size_t best = 0;
    for (size_t i = 1; i < length; i++)
        if (how == ONNXD_SIMD_REDUCE_MAX ? row[i] > row[best] : row[i] < row[best])
            best = i;
    return best;
}

static void arg_piece(void *context, size_t index, uint32_t worker)
{
    const arg_run *run = context;
    const arg_state *s = run->state;
    const size_t first = index * run->piece_rows, left = s->rows - first;
    const size_t count = left < run->piece_rows ? left : run->piece_rows;
    (void)worker;
    for (size_t row = first; row < first + count; row++) {
        const float *in = run->in + row * s->length;
        const float extreme = run->simd->reduce(s->how, in, s->length);
        run->out[row] = (int64_t)(isnan(extreme) ? arg_with_nan(s->how, in, s->length)
                                                 : run->simd->find(in, s->length, extreme));
    }
}

static onnxd_status *enqueue_arg(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const arg_state *s = kernel->state;
    arg_run run = {.simd = kernel->runtime->simd,
                   .state = s,
                   .in = onnxd_simd_input(args, 0),
                   .out = onnxd_tensor_view_data(&args->outputs[0]),
                   .piece_rows = s->length < PIECE ? PIECE / s->length : 1};
    onnxd_team_run(kernel->runtime->team, (s->rows + run.piece_rows - 1) / run.piece_rows,
                   arg_piece, &run);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_arg = {
    .name = "simd:arg",
    .takes = takes_arg,
    .make = make_arg,
    .enqueue = enqueue_arg,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

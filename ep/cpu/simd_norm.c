/* Softmax, LayerNormalization, RMSNormalization, and LRN of images channels-last. */
#include <string.h>

#include "base/size_math.h"
#include "ep/cpu/simd.h"
#include "graph/attributes.h"
#include "ops/layout/channels_last.h"

/* Elements of a piece of work, at least. */
#define PIECE ((size_t)8192)

/* Rows of one length, dealt out in pieces. */
typedef struct row_work {
    size_t rows, length, piece_rows;
} row_work;

typedef struct row_run {
    const onnxd_simd *simd;
    const void *state;
    const float *in;
    float *out;
    char *workspace;
} row_run;

static row_work divide(size_t rows, size_t length)
{
    size_t piece_rows = length == 0 ? rows : PIECE / length;
    return (row_work){rows, length, piece_rows < 1 ? 1 : piece_rows};
}

/* The rows along the last dimension. */
static row_work rows_along_last(const onnxd_shape *shape)
{
    size_t rows = 1;
    for (int32_t i = 0; i + 1 < shape->rank; i++)
        rows *= (size_t)shape->dims[i];
    return divide(rows, (size_t)shape->dims[shape->rank - 1]);
}

/* False for a piece without rows. */
static bool rows_of(const row_work *work, size_t index, size_t *out_first, size_t *out_last)
{
    *out_first = index * work->piece_rows;
    *out_last =
        *out_first + work->piece_rows < work->rows ? *out_first + work->piece_rows : work->rows;
    return *out_first < *out_last;
}

static void run_rows(const onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args,
                     const void *state, const row_work *work, onnxd_team_task task)
{
    row_run run = {kernel->runtime->simd, state, onnxd_simd_input(args, 0),
                   onnxd_simd_output(args, 0), args->workspace};
    if (work->rows > 0 && work->length > 0)
        onnxd_team_run(kernel->runtime->team,
                       (work->rows + work->piece_rows - 1) / work->piece_rows, task, &run);
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

/* ---- Softmax --------------------------------------------------------------------------------- */

static onnxd_status *make_softmax(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_softmax_params *params = c->node->params;
    const onnxd_softmax_extent e = onnxd_softmax_extent_of(params, &c->query->inputs[0].shape);
    row_work *work = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*work));
    if (work == NULL)
        return onnxd_error_out_of_memory("a softmax", sizeof(*work), UINT64_MAX);
    if (e.inner != 1 || params->is_log)
        return onnxd_error(ONNXD_UNIMPLEMENTED, "only softmax along the last dimension");
    *work = divide(e.outer, e.length);
    kernel->state = work;
    kernel->base.in_place_inputs = 1;
    onnxd_simd_name(kernel, "softmax");
    return NULL;
}

static void softmax_piece(void *context, size_t index, uint32_t worker)
{
    const row_run *run = context;
    const row_work *work = run->state;
    size_t first, last;
    (void)worker;
    if (!rows_of(work, index, &first, &last))
        return;
    for (size_t row = first; row < last; row++)
        run->simd->softmax(run->in + row * work->length, work->length,
                           run->out + row * work->length);
}

static onnxd_status *enqueue_softmax(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    run_rows(kernel, args, kernel->state, kernel->state, softmax_piece);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_softmax = {
    .name = "simd:softmax",
    .takes = onnxd_simd_takes,
    .make = make_softmax,
    .enqueue = enqueue_softmax,
    .unmake = unmake,
    .flops_per_us = 8e3,
    .may_refuse = true,
};

/* ---- LayerNormalization and RMSNormalization ------------------------------------------------- */

enum { X, SCALE, BIAS };

typedef struct norm_state {
    row_work work;
    onnxd_simd_layer_norm norm; /* scale and bias come with each run */
} norm_state;

/* The last dimension alone, statistics in FLOAT and not asked for. */
static bool takes_norm(const onnxd_cpu_case *c)
{
    int64_t axis = -1, stash_type = ONNXD_FLOAT;
    const onnxd_shape *x = &c->query->inputs[X].shape;
    onnxd_status *status =
        onnxd_attribute_int(c->node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &axis);
    status = onnxd_status_join(
        status, onnxd_attribute_int(c->node, "stash_type", 0, INT32_MAX, &stash_type));
    bool fits = status == NULL && onnxd_simd_takes(c) && stash_type == ONNXD_FLOAT &&
                x->rank >= 1 && (axis == -1 || axis == x->rank - 1) &&
                !onnxd_cpu_has_output(c, 1) && !onnxd_cpu_has_output(c, 2);
    onnxd_status_free(status);
    for (uint32_t i = SCALE; i <= BIAS && fits; i++)
        if (onnxd_cpu_has_input(c, i))
            fits = c->query->inputs[i].shape.rank == 1 &&
                   c->query->inputs[i].shape.dims[0] == x->dims[x->rank - 1];
    return fits;
}

static onnxd_status *make_norm(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *x = &c->query->inputs[X].shape;
    norm_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a normalisation", sizeof(*state), UINT64_MAX);
    state->work = rows_along_last(x);
    state->norm =
        (onnxd_simd_layer_norm){.length = state->work.length,
                                .epsilon = 1e-5f,
                                .is_centered = strcmp(c->def->op_type, "LayerNormalization") == 0};
    ONNXD_TRY(onnxd_attribute_float(c->node, "epsilon", &state->norm.epsilon));
    kernel->state = state;
    kernel->base.in_place_inputs = 1;
    onnxd_simd_name(kernel, "normalization");
    return NULL;
}

static void norm_piece(void *context, size_t index, uint32_t worker)
{
    const row_run *run = context;
    const norm_state *state = run->state;
    const size_t length = state->work.length;
    size_t first, last;
    (void)worker;
    if (!rows_of(&state->work, index, &first, &last))
        return;
    for (size_t row = first; row < last; row++)
        run->simd->layer_norm(&state->norm, run->in + row * length, run->out + row * length);
}

static onnxd_status *enqueue_norm(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    norm_state with_weights = *(const norm_state *)kernel->state;
    with_weights.norm.scale = onnxd_simd_input(args, SCALE);
    with_weights.norm.bias = onnxd_simd_input(args, BIAS);
    run_rows(kernel, args, &with_weights, &with_weights.work, norm_piece);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_norm = {
    .name = "simd:normalization",
    .takes = takes_norm,
    .make = make_norm,
    .enqueue = enqueue_norm,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

/* ---- LRN ------------------------------------------------------------------------------------- */

typedef struct lrn_state {
    row_work work;
    onnxd_simd_lrn lrn; /* without scratch */
    size_t scratch;     /* elements for each worker */
} lrn_state;

/* The exponent that networks have; sums over so many channels are no matter of vectors. */
#define MOST_SIZE 64

static bool takes_lrn(const onnxd_cpu_case *c)
{
    const onnxd_lrn_params *params = c->node->params;
    return onnxd_simd_takes(c) && params->beta == 0.75f && params->size <= MOST_SIZE;
}

static onnxd_status *make_lrn(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_lrn_params *params = c->node->params;
    const onnxd_shape *x = &c->query->inputs[0].shape;
    size_t bytes;
    lrn_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a normalisation", sizeof(*state), UINT64_MAX);
    state->work = rows_along_last(x);
    const size_t channels = state->work.length;
    state->lrn = (onnxd_simd_lrn){.channels = channels,
                                  .size = (size_t)params->size,
                                  .alpha = params->alpha / (float)params->size,
                                  .bias = params->bias};
    state->scratch = channels + MOST_SIZE + 2 * (size_t)ONNXD_SIMD_MAX_LANES;
    if (!onnxd_size_mul(state->scratch * sizeof(float), onnxd_team_threads(c->runtime->team),
                        &bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "too many channels");
    kernel->base.workspace_bytes = bytes;
    kernel->state = state;
    onnxd_simd_name(kernel, "lrn");
    return NULL;
}

static void lrn_piece(void *context, size_t index, uint32_t worker)
{
    const row_run *run = context;
    const lrn_state *state = run->state;
    const size_t channels = state->lrn.channels;
    onnxd_simd_lrn lrn = state->lrn;
    size_t first, last;
    lrn.scratch = (float *)(void *)run->workspace + worker * state->scratch;
    if (!rows_of(&state->work, index, &first, &last))
        return;
    /* Channels beyond the first and the last count as zeros. */
    memset(lrn.scratch, 0, state->scratch * sizeof(float));
    for (size_t row = first; row < last; row++)
        run->simd->lrn(&lrn, run->in + row * channels, run->out + row * channels);
}

static onnxd_status *enqueue_lrn(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const lrn_state *state = kernel->state;
    run_rows(kernel, args, state, &state->work, lrn_piece);
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_lrn = {
    .name = "simd:lrn",
    .takes = takes_lrn,
    .make = make_lrn,
    .enqueue = enqueue_lrn,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

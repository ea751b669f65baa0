/* DepthToSpace of the domain onnxd, mode DCR: each pixel's channels are b rows of a block of
 * pixels, one after the other, and are copied row by row. */
#include <string.h>

#include "ep/cpu/simd.h"
#include "ops/layout/channels_last.h"

typedef struct blocks_state {
    size_t rows, width; /* of all images of the input, pixels of a row */
    size_t block, part; /* elements of one row of a block */
} blocks_state;

static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_depth_params *params = c->node->params;
    return onnxd_simd_takes(c) && !params->is_channel_first && c->query->inputs[0].shape.rank == 4;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_depth_params *params = c->node->params;
    const int64_t *dims = c->query->inputs[0].shape.dims;
    blocks_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    *state = (blocks_state){.rows = (size_t)(dims[0] * dims[1]),
                            .width = (size_t)dims[2],
                            .block = (size_t)params->block,
                            .part = (size_t)(dims[3] / params->block)};
    kernel->state = state;
    onnxd_simd_name(kernel, "blocks");
    return NULL;
}

typedef struct blocks_run {
    const blocks_state *state;
    const float *in;
    float *out;
} blocks_run;

/* Short rows are not worth a call each. */
#define SHORT 8

static void copy_parts(const float *from, size_t from_step, size_t count, size_t part, float *to)
{
    if (part > SHORT) {
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * part, from + i * from_step, part * sizeof(float));
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < part; k++)
            to[i * part + k] = from[i * from_step + k];
}

static void row_piece(void *context, size_t index, uint32_t worker)
{
    const blocks_run *run = context;
    const blocks_state *s = run->state;
    const size_t depth = s->block * s->part, row = s->width * s->part;
    const float *in = run->in + index * s->width * depth;
    float *out = run->out + index * s->block * row;
    (void)worker;
    for (size_t i = 0; i < s->block; i++)
        copy_parts(in + i * s->part, depth, s->width, s->part, out + i * row);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const blocks_state *state = kernel->state;
    blocks_run run = {state, onnxd_simd_input(args, 0), onnxd_simd_output(args, 0)};
    onnxd_team_run(kernel->runtime->team, state->rows, row_piece, &run);
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_blocks = {
    .name = "simd:blocks",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

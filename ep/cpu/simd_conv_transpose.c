/*
 * ConvTranspose of images channels-first. Each image and group is a product of the weights, a row
 * for each tap of each map, and the input, whose packed form all rows share; the rows of some maps
 * at a time are made and added where the taps put them.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/size_math.h"
#include "ep/cpu/compute/product.h"
#include "ep/cpu/simd.h"
#include "ops/image/conv_transpose.h"

enum { X, W, B };

/* Products of one piece of work may take that much. */
#define MOST_ROWS_BYTES ((size_t)64 << 20)

typedef struct transpose_state {
    onnxd_transpose_extent extent;
    onnxd_cpu_packed *weights; /* [groups][maps][taps][channels] */
    size_t maps;               /* of a piece of work */
    size_t packed, rows;       /* elements: of an image's packed form, of a piece's products */
} transpose_state;

/* ---- weights --------------------------------------------------------------------------------- */

/* [groups * channels, maps, taps] with the channels of each group innermost. */
static void turn(const void *context, const onnxd_tensor *tensor, void *out)
{
    const onnxd_transpose_extent *e = context;
    const float *from = tensor->data;
    float *to = out;
    const size_t rows = e->maps_per_group * e->kernel_plane;
    for (size_t group = 0; group < e->groups; group++)
        for (size_t channel = 0; channel < e->channels_per_group; channel++)
            for (size_t row = 0; row < rows; row++)
                to[(group * rows + row) * e->channels_per_group + channel] = *from++;
}

static bool takes(const onnxd_cpu_case *c)
{
    return onnxd_simd_takes(c) && c->is_static && onnxd_cpu_constant(c, W) != NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    transpose_state *state = kernel->state;
    if (state == NULL)
        return;
    if (state->weights != NULL)
        onnxd_cpu_packed_release(&kernel->runtime->packed, state->weights);
    onnxd_free(state);
    kernel->state = NULL;
}

/* False where products or workspace would be too large, or there is nothing to multiply. */
static bool size_up(const onnxd_cpu_case *c, transpose_state *s, size_t *out_bytes)
{
    const onnxd_transpose_extent *e = &s->extent;
    size_t elements, bytes;
    if (e->kernel_plane == 0 || e->kernel_plane > ONNXD_BLOCK_ROWS || e->in_plane == 0 ||
        e->channels_per_group == 0 || e->maps_per_group == 0 || e->out_plane == 0)
        return false;
    s->maps = ONNXD_BLOCK_ROWS / e->kernel_plane;
    s->maps = s->maps < e->maps_per_group ? s->maps : e->maps_per_group;
    if (!onnxd_product_packed_count(c->runtime->simd, e->channels_per_group, e->in_plane,
                                    &s->packed) ||
        !onnxd_size_mul(s->maps * e->kernel_plane, e->in_plane, &s->rows) ||
        !onnxd_size_mul(s->rows, sizeof(float), &bytes) || bytes > MOST_ROWS_BYTES)
        return false;
    return onnxd_size_mul(s->rows, onnxd_team_threads(c->runtime->team), &elements) &&
           onnxd_size_add(elements, s->packed, &elements) &&
           onnxd_size_mul(elements, sizeof(float), out_bytes);
}

static onnxd_status *build(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel,
                           transpose_state *state)
{
    size_t bytes;
    onnxd_transpose_extent *e = &state->extent;
    ONNXD_TRY(onnxd_transpose_extent_of(c->node, ONNXD_FLOAT, &c->query->inputs[X].shape,
                                        &c->query->inputs[W].shape, NULL, e));
    if (!size_up(c, state, &bytes))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this ConvTranspose is too large, or empty");
    const onnxd_cpu_packing packing = {
        .form = "conv_transpose",
        .parameters = {e->groups, e->channels_per_group, e->maps_per_group, e->kernel_plane},
        .bytes = kernel->constants[W]->bytes,
        .pack = turn,
        .context = e};
    ONNXD_TRY(onnxd_cpu_packed_acquire(&kernel->runtime->packed, kernel->constants[W], &packing,
                                       &state->weights));
    kernel->base.workspace_bytes = bytes;
    onnxd_simd_name(kernel, "conv_transpose");
    return NULL;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    transpose_state *state = onnxd_alloc_zero(1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    kernel->state = state;
    onnxd_status *status = build(c, kernel, state);
    if (status != NULL)
        unmake(kernel);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Of one image and group. */
typedef struct transpose_run {
    const onnxd_simd *simd;
    const transpose_state *state;
    const float *weights, *bias, *packed;
    float *out, *rows;
} transpose_run;

static void run_maps(void *context, size_t index, uint32_t worker)
{
    const transpose_run *run = context;
    const transpose_state *s = run->state;
    const onnxd_transpose_extent *e = &s->extent;
    const size_t first = index * s->maps, left = e->maps_per_group - first;
    const size_t maps = left < s->maps ? left : s->maps;
    const float *pointers[ONNXD_BLOCK_ROWS];
    float *rows = run->rows + worker * s->rows, *out = run->out + first * e->out_plane;
    const uint32_t count = (uint32_t)(maps * e->kernel_plane);
    for (size_t i = 0; i < count; i++)
        pointers[i] = run->weights + (first * e->kernel_plane + i) * e->channels_per_group;
    const onnxd_product_block block = {.a = pointers,
                                       .taps = 1,
                                       .depth = e->channels_per_group,
                                       .packed = run->packed,
                                       .columns = e->in_plane,
                                       .c = rows,
                                       .c_stride = e->in_plane,
                                       .rows = count};
    onnxd_product_block_run(run->simd, &block);
    for (size_t m = 0; m < maps; m++) {
        const float start = run->bias != NULL ? run->bias[first + m] : 0;
        for (size_t i = 0; i < e->out_plane; i++)
            out[m * e->out_plane + i] = start;
    }
    onnxd_transpose_add(e, rows, maps, out);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const transpose_state *s = kernel->state;
    const onnxd_transpose_extent *e = &s->extent;
    const onnxd_product_strides strides = {.step = e->in_plane, .column = 1};
    const float *in = onnxd_simd_input(args, X), *bias = onnxd_simd_input(args, B);
    const float *weights = onnxd_cpu_packed_data(s->weights);
    float *packed = args->workspace, *out = onnxd_simd_output(args, 0);
    for (size_t i = 0; i < e->batch * e->groups; i++) {
        const size_t group = i % e->groups;
        transpose_run run = {.simd = kernel->runtime->simd,
                             .state = s,
                             .weights = weights + group * e->maps_per_group * e->kernel_plane *
                                                      e->channels_per_group,
                             .bias = bias != NULL ? bias + group * e->maps_per_group : NULL,
                             .packed = packed,
                             .out = out + i * e->maps_per_group * e->out_plane,
                             .rows = packed + s->packed};
        onnxd_product_pack(run.simd, 1, e->channels_per_group, e->in_plane,
                           in + i * e->channels_per_group * e->in_plane, &strides, packed);
        onnxd_team_run(kernel->runtime->team, (e->maps_per_group + s->maps - 1) / s->maps, run_maps,
                       &run);
    }
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_conv_transpose = {
    .name = "simd:conv_transpose",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 40e3,
    .may_refuse = true,
};

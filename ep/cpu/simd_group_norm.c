/* InstanceNormalization and GroupNormalization: a group is a row, and each of its channels gets a
 * line of its own. */
#include <math.h>
#include <string.h>

#include "ep/cpu/simd.h"
#include "graph/attributes.h"

enum { X, SCALE, BIAS };

typedef struct group_state {
    size_t rows;                     /* groups of all entries of the batch; 0 for an empty tensor */
    size_t groups, channels, length; /* of an entry; of a group; of a channel */
    bool scales_groups; /* scale and bias have an element for each group, not for each channel */
    float epsilon;
} group_state;

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *x = &c->query->inputs[X].shape;
    const bool is_group = strcmp(c->def->op_type, "GroupNormalization") == 0;
    group_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    int64_t groups = x->dims[1];
    state->epsilon = 1e-5f;
    ONNXD_TRY(onnxd_attribute_float(c->node, "epsilon", &state->epsilon));
    ONNXD_TRY(onnxd_attribute_int(c->node, "num_groups", 1, INT32_MAX, &groups));
    state->groups = (size_t)groups;
    state->scales_groups = is_group && c->query->opset < 21;
    state->length = 1;
    for (int32_t i = 2; i < x->rank; i++)
        state->length *= (size_t)x->dims[i];
    state->channels = groups == 0 ? 0 : (size_t)(x->dims[1] / groups);
    if (state->length > 0 && state->channels > 0)
        state->rows = (size_t)x->dims[0] * state->groups;
    kernel->state = state;
    onnxd_simd_name(kernel, "group_norm");
    return NULL;
}

typedef struct group_run {
    const onnxd_simd *simd;
    const group_state *state;
    const float *in, *scale, *bias;
    float *out;
} group_run;

static void run_group(void *context, size_t row, uint32_t worker)
{
    const group_run *run = context;
    const group_state *s = run->state;
    const size_t elements = s->channels * s->length, group = row % s->groups;
    const float *in = run->in + row * elements;
    float *out = run->out + row * elements;
    const float mean = run->simd->reduce(ONNXD_SIMD_REDUCE_SUM, in, elements) / (float)elements;
    const float variance = run->simd->spread(in, elements, mean) / (float)elements;
    const float factor = 1.0f / sqrtf(variance + s->epsilon);
    (void)worker;
    for (size_t i = 0; i < s->channels; i++) {
        const size_t at = s->scales_groups ? group : group * s->channels + i;
        const onnxd_simd_line line = {mean, factor * run->scale[at], run->bias[at]};
        run->simd->affine(in + i * s->length, s->length, &line, out + i * s->length);
    }
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const group_state *s = kernel->state;
    group_run run = {kernel->runtime->simd,        s,
                     onnxd_simd_input(args, X),    onnxd_simd_input(args, SCALE),
                     onnxd_simd_input(args, BIAS), onnxd_simd_output(args, 0)};
    onnxd_team_run(kernel->runtime->team, s->rows, run_group, &run);
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_group_norm = {
    .name = "simd:group_norm",
    .takes = onnxd_simd_takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

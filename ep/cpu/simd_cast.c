/* Cast and CastLike between the types that models use most. */
#include "ep/cpu/simd.h"

/* Elements of a piece of work; fewer are not worth waking the team for. */
#define PIECE ((size_t)16384)

static const struct {
    onnxd_dtype from, to;
} casts[] = {
#define ENTRY(from, to) {ONNXD_##from, ONNXD_##to},
    ONNXD_SIMD_EACH_CAST(ENTRY)
#undef ENTRY
};

typedef struct cast_state {
    onnxd_simd_cast cast;
    size_t count, in_bytes, out_bytes; /* bytes of an element */
} cast_state;

/* ONNXD_SIMD_CAST_COUNT where there is none. */
static onnxd_simd_cast cast_of(const onnxd_cpu_case *c)
{
    size_t i = 0;
    while (i < ONNXD_COUNT(casts) &&
           (casts[i].from != c->query->inputs[0].dtype || casts[i].to != c->outputs[0].dtype))
        i++;
    return (onnxd_simd_cast)i;
}

static bool takes(const onnxd_cpu_case *c)
{
    return c->runtime->uses_vector_kernels && cast_of(c) != ONNXD_SIMD_CAST_COUNT;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    cast_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    if (state == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*state), UINT64_MAX);
    state->cast = cast_of(c);
    state->in_bytes = onnxd_dtype_size(c->query->inputs[0].dtype);
    state->out_bytes = onnxd_dtype_size(c->outputs[0].dtype);
    state->count = 1;
    for (int32_t i = 0; i < c->outputs[0].shape.rank; i++)
        state->count *= (size_t)c->outputs[0].shape.dims[i];
    kernel->state = state;
    onnxd_simd_name(kernel, "cast");
    return NULL;
}

typedef struct cast_run {
    const onnxd_simd *simd;
    const cast_state *state;
    const char *in;
    char *out;
} cast_run;

static void cast_piece(void *context, size_t index, uint32_t worker)
{
    const cast_run *run = context;
    const cast_state *s = run->state;
    const size_t first = index * PIECE, left = s->count - first;
    (void)worker;
    run->simd->cast(s->cast, run->in + first * s->in_bytes, left < PIECE ? left : PIECE,
                    run->out + first * s->out_bytes);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const cast_state *s = kernel->state;
    cast_run run = {kernel->runtime->simd, s, onnxd_tensor_view_data(&args->inputs[0]),
                    onnxd_tensor_view_data(&args->outputs[0])};
    onnxd_team_run(kernel->runtime->team, (s->count + PIECE - 1) / PIECE, cast_piece, &run);
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_cast = {
    .name = "simd:cast",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

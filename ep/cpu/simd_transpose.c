/*
 * Transpose. Dimensions that stay together are merged first. What is left either keeps the last
 * dimension, and rows are copied, or exchanges it with another one, and matrices are transposed.
 */
#include <string.h>

#include "ep/cpu/simd.h"
#include "graph/attributes.h"

/* Elements for which the team is worth waking. */
#define TEAM_ELEMENTS ((size_t)32768)

typedef struct transpose_state {
    /* Of the output, merged; strides of the input along them, in elements. */
    int32_t rank;
    size_t dims[ONNXD_MAX_RANK], strides[ONNXD_MAX_RANK];
    size_t out_strides[ONNXD_MAX_RANK];
    int32_t across; /* the output's dimension along which the input is contiguous */
    size_t slices;  /* combinations of the other dimensions */
    size_t elements, element_bytes;
} transpose_state;

/* ---- preparing ------------------------------------------------------------------------------- */

static void read_perm(const onnxd_cpu_case *c, int32_t rank, int64_t *perm)
{
    size_t count = 0;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    /* Checked when the node was resolved. */
    onnxd_status_free(onnxd_attribute_ints(c->node, "perm", 0, ONNXD_MAX_RANK, 0,
                                           ONNXD_MAX_RANK - 1, perm, &count));
}

/* Elements of four bytes are moved as floats are, whatever they are, those of one byte as such. */
static bool takes(const onnxd_cpu_case *c)
{
    const onnxd_dtype dtype = c->query->inputs[0].dtype;
    const size_t bytes = dtype == ONNXD_STRING ? 0 : onnxd_dtype_size(dtype);
    return c->runtime->uses_vector_kernels && (bytes == sizeof(float) || bytes == 1);
}

/* Dimensions of extent 1 go, and neighbours that are neighbours in the input become one. */
static void merge(transpose_state *t, const onnxd_shape *in, const int64_t *perm)
{
    size_t natural[ONNXD_MAX_RANK], stride = 1;
    for (int32_t i = in->rank; i-- > 0;) {
        natural[i] = stride;
        stride *= (size_t)in->dims[i];
    }
    t->rank = 0;
    for (int32_t i = 0; i < in->rank; i++) {
        const size_t dim = (size_t)in->dims[perm[i]];
        if (dim == 1)
            continue;
        if (t->rank > 0 && t->strides[t->rank - 1] == natural[perm[i]] * dim) {
            t->dims[t->rank - 1] *= dim;
            t->strides[t->rank - 1] = natural[perm[i]];
        } else {
            t->dims[t->rank] = dim;
            t->strides[t->rank++] = natural[perm[i]];
        }
    }
    if (t->rank == 0) {
        t->dims[0] = t->strides[0] = 1;
        t->rank = 1;
    }
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    int64_t perm[ONNXD_MAX_RANK];
    const onnxd_shape *in = &c->query->inputs[0].shape;
    transpose_state *t = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*t));
    if (t == NULL)
        return onnxd_error_out_of_memory("a kernel", sizeof(*t), UINT64_MAX);
    read_perm(c, in->rank, perm);
    merge(t, in, perm);
    t->element_bytes = onnxd_dtype_size(c->query->inputs[0].dtype);
    t->elements = 1;
    for (int32_t i = t->rank; i-- > 0;) {
        t->out_strides[i] = t->elements;
        t->elements *= t->dims[i];
        if (t->strides[i] == 1)
            t->across = i;
    }
    t->slices = t->elements / (t->dims[t->rank - 1] == 0 ? 1 : t->dims[t->rank - 1]);
    if (t->across != t->rank - 1 && t->dims[t->across] > 0)
        t->slices /= t->dims[t->across];
    kernel->state = t;
    onnxd_simd_name(kernel, "transpose");
    return NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct transpose_run {
    const onnxd_simd *simd;
    const transpose_state *t;
    const char *in;
    char *out;
} transpose_run;

/* Where slice `index` begins in input and output. */
static void locate(const transpose_state *t, size_t index, size_t *out_in, size_t *out_out)
{
    size_t in = 0, out = 0;
    for (int32_t i = t->rank - 1; i-- > 0;) {
        if (i == t->across)
            continue;
        const size_t at = index % t->dims[i];
        index /= t->dims[i];
        in += at * t->strides[i];
        out += at * t->out_strides[i];
    }
    *out_in = in;
    *out_out = out;
}

static void run_slice(void *context, size_t index, uint32_t worker)
{
    const transpose_run *run = context;
    const transpose_state *t = run->t;
    const int32_t last = t->rank - 1;
    size_t in, out;
    (void)worker;
    locate(t, index, &in, &out);
    const void *from = run->in + in * t->element_bytes;
    void *to = run->out + out * t->element_bytes;
    if (t->across == last)
        memcpy(to, from, t->dims[last] * t->element_bytes);
    else if (t->element_bytes == 1)
        run->simd->transpose_bytes(from, t->dims[last], t->dims[t->across], t->strides[last], to,
                                   t->out_strides[t->across]);
    else
        run->simd->transpose(from, t->dims[last], t->dims[t->across], t->strides[last], to,
                             t->out_strides[t->across]);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const transpose_state *t = kernel->state;
    transpose_run run = {kernel->runtime->simd, t, onnxd_tensor_view_data(&args->inputs[0]),
                         onnxd_tensor_view_data(&args->outputs[0])};
    if (t->elements == 0)
        return NULL;
    if (t->elements >= TEAM_ELEMENTS && t->across != t->rank - 1)
        onnxd_team_run(kernel->runtime->team, t->slices, run_slice, &run);
    else
        for (size_t i = 0; i < t->slices; i++)
            run_slice(&run, i, 0);
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

const onnxd_cpu_implementation onnxd_cpu_simd_transpose = {
    .name = "simd:transpose",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 8e3,
};

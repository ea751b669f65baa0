#include "ops/image/resample.h"

#include <string.h>

#include "base/size_math.h"
#include "ops/convert.h"
#include "ops/move.h"

/* What a pass needs of an axis: for each position the first input element, how many, and their
 * weights, `stride` apart. */
typedef struct taps {
    int64_t *first;
    size_t *count;
    double *scratch; /* `stride` values */
    void *weights;
    size_t stride;
} taps;

#define KERNEL_FILE "ops/image/resample_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool is_complex(onnxd_dtype dtype)
{
    return dtype == ONNXD_COMPLEX64 || dtype == ONNXD_COMPLEX128;
}

/* Sums are made on the tensors themselves, without converting. */
static bool is_direct(onnxd_dtype dtype)
{
    return dtype == ONNXD_FLOAT || dtype == ONNXD_DOUBLE || is_complex(dtype);
}

static size_t sum_bytes(onnxd_dtype dtype)
{
    return onnxd_resample_is_wide(dtype) ? sizeof(double) : sizeof(float);
}

/* Axes in the order of their passes: those that shrink first, from the outermost on, then the
 * others from the innermost on, so that the tensor stays small and inner loops long. */
static void order_axes(int32_t rank, const onnxd_resample_axis *axes, int32_t *order)
{
    int32_t count = 0;
    for (int32_t i = 0; i < rank; i++)
        if (axes[i].out < axes[i].in)
            order[count++] = i;
    for (int32_t i = rank; i-- > 0;)
        if (axes[i].out >= axes[i].in)
            order[count++] = i;
}

static bool count_elements(int32_t rank, const int64_t *dims, size_t parts, size_t *out_count)
{
    size_t count = parts;
    for (int32_t i = 0; i < rank; i++)
        if (!onnxd_size_mul(count, (size_t)dims[i], &count))
            return false;
    *out_count = count;
    return true;
}

/* Elements of the largest tensor before, between and after the passes. */
static bool largest_stage(onnxd_dtype dtype, int32_t rank, const onnxd_resample_axis *axes,
                          size_t *out_count)
{
    int32_t order[ONNXD_MAX_RANK];
    int64_t dims[ONNXD_MAX_RANK];
    size_t parts = is_complex(dtype) ? 2 : 1, largest, count;
    for (int32_t i = 0; i < rank; i++)
        dims[i] = axes[i].in;
    if (!count_elements(rank, dims, parts, &largest))
        return false;
    order_axes(rank, axes, order);
    for (int32_t i = 0; i < rank; i++) {
        dims[order[i]] = axes[order[i]].out;
        if (!count_elements(rank, dims, parts, &count))
            return false;
        if (count > largest)
            largest = count;
    }
    *out_count = largest;
    return true;
}

/* Where the workspace's parts begin; buffers first, then the taps of one axis at a time. */
typedef struct layout {
    size_t buffer_bytes; /* of each of two */
    size_t taps_bytes;
} layout;

static bool add_taps_bytes(const onnxd_resample *how, const onnxd_resample_axis *axis,
                           size_t *inout_largest)
{
    size_t taps_count = onnxd_resample_max_taps(how, axis), bytes, weights;
    if (!onnxd_size_mul((size_t)axis->out, taps_count, &weights) ||
        !onnxd_size_add(weights, taps_count, &weights) ||
        !onnxd_size_mul(weights, sizeof(double), &weights) ||
        !onnxd_size_mul((size_t)axis->out, sizeof(int64_t) + sizeof(size_t), &bytes) ||
        !onnxd_size_add(bytes, weights, &bytes))
        return false;
    if (bytes > *inout_largest)
        *inout_largest = bytes;
    return true;
}

static bool lay_out(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                    const onnxd_resample_axis *axes, layout *out)
{
    size_t count;
    layout l = {0};
    if (!largest_stage(dtype, rank, axes, &count) ||
        !onnxd_size_mul(count, sum_bytes(dtype), &l.buffer_bytes) ||
        !onnxd_size_align(l.buffer_bytes, 64, &l.buffer_bytes))
        return false;
    for (int32_t i = 0; i < rank; i++)
        if (!add_taps_bytes(how, &axes[i], &l.taps_bytes))
            return false;
    *out = l;
    return true;
}

/* One map of input positions for each axis. */
static bool nearest_bytes(int32_t rank, const onnxd_resample_axis *axes, size_t *out_bytes)
{
    size_t count = 0;
    for (int32_t i = 0; i < rank; i++)
        if (!onnxd_size_add(count, (size_t)axes[i].out, &count))
            return false;
    return onnxd_size_mul(count, sizeof(size_t), out_bytes);
}

size_t onnxd_resample_workspace(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                                const onnxd_resample_axis *axes)
{
    size_t bytes;
    layout l;
    for (int32_t i = 0; i < rank; i++)
        if (axes[i].out == 0)
            return 0;
    if (how->mode == ONNXD_RESAMPLE_NEAREST)
        return nearest_bytes(rank, axes, &bytes) ? bytes : SIZE_MAX;
    if (!lay_out(how, dtype, rank, axes, &l) ||
        !onnxd_size_mul(l.buffer_bytes, 2, &l.buffer_bytes) ||
        !onnxd_size_add(l.buffer_bytes, l.taps_bytes, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* ---- nearest --------------------------------------------------------------------------------- */

/* out[x] = in[map[x]] */
#define GATHER(bytes, T)                                                                           \
    static void gather_##bytes(const void *in, const size_t *map, size_t count, void *out)         \
    {                                                                                              \
        const T *from = in;                                                                        \
        T *to = out;                                                                               \
        for (size_t x = 0; x < count; x++)                                                         \
            to[x] = from[map[x]];                                                                  \
    }
ONNXD_EACH_SIZE(GATHER)

static void gather(size_t bytes, const char *in, const size_t *map, size_t count, char *out)
{
#define GATHER_CASE(size, T)                                                                       \
    case size:                                                                                     \
        gather_##size(in, map, count, out);                                                        \
        break;
    switch (bytes) {
        ONNXD_EACH_SIZE(GATHER_CASE)
    default:
        for (size_t x = 0; x < count; x++)
            memcpy(out + x * bytes, in + map[x] * bytes, bytes);
    }
}

/* Element maps of every axis, one after the other, times the elements that one step skips. Where
 * that is outside, any element does: those are written over. */
static void fill_maps(const onnxd_resample *how, int32_t rank, const onnxd_resample_axis *axes,
                      size_t *maps)
{
    size_t stride = 1, at = 0;
    for (int32_t i = 0; i < rank; i++)
        at += (size_t)axes[i].out;
    for (int32_t i = rank; i-- > 0;) {
        at -= (size_t)axes[i].out;
        for (int64_t x = 0; x < axes[i].out; x++) {
            int64_t from = onnxd_resample_nearest(how, &axes[i], x);
            maps[at + (size_t)x] = from < 0 ? 0 : (size_t)from * stride;
        }
        stride *= (size_t)axes[i].in;
    }
}

static void run_nearest(const onnxd_resample *how, size_t element, int32_t rank,
                        const onnxd_resample_axis *axes, const char *in, char *out, size_t *maps)
{
    /* Trailing axes that are kept make one long element; the maps of the others count in it. */
    size_t block = element, index[ONNXD_MAX_RANK] = {0}, rows = 1, base = 0, last_base = 0;
    const size_t *map_of[ONNXD_MAX_RANK];
    while (rank > 1 && onnxd_resample_keeps(how, &axes[rank - 1]))
        block *= (size_t)axes[--rank].in;
    fill_maps(how, rank, axes, maps);
    for (int32_t i = 0; i < rank; i++) {
        map_of[i] = maps;
        maps += axes[i].out;
        if (i < rank - 1) {
            rows *= (size_t)axes[i].out;
            base += map_of[i][0];
        }
    }
    size_t count = (size_t)axes[rank - 1].out, row_bytes = count * block;
    for (size_t row = 0; row < rows; row++, out += row_bytes) {
        if (row > 0 && base == last_base)
            memcpy(out, out - row_bytes, row_bytes);
        else
            gather(block, in + base * block, map_of[rank - 1], count, out);
        last_base = base;
        for (int32_t i = rank - 1; i-- > 0;) {
            base -= map_of[i][index[i]];
            if (++index[i] == (size_t)axes[i].out)
                index[i] = 0;
            base += map_of[i][index[i]];
            if (index[i] != 0)
                break;
        }
    }
}

/* ---- linear and cubic ------------------------------------------------------------------------ */

static taps taps_at(const onnxd_resample *how, const onnxd_resample_axis *axis, void *memory)
{
    taps t = {.stride = onnxd_resample_max_taps(how, axis)};
    t.first = memory;
    t.count = (size_t *)(t.first + axis->out);
    t.scratch = (double *)(t.count + axis->out);
    t.weights = t.scratch + t.stride;
    return t;
}

static size_t span(const int64_t *dims, int32_t first, int32_t last)
{
    size_t count = 1;
    for (int32_t i = first; i < last; i++)
        count *= (size_t)dims[i];
    return count;
}

static void run_sums(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                     const onnxd_resample_axis *axes, const void *in, void *out, char *workspace)
{
    int32_t order[ONNXD_MAX_RANK], passes = 0, steps[ONNXD_MAX_RANK];
    int64_t dims[ONNXD_MAX_RANK];
    layout l = {0};
    if (!lay_out(how, dtype, rank, axes, &l))
        return;
    order_axes(rank, axes, order);
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = axes[i].in;
        if (!onnxd_resample_keeps(how, &axes[order[i]]))
            steps[passes++] = order[i];
    }
    char *buffers[2] = {workspace, workspace + l.buffer_bytes};
    char *memory = workspace + 2 * l.buffer_bytes;
    size_t parts = is_complex(dtype) ? 2 : 1;
    bool is_wide = onnxd_resample_is_wide(dtype);
    const void *from = in;
    if (!is_direct(dtype)) {
        onnxd_resample_load(dtype, in, span(dims, 0, rank), buffers[1]);
        from = buffers[1];
    }
    for (int32_t i = 0; i < passes; i++) {
        const onnxd_resample_axis *axis = &axes[steps[i]];
        void *to = i == passes - 1 && is_direct(dtype) ? out : buffers[i % 2];
        taps t = taps_at(how, axis, memory);
        (is_wide ? pass_double : pass_float)(how, axis, &t, span(dims, 0, steps[i]),
                                             span(dims, steps[i] + 1, rank) * parts, from, to);
        dims[steps[i]] = axis->out;
        from = to;
    }
    /* Linear sums of integers are cut, as other runtimes do; the rest is rounded. */
    bool rounds = how->mode != ONNXD_RESAMPLE_LINEAR || how->is_antialiased;
    if (!is_direct(dtype))
        onnxd_resample_store(dtype, from, span(dims, 0, rank), rounds, out);
}

/* ---- outside --------------------------------------------------------------------------------- */

/* The extrapolation value as an element of `dtype`; an empty string. */
static void make_element(onnxd_dtype dtype, float value, void *element)
{
    onnxd_rounding rounding = {.saturates = true};
    onnxd_wide wide = {.f = (double)value};
    memset(element, 0, 16);
    if (is_complex(dtype))
        dtype = dtype == ONNXD_COMPLEX64 ? ONNXD_FLOAT : ONNXD_DOUBLE;
    if (onnxd_wide_has(dtype))
        onnxd_wide_store(dtype, ONNXD_WIDE_FLOAT, &wide, 1, &rounding, element, 0);
}

static void fill_outside(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                         const onnxd_resample_axis *axes, char *out)
{
    int64_t dims[ONNXD_MAX_RANK];
    size_t element = onnxd_dtype_size(dtype);
    union {
        double alignment;
        char bytes[16];
    } value;
    make_element(dtype, how->extrapolation, value.bytes);
    for (int32_t i = 0; i < rank; i++)
        dims[i] = axes[i].out;
    for (int32_t i = 0; i < rank; i++) {
        size_t outer = span(dims, 0, i), inner = span(dims, i + 1, rank), length = (size_t)dims[i];
        for (size_t x = 0; x < length; x++) {
            if (!onnxd_resample_is_outside(how, &axes[i], (int64_t)x))
                continue;
            for (size_t o = 0; o < outer; o++)
                onnxd_fill(out + (o * length + x) * inner * element, inner, element, value.bytes);
        }
    }
}

void onnxd_resample_run(const onnxd_resample *how, onnxd_dtype dtype, int32_t rank,
                        const onnxd_resample_axis *axes, const void *in, void *out, void *workspace)
{
    size_t bytes = onnxd_dtype_size(dtype);
    bool is_copy = true;
    for (int32_t i = 0; i < rank; i++) {
        is_copy = is_copy && onnxd_resample_keeps(how, &axes[i]);
        bytes *= (size_t)axes[i].out;
    }
    if (bytes == 0)
        return;
    if (is_copy) {
        memcpy(out, in, bytes);
        return;
    }
    if (how->mode == ONNXD_RESAMPLE_NEAREST)
        run_nearest(how, onnxd_dtype_size(dtype), rank, axes, in, out, workspace);
    else
        run_sums(how, dtype, rank, axes, in, out, workspace);
    if (how->coordinates == ONNXD_RESAMPLE_TF_CROP_AND_RESIZE)
        fill_outside(how, dtype, rank, axes, out);
}

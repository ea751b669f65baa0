/* Concat of elements of any type, as rows of bytes. Inputs that lie at their place in the output
 * already are left alone. */
#include <string.h>

#include "ep/cpu/internal.h"
#include "graph/attributes.h"

/* Bytes of one piece of work, about. */
#define PIECE_BYTES ((size_t)65536)

/* Each row of the output has one row of each input. */
typedef struct concat_state {
    size_t rows, element_bytes;
    size_t *row_bytes; /* [input_count] */
    size_t out_row_bytes;
    size_t piece_rows, pieces; /* of each input */
} concat_state;

/* Packed types have no address for each element. */
static bool takes(const onnxd_cpu_case *c)
{
    return c->runtime->uses_vector_kernels && onnxd_dtype_size(c->outputs[0].dtype) != 0;
}

static int32_t axis_of(const onnxd_cpu_case *c)
{
    const int32_t rank = c->outputs[0].shape.rank;
    int64_t axis = 1;
    int32_t at = 0;
    onnxd_status *status =
        onnxd_attribute_int(c->node, "axis", -ONNXD_MAX_RANK, ONNXD_MAX_RANK - 1, &axis);
    const bool fits = status == NULL && onnxd_shape_axis(rank, axis, &at);
    onnxd_status_free(status);
    return fits ? at : rank;
}

/* Bytes of a shape from `axis` on. The tensor's size fits, but for one without elements this may
 * not: then nothing is copied. */
static size_t span_bytes(const onnxd_shape *shape, int32_t axis, size_t element_bytes)
{
    size_t count;
    return onnxd_shape_span(shape, axis, shape->rank, &count) ? count * element_bytes : 0;
}

static onnxd_status *make(const onnxd_cpu_case *c, onnxd_cpu_kernel *kernel)
{
    const onnxd_shape *shape = &c->outputs[0].shape;
    const int32_t axis = axis_of(c);
    const uint32_t count = c->query->input_count;
    concat_state *state = onnxd_arena_alloc_zero(&kernel->arena, 1, sizeof(*state));
    size_t *row_bytes = onnxd_arena_alloc_zero(&kernel->arena, (size_t)count + 1, sizeof(size_t));
    size_t elements;
    if (state == NULL || row_bytes == NULL)
        return onnxd_error_out_of_memory("a kernel", count * sizeof(size_t), UINT64_MAX);
    state->element_bytes = onnxd_dtype_size(c->outputs[0].dtype);
    state->row_bytes = row_bytes;
    if (!onnxd_shape_count(shape, &elements) || !onnxd_shape_span(shape, 0, axis, &state->rows))
        return onnxd_error(ONNXD_UNIMPLEMENTED, "this tensor is too large");
    if (elements == 0)
        state->rows = 0;
    for (uint32_t i = 0; i < count && state->rows > 0; i++)
        row_bytes[i] = span_bytes(&c->query->inputs[i].shape, axis, state->element_bytes);
    state->out_row_bytes = state->rows == 0 ? 0 : span_bytes(shape, axis, state->element_bytes);
    state->piece_rows = state->out_row_bytes == 0 ? 1 : PIECE_BYTES / state->out_row_bytes + 1;
    state->pieces = (state->rows + state->piece_rows - 1) / state->piece_rows;
    kernel->state = state;
    kernel->base.skips_placed_inputs = true;
    if (axis == shape->rank - 1) {
        kernel->base.pitched_inputs = UINT64_MAX;
        kernel->base.pitched_outputs = 1;
    }
    return NULL;
}

static void unmake(onnxd_cpu_kernel *kernel)
{
    kernel->state = NULL;
}

/* The distance of two rows in bytes. */
static size_t pitch_of(const onnxd_tensor_view *view, size_t row_bytes, size_t element_bytes)
{
    size_t pitch;
    if (onnxd_tensor_view_is_contiguous(view) || !onnxd_tensor_view_pitch(view, &pitch))
        return row_bytes;
    return pitch * element_bytes;
}

/* One input. */
typedef struct concat_run {
    const concat_state *state;
    const char *from;
    char *to;
    size_t bytes, from_pitch, to_pitch; /* of a row */
} concat_run;

static void copy_piece(void *context, size_t index, uint32_t worker)
{
    const concat_run *run = context;
    const size_t first = index * run->state->piece_rows, left = run->state->rows - first;
    const size_t rows = left < run->state->piece_rows ? left : run->state->piece_rows;
    const char *from = run->from + first * run->from_pitch;
    char *to = run->to + first * run->to_pitch;
    (void)worker;
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * run->to_pitch, from + i * run->from_pitch, run->bytes);
}

static onnxd_status *enqueue(onnxd_cpu_kernel *kernel, const onnxd_kernel_args *args)
{
    const concat_state *state = kernel->state;
    const onnxd_tensor_view *output = &args->outputs[0];
    concat_run run = {.state = state,
                      .to = onnxd_tensor_view_data(output),
                      .to_pitch = pitch_of(output, state->out_row_bytes, state->element_bytes)};
    for (uint32_t i = 0; i < args->input_count && state->rows > 0; i++) {
        const onnxd_tensor_view *input = &args->inputs[i];
        run.bytes = state->row_bytes[i];
        run.from = onnxd_tensor_view_data(input);
        run.from_pitch = pitch_of(input, run.bytes, state->element_bytes);
        if (run.bytes > 0 && run.from != run.to)
            onnxd_team_run(kernel->runtime->team, state->pieces, copy_piece, &run);
        run.to += run.bytes;
    }
    return NULL;
}

const onnxd_cpu_implementation onnxd_cpu_concat = {
    .name = "rows",
    .takes = takes,
    .make = make,
    .enqueue = enqueue,
    .unmake = unmake,
    .flops_per_us = 2e3,
};

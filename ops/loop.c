#include "ops/loop.h"

#include <inttypes.h>
#include <string.h>

#include "ops/support.h"

bool onnxd_broadcast_dim(int64_t a, int64_t b, int64_t *out_dim)
{
    const bool fits = a == b || a == 1 || b == 1;
    if (!fits && onnxd_dim_is_static(a) && onnxd_dim_is_static(b))
        return false;
    /* A static extent beyond 1 decides, whatever the other turns out to be. */
    if (a == b || b == 1 || (a != 1 && onnxd_dim_is_static(a)))
        *out_dim = a;
    else if (a == 1 || onnxd_dim_is_static(b))
        *out_dim = b;
    else
        *out_dim = ONNXD_DIM_UNKNOWN;
    return true;
}

onnxd_status *onnxd_broadcast_shapes(const onnxd_node *node, const onnxd_shape *a,
                                     const onnxd_shape *b, onnxd_shape *out_shape)
{
    if (a->rank < 0 || b->rank < 0) {
        *out_shape = onnxd_shape_unknown();
        return NULL;
    }
    onnxd_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int32_t i = 0; i < shape.rank; i++) {
        int32_t in_a = i - (shape.rank - a->rank), in_b = i - (shape.rank - b->rank);
        int64_t dim_a = in_a < 0 ? 1 : a->dims[in_a], dim_b = in_b < 0 ? 1 : b->dims[in_b];
        if (!onnxd_broadcast_dim(dim_a, dim_b, &shape.dims[i])) {
            char text_a[ONNXD_SHAPE_TEXT], text_b[ONNXD_SHAPE_TEXT];
            return onnxd_op_error(node,
                                  "shapes %s and %s do not broadcast: %" PRId64 " against %" PRId64,
                                  onnxd_shape_format(a, text_a, sizeof(text_a)),
                                  onnxd_shape_format(b, text_b, sizeof(text_b)), dim_a, dim_b);
        }
    }
    *out_shape = shape;
    return NULL;
}

onnxd_status *onnxd_broadcast_inputs(const onnxd_infer *infer, onnxd_shape *out_shape)
{
    onnxd_shape shape = infer->inputs[0].shape;
    for (uint32_t i = 1; i < infer->input_count; i++)
        ONNXD_TRY(onnxd_broadcast_shapes(infer->node, &shape, &infer->inputs[i].shape, &shape));
    *out_shape = shape;
    return NULL;
}

/* Whether dimension `inner` can be one dimension with the last of the loop. */
static bool can_merge(const onnxd_loop *loop, int64_t dim,
                      const int64_t (*strides)[ONNXD_LOOP_MAX_RANK], int32_t inner)
{
    int32_t last = loop->rank - 1;
    for (uint32_t k = 0; k < loop->operand_count; k++)
        if (loop->strides[k][last] != strides[k][inner] * dim)
            return false;
    return true;
}

void onnxd_loop_init(onnxd_loop *loop, int32_t rank, const int64_t *dims, uint32_t operand_count,
                     const int64_t (*strides)[ONNXD_LOOP_MAX_RANK])
{
    memset(loop, 0, sizeof(*loop));
    loop->operand_count = operand_count;
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] == 0) {
            /* Strides of an empty tensor may be anything: nothing is computed with them. */
            loop->rank = 1;
            loop->dims[0] = 0;
            return;
        }
    }
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] == 1)
            continue;
        int32_t at = loop->rank;
        if (at > 0 && can_merge(loop, dims[i], strides, i))
            loop->dims[--at] *= (size_t)dims[i];
        else
            loop->dims[at] = (size_t)dims[i];
        for (uint32_t k = 0; k < operand_count; k++)
            loop->strides[k][at] = strides[k][i];
        loop->rank = at + 1;
    }
    if (loop->rank == 0) {
        loop->rank = 1;
        loop->dims[0] = 1;
        for (uint32_t k = 0; k < operand_count; k++)
            loop->strides[k][0] = 1;
    }
}

void onnxd_strides_of(const onnxd_shape *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t i = shape->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        /* With a zero dimension no element is ever addressed; the product must not overflow. */
        stride = (int64_t)((uint64_t)stride * (uint64_t)shape->dims[i]);
    }
}

void onnxd_loop_init_broadcast(onnxd_loop *loop, const onnxd_shape *out, uint32_t input_count,
                               const onnxd_shape *const *inputs)
{
    int64_t strides[ONNXD_LOOP_MAX_OPERANDS][ONNXD_LOOP_MAX_RANK] = {{0}};
    onnxd_strides_of(out, strides[0]);
    for (uint32_t k = 0; k < input_count; k++) {
        const onnxd_shape *shape = inputs[k];
        int64_t own[ONNXD_MAX_RANK];
        onnxd_strides_of(shape, own);
        int32_t skipped = out->rank - shape->rank;
        for (int32_t i = 0; i < shape->rank; i++)
            strides[k + 1][skipped + i] = shape->dims[i] == 1 ? 0 : own[i];
    }
    onnxd_loop_init(loop, out->rank, out->dims, input_count + 1,
                    (const int64_t(*)[ONNXD_LOOP_MAX_RANK])strides);
}

bool onnxd_loop_begin(const onnxd_loop *loop, onnxd_loop_cursor *cursor)
{
    for (int32_t i = 0; i < loop->rank; i++) {
        if (loop->dims[i] == 0)
            return false;
        cursor->index[i] = 0;
    }
    memset(cursor->offsets, 0, sizeof(cursor->offsets));
    return true;
}

void onnxd_loop_seek(const onnxd_loop *loop, size_t row, onnxd_loop_cursor *cursor)
{
    memset(cursor, 0, sizeof(*cursor));
    for (int32_t i = loop->rank - 2; i >= 0; i--) {
        cursor->index[i] = row % loop->dims[i];
        row /= loop->dims[i];
        for (uint32_t k = 0; k < loop->operand_count; k++)
            cursor->offsets[k] += (int64_t)cursor->index[i] * loop->strides[k][i];
    }
}

bool onnxd_loop_next(const onnxd_loop *loop, onnxd_loop_cursor *cursor)
{
    for (int32_t i = loop->rank - 2; i >= 0; i--) {
        bool wraps = ++cursor->index[i] == loop->dims[i];
        int64_t steps = wraps ? 1 - (int64_t)loop->dims[i] : 1;
        for (uint32_t k = 0; k < loop->operand_count; k++)
            cursor->offsets[k] += steps * loop->strides[k][i];
        if (!wraps)
            return true;
        cursor->index[i] = 0;
    }
    return false;
}

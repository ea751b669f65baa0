/*
 * Broadcasting, and nested loops over several strided operands.
 *
 * A loop is made once per kernel call: dimensions of extent 1 are dropped and neighbours merged
 * where every operand allows it, so that the last dimension is as long as it can be. A kernel then
 * runs rows:
 *
 *   onnxd_loop_cursor cursor;
 *   if (onnxd_loop_begin(&loop, &cursor))
 *       do
 *           row(out + cursor.offsets[0], a + cursor.offsets[1], onnxd_loop_row(&loop));
 *       while (onnxd_loop_next(&loop, &cursor));
 *
 * Offsets and strides are in elements. In a loop over broadcast contiguous inputs the stride of a
 * row (onnxd_loop_step) is 1, or 0 where the input repeats one element.
 */
#ifndef ONNXD_OPS_LOOP_H
#define ONNXD_OPS_LOOP_H

#include "graph/op.h"

/* Numpy's rule for two dimensions, also symbolic ones: a symbol against 1 is the symbol, against
 * another static extent that extent, against another symbol unknown. False when they contradict. */
ONNXD_NODISCARD bool onnxd_broadcast_dim(int64_t a, int64_t b, int64_t *out_dim);
/* Numpy's rule for two shapes; an unknown rank makes the result's unknown.
 * Errors: INVALID_ARGUMENT with both shapes. */
ONNXD_NODISCARD onnxd_status *onnxd_broadcast_shapes(const onnxd_node *node, const onnxd_shape *a,
                                                     const onnxd_shape *b, onnxd_shape *out_shape);
/* The same over the shapes of all inputs of an inference, at least one. */
ONNXD_NODISCARD onnxd_status *onnxd_broadcast_inputs(const onnxd_infer *infer,
                                                     onnxd_shape *out_shape);

#define ONNXD_LOOP_MAX_OPERANDS 9
#define ONNXD_LOOP_MAX_RANK (2 * ONNXD_MAX_RANK)

typedef struct onnxd_loop {
    int32_t rank; /* at least 1 */
    uint32_t operand_count;
    size_t dims[ONNXD_LOOP_MAX_RANK];
    int64_t strides[ONNXD_LOOP_MAX_OPERANDS][ONNXD_LOOP_MAX_RANK];
} onnxd_loop;

typedef struct onnxd_loop_cursor {
    int64_t offsets[ONNXD_LOOP_MAX_OPERANDS];
    size_t index[ONNXD_LOOP_MAX_RANK];
} onnxd_loop_cursor;

/* rank <= ONNXD_LOOP_MAX_RANK; strides[operand][dimension]. */
void onnxd_loop_init(onnxd_loop *loop, int32_t rank, const int64_t *dims, uint32_t operand_count,
                     const int64_t (*strides)[ONNXD_LOOP_MAX_RANK]);
/* Operand 0 is a contiguous output of shape `out`, operands 1.. contiguous inputs that broadcast to
 * it. input_count < ONNXD_LOOP_MAX_OPERANDS. */
void onnxd_loop_init_broadcast(onnxd_loop *loop, const onnxd_shape *out, uint32_t input_count,
                               const onnxd_shape *const *inputs);

/* Row-major strides of a static shape. */
void onnxd_strides_of(const onnxd_shape *shape, int64_t *strides);

/* False when there is nothing to do. */
bool onnxd_loop_begin(const onnxd_loop *loop, onnxd_loop_cursor *cursor);
/* The row of that number, of a loop in which there is something to do. */
void onnxd_loop_seek(const onnxd_loop *loop, size_t row, onnxd_loop_cursor *cursor);
/* The next row; false after the last. */
bool onnxd_loop_next(const onnxd_loop *loop, onnxd_loop_cursor *cursor);

static inline size_t onnxd_loop_row(const onnxd_loop *loop)
{
    return loop->dims[loop->rank - 1];
}
static inline int64_t onnxd_loop_step(const onnxd_loop *loop, uint32_t operand)
{
    return loop->strides[operand][loop->rank - 1];
}

#endif

/*
 * Cutting tensors along an axis and putting them together again, any element type, also those of
 * less than a byte.
 *
 * A tensor of strings that is put together borrows the bytes of its pieces until
 * onnxd_pieces_own_strings() copies them.
 */
#ifndef ONNXD_OPS_CONTROL_PIECES_H
#define ONNXD_OPS_CONTROL_PIECES_H

#include "graph/op.h"

/* A tensor with undefined elements, in which bits behind the last element of a packed type are
 * zero. */
ONNXD_NODISCARD onnxd_status *onnxd_pieces_allocate(const onnxd_run_env *env, onnxd_dtype dtype,
                                                    const onnxd_shape *shape,
                                                    onnxd_tensor **out_tensor);
/* A tensor of zeros, or of empty strings. */
ONNXD_NODISCARD onnxd_status *onnxd_pieces_zeros(const onnxd_run_env *env, onnxd_dtype dtype,
                                                 const onnxd_shape *shape,
                                                 onnxd_tensor **out_tensor);
/* The elements [first, first + extent) of an axis, in a new tensor of `shape`, which has as many
 * elements. */
ONNXD_NODISCARD onnxd_status *onnxd_pieces_take(const onnxd_run_env *env, const onnxd_tensor *whole,
                                                int32_t axis, int64_t first, int64_t extent,
                                                const onnxd_shape *shape, onnxd_tensor **out_piece);
/* Writes `piece` to the elements [first, first + extent) of an axis of `whole`. Both have one
 * element type and the piece as many elements as there are. */
void onnxd_pieces_put(onnxd_tensor *whole, int32_t axis, int64_t first, int64_t extent,
                      const onnxd_tensor *piece);
/* Of a tensor of strings: one that holds its bytes, in place of *inout_tensor. Others stay. */
ONNXD_NODISCARD onnxd_status *onnxd_pieces_own_strings(const onnxd_run_env *env,
                                                       onnxd_tensor **inout_tensor);

/*
 * Tensors of one type and shape that come one by one, and become one tensor with a new axis.
 *
 * Where it is not known how many come, room doubles with them, so that nothing is claimed for what
 * may never come. Where it is known, a tensor can also be put in front of those before it, or the
 * axis be another than the first.
 */
typedef struct onnxd_stack {
    const onnxd_run_env *env;
    size_t most;      /* tensors that can come */
    bool is_fixed;    /* the axis has extent `most` in any case; zero where none comes */
    bool is_backward; /* only where fixed */
    int32_t axis;     /* only where fixed */
    size_t count, capacity;
    onnxd_shape shape; /* of one */
    onnxd_tensor *room;
    onnxd_tensor *texts; /* the bytes of strings, which those in `room` borrow */
    size_t text_bytes;
} onnxd_stack;

/* SIZE_MAX when it is not known how many can come. */
void onnxd_stack_init(onnxd_stack *stack, const onnxd_run_env *env, size_t most);
void onnxd_stack_init_fixed(onnxd_stack *stack, const onnxd_run_env *env, size_t extent,
                            bool is_backward);
void onnxd_stack_deinit(onnxd_stack *stack);
/* Errors: INVALID_ARGUMENT when it is not like those before it, or its rank is the highest;
 * RESOURCE_EXHAUSTED for more than can come. */
ONNXD_NODISCARD onnxd_status *onnxd_stack_push(onnxd_stack *stack, onnxd_tensor *tensor);
/* Leaves zeros in place of the next tensor; only where fixed. */
void onnxd_stack_skip(onnxd_stack *stack);
/* Nothing was pushed. */
bool onnxd_stack_is_empty(const onnxd_stack *stack);
/* All of them, unless it is empty. */
ONNXD_NODISCARD onnxd_status *onnxd_stack_finish(onnxd_stack *stack, onnxd_tensor **out_tensor);

#endif

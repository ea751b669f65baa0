/* Moving elements without looking at them, by element size: 1, 2, 4, 8 or 16 bytes. */
#ifndef ONNXD_OPS_MOVE_H
#define ONNXD_OPS_MOVE_H

#include "ops/loop.h"

/* Copies `source` (operand 1) to `destination` (operand 0) of a loop. The data must not overlap. */
void onnxd_move(const onnxd_loop *loop, size_t element_bytes, void *destination,
                const void *source);
/* The loop of a contiguous output of shape `out`, read from strides `source_strides`. */
void onnxd_move_contiguous(const onnxd_shape *out, const int64_t *source_strides,
                           size_t element_bytes, void *destination, const void *source);
/* `count` copies of the element at `value`. */
void onnxd_fill(void *destination, size_t count, size_t element_bytes, const void *value);

#endif

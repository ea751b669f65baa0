/*
 * Moving elements without looking at them, by element size: 1, 2, 4, 8 or 16 bytes. Elements of
 * packed types (int4, uint4, float4e2m1, int2, uint2, the float6 types) have no address; they are
 * moved as bytes:
 *
 *   static onnxd_status *compute(const onnxd_compute *compute)
 *   {
 *       return onnxd_packed_is_used(compute) ? onnxd_packed_compute(compute, move)
 *                                            : move(compute);
 *   }
 *
 * with .workspace_bytes = onnxd_packed_workspace_bytes and a kernel `move` that goes by the element
 * size of its views.
 */
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

/* `count` elements, the first at the start of `packed`, as one byte each: the element's bits
 * lowest, zero above (a negative int4 is not extended). Types of whole bytes are copied. */
void onnxd_unpack(onnxd_dtype dtype, size_t count, const void *packed, uint8_t *bytes);
/* The reverse; higher bits of `bytes` are ignored, bits behind the last element become zero. */
void onnxd_pack(onnxd_dtype dtype, size_t count, const uint8_t *bytes, void *packed);

/* Whether an input has a packed type. */
bool onnxd_packed_is_used(const onnxd_compute *compute);
/* A byte for each element of packed inputs and outputs; SIZE_MAX when that overflows. */
size_t onnxd_packed_workspace_bytes(const onnxd_compute *compute);
/* Runs `kernel` on views in which packed inputs and outputs are UINT8 tensors of the same shapes in
 * compute->workspace, of onnxd_packed_workspace_bytes(). `kernel` gets no workspace. At most
 * ONNXD_OP_MAX_FORMALS inputs and as many outputs. */
ONNXD_NODISCARD onnxd_status *
onnxd_packed_compute(const onnxd_compute *compute,
                     onnxd_status *(*kernel)(const onnxd_compute *compute));

#endif

/*
 * Tensors of the interpreter: from the host pool, aliases of others, and strings that own their
 * bytes.
 *
 * Threads: any.
 */
#ifndef ONNXD_MODEL_INTERPRETER_MEMORY_H
#define ONNXD_MODEL_INTERPRETER_MEMORY_H

#include "graph/datum.h"
#include "memory/pool.h"

/* A tensor whose data is a block of the pool, which must outlive it. Not zeroed, strings aside.
 * Errors: PAYLOAD_TOO_LARGE beyond max_bytes, INVALID_ARGUMENT for a shape that is not static,
 * OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_pooled_tensor_create(onnxd_pool *pool, uint64_t max_bytes,
                                                         onnxd_dtype dtype,
                                                         const onnxd_shape *shape,
                                                         onnxd_tensor **out_tensor);
/* The same bytes under another shape; holds a reference to `base`. Errors: INVALID_ARGUMENT when
 * the numbers of bytes differ, OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_alias(onnxd_tensor *base, const onnxd_shape *shape,
                                                 onnxd_tensor **out_tensor);
/* String tensors from the pool borrow their bytes from a kernel's inputs and arena. Gives every
 * such tensor in the datum, which nobody else holds yet, bytes of its own, max_bytes of them at
 * most, in a block of the pool. */
ONNXD_NODISCARD onnxd_status *onnxd_datum_own_strings(onnxd_pool *pool, onnxd_datum *datum,
                                                      uint64_t max_bytes);

#endif

/*
 * Weights: the constants of all models, each kept once however many models and versions have it,
 * and uploaded once to each device that reads it.
 *
 *   acquire(tensor) ─► the weight with equal type, shape and bytes, or a new one ─► release
 *
 * Small constants and strings are not worth comparing: each is a weight of its own.
 *
 * Threads: any; one mutex, never held over a comparison or a copy.
 */
#ifndef ONNXD_MODEL_WEIGHTS_H
#define ONNXD_MODEL_WEIGHTS_H

#include "ep/ep.h"

typedef struct onnxd_weights onnxd_weights;
typedef struct onnxd_weight onnxd_weight;

/* `eps` outlives the table. Errors: OUT_OF_MEMORY. */
ONNXD_NODISCARD onnxd_status *onnxd_weights_create(onnxd_ep *const *eps, size_t ep_count,
                                                   onnxd_weights **out_weights);
/* Every weight has been released. NULL is fine. */
void onnxd_weights_destroy(onnxd_weights *weights);
/* Counts a reference, to be released by its holder. Reads the whole tensor. Errors: OUT_OF_MEMORY.
 */
ONNXD_NODISCARD onnxd_status *onnxd_weights_acquire(onnxd_weights *weights, onnxd_tensor *tensor,
                                                    onnxd_weight **out_weight);
/* The last one frees the copies on devices: may block. NULL is fine. */
void onnxd_weights_release(onnxd_weights *weights, onnxd_weight *weight);
/* The host's copy, which lives as long as the weight. */
onnxd_tensor *onnxd_weight_tensor(const onnxd_weight *weight);
/* The copy on instance `ep`, uploaded when asked for first; freed with the weight. Waits for the
 * upload. Errors: those of allocate and copy. */
ONNXD_NODISCARD onnxd_status *onnxd_weights_on(onnxd_weights *weights, onnxd_weight *weight,
                                               uint32_t ep, onnxd_buffer *out_buffer);
/* A fresh buffer of `ep` with the tensor's bytes, for the caller to deallocate. Waits for it. */
ONNXD_NODISCARD onnxd_status *onnxd_tensor_upload(onnxd_ep *ep, const onnxd_tensor *tensor,
                                                  onnxd_buffer *out_buffer);

#endif

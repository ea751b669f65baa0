/*
 * The forms in which Attention and MultiHeadAttention say which keys are there:
 *
 *   [batch]                     how many keys, from the first on
 *   [2 * batch]                 one past the last key for each entry, then the first
 *   [3 * batch + 2]             how many keys for each entry; the rest repeats it in other words
 *   [batch, keys]               a number greater than 0 for each key that is there
 *   [batch, queries, keys]      the same for each query
 *   [batch, 1, limit, limit]    the same; queries count from the past on, limit >= keys
 *
 * All become bytes, 1 for a key that is there.
 */
#ifndef ONNXD_OPS_CONTRIB_ATTENTION_MASK_H
#define ONNXD_OPS_CONTRIB_ATTENTION_MASK_H

#include "graph/op.h"
#include "ops/attention/attention_core.h"

/* Extents, unknown ones below 0 during inference; `keys` are those of the past and `fresh` ones. */
typedef struct onnxd_mask_extent {
    int64_t batch, queries, keys, fresh;
} onnxd_mask_extent;

/* Whether input `index` has one of the forms. An input [batch, fresh] of MultiHeadAttention leaves
 * out the past, whose keys are there. */
ONNXD_NODISCARD onnxd_status *onnxd_mask_check(const onnxd_node *node, uint32_t index,
                                               const onnxd_shape *shape,
                                               const onnxd_mask_extent *extent);
/* Bytes of the mask made of a tensor of that shape; false beyond size_t. */
bool onnxd_mask_bytes(const onnxd_shape *shape, const onnxd_mask_extent *extent, size_t *out_bytes);
/* Makes the mask in `bytes`; where it is 0, `filter` is added to scores. INVALID_ARGUMENT for
 * negative numbers of keys. */
ONNXD_NODISCARD onnxd_status *onnxd_mask_make(const onnxd_node *node, uint32_t index,
                                              const onnxd_tensor_view *view,
                                              const onnxd_mask_extent *extent, float filter,
                                              uint8_t *bytes, onnxd_attention_mask *out_mask);

/* A bias [batch or 1, heads or 1, queries, keys] that is added to scores: whether input `index`,
 * where present, is one; INVALID_ARGUMENT naming the dimension. */
ONNXD_NODISCARD onnxd_status *onnxd_mask_check_bias(const onnxd_infer *infer, uint32_t index,
                                                    int64_t batch, int64_t heads, int64_t queries,
                                                    int64_t keys);
onnxd_attention_mask onnxd_mask_of_bias(const onnxd_tensor_view *bias);

#endif

/*
 * The shapes of MultiHeadAttention. Its queries, keys and values come as
 *
 *   q [batch, queries, hidden], k [batch, keys, hidden], v [batch, keys, v_hidden]
 *   q [batch, queries, hidden], k [batch, heads, keys, size], v [batch, heads, keys, v_size]
 *   q [batch, queries, hidden], k [batch, keys, heads, 2, size], which holds v as well
 *   q [batch, queries, heads, 3, size], which holds k and v as well
 */
#ifndef ONNXD_OPS_CONTRIB_MULTI_HEAD_ATTENTION_H
#define ONNXD_OPS_CONTRIB_MULTI_HEAD_ATTENTION_H

#include "graph/op.h"

enum {
    ONNXD_MHA_Q,
    ONNXD_MHA_K,
    ONNXD_MHA_V,
    ONNXD_MHA_BIAS,
    ONNXD_MHA_MASK,
    ONNXD_MHA_ATTENTION_BIAS,
    ONNXD_MHA_PAST_KEY,
    ONNXD_MHA_PAST_VALUE,
    ONNXD_MHA_INPUTS
};
enum { ONNXD_MHA_Y, ONNXD_MHA_PRESENT_KEY, ONNXD_MHA_PRESENT_VALUE, ONNXD_MHA_QK };

typedef struct onnxd_mha_params {
    int64_t heads, is_unidirectional;
    float scale, filter;
} onnxd_mha_params;

/* Unknown ones are below 0 during inference; `keys` are those of the past and the fresh ones. */
typedef struct onnxd_mha_dims {
    int64_t batch, queries, past, fresh, keys;
    int64_t size, v_size; /* of a head */
} onnxd_mha_dims;

ONNXD_NODISCARD onnxd_status *onnxd_mha_infer(onnxd_infer *infer);
/* Of shapes that inference has accepted. */
onnxd_mha_dims onnxd_mha_dims_of(const onnxd_compute *compute);
/* Whether keys and values come as [batch, heads, keys, size]: no bias is added to those. */
bool onnxd_mha_is_by_head(const onnxd_compute *compute);

#endif

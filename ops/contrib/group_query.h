/*
 * The inputs, attributes and shapes of GroupQueryAttention.
 */
#ifndef ONNXD_OPS_CONTRIB_GROUP_QUERY_H
#define ONNXD_OPS_CONTRIB_GROUP_QUERY_H

#include "graph/op.h"

enum {
    ONNXD_GQA_Q, /* [batch, length, hidden], or with the columns of k and v behind */
    ONNXD_GQA_K, /* [batch, length, kv_hidden] */
    ONNXD_GQA_V,
    ONNXD_GQA_PAST_KEY, /* [batch, kv_heads, past, size] */
    ONNXD_GQA_PAST_VALUE,
    ONNXD_GQA_LAST,    /* [batch], one less than an entry's keys after this step */
    ONNXD_GQA_TOTAL,   /* one number, an upper bound of the keys of all entries */
    ONNXD_GQA_COSINES, /* [positions, half] */
    ONNXD_GQA_SINES,
    ONNXD_GQA_POSITIONS,      /* [batch, length]; the first prompt begins at the first for all */
    ONNXD_GQA_ATTENTION_BIAS, /* [batch or 1, heads or 1, length, total] */
    ONNXD_GQA_SINKS,          /* [heads] */
    ONNXD_GQA_K_SCALE,
    ONNXD_GQA_V_SCALE,
    ONNXD_GQA_Q_NORM,
    ONNXD_GQA_K_NORM,
    ONNXD_GQA_VALID, /* [batch], how many rows of an entry are not padding */
    ONNXD_GQA_INPUTS
};
enum { ONNXD_GQA_Y, ONNXD_GQA_PRESENT_KEY, ONNXD_GQA_PRESENT_VALUE, ONNXD_GQA_QK };

typedef struct onnxd_gqa_params {
    int64_t heads, kv_heads;
    int64_t turns, is_interleaved; /* rotary embedding */
    int64_t is_causal, window;     /* keys that a query sees, -1: all */
    int64_t qk_output;             /* 0: none, 1: before the softmax, 2: after it */
    int64_t is_smooth;             /* 1: the softmax has a further score of 0 */
    float scale, softcap;
} onnxd_gqa_params;

/* Unknown ones are below 0 during inference. */
typedef struct onnxd_gqa_dims {
    int64_t batch, length, size, past;
    int64_t keys;            /* at most, of an entry: what is past and new, no more than total */
    int64_t total, capacity; /* of the caches that come out: max(past, total) */
} onnxd_gqa_dims;

ONNXD_NODISCARD onnxd_status *onnxd_gqa_parse(const onnxd_node *node, int64_t opset,
                                              onnxd_arena *arena, void *params);
ONNXD_NODISCARD onnxd_status *onnxd_gqa_infer(onnxd_infer *infer);
/* Of shapes that inference has accepted. `total` is the value of total_sequence_length, or
 * INT64_MAX where only shapes are known; the capacity is then that of caches which are no outputs,
 * and in any case at least `keys`. */
onnxd_gqa_dims onnxd_gqa_dims_of(const onnxd_compute *compute, int64_t total);

#endif

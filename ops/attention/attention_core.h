/*
 * Scaled dot-product attention over strided operands: what Attention and its relatives share once
 * they have sorted out shapes, heads and masks.
 *
 *   scores[i][j] = scale * q[i] . k[j]                        qk mode RAW
 *   scores       = softcap * tanh(scores / softcap)           qk mode CAPPED
 *   scores      += masks; -inf where query i must not see j   qk mode BIASED
 *   weights      = softmax over the keys                      qk mode WEIGHTS
 *   y[i]         = sum over j of weights[i][j] * v[j]
 *
 * The keys and values of a head are those of the past, then the new ones. Query i stands at
 * position p = i + offset and sees the keys j of one range: j < key_count, j <= p if causal, and p
 * - left_window <= j <= p + right_window. A causal attention may leave its last query free, which
 * then sees j > p as well. A query that sees none, also because all of its masks add
 * -inf, has weights and a result of zero.
 *
 * Half types are calculated in float and rounded when stored; with a double operand everything is
 * calculated in double.
 */
#ifndef ONNXD_OPS_ATTENTION_CORE_H
#define ONNXD_OPS_ATTENTION_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

/* Vectors of neighbouring elements: that of batch b, head h and position s starts at element
 * b * batch + h * head + s * row. */
typedef struct onnxd_attention_operand {
    const void *data;
    onnxd_dtype dtype; /* in ONNXD_SET_FLOATS */
    size_t batch, head, row;
} onnxd_attention_operand;

typedef struct onnxd_attention_result {
    void *data;        /* NULL: not wanted */
    onnxd_dtype dtype; /* in ONNXD_SET_FLOATS */
    size_t batch, head, row;
} onnxd_attention_result;

/* Element (b, h, i, j) is at b * batch + h * head + i * row + j; strides are 0 where it repeats. */
typedef struct onnxd_attention_mask {
    const void *data;
    onnxd_dtype dtype;       /* BOOL, a float or an integer type */
    bool is_boolean;         /* elements other than 0 mean "sees"; else they are added */
    double filter;           /* added where a boolean mask has 0; -INFINITY: not seen at all */
    size_t batch, head, row; /* strides */
    size_t length;           /* keys from here on are not seen */
} onnxd_attention_mask;

#define ONNXD_ATTENTION_MAX_MASKS 2

typedef enum onnxd_attention_qk {
    ONNXD_ATTENTION_QK_RAW,
    ONNXD_ATTENTION_QK_CAPPED,
    ONNXD_ATTENTION_QK_BIASED,
    ONNXD_ATTENTION_QK_WEIGHTS
} onnxd_attention_qk;

typedef struct onnxd_attention {
    size_t batch, q_heads, kv_heads; /* head h reads keys of head h / (q_heads / kv_heads) */
    size_t q_length, past_length, kv_length;
    size_t head_size, v_head_size;
    onnxd_attention_operand q, k, v;
    onnxd_attention_operand past_k, past_v; /* not looked at when past_length is 0 */
    onnxd_attention_mask masks[ONNXD_ATTENTION_MAX_MASKS];
    uint32_t mask_count;
    bool is_causal, leaves_last_free;
    int64_t left_window, right_window; /* -1: no bound */
    int64_t offset;                    /* position of query 0, usually past_length */
    const int64_t *offsets;            /* [batch], instead of `offset`; NULL: none */
    const int64_t *key_counts; /* [batch], each in [0, past_length + kv_length]; NULL: all */
    const float *sinks; /* [q_heads], a score that takes part in the softmax alone; NULL: none */
    double scale;
    double softcap;            /* 0: none */
    onnxd_dtype softmax_dtype; /* scores and weights are rounded to it; UNDEFINED: they are not */
    onnxd_attention_result y;
    onnxd_attention_result qk; /* rows of past_length + kv_length elements */
    onnxd_attention_qk qk_mode;
} onnxd_attention;

/* Bytes of scratch memory that onnxd_attention_run() needs; SIZE_MAX when that is beyond size_t. */
size_t onnxd_attention_workspace_bytes(const onnxd_attention *attention);
/* All operands lie within their memory, offsets within +-2^62, and q_heads is a multiple of
 * kv_heads. `workspace` is aligned for double. */
void onnxd_attention_run(const onnxd_attention *attention, void *workspace);

#endif

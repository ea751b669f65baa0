/*
 * Scaled dot-product attention on the vector kernels, FLOAT, over operands that lie in memory with
 * any strides:
 *
 *   y[i] = sum over keys j of softmax(scale q[i] . k[j] + mask[i][j]) v[j]
 *
 * Keys and values of a head are packed once for a piece of work, and queries go by in blocks whose
 * scores stay in the cache. A query that sees no key, also because its mask is -infinity for all of
 * them, has the result 0.
 *
 * Threads: preparing from any; run by one thread and its team.
 */
#ifndef ONNXD_EP_CPU_COMPUTE_ATTENTION_H
#define ONNXD_EP_CPU_COMPUTE_ATTENTION_H

#include "ep/cpu/compute/product.h"
#include "ep/cpu/compute/team.h"

/* Element e of position s, head h and batch entry b is at b * batch + h * head + s * row + e. */
typedef struct onnxd_head_strides {
    size_t batch, head, row;
} onnxd_head_strides;

typedef enum onnxd_mask_kind {
    ONNXD_MASK_NONE,
    ONNXD_MASK_ADDED,  /* FLOAT */
    ONNXD_MASK_BOOLEAN /* BOOL: what is 0 is not seen */
} onnxd_mask_kind;

typedef struct onnxd_head_attention {
    const onnxd_simd *simd;
    size_t batch, heads; /* of queries; batch * heads fits size_t */
    size_t group;        /* heads of queries for each head of keys and values */
    size_t queries, keys, head_size, v_head_size; /* none is 0 */
    onnxd_head_strides q, k, v, y;
    onnxd_mask_kind mask_kind;
    onnxd_head_strides mask; /* 0 where it repeats; a row has `keys` elements at least */
    bool is_causal;          /* query i sees the keys up to i only */
    float scale;
    /* By onnxd_head_attention_plan(). */
    size_t block, blocks;                       /* queries at a time; blocks of a head */
    size_t parts;                               /* of the blocks of a head: pieces of work */
    size_t packed_keys, packed_values, scratch; /* elements; `scratch` of one thread */
} onnxd_head_attention;

typedef struct onnxd_head_attention_data {
    const float *q, *k, *v;
    const void *mask; /* not looked at without one */
    float *y;
} onnxd_head_attention_data;

/* Fills in the last part for a team of `threads`; *out_elements is the scratch memory of all. False
 * when it does not fit. */
bool onnxd_head_attention_plan(onnxd_head_attention *a, uint32_t threads, size_t *out_elements);
/* `workspace` is aligned to ONNXD_PACKED_ALIGNMENT. Neither allocates nor fails. */
void onnxd_head_attention_run(const onnxd_head_attention *a, onnxd_team *team,
                              const onnxd_head_attention_data *data, float *workspace);

#endif

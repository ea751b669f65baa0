/*
 * Parts of com.microsoft's attention operators: caches of keys and values, scratch memory.
 */
#ifndef ONNXD_OPS_CONTRIB_ATTENTION_PIECES_H
#define ONNXD_OPS_CONTRIB_ATTENTION_PIECES_H

#include "graph/op.h"
#include "ops/attention/attention_core.h"

/* Parts of a workspace, one after the other. Without a base it only counts. */
typedef struct onnxd_carver {
    char *base;
    size_t used; /* SIZE_MAX after an overflow */
} onnxd_carver;

/* `count` elements, aligned to 16 bytes; NULL while counting and for none. */
void *onnxd_carve(onnxd_carver *carver, size_t count, size_t element);

/* A contiguous tensor or part of one: [batch][heads][length][size] without gaps. */
onnxd_attention_operand onnxd_attention_by_head(const void *data, onnxd_dtype dtype, size_t heads,
                                                size_t length, size_t size);
/* [batch][length][width], heads of `size` elements one after the other. */
onnxd_attention_operand onnxd_attention_by_row(const void *data, onnxd_dtype dtype, size_t length,
                                               size_t width, size_t size);

/* A cache [batch][heads][capacity][size] that takes rows from operands. */
typedef struct onnxd_cache {
    void *data;
    onnxd_dtype dtype; /* in ONNXD_SET_FLOATS */
    size_t batch, heads, capacity, size;
} onnxd_cache;

/* Stores `count` rows of `from`, the first ones, as rows `at` to at + count of each head of entry
 * `batch`. `scratch` has room for a row of floats. */
void onnxd_cache_store(const onnxd_cache *cache, size_t batch, size_t at, size_t count,
                       const onnxd_attention_operand *from, float *scratch);

/* `from` with `bias` (heads * size numbers, one head after the other) added, as floats
 * [batch][length][heads * size] in `out`. */
void onnxd_attention_add_bias(const onnxd_attention_operand *from, onnxd_dtype bias_dtype,
                              const void *bias, size_t bias_first, size_t batch, size_t heads,
                              size_t length, size_t size, float *out);

/* The scale of scores: 0 stands for 1 / sqrt(head_size). */
double onnxd_attention_scale(float scale, size_t head_size);

#endif

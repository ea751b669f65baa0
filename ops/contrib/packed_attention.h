/*
 * Attention whose queries, keys and values come from one product of the input with packed weights,
 * with masks and a cache: what Attention and QAttention of com.microsoft share. An operator brings
 * the product and says where its inputs are.
 *
 *   input [batch, length, width] * weights [width, 2 * hidden + v_hidden] + bias ─► Q, K, V
 */
#ifndef ONNXD_OPS_CONTRIB_PACKED_ATTENTION_H
#define ONNXD_OPS_CONTRIB_PACKED_ATTENTION_H

#include "graph/op.h"

/* The extents of the product; its result is row-major. */
typedef struct onnxd_packed_product {
    size_t rows, width, columns;
} onnxd_packed_product;

typedef struct onnxd_packed_form {
    /* Positions of inputs; 0 where the operator has none. Input, weights and bias are the first. */
    uint32_t mask, past, score_bias, past_length;
    uint32_t real; /* has the type of the outputs */
    /* Bytes that the product needs besides its result; SIZE_MAX beyond size_t. */
    size_t (*scratch_bytes)(const onnxd_compute *context, const onnxd_packed_product *product);
    /* out [rows][columns] = input * weights, without the bias. */
    void (*multiply)(const onnxd_compute *context, const onnxd_packed_product *product,
                     void *scratch, float *out);
} onnxd_packed_form;

typedef struct onnxd_packed_attention_params {
    const onnxd_packed_form *form;
    int64_t heads, is_unidirectional;
    size_t size_count; /* 0 or 3 */
    int64_t sizes[3];  /* hidden sizes of Q, K and V */
    float scale, filter;
} onnxd_packed_attention_params;

/* `names` are the allowed attributes. */
ONNXD_NODISCARD onnxd_status *onnxd_packed_attention_parse(const onnxd_node *node,
                                                           const char *const *names,
                                                           const onnxd_packed_form *form,
                                                           onnxd_packed_attention_params *params);
ONNXD_NODISCARD onnxd_status *onnxd_packed_attention_infer(onnxd_infer *context);
size_t onnxd_packed_attention_workspace_bytes(const onnxd_compute *context);
ONNXD_NODISCARD onnxd_status *onnxd_packed_attention_compute(const onnxd_compute *context);

#endif

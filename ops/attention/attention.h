/* The parsed attributes of Attention, as providers read them through node->params. */
#ifndef ONNXD_OPS_ATTENTION_ATTENTION_H
#define ONNXD_OPS_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

typedef struct onnxd_attention_params {
    bool is_causal, has_scale;
    int64_t q_heads, kv_heads; /* 0: not given */
    float scale, softcap;
    onnxd_dtype softmax_dtype; /* UNDEFINED: not given */
    int64_t qk_mode;
    int64_t left_window, right_window; /* -1: no bound */
} onnxd_attention_params;

#endif

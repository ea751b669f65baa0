/* What the passes over quantised models share. */
#ifndef ONNXD_EP_CPU_PASSES_QUANTIZED_H
#define ONNXD_EP_CPU_PASSES_QUANTIZED_H

#include "graph/passes.h"
#include "graph/rewrite.h"

/* A DequantizeLinear or QuantizeLinear with a constant scale and zero point, none of them blocked:
 * real number = (element - zero point) scale. */
typedef struct onnxd_quantized {
    onnxd_value_id elements; /* the quantised tensor */
    onnxd_value_id scale, zero;
    onnxd_dtype dtype;                  /* of the elements */
    const onnxd_tensor *scales, *zeros; /* zeros: NULL when absent, which is 0 */
    int64_t axis;                       /* as given; of no meaning with one scale */
} onnxd_quantized;

typedef struct onnxd_quantized_search {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    uint32_t *uses;        /* of each value that was there before the pass */
    onnxd_node_id *reader; /* of each of them: the last node that reads it */
    uint32_t changes;
} onnxd_quantized_search;

/* Shows `visit` every node, those added meanwhile included, and compacts what it leaves. */
ONNXD_NODISCARD onnxd_status *
onnxd_quantized_search_run(onnxd_graph *graph, const onnxd_pass_env *env,
                           onnxd_status *(*visit)(onnxd_quantized_search *s, onnxd_node *node),
                           uint32_t *out_changes);

/* The node that alone reads a value which nobody else wants; NULL: there is none. */
onnxd_node *onnxd_quantized_only_reader(const onnxd_quantized_search *s, onnxd_value_id value);

/* The DequantizeLinear that makes `value`. False when there is none of that kind. */
bool onnxd_quantized_of(const onnxd_quantized_search *s, onnxd_value_id value,
                        onnxd_quantized *out);
/* The QuantizeLinear that `node` is. */
bool onnxd_quantized_by(const onnxd_quantized_search *s, const onnxd_node *node,
                        onnxd_quantized *out);
/* One scale for all elements. */
bool onnxd_quantized_is_whole(const onnxd_quantized *q);
/* Zero point `i` of INT8, UINT8 or INT32. */
int32_t onnxd_quantized_zero_at(const onnxd_quantized *q, size_t i);

#endif

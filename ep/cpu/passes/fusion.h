/*
 * What the passes share that make additions and activations part of the node before them: a node of
 * the domain onnxd whose attributes activation and activation_params are FusedConv's.
 */
#ifndef ONNXD_EP_CPU_PASSES_FUSION_H
#define ONNXD_EP_CPU_PASSES_FUSION_H

#include "graph/passes.h"
#include "graph/rewrite.h"

typedef struct onnxd_fusion {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    uint32_t *uses; /* of each value, kept true */
    uint32_t changes;
} onnxd_fusion;

/* What a kind of node can take in. */
typedef struct onnxd_fusion_rule {
    const char *op_type; /* of the domain onnxd */
    uint32_t addend;     /* input that is added, of the shape of the result */
    /* Whether the node has no activation yet. */
    bool (*is_open)(const onnxd_node *node);
} onnxd_fusion_rule;

ONNXD_NODISCARD onnxd_status *onnxd_fusion_init(onnxd_fusion *f, onnxd_graph *graph,
                                                const onnxd_pass_env *env);
/* Also after a failed init. */
void onnxd_fusion_deinit(onnxd_fusion *f);

/* Whether both have one type and one shape, as far as is known before a request. */
bool onnxd_fusion_is_same_type(const onnxd_fusion *f, onnxd_value_id a, onnxd_value_id b);
/* `node` goes; `before`, which made its input, makes what it made. */
void onnxd_fusion_take_over(onnxd_fusion *f, onnxd_node *before, onnxd_node *node);

/* Makes `after`, an Add or an activation, part of the node of the rule that makes its input, where
 * it can be; `after` is removed then. */
ONNXD_NODISCARD onnxd_status *onnxd_fusion_try(onnxd_fusion *f, const onnxd_fusion_rule *rule,
                                               onnxd_node *after);

#endif

/*
 * Chains of nodes as exporters write them: what the passes share that look for one and put one node
 * in its place.
 */
#ifndef ONNXD_EP_CPU_PASSES_PATTERN_H
#define ONNXD_EP_CPU_PASSES_PATTERN_H

#include "graph/passes.h"
#include "graph/rewrite.h"

typedef struct onnxd_pattern {
    onnxd_graph *graph;
    const onnxd_op_registry *registry;
    uint32_t *uses;        /* of each value, kept true */
    onnxd_node_id *reader; /* of each value: the last node that reads it */
    uint32_t changes;
} onnxd_pattern;

/* The search of a pass: tries `visit` on each node that is an operator of ai.onnx, which may change
 * nodes by the functions below, but adds none. */
ONNXD_NODISCARD onnxd_status *onnxd_pattern_run(onnxd_graph *graph, const onnxd_pass_env *env,
                                                onnxd_status *(*visit)(onnxd_pattern *pattern,
                                                                       onnxd_node *node),
                                                uint32_t *out_changes);

/* The bounds of a Clip, which stay as they were where it has none. False when they are not
 * constant.
 */
bool onnxd_pattern_clip_bounds(const onnxd_graph *graph, const onnxd_node *clip, float *inout_low,
                               float *inout_high);

/* Of a node of two inputs: the FLOAT constant of one element behind input `index`, which leaves the
 * shape of the other input alone. False: there is none. */
bool onnxd_pattern_read_scalar(const onnxd_pattern *pattern, const onnxd_node *node, uint32_t index,
                               float *out_scalar);
/* Whether one input of the node is about this FLOAT constant, the divisor of a Div; *out_other is
 * the other one. Constants are often rounded in a file. */
bool onnxd_pattern_has_scalar(const onnxd_pattern *pattern, const onnxd_node *node,
                              const char *op_type, float scalar, onnxd_value_id *out_other);
/* The node that makes `value` for one reader alone; NULL: none. */
onnxd_node *onnxd_pattern_producer(const onnxd_pattern *pattern, onnxd_value_id value);
/* The node that alone reads a value which nobody else wants; NULL: none. */
onnxd_node *onnxd_pattern_reader(const onnxd_pattern *pattern, onnxd_value_id value);
/* The same if it is this operator of ai.onnx. */
onnxd_node *onnxd_pattern_producer_of(const onnxd_pattern *pattern, onnxd_value_id value,
                                      const char *op_type);
onnxd_node *onnxd_pattern_reader_of(const onnxd_pattern *pattern, onnxd_value_id value,
                                    const char *op_type);
/* The node that makes `value`, for any number of readers, if it is this operator of ai.onnx. */
onnxd_node *onnxd_pattern_source_of(const onnxd_pattern *pattern, onnxd_value_id value,
                                    const char *op_type);
/* Of a node of two inputs: the one that is not `input`. */
onnxd_value_id onnxd_pattern_other(const onnxd_node *node, onnxd_value_id input);
/* `end` becomes the operator of ai.onnx at this opset that makes the same value of these inputs;
 * nodes that only it needed are removed. Inputs and attributes are copied. */
ONNXD_NODISCARD onnxd_status *onnxd_pattern_put(onnxd_pattern *pattern, onnxd_node *end,
                                                const char *op_type, int64_t opset,
                                                const onnxd_value_id *inputs, uint32_t input_count,
                                                const onnxd_attribute *attributes,
                                                uint32_t attribute_count);
/* The same of one input. */
ONNXD_NODISCARD onnxd_status *onnxd_pattern_replace(onnxd_pattern *pattern, onnxd_node *end,
                                                    const char *op_type, int64_t opset,
                                                    onnxd_value_id x,
                                                    const onnxd_attribute *attributes,
                                                    uint32_t attribute_count);

#endif
